"""A kinematic loop of one's own: the position in a plane, for arms that move in no other."""

from __future__ import annotations

import casadi as ca

from thunder_controllers.laws.parts.task import posture_error
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Option, Options, Signals

PLANES = {"xz": [0, 2], "xy": [0, 1], "yz": [1, 2]}
DAMPING = 1e-6
"""λ² of the pseudo-inverse [m²]."""


class InPlane:
    """q̇_r = z + J⁺(v_d + Λ e − J z),  z = k_n (q_home − q): e, v_d and J of the two axes of the option `plane`."""

    OPTIONS = (Option("plane", "In which the arm moves.", tuple(PLANES)),)

    def __init__(self, robot: RobotExpressions, signals: Signals, options: Options, fastest: float) -> None:
        axes = PLANES[options["plane"]]
        soft, doc = min(8.0, fastest / 22.0), "Bandwidth of the error along each axis of the plane."
        self.Lambda = signals.gain("Lambda", size=2, default=soft, bounds=(0, 100), unit="1/s", doc=doc)
        k_n, away, _ = posture_error(robot, signals, 1.0)
        near, doc = (-0.3, 0.3), "e along its axes; zero along all others."
        signals.describe_telemetry("pose_error", size=6, unit="m, 1", doc=doc, activation_bounds=near)

        q, reference = signals.q, signals.reference
        J, e = robot.jacobian(q)[axes, :], (reference.position - robot.pose(q)[1])[axes]
        z = k_n * away
        J_inverse = J.T @ ca.inv(J @ J.T + DAMPING * ca.SX.eye(2))
        self.feedback = J_inverse @ (self.Lambda * e)
        self.qd_r = z + J_inverse @ (reference.twist[axes] - J @ z) + self.feedback
        self.qdd_r = signals.time_derivative(self.qd_r)
        self.effort = ca.SX.zeros(robot.n)
        self.next_state: dict[str, ca.SX] = {}
        pose_error = ca.SX.zeros(6)
        pose_error[axes] = e
        self.telemetry = {"pose_error": pose_error}
