"""Diagnostic messages from plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

OK = DiagnosticStatus.OK
WARN = DiagnosticStatus.WARN
ERROR = DiagnosticStatus.ERROR
STALE = DiagnosticStatus.STALE


def diagnostic(node: Node, level: bytes, message: str, values: Mapping[str, Any]) -> DiagnosticArray:
    """Make a message with one status, named after the node and stamped with its clock.

    Args:
        node: Whose health it is.
        level: OK, WARN, ERROR or STALE.
        message: One line.
        values: Name, with its unit in brackets, to value.
    """
    pairs = [
        KeyValue(key=key, value=f"{value:g}" if isinstance(value, float) else str(value))
        for key, value in values.items()
    ]
    name = node.get_fully_qualified_name()
    status = DiagnosticStatus(level=level, name=name.lstrip("/"), message=message, hardware_id="", values=pairs)
    array = DiagnosticArray(status=[status])
    array.header.stamp = node.get_clock().now().to_msg()
    return array
