"""Motions with exact derivatives."""

from thunder_dynamics.errors import require

require("scipy")
