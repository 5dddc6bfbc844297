"""Asks a Franka's services for settings, without waiting, and fills their requests."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future

from thunder_controllers.ros.common.runtime import STEADY
from thunder_controllers.ros.franka.state import FrankaError
from thunder_dynamics.inertia import Inertia

ANSWER_TIME = 0.5
"""Far more than an answer that is ready needs to be sent [s]."""


def import_franka_msgs(where: str, otherwise: str) -> tuple[Any, Any]:
    """Import the modules franka_msgs.msg and franka_msgs.srv.

    Args:
        where: What needs them.
        otherwise: What can be done without them.

    Raises:
        FrankaError: if they are not there.
    """
    try:
        return importlib.import_module("franka_msgs.msg"), importlib.import_module("franka_msgs.srv")
    except ImportError as error:
        valid = f"source a workspace with franka_ros2 (branch jazzy), or {otherwise}"
        raise FrankaError("franka_msgs cannot be imported", where=where, valid=valid) from error


class SettingClient:
    """A client of a service that answers with `success` and `error`, one request at a time.

    Args:
        node: Owns the client.
        kind: Service class.
        name: Of the service.
        timeout: After which no answer is a failure, [s].
    """

    def __init__(self, node: Node, kind: Any, name: str, timeout: float) -> None:
        self._node = node
        self._kind = kind
        self._timeout = timeout
        self._group = ReentrantCallbackGroup()
        self._name = node.resolve_service_name(name)
        self._client = node.create_client(kind, name, callback_group=self._group)
        self._end: Callable[[str | None], None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether an answer is awaited."""
        return self._end is not None

    @property
    def is_there(self) -> bool:
        """Whether the service is."""
        return bool(self._client.service_is_ready())

    def close(self) -> None:
        """Give up what is awaited and destroy the client."""
        if self._end is not None:
            self._end("the node is being cleaned up")
        self._node.destroy_client(self._client)

    def request(self, fill: Callable[[Any], None]) -> Future:
        """Send a request; the future gets the reason of a failure, or None, by the time limit."""
        outcome = Future(executor=self._node.executor)
        if self.is_busy or not self.is_there:
            absent = f"there is no service {self._name}; is franka_hardware running?"
            outcome.set_result(f"{self._name} is still busy with another request" if self.is_busy else absent)
            return outcome
        request = self._kind.Request()
        fill(request)
        answer = self._client.call_async(request)

        def end(reason: str | None) -> None:
            if outcome.done():
                return
            self._end = None
            self._node.destroy_timer(timer)
            if not answer.done():
                self._client.remove_pending_request(answer)
            outcome.set_result(reason)

        def answered(_: Future) -> None:
            if not answer.cancelled():
                response = answer.result()
                end(None if response.success else f"the robot refused: {response.error}")

        late = f"no answer from {self._name} within {self._timeout:g} s"
        timer = self._node.create_timer(self._timeout, lambda: end(late), callback_group=self._group, clock=STEADY)
        self._end = end
        answer.add_done_callback(answered)
        return outcome


def destroy_services(node: Node, services: Sequence[Any], is_answering: bool) -> None:
    """Destroy services; later where one is just answering, as rclpy fails where it answers with a destroyed one."""

    def destroy() -> None:
        node.destroy_timer(timer)
        destroy_services(node, services, is_answering=False)

    if is_answering:
        timer = node.create_timer(ANSWER_TIME, destroy, callback_group=ReentrantCallbackGroup(), clock=STEADY)
        return
    for service in services:
        node.destroy_service(service)


def collision_request(request: Any, torque: Sequence[float], force: Sequence[float]) -> None:
    """Fill a SetFullCollisionBehavior request: the same limits while accelerating and at constant speed.

    Lower limits, where the robot reports contact, equal the upper ones, where it stops: contact that matters to the
    adaptation is judged from the external torque.
    `torque` is per joint, shape (7,), [N·m]; `force` at the end effector, force and torque, shape (6,), [N], [N·m].
    """
    for phase in ("acceleration", "nominal"):
        for side in ("lower", "upper"):
            setattr(request, f"{side}_torque_thresholds_{phase}", list(torque))
            setattr(request, f"{side}_force_thresholds_{phase}", list(force))


def load_request(request: Any, load: Inertia) -> None:
    """Fill a SetLoad request: centre of mass in the flange frame, inertia about it, column-major."""
    request.mass = load.mass
    request.center_of_mass = load.com.tolist()
    request.load_inertia = load.inertia_com.ravel(order="F").tolist()
