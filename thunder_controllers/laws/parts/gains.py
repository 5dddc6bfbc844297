"""Gains that laws share."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.laws.parts.worst_pose import (
    ArmInertia,
    axis_mobility,
    box_mobility,
    fastest_damping,
    joint_mobility,
    task_mobility,
)
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.joints import UNKNOWN_ROTOR
from thunder_dynamics.law import Option, Signals

FloatArray = NDArray[np.float64]

DEAD_TIMES = {"default": 2e-3, "stiff": 1e-3, "topics": 3e-3, "late": 10e-3}
"""Profiles: from a measurement to the effect of the effort that answers it [s]."""

FEEDBACK = 1.056
"""Largest eigenvalue of M⁻¹K_d over all poses, times T_total [1].

A loop bears π/2, and more where a filter is a part of T_total: with 2 ms of dead time and differences through 100 Hz it
bears 2.08. An arm that is a fifth lighter than its file takes 1.25 times this, and Λ and the estimates have their part.
"""

FASTEST = {"default": 230.0, "stiff": 294.0, "topics": 189.0, "late": 83.9}
"""The same over the T_total that `host.total_delay` has for each profile [1/s]; a test holds the two together."""

PROFILE = Option("profile", "Loop of K_d, K_p and Λ by default: with 2, 1, 3 or 10 ms of delay.", tuple(FASTEST))

LARGEST = 500.0
"""Upper bound of K_d [N·m·s/rad or N·s/m]."""

LARGEST_ADAPTATION = 0.4
"""Share of K_d per period, where the inertia it moves is known [1]: what delay and sampling bear (theory.md §5)."""

BANDWIDTH, PERIOD = 10.0, 1e-3
"""Λ by default [1/s], and the period of the loop that defaults are for [s]."""

DISTURBANCE_SHARE, INTEGRAL_SHARE = 0.25, 0.15
"""Bandwidth of an observer, and of an integral of s, over the largest eigenvalue of M⁻¹K_d that a loop bears [1].

