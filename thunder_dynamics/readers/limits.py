"""What reading a description may take: it may come from anybody, and a robot that people describe is far below.

Bounds of files stand in `storage.door`.
"""

from __future__ import annotations

NUMBER = 1e15
"""Magnitude of physical quantities, so that their products stay finite."""

EFFORT = 2e4
"""Largest effort limit [N·m or N]. The base joints of the heaviest arms that are sold have some 1.5e4 N·m; files write
5e4 or 1e9 where nobody knows one."""

VELOCITY = 1e4
"""Largest velocity limit [rad/s or m/s]: spindles turn so fast, joints do not."""

POSITION = 1e6
"""Largest position limit [rad or m]."""

DEPTH = 20
"""Levels of nesting in YAML; the schema needs five."""

VALUES = 100_000
"""Values in YAML, before and after aliases are expanded; a robot of 30 joints has about a thousand."""

ELEMENTS = 10_000
"""Links, joints and others of a URDF, beside what they hold; what is checked of them all grows with the square."""

SECONDS = 20.0
"""For the expansion of a xacro; descriptions of arms take a tenth of a second."""

MEMORY = 1 << 30
"""Of the process that expands it [byte]."""

OPEN_FILES = 16
"""Of that process at a time."""
