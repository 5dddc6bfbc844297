"""Functions of robots beside poses and Jacobians, and what elastic joints add.

A public method declares a function: its name, the names of its arguments, and its docstring as the description, where
{rotors} is what the rotors add to Y·π.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import casadi as ca

from thunder_dynamics.algorithms.base_parameters import BaseParameters
from thunder_dynamics.algorithms.derivatives import StateRates, christoffel_symbols, stacked, time_derivative
from thunder_dynamics.algorithms.drives import friction_regressor, friction_torque, rotor_regressor
from thunder_dynamics.algorithms.dynamics import Dynamics, LinkMotion, inverse_dynamics, propagate
from thunder_dynamics.algorithms.energy import CentreOfMass, kinetic_energy_regressor, potential_energy_regressor
from thunder_dynamics.algorithms.forward_dynamics import ArticulatedBodies
from thunder_dynamics.algorithms.kinematic_regressors import LengthRegressors
from thunder_dynamics.algorithms.kinematics import Parameters
from thunder_dynamics.algorithms.regressors import slotine_li_regressor, transposed_product
from thunder_dynamics.inertia import N_PARAMETERS, parallel_axis
from thunder_dynamics.model import RobotModel

SX = ca.SX

ESTABLISHED_ARGUMENTS: dict[str, tuple[Callable[[RobotModel], int], str, str]] = {
    "d3q": (lambda model: model.nv, "rad/s³|m/s³", "Joint jerks."),
    "d4q": (lambda model: model.nv, "rad/s⁴|m/s⁴", "Rates of the joint jerks."),
    "w": (lambda _: 6, "N|N·m", "Force and moment on the end effector, in the world."),
}
"""Arguments that every class has a setter for, though only functions on request or the user's own take them."""

ARGUMENTS: dict[str, tuple[Callable[[RobotModel], int], str, str]] = {
    "tau": (lambda model: model.nv, "N·m|N", "Joint torques."),
    "damping": (lambda _: 1, "m", "λ of J_ee_pinv."),
    "pi": (lambda model: N_PARAMETERS * model.n, "SI", "Inertial parameters of all links, REG form."),
    "s": (lambda model: model.nv, "1", "What a transposed regressor is multiplied with."),
}
"""Arguments that only functions on request take: their size, unit and description."""

VECTORS = frozenset(
    """G inverse_dynamics forward_dynamics momentum kinetic_energy potential_energy com G_dot G_ddot Yr_known
    Y_known Yr_pi Y_pi reg_momentum_pi YrT_s YT_s reg_momentumT_s
    Yr_packed Y_packed Yb_packed pi_b dl k d dm par_REG par_REG_from_DYN par_DYN_from_REG pi_from_DYN""".split()
)
"""Functions that give a vector. All others give a matrix, also where it has one column."""


class Robot(Protocol):
    """What the functions are built from: symbols of arguments, parameters, and the robot's other functions."""

    model: RobotModel
    parameters: Parameters

    @property
    def dynamics(self) -> Dynamics:
        """M, C and G."""

    @property
    def pi(self) -> SX:
        """All inertial parameters in REG order, shape (10 n,)."""

    @property
    def base_parameters(self) -> BaseParameters:
        """Which combinations of π act."""

    def symbol(self, name: str) -> SX:
        """Symbol of an argument."""

    def __getitem__(self, name: str) -> SX:
        """Expression of a function."""


def rate_name(order: int) -> str:
    """dq, ddq, d3q and so on: the argument that is the derivative of q of that order."""
    return {1: "dq", 2: "ddq"}.get(order, f"d{order}q")


def motion(robot: Robot, order: int) -> list[tuple[SX, SX]]:
    """What moves with its rate: q along N(q) dq, dq along ddq, … up to the derivative of q of that order."""
    rates = [robot.symbol(rate_name(k)) for k in range(1, order + 1)]
    configuration = robot.symbol("q"), robot.dynamics.kinematics.configuration_rate(rates[0])
    return [configuration, *pairwise(rates)]


