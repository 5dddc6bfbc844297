"""Large robots: straight-line code makes tables of O(n) screws and wrenches, loops in C make the matrices of them.

At one point, the origin of L0, a joint's screw S_j is the same for all links. With the wrenches W of a link at that
point, per unit of each of its parameters or of its joint's acceleration, M, C and the regressors are S_jᵀ W for every
joint j on the path to the link. Straight-line code carries every screw to every link instead: O(n²) statements, but
the zeros of each transform are folded, which makes it the faster one for few joints; of 30 it takes minutes to compile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

from thunder_dynamics.algorithms.dynamics import Dynamics, LinkMotion, propagate
from thunder_dynamics.algorithms.joint_motion import Screw
from thunder_dynamics.algorithms.kinematics import Kinematics
from thunder_dynamics.algorithms.regressors import rotational_columns
from thunder_dynamics.codegen.c_core import SIGNATURE
from thunder_dynamics.codegen.text import template
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.model import RobotModel
from thunder_dynamics.spatial import cross

SX = ca.SX


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
    """The looped functions of a robot; none for a small one, or if they are not wanted."""

    def __init__(self, robot: RobotExpressions, are_wanted: bool = True) -> None:
        self._robot = robot
        self._model = robot.model
        self._are_wanted = are_wanted
        self._q, self._dq = robot.symbol("q"), robot.symbol("dq")

    @cached_property
    def functions(self) -> Mapping[str, LoopedFunction]:
        """Looped functions by name."""
        # Several joints may follow one velocity, which has then no single screw.
        if not self._are_wanted or not self._model.is_large or self._model.has_coupled_joints:
            return {}
        n, size, result = self._model.nv, self._screws_size, {}
        for i in range(1, self._model.n + 1):
            result[f"T_0_{i}"] = self._looped("frames", ("q",), (4, 4), f"thunder_pose(w + {6 * n}, {i}, res[0]);")
            result[f"J_{i}"] = self._looped("frames", ("q",), (6, n), f"thunder_jacobian(w, w + {6 * n}, {i}, res[0]);")
        tables = ", ".join(f"w + {size * k}" for k in range(6))
        mass = f"thunder_mass(w, w + {size}, w + {2 * size}, res[0]);"
        result["M"] = self._looped("mass", ("q",), (n, n), mass)
        result["C"] = self._looped("coriolis", ("q", "dq"), (n, n), f"thunder_coriolis({tables}, res[0]);", n * n)
        result["M_dot"] = self._looped(
            "coriolis", ("q", "dq"), (n, n), f"thunder_mass_rate({tables}, res[0]);", 2 * n * n
        )
        for name in ("Yr", "Y", "reg_G"):
            result[name] = self._regressor(name, "regressor")
        for name in ("reg_M", "reg_C"):
            result[name] = self._regressor(name, "motion_regressor")
        return result

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        """Tables that the looped functions read, by name."""
        base, q, dq, parameters = self._base, self._q, self._dq, self._robot.parameters
        signals = {"q": q, "dq": dq, "dq_r": self._robot.symbol("dq_r"), "ddq_r": self._robot.symbol("ddq_r")}
        fields: dict[str, Sequence[SX | float]] = {
            "regressor": parameters["par_gravity"],
            "motion_regressor": [0.0] * 3,
        }
        tables = {
            "frames": self._table({"q": q}, [_world_screws(base.kinematics), _poses(base.kinematics)]),
            "mass": self._table({"q": q}, [base.screws, _mass_wrenches(base), base.dynamics.rotors]),
            "coriolis": self._table({"q": q, "dq": dq}, _coriolis_tables(base)),
        }
        for name, field in fields.items():
            motions = propagate(base.kinematics, dq, signals["dq_r"], signals["ddq_r"], field)
            wrenches = [ca.veccat(*base.parameter_wrenches(i, motion)) for i, motion in enumerate(motions)]
            tables[name] = self._table(signals, [base.screws, ca.vertcat(*wrenches)])
        return tables

    @cached_property
    def _base(self) -> _Base:
        return _Base(Dynamics(self._robot.kinematics(self._q), self._robot.pi), self._dq)

    @property
    def _screws_size(self) -> int:
        return len(self._base.rows) * self._model.nv

    def source(self, work_sizes: Mapping[str, int]) -> tuple[str, dict[str, int]]:
        """C source of the looped functions, and the sizes of their work vectors.

        Args:
            work_sizes: Of the tables, by C symbol.
        """
        if not self.functions:
            return "", {}
        definitions, sizes = [], {}
        for name, looped in self.functions.items():
            symbol, table = f"{self._model.name}_{name}", self.tables[looped.table]
            own = table.size + looped.scratch
            definitions.append(self._definition(f"int {symbol}{SIGNATURE}", looped, own))
            sizes[symbol] = own + work_sizes[self.symbol(looped.table)]
        rows, moments = len(self._base.rows), range(self._base.first_angular, len(self._base.rows))
        kernels = (("power", 1, range(rows)), ("first_powers", 4, range(rows)), ("inertia_powers", 6, moments))
        text = template("loops.c").substitute(
            nv=self._model.nv,
            n=self._model.n,
            rows=rows,
            first=4 * rows,
            inertia=6 * len(moments),
            kernels="".join(_kernel_text(*kernel) for kernel in kernels),
            constants=_constants_text(self._model),
        )
        return text + "\n".join(definitions), sizes

    def symbol(self, table: str) -> str:
        """C symbol of a table."""
        return f"{self._model.name}_table_{table}"

    def _table(self, arguments: Mapping[str, SX], results: Sequence[SX]) -> Table:
        values = [ca.densify(value) for value in ca.cse(list(results))]
        everything = ca.veccat(*values)
        symbols = self._robot.parameters.symbols
        groups = tuple(g for g in symbols if ca.depends_on(everything, symbols[g]))
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
        n, declared = self._model.nv, self._robot.spec(name).arguments
        body = f"thunder_regressor(w, w + {self._screws_size}, res[0]);"
        looped = self._looped(table, declared, (n, N_PARAMETERS * self._model.n), body)
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
            f"  const thunder_real* in[] = {{{', '.join(inputs)}}};\n"
            f"  thunder_real* out[] = {{{results}}};\n"
            f"  {self.symbol(looped.table)}(in, out, iw, w + {own}, mem);\n"
            f"  {looped.body}\n  return 0;\n}}\n"
        )


class _Base:
    """Screws and wrenches at the origin of L0, of which the components are left out that no screw has."""

    def __init__(self, dynamics: Dynamics, qd: SX) -> None:
        self.dynamics = dynamics
        self.qd = qd
        self.kinematics = dynamics.kinematics
        self.velocities = dynamics.velocities(qd)
        self.rates = dynamics.screw_rates(self.velocities, qd)
        self._poses: list[tuple[SX, SX]] = []
        for link, X in zip(self.kinematics.model.links, self.kinematics.transforms, strict=True):
            R, p = self._poses[link.parent] if link.parent >= 0 else (SX.eye(3), SX.zeros(3))
            self._poses.append((R @ X.constant @ X.motion, p + R @ X.translation))
        motions = ca.vertcat(*(_rows(self._poses, columns) for columns in (self.kinematics.subspaces, self.rates)))
        self.rows = [r for r in range(6) if ca.sparsify(motions[:, r]).nnz()]
        self.first_angular = sum(r < 3 for r in self.rows)

    @cached_property
    def screws(self) -> SX:
        """Screws of all velocities, shape (nv, len(rows))."""
        return self.motions(self.kinematics.subspaces)

    def motions(self, columns: Sequence[tuple[Screw, ...]]) -> SX:
        """Motion vectors, those of each link in its frame: one a row, shape (nv, len(rows))."""
        return _rows(self._poses, columns)[:, self.rows]

    def wrench(self, i: int, wrench: Screw) -> SX:
        """Force and moment on link i, in its frame, shape (len(rows),)."""
        R, p = self._poses[i]
        force = R @ wrench[0]
        return ca.vertcat(force, R @ wrench[1] + cross(p, force))[self.rows]

    def parameter_wrenches(self, i: int, motion: LinkMotion) -> list[SX]:
        """Wrenches on link i per unit of its mass and first moment, moments alone per unit of its inertia."""
        a, zero = motion.a, SX.zeros(3)
        first = [(motion.B[:, k], SX(cross(SX.eye(3)[:, k], a))) for k in range(3)]
        inertia = [(zero, ca.vertcat(*column)) for column in rotational_columns(motion)]
        return [
            *(self.wrench(i, wrench) for wrench in [(a, zero), *first]),
            *(self.wrench(i, wrench)[self.first_angular :] for wrench in inertia),
        ]


def _rows(poses: Sequence[tuple[SX, SX]], columns: Sequence[tuple[Screw, ...]]) -> SX:
    rows = []
    for (R, p), screws in zip(poses, columns, strict=True):
        for linear, angular in screws:
            turned = R @ angular
            rows.append(ca.horzcat((R @ linear + cross(p, turned)).T, turned.T))
    return ca.vertcat(*rows)


def _world_screws(kinematics: Kinematics) -> SX:
    """Screws of all velocities at the origin of L0, in the orientation of the world: shape (nv, 6)."""
    origin = kinematics.poses[0][1]
    return _rows([(R, p - origin) for R, p in kinematics.poses[1:]], kinematics.subspaces)


def _poses(kinematics: Kinematics) -> SX:
    """R by columns, then p, of L0 and of every link in the world: shape (12, n + 1)."""
    return ca.horzcat(*(ca.vertcat(ca.vec(R), p) for R, p in kinematics.poses))


def _mass_wrenches(base: _Base) -> SX:
    """I^c_i S_i of every velocity, shape (rows, nv)."""
    screws = [(i, screw) for i, columns in enumerate(base.kinematics.subspaces) for screw in columns]
    return ca.horzcat(*(base.wrench(i, base.dynamics.composite_wrench(i, *screw)) for i, screw in screws))


def _coriolis_tables(base: _Base) -> list[SX]:
    """S, Ṡ (nv, rows), then I^c S, I^c Ṡ + B^c S and B^cᵀ S (rows, nv), as of `Dynamics.christoffel_wrenches`."""
    links = base.dynamics.christoffel_wrenches(base.velocities, base.qd)
    columns = [[base.wrench(i, one) for one in three] for i, link in enumerate(links) for three in link]
    return [base.screws, base.motions(base.rates), *(ca.horzcat(*one) for one in zip(*columns, strict=True))]


def _kernel_text(name: str, columns: int, rows: Sequence[int]) -> str:
    """C function: entries j of some columns, for every velocity j of a run: the powers of its screw and a wrench each.

    A screw is loaded once for all of the columns; none of these is a loop, so that compilers vectorise the one over j.
    """
    count = len(rows)
    size = count * columns
    values = ", ".join(f"f{k} = f[{k}]" for k in range(size))
    screw = ", ".join(f"s{r} = s[j + {r} * THUNDER_VELOCITIES]" for r in rows)
    sums = (" + ".join(f"s{r} * f{count * c + k}" for k, r in enumerate(rows)) for c in range(columns))
    entries = [one or "thunder_all(0.0)" for one in sums]
    lines = "".join(f"    out[j + {c} * THUNDER_VELOCITIES] = {entry};\n" for c, entry in enumerate(entries))
    return (
        f"static void thunder_{name}(const thunder_real* restrict s, const thunder_real* restrict f, int begin,\n"
        f"{' ' * (len(name) + 21)}int end, thunder_real* restrict out) {{\n"
        + (f"  const thunder_real {values};\n" if size else "")
        + "  int j;\n  for (j = begin; j < end; ++j) {\n"
        + (f"    const thunder_real {screw};\n" if count else "")
        + lines
        + "  }\n}\n\n"
    )


def _constants_text(model: RobotModel) -> str:
    """C constants: the velocities that move each link, as runs of consecutive indices, and where columns begin."""
    runs: list[tuple[int, int]] = []
    first_run = [0]
    for i in range(model.n):
        for j in model.path(i):
            velocities = model.v_ranges[j]
            if len(runs) > first_run[-1] and runs[-1][1] == velocities.start:
                runs[-1] = (runs[-1][0], velocities.stop)
            else:
                runs.append((velocities.start, velocities.stop))
        first_run.append(len(runs))
    pairs = ", ".join(f"{{{begin}, {end}}}" for begin, end in runs)
    tables = {
        "first_run": first_run,
        "first_velocity": [velocities.start for velocities in model.v_ranges] + [model.nv],
    }
    text = [
        f"static const int thunder_{name}[] = {{{', '.join(map(str, values))}}};\n" for name, values in tables.items()
    ]
    return f"static const int thunder_runs[][2] = {{{pairs}}};\n" + "".join(text)
