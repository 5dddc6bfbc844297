"""Model and plant are made of what one reader read: they are the same arm, whatever else a file says."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from evaluation import evaluate, load_robot
from plant_arms import ARM, ARM_JOINTS, assembled

from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_dynamics import load_model
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.locking import Assembly
from thunder_dynamics.readers import read_assembly
from thunder_dynamics.readers.urdf import read_urdf_text

TURNED = ARM.replace('<origin xyz="0 0 0.4" rpy="0.3 0 0"/>', '<origin xyz="0 0 0.4" quat_xyzw="0.1 0.2 0.3 0.9"/>')
SCALED = '<mujoco><compiler settotalmass="2.5"/><option gravity="0 0 0" density="1000"/></mujoco>'
ROTORS = '<thunder><rotor joint="j1" inertia="0.4"/></thunder>'


@pytest.mark.parametrize(
    "urdf",
    [
        ARM,
        TURNED,
        ARM.replace("</robot>", f"{SCALED}</robot>"),
        ARM.replace("</robot>", f"{ROTORS}</robot>"),
        ARM.replace('"base"', '"world"'),
        ARM.replace('"l2"', '"world"'),
        ARM.replace('"l1"', '"大臂 (1)"'),
    ],
)
def test_gravity_inertia_and_mass_are_those_of_the_model(urdf: str) -> None:
    model = read_urdf_text(urdf, "arm")
    plant = MujocoPlant(assembled(urdf), ARM_JOINTS, 1e-3, rotors=np.nan_to_num(model.rotor_inertias))
    _assert_same(plant, RobotExpressions(model))
    assert plant.model.body_mass.sum() == pytest.approx(sum(link.inertia.mass for link in model.links), rel=1e-14)


def _assert_same(plant: MujocoPlant, robot: RobotExpressions) -> None:
    """M with rotors, C q̇ + G, to rounding."""
    random, order = np.random.default_rng(0), [plant.model.joint(name).dofadr[0] for name in plant.joints]
    for _ in range(3):
        q, qd = random.uniform(-1.0, 1.0, (2, plant.n))
        data = mujoco.MjData(plant.model)
        data.qpos[order], data.qvel[order] = q, qd
        mujoco.mj_fwdPosition(plant.model, data)
        mujoco.mj_fwdVelocity(plant.model, data)
        M = np.zeros((plant.n, plant.n))
        mujoco.mj_fullM(plant.model, data, M)
        state = {"q": q, "dq": qd, "ddq": np.zeros(plant.n)}
        ours = evaluate(robot, "M", state)
        np.testing.assert_allclose(M[np.ix_(order, order)], ours, rtol=0, atol=1e-12 * np.abs(ours).max())
        bias = evaluate(robot, "inverse_dynamics", state).ravel()
        np.testing.assert_allclose(data.qfrc_bias[order], bias, rtol=0, atol=1e-12 * np.abs(bias).max())


def test_mujocos_own_reader_of_urdf_makes_the_same_arm() -> None:
    """An independent reader, of a file in which both understand everything."""
    text = ARM.replace('<visual><geometry><mesh filename="package://nowhere/link.stl"/></geometry></visual>', "")
    theirs, ours = mujoco.MjModel.from_xml_string(text), MujocoPlant(assembled(text), ARM_JOINTS, 1e-3).model
    for field in ("jnt_range", "jnt_limited", "jnt_actfrcrange", "dof_damping", "dof_frictionloss", "jnt_type"):
        np.testing.assert_allclose(getattr(ours, field), getattr(theirs, field), err_msg=field)
    states = [mujoco.MjData(model) for model in (theirs, ours)]
    for model, data in zip((theirs, ours), states, strict=True):
        data.qpos[:], data.qvel[:] = (0.3, -0.5, 0.2), (1.0, -2.0, 0.7)
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
    np.testing.assert_allclose(states[1].qfrc_bias, states[0].qfrc_bias, rtol=0, atol=1e-12)


def test_a_robot_of_dh_parameters_is_a_mujoco_plant_too() -> None:
    model = load_robot("planar3r")
    plant = MujocoPlant(Assembly(model), model.joint_names, 1e-3)
    _assert_same(plant, RobotExpressions(model))
    assert plant.g0 == model.gravity and plant.ee_link == model.link_names[model.ee_link]


def test_what_a_base_link_is_mounted_on_turns_the_plants_gravity(tmp_path: Path) -> None:
    mount = '<link name="ceiling"/><joint name="m" type="fixed"><parent link="ceiling"/><child link="base"/>'
    hung = ARM.replace("</robot>", f'{mount}<origin xyz="0 0 2" rpy="3.141592653589793 0 0"/></joint></robot>')
    (tmp_path / "hung.urdf").write_text(hung)
    whole, arm = (read_assembly(tmp_path / "hung.urdf", {"base_link": base}) for base in (None, "base"))
    plants = [MujocoPlant(one, ARM_JOINTS, 1e-3) for one in (whole, arm)]
    np.testing.assert_allclose(plants[1].g0, (0.0, 0.0, 9.81), atol=1e-12)
    q = np.array([0.2, 0.5, -0.1])
    np.testing.assert_allclose(plants[0].gravity(q), plants[1].gravity(q), atol=1e-12)
    told = MujocoPlant(arm, ARM_JOINTS, 1e-3, PlantOptions(gravity=(0.0, 0.0, -1.62)))
    assert told.g0 == (0.0, 0.0, -1.62)
    with pytest.warns(match="gravity is 0, 0, 9.81"):
        model = load_model(tmp_path / "hung.urdf", base_link="base")
    assert ModelPlant(model, ARM_JOINTS, 1e-3).g0 == pytest.approx(plants[1].g0)


BOX = '<collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision>'
MESH = '<collision><geometry><mesh filename="part.stl" scale="0.5 0.5 0.5"/></geometry></collision>'


def test_what_collides_is_read_with_the_links(tmp_path: Path) -> None:
    """Shapes as they are, of a mesh the convex hull; a mesh that is missing is an error only where bodies collide."""
    import trimesh

    trimesh.creation.box((0.2, 0.2, 0.4)).export(tmp_path / "part.stl")
    (tmp_path / "arm.urdf").write_text(ARM.replace('<link name="tip"/>', f'<link name="tip">{BOX}{MESH}</link>'))
    assembly = read_assembly(tmp_path / "arm.urdf", {})
    where = str(tmp_path / "arm.urdf")
    plant = MujocoPlant(assembly, ARM_JOINTS, 1e-3, PlantOptions(contacts=True), where=where)
    box, part = range(2)
    np.testing.assert_allclose(plant.model.geom_size[box], (0.05, 0.1, 0.15))
    np.testing.assert_allclose(np.sort(plant.model.geom_aabb[part][3:]), (0.05, 0.05, 0.1), atol=1e-6)
    assert MujocoPlant(assembly, ARM_JOINTS, 1e-3, where=where).model.ngeom == 0
    (tmp_path / "part.stl").unlink()
    with pytest.raises(ScenarioError, match=r"link tip: .*part.stl"):
        MujocoPlant(assembly, ARM_JOINTS, 1e-3, PlantOptions(contacts=True), where=where)


def test_a_first_link_of_which_one_moment_is_known_is_a_body_for_mujoco() -> None:
    """As of many industrial arms: Izz alone is given, and nothing else acts."""
    alone = ARM.replace(
        'ixx="0.02" ixy="0.001" ixz="0.002" iyy="0.03" iyz="0.001"', 'ixx="0" ixy="0" ixz="0" iyy="0" iyz="0"'
    )
    with pytest.warns(match="only its moment about the axis"):
        model = read_urdf_text(alone.replace('rpy="0.1 0.2 0.3"', ""), "arm")
    plant = MujocoPlant(assembled(alone.replace('rpy="0.1 0.2 0.3"', "")), ARM_JOINTS, 1e-3)
    _assert_same(plant, RobotExpressions(model))
