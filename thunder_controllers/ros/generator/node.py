"""The generator: builds or reuses the library of a robot, and tells others which it is.

generator --ros-args -p robot:=package://thunder_controllers/config/robots/panda.yaml
generator --once --ros-args -p robot:=panda.yaml -p output:=build    # at build time: the exit status says success
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rclpy
from lxml import etree
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import Trigger

from thunder_controllers.package_uri import resolve, resolve_file
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.diagnostics import ERROR, OK, WARN, report_health
from thunder_controllers.ros.common.library_message import format_library_message
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.qos import LATCHED
from thunder_controllers.ros.common.reading import reading_of
from thunder_controllers.ros.common.runtime import (
    EXIT_FAILURE,
    EXIT_SUCCESS,
    EXIT_USAGE,
    ArgumentError,
    StopSignals,
    initialise,
    own_arguments,
    run,
)
from thunder_controllers.ros.generator.build_worker import BuildProcess, BuildResult, Request
from thunder_dynamics.errors import BuildError, ThunderError


class GeneratorNode(Node):
    """Builds at start, whenever a robot description arrives while `robot` is empty, and on `~/build`.

    Builds run one after the other, in a process of their own, and the node answers meanwhile; it needs an executor
    with at least two threads for that.
    """

    def __init__(self) -> None:
        super().__init__(names.GENERATOR)
        self._given = DeclaredParameters(self)
        self._table = node_parameters("generator", names.GENERATOR)
        self._given.declare(self._table)
        self._process = BuildProcess()
        self._description = self._building = self._error = ""
        self._result: BuildResult | None = None
        self._publisher = self.create_publisher(String, names.LIBRARY, LATCHED)

    def serve(self) -> None:
        """Build now if there is a robot, and from now on whenever asked."""
        group = MutuallyExclusiveCallbackGroup()  # one build after the other
        self.create_service(Trigger, "~/build", self._on_build, callback_group=group)
        self.create_subscription(String, names.ROBOT_DESCRIPTION, self._on_description, LATCHED, callback_group=group)
        report_health(self, self._report)
        if not self._given["robot"]:
            self.get_logger().info(f"waiting for {self.resolve_topic_name(names.ROBOT_DESCRIPTION)}: robot is empty")
            return
        self._first = self.create_timer(0.0, self._on_start, callback_group=group)

    def build(self) -> str:
        """Build or reuse the library that the parameters describe, and announce it; returns the path of its file.

        Raises:
            ThunderError: if that fails; the reason is in the diagnostics too.
        """
        try:
            with tempfile.TemporaryDirectory(prefix="thunder_description_") as folder:
                request = self._request(Path(folder))
                self._building, self._error = request["robot_file"], ""
                self.get_logger().info(f"building {self._building}, laws: {', '.join(request['laws']) or 'none'}")
                result = self._process.run(request)
        except ThunderError as error:
            self._error = str(error)
            raise
        finally:
            self._building = ""
        self._result = result
        what = "reused, nothing has changed" if result.reused else f"built in {result.seconds:.1f} s"
        self.get_logger().info(f"{result.path} {what}, hash {result.library.hash[:16]}")
        self._publisher.publish(String(data=format_library_message(result.library)))
        return result.path

    def begin_stop(self) -> None:
        """End a build that is running."""
        self._process.end()

    @property
    def is_stopped(self) -> bool:
        """Whether no build is running."""
        return not self._building

    def _request(self, folder: Path) -> Request:
        """Collect the parameters; a description from the topic is written to `folder`."""
        request = {parameter.name: self._given[parameter.name] for parameter in self._table}
        for name in ("robot", "user_functions"):
            request[name] = str(resolve_file(request[name])) if request[name] else ""
        request["reading"] = reading_of(request)
        request["output"] = str(resolve(request["output"])) if request["output"] else ""
        if request["robot"]:
            return {**request, "robot_file": request["robot"]}
        if not self._description:
            raise BuildError("no robot", where="parameter robot", valid="a file, or a message on robot_description")
        file = folder / "robot_description.urdf"
        file.write_text(self._description, encoding="utf-8")
        request["name"] = request["name"] or _name_in(self._description)
        return {**request, "robot": str(file), "robot_file": self.resolve_topic_name(names.ROBOT_DESCRIPTION)}

    def _on_start(self) -> None:
        self._first.cancel()
        self._on_build(Trigger.Request(), Trigger.Response())

    def _on_description(self, message: String) -> None:
        is_new, self._description = message.data != self._description, message.data
        if is_new and not self._given["robot"]:
            self._on_build(Trigger.Request(), Trigger.Response())

    def _on_build(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Build and go on, whatever comes of it: `~/build` is there to try again."""
        try:
            response.message, response.success = self.build(), True
        except ThunderError as error:
            response.message = str(error)
            log = self.get_logger()
            (log.info if self._process.ended else log.error)(response.message)
        return response

    def _report(self) -> tuple[bytes, str, dict[str, Any]]:
        values: dict[str, Any] = {}
        if self._result is not None:
            library = self._result.library
            values = {"robot": library.robot, "library": self._result.path, "hash": library.hash}
            values["build time [s]"] = round(self._result.seconds, 3)
        if self._building:
            level, message = OK, f"building {self._building}"
        elif self._error:
            level, message = ERROR, self._error
        elif self._result is None:
            level, message = WARN, "waiting for a robot"
        else:
            level, message = OK, "library ready"
        return level, message, values


def _name_in(description: str) -> str:
    """Read the robot's name from a URDF; empty if there is none: the reader then says what is wrong with the text."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        return etree.fromstring(description.encode(), parser).get("name", "")
    except etree.XMLSyntaxError:
        return "robot"


def make_node() -> GeneratorNode:
    """Make the node that serves."""
    node = GeneratorNode()
    node.serve()
    return node


def build_once(arguments: Sequence[str] | None = None) -> int:
    """Build as the parameters say and return the exit status: 0 if the library is there, 1 if not."""
    try:
        initialise(arguments)
        node = GeneratorNode()
        try:
            with StopSignals(node.begin_stop):
                node.build()
        finally:
            node.destroy_node()
    except ThunderError as error:
        sys.stderr.write(f"generator: {error}\n")
        return EXIT_FAILURE
    finally:
        rclpy.try_shutdown()
    return EXIT_SUCCESS


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="generator", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--once", action="store_true", help="build, say so by the exit status, and end")
    try:
        options = parser.parse_args(own_arguments())
    except ArgumentError as error:
        sys.stderr.write(f"generator: {error}\n")
        sys.exit(EXIT_USAGE)
    if options.once:
        sys.exit(build_once())
    sys.exit(run(make_node, enclave="generator", executor=lambda: MultiThreadedExecutor(num_threads=2)))


if __name__ == "__main__":
    main()
