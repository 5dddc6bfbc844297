"""What reading a description may take: it may come from anybody, and a robot that people describe is far below.

Bounds of files stand in `storage.door`.
"""

from __future__ import annotations

NUMBER = 1e15
"""Magnitude of physical quantities, so that their products stay finite."""

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
