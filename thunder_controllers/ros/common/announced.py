"""The library that a generator announces, for nodes that use it."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from std_msgs.msg import String

from thunder_controllers.host import Library
from thunder_controllers.ros.common.declarations import Values
from thunder_controllers.ros.common.library_message import load_announced
from thunder_controllers.ros.common.qos import LATCHED
from thunder_dynamics.errors import ThunderError


def on_library(
    node: Node, settings: Values, use: Callable[[Library], None], refuse: Callable[[str], None] = lambda reason: None
) -> None:
    """Have `use` called with each library that is announced and found here.

    One that is not, or that `use` raises for, is logged, and leaves the last one in use.

    Args:
        node: Subscribes.
        settings: Its parameters `library_topic` and `library_folders`.
        use: Takes a library.
        refuse: Is told why one is not used.
    """

    def take(message: String) -> None:
        try:
            use(load_announced(message.data, settings["library_folders"]))
        except ThunderError as error:
            node.get_logger().error(f"not used: {error}")
            refuse(str(error))

    node.create_subscription(String, settings["library_topic"], take, LATCHED)
