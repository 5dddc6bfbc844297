"""Runs several nodes in one process, every node in a thread and an executor of its own.

One executor with several threads would not do: rclpy fails when a callback destroys an entity while another thread
makes the wait set, and nodes destroy entities when they are deactivated.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from thunder_controllers.ros.common.runtime import (
    EXIT_FAILURE,
    EXIT_SUCCESS,
    STOP_TIME_LIMIT,
    NodeFactory,
    Spinner,
    StopSignals,
    initialise,
    let_stop,
)
from thunder_dynamics.errors import ThunderError


class NodeThread(threading.Thread):
    """A node that spins in a thread, once that is started, and may then stop.

    Args:
        node: To spin.
        signals: A second signal ends a stop at once.
        ended: Set when the spinning has ended.
    """

    def __init__(self, node: Node, signals: StopSignals, ended: threading.Event) -> None:
        super().__init__(name=node.get_name(), daemon=True)
        self.node = node
        self.error: BaseException | None = None
        """What ended the spinning, if nobody asked for that."""
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(node)
        self.spinner = Spinner(self.executor)
        self._signals, self._ended = signals, ended

    def run(self) -> None:
        """Spin until the end, then let the node stop."""
        try:
            self.spinner.spin()
            let_stop([self.node], self.executor, self._signals)
        except ExternalShutdownException:
            pass
        except BaseException as error:  # noqa: BLE001 # the main thread raises it; SystemExit is one
            self.error = error
        self._ended.set()


def run_shared(factories: Sequence[NodeFactory], arguments: Sequence[str] | None = None) -> int:
    """Make the nodes, spin each in a thread until a signal or until one of them fails, and clean up.

    Args:
        factories: Called in order after `rclpy.init`.
        arguments: Command line with ROS arguments, which all nodes share; None: that of the process.

    Returns:
        Exit status as `runtime.run` does.
    """
    ended = threading.Event()
    threads: list[NodeThread] = []
    with StopSignals() as signals:
        try:
            initialise(arguments)
            for factory in factories:
                threads.append(NodeThread(factory(), signals, ended))
            for thread in threads:
                thread.start()
            signals.on_first(ended.set)
            ended.wait()
            _stop(threads)
            return EXIT_FAILURE if any(thread.error for thread in threads) else EXIT_SUCCESS
        except ThunderError as error:
            rclpy.logging.get_logger("thunder").fatal(str(error))
            return EXIT_FAILURE
        finally:
            signals.forget()
            for thread in reversed(threads):
                thread.executor.shutdown(timeout_sec=1.0)
                thread.node.destroy_node()
            rclpy.try_shutdown()


def _stop(threads: Sequence[NodeThread]) -> None:
    """Stop those that need time first: the robot is there until the controller has ramped its effort down.

    A defect in a node is raised, and so is one of our own errors.
    """
    for needs_time in (True, False):
        chosen = [thread for thread in threads if hasattr(thread.node, "begin_stop") is needs_time]
        for thread in chosen:
            thread.spinner.end()
        for thread in chosen:
            thread.join(STOP_TIME_LIMIT + 1.0)
    for error in (thread.error for thread in threads):
        if error is not None and not isinstance(error, SystemExit):
            raise error
