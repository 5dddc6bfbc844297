"""Numbers in messages: a rotation by r sin θ and cos θ, joints by their names."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from geometry_msgs.msg import Quaternion
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState

from thunder_controllers.ros.common.messages import read_joints, write_turn
from thunder_dynamics.errors import NameNotFoundError

axes = st.tuples(*3 * [st.floats(-1.0, 1.0)]).filter(lambda axis: np.linalg.norm(axis) > 1e-3)


def written(sine: np.ndarray, cosine: float | None) -> np.ndarray:
    quaternion = Quaternion()
    write_turn(quaternion, sine, cosine)
    return np.array([quaternion.x, quaternion.y, quaternion.z, quaternion.w])


@given(axes, st.floats(0.0, 3.14))
def test_a_rotation_is_that_of_its_sine_and_cosine(axis: tuple[float, ...], angle: float) -> None:
    vector = angle * np.array(axis) / np.linalg.norm(axis)
    Q = Rotation.from_rotvec(vector).as_matrix()
    sine = 0.5 * np.array([Q[2, 1] - Q[1, 2], Q[0, 2] - Q[2, 0], Q[1, 0] - Q[0, 1]])
    known, assumed = written(sine, 0.5 * (np.trace(Q) - 1.0)), written(sine, None)
    expected = Rotation.from_rotvec(vector).as_quat(canonical=True)
    # of a sine of 1e-3 or more, rounded to 1e-16
    np.testing.assert_allclose(known, expected, rtol=0, atol=1e-12)
    near = Rotation.from_rotvec(vector * (min(angle, np.pi - angle) / angle if angle else 1.0)).as_quat(canonical=True)
    np.testing.assert_allclose(assumed, near, rtol=0, atol=1e-7)  # near 90° the sine tells the angle to 1e-8 only


@pytest.mark.parametrize(("cosine", "expected"), [(1.0, [0, 0, 0, 1]), (None, [0, 0, 0, 1]), (-1.0, [1, 0, 0, 0])])
def test_without_a_sine_there_is_no_rotation_or_a_half_one(cosine: float | None, expected: list[float]) -> None:
    np.testing.assert_allclose(written(np.zeros(3), cosine), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("sine", [[0.0, 0.0, 1.0 + 1e-15], [0.0, 1e-170, 0.0], [0.0, 0.0, 3.0]])
@pytest.mark.parametrize("cosine", [None, 1.0, 0.0, -1.0])
def test_what_rounding_leaves_is_a_unit_quaternion(sine: list[float], cosine: float | None) -> None:
    assert np.linalg.norm(written(np.array(sine), cosine)) == pytest.approx(1.0, abs=1e-15)


JOINTS = ("shoulder", "elbow", "wrist")
STATE = {"shoulder": (0.1, -1.0), "elbow": (0.2, -2.0), "wrist": (0.3, -3.0), "finger": (9.0, 9.0)}


@pytest.mark.parametrize("names", [*permutations(JOINTS), *permutations(STATE)])
def test_joints_are_read_by_their_names(names: tuple[str, ...]) -> None:
    position, velocity = map(list, zip(*(STATE[name] for name in names), strict=True))
    q, qd = read_joints(JointState(name=names, position=position, velocity=velocity), JOINTS)
    assert (q.tolist(), qd.tolist()) == ([0.1, 0.2, 0.3], [-1.0, -2.0, -3.0])


@pytest.mark.parametrize(
    ("names", "reason"),
    [(("shoulder", "wrist"), "missing elbow"), (("shoulder", "elbow", "elbow", "wrist"), "twice elbow")],
)
def test_states_without_all_joints_are_refused(names: tuple[str, ...], reason: str) -> None:
    state = JointState(name=names, position=[0.0] * len(names))
    with pytest.raises(NameNotFoundError, match=f"joint_states: {reason}; valid: shoulder, elbow, wrist, each once"):
        read_joints(state, JOINTS)
