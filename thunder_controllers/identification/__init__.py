"""What motions tell of the inertial parameters of a link: which tell much, and what a record says of a payload."""

from thunder_dynamics.errors import require

require("scipy")
