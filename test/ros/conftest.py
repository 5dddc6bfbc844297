"""Set-up of the ROS tests: a DDS domain of their own, a probe node, and node processes that leave nothing behind.

Fixtures: `domain` (module), `probe` (module, see `nodes.Probe`), `start_node` (function, see `nodes.NodeProcess`),
`make_node` (function).
Without rclpy every module here is skipped, with that reason.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from nodes import NodeProcess, Probe

HERE = Path(__file__).parent
NO_RCLPY = "rclpy is not installed: pip install -e '.[ros]', or source a ROS 2 distribution"
DOMAINS = 100
"""Domains 1 to 100 have their ports below the ephemeral ones of Linux."""


class SkippedModule(pytest.Module):
    """A test module that cannot be imported here."""

    def collect(self) -> Any:
        pytest.skip(NO_RCLPY, allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Skip modules where rclpy is missing, before they import it."""
    return None if find_spec("rclpy") else SkippedModule.from_parent(parent, path=module_path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the ROS tests one after the other, in one process: they share the processor with the nodes they start."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("ros"))


@pytest.fixture(scope="module")
def domain(request: pytest.FixtureRequest) -> Iterator[int]:
    """A DDS domain that no other test module on this machine uses now, in the environment as well."""
    seed = f"{os.environ.get('PYTEST_XDIST_WORKER', '')}:{request.node.nodeid}:{os.getpid()}"
    first = zlib.crc32(seed.encode())
    for k in range(DOMAINS):
        number = 1 + (first + k) % DOMAINS
        lock = os.open(Path(tempfile.gettempdir(), f"thunder-test-ros-domain-{number}"), os.O_CREAT | os.O_RDWR, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ROS_DOMAIN_ID", str(number))
            patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
            patch.delenv("ROS_LOCALHOST_ONLY", raising=False)
            yield number
        os.close(lock)
        return
    pytest.fail(f"all {DOMAINS} DDS domains are locked by other tests")


@pytest.fixture(scope="module")
def probe(domain: int) -> Iterator[Probe]:
    """A node in this process, spinning in a thread of its own."""
    from nodes import Probe

    with Probe(domain) as node:
        yield node


@pytest.fixture
def start_node(domain: int, probe: Probe, tmp_path: Path) -> Iterator[Callable[..., NodeProcess]]:
    """Start nodes as processes: `start_node("simulation", {"urdf": …}, name=…, namespace=…)`.

    Returns once the node is seen in the graph. At the end of the test each is stopped as by Ctrl-C and must then have
    ended in time, with status 0, without traceback, orphan or open port.
    """
    from nodes import NodeProcess

    started: list[NodeProcess] = []

    def start(executable: str, parameters: dict[str, Any] | None = None, **options: Any) -> NodeProcess:
        wait = options.pop("wait", True)
        node = NodeProcess(executable, parameters or {}, tmp_path, **options)
        started.append(node)
        if wait:
            probe.wait_for_process(node)
        return node

    try:
        yield start
        for node in reversed(started):
            node.stop()
    finally:
        for node in started:
            node.kill()


@pytest.fixture
def make_node(probe: Probe) -> Iterator[Callable[..., Any]]:
    """Make nodes in this process, which the probe's thread spins: `make_node(ModelNode, {"rate": 5.0})`."""
    made: list[Any] = []

    def make(kind: Any, parameters: dict[str, Any]) -> Any:
        from rclpy.parameter import Parameter

        given = [Parameter(name, value=value) for name, value in parameters.items()]
        node = kind(context=probe.context, parameter_overrides=given, use_global_arguments=False)
        made.append(node)
        probe.executor.add_node(node)
        return node

    yield make
    for node in made:
        probe.in_own_thread(probe.executor.remove_node, node)
        node.destroy_node()
