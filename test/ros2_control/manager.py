"""The services of a controller_manager, and where a Panda's joints are, for the scripts beside this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from controller_manager_msgs.srv import ListControllers, SwitchController
from launched import PATIENCE
from nodes import Inbox, Probe
from sensor_msgs.msg import JointState

JOINTS = tuple(f"panda_joint{k}" for k in range(1, 8))


def manage(probe: Probe, kind: Any, service: str, **request: Any) -> Any:
    """Call a service of the controller manager; its answer."""
    return probe.call(kind, f"/controller_manager/{service}", kind.Request(**request), PATIENCE)


def states(probe: Probe) -> dict[str, str]:
    """State by controller, as `ros2 control list_controllers` shows it."""
    return {c.name: c.state for c in manage(probe, ListControllers, "list_controllers").controller}


def switch(probe: Probe, on: Sequence[str], off: Sequence[str]) -> bool:
    """Activate and deactivate, all or none: whether the manager has done it."""
    request = {"activate_controllers": list(on), "deactivate_controllers": list(off)}
    return bool(manage(probe, SwitchController, "switch_controller", **request, strictness=2, activate_asap=True).ok)


def positions(state: JointState) -> list[float]:
    """Of the joints in their order [rad]."""
    return [state.position[state.name.index(name)] for name in JOINTS]


def place(joints: Inbox) -> np.ndarray:
    """Where the joints are now [rad], (7,)."""
    joints.clear()
    return np.array(positions(joints.wait(timeout=PATIENCE)))