class Functions:
    """What the functions have in common.

    Attributes:
        on_request: They are compiled only if a build names them; those of the established interface always are.
    """

    on_request = False

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._model = robot.model
        self._dynamics = robot.dynamics
        self._kinematics = robot.dynamics.kinematics
        self._zero = SX.zeros(robot.model.nv)

    def _torque(self, pi: SX, qd: SX, qd_r: SX, qdd_r: SX, *, gravity: bool = True) -> SX:
        """M q̈_r + C q̇_r + G of bodies with parameters π."""
        motions = self._motions(qd, qd_r, qdd_r, gravity=gravity)
        return inverse_dynamics(self._kinematics, motions, pi, range(self._model.n))

    def _regressor(self, qd: SX, qd_r: SX, qdd_r: SX, *, gravity: bool = True) -> SX:
        """Y_r of all links."""
        motions = self._motions(qd, qd_r, qdd_r, gravity=gravity)
        return slotine_li_regressor(self._kinematics, motions, range(self._model.n))

    @property
    def _has_constant_subspaces(self) -> bool:
        subspaces = [half for columns in self._kinematics.subspaces for screw in columns for half in screw]
        return all(half.is_constant() for half in subspaces)

    def _motions(self, qd: SX, qd_r: SX, qdd_r: SX, *, gravity: bool) -> list[LinkMotion]:
        field = self._robot.parameters["par_gravity"] if gravity else [0.0] * 3
        return propagate(self._kinematics, qd, qd_r, qdd_r, field)

    def _rate(self, name: str) -> SX:
        """Time derivative of a function."""
        return time_derivative(self._robot[name], motion(self._robot, 3))


class Rates(Functions):
    """Of a robot with a joint whose velocity is not the rate of its configuration."""

    def N(self, q: SX) -> SX:
        """N·dq is the time derivative of q, nq×nv."""
        v = SX.sym("v", self._model.nv)
        return ca.jacobian(self._kinematics.configuration_rate(v), v)


class Established(Functions):
    """M, C, G and the regressors of inverse dynamics."""

    def M(self, q: SX) -> SX:
        """Mass matrix, n×n."""
        return self._dynamics.mass_matrix()

    def C(self, q: SX, dq: SX) -> SX:
        """Coriolis matrix in Christoffel form, n×n."""
        return self._dynamics.coriolis_matrix(dq)

    def G(self, q: SX) -> SX:
        """Gravity torque, n."""
        return self._dynamics.gravity_torque(self._robot.parameters["par_gravity"])

    def Yr(self, q: SX, dq: SX, dq_r: SX, ddq_r: SX) -> SX:
        """Slotine–Li regressor: Yr·π{rotors} = M·ddq_r + C·dq_r + G, n×10n."""
        return self._regressor(dq, dq_r, ddq_r)

    def Y(self, q: SX, dq: SX, ddq: SX) -> SX:
        """Classical regressor: Y·π{rotors} = M·ddq + C·dq + G, n×10n."""
        return self._regressor(dq, dq, ddq)

    def reg_M(self, q: SX, ddq_r: SX) -> SX:
        """reg_M·π{rotors} = M·ddq_r, n×10n."""
        return self._regressor(self._zero, self._zero, ddq_r, gravity=False)

    def reg_C(self, q: SX, dq: SX, dq_r: SX) -> SX:
        """reg_C·π = C·dq_r, n×10n."""
        return self._regressor(dq, dq_r, self._zero, gravity=False)

    def reg_G(self, q: SX) -> SX:
        """reg_G·π = G, n×10n."""
        return self._regressor(self._zero, self._zero, self._zero)

    def M_dot(self, q: SX, dq: SX) -> SX:
        """Time derivative of M, equal to C + Cᵀ, n×n."""
        return time_derivative(self._robot["M"], [(q, self._kinematics.configuration_rate(dq))])


class MatrixRates(Functions):
    """Rates of C and G, of the established interface; for a large robot on request, whose code they would double."""

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot)
        self.on_request = self._model.is_large

    def C_dot(self, q: SX, dq: SX, ddq: SX) -> SX:
        """Time derivative of C, n×n."""
        return self._rates.coriolis_rate() if self._has_constant_subspaces else self._rate("C")

    def G_dot(self, q: SX, dq: SX) -> SX:
        """Time derivative of G, n."""
        if not self._has_constant_subspaces:
            return self._rate("G")
        return self._rates.gravity_rate(self._robot.parameters["par_gravity"])

    @cached_property
    def _rates(self) -> StateRates:
        return StateRates(self._dynamics, self._robot.symbol("dq"), self._robot.symbol("ddq"))


