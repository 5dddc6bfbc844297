"""Experiments: many short runs, judged as a whole; found by entry points of the group `thunder.experiments`."""

from thunder_dynamics.errors import require

require("matplotlib", "scipy")
