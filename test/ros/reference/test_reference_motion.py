"""Motions of the reference node: from where the robot is, beginning and ending at rest, without a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thunder_controllers.references.motion import LONGEST_PERIOD, MOST_SAMPLES, STEP, Journey, Motion
from thunder_controllers.references.trajectories import ACCELERATION, POSITION, TWIST, Pose
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.reference.plans import JOINT_PATHS, POSE_PATHS, plan_poses
from thunder_dynamics.errors import ScenarioError

DT = 5e-3
START = Pose(position=(0.45, 0.05, 0.5), ypr=(0.0, 0.0, np.pi)).at_rest[:12]
DOWN = [0.0, 0.0, np.pi]

MOTIONS: dict[str, dict[str, Any]] = {
    "lissajous here": {"type": "lissajous"},
    "lissajous there": {"type": "lissajous", "centre": (0.4, 0.0, 0.4), "lissajous.phase": (0.0, 1.57, 0.0)},
    "poses": {"type": "pose_to_pose", "pose_to_pose.positions": (0.4, 0.0, 0.4, 0.5, 0.1, 0.5)},
    "turning poses": {
        "type": "pose_to_pose",
        "pose_to_pose.positions": (0.4, 0.0, 0.4),
        "pose_to_pose.ypr": (0.3, 0.0, 3.0),
    },
    "excitation": {"type": "excitation"},
    "hold here": {"type": "hold"},
    "hold there": {"type": "hold", "centre": (0.4, 0.0, 0.4), "ypr": DOWN},
}


def _parameters(**changes: Any) -> dict[str, Any]:
    return {parameter.name: parameter.default for parameter in node_parameters("reference", names.REFERENCE)} | changes


def _plan(start: np.ndarray = START, ramp_time: float = 1.0, **changes: Any) -> Journey:
    parameters = _parameters(ramp_time=ramp_time, **changes)
    return plan_poses(parameters["type"], parameters, start)


def _run(motion: Motion, seconds: float) -> np.ndarray:
    rows = [motion.advance(DT) for _ in range(round(seconds / DT))]
    return np.reshape([row for row in rows if row is not None], (-1, 24))


def test_parameters_of_a_path_are_fields_of_its_class_in_the_same_unit() -> None:
    declared = {parameter.name: parameter for parameter in node_parameters("reference", names.REFERENCE)}
    for kind, (made, keys) in {**POSE_PATHS, **JOINT_PATHS}.items():
        assert set(keys) == {name.partition(".")[2] for name in declared if name.startswith(f"{kind}.")}
        for key in keys:
            unit = declared[f"{kind}.{key}"].unit
            assert unit == "1" or f"[{unit}]" in str(made.model_fields[key].description)


@pytest.mark.parametrize("name", MOTIONS)
def test_motion_begins_where_the_robot_is_and_never_steps(name: str) -> None:
    motion = Motion()
    motion.start(_plan(**MOTIONS[name]))
    moved = _run(motion, 5.0)
    motion.stop()
    rows = np.vstack([moved, _run(motion, 2.0)])
    np.testing.assert_allclose(rows[0, POSITION], START[POSITION], atol=1e-5)
    assert np.abs(rows[0, TWIST]).max() < 1e-2
    # Positions change by the velocity, velocities by the acceleration: nothing but the sampling is in between.
    np.testing.assert_allclose(np.diff(rows[:, POSITION], axis=0) / DT, rows[1:, TWIST][:, :3], atol=DT * 2.0)
    np.testing.assert_allclose(np.diff(rows[:, TWIST], axis=0) / DT, rows[1:, ACCELERATION], atol=DT * 50.0)
    np.testing.assert_allclose(rows[-1, TWIST], np.zeros(6), atol=1e-15)  # rounding of a planned end
    assert motion.state == "silent" or name in ("poses", "turning poses", "hold here", "hold there")


def test_stopping_ends_in_silence_and_holding_in_a_constant_pose() -> None:
    for end, state, sends in (("stop", "silent", False), ("hold", "holding", True)):
        motion = Motion()
        motion.start(_plan(type="excitation", ramp_time=0.5))
        _run(motion, 3.0)
        getattr(motion, end)()
        assert motion.state == "stopping"
        _run(motion, 0.6)
        assert motion.state == state
        assert (motion.advance(DT) is not None) is sends
    np.testing.assert_array_equal(motion.advance(DT), motion.advance(DT))
    motion.stop()
    assert motion.advance(DT) is None


def test_a_motion_starts_from_the_pose_that_is_held() -> None:
    motion = Motion()
    motion.start(_plan(type="hold", centre=(0.4, 0.0, 0.4)))
    _run(motion, 5.0)
    held = motion.held("cartesian")
    assert held is not None and motion.held("joint") is None
    np.testing.assert_allclose(held[POSITION], [0.4, 0.0, 0.4], atol=1e-12)
    motion.start(_plan(held, type="lissajous"))
    np.testing.assert_allclose(motion.advance(DT)[POSITION], held[POSITION], atol=1e-5)  # type: ignore[index]


def test_a_motion_under_way_is_not_replaced() -> None:
    motion = Motion()
    motion.start(_plan())
    with pytest.raises(ScenarioError, match="under way"):
        motion.start(_plan())


def test_nothing_is_sent_before_a_start() -> None:
    motion = Motion()
    assert motion.advance(DT) is None
    motion.stop()
    assert motion.advance(DT) is None
    assert motion.held("cartesian") is None


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"centre": (0.1, 0.2)}, "centre"),
        ({"centre": (0.1, 0.2, np.nan)}, "centre"),
        ({"ypr": (0.0,) * 6}, "ypr"),
        ({"type": "pose_to_pose"}, "pose_to_pose.positions"),
        ({"type": "pose_to_pose", "pose_to_pose.positions": (0.1,) * 4}, "pose_to_pose.positions"),
        (
            {"type": "pose_to_pose", "pose_to_pose.positions": (0.1,) * 6, "pose_to_pose.ypr": (0.0,) * 3},
            "pose_to_pose.ypr",
        ),
    ],
)
def test_parameters_that_make_no_motion_are_refused(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(ScenarioError, match=where):
        _plan(**changes)


@pytest.mark.parametrize("name", MOTIONS)
def test_a_preview_shows_the_whole_motion(name: str) -> None:
    """It begins where the robot is, and its largest step is what velocities make of the time between samples."""
    journey = _plan(**MOTIONS[name])
    samples, step = journey.preview()
    np.testing.assert_allclose(samples[0, POSITION], START[POSITION], atol=1e-12)
    assert step == STEP and len(samples) >= (journey.ends + getattr(journey.path, "period", 0.0)) / step
    speed = np.linalg.norm(samples[:, TWIST][:, :3], axis=1).max()
    assert np.linalg.norm(np.diff(samples[:, POSITION], axis=0), axis=1).max(initial=0.0) <= speed * step + 1e-9


def test_a_preview_of_hours_has_as_many_samples_as_one_of_a_minute() -> None:
    poses = {"pose_to_pose.positions": (0.4, 0.0, 0.4, 0.5, 0.1, 0.5), "pose_to_pose.dwell": 3600.0}
    samples, step = _plan(type="pose_to_pose", **poses).preview()
    assert len(samples) <= MOST_SAMPLES + 2 and step > STEP
    endless = _plan(type="lissajous", **{"lissajous.frequency": (0.2, 0.201, 0.0)}).preview()[0]
    assert len(endless) <= (LONGEST_PERIOD + 1.0) / STEP + 2