class Catalogue(Functions):
    """The functions on request that every robot has."""

    on_request = True

    @cached_property
    def _bodies(self) -> ArticulatedBodies:
        return ArticulatedBodies(self._kinematics, self._robot.pi, self._dynamics.rotors)

    @cached_property
    def _lengths(self) -> LengthRegressors:
        return LengthRegressors(self._kinematics)

    # --- dynamics, energies, centre of mass -------------------------------------------------------------------------

    def inverse_dynamics(self, q: SX, dq: SX, ddq: SX) -> SX:
        """Torque M·ddq + C·dq + G by the recursive Newton–Euler algorithm, n."""
        return self._torque(self._robot.pi, dq, dq, ddq) + self._dynamics.rotors * ddq

    def forward_dynamics(self, q: SX, dq: SX, tau: SX) -> SX:
        """Acceleration M⁻¹·(tau − C·dq − G) by the articulated-body algorithm, n."""
        if self._model.has_coupled_joints:
            return self._solved(tau - self._torque(self._robot.pi, dq, dq, self._zero))
        at_rest = propagate(self._kinematics, dq, dq, self._zero, self._robot.parameters["par_gravity"])
        return self._bodies.forward_dynamics(tau, at_rest)

    def M_inv(self, q: SX) -> SX:
        """Inverse of M by articulated bodies, n×n."""
        coupled = self._model.has_coupled_joints
        return self._solved(SX.eye(self._model.nv)) if coupled else self._bodies.inverse_mass_matrix()

    def _solved(self, right: SX) -> SX:
        """M⁻¹ times the columns of a matrix, by M = L D Lᵀ: links that share a velocity are no articulated bodies."""
        D, LT, order = ca.ldl(self._robot["M"])
        return ca.densify(ca.ldl_solve(right, D, LT, order))

    def momentum(self, q: SX, dq: SX) -> SX:
        """Generalised momentum M·dq in O(n), n."""
        return self._torque(self._robot.pi, self._zero, self._zero, dq, gravity=False) + self._dynamics.rotors * dq

    def reg_momentum(self, q: SX, dq: SX) -> SX:
        """reg_momentum·π = M·dq without rotors, n×10n."""
        return self._regressor(self._zero, self._zero, dq, gravity=False)

    def kinetic_energy(self, q: SX, dq: SX) -> SX:
        """Kinetic energy ½·dqᵀ·M·dq in O(n), 1."""
        return self._robot["reg_kinetic_energy"] @ self._robot.pi + 0.5 * ca.dot(self._dynamics.rotors, dq**2)

    def reg_kinetic_energy(self, q: SX, dq: SX) -> SX:
        """reg_kinetic_energy·π = kinetic_energy without rotors, 1×10n."""
        return kinetic_energy_regressor(self._dynamics.velocities(dq))

    def potential_energy(self, q: SX) -> SX:
        """Potential energy −m·g₀ᵀ·com, zero at the origin of the world, 1."""
        return self._robot["reg_potential_energy"] @ self._robot.pi

    def reg_potential_energy(self, q: SX) -> SX:
        """reg_potential_energy·π = potential_energy, 1×10n."""
        return potential_energy_regressor(self._kinematics, self._robot.parameters["par_gravity"])

    def com(self, q: SX) -> SX:
        """Centre of mass in the world, 3."""
        return CentreOfMass(self._dynamics).position()

    def J_com(self, q: SX) -> SX:
        """Jacobian of the centre of mass in the world, 3×n."""
        return CentreOfMass(self._dynamics).jacobian()

    def J_ee_pinv(self, q: SX, damping: SX) -> SX:
        """Pseudo-inverse of J_ee with damping λ, Jᵀ(J·Jᵀ + λ²)⁻¹; exact for λ = 0 where J_ee has full rank, n×6."""
        J = self._robot["J_ee"]
        wide = J if J.shape[0] <= J.shape[1] else J.T
        solved = ca.ldl_solve(wide, *ca.ldl(wide @ wide.T + damping**2 * SX.eye(wide.shape[0])))
        return solved.T if wide is J else solved

    def reg_Jdq(self, q: SX, dq: SX) -> SX:
        """reg_Jdq·k = J_ee·dq, k = [1, lengths of the links, x y z of the end effector], 6×len(k)."""
        return self._lengths.velocity_regressor(dq)

    def reg_JTw(self, q: SX, w: SX) -> SX:
        """reg_JTw·k = J_eeᵀ·w, k = [1, lengths of the links, x y z of the end effector], n×len(k)."""
        return self._lengths.torque_regressor(w)

    # --- products of regressors, which are not formed ---------------------------------------------------------------

    def Yr_pi(self, q: SX, dq: SX, dq_r: SX, ddq_r: SX, pi: SX) -> SX:
        """Product Yr·π of any π in O(n), n."""
        return self._torque(pi, dq, dq_r, ddq_r)

    def Y_pi(self, q: SX, dq: SX, ddq: SX, pi: SX) -> SX:
        """Product Y·π of any π in O(n), n."""
        return self._torque(pi, dq, dq, ddq)

    def reg_momentum_pi(self, q: SX, dq: SX, pi: SX) -> SX:
        """Product reg_momentum·π of any π in O(n), n."""
        return self._torque(pi, self._zero, self._zero, dq, gravity=False)

    def YrT_s(self, q: SX, dq: SX, dq_r: SX, ddq_r: SX, s: SX) -> SX:
        """Product Yrᵀ·s in O(n), what an estimate adapts by, 10n."""
        return self._transposed(s, dq, dq_r, ddq_r)

    def YT_s(self, q: SX, dq: SX, ddq: SX, s: SX) -> SX:
        """Product Yᵀ·s in O(n), 10n."""
        return self._transposed(s, dq, dq, ddq)

    def reg_momentumT_s(self, q: SX, dq: SX, s: SX) -> SX:
        """Product reg_momentumᵀ·s in O(n), 10n."""
        return self._transposed(s, self._zero, self._zero, dq, gravity=False)

    def _transposed(self, s: SX, qd: SX, qd_r: SX, qdd_r: SX, *, gravity: bool = True) -> SX:
        motions = self._motions(qd, qd_r, qdd_r, gravity=gravity)
        return transposed_product(motions, self._dynamics.velocities(s))

    # --- regressors without the entries that are always zero --------------------------------------------------------

    def Yr_packed(self, q: SX, dq: SX, dq_r: SX, ddq_r: SX) -> SX:
        """Entries of Yr that are not zero at every state, at Yr_places."""
        return _entries(self._robot["Yr"])

    def Yr_places(self) -> SX:
        """Row and column of each entry of Yr_packed, from 0 on, column by column of Yr."""
        return _places(self._robot["Yr"])

    def Y_packed(self, q: SX, dq: SX, ddq: SX) -> SX:
        """Entries of Y that are not zero at every state, at Y_places."""
        return _entries(self._robot["Y"])

    def Y_places(self) -> SX:
        """Row and column of each entry of Y_packed, from 0 on, column by column of Y."""
        return _places(self._robot["Y"])

    # --- derivatives in time ----------------------------------------------------------------------------------------

    def J_com_dot(self, q: SX, dq: SX) -> SX:
        """Time derivative of J_com, 3×n."""
        return self._rate("J_com")

    def M_ddot(self, q: SX, dq: SX, ddq: SX) -> SX:
        """Second time derivative of M, n×n."""
        return self._rate("M_dot")

    def C_ddot(self, q: SX, dq: SX, ddq: SX, d3q: SX) -> SX:
        """Second time derivative of C, n×n."""
        return self._rate("C_dot")

    def G_ddot(self, q: SX, dq: SX, ddq: SX) -> SX:
        """Second time derivative of G, n."""
        return self._rate("G_dot")

    def J_ee_ddot(self, q: SX, dq: SX, ddq: SX) -> SX:
        """Second time derivative of J_ee, 6×n."""
        return self._rate("J_ee_dot")

    # --- derivatives along the state --------------------------------------------------------------------------------

    def M_wrt_q(self, q: SX) -> SX:
        """∂M/∂q: column k is vec ∂M/∂q_k, columns of M stacked, n²×n."""
        return stacked([symbols + symbols.T for symbols in self._christoffel_symbols()])

    def C_wrt_q(self, q: SX, dq: SX) -> SX:
        """∂C/∂q: column k is vec ∂C/∂q_k, columns of C stacked, n²×n."""
        return self._along_q("C")

    def C_wrt_dq(self, q: SX) -> SX:
        """∂C/∂dq, the Christoffel symbols: column k is vec ∂C/∂dq_k, columns of C stacked, n²×n."""
        return stacked(self._christoffel_symbols())

    def G_wrt_q(self, q: SX) -> SX:
        """∂G/∂q, n×n."""
        return self._along_q("G")

    def inverse_dynamics_wrt_q(self, q: SX, dq: SX, ddq: SX) -> SX:
        """∂τ/∂q of inverse_dynamics, n×n."""
        return self._along_q("inverse_dynamics")

    def inverse_dynamics_wrt_dq(self, q: SX, dq: SX) -> SX:
        """∂τ/∂dq of inverse_dynamics, equal to 2·C where dq is the rate of q, n×n; ∂τ/∂ddq is M."""
        if any(link.joint.kind.rate for link in self._model.links):
            return ca.jacobian(self.inverse_dynamics(q, dq, self._zero), dq)
        return 2 * self._robot["C"]

    def forward_dynamics_wrt_q(self, q: SX, dq: SX, tau: SX) -> SX:
        """∂ddq/∂q of forward_dynamics, n×n."""
        return self._response("inverse_dynamics_wrt_q")

    def forward_dynamics_wrt_dq(self, q: SX, dq: SX) -> SX:
        """∂ddq/∂dq of forward_dynamics, n×n; ∂ddq/∂tau is M_inv."""
        return self._response("inverse_dynamics_wrt_dq")

    def _along_q(self, name: str) -> SX:
        """∂/∂q · N(q), where q̇ = N(q) dq: along the velocities."""
        dq = self._robot.symbol("dq")
        rates = ca.jacobian(self._kinematics.configuration_rate(dq), dq)
        return ca.jacobian(ca.vec(self._robot[name]), self._robot.symbol("q")) @ rates

    def _christoffel_symbols(self) -> list[SX]:
        if self._has_constant_subspaces:
            return christoffel_symbols(self._dynamics)
        dq = self._robot.symbol("dq")
        n = dq.numel()
        return [ca.reshape(ca.jacobian(ca.vec(self._robot["C"]), dq[k]), n, n) for k in range(n)]

    def _response(self, name: str) -> SX:
        """−M⁻¹ ∂τ at the acceleration of forward dynamics."""
        at = ca.substitute(self._robot[name], self._robot.symbol("ddq"), self._robot["forward_dynamics"])
        return -(self._robot["M_inv"] @ at)


