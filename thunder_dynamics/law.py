"""The contract of a control law: a fully explicit discrete-time system over named, bounded, documented signals.

    (effort, next_state, telemetry) = step(q, qd, reference, state, gains, dt)

A law is written as a builder `(robot: RobotExpressions, options) -> Law`. It declares what it needs on a `Signals`
object and receives symbols; `Signals.law` closes it. Builders are found by entry points of the group `thunder.laws`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, IntFlag
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.model import IDENTIFIER
from thunder_dynamics.spatial import skew

SX = ca.SX
FloatArray = NDArray[np.float64]

ENTRY_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")


class EntryFlag(IntFlag):
    """Meaning of an entry to a host; the values are those of thunder_abi.h."""

    NONE = 0
    ADAPTED = 1
    ACTIVATION = 2
    UNUSED = 4


class ReferenceKind(Enum):
    """What the reference of a law is; the values are those of thunder_abi.h."""

    JOINT = 0
    CARTESIAN = 1


@dataclass(frozen=True, eq=False)
class Entry:
    """A named block of a flat signal vector.

    Attributes:
        name: Identifier, unique in its signal.
        shape: (rows, cols); scalars are (1, 1).
        unit: SI unit as text.
        description: One sentence.
        default: Default values, of that shape.
        lower: Lower bounds, of that shape, −inf where there is none.
        upper: Upper bounds.
        flags: What a host does with it.
    """

    name: str
    shape: tuple[int, int]
    unit: str
    description: str
    default: FloatArray
    lower: FloatArray
    upper: FloatArray
    flags: EntryFlag = EntryFlag.NONE

    @property
    def size(self) -> int:
        """Number of values."""
        return self.shape[0] * self.shape[1]


def make_entry(
    name: str,
    shape: tuple[int, int],
    unit: str,
    description: str,
    default: ArrayLike = 0.0,
    bounds: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf),
    flags: EntryFlag = EntryFlag.NONE,
) -> Entry:
    """Build an `Entry`, broadcasting default and bounds to its shape.

    Raises:
        LawError: for a bad name, a value that does not broadcast, or a default outside its bounds.
    """
    where = f"signal entry {name!r}"
    if not ENTRY_NAME.fullmatch(name):
        raise LawError("not an identifier", where=where, valid=f"a match of {ENTRY_NAME.pattern}")
    if min(shape) < 1:
        raise LawError(f"shape {shape}", where=where, valid="at least one value")
    if not unit or not description:
        raise LawError("no unit or no description", where=where, valid="both, with unit '1' for pure numbers")
    values, lower, upper = (_broadcast(value, shape, where) for value in (default, *bounds))
    if not np.isfinite(values).all() or not ((lower <= values) & (values <= upper)).all():
        raise LawError(
            f"the default {default!r} is not within {bounds}", where=where, valid="finite, lower ≤ default ≤ upper"
        )
    return Entry(name, shape, unit, description, values, lower, upper, flags)


@dataclass(frozen=True)
class Law:
    """A closed law: its step function and the entries of its signals.

    `step` maps (q, qd, reference, state, gains, dt) to (effort, next_state, telemetry), all flat dense columns.
    """

    name: str
    description: str
    reference_kind: ReferenceKind
    reference: tuple[Entry, ...]
    state: tuple[Entry, ...]
    gains: tuple[Entry, ...]
    telemetry: tuple[Entry, ...]
    step: ca.Function
    options: Mapping[str, Any] = field(default_factory=dict)


LawBuilder = Callable[[RobotExpressions, Mapping[str, Any]], Law]


class Signals:
    """Declares the signals of a law and hands out their symbols.

    Args:
        robot: The robot; `q` is its own symbol, so that its expressions are shared.
        reference_kind: `joint` gives reference.q, .qd, .qdd (n,); `cartesian` gives reference.position (3,), .rotation
            (3, 3), .twist (6,), .acceleration (6,) of the end effector in the world, linear part first.
    """

    def __init__(self, robot: RobotExpressions, reference_kind: ReferenceKind) -> None:
        self.robot = robot
        self.reference_kind = reference_kind
        self.q = robot.symbol("q")
        self.qd = robot.symbol("dq")
        self.dt = SX.sym("dt")
        self._entries: dict[str, list[Entry]] = {"reference": [], "state": [], "gains": [], "telemetry": []}
        self._symbols: dict[str, list[SX]] = {"reference": [], "state": [], "gains": []}
        self.reference = SimpleNamespace(**self._declare_reference())

    def gain(
        self,
        name: str,
        *,
        default: ArrayLike,
        bounds: tuple[ArrayLike, ArrayLike],
        unit: str,
        doc: str,
        size: int = 1,
    ) -> SX:
        """Declare a gain and return its symbol, shape (size,). Gains may change while the law runs."""
        return self._add("gains", make_entry(name, (size, 1), unit, doc, default, bounds))

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
    ) -> SX:
        """Declare a state and return its symbol. `adapted` marks estimates, which a host can freeze."""
        flags = EntryFlag.ADAPTED if adapted else EntryFlag.NONE
        return self._add("state", make_entry(name, (size, 1), unit, doc, default, bounds, flags))

    def describe_telemetry(
        self,
        name: str,
        *,
        unit: str,
        doc: str,
        size: int = 1,
        activation_bounds: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        """Declare a telemetry value; with `activation_bounds`, a host refuses to activate outside them."""
        flags = EntryFlag.NONE if activation_bounds is None else EntryFlag.ACTIVATION
        bounds: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf) if activation_bounds is None else activation_bounds
        middle = np.clip(np.zeros((size, 1)), *(_broadcast(b, (size, 1), name) for b in bounds))
        self._append("telemetry", make_entry(name, (size, 1), unit, doc, middle, bounds, flags))

    def time_derivative(self, expression: SX) -> SX:
        """Exact d/dt of an expression of q and the reference, along q̇ and the reference's own motion.

        Gains and states count as constant. d/dt R_d = S(ω_d) R_d.

        Raises:
            LawError: if the expression depends on something whose derivative is not known, such as q̇.
        """
        pairs = [(self.q, self.qd), *self._reference_rates()]
        variables = ca.vertcat(*(ca.vec(variable) for variable, _ in pairs))
        rates = ca.vertcat(*(ca.vec(rate) for _, rate in pairs))
        forbidden = [("q̇", self.qd), ("dt", self.dt)]
        forbidden += [("q̈_d", self.reference.qdd)] if self.reference_kind is ReferenceKind.JOINT else []
        forbidden += [("ξ̇_d", self.reference.acceleration)] if self.reference_kind is ReferenceKind.CARTESIAN else []
        for label, symbol in forbidden:
            if ca.depends_on(expression, symbol):
                raise LawError(
                    f"time_derivative of an expression of {label}", valid="expressions of q and the reference"
                )
        return ca.jtimes(expression, variables, rates)

    def law(
        self, name: str, doc: str, effort: SX, next_state: Mapping[str, SX], telemetry: Mapping[str, SX], **options: Any
    ) -> Law:
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
        graph = ca.vertcat(effort, *states, *values)
        self._add_parameter_groups(graph)
        inputs = [self.q, self.qd, *(self._flat(kind) for kind in ("reference", "state", "gains")), self.dt]
        outputs = ca.cse(
            [ca.densify(v) for v in (effort, ca.vertcat(SX(0, 1), *states), ca.vertcat(SX(0, 1), *values))]
        )
        names = (["q", "qd", "reference", "state", "gains", "dt"], ["effort", "next_state", "telemetry"])
        try:
            step = ca.Function(f"law_{name}", inputs, outputs, *names)
        except RuntimeError as error:
            raise LawError(f"the graph depends on an undeclared symbol: {error}", where=f"law {name}") from error
        entries = {kind: tuple(entries) for kind, entries in self._entries.items()}
        entries["reference"] = self._mark_unused(ca.vertcat(effort, *states))
        return Law(name, doc, self.reference_kind, step=step, options=dict(options), **entries)

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
                doc = f"Symbolic entries of {group}, as in the robot file by default."
                self._append("gains", make_entry(group, (len(values), 1), "SI", doc, values[:, None]))
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
        column = ca.vec(SX(value))
        if column.numel() != size:
            raise LawError(f"{what} has {column.numel()} values", valid=str(size))
        return ca.densify(column)


def _broadcast(value: ArrayLike, shape: tuple[int, int], where: str) -> FloatArray:
    array = np.asarray(value, dtype=float)
    if array.ndim == 1:
        array = array[:, None]
    try:
        result = np.array(np.broadcast_to(array, shape))
    except ValueError as error:
        raise LawError(
            f"a value of shape {array.shape}", where=where, valid=f"one that broadcasts to {shape}"
        ) from error
    result.setflags(write=False)
    return result
