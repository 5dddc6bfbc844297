"""Services of the types std_srvs/Trigger and SetBool, from actions that raise when they cannot be done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from thunder_dynamics.errors import ThunderError


def create_trigger(node: Node, name: str, action: Callable[[], str | None], done: str = "") -> None:
    """Offer a service that acts, and answers what the action returns, or `done`, or why it could not act."""
    node.create_service(Trigger, name, lambda request, response: _answer(response, action, done))


def create_switch(node: Node, name: str, action: Callable[[bool], str]) -> None:
    """Offer a service that switches something on or off, and answers what the action returns, or why it could not."""

    def switch(asked: Any, response: Any) -> Any:
        return _answer(response, lambda: action(asked.data))

    node.create_service(SetBool, name, switch)


def _answer(response: Any, action: Callable[[], str | None], done: str = "") -> Any:
    try:
        response.success, response.message = True, action() or done
    except ThunderError as error:
        response.success, response.message = False, str(error)
    return response
