"""What a redundant arm does with its spare degrees of freedom, where that takes an iteration and is no compiled law."""

from thunder_dynamics.errors import require

require("scipy")
