"""A joint that is locked for the controller is held in the simulated robot as well, as if its URDF had it fixed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import mujoco
import numpy as np
import pytest
from click.testing import CliRunner
from plant_arms import ARM, ARM_JOINTS
from scenario_files import written

from thunder_controllers.commands.mjcf import mjcf
from thunder_controllers.simulation.experiment import run_scenario
from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_controllers.simulation.preparation import read_description
from thunder_controllers.simulation.scenario import Scenario
from thunder_dynamics.errors import ModelError, NameNotFoundError, RobotFileError, ScenarioError
from thunder_dynamics.locking import Assembly
from thunder_dynamics.readers.urdf import fix_joints, read_assembly_text, read_urdf_text

BODY = """<inertial><origin xyz="0.01 0 0.02" rpy="0.3 0 0.1"/><mass value="{}"/>
  <inertia ixx="2e-4" ixy="1e-5" ixz="0" iyy="3e-4" iyz="0" izz="2.5e-4"/></inertial>"""

LINKS = f"""
 <link name="hand">{BODY.format(0.4)}</link>
 <link name="left">{BODY.format(0.1)}</link>
 <link name="right">{BODY.format(0.1)}</link>"""

MOVABLE = """
 <joint name="wrist" type="revolute"><parent link="tool"/><child link="hand"/><axis xyz="0 0.6 0.8"/>
  <origin xyz="0 0.01 0.05" rpy="0.1 0 0.4"/><limit lower="-2" upper="2" effort="5" velocity="2"/></joint>
 <joint name="finger" type="prismatic"><parent link="hand"/><child link="left"/><axis xyz="1 0 0"/>
  <origin xyz="0 0 0.1"/><limit lower="0" upper="0.05" effort="5" velocity="2"/>
  <dynamics damping="1" friction="2"/></joint>
 <joint name="finger2" type="prismatic"><parent link="hand"/><child link="right"/><axis xyz="1 0 0"/>
  <origin xyz="0 0 0.1"/><limit lower="-0.05" upper="0" effort="5" velocity="2"/>
  <mimic joint="finger" multiplier="-1" offset="0.01"/></joint>
</robot>"""

FIXED = """
 <joint name="wrist" type="fixed"><parent link="tool"/><child link="hand"/>
  <origin xyz="0 0.01 0.05" rpy="0.1 0 0.4"/></joint>
 <joint name="finger" type="fixed"><parent link="hand"/><child link="left"/><origin xyz="0.03 0 0.1"/></joint>
 <joint name="finger2" type="fixed"><parent link="hand"/><child link="right"/><origin xyz="-0.02 0 0.1"/></joint>
