"""Services of the type std_srvs/Trigger, from actions that raise when they cannot be done."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from std_srvs.srv import Trigger

from thunder_dynamics.errors import ThunderError


def create_trigger(node: Node, name: str, action: Callable[[], None], done: str) -> None:
    """Offer a service that acts, and answers `done`, or the reason why it could not act."""

    def answer(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = True, done
        try:
            action()
        except ThunderError as error:
            response.success, response.message = False, str(error)
        return response

    node.create_service(Trigger, name, answer)
