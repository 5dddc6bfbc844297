"""A Franka is told its load before its controller is spawned, as a real process over DDS."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest
from nodes import NodeProcess, Probe

NODE = "bringup.set_load"
LOAD = [0.5, 0.0, 0.01, 0.1, 2e-3, 1e-4, 0.0, 2e-3, 0.0, 3e-3]
NO_MESSAGES = "franka_msgs is not installed: it comes with franka_ros2"


@pytest.mark.parametrize("load", [[1.0, 0.0], [0.0, 0.0, 0.0, 0.1]])
def test_a_wrong_load_is_refused_at_once(load: list[float], start: Callable[..., NodeProcess]) -> None:
    node = start(NODE, {"load": load})
    assert node.wait() == 1
    assert "load: no load; valid: 4 or 10 numbers, the first positive" in node.output


def test_a_load_needs_the_robots_messages_or_its_service(start: Callable[..., NodeProcess]) -> None:
    node = start(NODE, {"load": LOAD, "timeout": 2.0})
    assert node.wait() == 1
    assert "franka_msgs" in node.output or "still waiting for the service service_server/set_load" in node.output


@pytest.mark.skipif(find_spec("franka_msgs") is None, reason=NO_MESSAGES)
@pytest.mark.parametrize("accepted", [True, False])
def test_the_robot_is_asked_once_and_its_answer_is_the_end(
    accepted: bool, start: Callable[..., NodeProcess], probe: Probe
) -> None:
    from franka_msgs.srv import SetLoad

    asked: list[Any] = []

    def answer(request: Any, response: Any) -> Any:
        asked.append(request)
        response.success, response.error = accepted, "moving"
        return response

    service = probe.node.create_service(SetLoad, "/service_server/set_load", answer)
    try:
        node = start(NODE, {"load": LOAD})
        assert node.wait() == (0 if accepted else 1), node.output
        assert accepted or "the load was not set: the robot refused: moving" in node.output
        (request,) = asked
        assert request.mass == LOAD[0]
        assert list(request.center_of_mass) == LOAD[1:4]
        assert list(request.load_inertia) == [2e-3, 1e-4, 0.0, 1e-4, 2e-3, 0.0, 0.0, 0.0, 3e-3]
    finally:
        probe.in_own_thread(probe.node.destroy_service, service)
