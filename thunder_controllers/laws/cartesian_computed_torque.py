"""Cartesian computed torque: the model turns the end effector into double integrators (resolved acceleration)."""

from __future__ import annotations

import casadi as ca

from thunder_controllers.laws.faults import recovery
from thunder_controllers.laws.faults.isolation import FaultIsolation
from thunder_controllers.laws.faults.recovery import FaultRecovery
from thunder_controllers.laws.faults.residual import TINY
from thunder_controllers.laws.kinematic_loop.pose_error import clipped_norm
from thunder_controllers.laws.outside import disturbance
from thunder_controllers.laws.outside.observer import MomentumObserver
from thunder_controllers.laws.parts import posture, task
from thunder_controllers.laws.parts.acceleration_bounds import accelerate_within, acceleration_limit
from thunder_controllers.laws.parts.friction import COMPENSATION, FrictionTerms
from thunder_controllers.laws.parts.gains import acceleration_bandwidth, error_dynamics_gains
from thunder_controllers.laws.parts.redundancy import PseudoInverse, SingularityDamping, factor_ldl
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Option, Options, ReferenceKind, Signals, takes
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

REDUNDANCY = Option(
    "redundancy",
    "Draw spare joints to a posture; and keep all accelerations within bounds, with one joint more than rows.",
    ("posture", "acceleration_bounds"),
)


@takes(task.OPTION, COMPENSATION, REDUNDANCY, recovery.OPTION, disturbance.OPTION)
def cartesian_computed_torque(robot: RobotExpressions, options: Options) -> Law:
    """τ = M q̈ + C q̇ + G + F_V q̇ + F_C sign(q̇),  q̈ = J⁺(ξ̇_d + R_1(ξ_d − J q̇) + R_0 e − J̇ q̇) + (1 − J⁺J) z.

    e = [p_d − p ; r sin θ]   [Luh, Walker & Paul 1980]. Of an arm with spare joints z = ν(ζ̇ + 2 k_σ(ζ − q̇) + k_σ² σ) −
    (1 − ν) 2 k_n q̇, ζ̇ = k_n²(q_home − q) − 2 k_n ζ, ν fading near singularities, and σ the `Deflection` of s = ζ − q̇,
    which holds them against loads; of another z = ν k_n²(q_home − q) − 2 k_n q̇. On a circle q_home − q is its sine.

    With an exact model, away from singularities and within the limits of the errors, ë_p + R_1 ė_p + R_0 e_p = 0, and
    with the relative angular velocity ω̃ = ω_d − ω the rotation has dω̃/dt + R_1 ω̃ + R_0 r sin θ = 0:
    1 − cos θ + ½ ω̃ᵀR_0⁻¹ω̃ falls at the rate −ω̃ᵀR_0⁻¹R_1 ω̃, from every angle below 180°.

    Args:
        robot: At least as many joints on the path to its end effector as the task has rows.
        options: With `redundancy=acceleration_bounds`, |q̈_i| ≤ U_i: z as far as they leave room, and where they leave
            none the largest share of J q̈ that they allow. With `faults=isolate` faults of joints are reported, with
            `continue` the task goes on with what is left, as `FaultRecovery` says, which keeps these bounds, too.
    """
    signals = Signals(robot, ReferenceKind.CARTESIAN)
    q, qd = signals.q, signals.qd
    error = task.task_error(robot, signals, options)
    rows = error.rows
    R_0, R_1 = error_dynamics_gains(signals, rows)
    k_n, away, _ = task.posture_error(robot, signals, 2.0)
    friction = FrictionTerms(robot, qd, options["friction"])

    acceleration = signals.reference.acceleration[:rows] + R_1 * error.e_dot + R_0 * _near(signals, error.e)
    J_dot = robot.jacobian_dot(q, qd)[:rows, :]
    left: FaultRecovery | None = None
    J, isolation = error.J, None
    if options["faults"] != "off":
        pushed = factor_ldl(SX(robot["M"])).solve(J[:3, :].T) @ ca.diag(reciprocal(R_0[:3] + TINY))  # (R_0⁻¹ J M⁻¹)ᵀ
        isolation = FaultIsolation(robot, signals, ca.sqrt(ca.sum2(pushed**2)))
    if isolation and options["faults"] == "continue":
        if options["redundancy"] != "posture":
            what = f"faults=continue with redundancy={options['redundancy']}"
            raise options.error(what, "redundancy=posture: faults=continue keeps the bounds by itself")
        left = FaultRecovery(robot, signals, isolation, acceleration_limit(robot, signals))
        J = error.J @ ca.diag(left.obeys)
    damping = SingularityDamping(signals, J, error.J)
    inverse = PseudoInverse(error.J, J_dot, damping.value, damping.rate)
    next_state = {"damping": damping.next}
    z = damping.posture * k_n**2 * away - 2.0 * k_n * qd
    if posture.is_redundant(robot, rows):
        free = PseudoInverse(J, J_dot, damping.value, damping.rate)
        z, spare = _spare_acceleration(signals, free, damping.posture, k_n, away)
        next_state |= spare
    # Only J⁺ is applied here; what `apply` differentiates is not asked for, and not compiled.
    r, telemetry = acceleration - J_dot @ qd, {**error.telemetry, **damping.telemetry}
    if left:
        qdd = left.accelerate(error.J, r, z, damping.value)
    elif options["redundancy"] == "posture":
        qdd = z + inverse.apply(r - error.J @ z, SX.zeros(rows))[0]
    else:
        if robot.n - rows != 1:
            what = f"acceleration_bounds with {robot.n - rows} redundant degrees of freedom"
            raise options.error(what, f"an arm of {rows + 1} joints, or redundancy=posture")
        bounded = accelerate_within(inverse, r, z, acceleration_limit(robot, signals))
        signals.describe_telemetry("task_share", unit="1", doc="Share of J q̈ that the bounds of q̈ allow.")
        qdd, telemetry["task_share"] = bounded.u, bounded.share
    effort = robot.inverse_dynamics(q, qd, qd, qdd) + friction.torque(qd)
    rejected, observed = _disturbance(robot, signals, options, inverse, J_dot @ qd, friction.torque(qd))
    effort += rejected.effort
    next_state |= rejected.next_state | observed
    telemetry |= rejected.telemetry
    if left:
        effort = left.apply(effort, error.e[:3], error.e_dot[:3])
        next_state |= left.next_state
        telemetry |= left.telemetry
    if isolation:
        next_state |= isolation.next_state
        telemetry |= isolation.telemetry
    return signals.law(
        "cartesian_computed_torque",
        "Computed torque of the pose of the end effector.",
        effort=effort,
        next_state=next_state,
        telemetry=telemetry,
    )


