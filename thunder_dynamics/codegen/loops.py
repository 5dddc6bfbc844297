"""Large robots: straight-line code makes tables of O(n) screws and wrenches, loops in C make the matrices of them.

At one point, the origin of L0, a joint's screw S_j is the same for all links. With the wrenches W of a link at that
point, per unit of each of its parameters or of its joint's acceleration, M, C and the regressors are S_jᵀ W for every
joint j on the path to the link. Straight-line code carries every screw to every link instead: O(n²) statements, but
the zeros of each transform are folded, which makes it the faster one for up to some `STRAIGHT_JOINTS` joints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

from thunder_dynamics.algorithms.dynamics import Dynamics, LinkMotion, propagate
from thunder_dynamics.algorithms.kinematics import Kinematics
from thunder_dynamics.algorithms.regressors import _rotational_columns
from thunder_dynamics.codegen.text import template
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.model import PARAMETER_GROUPS, RobotModel
from thunder_dynamics.spatial import cross

SX = ca.SX

STRAIGHT_JOINTS = 12
"""Joints up to which all code is straight-line."""

Screw = tuple[SX, SX]


@dataclass(frozen=True)
class Table:
    """Straight-line function of a robot whose results are read by loops; `groups` are the parameters it depends on."""

    function: ca.Function
    arguments: tuple[str, ...]
    groups: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of its results."""
        return int(self.function.nnz_out())


@dataclass(frozen=True)
class LoopedFunction:
    """A function made of a table and a loop: its C statements, which find the results of the table in w."""

    table: str
    arguments: tuple[str, ...]
    rows: int
    cols: int
    inputs: Mapping[str, str]
    body: str
    scratch: int = 0


