"""Real nodes for the tests: as processes of their own, and a probe in the test's process that talks to them.

Nothing here sleeps: every wait is for an event, and has a time limit after which it fails with what was seen.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
import yaml
from leftovers import group_exists, other_sockets, own_sockets, udp_ports
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import QoSProfile

TIMEOUT = 240.0
"""Limit of every wait [s]: far above what a loaded machine needs, so that only a missing event reaches it."""

STOP_TIMEOUT = 60.0
"""Limit of a node's end after Ctrl-C [s]; `STOP_TIME_LIMIT` of the nodes bounds it on a machine that is idle."""

POLL = 0.05
"""The graph and the process table have no events to wait on: how often they are looked at [s]."""

DEFAULT_NAMES = {
    "generator": "thunder_generator",
    "simulation": "mujoco_simulation",
    "reference": "thunder_reference",
    "model": "thunder_model",
}

TRANSITIONS = {
    "configure": Transition.TRANSITION_CONFIGURE,
    "cleanup": Transition.TRANSITION_CLEANUP,
    "activate": Transition.TRANSITION_ACTIVATE,
    "deactivate": Transition.TRANSITION_DEACTIVATE,
}


def module_of(executable: str) -> str:
    """Module of an executable: that of a node by the name of its room, another one by its path below `ros`."""
    return f"thunder_controllers.ros.{executable}" + ("" if "." in executable else ".node")


