"""RobotExpressions: the named expressions of a robot, built when asked for, and the user's own beside them.

Names follow the established interface: `M` becomes `get_M`, of arguments named q, dq, ddq, dq_r, ddq_r, x, dx, ddx and
the parameter groups. A group is an argument of a function exactly when the function depends on its symbolic entries.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import casadi as ca
import numpy as np

from thunder_dynamics.algorithms import catalogue
from thunder_dynamics.algorithms.base_parameters import (
    BaseParameters,
    find_base_parameters,
    parameter_names,
)
from thunder_dynamics.algorithms.derivatives import time_derivative
from thunder_dynamics.algorithms.drives import friction_matrices, rotor_inertias, rotor_regressor
from thunder_dynamics.algorithms.dynamics import (
    Dynamics,
    coriolis_reference,
    inertial_parameters,
    inverse_dynamics,
    propagate,
)
from thunder_dynamics.algorithms.elastic import coefficient_matrices, elastic_terms
from thunder_dynamics.algorithms.forward_dynamics import ArticulatedBodies
from thunder_dynamics.algorithms.kinematics import Kinematics, Parameters
from thunder_dynamics.algorithms.regressors import slotine_li_regressor
from thunder_dynamics.errors import ExpressionError, NameNotFoundError, nearest
from thunder_dynamics.model import C_KEYWORDS, IDENTIFIER, RobotModel
from thunder_dynamics.spatial import homogeneous

SX = ca.SX

NO_ARITHMETIC = frozenset({ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT})
"""Instructions of a function that compute nothing."""

TOGETHER = "+"
"""Between the names of functions that are computed together."""

TIME_DERIVATIVE = re.compile(r"(\w+)_d([1-9])t")
"""Names of time derivatives of any order: of a function's name, and the order."""

RESERVED = re.compile(r"(par_|law_|table_).*|numJoints|numPar(DYN|REG)|work")
"""Names that the generated code gives a meaning of its own: parameter groups, laws, tables, members of the class."""


@dataclass(frozen=True)
class Argument:
    """An argument that functions may take: a symbol, its unit, what it is, and what a new library starts from."""

    name: str
    symbol: SX
    unit: str
    description: str
    default: tuple[float, ...] = (0.0,)


GEOMETRY = frozenset({"par_DHtable", "par_world2L0", "par_gravity"})
"""Parameter groups that inverse dynamics depends on beside the inertial parameters."""


@dataclass(frozen=True)
class FunctionSpec:
    """A named function of a robot; `build` gives its expression when it is needed.

    `is_matrix` tells a matrix that happens to have one column, as that of a robot with one joint, from a vector.
    What is `on_request` is compiled only if a build names it.
    """

    name: str
    arguments: tuple[str, ...]
    description: str
    build: Callable[[], SX]
    is_matrix: bool = False
    on_request: bool = False