class Loops:
    """The looped functions of a robot; none for a small one."""

    def __init__(self, robot: RobotExpressions) -> None:
        self._robot = robot
        self._model = robot.model
        self._q, self._dq = robot.symbol("q"), robot.symbol("dq")

    @cached_property
    def functions(self) -> Mapping[str, LoopedFunction]:
        """Looped functions by name."""
        if self._model.n <= STRAIGHT_JOINTS:
            return {}
        n, result = self._model.n, {}
        for i in range(1, n + 1):
            result[f"T_0_{i}"] = self._looped("frames", ("q",), (4, 4), f"thunder_pose(w + {6 * n}, {i}, res[0]);")
            result[f"J_{i}"] = self._looped("frames", ("q",), (6, n), f"thunder_jacobian(w, w + {6 * n}, {i}, res[0]);")
        tables = f"w, w + {6 * n}, w + {12 * n}, w + {18 * n}, w + {24 * n}"
        result["M"] = self._looped("mass", ("q",), (n, n), f"thunder_mass(w, w + {6 * n}, res[0]);")
        result["C"] = self._looped(
            "coriolis", ("q", "dq"), (n, n), f"thunder_coriolis({tables}, w + {30 * n}, res[0]);", n * n
        )
        result["M_dot"] = self._looped(
            "coriolis", ("q", "dq"), (n, n), f"thunder_mass_rate({tables}, w + {30 * n}, res[0]);", 2 * n * n
        )
        for name in ("Yr", "Y", "reg_G"):
            result[name] = self._regressor(name, "regressor")
        for name in ("reg_M", "reg_C"):
            result[name] = self._regressor(name, "motion_regressor")
        return result

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        """Tables that the looped functions read, by name."""
        kinematics, dynamics = (
            self._robot.kinematics(self._q),
            Dynamics(self._robot.kinematics(self._q), self._robot.pi),
        )
        frames = [_world_screws(kinematics), _poses(kinematics)]
        base = _Base(kinematics)
        signals = {
            "q": self._q,
            "dq": self._dq,
            "dq_r": self._robot.symbol("dq_r"),
            "ddq_r": self._robot.symbol("ddq_r"),
        }
        fields: dict[str, Sequence[SX | float]] = {
            "regressor": self._robot.parameters["par_gravity"],
            "motion_regressor": [0.0] * 3,
        }
        tables = {
            "frames": self._table({"q": self._q}, frames),
            "mass": self._table({"q": self._q}, [base.screws, _mass_wrenches(dynamics, base)]),
            "coriolis": self._table({"q": self._q, "dq": self._dq}, _coriolis_tables(dynamics, base, self._dq)),
        }
        for name, field in fields.items():
            motions = propagate(kinematics, signals["dq"], signals["dq_r"], signals["ddq_r"], field)
            columns = [base.wrench(i, w) for i, motion in enumerate(motions) for w in _wrench_columns(motion)]
            tables[name] = self._table(signals, [base.screws, ca.horzcat(*columns)])
        return tables

    def source(self, work_sizes: Mapping[str, int]) -> tuple[str, str, dict[str, int]]:
        """C source and declarations of the looped functions, and the sizes of their work vectors.

        Args:
            work_sizes: Of the tables, by C symbol.
        """
        if not self.functions:
            return "", "", {}
        definitions, declarations, sizes = [], [], {}
        for name, looped in self.functions.items():
            symbol, table = f"{self._model.name}_{name}", self.tables[looped.table]
            head = (
                f"CASADI_SYMBOL_EXPORT int {symbol}"
                "(const casadi_real** arg, casadi_real** res, casadi_int* iw, casadi_real* w, int mem)"
            )
            own = table.size + looped.scratch
            definitions.append(self._definition(head, looped, own))
            declarations.append(
                f"int {symbol}(const casadi_real** arg, casadi_real** res, casadi_int* iw, casadi_real* w, int mem);\n"
            )
            sizes[symbol] = own + work_sizes[self.symbol(looped.table)]
        text = template("loops.c").substitute(n=self._model.n, runs=_runs_text(self._model))
        return text + "\n".join(definitions), "".join(declarations), sizes

    def symbol(self, table: str) -> str:
        """C symbol of a table."""
        return f"{self._model.name}__{table}"

    def _table(self, arguments: Mapping[str, SX], results: Sequence[SX]) -> Table:
        values = [ca.densify(value) for value in ca.cse(list(results))]
        everything = ca.veccat(*values)
        symbols = self._robot.parameters.symbols
        groups = tuple(g for g in PARAMETER_GROUPS if g in symbols and ca.depends_on(everything, symbols[g]))
        inputs = [*arguments.values(), *(symbols[g] for g in groups)]
        return Table(ca.Function("table", inputs, values), tuple(arguments), groups)

    def _looped(
        self, table: str, arguments: tuple[str, ...], shape: tuple[int, int], body: str, scratch: int = 0
    ) -> LoopedFunction:
        taken = arguments + self.tables[table].groups
        inputs = {name: f"arg[{k}]" for k, name in enumerate(taken)}
        return LoopedFunction(table, taken, *shape, inputs, body, scratch)

    def _regressor(self, name: str, table: str) -> LoopedFunction:
        """What a regressor does not take is zero in the table's arguments, or another of its own."""
        n, declared = self._model.n, self._robot.spec(name).arguments
        looped = self._looped(
            table, declared, (n, N_PARAMETERS * n), f"thunder_project(w, w + {6 * n}, {N_PARAMETERS}, res[0]);"
        )
        taken, zero = looped.inputs, "thunder_zero"
        rate = taken.get("dq", zero)
        signals = {
            "dq": rate,
            "dq_r": taken.get("dq_r", rate),
            "ddq_r": taken.get("ddq_r", taken.get("ddq", zero)),
        }
        return replace(looped, inputs={**taken, **signals})

    def _definition(self, head: str, looped: LoopedFunction, own: int) -> str:
        table = self.tables[looped.table]
        inputs = (looped.inputs[name] for name in table.arguments + table.groups)
        starts = [0]
        for k in range(table.function.n_out()):
            starts.append(starts[-1] + table.function.numel_out(k))
        results = ", ".join(f"w + {start}" for start in starts[:-1])
        return (
            f"{head} {{\n"
            f"  const casadi_real* in[] = {{{', '.join(inputs)}}};\n"
            f"  casadi_real* out[] = {{{results}}};\n"
            f"  {self.symbol(looped.table)}(in, out, iw, w + {own}, mem);\n"
            f"  {looped.body}\n  return 0;\n}}\n"
        )


class _Base:
    """Poses of the links in L0, with which screws and wrenches go to the origin of L0."""

    def __init__(self, kinematics: Kinematics) -> None:
        self._kinematics = kinematics
        self._poses: list[tuple[SX, SX]] = []
        for link, X in zip(kinematics.model.links, kinematics.transforms, strict=True):
            R, p = self._poses[link.parent] if link.parent >= 0 else (SX.eye(3), SX.zeros(3))
            self._poses.append((R @ X.constant @ X.motion, p + R @ X.translation))

    @cached_property
    def screws(self) -> SX:
        """Screws of all joints, shape (n, 6)."""
        return self.motions([own_screw(self._kinematics, i) for i in range(self._kinematics.model.n)])

    def motions(self, screws: Sequence[Screw]) -> SX:
        """Motion vectors, one of each link in its frame, at the origin of L0: shape (n, 6)."""
        rows = []
        for (R, p), (linear, angular) in zip(self._poses, screws, strict=True):
            turned = R @ angular
            rows.append(ca.horzcat((R @ linear + cross(p, turned)).T, turned.T))
        return ca.vertcat(*rows)

    def wrench(self, i: int, wrench: Screw) -> SX:
        """Force and moment on link i, in its frame, at the origin of L0: shape (6,)."""
        R, p = self._poses[i]
        force = R @ wrench[0]
        return ca.vertcat(force, R @ wrench[1] + cross(p, force))