</robot>"""

WITH_GRIPPER = ARM.replace("</robot>", LINKS + MOVABLE)
EDITED = ARM.replace("</robot>", LINKS + FIXED)
LOCKS = {"wrist": 0.0, "finger": 0.03}


def _plant(urdf: str, locks: Mapping[str, float] | None = None) -> MujocoPlant:
    return MujocoPlant(
        read_assembly_text(urdf, "arm", locked_joints=locks or {}), ARM_JOINTS, 1e-3, PlantOptions(ee_link="tip")
    )


def _motion(plant: MujocoPlant) -> np.ndarray:
    """Positions over half a second of torques that change every millisecond."""
    rng, rows = np.random.default_rng(1), []
    plant.reset([0.1, -0.2, 0.05])
    for _ in range(500):
        plant.step(rng.uniform(-5, 5, 3))
        rows.append(plant.q)
    return np.array(rows)


def test_a_locked_joint_is_the_fixed_one_of_a_file_that_was_edited() -> None:
    """To rounding: a lock goes from angles to a rotation and back."""
    locked, edited = _plant(WITH_GRIPPER, LOCKS), _plant(EDITED)
    np.testing.assert_allclose(locked.model.body_mass, edited.model.body_mass, rtol=0)
    np.testing.assert_allclose(locked.model.body_pos, edited.model.body_pos, atol=1e-15)
    np.testing.assert_allclose(locked.model.body_quat, edited.model.body_quat, atol=1e-15)
    np.testing.assert_allclose(_motion(locked), _motion(edited), atol=1e-12)


def test_the_true_inertia_is_the_one_that_the_controller_knows() -> None:
    """Of the last link with the gripper at an angle that no decimals hold; two ways of adding inertias round apart."""
    locks = {"wrist": 0.7, "finger": 0.03}
    plant = _plant(WITH_GRIPPER, locks)
    model = read_urdf_text(WITH_GRIPPER, "arm", locked_joints=locks, ee_link="tip")
    assert model.joint_names == ARM_JOINTS
    for index, name in enumerate(model.link_names):
        np.testing.assert_allclose(plant.true_inertia(name).pi, model.links[index].inertia.pi, rtol=1e-12, atol=1e-15)
    assert plant.true_inertia("l3").mass == pytest.approx(0.7 + 0.3 + 0.6, rel=1e-15)


def test_what_mimics_a_locked_joint_is_held_with_it() -> None:
    plant = _plant(WITH_GRIPPER, {"wrist": 0.0, "finger": 0.03})
    np.testing.assert_allclose(plant.model.body("right").pos, [-0.03 + 0.01, 0.0, 0.1], atol=1e-15)
    assert plant.model.neq == 0


@pytest.mark.parametrize(
    ("locks", "kind", "message"),
    [
        ({"wirst": 0.0}, NameNotFoundError, "arm: no movable joint 'wirst' to lock; valid: .*did you mean wrist"),
        ({"jf": 0.0}, NameNotFoundError, "no movable joint 'jf' to lock"),
        ({"finger": 0.06}, ModelError, "joint 'finger' cannot be locked at 0.06; valid: 0 to 0.05"),
        ({"finger": "half"}, RobotFileError, "option 'locked_joints.*half"),
    ],
)
def test_a_lock_that_cannot_be_is_one_line(locks: dict[str, object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        fix_joints(WITH_GRIPPER, "arm", locks)


def test_a_joint_that_nobody_locked_is_named_with_the_option() -> None:
    with pytest.raises(ScenarioError, match=r"joints are j1.*finger.*others fixed, or locked by locked_joints"):
        _plant(WITH_GRIPPER)


def _scenario(folder: Path, plant: dict[str, object], robot: dict[str, object]) -> Scenario:
    (folder / "arm.urdf").write_text(WITH_GRIPPER)
    text = {
        "name": "gripper",
        "robot": "arm.urdf",
        "robot_options": {"ee_link": "tip", **robot},
        "plant": {"urdf": "arm.urdf", "ee_link": "tip", **plant},
        "law": {"name": "slotine_li", "options": {"adapted_links": ["l3"]}, "gains": {"K_d": 5.0}},
        "reference": {"type": "joint_steps", "steps": [{"time": 0.0, "q": [0.1, -0.2, 0.05]}]},
        "start": {"q": [0.1, -0.2, 0.05]},
        "duration": 0.2,
        "runs": [{"name": "run", "adaptation": False}],
    }
    return written(folder, text)


def _assembly(scenario: Scenario) -> Assembly:
    read = read_description(scenario, scenario.runs[0].config)
    assert isinstance(read, Assembly)
    return read


def test_the_plant_holds_what_the_robot_options_lock_unless_it_says_otherwise(tmp_path: Path) -> None:
    inherited = _scenario(tmp_path, {}, {"locked_joints": LOCKS})
    assert dict(_assembly(inherited).held).keys() == {"jf", "jt", "wrist", "finger", "finger2"}
    assert _assembly(inherited).held["finger"] == (0.03,)
    own = _assembly(
        _scenario(tmp_path, {"engine": "mujoco", "locked_joints": {"wrist": 0.5}}, {"locked_joints": LOCKS})
    )
    assert own.held["wrist"] == (0.5,) and own.joint_names == (*ARM_JOINTS, "finger", "finger2")
    with pytest.raises(ScenarioError, match=r"locked_joints of a plant with the engine model; valid: those of robot"):
        _scenario(tmp_path, {"engine": "model", "locked_joints": {}}, {"locked_joints": LOCKS})


@pytest.mark.slow
def test_an_arm_with_a_gripper_is_held_and_its_truth_is_what_the_controller_knows(tmp_path: Path) -> None:
    scenario = _scenario(tmp_path, {}, {"locked_joints": LOCKS})
    run = run_scenario(scenario, tmp_path / "out").runs[0]
    assert run.metrics["fault"] is None
    np.testing.assert_allclose(run.trace.truth[0], run.trace.estimates[0], rtol=1e-12, atol=1e-15)
    assert np.abs(run.trace.error).max() < 1e-9  # gravity is known to rounding; the gripper's would leave 1e-2


def test_a_model_file_holds_locked_joints(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(WITH_GRIPPER)
    out = str(tmp_path / "arm.xml")
    locks = [word for joint, at in LOCKS.items() for word in ("--lock", f"{joint}={at}")]
    result = CliRunner().invoke(mjcf, [str(tmp_path / "arm.urdf"), "--out", out, *locks])
    assert result.exit_code == 0, result.output
    model = mujoco.MjModel.from_xml_path(out)
    assert [model.joint(k).name for k in range(model.njnt)] == list(ARM_JOINTS)