class RobotExpressions:
    """All expressions of one robot.

    Args:
        model: The robot. Its symbolic parameter groups become arguments; everything else is folded into constants.

    `robot["M"]` is an SX expression, `robot.function("M")` a CasADi function of its declared arguments. Control laws
    use the methods that take signals (`pose`, `jacobian`, `slotine_li_regressor`, …).
    """

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        self.parameters = Parameters(model)
        self.arguments: dict[str, Argument] = {}
        self._specs: dict[str, FunctionSpec] = {}
        self._built: dict[str, SX] = {}
        self._declare_arguments()
        self._declare_functions()

    # --- arguments and functions ------------------------------------------------------------------------------

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the functions that every library has."""
        return tuple(name for name, spec in self._specs.items() if not spec.on_request)

    @property
    def functions_on_request(self) -> tuple[str, ...]:
        """Names of the functions that a library has if its build names them."""
        return tuple(name for name, spec in self._specs.items() if spec.on_request)

    def selected(self, requested: Iterable[str]) -> tuple[str, ...]:
        """Names of the functions of a library: those of every one, and those that are requested; `all` means all.

        Raises:
            NameNotFoundError: listing the functions there are.
        """
        wanted = {name for name in requested if name == "all" or TOGETHER not in name and self.spec(name)}
        return tuple(name for name, spec in self._specs.items() if not spec.on_request or wanted & {name, "all"})

    def groups(self, requested: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        """Names of the functions that requests such as `M+C+G` want computed together.

        Raises:
            NameNotFoundError: listing the functions there are.
            ExpressionError: for one that is named twice.
        """
        found = [tuple(request.split(TOGETHER)) for request in requested if TOGETHER in request]
        for group in found:
            for name in group:
                self.spec(name)
                if group.count(name) > 1:
                    raise ExpressionError(f"'{name}' twice", where=TOGETHER.join(group), valid="each function once")
        return tuple(found)

    def spec(self, name: str) -> FunctionSpec:
        """Description of a function; <name>_d<k>t is the time derivative of order k of one of q and its rates.

        Raises:
            NameNotFoundError: listing the functions there are.
            ExpressionError: for the time derivative of a function that has other arguments.
        """
        if name not in self._specs and (match := TIME_DERIVATIVE.fullmatch(name)) and match[1] in self._specs:
            self._declare_time_derivative(name, match[1], int(match[2]))
        if name not in self._specs:
            raise NameNotFoundError(f"no function '{name}'", where=self.model.name, valid=nearest(name, self._specs))
        return self._specs[name]

    def __getitem__(self, name: str) -> SX:
        if name not in self._built:
            spec = self.spec(name)
            self._built[name] = ca.cse(ca.densify(spec.build()))
        return self._built[name]

    def symbol(self, name: str) -> SX:
        """The symbol of an argument, to write one's own expressions with.

        Raises:
            NameNotFoundError: listing the arguments there are.
        """
        if name not in self.arguments:
            raise NameNotFoundError(f"no argument '{name}'", where=self.model.name, valid=nearest(name, self.arguments))
        return self.arguments[name].symbol

    def signature(self, name: str) -> tuple[str, ...]:
        """Arguments of a function: the declared ones, then the parameter groups it turns out to depend on."""
        declared = self.spec(name).arguments
        expression = self[name]
        groups = (g for g in self.parameters.symbols if g not in declared)
        return declared + tuple(g for g in groups if ca.depends_on(expression, self.parameters.symbols[g]))

    def function(self, name: str) -> ca.Function:
        """The function as a CasADi function of `signature(name)`, dense result, output named `out`."""
        names = self.signature(name)
        return ca.Function(f"get_{name}", [self.arguments[a].symbol for a in names], [self[name]], list(names), ["out"])

    def function_of_group(self, names: Sequence[str]) -> ca.Function:
        """The functions in one, whose common subexpressions are computed once: a dense output of the name of each."""
        taken = {argument for name in names for argument in self.signature(name)}
        arguments = [name for name in self.arguments if name in taken]
        # Ṁ alone takes fewer operations by the derivative of M; where C is computed, Ṁ = C + Cᵀ is free.
        free = {"M_dot": lambda: self["C"] + self["C"].T} if "C" in names else {}
        results = ca.cse([free[name]() if name in free else self[name] for name in names])
        symbols = [self.arguments[name].symbol for name in arguments]
        return ca.Function("get_together", symbols, results, arguments, list(names))

    def operations(self, name: str) -> int:
        """How many operations a function takes, without constants, arguments and results."""
        function = self.function(name)
        codes = (function.instruction_id(k) for k in range(function.n_instructions()))
        return sum(code not in NO_ARITHMETIC for code in codes)

    def add_argument(self, name: str, size: int | tuple[int, int], unit: str = "", descr: str = "") -> SX:
        """Declare an argument of one's own and return its symbol.

        Raises:
            ExpressionError: if the name is taken, reserved or no identifier, or the size not positive.
        """
        self._check_name(name, self.arguments, "argument")
        rows, cols = (size, 1) if isinstance(size, int) else size
        if rows < 1 or cols < 1:
            raise ExpressionError(f"size {size}", where=f"argument '{name}'", valid="at least one element")
        symbol = SX.sym(name, rows, cols)
        self.arguments[name] = Argument(name, symbol, unit, descr)
        return symbol

    def add_function(self, f_name: str, expr: SX, f_args: Sequence[str], descr: str = "") -> None:
        """Add an expression of one's own; it is compiled like the built-in ones, as get_<f_name>.

        Args:
            f_name: Identifier that is not taken.
            expr: Expression over `symbol(…)` of the arguments and other expressions of this robot; one column is a
                vector.
            f_args: Names of the arguments, in order. Parameter groups it depends on are added by themselves.

        Raises:
            ExpressionError: if the name is taken or reserved, `expr` is no SX expression, or it depends on something
                that `f_args` does not list.
        """
        self._check_name(f_name, self._specs, "function")
        where = f"function '{f_name}'"
        for name in f_args:
            if list(f_args).count(name) > 1:
                raise ExpressionError(f"f_args name '{name}' twice", where=where, valid="each argument once")
        try:
            expr = SX(expr)
        except (TypeError, NotImplementedError) as error:
            kind = type(expr).__name__
            raise ExpressionError(f"a {kind} is no expression", where=where, valid="casadi.SX or numbers") from error
        if expr.numel() == 0:
            raise ExpressionError("the expression is empty", where=where, valid="at least one element")
        symbols = [*(self.symbol(a) for a in f_args), *self.parameters.symbols.values()]
        known = {s.element_hash() for v in symbols for s in ca.symvar(v)}
        missing = sorted(s.name() for s in ca.symvar(expr) if s.element_hash() not in known)
        if missing:
            what = f"the expression depends on {', '.join(missing)}, which f_args {list(f_args)} does not provide"
            raise ExpressionError(what, where=where, valid=f"arguments among {', '.join(self.arguments)}")
        self._specs[f_name] = FunctionSpec(f_name, tuple(f_args), descr, lambda: expr)

    @staticmethod
    def _check_name(name: str, taken: Iterable[str], kind: str) -> None:
        if not IDENTIFIER.fullmatch(name) or name in C_KEYWORDS:
            raise ExpressionError(f"{kind} name {name!r}", valid=f"a match of {IDENTIFIER.pattern}, no C++ keyword")
        if name in taken:
            raise ExpressionError(f"{kind} '{name}' exists already", valid="a new name")
        if RESERVED.fullmatch(name):
            raise ExpressionError(f"{kind} name '{name}' is reserved", valid=f"no match of {RESERVED.pattern}")

    # --- parts that control laws are written with -----------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.model.n

    def kinematics(self, q: SX) -> Kinematics:
        """Kinematics at q; shared by everything that is asked for the same q."""
        return self._kinematics if q is self.symbol("q") else Kinematics(self.model, q, self.parameters)

    @cached_property
    def _kinematics(self) -> Kinematics:
        return Kinematics(self.model, self.symbol("q"), self.parameters)

    @cached_property
    def dynamics(self) -> Dynamics:
        """M, C and G, of the symbols of the robot."""
        return Dynamics(self._kinematics, self.pi)

    @cached_property
    def pi(self) -> SX:
        """All inertial parameters in REG order, shape (10 n,), numeric where the model is."""
        return inertial_parameters(self.parameters, self.n)

    @cached_property
    def base_parameters(self) -> BaseParameters:
        """Which combinations of inertial parameters and rotors act: Y π + reg_Ia I_a = Y_b π_b; see `base_parameters`.

        Raises:
            ExpressionError: if they depend on a run-time parameter, as geometry or gravity is symbolic, or a joint has
                more configuration values than velocities.
        """
        groups = sorted(GEOMETRY.intersection(self.parameters.symbols))
        if groups or self.model.nq != self.model.nv:
            what = f"the base parameters depend on {', '.join(groups)}" if groups else "the configuration is no vector"
            raise ExpressionError(what, where=self.model.name, valid="numbers there, joints with nq = nv")
        state = [self.symbol(name) for name in ("q", "dq", "ddq")]
        function = ca.Function("whole", state, [ca.horzcat(self["Y"], rotor_regressor(self.model, state[2]))])
        rotors = (f"{self.model.joint_names[i]}.rotor" for i in self.model.rotor_joints)
        names = (*parameter_names(self.model.link_names), *rotors)
        return find_base_parameters(lambda *state: np.asarray(function(*state)), names, self.model.nv)

    def pose(self, q: SX) -> tuple[SX, SX]:
        """Rotation (3, 3) and position (3,) of the end effector in the world."""
        return self.kinematics(q).ee_pose

    def jacobian(self, q: SX) -> SX:
        """J_ee(q) in the world frame, linear part first, shape (6, n)."""
        return self.kinematics(q).jacobian_ee()

    def jacobian_dot(self, q: SX, qd: SX) -> SX:
        """d/dt J_ee, shape (6, n)."""
        return self.kinematics(q).jacobian_ee_dot(qd)

    def slotine_li_regressor(self, q: SX, qd: SX, qd_r: SX, qdd_r: SX, links: Iterable[int] | None = None) -> SX:
        """Y_r with Y_r π = M q̈_r + C q̇_r + G of the bodies, shape (n, 10·len(links)); all links by default."""
        kinematics = self.kinematics(q)
        motions = propagate(kinematics, qd, qd_r, qdd_r, self.parameters["par_gravity"])
        return slotine_li_regressor(kinematics, motions, range(self.n) if links is None else links)

    def inverse_dynamics(
        self,
        q: SX,
        qd: SX,
        qd_r: SX,
        qdd_r: SX,
        links: Iterable[int] | None = None,
        rotors: SX | None = None,
    ) -> SX:
        """M q̈_r + C q̇_r + G with the model's own parameters, shape (n,), in O(n).

        Args:
            links: Whose bodies count, all by default. The rotors count in any case.
            rotors: Their reflected inertias (n,), those of the model by default, none where these are unknown.
        """
        kinematics = self.kinematics(q)
        motions = propagate(kinematics, qd, qd_r, qdd_r, self.parameters["par_gravity"])
        bodies = inverse_dynamics(kinematics, motions, self.pi, range(self.n) if links is None else links)
        return bodies + (self.rotor_inertias if rotors is None else rotors) * qdd_r

    def forward_dynamics(self, q: SX, qd: SX, tau: SX, pi: SX | None = None, rotors: SX | None = None) -> SX:
        """q̈ with M q̈ + C q̇ + G = τ, shape (n,), by articulated bodies; joints must not be coupled.

        Args:
            pi: Inertial parameters of all links (10 n,), REG order, those of the model by default.
            rotors: As of `inverse_dynamics`.
        """
        kinematics = self.kinematics(q)
        at_rest = propagate(kinematics, qd, qd, SX.zeros(self.n), self.parameters["par_gravity"])
        pi, rotors = (own if given is None else given for own, given in ((self.pi, pi), (self.rotor_inertias, rotors)))
        return ArticulatedBodies(kinematics, pi, rotors).forward_dynamics(tau, at_rest)

    @cached_property
    def rigid(self) -> RobotExpressions:
        """The robot with springs of infinite stiffness, `with_rigid_joints`; itself if it has no elastic joints."""
        return RobotExpressions(self.model.with_rigid_joints()) if self.model.elastic_joints else self

    @cached_property
    def numeric(self) -> RobotExpressions:
        """The robot with the parameters of its file; itself if none is symbolic."""
        return RobotExpressions(replace(self.model, symbolic={})) if self.parameters.symbols else self

    @property
    def rotor_inertias(self) -> SX:
        """What the rotors that are known add to the diagonal of M, shape (n,) [kg·m² or kg]."""
        return rotor_inertias(self.model, self.parameters)

    def coriolis_reference(self) -> SX:
        """C by matrix algebra from ∂M/∂q: the slow reference that `C` is compared with. Shape (n, n), for v = q̇."""
        return coriolis_reference(self["M"], self.symbol("q"), self.symbol("dq"))

    # --- what every robot has -----------------------------------------------------------------------------------

    def _declare_arguments(self) -> None:
        nv = self.model.nv
        q = SX.sym("q", self.model.nq)
        self.arguments["q"] = Argument("q", q, "rad|m", "Joint positions.", tuple(self.model.neutral))
        self.add_argument("dq", nv, "rad/s|m/s", "Joint velocities.")
        self.add_argument("ddq", nv, "rad/s²|m/s²", "Joint accelerations.")
        self.add_argument("dq_r", nv, "rad/s|m/s", "Reference joint velocities.")
        self.add_argument("ddq_r", nv, "rad/s²|m/s²", "Reference joint accelerations.")
        for name, (size, unit, descr) in {**catalogue.ESTABLISHED_ARGUMENTS, **catalogue.ARGUMENTS}.items():
            self.add_argument(name, size(self.model), unit, descr)
        if self.model.elastic_joints:
            n_elastic = len(self.model.elastic_joints)
            self.add_argument("x", n_elastic, "rad|m", "Motor positions of the elastic joints.")
            self.add_argument("dx", n_elastic, "rad/s|m/s", "Motor velocities of the elastic joints.")
            self.add_argument("ddx", n_elastic, "rad/s²|m/s²", "Motor accelerations of the elastic joints.")
            self.add_argument("ddx_r", n_elastic, "rad/s²|m/s²", "Reference motor accelerations of the elastic joints.")
        own = {custom.name: (custom.unit, custom.description) for custom in self.model.custom_parameters}
        for group, symbol in self.parameters.symbols.items():
            unit, descr = own.get(group, ("SI", f"Symbolic entries of {group}."))
            self.arguments[group] = Argument(group, symbol, unit, descr)

    def _declare(
        self, name: str, arguments: str, descr: str, build: Callable[[], SX], *, on_request: bool = False
    ) -> None:
        taken, is_matrix = tuple(arguments.split()), name not in catalogue.VECTORS
        self._specs[name] = FunctionSpec(name, taken, descr, build, is_matrix, on_request)

    def _declare_functions(self) -> None:
        self._declare_kinematics()
        ee_frame = self.parameters["par_Ln2EE"]
        self._declare_end_effector("ee", "the end effector", self.model.ee_link, ee_frame)
        for effector in self.model.end_effectors:
            self._declare_end_effector(effector.name, effector.name, effector.link, effector.frame.parameters)
        if any(link.joint.kind.rate for link in self.model.links):
            self._declare_catalogue(catalogue.Rates)
        self._declare_catalogue(catalogue.Established)
        self._declare_catalogue(catalogue.MatrixRates)
        self._declare_catalogue(catalogue.Catalogue)
        if self.model.nq == self.model.nv and GEOMETRY.isdisjoint(self.parameters.symbols):
            self._declare_catalogue(catalogue.ReducedRegressor)
        if self.model.friction_order or any(link.coulomb or link.effort_offset for link in self.model.links):
            self._declare_catalogue(catalogue.Friction)
        if self.model.friction_order:
            self._declare_catalogue(catalogue.ViscousFriction)
            for order, (name, matrix) in enumerate(friction_matrices(self.model, self.parameters).items(), start=1):
                descr = f"Viscous friction coefficients of power {order}, diagonal, n×n."
                self._declare(name, "", descr, partial(SX, matrix))
        if self.model.rotor_joints:
            self._declare_catalogue(catalogue.Rotors)
        if self.model.elastic_joints:
            self._declare_elastic()
        if "par_DYN" in self.parameters.symbols:
            reg = SX.sym("par_REG", sum(self.model.symbolic["par_DYN"]))
            self.arguments["par_REG"] = Argument("par_REG", reg, "SI", "REG form of the symbolic entries of par_DYN.")
            self._declare_catalogue(catalogue.SymbolicInertias)
            self._declare_catalogue(catalogue.SymbolicRegressors)
        else:
            self._declare_catalogue(catalogue.NumericInertias)

    def _declare_time_derivative(self, name: str, of: str, order: int) -> None:
        rates = [catalogue.rate_name(k) for k in range(1, 20)]
        arguments = self._specs[of].arguments
        if other := [argument for argument in arguments if argument not in ("q", *rates)]:
            valid = "functions of q, dq, ddq, …"
            raise ExpressionError(f"{of} depends on {', '.join(other)}", where=f"function '{name}'", valid=valid)
        highest = order + max((1 + rates.index(a) for a in arguments if a in rates), default=0)
        for k, rate in enumerate(rates[:highest], start=1):
            if rate not in self.arguments:
                self.add_argument(
                    rate, self.model.nv, f"rad/s^{k}|m/s^{k}", f"Derivatives of the joint positions, order {k}."
                )

        def build() -> SX:
            expression = self[of]
            for _ in range(order):
                expression = time_derivative(expression, catalogue.motion(self, highest))
            return expression

        descr = f"Time derivative of {of}, order {order}."
        is_matrix = self._specs[of].is_matrix
        self._specs[name] = FunctionSpec(
            name, ("q", *rates[:highest]) if arguments else (), descr, build, is_matrix, True
        )

    def _declare_kinematics(self) -> None:
        for i in range(self.n + 1):
            what = "base frame L0" if i == 0 else f"link {self.model.links[i - 1].name}"
            self._declare(f"T_0_{i}", "q", f"Pose of {what} in the world, 4×4.", partial(self._kinematics.transform, i))
            relative = partial(self._kinematics.relative_transform, i)
            above = "the world" if i == 0 else self._name_above(i)
            self._declare(f"T_{i}", "q" if i else "", f"Pose of {what} in {above}, 4×4.", relative)
        for i in range(1, self.n + 1):
            self._declare(
                f"J_{i}",
                "q",
                f"Jacobian of the origin of link {self.model.links[i - 1].name}, world frame, linear first, 6×n.",
                partial(self._kinematics.jacobian_link, i),
            )
            self._declare(
                f"J_cm_{i}",
                "q",
                f"Jacobian of the CoM of link {self.model.links[i - 1].name}, world frame, linear first, 6×n.",
                partial(self._kinematics.jacobian_com, i),
                on_request=self.model.is_large,
            )
            self._declare(
                f"J_{i}_dot",
                "q dq",
                f"Time derivative of J_{i}, 6×n.",
                partial(self._link_jacobian_dot, i),
                on_request=True,
            )

    def _link_jacobian_dot(self, i: int) -> SX:
        return self._kinematics.jacobian_dot(i - 1, self._kinematics.poses[i][1], self.symbol("dq"))

    def _name_above(self, i: int) -> str:
        """What link i hangs on, from 1 on."""
        parent = self.model.links[i - 1].parent
        return "L0" if parent < 0 else f"link {self.model.links[parent].name}"

    def _declare_end_effector(self, name: str, what: str, link: int, frame: Sequence[SX | float]) -> None:
        def pose() -> tuple[SX, SX]:
            return self._kinematics.frame_pose(link, frame)

        def jacobian_dot() -> SX:
            return self._kinematics.jacobian_dot(link, pose()[1], self.symbol("dq"))

        self._declare(f"T_0_{name}", "q", f"Pose of {what} in the world, 4×4.", lambda: SX(homogeneous(*pose())))
        descr = f"Jacobian of {what}, world frame, linear first, 6×n."
        self._declare(f"J_{name}", "q", descr, lambda: self._kinematics.jacobian(link, pose()[1]))
        self._declare(f"J_{name}_dot", "q dq", f"Time derivative of J_{name}, 6×n.", jacobian_dot)

        def jacobian_wrt_q() -> SX:
            return self._kinematics.jacobian_wrt_q(link, pose()[1])

        descr = f"∂J_{name}/∂q: column k is vec ∂J_{name}/∂q_k, columns of J_{name} stacked, 6n×n."
        self._declare(f"J_{name}_wrt_q", "q", descr, jacobian_wrt_q, on_request=True)

    def _declare_catalogue(self, kind: type[catalogue.Functions]) -> None:
        entries = kind(self)
        rotors = " + reg_Ia·par_Ia" if self.model.rotor_joints else ""
        for name, build in catalogue.functions(entries).items():
            arguments, descr = tuple(inspect.signature(build).parameters), inspect.getdoc(build) or ""
            expression, is_matrix = partial(build, *map(self.symbol, arguments)), name not in catalogue.VECTORS
            descr = descr.format(rotors=rotors)
            self._specs[name] = FunctionSpec(name, arguments, descr, expression, is_matrix, entries.on_request)

    def _rigid_mass_matrix(self, motors: SX) -> SX:
        M, joints = SX(self["M"]), list(self.model.elastic_joints)
        M[joints, joints] += motors
        return M

    def _declare_elastic(self) -> None:
        symbols = {name: argument.symbol for name, argument in self.arguments.items()}
        terms = elastic_terms(self.model, symbols, self.parameters)
        described = {
            "k": ("q x", "Coupling stiffness torque of the elastic joints."),
            "d": ("dq dx", "Coupling damping torque of the elastic joints."),
            "dm": ("dx", "Motor-side damping torque."),
            "Mm": ("", "Motor inertias, diagonal."),
            "reg_k": ("q x", "reg_k·par_K = k."),
            "reg_d": ("dq dx", "reg_d·par_D = d."),
            "reg_dm": ("dx", "reg_dm·par_Dm = dm."),
            "reg_Mm": ("ddx", "reg_Mm·par_Mm = Mm·ddx."),
        }
        for name, (arguments, descr) in described.items():
            if terms[name].numel():
                self._declare(name, arguments, descr, partial(terms.__getitem__, name))
        descr = "Mass matrix of the robot with springs of infinite stiffness: M with Mm on its diagonal, n×n."
        self._declare("M_rigid", "q", descr, partial(self._rigid_mass_matrix, terms["Mm"]))
        what = {"K": "Coupling stiffness", "D": "Coupling damping", "Dm": "Motor-side damping"}
        for name, matrix in coefficient_matrices(self.model, self.parameters).items():
            group, power = name.rstrip("0123456789"), name.lstrip("KDm")
            descr = f"{what[group]} coefficients of power {power}, diagonal."
            self._declare(name, "", descr, partial(SX, matrix))
