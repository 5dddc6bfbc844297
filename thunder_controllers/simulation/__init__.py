"""MuJoCo simulation: plants, scenarios, experiments and their metrics. Nothing here needs CasADi at run time."""

from thunder_dynamics.errors import require

require("mujoco", "scipy")
