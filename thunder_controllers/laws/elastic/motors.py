"""Backstepping on the motors of elastic joints: from the torque of a spring to that of its motor (theory.md §5)."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from thunder_controllers.laws.adaptation.limit import AdaptationLimit
from thunder_controllers.laws.elastic.estimates import ElasticEstimates
from thunder_controllers.laws.elastic.gains import motor_gains
from thunder_controllers.laws.parts.gate import motion
from thunder_controllers.laws.parts.split_dynamics import SplitDynamics
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.law import Option, Options, Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

OPTION = Option(
    "elasticity", "Springs and motors of the robot file, or adapted coefficients of them.", ("model", "adapted")
)


class Motors:
    """τ_m = Mm(ẍ_r + Λ_x ż) + dm + k + d + K_x s_x,  z = x_r − x,  s_x = ż + Λ_x z,  k(x_r − q) + d(ẋ_r − q̇) = τ_d.

    Without damping of the spring σ_r = x_r − q = k⁻¹(τ_d), with it σ_r is a state. ẋ_r takes τ̇_d, and without damping
    ẍ_r takes τ̈_d, exact along q̈ of the link equation, whose torque is k + d of what is measured.

    In ẍ_r, q̈ is q̈ + ρ M⁻¹(τ_d − k − d), of the gain ρ = `kept_stiffness`. ρ = 0 is the published law: it frees z of
    the springs, of their resonance √(K/M) too, and needs Mm M⁻¹K times x − q for that, with its noise: 20 to 60 K on
    the last joints of a Panda. ρ = 1 leaves z its spring and only damps it.

    With linear springs without damping, a feedback B on s, A = M⁻¹ of the elastic joints, and exact parameters
    V = ε(½ sᵀM s + ½ π̃ᵀΓπ̃) + ½ zᵀ(P + ρKAK)z + ½ s_xᵀK s_x falls by the quadratic form of

        ⎡ εB    −½εK                          0      ⎤
        ⎢  ·    (P + ρKAK)Λ_x − ½ρK Ȧ K      −½P     ⎥  ≻ 0,  its symmetric part, for some ε > 0 and P ⪰ 0.
        ⎣  ·     ·                          K Mm⁻¹K_x ⎦

    With ρ = 0 that is so for any positive gains: ε may be small. With ρ = 1, P = 0 and Λ_x = λ1, where 2λA ≻ Ȧ.

    With estimates there remain, in ẍ_r + Λ_x ẋ_r: the error of q̈, M̂⁻¹Y(q, q̇, q̈)π̃, times Λ_x K⁻¹(B + M̂Λ), and its
    derivative; and the rates of the estimates themselves, which count as constant, as the period does that bounds
    adapted friction. Both vanish with the errors.

    Args:
        signals: Where measurements, jerk and snap of the reference, gains, states and telemetry are declared.
        model: Of the links.
        tau_d: Torque of the law for the links, (n,).
        s: q̇_r − q̇, (n,).
        qd_r: Reference velocity of the joints, (n,).

    Attributes:
        effort: τ_m of elastic joints, τ_d of the others, (n,).
        next_state: Of what is declared here.
        telemetry: z and s_x.

    Raises:
        LawError: for springs that do not rise with their stretch, dampers without linear part, motors without inertia.
    """

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        options: Options,
        model: SplitDynamics,
        tau_d: SX,
        s: SX,
        qd_r: SX,
    ) -> None:
        self._robot, self._signals, self._model = robot, signals, model
        self._joints = joints = list(robot.model.elastic_joints)
        damped, static = check(robot, options)
        self.next_state: dict[str, SX] = {}
        self.effort: SX = tau_d
        self.telemetry: Mapping[str, SX] = {}
        if not joints:
            return
        self._x, self._xd = signals.measurement("motor_position"), signals.measurement("motor_velocity")
        snap = signals.further_reference("snap", default=0.0)
        jerk = signals.further_reference("jerk", default=0.0, derivative=snap)
        Lambda_x, K_x, kept = motor_gains(robot, signals)
        for name, unit, doc in (("z", "rad|m", "z = x_r − x."), ("s_x", "rad/s|m/s", "s_x = ż + Λ_x z.")):
            signals.describe_telemetry(name, size=len(joints), unit=unit, doc=doc)
        self._own = own = ElasticEstimates(robot, signals, adapts=options["elasticity"] == "adapted")

        stretch, rate, xd = (self._x - signals.q)[joints], (self._xd - signals.qd)[joints], self._xd[joints]
        pull = own.stiffness(stretch) + own.damping(rate)
        torque = SX(tau_d)
        torque[joints] = pull
        qdd = self._acceleration(torque)
        followed = (qdd + kept * (self._acceleration(tau_d) - qdd))[joints]
        along = [(signals.qd, qdd), (signals.reference.qdd, jerk), (signals.dt, SX(0.0))]
        tau, tau_dot = tau_d[joints], signals.time_derivative(tau_d, along)[joints]

        def backstep(sigma: SX, sigma_d: SX, sigma_dd: SX) -> tuple[SX, SX, SX, SX]:
            """τ_m, z, s_x and ẍ_r + Λ_x ż of all motors, right for those whose σ_r and derivatives are."""
            z, zd = sigma - stretch, sigma_d - rate
            s_x, wanted = zd + Lambda_x * z, followed + sigma_dd + Lambda_x * zd
            return own.inertia * wanted + own.friction(xd) + pull + K_x * s_x, z, s_x, wanted

        sigma = [SX.zeros(len(joints)) for _ in range(3)]
        if damped:
            _put(sigma, damped, self._lagging(damped, tau[damped], tau_dot[damped]))
        if static:
            # ẍ of damped springs, whose torque q̈ has ẋ of; it has none of the others
            motor, *_ = backstep(*sigma)
            xdd = SX.zeros(robot.n)
            xdd[joints] = (motor - own.friction(xd) - pull) * reciprocal(own.inertia)
            xdd[[joints[e] for e in static]] = 0.0
            tau_ddot = signals.time_derivative(tau_dot[static], [*along, (self._x, self._xd), (self._xd, xdd)])
            _put(sigma, static, self._following(static, tau[static], tau_dot[static], tau_ddot))
        motor, z, s_x, wanted = backstep(*sigma)
        self.effort = SX(tau_d)
        self.effort[joints] = motor
        self.telemetry = {"z": z, "s_x": s_x}
        if own.adapts:
            gate = motion(signals, qd_r) if model.gate is None else model.gate
            limit = AdaptationLimit(signals) if model.limit is None else model.limit
            of_motor, of_link = own.regressors(stretch, rate, xd, wanted), own.regressors(sigma[0], sigma[1])
            self.next_state |= own.step(gate, of_motor, s_x, K_x, of_link, s[joints], limit)

    def _acceleration(self, torque: SX) -> SX:
        """q̈ of the link equation under torques of springs and rigid drives (n,), by the estimates in use."""
        robot, model, signals = self._robot, self._model, self._signals
        pi = SX(robot.pi)
        for k, link in enumerate(model.links):
            own = slice(N_PARAMETERS * k, N_PARAMETERS * (k + 1))
            pi[N_PARAMETERS * link : N_PARAMETERS * (link + 1)] = model.estimates["pi_hat"][own]
        friction = SX(model.offsets)
        if model.friction:
            friction += model.friction.measured[0] @ model.friction.estimate
        elif "dl" in robot.functions:
            friction += robot["dl"] - robot.model.effort_offsets
        return robot.forward_dynamics(signals.q, signals.qd, torque - friction, pi)

    def _following(self, rows: list[int], tau: SX, tau_dot: SX, tau_ddot: SX) -> tuple[SX, SX, SX]:
        """σ_r of springs without damping and its derivatives: k(σ_r) = τ_d."""
        k = self._own.stiffness.at(rows)
        sigma = k.inverse(tau)
        slope = reciprocal(k.slope(sigma))
        sigma_d = tau_dot * slope
        return sigma, sigma_d, (tau_ddot - k.curvature(sigma) * sigma_d**2) * slope

    def _lagging(self, rows: list[int], tau: SX, tau_dot: SX) -> tuple[SX, SX, SX]:
        """σ_r of damped springs and its derivatives; σ_r is a state, d(σ̇_r) = τ_d − k(σ_r).

        It is stiff where D/K is short, so its step is that of Rosenbrock and Euler, exact where k and d are linear and
        τ_d is linear in time: σ_r + Δ φ_1(aΔ) σ̇_r + Δ² φ_2(aΔ) τ̇_d/d', a = −k'/d'.
        """
        signals, robot = self._signals, self._robot
        k, d = self._own.stiffness.at(rows), self._own.damping.at(rows)
        held = robot["G"][[self._joints[e] for e in rows]]
        sigma = signals.state(
            "stretch_r",
            size=len(rows),
            default=0.0,
            unit="rad|m",
            doc="x_r − q of damped springs: what they are stretched by where they bear τ_d.",
            initial=self._own.described_stiffness.at(rows).inverse(held),
        )
        sigma_d = d.inverse(tau - k(sigma))
        slope = reciprocal(d.slope(sigma_d))
        a, dt, drive = -k.slope(sigma) * slope, signals.dt, tau_dot * slope
        phi_1 = ca.expm1(a * dt) * reciprocal(a * dt)
        phi_2 = (phi_1 - 1.0) * reciprocal(a * dt)
        self.next_state["stretch_r"] = sigma + dt * (phi_1 * sigma_d + dt * phi_2 * drive)
        return sigma, sigma_d, a * sigma_d + drive


def _put(into: list[SX], rows: list[int], values: tuple[SX, ...]) -> None:
    for all_of, some in zip(into, values, strict=True):
        all_of[rows] = some


def check(robot: RobotExpressions, options: Options) -> tuple[list[int], list[int]]:
    """Which of the elastic joints have damped springs, and which have not; an error for what no law can use."""
    model = robot.model
    if options["rotors"] == "adapted" and model.elastic_joints:
        raise options.error("rotors=adapted with elastic joints", "elasticity=adapted, which has their motors' inertia")
    if options["elasticity"] == "adapted" and not model.elastic_joints:
        raise options.error("elasticity=adapted without elastic joints", "elasticity=model")
    damped: list[int] = []
    static: list[int] = []
    for e, (i, joint) in enumerate(zip(model.elastic_joints, model.elasticities(), strict=True)):
        name, coefficients = model.joint_names[i], (*joint.K, *joint.D, *joint.Dm)
        if not (joint.K and joint.K[0] > 0.0 and joint.Mm > 0.0 and min(coefficients) >= 0.0):
            raise options.error(f"the spring or motor of {name}", "K that begins above 0, nothing negative, Mm above 0")
        if any(joint.D) and not joint.D[0]:
            raise options.error(f"damping of {name} without a linear part", "D that begins above 0, or none")
        (damped if any(joint.D) else static).append(e)
    return damped, static