class Friction(Functions):
    """Of a robot whose joints rub."""

    def dl(self, dq: SX) -> SX:
        """Joint friction torque, and the offset of the joint's effort, n."""
        return friction_torque(self._model, dq, self._robot.parameters)


class ViscousFriction(Functions):
    """Of one with coefficients of viscous friction."""

    def reg_dl(self, dq: SX) -> SX:
        """reg_dl·par_Dl = viscous friction, n×(n·Dl_order)."""
        return friction_regressor(self._model, dq)


class Rotors(Functions):
    """Of a robot whose rotors are known."""

    def reg_Ia(self, ddq_r: SX) -> SX:
        """reg_Ia·par_Ia = what the rotors add to M·ddq_r, n×(joints with a rotor inertia)."""
        return rotor_regressor(self._model, ddq_r)


class NumericInertias(Functions):
    """Of a robot whose inertial parameters are numbers."""

    def par_REG(self) -> SX:
        """Inertial parameters π of all links, REG form, 10n constants."""
        return self._robot.pi


class SymbolicInertias(Functions):
    """Of a robot with symbolic inertial parameters: their two forms."""

    @property
    def _indices(self) -> list[int]:
        """The symbolic entries among all inertial parameters."""
        return [k for k, symbolic in enumerate(self._model.symbolic["par_DYN"]) if symbolic]

    def par_REG_from_DYN(self, par_DYN: SX) -> SX:
        """par_REG of the present par_DYN."""
        return self._robot.pi[self._indices]

    def par_DYN_from_REG(self, par_REG: SX) -> SX:
        """par_DYN that gives a par_REG (masses must not be zero)."""
        return _dyn_from_reg(self._model.parameters("par_DYN"), self._indices, par_REG)

    def pi_from_DYN(self, par_DYN: SX) -> SX:
        """Inertial parameters π of all links, REG form, of the present par_DYN, 10n."""
        return self._robot.pi


