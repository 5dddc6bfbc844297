"""Signals: what a law is written with. It declares entries, hands out their symbols, and closes the law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType, SimpleNamespace
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from thunder_dynamics.entries import Entry, EntryFlag, broadcast, make_entry
from thunder_dynamics.errors import LawError, listed
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law.contract import SIGNALS, Law, ReferenceKind
from thunder_dynamics.model import IDENTIFIER, SINGLE_JOINTS
from thunder_dynamics.spatial import skew

SX = ca.SX


@dataclass(frozen=True)
class Quantity:
    """Meaning of a name in every law that declares it; a size of None is one value per joint."""

    size: int | None
    unit: str
    description: str


QUANTITIES: Mapping[str, Quantity] = MappingProxyType(
    {
        "external_effort": Quantity(None, "N·m|N", "Effort of each joint that comes from outside, as it is estimated."),
        "ee_position": Quantity(
            3, "m", "Position of the end effector in the world, as a sensor beside the arm sees it."
        ),
        "jerk": Quantity(None, "rad/s³|m/s³", "Desired jerks of the joints."),
        "measured_effort": Quantity(
            None, "N·m|N", "Efforts that the drives gave in the step before, as sensors see them."
        ),
        "motor_position": Quantity(None, "rad|m", "Positions of the motors, seen from the joints."),
        "motor_velocity": Quantity(None, "rad/s|m/s", "Velocities of the motors, seen from the joints."),
        "snap": Quantity(None, "rad/s⁴|m/s⁴", "Desired rates of the jerks of the joints."),
        "wrench": Quantity(6, "N, N·m", "Wrench on the end effector from outside, in the world, linear part first."),
    }
)
"""Measurements and further references that hosts may know how to feed; a law may declare others."""


NEVER = 1e6
"""Age of a measurement that was never fed [s]."""


class _Reference(SimpleNamespace):
    """Symbols of the reference by name; one of the other kind is told with those that there are."""

    def __getattr__(self, name: str) -> SX:
        if name.startswith("__"):
            raise AttributeError(name)
        raise LawError(f"the reference has no '{name}'", valid=", ".join(vars(self)))


class Signals:
    """Declares the signals of a law and hands out their symbols.

    Args:
        robot: The robot; `q` is its own symbol, so that its expressions are shared.
        reference_kind: `joint` gives reference.q, .qd, .qdd (n,); `cartesian` gives reference.position (3,), .rotation
            (3, 3), .twist (6,), .acceleration (6,) of the end effector in the world, linear part first.

    Raises:
        LawError: for a robot with joints that have not one position and its rate, of their own.

    Attributes:
        q: Measured positions (n,) [rad or m].
        qd: Measured velocities (n,) [rad/s or m/s].
        applied_effort: Effort of the joints in the step before (n,) [N·m or N]: after all limits, and with G(q) where
            the robot adds that itself. In the first step, what the arm was held with.
        dt: Period [s].
        reference: Symbols of the reference by name.
    """

    def __init__(self, robot: RobotExpressions, reference_kind: ReferenceKind) -> None:
        if others := robot.model.other_joints:
            what = f"no control law for the joints {listed(others)}"
            raise LawError(what, where=robot.model.name, valid=SINGLE_JOINTS)
        self.robot = robot
        self.reference_kind = reference_kind
        self.q = robot.symbol("q")
        self.qd = robot.symbol("dq")
        self.applied_effort = SX.sym("applied_effort", robot.n)
        self.dt = SX.sym("dt")
        self._entries: dict[str, list[Entry]] = {kind: [] for kind in SIGNALS}
        self._symbols: dict[str, list[SX]] = {kind: [] for kind in SIGNALS}
        self._initial: dict[str, SX] = {}
        self._further_rates: list[tuple[str, SX, SX | None]] = []
        self.reference = _Reference(**self._declare_reference())

    def gain(
        self,
        name: str,
        *,
        default: ArrayLike,
        bounds: tuple[ArrayLike, ArrayLike],
        unit: str,
        doc: str,
        size: int | Literal["joints"] = 1,
    ) -> SX:
        """Declare a gain and return its symbol, shape (size,). Gains may change while the law runs.

        One of the size `joints` has a value for each joint, which may then be given by the joints' names.
        """
        flags = EntryFlag.JOINTS if size == "joints" else EntryFlag.NONE
        count = self.robot.n if size == "joints" else size
        return self._add("gains", make_entry(name, (count, 1), unit, doc, default, bounds, flags))

    def state(
        self,
        name: str,
        *,
        default: ArrayLike,
        bounds: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf),
        unit: str,
        doc: str,
        size: int = 1,
        adapted: bool = False,
        initial: SX | None = None,
    ) -> SX:
        """Declare a state and return its symbol.

        Args:
            name: Identifier.
            default: First values.
            bounds: Lower and upper.
            unit: SI unit as text.
            doc: One sentence.
            size: Number of values.
            adapted: An estimate, which a host can freeze, and keeps from one activation to the next.
            initial: First values as an expression of q, qd and gains: where the arm is activated.

        Raises:
            LawError: as `make_entry` raises, and for an estimate with `initial`.
        """
        flags = EntryFlag.ADAPTED if adapted else EntryFlag.NONE
        if initial is not None:
            if adapted:
                raise LawError(f"estimate '{name}' starts from a measurement", valid="a default: estimates are kept")
            flags = EntryFlag.INITIAL
            self._initial[name] = initial
        return self._add("state", make_entry(name, (size, 1), unit, doc, default, bounds, flags))

    def measurement(
        self,
        name: str,
        *,
        size: int | None = None,
        unit: str | None = None,
        doc: str | None = None,
        default: ArrayLike = 0.0,
    ) -> SX:
        """Declare a further measurement and return its symbol; size, unit and doc of `QUANTITIES` need not be given.

        The default stands for what was not fed yet, as at activation. A host that cannot feed it refuses the law.

        Raises:
            LawError: as `make_entry` raises, and for a known quantity of another size.
        """
        return self._add("measurements", self._quantity(name, size, unit, doc, default))

    def aged_measurement(
        self, name: str, *, size: int | None = None, unit: str | None = None, doc: str | None = None
    ) -> tuple[SX, SX]:
        """Declare a `measurement` that comes late and not at every step; return its symbol and that of its age [s].

        The age is an entry of its own, `<name>_age`: the time since it was measured, which a host fills in at every
        step from the time that the writer gives; `NEVER` where it was not fed. Between two samples it grows by the
        period.
        """
        value = self.measurement(name, size=size, unit=unit, doc=doc)
        doc = f"Time since {name} was measured; {NEVER:g} if it never was."
        return value, self._add("measurements", make_entry(f"{name}_age", (1, 1), "s", doc, NEVER, flags=EntryFlag.AGE))

    def further_reference(
        self,
        name: str,
        *,
        default: ArrayLike,
        size: int | None = None,
        unit: str | None = None,
        doc: str | None = None,
        derivative: SX | None = None,
    ) -> SX:
        """Declare an entry of the reference beside the standard ones and return its symbol, also in `reference`.

        A host keeps what was written last, the default at first, whatever becomes of the rest of the reference.
        `derivative`, such as another further entry, lets `time_derivative` take expressions of it. Raises as
        `measurement` does.
        """
        symbol = self._add("reference", self._quantity(name, size, unit, doc, default))
        self._further_rates.append((name, symbol, derivative))
        setattr(self.reference, name, symbol)
        return symbol

    def describe_telemetry(
        self,
        name: str,
        *,
        unit: str,
        doc: str,
        size: int = 1,
        activation_bounds: tuple[ArrayLike, ArrayLike] | None = None,
        measured_bounds: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        """Declare a telemetry value; with `activation_bounds`, a host refuses to activate outside them.

        Outside `measured_bounds` the law goes without a measurement that it takes, and a host says so.
        """
        flags = EntryFlag.NONE if activation_bounds is None else EntryFlag.ACTIVATION
        bounds: tuple[ArrayLike, ArrayLike] = activation_bounds or (-np.inf, np.inf)
        if measured_bounds is not None:
            if activation_bounds is not None:
                raise LawError(f"telemetry '{name}' with two kinds of bounds", valid="one of them")
            flags, bounds = EntryFlag.MEASURED, measured_bounds
        middle = np.clip(np.zeros((size, 1)), *(broadcast(b, (size, 1), name) for b in bounds))
        self._append("telemetry", make_entry(name, (size, 1), unit, doc, middle, bounds, flags))

    def time_derivative(self, expression: SX, further: Sequence[tuple[SX, SX]] = ()) -> SX:
        """Exact d/dt of an expression of q and the reference, along q̇ and the reference's own motion.

        Gains and states count as constant. d/dt R_d = S(ω_d) R_d.

        Args:
            expression: Of any shape.
            further: Other symbols that it may depend on, each with its rate: q̇ with q̈ of a model, for instance.

        Raises:
            LawError: if the expression depends on something whose derivative is not known, such as q̇.
        """
        known = [(symbol, rate) for _, symbol, rate in self._further_rates if rate is not None]
        pairs = [(self.q, self.qd), *self._reference_rates(), *known, *further]
        variables = ca.vertcat(*(ca.vec(variable) for variable, _ in pairs))
        rates = ca.vertcat(*(ca.vec(rate) for _, rate in pairs))
        forbidden = [("q̇", self.qd), ("dt", self.dt), ("the applied effort", self.applied_effort)]
        measured = zip(self._entries["measurements"], self._symbols["measurements"], strict=True)
        forbidden += [(f"'{entry.name}'", symbol) for entry, symbol in measured]
        forbidden += [(f"'{name}'", symbol) for name, symbol, rate in self._further_rates if rate is None]
        forbidden += [("q̈_d", self.reference.qdd)] if self.reference_kind is ReferenceKind.JOINT else []
        forbidden += [("ξ̇_d", self.reference.acceleration)] if self.reference_kind is ReferenceKind.CARTESIAN else []
        for label, symbol in forbidden:
            if not any(symbol is one for one, _ in further) and ca.depends_on(expression, symbol):
                raise LawError(
                    f"time_derivative of an expression of {label}", valid="expressions of q and the reference"
                )
        return ca.jtimes(expression, variables, rates)

    def law(self, name: str, doc: str, effort: SX, next_state: Mapping[str, SX], telemetry: Mapping[str, SX]) -> Law:
        """Close the law.

        Symbolic parameter groups of the robot on which the graph depends become gains of that name.

        Raises:
            LawError: for a name that is no identifier, a missing, unknown or wrongly shaped output, or a graph that
                depends on something undeclared.
        """
        if not IDENTIFIER.fullmatch(name):
            raise LawError(f"law name {name!r}", valid=f"a match of {IDENTIFIER.pattern}")
        effort = self._shaped("effort", effort, self.robot.n)
        states = self._collect("state", next_state)
        values = self._collect("telemetry", telemetry)
        self._add_parameter_groups(ca.vertcat(effort, *states, *values, *map(ca.vec, self._initial.values())))
        inputs = {"q": self.q, "qd": self.qd, "applied_effort": self.applied_effort}
        inputs |= {kind: self._flat(kind) for kind in SIGNALS if kind != "telemetry"} | {"dt": self.dt}
        nothing = SX(0, 1)
        outputs = {
            "effort": effort,
            "next_state": ca.vertcat(nothing, *states),
            "telemetry": ca.vertcat(nothing, *values),
        }
        step = _function(name, f"law_{name}", inputs, outputs)
        initial = None
        if self._initial:
            first = {e.name: SX(e.default) for e in self._entries["state"]} | self._initial
            known = {kind: inputs[kind] for kind in ("q", "qd", "gains")}
            outputs = {"state": ca.vertcat(*self._collect("state", first))}
            initial = _function(name, f"initial_{name}", known, outputs)
        entries = {kind: tuple(entries) for kind, entries in self._entries.items()}
        entries["reference"] = self._mark_unused(ca.vertcat(effort, *states))
        return Law(name, doc, self.reference_kind, step=step, initial=initial, **entries)

    # --- inside ----------------------------------------------------------------------------------------------------

    def _declare_reference(self) -> dict[str, SX]:
        n = self.robot.n
        rows: list[tuple[str, tuple[int, int], str, str, ArrayLike]]
        if self.reference_kind is ReferenceKind.JOINT:
            rows = [
                ("q", (n, 1), "rad|m", "Desired joint positions.", 0.0),
                ("qd", (n, 1), "rad/s|m/s", "Desired joint velocities.", 0.0),
                ("qdd", (n, 1), "rad/s²|m/s²", "Desired joint accelerations.", 0.0),
            ]
        else:
            rows = [
                ("position", (3, 1), "m", "Desired position of the end effector in the world.", 0.0),
                ("rotation", (3, 3), "1", "Desired rotation matrix of the end effector in the world.", np.eye(3)),
                ("twist", (6, 1), "m/s, rad/s", "Desired twist in the world, linear part first.", 0.0),
                ("acceleration", (6, 1), "m/s², rad/s²", "Time derivative of the twist, linear part first.", 0.0),
            ]
        return {
            name: self._add("reference", make_entry(name, shape, unit, doc, default))
            for name, shape, unit, doc, default in rows
        }

    def _reference_rates(self) -> Sequence[tuple[SX, SX]]:
        reference = self.reference
        if self.reference_kind is ReferenceKind.JOINT:
            return [(reference.q, reference.qd), (reference.qd, reference.qdd)]
        omega = reference.twist[3:]
        return [
            (reference.position, reference.twist[:3]),
            (reference.rotation, SX(skew(omega)) @ reference.rotation),
            (reference.twist, reference.acceleration),
        ]

    def _quantity(self, name: str, size: int | None, unit: str | None, doc: str | None, default: ArrayLike) -> Entry:
        known = QUANTITIES.get(name, Quantity(size or 1, "", ""))
        expected = known.size or self.robot.n
        if size not in (None, expected):
            raise LawError(f"size {size}", where=f"signal entry '{name}'", valid=f"{expected}, as it is known")
        return make_entry(name, (expected, 1), unit or known.unit, doc or known.description, default)

    def default_of(self, kind: str, name: str) -> NDArray[np.float64]:
        """Return the default of an entry of SIGNALS that was declared, flat.

        Raises:
            KeyError: if there is none of that name.
        """
        return np.ravel({entry.name: entry.default for entry in self._entries[kind]}[name])

    def _add(self, kind: str, entry: Entry) -> SX:
        self._append(kind, entry)
        symbol = SX.sym(entry.name, *entry.shape)
        self._symbols[kind].append(symbol)
        return symbol

    def _append(self, kind: str, entry: Entry) -> None:
        if any(entry.name == other.name for other in self._entries[kind]):
            raise LawError(f"two {kind} entries named '{entry.name}'", valid="unique names")
        self._entries[kind].append(entry)

    def _mark_unused(self, graph: SX) -> tuple[Entry, ...]:
        """Entries of the reference, marked where the graph does not depend on them."""
        pairs = zip(self._entries["reference"], self._symbols["reference"], strict=True)
        return tuple(
            entry if ca.depends_on(graph, ca.vec(symbol)) else replace(entry, flags=entry.flags | EntryFlag.UNUSED)
            for entry, symbol in pairs
        )

    def _add_parameter_groups(self, graph: SX) -> None:
        model = self.robot.model
        for group, symbol in self.robot.parameters.symbols.items():
            if ca.depends_on(graph, symbol):
                values = np.array(model.parameters(group))[list(model.symbolic[group])]
                argument = self.robot.arguments[group]
                doc = f"{argument.description.rstrip('.') or group}, as in the robot file by default."
                self._append("gains", make_entry(group, (len(values), 1), argument.unit or "1", doc, values[:, None]))
                self._symbols["gains"].append(symbol)

    def _flat(self, kind: str) -> SX:
        return ca.vertcat(SX(0, 1), *(ca.vec(symbol) for symbol in self._symbols[kind]))

    def _collect(self, kind: str, values: Mapping[str, SX]) -> list[SX]:
        names = [entry.name for entry in self._entries[kind]]
        if set(names) != set(values):
            raise LawError(f"{kind} outputs {sorted(values)}", valid=f"exactly {sorted(names)}")
        return [self._shaped(f"{kind} '{e.name}'", values[e.name], e.size) for e in self._entries[kind]]

    @staticmethod
    def _shaped(what: str, value: SX, size: int) -> SX:
        try:
            column = ca.vec(SX(value))
        except (NotImplementedError, TypeError, RuntimeError) as error:
            raise LawError(f"{what} is a {type(value).__name__}", valid=f"an expression of {size} values") from error
        if column.numel() != size:
            raise LawError(f"{what} has {column.numel()} values", valid=str(size))
        return ca.densify(column)


def _function(law: str, name: str, inputs: Mapping[str, SX], outputs: Mapping[str, SX]) -> ca.Function:
    dense = ca.cse([ca.densify(output) for output in outputs.values()])
    try:
        function = ca.Function(name, list(inputs.values()), dense, list(inputs), list(outputs))
    except RuntimeError as error:
        raise LawError(f"the graph depends on an undeclared symbol: {error}", where=f"law {law}") from error
    constants = (k for k in range(function.n_instructions()) if function.instruction_id(k) == ca.OP_CONST)
    if any(np.isnan(function.instruction_constant(k)) for k in constants):
        what = "the graph holds a constant that is no number, such as float(…) or math.sin(…) of a symbol"
        raise LawError(what, where=f"law {law}", valid="functions of CasADi or NumPy")
    return function
