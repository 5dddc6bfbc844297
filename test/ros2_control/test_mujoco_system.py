"""MujocoSystem without ROS: model files and C++ plant agree with the Python plant; the shell names what there is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from lxml import etree
from numpy.typing import NDArray
from plant_arms import ARM, ARM_JOINTS, PENDULUM, assembled

from thunder_controllers.commands.mjcf import mjcf
from thunder_controllers.simulation.model_file import write_model_file
from thunder_controllers.simulation.options import Friction, Noise, Payload, PlantOptions
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_dynamics.errors import DimensionError, ScenarioError, ThunderError
from thunder_dynamics.readers.xacro import expand_xacro

FloatArray = NDArray[np.float64]
ROOT = Path(__file__).resolve().parents[2]
PART = ROOT / "thunder_controllers/ros2_control/mujoco_hardware"
PANDA = ROOT / "urdf/panda.urdf.xacro"
PANDA_JOINTS = tuple(f"panda_joint{i}" for i in range(1, 8))
PANDA_START = [0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0]
PERIOD = 1e-3
STEPS = 500
BOX = Payload(link="panda_link7", mass=1.5, com=(0.0, 0.02, 0.1), inertia=(0.004, 0.0, 0.0, 0.003, 0.0, 0.005))

TOLERANCE = 1e-9
"""An .xml file is exact to the rounding of one compilation, 1e-16 relative; half a second of an arm that falls
multiplies that by far less than 1e4, and entries are of order ten."""


PLANT_TESTS = ("mujoco_plant_rules", "mujoco_plant_trajectory")
SYSTEM_TEST = "mujoco_system_cycle"


def _configure(folder: Path, libraries: dict[str, str], *packages: str) -> Path:
    """Configure test programs with the libraries they need, as users build the part; returns the build folder."""
    lines = ["cmake_minimum_required(VERSION 3.16)", "project(thunder_controllers LANGUAGES C CXX)"]
    lines += [*(f"find_package({package} REQUIRED)" for package in packages), f'add_subdirectory("{PART}" mujoco)']
    for name, needed in libraries.items():
        lines += [f'add_executable({name} "{ROOT}/test/cpp/{name}.cpp")']
        lines += [f"target_compile_options({name} PRIVATE -Wall -Wextra -Werror)"]
        lines += [f"target_link_libraries({name} PRIVATE thunder_mujoco_plant {needed})"]
    (folder / "CMakeLists.txt").write_text("\n".join(lines) + "\n")
    options = [f"-DPython3_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=Release"]
    subprocess.run(["cmake", "-S", str(folder), "-B", str(folder / "build"), *options], check=True)
    return folder / "build"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C++ programs of the plant; CMake finds MuJoCo in this interpreter's wheel."""
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    build = _configure(tmp_path_factory.mktemp("mujoco_plant"), dict.fromkeys(PLANT_TESTS, ""))
    subprocess.run(["cmake", "--build", str(build), "--target", *PLANT_TESTS], check=True)
    return build


def _panda(**options: Any) -> MujocoPlant:
    gravity_compensated = bool(options.pop("gravity_compensated", False))
    plant_options = PlantOptions(**options)
    urdf = expand_xacro(PANDA, {})
    plant = MujocoPlant(assembled(urdf), PANDA_JOINTS, PERIOD, plant_options, gravity_compensated=gravity_compensated)
    plant.reset(PANDA_START)
    return plant


def _efforts(n: int, scale: float) -> FloatArray:
    """Sines of different frequency for each joint, not in the least what an arm needs."""
    t = np.arange(STEPS)[:, None] * PERIOD
    return scale * np.sin(2.0 * np.pi * (1.0 + np.arange(n)) * t + np.arange(n))


def _python_trajectory(plant: MujocoPlant, efforts: FloatArray) -> FloatArray:
    rows = [np.concatenate((plant.q, plant.qd))]
    for effort in efforts:
        plant.step(effort)
        rows.append(np.concatenate((plant.q, plant.qd)))
    return np.array(rows)


