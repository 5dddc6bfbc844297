"""The Panda behind a controller_manager, by the launch file, as the pages of docs/ have it.

Each is skipped where ROS 2 or its hardware is not sourced:

    . <workspace>/install/setup.sh && pytest test/ros2_control/test_backends.py
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PREFIXES = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
MARKER = "share/ament_index/resource_index/packages"
MANAGER = ("thunder_controllers", "controller_manager", "joint_state_broadcaster", "robot_state_publisher")
FRANKA = ("franka_description", "franka_hardware", "franka_msgs", "franka_robot_state_broadcaster")
LENGTH = 60.0
"""Of the motion [s]."""

PAYLOAD = 0.5
"""Mass at the flange that the controller is not told of [kg]."""

LIMIT = 3000.0
"""Wall time for compiling the library and for the motion on a loaded machine [s]."""

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ros")]


def run(folder: Path, script: str, domain: int, words: tuple[str, ...], *packages: str) -> dict[str, Any]:
    """What one run of a script showed."""
    missing = [] if shutil.which("ros2") else ["ros2"]
    missing += [name for name in packages if not any((p / MARKER / name).is_file() for p in PREFIXES)]
    if missing:
        pytest.skip(f"not installed, or not sourced: {', '.join(missing)}")
    own = (str(ROOT / "test"), str(ROOT / "test/ros"), os.environ.get("PYTHONPATH", ""))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(own), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    log = folder / "log"
    command = [sys.executable, str(ROOT / "test/ros2_control" / script), str(domain), str(log), *words]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert run.returncode == 0, (run.stderr[-2000:], log.read_text()[-4000:])
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def check(found: dict[str, Any]) -> None:
    """The error has converged and the payload is found."""
    assert found["error [m]"]["mean"] < 1e-4
    assert found["payload [kg]"] == pytest.approx(PAYLOAD, abs=0.005)


def test_mujoco_as_hardware(tmp_path: Path) -> None:
    check(run(tmp_path, "backend_run.py", 92, (str(LENGTH), "ros2_control"), *MANAGER))


def test_franka_ros2_on_a_virtual_franka_through_a_reflex(tmp_path: Path) -> None:
    found = run(tmp_path, "backend_run.py", 93, (str(LENGTH), "franka"), *MANAGER, *FRANKA)
    check(found)
    assert set(found["controllers after the reflex"].values()) == {"inactive"}
    assert set(found["controllers after the recovery"].values()) == {"active"}
    check(found["after the recovery"])


def test_trajectories_of_joints_as_moveit_asks_for_them(tmp_path: Path) -> None:
    found = run(tmp_path, "trajectory_run.py", 95, ("joints",), *MANAGER)
    codes = {name: value.get("code", value["status"]) for name, value in found.items() if isinstance(value, dict)}
    assert codes == {
        "there": "SUCCESSFUL",
        "back": "SUCCESSFUL",
        "strict path": "PATH_TOLERANCE_VIOLATED",
        "strict goal": "GOAL_TOLERANCE_VIOLATED",
        "cancelled": "SUCCESSFUL",
        "overtaken": "INVALID_GOAL",
        "overtaking": "SUCCESSFUL",
        "out of limits": "INVALID_GOAL",
        "unknown joint": "REJECTED",
        "poses": "REJECTED",
    }
    assert found["cancelled"]["status"] == "CANCELED" and found["speed after that [rad/s]"] < 1e-3
    assert found["there"]["feedback"] > 10 and found["error [rad]"] < 0.02


def test_a_trajectory_of_poses(tmp_path: Path) -> None:
    found = run(tmp_path, "trajectory_run.py", 96, ("poses",), *MANAGER)
    assert [found[name]["status"] for name in ("there", "one axis", "joints")] == ["SUCCEEDED", "REJECTED", "REJECTED"]
    assert found["fed back [m]"] == [pytest.approx(0.15, abs=0.01), pytest.approx(0.0, abs=0.01)]
    assert found["way [m]"] == pytest.approx(0.15, abs=0.01)


@pytest.mark.parametrize("backend", ["ros2_control", "mujoco"])
def test_targets_of_a_tool_in_frames_of_tf(tmp_path: Path, backend: str) -> None:
    found = run(tmp_path, "frames_run.py", 98, (backend,), *MANAGER, "tf2_ros", "tf2_ros_py")
    refused = {
        "no tool yet": 'tool_frame: "hand" passed to lookupTransform argument target_frame does not exist; valid:',
        "unknown frame": "frame_id 'shelf': \"shelf\" passed to lookupTransform argument source_frame does not exist;",
        "future": "frame_id 'cart': Lookup would require extrapolation into the future",
    }
    for name, reason in refused.items():
        assert reason in found[name]
    for name in ("camera", "world", "base", "cart between its places", "trajectory"):
        assert max(found[name]) < 5e-4, name  # [m, rad]


def test_a_controller_before_it_gives_the_reference(tmp_path: Path) -> None:
    found = run(tmp_path, "chain_run.py", 97, (), *MANAGER, "forward_command_controller")
    assert found["chained"] and found["is chained"] and found["alone again"] and not found["is still chained"]
    assert not found["off before those who read it"]
    assert found["command_interfaces"] == ["acceleration", "position", "velocity"]
    assert {"mass", "com.x", "inertia.xx", "guards"} <= set(found["state_interfaces"])
    assert found["error at the end [rad]"] < 1e-3
    assert found["moved by a topic [rad]"] < 1e-3 and found["moved by what was written before [rad]"] < 1e-3
    assert found["starts a motion"]


def test_a_controller_comes_back_to_a_stream_that_went_on(tmp_path: Path) -> None:
    """However far the stream has come meanwhile, it is approached: no switch is refused, and the arm catches up."""
    found = run(tmp_path, "switch_run.py", 99, ("20", "3", "stream"), *MANAGER)
    assert found["refused"] == 0
    first, caught = found["from the stream at first, median and largest [m]"], found["4 s later [m]"]
    assert max(first) > 0.05 > 0.01 > max(caught)
    assert found["largest rate of an effort over its limit"] < 1.05
