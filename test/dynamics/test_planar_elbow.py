"""The planar elbow in closed form (theory.md §2): M, C q̇_r, G and the Slotine–Li regressor of a 2R arm, by hand.

Lengths a₁, a₂, parameters about frames at the ends of the links, x along the link, gravity −g along y. Each of the
eight that act has a matrix M_k = A_k + g_k(q₂) [[2, 1], [1, 0]], so C q̇_r = g_k′ [q̇₁q̇_r2 + q̇₂q̇_r1 + q̇₂q̇_r2; −q̇₁q̇_r1].
"""

from __future__ import annotations

import numpy as np
from evaluation import assert_close, evaluate
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import block_diag

from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.joints import Joint, JointKind, Pose
from thunder_dynamics.model import Frame, Link, RobotModel

FloatArray = np.ndarray
A_1, A_2, GRAVITY = 0.7, 0.4, 9.81
ACTING = (0, 1, 2, 9)
"""m, m c_x, m c_y and I_zz of each link."""
BODY = Inertia.from_dyn([1.0, 0.1, 0.0, 0.0, 0.2, 0.0, 0.0, 0.2, 0.0, 0.2])


def elbow() -> RobotModel:
    """Both joints about z, frames of links at their joints."""
    joints = (
        Joint("joint1", JointKind.REVOLUTE),
        Joint("joint2", JointKind.REVOLUTE, Pose(translation=[A_1, 0.0, 0.0])),
    )
    links = (Link("link1", -1, joints[0], BODY), Link("link2", 0, joints[1], BODY))
    return RobotModel("elbow", links, ee=Frame((A_2, 0.0, 0.0)), gravity=(0.0, -GRAVITY, 0.0))


ROBOT = RobotExpressions(elbow())


def from_end(length: float) -> FloatArray:
    """π about a link's joint from π about its end, of the four that act: the end is `length` along x."""
    return np.array(
        [[1.0, 0.0, 0.0, 0.0], [length, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [length**2, 2.0 * length, 0.0, 1.0]]
    )


def closed_form(q: FloatArray, qd: FloatArray, qd_r: FloatArray, qdd_r: FloatArray) -> FloatArray:
    """Columns m, m c_x, m c_y, I_zz about the end of link 1, then of link 2, (2, 8)."""
    c_2, s_2 = np.cos(q[1]), np.sin(q[1])
    (c_1, s_1), (c_12, s_12) = ((np.cos(x), np.sin(x)) for x in (q[0], q[0] + q[1]))
    both = np.array([1.0, 1.0])
    first = [
        np.array([A_1**2 * qdd_r[0] + GRAVITY * A_1 * c_1, 0.0]),
        np.array([2.0 * A_1 * qdd_r[0] + GRAVITY * c_1, 0.0]),
        np.array([-GRAVITY * s_1, 0.0]),
        np.array([qdd_r[0], 0.0]),
    ]
    mixed = np.array([[2.0, 1.0], [1.0, 0.0]])
    turning = np.array([qd[0] * qd_r[1] + qd[1] * qd_r[0] + qd[1] * qd_r[1], -qd[0] * qd_r[0]])
    second = [
        (np.array([[A_1**2 + A_2**2, A_2**2], [A_2**2, A_2**2]]), A_1 * A_2 * c_2, -A_1 * A_2 * s_2),
        (2.0 * A_2 * np.ones((2, 2)), A_1 * c_2, -A_1 * s_2),
        (np.zeros((2, 2)), -A_1 * s_2, -A_1 * c_2),
        (np.ones((2, 2)), 0.0, 0.0),
    ]
    weights = [
        GRAVITY * (A_1 * c_1 * np.array([1.0, 0.0]) + A_2 * c_12 * both),
        GRAVITY * c_12 * both,
        -GRAVITY * s_12 * both,
        np.zeros(2),
    ]
    columns = [
        (A + g * mixed) @ qdd_r + slope * turning + weight
        for (A, g, slope), weight in zip(second, weights, strict=True)
    ]
    return np.column_stack([*first, *columns])


ANGLES = st.lists(st.floats(-3.0, 3.0), min_size=2, max_size=2).map(np.array)


@given(q=ANGLES, qd=ANGLES, qd_r=ANGLES, qdd_r=ANGLES)
def test_the_regressor_is_the_closed_one(q: FloatArray, qd: FloatArray, qd_r: FloatArray, qdd_r: FloatArray) -> None:
    """To rounding: 2e-14 of the largest entry; the publication that has the closed form finds 5e-15."""
    Y = evaluate(ROBOT, "Yr", {"q": q, "dq": qd, "dq_r": qd_r, "ddq_r": qdd_r})
    acting = [10 * link + k for link in range(2) for k in ACTING]
    about_ends = Y[:, acting] @ block_diag(from_end(A_1), from_end(A_2))
    assert_close(about_ends, closed_form(q, qd, qd_r, qdd_r), 2e-14)
    idle = [k for k in range(20) if k not in acting]
    assert not Y[:, idle].any()


@given(q=ANGLES, qd=ANGLES)
def test_the_matrices_are_the_closed_ones(q: FloatArray, qd: FloatArray) -> None:
    """M and C of a point mass at the end of link 2, column by column."""
    zero, ones = np.zeros(2), np.eye(2)
    point = np.array([1.0, A_2, 0.0, 0.0, 0.0, 0.0, 0.0, A_2**2, 0.0, A_2**2])
    for name, of in (("reg_M", lambda k: (zero, ones[k])), ("reg_C", lambda k: (ones[k], zero))):
        for k in range(2):
            qd_r, qdd_r = of(k)
            found = evaluate(ROBOT, name, {"q": q, "dq": qd, "dq_r": qd_r, "ddq_r": qdd_r})[:, 10:] @ point
            expected = (closed_form(q, qd, qd_r, qdd_r) - closed_form(q, qd, zero, zero))[:, 4]
            np.testing.assert_allclose(found, expected, atol=2e-14)  # differences of numbers up to 10
