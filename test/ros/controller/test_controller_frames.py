"""Targets in other frames and of a tool: what the controller makes of them, and what it refuses."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time as Stamp
from geometry_msgs.msg import Transform
from rclpy.node import Node
from scipy.spatial.transform import Rotation
from std_msgs.msg import Header

from thunder_controllers.host import TimedPose
from thunder_controllers.ros.common.messages import write_rotation, write_vector
from thunder_controllers.ros.controller.frames import TargetFrames, Tf
from thunder_dynamics.errors import LawError

STEP = 1e-3
"""Of the differences that rates are compared with [s]."""


@dataclass(frozen=True)
class Rigid:
    """Where a frame is in another one: translation [m] and rotation."""

    translation: np.ndarray
    rotation: Rotation


TOOL = Rigid(np.array([0.02, -0.03, 0.12]), Rotation.from_euler("xyz", [0.1, 0.2, 0.7]))
CAMERA = Rigid(np.array([1.2, 0.1, 1.6]), Rotation.from_euler("xyz", [2.2, 0.3, -1.0]))
STAMP = Stamp(sec=3, nanosec=5)

Motion = Callable[[float], Rigid]


def hand(t: float) -> Rigid:
    """A motion of the end effector."""
    place = np.array([0.5 + 0.2 * np.sin(t), 0.1 * t * t, 0.3 * np.cos(2.0 * t)])
    return Rigid(place, Rotation.from_rotvec([0.5 * np.sin(t), 0.4 * t, 0.3 * t * t]))


def after(first: Rigid, second: Rigid) -> Rigid:
    """The product of two transforms."""
    return Rigid(first.translation + first.rotation.apply(second.translation), first.rotation * second.rotation)


def point(motion: Motion, t: float) -> TimedPose:
    """Of a motion, twist and acceleration by differences."""

    def twist(at: float) -> np.ndarray:
        before, behind = motion(at - STEP / 2.0), motion(at + STEP / 2.0)
        turn = (behind.rotation * before.rotation.inv()).as_rotvec()
        return np.concatenate((behind.translation - before.translation, turn)) / STEP

    acceleration = (twist(t + STEP / 2.0) - twist(t - STEP / 2.0)) / STEP
    return TimedPose(1.0, motion(t).translation, motion(t).rotation.as_quat(), twist(t), acceleration)


def assert_same(found: TimedPose, wanted: TimedPose) -> None:
    assert found.time == wanted.time
    np.testing.assert_allclose(found.position, wanted.position, rtol=0, atol=1e-12)
    assert abs(found.orientation @ wanted.orientation) == pytest.approx(1.0, abs=1e-12)
    for name in ("twist", "acceleration"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=0, atol=1e-5)


def test_rates_of_a_tool_are_those_of_the_end_effector_that_moves_it() -> None:
    tool = point(lambda t: after(hand(t), TOOL), 0.7)
    assert_same(tool.end_effector_of(TOOL.translation, TOOL.rotation.as_quat(), "tool"), point(hand, 0.7))


def test_rates_in_a_frame_are_turned_into_the_base() -> None:
    found = point(hand, 0.7).placed(CAMERA.translation, CAMERA.rotation.as_quat())
    assert_same(found, point(lambda t: after(CAMERA, hand(t)), 0.7))


def message(rigid: Rigid) -> Transform:
    found = Transform()
    write_vector(found.translation, rigid.translation)
    write_rotation(found.rotation, rigid.rotation.as_matrix())
    return found


def find(base: str, frame: str, stamp: Stamp) -> Transform:
    """As tf does: the camera at its stamp, the tool whenever."""
    known = {("world", "camera", 3): CAMERA, ("hand", "gripper", 0): TOOL}
    if (base, frame, stamp.sec) not in known:
        raise LookupError(f"no {frame} in {base}")
    return message(known[base, frame, stamp.sec])


def frames(tool: str) -> TargetFrames:
    return TargetFrames("world", "hand", tool, find)


def test_a_point_of_a_tool_in_a_frame_becomes_one_of_the_end_effector_in_the_base() -> None:
    header = Header(frame_id="camera", stamp=STAMP)
    given = point(lambda t: after(hand(t), TOOL), 0.7)
    (found,) = frames("gripper").in_base(header, [given], "trajectory")
    assert_same(found, point(lambda t: after(CAMERA, hand(t)), 0.7))
    (found,) = frames("").in_base(Header(frame_id="world", stamp=STAMP), [given], "trajectory")
    assert_same(found, given)


def test_a_point_without_rates_has_none_in_the_base() -> None:
    given = TimedPose(0.0, [0.1, 0.2, 0.3], [0.0, 0.0, 0.0, 1.0])
    (found,) = frames("gripper").in_base(Header(frame_id="camera", stamp=STAMP), [given], "target_pose")
    assert found.twist is None and found.acceleration is None
    tool = after(Rigid(np.array(found.position), Rotation.from_quat(found.orientation)), TOOL)
    np.testing.assert_allclose(
        tool.translation, CAMERA.translation + CAMERA.rotation.apply([0.1, 0.2, 0.3]), atol=1e-14
    )


@pytest.mark.parametrize(
    ("frame", "tool", "reason"),
    [
        ("shelf", "", r"target_pose: frame_id 'shelf': no shelf in world; valid: 'world', parameter base_frame, or a"),
        ("", "", r"target_pose: frame_id '': no  in world"),
        (
            "world",
            "claw",
            r"target_pose: parameter tool_frame: no claw in hand; valid: a tool_frame that tf knows in 'h",
        ),
        ("world", "gripper", r"target_pose: accelerations of a tool without velocities; valid: both, or"),
    ],
)
def test_what_tf_does_not_know_and_half_of_the_rates_of_a_tool_are_refused(frame: str, tool: str, reason: str) -> None:
    given = TimedPose(0.0, [0.0] * 3, [0.0, 0.0, 0.0, 1.0], None, [0.0] * 6)
    with pytest.raises(LawError, match=reason):
        frames(tool).in_base(Header(frame_id=frame), [given], "target_pose")


def test_without_tf2_ros_other_frames_are_refused_with_that_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tf2_ros", None)
    tf = Tf(no_node())
    with pytest.raises(LawError, match="frame_id 'camera': tf2_ros is not installed; valid: 'world', parameter base"):
        TargetFrames("world", "hand", "", tf.find).in_base(Header(frame_id="camera"), [], "target_pose")
    tf.close()


def test_a_stamp_before_time_began_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tf2_ros", FakeTf)
    with pytest.raises(LookupError, match="negative"):
        Tf(no_node()).find("world", "camera", Stamp(sec=-1))


def no_node() -> Any:
    return None


class FakeTf:
    """As much of tf2_ros as is asked for before a transform is looked up."""

    class TransformException(Exception):  # noqa: N818
        """As tf raises it."""

    class Buffer:
        """Knows nothing."""

        def lookup_transform(self, base: str, frame: str, time: Any) -> Any:
            """Never reached."""
            raise AssertionError

    class TransformListener:
        """Hears nothing."""

        def __init__(self, buffer: FakeTf.Buffer, node: Node) -> None: ...

        def unregister(self) -> None:
            """Do nothing."""
