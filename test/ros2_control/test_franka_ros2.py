"""The plugin on franka_ros2's hardware, by the launch file, and a virtual Franka. Skipped where ROS 2 is not sourced.

. <workspace>/install/setup.sh && pytest test/ros2_control/test_franka_ros2.py
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PREFIXES = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
PACKAGES = ("thunder_controllers", "franka_hardware", "franka_description", "franka_robot_state_broadcaster")
PACKAGES += ("controller_manager", "joint_state_broadcaster", "robot_state_publisher")
MARKER = "share/ament_index/resource_index/packages"
DOMAIN, LENGTH = 92, 10.0
"""The run's; seconds of the arm's time."""

PAYLOAD = 0.5
"""What hangs on the flange, and nobody is told of [kg]."""

LIMIT = 1200.0
"""Wall time for compiling the library and for the motion on a loaded machine [s]."""


def why_not() -> str | None:
    """The reason why this machine cannot do it, if it cannot."""
    missing = [] if shutil.which("ros2") else ["ros2"]
    missing += [] if find_spec("pylibfranka") else ["pylibfranka"]
    missing += [name for name in PACKAGES if not any((p / MARKER / name).is_file() for p in PREFIXES)]
    return f"not installed, or not sourced: {', '.join(missing)}" if missing else None


REASON = why_not()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("franka"),
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one run showed: backend_run.py."""
    log = tmp_path_factory.mktemp("franka") / "log"
    command = [sys.executable, str(ROOT / "test/ros2_control/backend_run.py"), str(DOMAIN), str(log)]
    command += [str(LENGTH), str(PAYLOAD), "franka"]
    paths = os.pathsep.join((str(ROOT / "test"), str(ROOT / "test/ros"), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "PYTHONPATH": paths, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert run.returncode == 0, (run.stderr[-2000:], log.read_text()[-4000:])
    result: dict[str, Any] = json.loads(run.stdout)
    return result


def test_the_error_converges_and_the_payload_is_found(seen: dict[str, Any]) -> None:
    assert seen["error [m]"]["mean"] < 1e-4
    assert seen["payload [kg]"] == pytest.approx(PAYLOAD, abs=0.005)
    assert seen["reflexes"] == 0


def test_a_reflex_stops_all_controllers_until_they_are_activated_again(seen: dict[str, Any]) -> None:
    assert set(seen["after the reflex"].values()) == {"inactive"}
    assert seen["activation in reflex"] == "refused"
    assert set(seen["states"].values()) == {"active"}


def test_it_goes_on_with_what_it_knew(seen: dict[str, Any]) -> None:
    assert seen["again"]["error [m]"]["mean"] < 1e-4
    assert seen["again"]["payload [kg]"] == pytest.approx(PAYLOAD, abs=0.005)