On a UR3 and an xArm7 that stick, with 2 ms of dead time and 2 ms of lag, 0.55 and 0.25 are stable, and an integral with
0.4 is not.
"""

UNCERTAIN_RATIO = 2.0
"""Times that a guess of a rotor may be off."""

NO_LEAST_INERTIA = 1e6
"""Inertia of links that no joint turns about an axis [kg·m²]."""


arm_inertia = lru_cache(maxsize=8)(ArmInertia)
"""One of each robot, for all gains of a law."""


@lru_cache(maxsize=8)
def damping_by_inertia(robot: RobotExpressions, fastest: float = FASTEST["default"]) -> FloatArray:
    """K_d proportional to the least inertia that each joint alone moves, shape (n,).

    That is min 1/(M⁻¹)_ii over all poses. No eigenvalue of M⁻¹K_d exceeds `fastest` there [1/s].
    """
    apparent, poses = _least_of_joints(robot)
    scale = fastest / arm_inertia(robot).largest(fastest_damping(apparent), poses)
    return _rounded(np.minimum(scale * apparent, LARGEST))


def joint_damping_gain(robot: RobotExpressions, signals: Signals, fastest: float = FASTEST["default"]) -> ca.SX:
    """Declare K_d, the feedback on s or ė per joint, shape (n,); by default it is `damping_by_inertia`."""
    return signals.gain(
        "K_d",
        size="joints",
        default=damping_by_inertia(robot, fastest),
        bounds=(0.0, LARGEST),
        unit="N·m·s/rad",
        doc="Feedback on the velocity error per joint; delay and sampling bound it.",
    )


def error_bandwidth_gain(robot: RobotExpressions, signals: Signals) -> ca.SX:
    """Declare Lambda, by which q̇_r turns errors of positions into velocities, per joint, shape (n,)."""
    return signals.gain(
        "Lambda",
        size="joints",
        default=BANDWIDTH,
        bounds=(0.0, 200.0),
        unit="1/s",
        doc="Bandwidth of the position error, per joint.",
    )


def adaptation_limit(robot: RobotExpressions) -> float:
    """Return the largest integral action of an adaptation per period, of K_d: Δ Σ (YΓ⁻¹Yᵀ)_jj/K_d,j [1].

    With k = YΓ⁻¹Yᵀ and s = ė + Λe a joint whose drive has an inertia I that no regressor has moves by
    I ë + K_d ė + (K_d Λ + k) e + kΛ ∫e = 0. By Routh that is stable for k < K_d Λ/(r − 1), r = Λ I/K_d, and for any k
    where r < 1. Where the file is silent about a rotor, I is what the drive may well have, `UNKNOWN_ROTOR` times its
    effort limit: that is in no model, and bounds only how eager the adaptation may be. Half of the bound is a margin;
    up to r = `UNCERTAIN_RATIO` the guess is no reason.
    """
    ratio = _unknown_ratio(robot, damping_by_inertia(robot))
    if ratio <= UNCERTAIN_RATIO:
        return LARGEST_ADAPTATION
    return float(f"{min(LARGEST_ADAPTATION, 0.5 * BANDWIDTH * PERIOD / (ratio - 1.0)):.3g}")


def disturbance_bandwidth(
    robot: RobotExpressions,
    fastest: float = FASTEST["default"],
    damping: FloatArray | None = None,
    share: float = DISTURBANCE_SHARE,
    learned: bool = False,
) -> float:
    """Return what takes up a disturbance, K_o of an observer or K_i/K_d of an integral [1/s].

    It is a share of `fastest`. Where the file is silent about a rotor it is less: a joint whose drive has an inertia I
    that M̂ lacks moves by I s³ + K_d s² + K_d(Λ + K_o) s + K_d Λ K_o with M̂ = 0, and by the same with the integral. By
    Routh that is stable for K_o < Λ/(r − 1), r and the margin as in `adaptation_limit`.

    Args:
        fastest: Largest eigenvalue of M⁻¹K_d that the loop bears [1/s].
        damping: K_d (n,), instead of `damping_by_inertia`.
        share: DISTURBANCE_SHARE or INTEGRAL_SHARE.
        learned: Whether the law learns what rotors have, and is slower until it knows (`bearable_bandwidth`).
    """
    K_d = damping_by_inertia(robot, fastest) if damping is None else damping
    most, ratio = share * fastest, _unknown_ratio(robot, K_d)
    if ratio > UNCERTAIN_RATIO and not learned:
        most = min(most, 0.5 * BANDWIDTH / (ratio - 1.0))
    return float(f"{most:.3g}")


def bearable_bandwidth(most: ca.SX, Lambda: ca.SX, ratio: ca.SX) -> ca.SX:
    """Return what takes up a disturbance in a law that learns its rotors [1/s]: `most`, or half of Routh's bound.

    Args:
        most: Where everything is known [1/s].
        Lambda: Largest bandwidth of the law's error [1/s].
        ratio: r of `disturbance_bandwidth` of what is not yet known of rotors, of any size [1].
    """
    return ca.SX(ca.fmin(most, 0.5 * Lambda / ca.fmax(ratio - 1.0, 1e-9)))


def integral_bandwidth(robot: RobotExpressions) -> float:
    """Return k of an integral of s by default [1/s]."""
    return disturbance_bandwidth(robot, share=INTEGRAL_SHARE)


def pd_integral_bandwidth(robot: RobotExpressions) -> float:
    """Return k of an integral beside K_p e + K_d ė with K_p = Λ K_d [1/s]: half of what PD bears at the heaviest pose.

    In the modes of M and K_d, ω the eigenvalue of M⁻¹K_d, e moves by s³ + ω s² + ω(Λ + k) s + ωΛk: stable for
    ω(Λ + k) > Λk [Routh], which is k < ωΛ/(Λ − ω) where ω < Λ. An M̂Λ on ė, which Slotine–Li laws have, frees of that.
    """
    K_d, (M, _) = damping_by_inertia(robot), arm_inertia(robot).samples
    root = 1.0 / np.sqrt(K_d)
    slowest = 1.0 / float(np.linalg.eigvalsh(root[:, None] * M * root).max())
    most = integral_bandwidth(robot)
    return (
        most if slowest >= BANDWIDTH else float(f"{min(most, 0.5 * slowest * BANDWIDTH / (BANDWIDTH - slowest)):.3g}")
    )


def acceleration_bandwidth(robot: RobotExpressions) -> float:
    """Return the same as `disturbance_bandwidth` for laws whose feedback is M̂(R_1 ė + R_0 e), by default."""
    return disturbance_bandwidth(robot, damping=2.0 * BANDWIDTH * least_joint_inertia(robot))


def _unknown_ratio(robot: RobotExpressions, K_d: FloatArray) -> float:
    """Return the largest r = Λ I/K_d over the joints, I of `unknown_rotors` [1]."""
    return float(np.max(BANDWIDTH * unknown_rotors(robot) / K_d))


def unknown_rotors(robot: RobotExpressions) -> FloatArray:
    """Return the inertia that a drive may have where the file is silent, zero elsewhere, (n,) [kg·m² or kg]."""
    effort = robot.model.limits("effort")
    unknown = np.isnan(robot.model.drive_inertias) & np.isfinite(effort)
    return np.where(unknown, UNKNOWN_ROTOR * effort, 0.0)


def stiffness_by_inertia(robot: RobotExpressions, rows: int, most: tuple[float, float], frequency: float) -> FloatArray:
    """K_p on the rows of the task [N/m, N·m/rad], shape (rows,): `most`, or less where the arm is too light for it.

    Neither on the positions nor on the angles an eigenvalue of M⁻¹JᵀK_pJ exceeds frequency² [1/s²].
    """
    return _by_mobility(robot, rows, most, frequency**2)


def task_damping_by_inertia(robot: RobotExpressions, rows: int, most: tuple[float, float]) -> FloatArray:
    """D on the rows of the task [N·s/m, N·m·s/rad], shape (rows,): `most`, or less where the arm is too light for it.

    Neither on the positions nor on the angles an eigenvalue of M⁻¹JᵀDJ exceeds half of the default profile's.
    """
    return _by_mobility(robot, rows, most, 0.5 * FASTEST["default"])


def _by_mobility(robot: RobotExpressions, rows: int, most: tuple[float, float], fastest: float) -> FloatArray:
    """A gain on positions, then angles: no eigenvalue of M⁻¹JᵀKJ above `fastest` in either part."""
    arm, gains = arm_inertia(robot), []
    for first in range(0, rows, 3):
        gains += 3 * [min(most[first // 3], fastest / arm.largest(task_mobility(slice(first, first + 3))))]
    return _rounded(np.array(gains))


def least_inertia(robot: RobotExpressions, links: tuple[int, ...]) -> FloatArray:
    """Return the least inertia that the whole arm has about each axis of a link's frame, shape (3 k,) [kg·m²].

    a_p = c/max (J M⁻¹Jᵀ)_pp over all poses, J the link's angular Jacobian in its frame, and c such that no change of
    its inertia with entries |δI_pq| ≤ √(a_p a_q) makes an eigenvalue of M⁻¹JᵀδIJ exceed 1. Declared rotors count.
    """
    arm, least = arm_inertia(robot, links), []
    for i in range(len(links)):
        rows = slice(6 + 3 * i, 9 + 3 * i)
        mobility, poses = arm.largest_of([axis_mobility(row) for row in range(rows.start, rows.stop)], starts=6)
        axes = 1.0 / np.maximum(mobility, 1.0 / NO_LEAST_INERTIA)
        bound = arm.largest(box_mobility(rows, axes), poses)
        least.append(axes / max(bound, 1.0))  # below 1 where no joint turns the link
    return _rounded(np.concatenate(least))


def least_joint_inertia(robot: RobotExpressions) -> FloatArray:
    """Least inertia that each joint alone turns, min 1/(M⁻¹)_jj over poses, rotors included, (n,) [kg·m² or kg]."""
    return _rounded(_least_of_joints(robot)[0])


def mean_inertia(robot: RobotExpressions) -> float:
    """Mean of tr(M)/n over poses [kg·m²], to three digits: the one inertia that stands for all joints."""
    M, _ = arm_inertia(robot).samples
    return float(f"{np.trace(M, axis1=1, axis2=2).mean() / robot.n:.3g}")


@lru_cache(maxsize=8)
def _least_of_joints(robot: RobotExpressions) -> tuple[FloatArray, FloatArray]:
    """Return the least inertia of each joint (n,), and where (n, n)."""
    mobility, poses = arm_inertia(robot).largest_of([joint_mobility(joint) for joint in range(robot.n)])
    return 1.0 / mobility, poses


def _rounded(values: FloatArray) -> FloatArray:
    """To three digits, which are the same on every machine."""
    return np.array([float(f"{value:.3g}") for value in values])


def error_dynamics_gains(
    signals: Signals, size: int | Literal["joints"], inertia: float | None = None
) -> tuple[ca.SX, ca.SX]:
    """Declare R_0 and R_1 of ë + R_1 ė + R_0 e = 0, each (size,), critically damped with Λ for a bandwidth by default.

    They are accelerations, whatever the robot's inertia; or efforts, for an inertia [kg·m²].
    """
    scale, what = (1.0, "Acceleration") if inertia is None else (inertia, "Effort")
    units = ("1/s²", "1/s") if inertia is None else ("N·m/rad", "N·m·s/rad")
    R_0 = signals.gain(
        "R_0",
        size=size,
        default=BANDWIDTH**2 * scale,
        bounds=(0.0, 1e5),
        unit=units[0],
        doc=f"{what} per error, each by itself.",
    )
    return R_0, signals.gain(
        "R_1",
        size=size,
        default=2.0 * BANDWIDTH * scale,
        bounds=(0.0, 1e3 if inertia is None else 1e4),
        unit=units[1],
        doc=f"{what} per rate of the error.",
    )