class NodeProcess:
    """A node of the package in a process, and process group, of its own.

    Args:
        executable: `generator`, `simulation`, `reference` or `model`.
        parameters: Of the node, `{"payload.mass": 1.0}`.
        folder: Where the parameter file goes.
        name: Of the node; the executable's default.
        namespace: Absolute.
        arguments: Further command line arguments, before --ros-args.
    """

    def __init__(
        self,
        executable: str,
        parameters: Mapping[str, Any],
        folder: Path,
        *,
        name: str | None = None,
        namespace: str = "/",
        arguments: Sequence[str] = (),
    ) -> None:
        self.name = name or DEFAULT_NAMES.get(executable, executable)
        self.namespace = namespace
        self.stopped = False
        command = [sys.executable, "-m", module_of(executable), *arguments, "--ros-args"]
        command += ["-r", f"__ns:={namespace}"] + (["-r", f"__node:={name}"] if name else [])
        if parameters:
            with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=folder, delete=False) as file:
                yaml.safe_dump({"/**": {"ros__parameters": dict(parameters)}}, file)
            command += ["--params-file", file.name]
        self._ports_before = udp_ports()
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "RCUTILS_COLORIZED_OUTPUT": "0"},
            start_new_session=True,
            text=True,
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._lines.append("")  # end of output: waiters look at the process again
            self._changed.notify_all()

    @property
    def full_name(self) -> str:
        """`/namespace/name`."""
        return f"{self.namespace.rstrip('/')}/{self.name}"

    @property
    def output(self) -> str:
        """All that was written to stdout and stderr so far."""
        with self._changed:
            return "".join(self._lines)

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def wait_for_output(self, text: str, timeout: float = TIMEOUT) -> None:
        """Wait until `text` has been written."""
        with self._changed:
            found = self._changed.wait_for(
                lambda: text in "".join(self._lines) or not self._reader.is_alive() or self._lines[-1:] == [""], timeout
            )
            seen = "".join(self._lines)
        assert found and text in seen, f"{self.name} did not write {text!r} in {timeout:g} s but:\n{seen}"

    def wait(self, timeout: float = TIMEOUT) -> int:
        """Wait for the process to end by itself; its exit status."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {timeout:g} s; it wrote:\n{self.output}") from None
        self._reader.join(timeout)
        return status

    def stop(self, sign: int = signal.SIGINT, timeout: float = STOP_TIMEOUT) -> None:
        """Stop as Ctrl-C does, unless stopped already, and assert that it ends well and leaves nothing."""
        if self.stopped:
            return
        self.stopped = True
        assert self.is_running, f"{self.name} had ended with status {self.process.poll()}:\n{self.output}"
        os.killpg(self.process.pid, sign)  # the group, as a terminal does
        status = self.wait(timeout)
        assert status == 0, f"{self.name} ended with status {status}:\n{self.output}"
        self.assert_nothing_left()

    def assert_nothing_left(self) -> None:
        """No traceback, no process of its group, no port that was not open before."""
        assert "Traceback" not in self.output, f"{self.name} wrote:\n{self.output}"
        assert not group_exists(self.process.pid), f"{self.name} left processes behind"
        own = {inode: port for inode, port in udp_ports().items() if inode not in self._ports_before}
        held = own.keys() - own_sockets() - other_sockets()
        assert not held, f"{self.name} left UDP ports {sorted(own[inode] for inode in held)} open"

    def kill(self) -> None:
        """End it in any case: for the end of a test, or to show what its loss does."""
        self.stopped = True
        if group_exists(self.process.pid):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


class Inbox:
    """What a subscription has received, in order."""

    def __init__(self, probe: Probe, topic: str) -> None:
        self._probe = probe
        self.topic = topic
        self.messages: list[Any] = []

    def take(self, message: Any) -> None:
        with self._probe.changed:
            self.messages.append(message)
            self._probe.changed.notify_all()

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def latest(self) -> Any:
        assert self.messages, f"nothing came on {self.topic}"
        return self.messages[-1]

    def clear(self) -> None:
        with self._probe.changed:
            self.messages.clear()

    def wait(
        self, accept: Callable[[Any], bool] = lambda message: True, *, count: int = 1, timeout: float = TIMEOUT
    ) -> Any:
        """Wait until `count` messages that are accepted have come since the last `clear`; the count-th of them."""
        looked, hits = 0, []

        def enough() -> bool:
            nonlocal looked
            while looked < len(self.messages) and len(hits) < count:
                message = self.messages[looked]
                looked += 1
                if accept(message):
                    hits.append(message)
            return len(hits) >= count

        with self._probe.changed:
            done = self._probe.changed.wait_for(enough, timeout)
            last = self.messages[-1] if self.messages else None
        assert done, f"{len(hits)} of {count} expected messages on {self.topic} in {timeout:g} s; last: {last}"
        return hits[count - 1]

    def wait_new(self, count: int = 1, timeout: float = TIMEOUT) -> Any:
        """Wait for `count` messages that come from now on; the last of them."""
        with self._probe.changed:
            first = len(self.messages)
            done = self._probe.changed.wait_for(lambda: len(self.messages) >= first + count, timeout)
        assert done, f"{len(self.messages) - first} of {count} new messages on {self.topic} in {timeout:g} s"
        return self.messages[first + count - 1]


class Probe:
    """A node in the test's own process; its callbacks run in a thread of its own.

    Args:
        domain: DDS domain.
        name: Of the node.
        enclave: Of its context.
    """

    def __init__(self, domain: int, name: str = "test_probe", enclave: str = "") -> None:
        self.context = rclpy.Context()
        words = ["--ros-args", "--enclave", enclave] if enclave else []
        rclpy.init(args=words, context=self.context, domain_id=domain)
        self.node = rclpy.create_node(name, context=self.context, use_global_arguments=False)
        self.changed = threading.Condition()
        self._clients: dict[tuple[Any, str], Any] = {}
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        try:
            self.executor.spin()
        except ExternalShutdownException:
            return

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *_: object) -> None:
        self.executor.shutdown()
        self._thread.join(TIMEOUT)
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)

    def in_own_thread(self, function: Callable[[Any], Any], argument: Any) -> None:
        """Between two waits of the executor: what it would wait for must not go while it gathers that."""
        done = threading.Event()
        self.executor.create_task(function, argument).add_done_callback(lambda _: done.set())
        assert done.wait(TIMEOUT), f"no end of {function.__name__}"

    # --- topics ------------------------------------------------------------------------------------------------

    @contextmanager
    def listening(self, kind: Any, topic: str, qos: QoSProfile | int = 10) -> Iterator[Inbox]:
        """Subscribe for the time of a with block."""
        inbox = Inbox(self, topic)
        subscription = self.node.create_subscription(kind, topic, inbox.take, qos)
        try:
            yield inbox
        finally:
            self.in_own_thread(self.node.destroy_subscription, subscription)

    def listen(self, kind: Any, topic: str, qos: QoSProfile | int = 10) -> Inbox:
        """Subscribe until the probe ends."""
        inbox = Inbox(self, topic)
        self.node.create_subscription(kind, topic, inbox.take, qos)
        return inbox

    def publisher(self, kind: Any, topic: str, qos: QoSProfile | int = 10, subscribers: int = 1) -> Any:
        """Advertise, and wait until that many subscriptions have matched."""
        publisher = self.node.create_publisher(kind, topic, qos)
        self.wait_until(lambda: publisher.get_subscription_count() >= subscribers, f"a subscription to {topic}")
        return publisher

    @contextmanager
    def advertising(self, kind: Any, topic: str, qos: QoSProfile | int = 10) -> Iterator[Any]:
        """Like `publisher`, and withdrawn at the end: a latched message must not reach the node of the next test."""
        publisher = self.publisher(kind, topic, qos)
        try:
            yield publisher
        finally:
            self.in_own_thread(self.node.destroy_publisher, publisher)

    def wait_until(self, condition: Callable[[], Any], what: str, timeout: float = TIMEOUT) -> Any:
        """Wait for a condition on messages or on the graph; its value."""
        deadline = self.now() + timeout
        while not (value := condition()):  # without the lock: a condition may call services
            assert self.now() < deadline, f"no {what} in {timeout:g} s"
            with self.changed:
                self.changed.wait(POLL)
        return value

    @staticmethod
    def now() -> float:
        """Monotonic time [s], for deadlines."""
        return rclpy.clock.Clock(clock_type=rclpy.clock.ClockType.STEADY_TIME).now().nanoseconds * 1e-9

    # --- services and parameters -------------------------------------------------------------------------------

    def call(self, kind: Any, service: str, request: Any = None, timeout: float = TIMEOUT) -> Any:
        """Call a service and wait for its response."""
        client = self._clients.get((kind, service))
        if client is None:
            client = self._clients[kind, service] = self.node.create_client(kind, service)
        assert client.wait_for_service(timeout), f"no service {service} in {timeout:g} s"
        done = threading.Event()
        future = client.call_async(kind.Request() if request is None else request)
        future.add_done_callback(lambda _: done.set())
        assert done.wait(timeout), f"no response from {service} in {timeout:g} s"
        return future.result()

    def set_parameters(self, node: str, values: Mapping[str, Any]) -> list[SetParametersResult]:
        """Set parameters of a node (full name): one result each, `.successful` and `.reason`."""
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        return list(
            self.call(SetParameters, f"{node}/set_parameters", SetParameters.Request(parameters=parameters)).results
        )

    def get_parameters(self, node: str, *names: str) -> list[Any]:
        """Values of parameters of a node; None where not set."""
        response = self.call(GetParameters, f"{node}/get_parameters", GetParameters.Request(names=list(names)))
        return [parameter_value_to_python(value) for value in response.values]

    def describe_parameters(self, node: str, *names: str) -> list[Any]:
        """Descriptors of parameters of a node."""
        request = DescribeParameters.Request(names=list(names))
        return list(self.call(DescribeParameters, f"{node}/describe_parameters", request).descriptors)

    # --- graph and lifecycle -----------------------------------------------------------------------------------

    def node_names(self) -> set[str]:
        """Full names of all nodes in the graph."""
        return {
            f"{namespace.rstrip('/')}/{name}" for name, namespace in self.node.get_node_names_and_namespaces() if name
        }

    def wait_for_process(self, node: NodeProcess, timeout: float = TIMEOUT) -> None:
        """Wait until the node of a process is in the graph; fails at once if the process ends before."""

        def seen() -> bool:
            assert node.is_running, f"{node.name} ended with status {node.process.poll()}:\n{node.output}"
            return node.full_name in self.node_names()

        self.wait_until(seen, f"node {node.full_name}", timeout)

    def transition(self, node: str, label: str, timeout: float = TIMEOUT) -> bool:
        """Drive a lifecycle transition (`configure`, `activate`, `deactivate`, `cleanup`); whether it succeeded."""
        request = ChangeState.Request(transition=Transition(id=TRANSITIONS[label], label=label))
        return bool(self.call(ChangeState, f"{node}/change_state", request, timeout).success)

    def state(self, node: str) -> str:
        """Label of the lifecycle state: `unconfigured`, `inactive`, `active`, `finalized`."""
        return str(self.call(GetState, f"{node}/get_state").current_state.label)
