"""Joint motions of the reference node: from where the joints are, smooth, within the limits of the robot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thunder_controllers.references.motion import Journey, Motion
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.reference.plans import JointSpace, plan_joints
from thunder_dynamics.errors import ScenarioError

DT = 5e-3
PARAMETERS = node_parameters("reference", names.REFERENCE)
START = np.array([0.2, -0.8, 0.05])
LINES = np.zeros(3, dtype=bool)
SPACE = JointSpace(
    ("a", "b", "slide"), np.array([-1.0, -1.5, 0.0]), np.array([1.0, 1.5, np.inf]), np.array([2.0, 2.0, 0.5]), LINES
)

MOTIONS: dict[str, dict[str, Any]] = {
    "lissajous here": {"type": "joint_lissajous", "joint_lissajous.amplitude": (0.3, 0.2, 0.04)},
    "lissajous there": {
        "type": "joint_lissajous",
        "joint_centre": (0.0, 0.4, 0.5),
        "joint_lissajous.amplitude": (0.5, 0.1),
        "joint_lissajous.phase": (1.57, 0.0, -0.5),
    },
    "excitation": {"type": "joint_excitation", "joint_excitation.amplitude": (0.4, 0.4, 0.1)},
    "points": {"type": "joint_points", "joint_points.positions": (0.5, -0.5, 0.3, 0.5, -0.5, 0.3, -0.9, 1.4, 0.0)},
    "hold here": {"type": "joint_hold"},
    "hold there": {"type": "joint_hold", "joint_centre": (0.0, 0.4, 0.5)},
}
ENDING = ("points", "hold here", "hold there")


def _plan(start: np.ndarray = START, ramp_time: float = 0.5, **changes: Any) -> Journey:
    parameters = {parameter.name: parameter.default for parameter in PARAMETERS} | changes | {"ramp_time": ramp_time}
    return plan_joints(parameters["type"], parameters, start, SPACE)


def _run(motion: Motion, seconds: float) -> np.ndarray:
    rows = [motion.advance(DT) for _ in range(round(seconds / DT))]
    return np.reshape([row for row in rows if row is not None], (-1, 9))


def test_every_joint_motion_is_tried_here() -> None:
    (kinds,) = (parameter.choices for parameter in PARAMETERS if parameter.name == "type")
    assert {motion["type"] for motion in MOTIONS.values()} == {kind for kind in kinds if kind.startswith("joint_")}


@pytest.mark.parametrize("name", MOTIONS)
def test_motion_begins_where_the_joints_are_never_steps_and_keeps_the_limits(name: str) -> None:
    motion = Motion()
    motion.start(_plan(**MOTIONS[name], ramp_time=1.0))
    moved = _run(motion, 15.0)
    motion.stop()
    rows = np.vstack([moved, _run(motion, 2.0)])
    q, qd, qdd = np.split(rows, 3, axis=1)
    np.testing.assert_allclose(q[0], START, atol=1e-5)
    assert np.abs(qd[0]).max() < 1e-2
    # Differences err by dt/2 times the next derivative: below 10 rad/s² and 50 rad/s³ here.
    np.testing.assert_allclose(np.diff(q, axis=0) / DT, qd[1:], atol=0.5 * DT * 10.0)
    np.testing.assert_allclose(np.diff(qd, axis=0) / DT, qdd[1:], atol=0.5 * DT * 100.0)
    assert (q >= SPACE.lower - 1e-9).all() and (q <= SPACE.upper + 1e-9).all()
    assert (np.abs(qd) <= SPACE.velocity * 1.1).all()  # the stop's clock never runs faster than the motion
    np.testing.assert_allclose(qd[-1], np.zeros(3), atol=1e-12)
    if name not in ENDING:
        assert motion.state == "silent"
        assert (np.ptp(q[round(8.0 / DT) :], axis=0) > 0.05).all(), "every joint moves"


def test_points_are_reached_in_order_and_the_last_is_held() -> None:
    motion = Motion()
    motion.start(_plan(**MOTIONS["points"]))
    q = _run(motion, 15.0)[:, :3]
    first = np.abs(q - [0.5, -0.5, 0.3]).max(axis=1) < 1e-9
    assert first.sum() >= 0.5 / DT  # rests there for the dwell of 0.5 s
    np.testing.assert_allclose(q[-1], [-0.9, 1.4, 0.0], atol=1e-9)
    assert motion.held("joint") is not None and motion.held("cartesian") is None


def test_joints_on_a_circle_go_the_short_way_and_others_do_not() -> None:
    turn = 2.0 * np.pi
    space = JointSpace(("round", "long"), np.full(2, -np.inf), np.full(2, np.inf), np.ones(2), np.array([True, False]))
    parameters = {parameter.name: parameter.default for parameter in PARAMETERS}
    points = {"joint_points.positions": (3.2 - turn, 0.5, 3.3 + 2.0 * turn, 0.4)}
    journey = plan_joints("joint_points", parameters | points, np.array([3.1, 0.5 + turn]), space)
    rows = journey.sample(np.linspace(0.0, journey.ends, 200))
    assert np.ptp(rows[:, 0]) < 0.3 and rows[-1, 0] == pytest.approx(3.3)
    assert rows[-1, 1] == pytest.approx(0.4)
    centre = {"joint_centre": (3.2 - turn, 0.5)}
    held = plan_joints("joint_hold", parameters | centre, np.array([3.1, 0.5]), space)
    assert held.sample(np.array([held.ends]))[0, :2] == pytest.approx([3.2, 0.5])


def test_a_motion_near_a_limit_is_moved_away_from_it() -> None:
    motion = Motion()
    motion.start(_plan(np.array([0.99, 0.0, 0.0]), **MOTIONS["lissajous here"]))
    q = _run(motion, 15.0)[:, :3]
    np.testing.assert_allclose(q[0], [0.99, 0.0, 0.0], atol=1e-5)
    assert q[round(8.0 / DT) :, 0].max() <= 1.0 and q[round(8.0 / DT) :, 2].min() >= 0.0


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"type": "joint_hold", "joint_centre": (0.1, 0.2)}, "joint_centre"),
        ({"type": "joint_hold", "joint_centre": (1.1, 0.2, 0.1)}, "joint_centre: a at 1.1"),
        ({"type": "joint_lissajous", "joint_centre": (0.9, 0.2, 0.4)}, "joint_centre: a at 0.9 ± 0.3"),
        ({"type": "joint_lissajous", "joint_lissajous.amplitude": (1.2, 0.1, 0.0)}, "joint_centre: a at .* ± 1.2"),
        ({"type": "joint_lissajous", "joint_lissajous.amplitude": ()}, "joint_lissajous.amplitude: 0 values"),
        ({"type": "joint_lissajous", "joint_lissajous.phase": (0.0,) * 4}, "joint_lissajous.phase: 4 values"),
        ({"type": "joint_lissajous", "joint_lissajous.frequency": (5.0,)}, "joint_lissajous: a would move at 9.4"),
        ({"type": "joint_excitation", "joint_excitation.frequency": 2.0}, "joint_excitation: a would move"),
        ({"type": "joint_points"}, "joint_points.positions"),
        ({"type": "joint_points", "joint_points.positions": (0.1,) * 4}, "joint_points.positions"),
        ({"type": "joint_points", "joint_points.positions": (0.1, 0.1, 0.1, 0.1, 2.0, 0.1)}, "point 1: b at 2"),
    ],
)
def test_parameters_that_make_no_motion_within_the_limits_are_refused(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(ScenarioError, match=where):
        _plan(**changes)
