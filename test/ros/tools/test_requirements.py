"""What is refused and what is missing is said in one line, with its remedy; none of it needs the packages named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from thunder_controllers.ros.tools.launch_arguments import read_arguments
from thunder_controllers.ros.tools.requirements import LaunchArgumentError, NotInstalledError, check_requirements

BACKENDS = ["franka", "gazebo", "ros2_control"]
ARM = {"backend": "franka", "robot_ip": "10.0.0.1"}
XACRO = "xacro"


def check(**given: str) -> None:
    """Check the arguments of the adaptive Panda, those that are not given by their defaults."""
    check_requirements(
        {**{name: argument.default for name, argument in read_arguments("panda_adaptive").items()}, **given}
    )


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ament index that is empty."""
    folder = tmp_path / "share/ament_index/resource_index"
    (folder / "packages").mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    return folder


@pytest.mark.parametrize(
    ("given", "packages", "more"),
    [
        (
            {"backend": "ros2_control"},
            ["controller-manager", "joint-state-broadcaster", "robot-state-publisher", "xacro"],
            [],
        ),
        ({"backend": "ros2_control", "controller": "node"}, ["forward-command-controller"], []),
        ({"backend": "gazebo"}, ["ros-gz-sim", "ros-gz-bridge", "gz-ros2-control"], []),
        ({"backend": "gazebo", "use_gazebo_gui": "true"}, ["ros-gz-sim"], ["gz"]),
        (ARM, ["controller-manager"], ["franka_hardware", "franka_description", "github.com/frankarobotics"]),
        ({**ARM, "load": "1+0+0+0"}, [], ["franka_msgs"]),
        ({**ARM, "controller": "node"}, [], ["franka_msgs"]),
        ({"use_rviz": "true", "use_rqt": "true"}, ["rviz2", "rqt-common-plugins", "robot-state-publisher"], []),
        ({"record": "true"}, ["ros2bag"], []),
    ],
)
def test_all_that_is_missing_is_named_at_once_with_its_debian_packages(
    given: dict[str, str], packages: list[str], more: list[str], index: Path
) -> None:
    with pytest.raises(NotInstalledError) as error:
        check(**given)
    text = str(error.value)
    assert "\n" not in text
    for package in packages:
        assert re.search(rf"sudo apt install [^;]*\bros-jazzy-{package}\b", text)
    for word in more:
        assert word in text


def test_a_package_without_its_plugins_is_named_with_what_to_build(index: Path) -> None:
    for package in ("controller_manager", "joint_state_broadcaster", "robot_state_publisher", "thunder_controllers"):
        (index / "packages" / package).touch()
    program = index.parents[2] / XACRO
    program.touch()
    program.chmod(0o755)
    with pytest.raises(NotInstalledError, match="thunder_controllers with controller_interface") as error:
        check(backend="ros2_control")
    assert "thunder_controllers with hardware_interface" in str(error.value)
    assert "built again with ros-jazzy-controller-interface" in str(error.value)
    for kind in ("controller_interface", "hardware_interface"):
        (index / f"{kind}__pluginlib__plugin").mkdir()
        (index / f"{kind}__pluginlib__plugin" / "thunder_controllers").touch()
    check(backend="ros2_control")


def test_nothing_is_missing_for_the_simulation_node(index: Path) -> None:
    check()


def test_without_an_ament_index_everything_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    with pytest.raises(NotInstalledError, match="controller_manager"):
        check(backend="ros2_control")


def test_beside_a_running_franka_ros2_only_what_talks_to_it_is_needed(index: Path) -> None:
    with pytest.raises(NotInstalledError) as error:
        check(backend="franka")
    assert "franka_hardware" not in str(error.value)
    assert "robot_state_publisher" not in str(error.value)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lock_step_is_refused_where_nothing_waits(backend: str) -> None:
    with pytest.raises(LaunchArgumentError, match="lockstep.*backend:=mujoco"):
        check(backend=backend, mode="lockstep")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"payload": "heavy"}, r"payload:=heavy.*zero or more \[kg\]"),
        ({"payload": "-1"}, r"payload:=-1.*zero or more"),
        ({"payload": "nan"}, r"payload:=nan.*zero or more"),
        ({"gains": "/no/such.yaml"}, "no such file"),
        ({"estimates_file": "/no/such.yaml"}, "no such file"),
        ({"backend": "franka", "payload": "1"}, "payload is simulated only.*load:="),
        ({"backend": "franka", "load": "1+0+0+0"}, "load:=1.*valid: robot_ip"),
        ({**ARM, "load": "1+0+0"}, "load:=1.*4 numbers"),
        ({**ARM, "load": "-1+0+0+0"}, "load:=-1.*the first positive"),
        ({**ARM, "load": "heavy"}, "load:=heavy.*4 numbers"),
        ({**ARM, "load": "nan+0+0+0"}, "load:=nan"),
        ({**ARM, "arm_id": "panda"}, "does not drive a Panda.*valid: fr3"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_would_be_valid(given: dict[str, str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        check(**given)
