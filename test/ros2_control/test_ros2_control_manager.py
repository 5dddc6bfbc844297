"""The ros2_control plugin, built against the real ros2_control and run. Skipped where that is not sourced.

. <workspace>/install/setup.sh && pytest test/ros2_control/test_ros2_control_manager.py
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xacro
import yaml
from evaluation import load_robot
from observer_law import build_planar

import thunder_dynamics
from thunder_controllers.host import Library

ROOT = Path(__file__).resolve().parents[2]
PREFIXES = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
FAULTS = {
    "runaway": "the arm ran away: joints beyond their velocity limits for too long, or without rest",
    "position_exceeded": "a joint has left its range",
    "measurement_lost": "measurements were missing for too long, or cannot be true",
}
HOME = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.7])
POSITIONS = "q:=" + ",".join(map(str, HOME))


def why_not() -> str | None:
    """The reason why this machine cannot do it, if it cannot."""
    missing = [name for name in ("cmake", "c++") if shutil.which(name) is None]
    packages = ("controller_interface", "generate_parameter_library", "pluginlib", "ament_cmake")
    missing += [name for name in packages if not any((p / "share" / name).is_dir() for p in PREFIXES)]
    return f"not installed, or not sourced: {', '.join(missing)}" if missing else None


def version(package: str) -> tuple[int, ...]:
    """Of a package of the sourced ROS 2; above all others where there is none."""
    file = next((f for p in PREFIXES if (f := p / "share" / package / "package.xml").is_file()), None)
    return tuple(map(int, str(ElementTree.parse(file).findtext("version")).split("."))) if file else (sys.maxsize,)


REASON = why_not()
FASTRTPS = version("rosidl_typesupport_fastrtps_cpp")
pytestmark = [
    pytest.mark.xdist_group("packaging"),
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
]


@pytest.fixture(scope="module")
def pushing(build_cache: Path) -> Path:
    """A library with a law that a wrench is asked for and measured by."""
    return build_planar("pushing")


@pytest.fixture(scope="module")
def seeing(build_cache: Path) -> Path:
    """A library with a law that measures where its end effector is."""
    return build_planar("seeing")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the plugin is installed, its test program in bin/; without robots and without the Python binding."""
    folder = tmp_path_factory.mktemp("plugin")
    options = ["-DTHUNDER_ROBOTS=", "-DTHUNDER_ROS2_CONTROL_TESTS=ON", f"-DCMAKE_INSTALL_PREFIX={folder / 'install'}"]
    options += [f"-DPython3_EXECUTABLE={python()}", f"-Dpybind11_DIR={pybind11_folder()}"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{mujoco_alone(folder)}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        call(["cmake", "-S", str(ROOT), "-B", str(folder / "build"), *options])
    targets = ["thunder_adaptive_controller", "plugin_cycle", "thunder_mujoco_system"]
    call(["cmake", "--build", str(folder / "build"), "--parallel", "2", "--target", *targets])
    install(folder / "build", folder / "install")
    return folder / "install"


def python() -> str:
    """The interpreter that ament's own scripts run in: the one that ROS 2 was built with, first in PATH."""
    return shutil.which("python3") or sys.executable


def mujoco_alone(folder: Path) -> Path:
    """A search path with the wheel of MuJoCo, for the hardware that closes the loop, and nothing else of this one."""
    found = find_spec("mujoco")
    assert found is not None and found.submodule_search_locations is not None
    (folder / "wheels").mkdir()
    (folder / "wheels" / "mujoco").symlink_to(found.submodule_search_locations[0])
    return folder / "wheels"


def pybind11_folder() -> str:
    command = [sys.executable, "-m", "pybind11", "--cmakedir"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def call(command: list[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    assert result.returncode == 0, (result.stdout + result.stderr)[-6000:]


def install(build: Path, target: Path) -> None:
    """Install what the plugins alone need; the whole package is test_colcon's business."""
    package = "thunder_controllers/ros2_control"
    descriptions = {f"{package}/plugin": "plugin", "mujoco_hardware": "mujoco_hardware"}  # below share: from
    share = target / "share" / "thunder_controllers"
    shutil.copytree(build / "ament_cmake_index" / "share" / "ament_index", target / "share" / "ament_index")
    for place, source in descriptions.items():
        (share / place).mkdir(parents=True)
        shutil.copy(ROOT / package / source / "plugin.xml", share / place)
    shutil.copy(ROOT / "package.xml", share / "package.xml")
    mujoco = f"{package}/mujoco_hardware/libthunder_mujoco_system.so"
    for folder, names in (("lib", ("libthunder_adaptive_controller.so", mujoco)), ("bin", ("plugin_cycle",))):
        (target / folder).mkdir()
        for name in names:
            shutil.copy(build / name, target / folder)


def environment(prefix: Path) -> Mapping[str, str]:
    values = dict(os.environ)
    values["AMENT_PREFIX_PATH"] = f"{prefix}{os.pathsep}{values['AMENT_PREFIX_PATH']}"
    # The wheels of rclpy put their own libraries in front, which are another ROS 2 than the sourced one, or its base.
    folders = values.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    are_its_own = Path(sys.prefix) in PREFIXES
    sourced = [folder for folder in folders if are_its_own or not Path(folder).is_relative_to(sys.prefix)]
    values["LD_LIBRARY_PATH"] = os.pathsep.join((str(prefix / "lib"), *sourced))
    return values | {"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF", "ROS_LOG_DIR": str(prefix / "log")}


def run(prefix: Path, action: str, *parameters: str) -> subprocess.CompletedProcess[str]:
    command = [str(prefix / "bin" / "plugin_cycle"), action, *parameters]
    return subprocess.run(command, env=environment(prefix), capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.parametrize("compensated", [False, True])
def test_it_lives_through_its_states_and_leaves_the_safe_effort(
    prefix: Path, panda_folder: Path, compensated: bool
) -> None:
    """Updates allocate nothing; gravity is left, to the last bit, or nothing to a robot that compensates it."""
    options = ["gravity_compensated_by_robot:=true", "zero_start:=true"] if compensated else []
    result = run(prefix, "cycle", f"library:={panda_folder}", *options, POSITIONS)
    assert result.returncode == 0, result.stderr
    gravity = np.ravel(Library(panda_folder / "libpanda.so").evaluate("G", HOME))
    left = np.array(result.stdout.split(), dtype=float)
    np.testing.assert_array_equal(left, np.zeros(7) if compensated else gravity)


@pytest.mark.parametrize("prefix_of_names", ["panda_", "left_panda_"])
def test_joints_may_be_configured_in_any_order(prefix: Path, panda_folder: Path, prefix_of_names: str) -> None:
    """Interfaces are in the order of the library, and so are the states that the test puts there."""
    gravity = np.ravel(Library(panda_folder / "libpanda.so").evaluate("G", HOME))
    for seed in range(3):
        names = [f"{prefix_of_names}joint{k}" for k in 1 + np.random.default_rng(seed).permutation(7)]
        result = run(prefix, "cycle", f"library:={panda_folder}", f"joints:=[{', '.join(names)}]", POSITIONS)
        assert result.returncode == 0, result.stderr
        np.testing.assert_array_equal(np.array(result.stdout.split(), dtype=float), gravity)


@pytest.mark.parametrize("action", ["end", "bounds"])
def test_it_can_be_ended_while_it_updates_and_bounds_of_motions_must_be_finite(
    prefix: Path, panda_folder: Path, action: str
) -> None:
    result = run(prefix, action, f"library:={panda_folder}", POSITIONS)
    assert result.returncode == 0, (result.returncode, result.stderr)


@pytest.mark.parametrize(
    ("parameter", "reason"),
    [
        ("robot:=atlas", "the library is of robot 'panda'; valid: 'atlas', parameter robot"),
        ("law:=none", "there is no law 'none'; valid: cartesian_backstepping"),
        ("joints:=[a, b]", "parameter joints: missing panda_joint1, panda_joint2, panda_joint3, "),
        ("gains.gamma:=much", "parameter gains.gamma: is of type string; valid: a number"),
        ("gains.gamma:=true", "parameter gains.gamma: is of type bool; valid: a number"),
        ("gains.gamma:=-1", "valid: from 1e-06 to 1e+09"),
        ("publish_rate:=true", "publish_rate"),
        ("gains.gamma:=-1.0", "valid: from 1e-06 to 1e+09"),
        ("gains.K_d:=[1.0]", "gains.K_d: got 1 values; valid: 7"),
        ("gains.K_d:=[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 501.0]", "element 6 is 501"),
        ("publish_rate:=0.0", "publish_rate"),
        ("publish_rate:=.nan", "publish_rate: nan; valid: a number"),
        ("measurement_timeout:=0.0005", "measurement_timeout: is 0.0005; valid: above nominal_dt"),
        ("effort_limit:=[1.0]", "effort_limit: has 1 values; valid: 7, one per joint"),
        ("effort_rate_limit:=[-1.0]", "effort_rate_limit: is -1; valid: above 0"),
        ("path.linear_limits:=[1.0]", "Length of parameter 'path.linear_limits' is '1'"),
        ("path.joint_acceleration:=.inf", "path.joint_acceleration"),
        ("max_activation_error:=0.0", "max_activation_error: 0; valid: above 0"),
        ("estimates_file:=/none.yaml", "/none.yaml: cannot be read"),
        ("base_frame:=''", "Parameter 'base_frame' cannot be empty"),
    ],
)
def test_a_wrong_parameter_is_refused_with_one_reason(
    prefix: Path, panda_folder: Path, parameter: str, reason: str
) -> None:
    result = run(prefix, "configure", f"library:={panda_folder}", parameter)
    assert result.returncode == 1, result.stderr
    lines = [line for line in result.stderr.splitlines() if " refused: " in line]
    assert len(lines) == 1 and reason in lines[0], result.stderr


def test_whole_numbers_stand_for_real_ones(prefix: Path, panda_folder: Path) -> None:
    """Of gains, of the host's options and of what parameters.yaml declares; an integer of the base class stays one."""
    given = [
        "gains.gamma:=1",
        f"gains.K_d:={[2] * 7}",
        "gap_limit:=1",
        f"effort_limit:={[10] * 7}",
        "publish_rate:=100",
    ]
    result = run(
        prefix, "configure", f"library:={panda_folder}", *given, "path.linear_limits:=[1, 2, 3]", "thread_priority:=20"
    )
    assert result.returncode == 0, result.stderr


def test_a_law_that_no_topic_can_feed_is_refused(prefix: Path, build_cache: Path) -> None:
    result = run(prefix, "configure", f"library:={build_planar('observer')}", "law:=observer")
    assert result.returncode == 1, result.stderr
    assert (
        "topics: the law observer needs the measurement 'external_effort'; valid: ee_position, wrench" in result.stderr
    )


def test_feedback_that_leaves_no_margin_is_warned_of(prefix: Path, panda_folder: Path) -> None:
    warning = "the velocity feedback leaves no margin at 1000 Hz"
    result = run(prefix, "configure", f"library:={panda_folder}")
    assert result.returncode == 0 and warning not in result.stderr, result.stderr
    result = run(prefix, "configure", f"library:={panda_folder}", f"gains.K_d:={[5.0] * 7}")
    assert result.returncode == 0 and warning in result.stderr, result.stderr


@pytest.mark.parametrize(
    ("library", "reason"),
    [
        ("", "neither library nor robot is given"),
        ("/none.so", "there is no such file"),
        ("package://none/lib.so", "package 'none' not found"),
        ("package://none", "incomplete or climbing URI"),
        ("package://thunder_controllers/../lib.so", "incomplete or climbing URI"),
        ("package://thunder_controllers//tmp/lib.so", "incomplete or climbing URI"),
    ],
)
def test_a_library_that_is_not_there_is_refused(prefix: Path, library: str, reason: str) -> None:
    result = run(prefix, "configure", f"library:='{library}'")
    assert result.returncode == 1 and reason in result.stderr, result.stderr


def test_an_installed_robot_is_run_by_its_name_if_it_is_as_it_was_built(prefix: Path, panda_folder: Path) -> None:
    folder = prefix / "share/thunder_controllers/robots/panda_generatedFiles"
    assert f"there is no {folder}" in run(prefix, "configure", "robot:=panda").stderr
    shutil.copytree(panda_folder, folder)
    try:
        result = run(prefix, "configure", "robot:=panda")
        assert result.returncode == 0, result.stderr
        with (folder / "libpanda.so").open("r+b") as file:
            file.truncate(1000)
        result = run(prefix, "configure", "robot:=panda")
        assert result.returncode == 1 and "is not the file that was generated" in result.stderr, result.stderr
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize(("position", "reason"), [("nan", "element 0 is nan"), ("9.0", "joint panda_joint1 is at 9")])
def test_activation_is_refused_at_an_impossible_place(
    prefix: Path, panda_folder: Path, position: str, reason: str
) -> None:
    result = run(prefix, "cycle", f"library:={panda_folder}", POSITIONS.replace("q:=0.1", f"q:={position}"))
    assert result.returncode == 1 and "activate refused" in result.stderr and reason in result.stderr, result.stderr


def test_activation_is_refused_where_the_effort_would_start_from_two_places(prefix: Path, panda_folder: Path) -> None:
    result = run(prefix, "cycle", f"library:={panda_folder}", POSITIONS, "zero_start:=true", "safe_start:=true")
    assert result.returncode == 1 and "parameter safe_start: is true beside zero_start" in result.stderr, result.stderr


@pytest.mark.parametrize(
    ("disturbance", "parameters", "fault"),
    [
        ("7,3.0", [], "runaway"),  # a velocity above its limit
        ("7,3.0", ["velocity_limit_patience:=2.0"], None),
        ("7,8.0", ["velocity_limit_patience:=.inf"], "runaway"),  # above three times that
        ("7,8.0", ["velocity_limit_patience:=.inf", "velocity_stop_ratio:=10.0"], None),
        ("0,3.2", [], "position_exceeded"),
        ("0,nan", [], "measurement_lost"),
        ("0,nan", ["gap_limit:=2.0"], None),
    ],
)
def test_a_fault_ends_its_updates_and_is_told_in_the_diagnostics(
    prefix: Path, panda_folder: Path, disturbance: str, parameters: list[str], fault: str | None
) -> None:
    """A state is wrong for a second; `fault` is the guard that finds it."""
    result = run(prefix, "disturb", f"library:={panda_folder}", POSITIONS, f"state:={disturbance}", *parameters)
    assert result.returncode == 0, result.stderr
    message, *values = result.stdout.splitlines() or [""]
    assert message == (f"deactivated: {FAULTS[fault]}" if fault else "")
    counts = dict(line.removeprefix("guard ").split(": ") for line in values if line.startswith("guard "))
    assert [name for name in FAULTS if int(counts.get(name, 0))] == ([fault] if fault else [])


@pytest.mark.skipif(
    FASTRTPS < (3, 6, 2), reason="rosidl_typesupport_fastrtps before 3.6.2 takes gigabytes for bad bytes"
)
def test_it_survives_whatever_comes(prefix: Path, panda_folder: Path) -> None:
    """Its topics and services, attacked over DDS as those of the node are."""
    run_beside_plugin(prefix, "attack_run.py", panda_folder / "libpanda.so", POSITIONS)


def test_the_law_gets_the_wrenches_of_the_topics(prefix: Path, pushing: Path) -> None:
    run_beside_plugin(prefix, "wrench_run.py", pushing, "law:=pushing", "q:=0.3,-0.5,0.4")


def test_the_law_gets_the_poses_of_the_topic(prefix: Path, seeing: Path) -> None:
    run_beside_plugin(prefix, "pose_run.py", seeing, "law:=seeing", "q:=0.3,-0.5,0.4")


def run_beside_plugin(prefix: Path, script: str, library: Path, *parameters: str) -> None:
    command = [str(prefix / "bin" / "plugin_cycle"), "listen", f"library:={library}", *parameters]
    run_beside(prefix, command, script, library)


def run_beside(prefix: Path, command: list[str], script: str, *arguments: Path) -> str:
    """What a script of this folder prints beside a process that it talks to over DDS; both must end well."""
    domain = "84"
    local = {**environment(prefix), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_DOMAIN_ID": domain}
    path = os.pathsep.join((os.environ.get("PYTHONPATH", ""), str(ROOT), str(ROOT / "test/ros")))
    beside = [sys.executable, str(ROOT / "test/ros2_control" / script), domain, *map(str, arguments)]
    with (prefix / "beside.log").open("w") as log:
        process = subprocess.Popen(command, env=local, stdout=log, stderr=subprocess.STDOUT, cwd=prefix)
        try:
            environ = {**local, "PYTHONPATH": path}
            result = subprocess.run(beside, env=environ, capture_output=True, text=True, check=False, timeout=300)
        finally:
            process.send_signal(signal.SIGINT)
            status = process.wait(30)
    seen = (prefix / "beside.log").read_text()[-4000:]
    assert result.returncode == 0, result.stderr[-4000:] + seen
    assert status == 0, seen
    return result.stdout


# --- in the controller manager ---------------------------------------------------------------------------------------

NODE = next((file for p in PREFIXES if (file := p / "lib/controller_manager/ros2_control_node").is_file()), None)
PAYLOAD = 1.0
MODELLED = 0.735522
"""Mass of the Panda's last link in its description [kg]."""


def run_in_manager(prefix: Path, folder: Path, library: Path, script: str, *payload: str) -> dict[str, Any]:
    """What a script saw of the plugin in a controller manager with a Panda on MuJoCo, which carries `payload`."""
    model, description = folder / "panda.xml", folder / "panda.urdf"
    words = [*payload, "--q-start", "0 -0.4 0 -2 0 1.6 0.8"]
    thunder = [sys.executable, "-m", "thunder_dynamics.cli"]
    call([*thunder, "mjcf", str(ROOT / "urdf/panda.urdf.xacro"), "--out", str(model), *words])
    document = xacro.process_file(str(ROOT / "urdf/panda.ros2_control.xacro"), mappings={"model": str(model)})
    description.write_text(document.toxml())
    parameters = folder / "library.yaml"
    other = {"joints": [f"panda_joint{k}" for k in range(1, 8)], "interface_name": "effort"}
    sections = {
        "adaptive_controller": {"library": str(library)},
        "controller_manager": {"effort_controller": {"type": "forward_command_controller/ForwardCommandController"}},
        "effort_controller": other,
    }
    parameters.write_text(yaml.safe_dump({f"/**/{name}": {"ros__parameters": s} for name, s in sections.items()}))
    files = [str(ROOT / "config/ros2_control/panda_mujoco.yaml"), str(parameters)]
    command = [str(NODE), "--ros-args", *(word for file in files for word in ("--params-file", file))]
    seen: dict[str, Any] = json.loads(run_beside(prefix, command, script, description, library / "libpanda.so"))
    return seen


@pytest.fixture(scope="module")
def session(prefix: Path, panda_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What manager_run.py saw of the plugin on a simulated arm with a payload that it does not know."""
    payload = ("--payload-mass", str(PAYLOAD), "--payload-com", "0", "0", "0.1")
    return run_in_manager(prefix, tmp_path_factory.mktemp("manager"), panda_folder, "manager_run.py", *payload)


@pytest.fixture(scope="module")
def tip(prefix: Path, build_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What tip_run.py saw of a law that adapts the length of its tool to measured poses."""
    library = thunder_dynamics.build(load_robot("panda"), laws=[("cartesian_backstepping", {"kinematics": "tool"})])
    return run_in_manager(prefix, tmp_path_factory.mktemp("tip"), library, "tip_run.py")


needs_manager = pytest.mark.skipif(NODE is None, reason="controller_manager is not installed, or not sourced")


@needs_manager
def test_the_manager_switches_it_on_over_and_off(session: dict[str, Any]) -> None:
    other, plugin = "effort_controller", "adaptive_controller"
    assert session["other"] == {other: "active", plugin: "inactive"}
    assert session["back"] == {other: "inactive", plugin: "active"}
    assert session["off"] == {other: "inactive", plugin: "inactive"}
    assert session["unloaded"] == {other: "inactive"}


@needs_manager
def test_it_tracks_and_learns_the_payload(session: dict[str, Any]) -> None:
    # At rest the error falls to the model's accuracy; 0.1 mm is a hundred times what a quiet machine shows.
    assert session["error"] < 1e-4
    # The mass appears in gravity, which the law must balance to stand still: a percent of it is the error's fraction.
    assert session["mass"] == pytest.approx(MODELLED + PAYLOAD, rel=0.01)


@needs_manager
def test_after_another_controller_it_goes_on_with_what_it_has_learned(session: dict[str, Any]) -> None:
    # manager_run.py waits for 0.1 mm again. Until the handover is over the arm gives way to the payload, by 3 to 7 mm.
    assert 1e-3 < session["sag after the return"] < 2e-2
    assert session["mass after the return"] == pytest.approx(MODELLED + PAYLOAD, rel=0.01)


@needs_manager
def test_its_diagnostics_tell_of_the_loop(session: dict[str, Any]) -> None:
    health = session["health"]
    assert health["state"] == "active" and int(health["steps"]) > 1000
    assert float(health["step time mean [us]"]) > 0.0
    blocking = ("measurement_non_finite", "result_non_finite", "stopping", "runaway", "not_active")
    assert [health[f"guard {name}"] for name in blocking] == ["0"] * len(blocking)


@needs_manager
def test_a_law_that_adapts_its_tool_brings_the_measured_tip_to_the_target(tip: dict[str, Any]) -> None:
    # Unseen, the tip is as far off as the tool is longer; the arm's own error at rest is the 0.1 mm from above.
    assert tip["unseen"]["error"] == pytest.approx(tip["offset"], abs=1e-4) and tip["unseen"]["unused"] > 0
    # The script waits for half a millimetre, and then for a second in which every step used a pose.
    assert tip["seen"]["error"] < 5e-4
    # What is refused is not seen: the law goes on with the length found in 2 s at least, which leave a seventh of it.
    assert tip["refused"]["error"] < 0.2 * tip["offset"]
