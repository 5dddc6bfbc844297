"""A subscription that one thread reads by itself, past the executor.

An rclpy executor builds a wait set of everything a node has for each single message, which costs some 300 µs beside
the 50 µs of taking the message. A loop at 1 kHz cannot afford that, twice per step. Here the wait set has one
subscription, made once; services, parameters and timers stay with the executor, whose thread sleeps meanwhile.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile

from thunder_controllers.ros.common.messages import NANOSECONDS

Message = TypeVar("Message")

LOOK = 0.05
"""Longest wait of a loop without a look at whether it should end [s]."""


class OutsideExecutor(CallbackGroup):
    """Callback group whose members no executor waits on or runs."""

    def can_execute(self, entity: Any) -> bool:
        """Never."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Never."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Nothing was begun."""


class HotSubscription(Generic[Message]):
    """Messages of one topic, taken by the thread that asks for them; only one may.

    Args:
        node: Owns the subscription.
        kind: Message class.
        topic: As for `Node.create_subscription`.
        qos: Its depth bounds how many messages wait here.
    """

    def __init__(self, node: Node, kind: type[Message], topic: str, qos: QoSProfile) -> None:
        self._node = node
        self._kind = kind
        uncalled = lambda message: None  # noqa: E731 # no executor ever calls it, but rclpy wants a callback
        self._subscription = node.create_subscription(kind, topic, uncalled, qos, callback_group=OutsideExecutor())
        self._wait_set = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, node.context.handle)

    def wait(self, timeout: float) -> bool:
        """Wait until a message is there, at most `timeout` seconds; whether one is."""
        if timeout <= 0.0:
            return False
        wait_set = self._wait_set
        wait_set.clear_entities()
        wait_set.add_subscription(self._subscription.handle)
        wait_set.wait(int(timeout * NANOSECONDS))
        return bool(wait_set.get_ready_entities("subscription"))

    def take(self) -> Message | None:
        """Take the oldest message that waits, None if there is none; does not block."""
        taken = self._subscription.handle.take_message(self._kind, False)
        return None if taken is None else taken[0]

    def skip(self) -> bool:
        """Drop the oldest message that waits, without reading it; whether there was one."""
        return self._subscription.handle.take_message(self._kind, True) is not None

    def close(self) -> None:
        """Give the subscription back; nothing may be taken any more."""
        self._node.destroy_subscription(self._subscription)
