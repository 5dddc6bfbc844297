"""What is published of a step, by publishers that keep it: the pose that leads to the reference, friction by joint."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from published_law import COEFFICIENTS, FAR, build_published, snapshot_of

from thunder_controllers.host import Configuration
from thunder_controllers.ros.controller.outputs import ControllerOutputs
from thunder_controllers.ros.tools.monitor import describe_error

CONTROL_MESSAGES = SimpleNamespace(
    **dict.fromkeys(["DynamicJointState", "InterfaceValue", "JointTrajectoryControllerState"], SimpleNamespace)
)
"""Stands for control_msgs."""


def published(configuration: Configuration, snapshot: Any) -> dict[str, Any]:
    """Messages by topic."""
    messages: dict[str, Any] = {}

    def create_publisher(kind: Any, topic: str, _: Any) -> SimpleNamespace:
        def publish(message: Any) -> None:
            assert isinstance(message, kind)
            messages[topic] = message

        return SimpleNamespace(publish=publish)

    ControllerOutputs(SimpleNamespace(create_publisher=create_publisher), configuration, "base").publish(snapshot)  # type: ignore[arg-type]
    return messages


@pytest.mark.parametrize("knows_cosine", [True, False])
def test_the_error_is_the_pose_that_leads_to_the_reference(build_cache: Path, knows_cosine: bool) -> None:
    configuration = Configuration(build_published(knows_cosine))
    for turn in FAR:
        snapshot, expected = snapshot_of(configuration, turn, knows_cosine)
        message = published(configuration, snapshot)["~/pose_error"]
        assert isinstance(message, PoseStamped) and message.header.frame_id == "base"
        position, q = message.pose.position, message.pose.orientation
        np.testing.assert_array_equal([position.x, position.y, position.z], snapshot.telemetry("pose_error")[:3])
        np.testing.assert_allclose([q.x, q.y, q.z, q.w], expected.as_quat(canonical=True), rtol=0, atol=1e-12)
        words = f"{expected.magnitude():.2e} rad"
        assert describe_error(message) == (pytest.approx(np.sqrt(0.14)), "m", f"error 3.74e-01 m, {words}")


@pytest.mark.parametrize("is_installed", [True, False])
def test_friction_is_named_for_each_joint(
    build_cache: Path, is_installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "control_msgs.msg", CONTROL_MESSAGES if is_installed else None)
    configuration = Configuration(build_published(True))
    message = published(configuration, snapshot_of(configuration, FAR[0], True)[0])["~/friction_estimates"]
    if is_installed:
        assert message.joint_names == list(configuration.joints) and message.header.frame_id == "base"
        found = [dict(zip(one.interface_names, one.values, strict=True)) for one in message.interface_values]
        assert found == list(COEFFICIENTS.values())
    else:
        labels = [dimension.label for dimension in message.layout.dim]
        assert labels == ["coefficient:viscous,coulomb", f"joint:{','.join(configuration.joints)}"]
        rows = np.reshape(message.data, (2, 3)).tolist()
        assert rows == [[one[name] for one in COEFFICIENTS.values()] for name in ("viscous", "coulomb")]