class SymbolicRegressors(SymbolicInertias):
    """Of the same: regressors without the columns of the other parameters."""

    on_request = True

    def Yr_symb(self, q: SX, dq: SX, dq_r: SX, ddq_r: SX) -> SX:
        """Columns of Yr at par_REG: Yr_symb·par_REG + Yr_known = Yr·π, n×len(par_REG)."""
        return self._robot["Yr"][:, self._indices]

    def Yr_known(self, q: SX, dq: SX, dq_r: SX, ddq_r: SX) -> SX:
        """Part of Yr·π that belongs to the parameters outside par_REG, n."""
        return self._torque(self._numeric(), dq, dq_r, ddq_r)

    def Y_symb(self, q: SX, dq: SX, ddq: SX) -> SX:
        """Columns of Y at par_REG: Y_symb·par_REG + Y_known = Y·π, n×len(par_REG)."""
        return self._robot["Y"][:, self._indices]

    def Y_known(self, q: SX, dq: SX, ddq: SX) -> SX:
        """Part of Y·π that belongs to the parameters outside par_REG, n."""
        return self._torque(self._numeric(), dq, dq, ddq)

    def _numeric(self) -> SX:
        """π without the entries of par_REG; where the mass alone is symbolic, the others still depend on it."""
        pi = SX(self._robot.pi)
        pi[self._indices] = 0
        return pi