def own_screw(kinematics: Kinematics, i: int) -> Screw:
    """Screw of joint i in the frame of its link, linear half first."""
    u, zero = kinematics.axes[i], SX.zeros(3)
    return (zero, u) if kinematics.is_revolute(i) else (u, zero)


def _world_screws(kinematics: Kinematics) -> SX:
    """Screws of all joints at the origin of L0, in the orientation of the world: shape (n, 6)."""
    rows, origin = [], kinematics.poses[0][1]
    for i in range(kinematics.model.n):
        R, p = kinematics.poses[i + 1]
        linear, angular = own_screw(kinematics, i)
        turned = R @ angular
        rows.append(ca.horzcat((R @ linear + cross(p - origin, turned)).T, turned.T))
    return ca.vertcat(*rows)


def _poses(kinematics: Kinematics) -> SX:
    """R by columns, then p, of L0 and of every link in the world: shape (12, n + 1)."""
    return ca.horzcat(*(ca.vertcat(ca.vec(R), p) for R, p in kinematics.poses))


def _wrench_columns(motion: LinkMotion) -> list[Screw]:
    """Wrench on a link, in its frame, per unit of each of its parameters: of mass, first moment, inertia."""
    a, zero = motion.a, SX.zeros(3)
    first = [(motion.B[:, k], SX(cross(SX.eye(3)[:, k], a))) for k in range(3)]
    return [(a, zero), *first, *((zero, ca.vertcat(*column)) for column in _rotational_columns(motion))]


def _mass_wrenches(dynamics: Dynamics, base: _Base) -> SX:
    """I^c_i S_i of every joint, shape (6, n)."""
    screws = [own_screw(dynamics.kinematics, i) for i in range(dynamics.model.n)]
    return ca.horzcat(*(base.wrench(i, dynamics._composite_wrench(i, *screw)) for i, screw in enumerate(screws)))


def _coriolis_tables(dynamics: Dynamics, base: _Base, qd: SX) -> list[SX]:
    """S, Ṡ (n, 6), then I^c S, I^c Ṡ + B^c S and B^cᵀ S (6, n) of every joint, as in `Dynamics.coriolis_matrix`."""
    velocities = dynamics._velocities(qd)
    operators = dynamics._composite_christoffel_operators(velocities)
    rates, own, forward, backward = [], [], [], []
    for i, (v, w) in enumerate(velocities):
        linear, angular = screw = own_screw(dynamics.kinematics, i)
        rates.append((cross(w, linear) + cross(v, angular), cross(w, angular)))
        momentum, B22 = operators[i]
        force, moment = dynamics._composite_wrench(i, *rates[i])
        own.append(base.wrench(i, dynamics._composite_wrench(i, *screw)))
        forward.append(base.wrench(i, (force + cross(angular, momentum), moment + B22 @ angular)))
        backward.append(base.wrench(i, (SX.zeros(3), cross(momentum, linear) + B22.T @ angular)))
    return [base.screws, base.motions(rates), *(ca.horzcat(*columns) for columns in (own, forward, backward))]


def _runs_text(model: RobotModel) -> str:
    """C constants: the joints that move each link, as runs of consecutive indices."""
    runs: list[tuple[int, int]] = []
    first = [0]
    for i in range(model.n):
        path = sorted(model.path(i))
        for j in path:
            if len(runs) > first[-1] and runs[-1][1] == j:
                runs[-1] = (runs[-1][0], j + 1)
            else:
                runs.append((j, j + 1))
        first.append(len(runs))
    pairs = ", ".join(f"{{{begin}, {end}}}" for begin, end in runs)
    return (
        f"static const int thunder_runs[{len(runs)}][2] = {{{pairs}}};\n"
        f"static const int thunder_first_run[{len(first)}] = {{{', '.join(map(str, first))}}};\n"
    )
