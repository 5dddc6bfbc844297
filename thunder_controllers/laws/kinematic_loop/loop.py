"""What a kinematic loop offers to a law, and which loops there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import casadi as ca

from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Option, Options, Signals

SX = ca.SX

OPTION = Option("kinematic_loop", "Makes q̇_r of the error of the pose.", ("axis_angle",), "thunder.kinematic_loops")


class KinematicLoop(Protocol):
    """The motion of the joints that takes the end effector to its reference, were the joints to follow it.

    A law closes the dynamic loop around it, on s = q̇_r − q̇: τ = M̂ q̈_r + Ĉ q̇_r + Ĝ + K_d s + `effort`. With
    V_e a function of the error that falls where q̇ = q̇_r, `effort` is what cancels the share of s in V̇_e; zero will do
    where none is known, as s goes to zero by itself.

    Attributes:
        Lambda: Bandwidths of the error, of any size [1/s]; they bound what estimates of inertia may become.
        qd_r: Reference velocity of the joints (n,).
        qdd_r: Its exact time derivative (n,).
        effort: Of the joints, (n,) [N·m or N].
        next_state: Of every state that the loop has declared.
        telemetry: What to report, as it was declared. `pose_error` (6,), metres first, is shown by node and plugin, and
            its activation bounds are what keeps a host from activating far away.
    """

    Lambda: SX
    qd_r: SX
    qdd_r: SX
    effort: SX
    next_state: Mapping[str, SX]
    telemetry: Mapping[str, SX]


class KinematicLoopBuilder(Protocol):
    """Declares state, gains and telemetry of a loop, and makes it: a class of loops, for instance.

    Attributes:
        OPTIONS: What it has beside those of the law.
    """

    OPTIONS: tuple[Option, ...]

    def __call__(self, robot: RobotExpressions, signals: Signals, options: Options, fastest: float) -> KinematicLoop:
        """Make a loop.

        Args:
            signals: With a Cartesian reference.
            options: All options of the law.
            fastest: Largest eigenvalue of M⁻¹K_d, of the law's profile [1/s]: defaults of bandwidths stay below it.
        """
