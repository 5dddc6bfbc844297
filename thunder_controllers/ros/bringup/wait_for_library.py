"""Waits for a generator's library, writes a ROS parameter file that gives it to a controller, and ends."""

from __future__ import annotations

import sys

import yaml
from rclpy.node import Node

from thunder_controllers.host import Library
from thunder_controllers.package_uri import resolve
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.announced import on_library
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.parameters import DeclaredParameters, ParameterError
from thunder_controllers.ros.common.runtime import EXIT_SUCCESS, STEADY, fail, run
from thunder_dynamics.storage.whole import write_text


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
        on_library(self, self._given, self._write)
        late = f"still waiting for a library after {self._given['timeout']:g} s"
        self.create_timer(self._given["timeout"], lambda: fail(self, late), clock=STEADY)

    def _write(self, library: Library) -> None:
        parameters = {f"/**/{self._given['controller']}": {"ros__parameters": {"library": library.path}}}
        try:
            write_text(resolve(self._given["file"]), yaml.safe_dump(parameters, allow_unicode=True), durable=False)
        except OSError as error:
            fail(self, str(error))
        self.get_logger().info(f"there is a library: {library.path}")
        raise SystemExit(EXIT_SUCCESS)


def main() -> None:
    """Run the program: exit status 0 once the file is written, 1 if that fails."""
    sys.exit(run(WaitForLibraryNode, enclave="wait_for_library"))


if __name__ == "__main__":
    main()