def _cpp_trajectory(
    programs: Path, model: Path, joints: tuple[str, ...], efforts: FloatArray, compensated: bool = False
) -> FloatArray:
    command = [str(programs / "mujoco_plant_trajectory"), str(model), repr(PERIOD), str(int(compensated)), *joints]
    result = subprocess.run(command, input=efforts.tobytes(), capture_output=True, check=True)
    return np.frombuffer(result.stdout).reshape(len(efforts) + 1, 3 * len(joints))


@pytest.mark.parametrize("suffix", [".xml", ".mjb"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"payloads": (BOX,)},
        {"payloads": (BOX,), "gravity_compensated": True},
        {"payloads": (BOX.model_copy(update={"link": "panda_flange"}),), "gravity_compensated": True},
        {"integrator": "implicitfast", "substeps": 4},
        {"friction": Friction(viscous=0.7, coulomb=0.3)},
    ],
    ids=["plain", "payload", "compensated", "flange", "substeps", "friction"],
)
def test_the_cpp_plant_moves_as_the_python_plant(
    programs: Path, options: dict[str, Any], suffix: str, tmp_path: Path
) -> None:
    model, efforts = tmp_path / f"panda{suffix}", _efforts(7, 3.0)
    write_model_file(_panda(**options), model, PANDA_START)
    compensated = "gravity_compensated" in options
    found = _cpp_trajectory(programs, model, PANDA_JOINTS, efforts, compensated)
    plant = _panda(**options)
    # The brakes hold the arm by one recursion in double precision on efforts of order fifty.
    np.testing.assert_allclose(found[0, 14:], plant.holding_effort(), atol=1e-11)
    expected = _python_trajectory(plant, efforts)
    assert np.ptp(expected[:, :7], axis=0).min() > 1e-3  # all joints move
    if suffix == ".mjb" and not compensated:
        np.testing.assert_array_equal(found[:, :14], expected)
    np.testing.assert_allclose(found[:, :14], expected, atol=TOLERANCE)
    # What acts is the command, less the rounding of adding and taking off the robot's own share.
    np.testing.assert_allclose(found[1:, 14:], efforts, atol=1e-12)


def test_other_arms_keep_the_order_of_the_controllers_joints(programs: Path, tmp_path: Path) -> None:
    joints = (ARM_JOINTS[2], ARM_JOINTS[0], ARM_JOINTS[1])
    plant = MujocoPlant(assembled(ARM), joints, PERIOD)
    start = [0.1, 0.2, 0.3]
    write_model_file(plant, tmp_path / "arm.xml", start)
    found = _cpp_trajectory(programs, tmp_path / "arm.xml", joints, _efforts(3, 5.0))
    plant.reset(start)
    np.testing.assert_allclose(found[:, :6], _python_trajectory(plant, _efforts(3, 5.0)), atol=TOLERANCE)


@pytest.mark.parametrize("autoreset", ["disable", "enable"])
def test_the_plant_keeps_its_rules(programs: Path, autoreset: str, tmp_path: Path) -> None:
    """Also with a file that lets MuJoCo reset a lost state: it is noticed."""
    panda, pendulum = tmp_path / "panda.xml", tmp_path / "pendulum.xml"
    write_model_file(_panda(payloads=(BOX,)), panda, PANDA_START)
    write_model_file(MujocoPlant(assembled(PENDULUM), ("hinge",), PERIOD), pendulum, [0.0])
    text = pendulum.read_text()
    assert 'autoreset="disable"' in text
    pendulum.write_text(text.replace('autoreset="disable"', f'autoreset="{autoreset}"'))
    command = [str(programs / "mujoco_plant_rules"), str(panda), str(pendulum), *PANDA_JOINTS]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert result.returncode == 0, result.stderr
    assert not (tmp_path / "MUJOCO_LOG.TXT").exists()  # MuJoCo's warnings go to no file


def test_wrong_joint_names_are_reported_with_those_there_are(programs: Path, tmp_path: Path) -> None:
    write_model_file(_panda(), tmp_path / "panda.xml", PANDA_START)
    program, names = str(programs / "mujoco_plant_trajectory"), [f"fr3_joint{i}" for i in range(1, 8)]
    command = [program, str(tmp_path / "panda.xml"), repr(PERIOD), "0", *names]
    result = subprocess.run(command, input=b"", capture_output=True, check=False)
    assert result.returncode == 2
    assert "the model's joints are panda_joint1, " in result.stderr.decode()
    assert "fr3_joint7" in result.stderr.decode()


