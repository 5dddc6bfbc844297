"""A spring and damper at the end effector: the arm yields to what pushes it, by a known amount."""

from __future__ import annotations

import casadi as ca

from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals, takes
from thunder_dynamics.spatial import vee


@takes()
def spring_and_damper(robot: RobotExpressions, options: Options) -> Law:
    """τ = Jᵀ(K e + D(ξ_d − J q̇)) − d q̇ + G,  e = [p_d − p; r sin θ]   [Hogan 1985, part II].

    At rest a wrench f on the end effector displaces it by e = −K⁻¹f.
    """
    signals = Signals(robot, ReferenceKind.CARTESIAN)
    q, qd, reference, rest = signals.q, signals.qd, signals.reference, ca.SX.zeros(robot.n)
    soft, doc = [600.0] * 3 + [40.0] * 3, "per axis of the world, linear first."
    K = signals.gain("K", size=6, default=soft, bounds=(0, 5000), unit="N/m, N·m", doc=f"Stiffness {doc}")
    slow = [60.0] * 3 + [2.0] * 3
    D = signals.gain("D", size=6, default=slow, bounds=(0, 500), unit="N·s/m, N·m·s", doc=f"Damping {doc}")
    d = signals.gain("d", default=0.5, bounds=(0, 50), unit="N·m·s/rad", doc="Damping of every joint.")
    signals.describe_telemetry("pose_error", size=6, unit="m, 1", doc="e.", activation_bounds=(-0.3, 0.3))

    R, p = robot.pose(q)
    J = robot.jacobian(q)
    e = ca.vertcat(reference.position - p, vee(reference.rotation @ R.T))
    wrench = K * e + D * (reference.twist - J @ qd)
    effort = J.T @ wrench - d * qd + robot.inverse_dynamics(q, rest, rest, rest)
    return signals.law("spring_and_damper", "Spring and damper at the end effector.", effort, {}, {"pose_error": e})
