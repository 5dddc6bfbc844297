"""Runs several nodes in one process, every node in a thread and an executor of its own.

One executor with several threads would not do: rclpy fails when a callback destroys an entity while another thread
makes the wait set, and nodes destroy entities when they are deactivated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.task import Future

from thunder_controllers.ros.common.runtime import (
    EXIT_FAILURE,
    EXIT_SUCCESS,
    STOP_TIME_LIMIT,
    NodeFactory,
    StopSignals,
    initialise,
    let_stop,
)
from thunder_dynamics.errors import ThunderError


class NodeThread(threading.Thread):
    """A node that spins in a thread, once that is started.

    Args:
        factory: Makes the node, in the calling thread.
        signals: A second signal ends a stop at once.
        on_end: Called from the thread when the spinning ends by itself.
    """

    def __init__(self, factory: NodeFactory, signals: StopSignals, on_end: Callable[[], None]) -> None:
        self.node = factory()
        super().__init__(name=self.node.get_name(), daemon=True)
        self.error: BaseException | None = None
        """What ended the spinning; None: `stop`, which a result asks for."""
        self.stop = Future()
        self._signals = signals
        self._on_end = on_end
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)

    def run(self) -> None:
        """Spin until the end, then let the node stop."""
        try:
            self._executor.spin_until_future_complete(self.stop)
            let_stop([self.node], self._executor, self._signals)
        except ExternalShutdownException:
            pass
        except BaseException as error:  # noqa: BLE001 # the main thread raises it; SystemExit is one
            self.error = error
        if not self.stop.done():
            self._on_end()

    def close(self) -> None:
        """Destroy the node, whose thread has ended or was not started."""
        self._executor.shutdown(timeout_sec=1.0)
        self.node.destroy_node()


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
                threads.append(NodeThread(factory, signals, ended.set))
            for thread in threads:
                thread.start()
            signals.on_first(ended.set)
            ended.wait()
            _stop(threads)
            return _status(threads)
        except ThunderError as error:
            rclpy.logging.get_logger("thunder").fatal(str(error))
            return EXIT_FAILURE
        finally:
            signals.forget()
            for thread in reversed(threads):
                thread.close()
            rclpy.try_shutdown()


def _stop(threads: Sequence[NodeThread]) -> None:
    """Stop those that need time first: the robot is there until the controller has ramped its effort down."""
    for needs_time in (True, False):
        chosen = [thread for thread in threads if hasattr(thread.node, "begin_stop") is needs_time]
        for thread in chosen:
            thread.stop.set_result(None)
        for thread in chosen:
            thread.join(STOP_TIME_LIMIT + 1.0)


def _status(threads: Sequence[NodeThread]) -> int:
    """Exit status; a defect in a node is raised, and so is one of our own errors."""
    errors = [thread.error for thread in threads if thread.error is not None]
    for error in errors:
        if not isinstance(error, SystemExit):
            raise error
    return EXIT_FAILURE if errors else EXIT_SUCCESS
