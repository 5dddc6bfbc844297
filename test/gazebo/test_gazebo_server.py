"""The Panda in Gazebo, by the launch file of the project. Skipped where Gazebo or ROS 2 is not sourced: README.md.

. <workspace>/install/setup.sh && pytest test/gazebo/test_gazebo_server.py
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
from gazebo_service import service_command

ROOT = Path(__file__).resolve().parents[2]
PREFIXES = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
PACKAGES = ("thunder_controllers", "gz_ros2_control", "ros_gz_sim", "ros_gz_bridge", "controller_manager")
PACKAGES += ("joint_state_broadcaster", "robot_state_publisher")
MARKER = "share/ament_index/resource_index/packages"
DOMAIN = 91
LENGTH = 60.0
"""Of the motion, in the time of the simulation [s]."""

PAYLOAD = 0.5
"""Mass at the flange that the controller is not told of [kg]."""

LIMIT = 3000.0
"""Wall time for compiling the library and for the motion on a loaded machine [s]."""

LINK = 0.735522
"""Mass of the Panda's last link and what is fixed to it without the payload [kg]."""


def why_not() -> str | None:
    """The reason why this machine cannot do it, if it cannot."""
    missing = [] if shutil.which("ros2") else ["ros2"]
    missing += [] if service_command() else ["gz or ign"]
    missing += [name for name in PACKAGES if not any((p / MARKER / name).is_file() for p in PREFIXES)]
    return f"not installed, or not sourced: {', '.join(missing)}; see test/gazebo/README.md" if missing else None


REASON = why_not()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("gazebo"),
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one run showed: gazebo_run.py."""
    log = tmp_path_factory.mktemp("gazebo") / "log"
    paths = os.pathsep.join((str(ROOT / "test"), str(ROOT / "test/ros"), os.environ.get("PYTHONPATH", "")))
    command = [
        sys.executable,
        str(ROOT / "test/gazebo/gazebo_run.py"),
        str(DOMAIN),
        str(log),
        str(LENGTH),
        str(PAYLOAD),
    ]
    environment = {**os.environ, "PYTHONPATH": paths, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert run.returncode == 0, (run.stderr[-2000:], log.read_text()[-4000:])
    assert not [line for line in log.read_text().splitlines() if "ERROR" in line or "Traceback" in line]
    result: dict[str, Any] = json.loads(run.stdout)
    return result


def test_the_arm_is_held_until_the_controller_comes_and_does_not_drop_then(seen: dict[str, Any]) -> None:
    assert seen["start"]["travel before [rad]"] < 1e-4
    assert seen["start"]["travel around activation [rad]"] < 1e-2


def test_a_step_is_a_millisecond(seen: dict[str, Any]) -> None:
    assert seen["clock"]["stamps off a millisecond"] == 0
    assert seen["clock"]["share of steps of 1 ms"] > 0.5  # a message may be lost


def test_the_error_converges_and_the_payload_is_found(seen: dict[str, Any]) -> None:
    assert seen["error [m]"]["mean"] < 1e-4
    assert seen["mass [kg]"] == pytest.approx(LINK + PAYLOAD, abs=0.005)


def test_time_stands_still_in_a_pause_and_the_motion_goes_on_after_it(seen: dict[str, Any]) -> None:
    assert seen["pause"]["time that passed [s]"] == 0.0
    assert seen["pause"]["error after it [m]"]["largest"] < 1e-3


def test_a_stop_holds(seen: dict[str, Any]) -> None:
    assert seen["end"]["travel in 2 s of a stop [rad]"] < 1e-3
