"""Waits for a generator's library, writes a ROS parameter file that gives it to a controller, and ends."""

from __future__ import annotations

import sys
from typing import NoReturn

import yaml
from rclpy.node import Node
from std_msgs.msg import String

from thunder_controllers.package_uri import resolve
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.library_message import load_announced
from thunder_controllers.ros.common.parameters import DeclaredParameters, ParameterError
from thunder_controllers.ros.common.qos import LATCHED
from thunder_controllers.ros.common.runtime import EXIT_FAILURE, EXIT_SUCCESS, STEADY, run
from thunder_dynamics.errors import ThunderError


class WaitForLibraryNode(Node):
    """Takes the first library that is announced and found here; later ones are for the next start of the controller.

    The file counts for a controller of that name in any namespace; it is the last one to give to a spawner.

    Raises:
        ParameterError: if there is no `file` to write.
        SystemExit: while it spins: 0 once the file is written, 1 if that fails or takes too long.
    """

    def __init__(self) -> None:
        super().__init__(names.WAIT_FOR_LIBRARY)
        self._given = DeclaredParameters(self)
        self._given.declare(node_parameters("bringup", names.WAIT_FOR_LIBRARY))
        if not self._given["file"]:
            raise ParameterError("no file to write", where="file", valid="the path of a ROS parameter file")
        self.create_subscription(String, self._given["library_topic"], self._on_library, LATCHED)
        self.create_timer(self._given["timeout"], self._give_up, clock=STEADY)

    def _on_library(self, message: String) -> None:
        try:
            library = load_announced(message.data, self._given["library_folders"]).path
        except ThunderError as error:
            self.get_logger().error(f"not used: {error}")
            return
        parameters = {f"/**/{self._given['controller']}": {"ros__parameters": {"library": library}}}
        try:
            resolve(self._given["file"]).write_text(yaml.safe_dump(parameters, allow_unicode=True), encoding="utf-8")
        except OSError as error:
            self._end(str(error))
        self.get_logger().info(f"there is a library: {library}")
        raise SystemExit(EXIT_SUCCESS)

    def _give_up(self) -> None:
        self._end(f"still waiting for a library after {self._given['timeout']:g} s")

    def _end(self, reason: str) -> NoReturn:
        self.get_logger().fatal(reason)
        raise SystemExit(EXIT_FAILURE)


def main() -> None:
    """Run the program: exit status 0 once the file is written, 1 if that fails."""
    sys.exit(run(WaitForLibraryNode, enclave="wait_for_library"))


if __name__ == "__main__":
    main()
