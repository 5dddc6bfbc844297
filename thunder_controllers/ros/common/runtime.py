"""Runs nodes as the program of a process: initialise, spin, stop on a signal, clean up, exit status.

    def main() -> None:
        sys.exit(run(ControllerNode))

SIGINT and SIGTERM end the spinning, not the context: a node that needs time to end, such as one that ramps an effort
down, has `begin_stop()`, which returns at once and is called in the thread that spins, and `is_stopped`, whether it
may be destroyed. It goes on receiving and publishing until then, at most `STOP_TIME_LIMIT` seconds. A second signal
ends it at once. No signal raises KeyboardInterrupt: no callback is left half done, and no traceback appears.

An exception that a callback lets pass does not end the node, which may hold an arm: it goes to the log and to the
node's diagnostics. A callback that means to end the process raises SystemExit.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from thunder_controllers.ros.common.diagnostics import note_failure
from thunder_dynamics.errors import ThunderError

LOOK = 0.1
"""Longest wait of the main thread without a look at signals [s]."""

STOP_TIME_LIMIT = 2.0
"""Longest time between the first signal and the end of the spinning [s]."""

ENCLAVES = "/thunder"
"""Folder of the SROS 2 enclaves, one for each executable."""

EXIT_SUCCESS = 0
EXIT_FAILURE = 1
EXIT_USAGE = 2

STEADY = Clock(clock_type=ClockType.STEADY_TIME)
"""For timers that must run while simulated time stands still."""

NodeFactory = Callable[[], Node | list[Node]]


class ArgumentError(ThunderError):
    """The command line of an executable is wrong."""


def run(
    *factories: NodeFactory,
    enclave: str = "",
    arguments: Sequence[str] | None = None,
    executor: Callable[[], Executor] = SingleThreadedExecutor,
) -> int:
    """Make the nodes, spin them until a signal or a shutdown of the context, and clean up.

    Args:
        factories: Called in order after `rclpy.init`, each for a node or several; a node class is one.
        enclave: Name below `ENCLAVES` of the process's SROS 2 enclave, unless the command line has one. It counts
            only where SROS 2 is switched on; see docs/reference/security.md.
        arguments: Command line with ROS arguments; None: that of the process.
        executor: Makes the executor; single-threaded by default.

    Returns:
        Exit status: 0 after a signal or shutdown, 1 if a node cannot be made, 2 for a wrong command line. The reason
        goes to the log. Other exceptions that making a node raises pass: they are defects.
    """
    with StopSignals() as signals:
        try:
            initialise(arguments, enclave)
            return _spin(factories, executor(), signals)
        except ArgumentError as error:
            sys.stderr.write(f"{error}\n")
            return EXIT_USAGE
        except ThunderError as error:
            rclpy.logging.get_logger("thunder").fatal(str(error))
            return EXIT_FAILURE
        finally:
            rclpy.try_shutdown()


def fail(node: Node, reason: str) -> NoReturn:
    """End the process of a node that can do nothing more, with the reason in the log."""
    node.get_logger().fatal(reason)
    raise SystemExit(EXIT_FAILURE)


def initialise(arguments: Sequence[str] | None = None, enclave: str = "") -> None:
    """Initialise rclpy without its signal handlers; see the module for what handles signals, `run` for the rest.

    Raises:
        ArgumentError: if the ROS arguments cannot be parsed.
    """
    words = list(sys.argv if arguments is None else arguments)
    if enclave and not {"-e", "--enclave"} & set(words):
        words += ["--ros-args", "--enclave", f"{ENCLAVES}/{enclave}"]
    with _argument_errors():
        rclpy.init(args=words, signal_handler_options=SignalHandlerOptions.NO)


def own_arguments() -> list[str]:
    """Return the command line of the process without ROS arguments and program name.

    Raises:
        ArgumentError: if the ROS arguments cannot be parsed.
    """
    with _argument_errors():
        return list(rclpy.utilities.remove_ros_args(sys.argv)[1:])


@contextmanager
def _argument_errors() -> Iterator[None]:
    """Turn what rcl raises for a bad command line, RCLInvalidROSArgsError and its kin, into one of our errors."""
    try:
        yield
    except RuntimeError as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ArgumentError(what, where="command line", valid="--ros-args -p NAME:=VALUE -r FROM:=TO") from None


def _spin(factories: Sequence[NodeFactory], executor: Executor, signals: StopSignals) -> int:
    nodes: list[Node] = []
    try:
        for factory in factories:
            made = factory()
            nodes += made if isinstance(made, list) else [made]
        for node in nodes:
            executor.add_node(node)
        while not signals.count and rclpy.ok():
            spin_once(executor, LOOK)
        let_stop(nodes, executor, signals)
    except ExternalShutdownException:
        pass
    finally:
        # An executor that still waits on entities of a destroyed node would raise: it goes first.
        executor.shutdown(timeout_sec=1.0)
        for node in reversed(nodes):
            node.destroy_node()
    return EXIT_SUCCESS


def spin_once(executor: Executor, timeout: float) -> None:
    """Run one callback, or wait for one for `timeout` seconds; what it raises is noted, and goes no further.

    Raises:
        ExternalShutdownException: if the context is shut down.
    """
    try:
        executor.spin_once(timeout_sec=timeout)
    except ExternalShutdownException:
        raise
    except Exception as error:  # noqa: BLE001 # a defect: here is the one place for all nodes
        for node in executor.get_nodes():
            note_failure(node, error)


def let_stop(nodes: Sequence[Node], executor: Executor, signals: StopSignals) -> None:
    """Spin on until every node that needs time has stopped, the time limit or a second signal."""
    stopping: list[Any] = [node for node in nodes if hasattr(node, "begin_stop")]
    for node in stopping:
        node.begin_stop()
    end = time.monotonic() + STOP_TIME_LIMIT
    while not all(node.is_stopped for node in stopping) and rclpy.ok():
        if signals.count > 1 or time.monotonic() > end:
            return
        spin_once(executor, timeout=0.01)


class StopSignals:
    """Counts SIGINT, SIGTERM and SIGALRM (a limit on time) while the context lasts; in the main thread only.

    The interpreter tells of a signal when the main thread is back in Python: who waits there does so in short turns.

    Args:
        on_first: Called at the first one, in the main thread.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)

    def __init__(self, on_first: Callable[[], None] = lambda: None) -> None:
        self.count = 0
        """Signals received so far."""
        self._on_first = on_first

    def __enter__(self) -> StopSignals:
        self._previous = {number: signal.signal(number, self._take) for number in self.SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        if self.count:  # the process ends: a second Ctrl-C, as launch sends one beside the terminal's, must let it
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _take(self, number: int, frame: object) -> None:
        self.count += 1
        if self.count == 1:
            self._on_first()
