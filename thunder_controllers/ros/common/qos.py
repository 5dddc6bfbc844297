"""Quality-of-service profiles that all nodes share."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

STREAM = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=10,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
)
"""joint_states, commands, references: in order, ten deep, so that a hiccup of some milliseconds loses nothing."""

LATCHED = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""Descriptions: whoever comes later still gets the last one."""

REQUEST = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
)
"""Targets and trajectories: only the newest counts."""

MONITOR = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=10,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
)
"""Estimates, errors, states, diagnostics: what people and tools watch."""

SENSOR = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)
"""/clock and states of which only the newest is of use."""

PROFILES = {"STREAM": STREAM, "LATCHED": LATCHED, "REQUEST": REQUEST, "MONITOR": MONITOR, "SENSOR": SENSOR}
"""By the names that interface.Topic uses."""
