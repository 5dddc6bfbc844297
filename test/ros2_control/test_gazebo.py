"""The Panda in Gazebo is the Panda of the library: same inertias, effort commands, and a physics step per control step.

Gazebo itself does not run here; docs/results/verification.md says what was checked with its own libraries.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import yaml
from lxml import etree

import thunder_dynamics as td
from thunder_dynamics.model import GRAVITY, RobotModel
from thunder_dynamics.readers.xacro import expand_xacro

ROOT = Path(__file__).resolve().parents[2]
XACRO = ROOT / "urdf/panda.gazebo.urdf.xacro"
WORLD = ROOT / "config/gazebo/panda.sdf"
CONTROL = yaml.safe_load((ROOT / "config/ros2_control/panda_gazebo.yaml").read_text())
PANDA = ROOT / "urdf/panda.urdf.xacro"


def expand(**arguments: str) -> etree._Element:
    return etree.fromstring(expand_xacro(XACRO, arguments).encode())


def load(file: Path, **arguments: str) -> RobotModel:
    return td.load_model(file, xacro_args=arguments)


def world() -> etree._Element:
    return etree.parse(WORLD).getroot()


def movable(robot: etree._Element) -> list[str]:
    return [joint.get("name", "") for joint in robot.iterfind("joint") if joint.get("type") != "fixed"]


def test_the_robot_is_the_one_of_the_library() -> None:
    simulated, model = load(XACRO), load(PANDA)
    assert simulated.name == model.name
    np.testing.assert_equal([asdict(link) for link in simulated.links], [asdict(link) for link in model.links])


def test_a_payload_adds_to_the_last_link_only() -> None:
    loaded, model = load(XACRO, payload_mass="1.5"), load(PANDA)
    differences = [a.inertia.mass - b.inertia.mass for a, b in zip(loaded.links, model.links, strict=True)]
    assert differences == pytest.approx([0.0] * 6 + [1.5], abs=1e-12)
    last, bare = loaded.links[-1].inertia, model.links[-1].inertia
    flange = np.array([0.0, 0.0, 0.107])
    com = (bare.mass * bare.com + 1.5 * flange) / (bare.mass + 1.5)
    assert last.com == pytest.approx(com, abs=1e-12)  # a few roundings of numbers around 0.1


def test_every_link_that_something_hangs_on_has_a_mass() -> None:
    # Gazebo leaves out a link without inertia that is fixed to the world, and all that follows it
    for robot in (expand(), expand(payload_mass="1")):
        parents = {joint.find("parent").get("link") for joint in robot.iterfind("joint")}
        massless = {link.get("name") for link in robot.iterfind("link") if link.find("inertial") is None}
        tips = {"world", "panda_flange"}  # the flange is fixed to a moving link: Gazebo lumps it
        assert massless & parents <= tips


def test_inertias_are_ones_that_gazebo_takes() -> None:
    for link in expand(payload_mass="0.5").iterfind("link"):
        tensor = link.find("inertial/inertia")
        if tensor is None:
            continue
        xx, xy, xz, yy, yz, zz = (float(tensor.get(f"i{k}")) for k in ("xx", "xy", "xz", "yy", "yz", "zz"))
        moments = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        assert moments[0] > 0.0, link.get("name")
        assert moments[0] + moments[1] >= moments[2], f"{link.get('name')}: triangle inequality"


def test_every_joint_is_commanded_by_effort_alone() -> None:
    robot = expand(q_start="1 2 3 4 5 6 7")
    (system,) = robot.iterfind("ros2_control")
    assert system.get("type") == "system"
    assert system.findtext("hardware/plugin") == "gz_ros2_control/GazeboSimSystem", "it compensates no gravity"
    joints = list(system.iterfind("joint"))
    assert [joint.get("name") for joint in joints] == movable(robot)
    for k, joint in enumerate(joints):
        assert [c.get("name") for c in joint.iterfind("command_interface")] == ["effort"]
        states = [s.get("name") for s in joint.iterfind("state_interface")]
        assert {"position", "velocity"} <= set(states)
        initial = joint.findtext("state_interface[@name='position']/param[@name='initial_value']")
        assert float(initial or "nan") == k + 1.0


def test_the_arm_starts_within_its_limits_and_nothing_damps_it() -> None:
    robot = expand()
    starts = {
        joint.get("name"): float(joint.findtext("state_interface[@name='position']/param") or "nan")
        for joint in robot.iterfind("ros2_control/joint")
    }
    for joint in robot.iterfind("joint[@type='revolute']"):
        limit = joint.find("limit")
        assert float(limit.get("lower")) < starts[joint.get("name")] < float(limit.get("upper"))
        assert joint.find("dynamics") is None, "the library has no friction either"


def test_the_plugin_gets_its_parameters_and_its_namespace() -> None:
    robot = expand(controllers="/some/file.yaml", namespace="left")
    (plugin,) = robot.iterfind("gazebo/plugin")
    assert plugin.get("name") == "gz_ros2_control::GazeboSimROS2ControlPlugin"
    assert plugin.get("filename") == "gz_ros2_control-system"
    assert plugin.findtext("parameters") == "/some/file.yaml"
    assert plugin.findtext("ros/namespace") == "left"
    assert plugin.findtext("hold_joints") == "true"


def test_gravity_acts_as_in_the_model_and_the_controller_knows_that_nobody_compensates_it() -> None:
    (gravity,) = world().iterfind("world/gravity")
    assert tuple(map(float, (gravity.text or "").split())) == GRAVITY
    assert all(element.text != "true" for element in expand().iter("turnGravityOff"))
    assert CONTROL["/**/adaptive_controller"]["ros__parameters"]["gravity_compensated_by_robot"] is False


def test_the_world_moves_the_robot_a_control_period_a_step_and_lets_it_in() -> None:
    (scene,) = world().iterfind("world")
    assert scene.get("name") == "thunder", "the launch spawns the robot into a world of this name"
    systems = {plugin.get("name") for plugin in scene.iterfind("plugin")}
    assert {"gz::sim::systems::Physics", "gz::sim::systems::UserCommands"} <= systems
    rate = CONTROL["/**/controller_manager"]["ros__parameters"]["update_rate"]
    assert float(scene.findtext("physics/max_step_size") or "nan") == 1.0 / rate


def test_names_in_the_world_are_unique() -> None:
    elements = world().iter("link", "joint", "model", "light")
    found = [(element.getparent().get("name", ""), element.get("name", "")) for element in elements]
    assert len(found) == len(set(found)) > 0