class ReducedRegressor(Functions):
    """The regressor of the base parameters, see `algorithms.base_parameters`."""

    on_request = True

    def Yb(self, q: SX, dq: SX, ddq: SX) -> SX:
        """Reduced regressor: Yb·pi_b = M·ddq + C·dq + G, n×b."""
        whole = ca.horzcat(self._robot["Y"], rotor_regressor(self._model, ddq))
        return whole[:, self._robot.base_parameters.kept]

    def Yb_packed(self, q: SX, dq: SX, ddq: SX) -> SX:
        """Entries of Yb that are not zero at every state, at Yb_places."""
        return _entries(self._robot["Yb"])

    def Yb_places(self) -> SX:
        """Row and column of each entry of Yb_packed, from 0 on, column by column of Yb."""
        return _places(self._robot["Yb"])

    def Kb(self) -> SX:
        """Base parameters of all: pi_b = Kb·[π, par_Ia], b×(10n + joints with a rotor inertia)."""
        return SX(ca.DM(self._robot.base_parameters.K))

    def pi_b(self) -> SX:
        """Base parameters, b."""
        return self._robot["Kb"] @ ca.vertcat(self._robot.pi, self._robot.parameters.column("par_Ia"))


def _entries(matrix: SX) -> SX:
    """Entries of a matrix that are not the constant zero, shape (entries,)."""
    return SX(ca.sparsify(matrix).nz[:])


def _places(matrix: SX) -> SX:
    """Row and column of each of them, shape (entries, 2)."""
    return ca.horzcat(*(SX(ca.DM(places)) for places in ca.sparsify(matrix).sparsity().get_triplet()))


def _dyn_from_reg(numeric: Sequence[float], indices: Sequence[int], reg: SX) -> SX:
    """Solve reg_from_dyn for the DYN entries at `indices`, the others `numeric`; triangular in m, c, I."""
    dyn: list[SX | float] = list(numeric)
    given = {index: reg[position] for position, index in enumerate(indices)}
    for start in range(0, len(dyn), N_PARAMETERS):
        mass = dyn[start] = given.get(start, dyn[start])
        for k in range(start + 1, start + 4):
            dyn[k] = given[k] / mass if k in given else dyn[k]
        shift = parallel_axis(mass, dyn[start + 1 : start + 4])
        for k in range(6):
            index = start + 4 + k
            dyn[index] = given[index] - shift[k] if index in given else dyn[index]
    return ca.vertcat(*(SX(dyn[i]) for i in indices))


def functions(catalogue: Functions) -> dict[str, Callable[..., SX]]:
    """The functions of a catalogue, by name, in the order of their declaration."""
    declared = (name for name, value in vars(type(catalogue)).items() if callable(value) and not name.startswith("_"))
    return {name: getattr(catalogue, name) for name in declared}
