"""The launch files under the real launch, where it and this package are installed: they come up, converge, and end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ament_index_python import PackageNotFoundError, get_package_prefix, has_resource
from geometry_msgs.msg import PoseStamped
from nodes import STOP_TIMEOUT, Probe

from thunder_controllers.ros.common.qos import MONITOR

pytest.importorskip("launch.actions", reason="launch is not installed (not on PyPI); it comes with ROS 2")
pytest.importorskip("launch_ros.actions", reason="launch_ros is not installed (not on PyPI); it comes with ROS 2")


def is_installed() -> bool:
    """Whether launch finds the nodes of this package."""
    try:
        return (Path(get_package_prefix("thunder_controllers")) / "lib/thunder_controllers/simulation").is_file()
    except (PackageNotFoundError, OSError):  # OSError: no AMENT_PREFIX_PATH
        return False


pytestmark = pytest.mark.skipif(not is_installed(), reason="thunder_controllers is not installed by colcon")

ROOT = Path(__file__).parents[3]
LIMIT = 240.0
"""Wall time for the build and some seconds of motion on a loaded machine [s]."""

RUN = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
file, *words = sys.argv[1:]
source = PythonLaunchDescriptionSource(file)
service = LaunchService()
arguments = [tuple(word.split(":=", 1)) for word in words]
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(source, launch_arguments=arguments)]))
sys.exit(service.run())
"""


def start(name: str, *words: str, output: Path) -> subprocess.Popen[str]:
    """Run a launch file as `ros2 launch` does, without needing ros2cli."""
    command = [sys.executable, "-c", RUN, str(ROOT / f"launch/{name}.launch.py"), *words]
    with output.open("w") as file:
        return subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, text=True, start_new_session=True)


@pytest.fixture(autouse=True)
def _own_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "log"))
    return


@pytest.mark.parametrize(("backend", "word"), [("mujoco", "mode:=lockstep"), ("ros2_control", "payload:=0.0")])
def test_the_panda_comes_up_converges_and_ends_with_ctrl_c(
    backend: str, word: str, domain: int, probe: Probe, tmp_path: Path
) -> None:
    for package in ("controller_manager", "joint_state_broadcaster", "robot_state_publisher"):
        if backend != "mujoco" and not has_resource("packages", package):
            pytest.skip(f"{package} is not installed")
    output = tmp_path / "output"
    process = start("panda_adaptive", f"backend:={backend}", word, output=output)
    try:
        errors = probe.listen(PoseStamped, "/adaptive_controller/pose_error", MONITOR)

        def is_small(message: PoseStamped) -> bool:
            e = message.pose.position
            return (e.x**2 + e.y**2 + e.z**2) ** 0.5 < 1e-3  # from above 1e-2, within seconds

        errors.wait(lambda message: not is_small(message), timeout=LIMIT)
        errors.clear()
        errors.wait(is_small, count=50, timeout=LIMIT)
        assert "ERROR" not in output.read_text()  # a good start says of nothing that it has failed
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(STOP_TIMEOUT) == 0, output.read_text()
        assert backend != "mujoco" or "escalating" not in output.read_text()  # Ctrl-C was enough
        assert "Traceback" not in output.read_text()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