def test_an_xml_file_repeats_the_compiled_model_to_rounding(tmp_path: Path) -> None:
    plant = _panda(payloads=(BOX,), friction=Friction(viscous=0.1))
    write_model_file(plant, tmp_path / "panda.xml", PANDA_START)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "panda.xml"))
    for name in ("body_mass", "body_inertia", "body_ipos", "body_pos", "body_quat", "dof_damping", "jnt_actfrcrange"):
        np.testing.assert_allclose(getattr(model, name), getattr(plant.model, name), rtol=1e-15, atol=1e-15)
    assert model.opt.timestep == PERIOD
    np.testing.assert_array_equal(model.key("start").qpos, PANDA_START)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"noise": Noise(q_std=1e-5)}, "noise"),
        ({"velocity": "differences"}, "differenced velocity"),
        ({"torque_delay": 2e-3}, "torque_delay"),
        ({"torque_lag": 5e-3}, "torque_lag"),
        ({"drive_gain": 0.9}, "drive_gain"),
        ({"payloads": (BOX.model_copy(update={"time": 1.0}),)}, "payloads of later times"),
    ],
)
def test_what_no_file_can_hold_is_refused(options: dict[str, Any], part: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=f"holds no {part}"):
        write_model_file(_panda(**options), tmp_path / "panda.xml", PANDA_START)
    assert list(tmp_path.iterdir()) == []


def test_a_bad_start_or_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DimensionError, match="q_start"):
        write_model_file(_panda(), tmp_path / "panda.xml", [0.0])
    with pytest.raises(ScenarioError, match=r"\.urdf"):
        write_model_file(_panda(), tmp_path / "panda.urdf", PANDA_START)


PREFIXES = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
HAS_ROS2_CONTROL = any((prefix / "share/hardware_interface/cmake").is_dir() for prefix in PREFIXES)


@pytest.mark.skipif(not HAS_ROS2_CONTROL, reason="hardware_interface is not in AMENT_PREFIX_PATH")
def test_the_hardware_keeps_its_rules_in_the_hands_of_ros2_control(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in [found for prefix in PREFIXES for found in prefix.glob("lib/python3*/site-packages")]:
        monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)  # what ament_cmake runs
    model = tmp_path / "panda.xml"
    write_model_file(_panda(), model, PANDA_START)
    (tmp_path / "panda.urdf").write_text(expand_xacro(ROOT / "urdf/panda.ros2_control.xacro", {"model": str(model)}))
    library = "thunder_mujoco_system hardware_interface::hardware_interface rclcpp::rclcpp"
    build = _configure(tmp_path, {SYSTEM_TEST: library}, "hardware_interface", "rclcpp")
    subprocess.run(["cmake", "--build", str(build), "--target", SYSTEM_TEST], check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(build / "mujoco"), prepend=os.pathsep)  # not one that is installed
    command = [str(build / SYSTEM_TEST), str(tmp_path / "panda.urdf")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def _mjcf(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(mjcf, [str(PANDA), *arguments])
    if isinstance(result.exception, ThunderError):  # the program says it, with this exit status
        return 2, str(result.exception)
    return result.exit_code, result.output


def test_the_command_writes_what_the_function_writes(tmp_path: Path) -> None:
    q = " ".join(map(str, PANDA_START))
    payload = "--payload-mass 1.5 --payload-com 0 0.02 0.1 --payload-inertia 0.004 0 0 0.003 0 0.005".split()
    code, output = _mjcf(
        "--out", str(tmp_path / "a.xml"), "--q-start", q, *payload, "--payload-link", "panda_link7", "--viscous", "0.2"
    )
    assert code == 0, output
    plant = _panda(friction=Friction(viscous=0.2))
    plant.attach(BOX)
    write_model_file(plant, tmp_path / "b.xml", PANDA_START)
    assert (tmp_path / "a.xml").read_text() == (tmp_path / "b.xml").read_text()


def test_the_command_starts_inside_the_limits_and_takes_a_time_step(tmp_path: Path) -> None:
    code, output = _mjcf("--out", str(tmp_path / "p.mjb"), "--timestep", "0.0005", "--integrator", "euler")
    assert code == 0, output
    model = mujoco.MjModel.from_binary_path(str(tmp_path / "p.mjb"))
    assert model.opt.timestep == 0.0005
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_EULER
    q = model.key("start").qpos
    assert ((model.jnt_range[:, 0] <= q) & (q <= model.jnt_range[:, 1])).all()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--q-start", "0 1"], "q_start has shape (2,)"),
        (["--q-start", "zero"], "'zero'"),
        (["--payload-mass", "-1"], "mass"),
        (["--payload-mass", "1", "--payload-link", "hand"], "no link 'hand'"),
        (["--timestep", "0"], "timestep"),
        (["--viscous", "-1"], "friction.viscous"),
        (["--xacro-arg", "prefix"], "NAME=VALUE"),
    ],
)
def test_the_command_says_what_is_wrong_in_one_line(arguments: list[str], part: str, tmp_path: Path) -> None:
    code, output = _mjcf("--out", str(tmp_path / "panda.xml"), *arguments)
    assert code == 2
    assert part in output
    assert len(output.splitlines()) == 1
    assert not (tmp_path / "panda.xml").exists()


