"""What can be computed of a compiled law without simulating it."""

from thunder_dynamics.errors import require

require("scipy")
