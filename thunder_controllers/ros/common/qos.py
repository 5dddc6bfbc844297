"""Quality-of-service profiles that all nodes share; what is not said is reliable and volatile."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

STREAM = QoSProfile(depth=10)
"""joint_states, commands, references: in order, ten deep, so that a hiccup of some milliseconds loses nothing."""

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Descriptions: whoever comes later still gets the last one."""

REQUEST = QoSProfile(depth=1)
"""Targets and trajectories: only the newest counts."""

MONITOR = QoSProfile(depth=10)
"""Estimates, errors, states, diagnostics: what people and tools watch."""

SENSOR = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""/clock and states of which only the newest is of use."""

PROFILES = {"STREAM": STREAM, "LATCHED": LATCHED, "REQUEST": REQUEST, "MONITOR": MONITOR, "SENSOR": SENSOR}
"""By the names that interfaces.yaml uses."""