def _xml(text: str) -> Any:
    return etree.fromstring(text.encode())


def _ros2_control(arguments: dict[str, str]) -> Any:
    root = _xml(expand_xacro(ROOT / "urdf/panda.ros2_control.xacro", arguments))
    (block,) = root.findall("ros2_control")
    assert len(root.findall("joint")) == 9  # the arm of panda.urdf.xacro is there, once
    return block


def _text(value: str | None) -> str:
    return (value or "").strip()


def test_the_xacro_names_the_plugin_its_parameters_and_all_interfaces() -> None:
    block = _ros2_control({"model": "/some/panda.xml", "q_start": "0 1 2 3 4 5 6", "gravity_compensation": "true"})
    plugin = _xml((PART / "plugin.xml").read_text()).find("class").get("name")
    assert _text(block.findtext("hardware/plugin")) == plugin
    parameters = {p.get("name"): _text(p.text) for p in block.findall("hardware/param")}
    assert parameters == {
        "model": "/some/panda.xml",
        "q_start": "0 1 2 3 4 5 6",
        "gravity_compensation": "true",
        "brakes": "true",
    }
    assert parameters.keys() == set(re.findall(r'name == "(\w+)"', (PART / "description.cpp").read_text()))
    assert [joint.get("name") for joint in block.findall("joint")] == list(PANDA_JOINTS)
    for joint in block.findall("joint"):
        assert [i.get("name") for i in joint.findall("command_interface")] == ["effort"]
        assert [i.get("name") for i in joint.findall("state_interface")] == ["position", "velocity", "effort"]


def test_an_argument_that_is_not_given_leaves_the_start_to_the_model_file() -> None:
    parameters = {p.get("name") for p in _ros2_control({}).findall("hardware/param")}
    assert "q_start" not in parameters  # the parser of ros2_control complains of a parameter without text


def test_the_macro_gives_initial_values_to_hardware_that_reads_them(tmp_path: Path) -> None:
    text = (
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        f'<xacro:include filename="{ROOT}/urdf/panda_ros2_control_macro.xacro"/>'
        '<xacro:panda_ros2_control name="p" prefix="a_" q_start="0 -0.4 0 -2.2 0 1.8 0">'
        "<hardware><plugin>other/Plugin</plugin></hardware></xacro:panda_ros2_control></robot>"
    )
    (tmp_path / "robot.xacro").write_text(text)
    block = _xml(expand_xacro(tmp_path / "robot.xacro", xacro_folders=[ROOT / "urdf"])).find("ros2_control")
    initial = [float(p.text) for p in block.findall("joint/state_interface[@name='position']/param")]
    assert initial == PANDA_START
    assert _text(block.findtext("hardware/plugin")) == "other/Plugin"


def test_the_gains_are_those_of_the_node() -> None:
    files = (ROOT / "config/ros2_control/panda_mujoco.yaml", ROOT / "config/ros/panda.yaml")
    plugin, node = (yaml.safe_load(file.read_text())["/**/adaptive_controller"]["ros__parameters"] for file in files)
    assert (plugin["gains"], plugin["robot"]) == (node["gains"], node["robot"])
