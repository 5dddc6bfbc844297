"""Services of the type std_srvs/Trigger, from actions that raise when they cannot be done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import Trigger

from thunder_dynamics.errors import ThunderError


def create_trigger(node: Node, name: str, action: Callable[[], str | None], done: str = "") -> None:
    """Offer a service that acts, and answers what the action returns, or `done`, or why it could not act."""
    node.create_service(Trigger, name, lambda request, response: answer(response, action, done))


def answer(response: Any, action: Callable[[], str | None], done: str) -> Any:
    """Act, and fill a response that has `success` and `message`, as `create_trigger` does."""
    try:
        response.success, response.message = True, action() or done
    except ThunderError as error:
        response.success, response.message = False, str(error)
    return response
