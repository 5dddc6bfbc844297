"""Names of nodes and topics. Names are relative: a namespace moves them all."""

from __future__ import annotations

GENERATOR = "thunder_generator"
CONTROLLER = "adaptive_controller"
SIMULATION = "mujoco_simulation"
REFERENCE = "thunder_reference"
MODEL = "thunder_model"
WAIT_FOR_LIBRARY = "thunder_wait_for_library"
SET_LOAD = "thunder_set_load"
MONITOR = "thunder_monitor"

JOINT_STATES = "joint_states"
CLOCK = "/clock"
DIAGNOSTICS = "/diagnostics"
ROBOT_DESCRIPTION = "robot_description"
LIBRARY = "~/library"
