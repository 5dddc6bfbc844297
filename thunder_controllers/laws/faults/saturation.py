"""Joint accelerations within bounds for any redundancy, by saturation in the null space, with joints that do not obey.

[Flacco, De Luca & Khatib 2015, "Control of redundant robots under hard joint constraints", alg. 1], as a graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from thunder_controllers.laws.parts.acceleration_bounds import BoundedAccelerations
from thunder_controllers.laws.parts.redundancy import factor_ldl
from thunder_dynamics.spatial import dot

SX = ca.SX

SLACK = 1e-9
"""How far a bound is exceeded for rounding, relative."""


@dataclass(frozen=True)
class Joints:
    """What the joints of an arm can do.

    Attributes:
        lower, upper: Of the accelerations of those that obey, lower below upper, (n,) each.
        obeys: 1 of a joint that is told its acceleration, 0 of one that has its own, (n,).
        own: That of those (n,).
        row: Of a joint without a torque of choice: row · u = value, what its own equation of motion says, (1, n).
        value: Of it.
        has_row: 1 if there is such a joint, else 0.
    """

    lower: SX
    upper: SX
    obeys: SX
    own: SX
    row: SX
    value: SX
    has_row: SX


def saturate(J: SX, r: SX, preferred: SX, joints: Joints, damping: SX) -> BoundedAccelerations:
    """Accelerate by J u = s r with s = 1 if it is found, as near to `preferred` as that lets it.

    u = a + s b, b = W Jᵀ A⁻¹ r the least of the joints that are free, W of ones and zeros, A = J W Jᵀ + λ²1; a what
    the others do, and W(1 − Jᵀ A⁻¹ J W)(preferred) less what it takes to undo that. The free joint that exceeds its
    bound by the largest ratio is pinned there and counts to the others, as long as more joints are free than there are
    rows; then s is the largest that a and b leave. So s = 1 proves that the task is done; s < 1 is no proof that it
    could not be, as pinned joints stay pinned (theory.md §7).

    Args:
        J: Jacobian (m, n).
        r: What joints contribute to the acceleration of the task, (m,).
        preferred: Accelerations of which the null space has its share, (n,).
        joints: What they can do.
        damping: λ².
    """
    m, n = J.shape
    rows = ca.vertcat(J, joints.has_row * joints.row)
    shift = ca.diag(ca.vertcat(SX.ones(m) * damping, 1.0 - joints.has_row))
    task, fixed = ca.vertcat(r, 0.0), ca.vertcat(SX.zeros(m), joints.has_row * joints.value)
    middle, half = 0.5 * (joints.upper + joints.lower), 0.5 * (joints.upper - joints.lower)
    free, given = joints.obeys, (1.0 - joints.obeys) * joints.own
    for pins in range(n - m + 1):
        masked = rows @ ca.diag(free)
        factors = factor_ldl(masked @ rows.T + shift)
        still = given + free * preferred
        b = masked.T @ factors.solve(task)
        a = still + masked.T @ factors.solve(fixed - rows @ still)
        ratio = free * ca.fabs(a + b - middle) / half
        worst = ca.mmax(ratio)
        if pins == n - m:
            break
        room = dot(SX.ones(n), free) - m - joints.has_row > 0.5
        pinned = ca.logic_and(ca.logic_and(ratio >= worst, worst > 1.0 + SLACK), room)
        given = ca.if_else(pinned, middle + ca.sign(a + b - middle) * half, given)
        free = ca.if_else(pinned, 0.0, free)
    left = (ca.if_else(b > 0.0, joints.upper - a, a - joints.lower)) / ca.fmax(ca.fabs(b), SLACK)
    share = ca.fmax(ca.fmin(ca.mmin(ca.if_else(ratio > 1.0 + SLACK, left, 1.0)), 1.0), 0.0)
    within = ca.fmin(ca.fmax(a + share * b, joints.lower), joints.upper)
    return BoundedAccelerations(free * within + (1.0 - free) * given, share)
