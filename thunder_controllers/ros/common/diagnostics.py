"""Diagnostic messages from plain values, and what callbacks failed at."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.node import Node

from thunder_controllers.ros.common.names import DIAGNOSTICS
from thunder_controllers.ros.common.qos import MONITOR

OK = DiagnosticStatus.OK
WARN = DiagnosticStatus.WARN
ERROR = DiagnosticStatus.ERROR
STALE = DiagnosticStatus.STALE

DIAGNOSTICS_PERIOD = 1.0
"""[s] Of nodes whose user cannot choose it."""

LONGEST_TEXT = 1000
"""Characters of a text that came in a message and is passed on."""


@dataclass
class _Failures:
    """Of the callbacks of a node."""

    count: int = 0
    reported: int = 0
    last: str = ""


_failures: WeakKeyDictionary[Node, _Failures] = WeakKeyDictionary()


def note_failure(node: Node, error: Exception) -> None:
    """Log an exception that ended a callback, a defect, and have the next diagnostics of the node tell of it."""
    failures = _failures.setdefault(node, _Failures())
    failures.count, failures.last = failures.count + 1, plain(f"{type(error).__name__}: {error}")
    text = "".join(traceback.format_exception(error))
    node.get_logger().error(f"a callback failed; the node goes on. {text}", throttle_duration_sec=1.0)


def report_health(
    node: Node,
    report: Callable[[], tuple[bytes, str, Mapping[str, Any]]],
    period: float = DIAGNOSTICS_PERIOD,
    topics: Sequence[str] = (DIAGNOSTICS,),
    clock: Clock | None = None,
) -> None:
    """Publish level, message and values that `report` returns, every `period` seconds."""
    publishers = [node.create_publisher(DiagnosticArray, topic, MONITOR) for topic in topics]

    def publish() -> None:
        message = diagnostic(node, *report())
        for publisher in publishers:
            publisher.publish(message)

    node.create_timer(period, publish, clock=clock)


def plain(text: object) -> str:
    """Make text that may hold what others have sent fit for one line of a log."""
    characters = (c if c.isprintable() else " " for c in str(text)[:LONGEST_TEXT])
    return "".join(characters)


def diagnostic(node: Node, level: bytes, message: str, values: Mapping[str, Any]) -> DiagnosticArray:
    """Make a message with one status, named after the node and stamped with its clock.

    Args:
        node: Whose health it is.
        level: OK, WARN, ERROR or STALE.
        message: One line.
        values: Name, with its unit in brackets, to value.
    """
    pairs = [
        KeyValue(key=key, value=f"{value:g}" if isinstance(value, float) else plain(value))
        for key, value in values.items()
    ]
    failures = _failures.get(node)
    if failures is not None:
        pairs.append(KeyValue(key="failed callbacks", value=f"{failures.count}, last: {failures.last}"))
        if failures.count > failures.reported:
            level, message, failures.reported = ERROR, f"a callback failed: {failures.last}", failures.count
    name = node.get_fully_qualified_name()
    status = DiagnosticStatus(level=level, name=name.lstrip("/"), message=plain(message), hardware_id="", values=pairs)
    array = DiagnosticArray(status=[status])
    array.header.stamp = node.get_clock().now().to_msg()
    return array