def _disturbance(
    robot: RobotExpressions, signals: Signals, options: Options, inverse: PseudoInverse, drift: SX, friction: SX
) -> tuple[disturbance.Disturbance, dict[str, SX]]:
    """Return what takes up a disturbance, and the next state of its observer.

    Raises:
        LawError: beside faults, which would be taken up before they are isolated.
    """
    choice, rows = options[disturbance.OPTION.name], drift.numel()
    if choice != "none" and options["faults"] != "off":
        raise options.error(f"disturbance={choice} with faults={options['faults']}", "one of them")
    K_o = disturbance.observer_bandwidth(signals, options, acceleration_bandwidth)
    observer = None if K_o is None else MomentumObserver(robot, signals, K_o, (), SX(0, 1), friction)
    followed = inverse.apply(signals.reference.acceleration[:rows] - drift, SX.zeros(rows))[0]
    without = robot.inverse_dynamics(signals.q, signals.qd, signals.qd, followed) + friction
    found = disturbance.Disturbance(signals, options, without, observer, bandwidth=acceleration_bandwidth)
    return found, observer.next_state if observer is not None else {}


def _spare_acceleration(
    signals: Signals, inverse: PseudoInverse, share: SX, k_n: SX, away: SX
) -> tuple[SX, dict[str, SX]]:
    """z (n,) of an arm with spare joints, and the next states of it; the null space is that of `inverse`."""
    zeta, zeta_dot, next_zeta = posture.velocity_home(signals, k_n, away)
    deflection, way = posture.Deflection(signals, posture.FREQUENCY), zeta - signals.qd
    sigma, k = deflection.value, deflection.k
    z = share * (zeta_dot + 2.0 * k * way + k**2 * sigma) - (1.0 - share) * 2.0 * k_n * signals.qd
    next_sigma = deflection.step(inverse.project(way + k * sigma), share)
    return SX(z), {"spare_velocity": next_zeta, "deflection": next_sigma}


def _near(signals: Signals, e: SX) -> SX:
    """The errors, each shortened to its limit where it is longer."""
    limits = [
        signals.gain(
            f"{what}_error_limit",
            default=default,
            bounds=(1e-3, most),
            unit=unit,
            doc=f"Larger errors of the {what} are fed to the law at this length.",
        )
        for what, default, most, unit in (("position", 0.1, 10.0, "m"), ("orientation", 0.4, 1.0, "1"))[
            : e.numel() // 3
        ]
    ]
    return ca.vertcat(*(clipped_norm(e[3 * i : 3 * i + 3], limit) for i, limit in enumerate(limits)))
