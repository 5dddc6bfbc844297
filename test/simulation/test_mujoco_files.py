"""MJCF in: links, joints, drives and shapes as MuJoCo compiles them, and what has no place in a tree is said."""

from __future__ import annotations

import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest
from evaluation import evaluate

from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_dynamics import load_model
from thunder_dynamics.errors import RobotFileError, UnusedElementWarning
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.readers import read_assembly

BODY = '<inertial pos="0.02 0.01 0.1" mass="{}" fullinertia="0.02 0.03 0.025 0.001 0.002 -0.001"/>'

SECOND = '<joint name="b" axis="1 0 0" pos="0 0.05 0" armature="0.02"/>'

ARM = f"""<mujoco model="an arm">
 <option gravity="0 0.5 -9.6"/>
 <compiler angle="radian" autolimits="true"/>
 <default><joint armature="0.05" damping="0.3"/></default>
 <worldbody>
  <geom type="plane" size="1 1 1"/>
  <body name="table" pos="1 0 0"><geom type="box" size="0.2 0.3 0.4"/></body>
  <body name="cube" pos="1 0 1"><freejoint/><geom type="box" size="0.02 0.02 0.02"/></body>
  <body name="base" pos="0.1 0 0.2" euler="0.1 0.2 0.3">{BODY.format(2)}
   <body name="upper" pos="0 0 0.3" quat="0.9 0.1 0.2 0.3">{BODY.format(1.5)}
    <joint name="a" axis="0 0.6 0.8" pos="0.02 0.03 -0.1" range="-2 1.5" ref="0.2" frictionloss="0.4"/>
    {SECOND}
    <geom type="capsule" size="0.03 0.1" pos="0 0 0.1" contype="0" conaffinity="0" mass="0"/>
    <body name="fore" pos="0 0 0.4">{BODY.format(0.8)}
     <joint name="c" type="slide" axis="0 0 1" range="-0.1 0.3" ref="0.05" actuatorfrcrange="-50 50"/>
     <site name="tcp" pos="0 0 0.1" euler="0 0.5 0"/>
     <body name="left" pos="0 0.02 0.1">{BODY.format(0.05)}<joint name="f1" type="slide" axis="0 1 0"/></body>
     <body name="right" pos="0 -0.02 0.1">{BODY.format(0.05)}<joint name="f2" type="slide" axis="0 -1 0"/></body>
    </body>
   </body>
  </body>
 </worldbody>
 <equality><joint joint1="f2" joint2="f1" polycoef="0.01 0.5 0 0 0"/></equality>
 <actuator>
  <motor joint="a" gear="20" ctrlrange="-4 4" ctrllimited="true"/>
  <position joint="b" kp="500" forcerange="-30 30" ctrlrange="-3 3"/>
  <motor joint="c" gear="100" ctrlrange="-1 1" ctrllimited="true"/>
 </actuator>
</mujoco>"""

JOINTS = ("a", "b", "c", "f1", "f2")


def _written(folder: Path, text: str = ARM, name: str = "arm.xml") -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_model_is_that_of_mujoco(tmp_path: Path) -> None:
    """M and bias of the independent joints: anchors, references, several joints of a body, couplings."""
    model = load_model(_written(tmp_path), tree=True)
    assert model.name == "an_arm" and model.gravity == (0.0, 0.5, -9.6)
    assert model.joint_names == JOINTS and model.nv == 4
    theirs, robot = mujoco.MjModel.from_xml_string(ARM), RobotExpressions(model)
    dofs = [theirs.joint(name).dofadr[0] for name in JOINTS]
    places = [theirs.joint(name).qposadr[0] for name in JOINTS]
    S = np.vstack([np.eye(4), [0.0, 0.0, 0.0, 0.5]])
    random, data = np.random.default_rng(0), mujoco.MjData(theirs)
    for _ in range(3):
        q, qd = random.uniform(-0.5, 0.5, (2, 4))
        data.qpos[places], data.qvel[dofs] = S @ q + (0, 0, 0, 0, 0.01), S @ qd
        mujoco.mj_fwdPosition(theirs, data)
        mujoco.mj_fwdVelocity(theirs, data)
        M = np.zeros((theirs.nv, theirs.nv))
        mujoco.mj_fullM(theirs, data, M)
        np.testing.assert_allclose(
            evaluate(robot, "M", {"q": q}), S.T @ M[np.ix_(dofs, dofs)] @ S, rtol=0, atol=1e-12 * M.max()
        )
        bias = evaluate(robot, "inverse_dynamics", {"q": q, "dq": qd, "ddq": np.zeros(4)}).ravel()
        np.testing.assert_allclose(bias, S.T @ data.qfrc_bias[dofs], rtol=0, atol=1e-12 * np.abs(bias).max())


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_arm_in_it_is_a_plant(tmp_path: Path) -> None:
    """With limits, friction and rotors; the fingers are held, the tool is where its site is."""
    body = f'<body name="elbow" pos="0 0 0.2">{BODY.format(0.5)}{SECOND}'
    text = ARM.replace(SECOND, "").replace(
        '<body name="fore" pos="0 0 0.4">', body + '<body name="fore" pos="0 0 0.2">'
    )
    text = text.replace(" </worldbody>", "</body> </worldbody>")
    path = _written(tmp_path, text)
    model, assembly = load_model(path, arm=True), read_assembly(path, {"arm": True})
    assert assembly.joint_names == model.joint_names == JOINTS[:3]
    plant = MujocoPlant(assembly, JOINTS[:3], 1e-3, rotors=model.rotor_inertias)
    theirs = mujoco.MjModel.from_xml_string(text)
    assert plant.ee_link == "tcp" and plant.g0 == (0.0, 0.5, -9.6)
    q = np.array([0.3, -0.4, 0.1])
    (position,), (rotation,) = plant.described_poses(q[None])
    data = mujoco.MjData(theirs)
    data.qpos[[theirs.joint(name).qposadr[0] for name in JOINTS[:3]]] = q
    mujoco.mj_kinematics(theirs, data)
    np.testing.assert_allclose(position, data.site("tcp").xpos, atol=1e-12)
    np.testing.assert_allclose(rotation.ravel(), data.site("tcp").xmat, atol=1e-12)
    np.testing.assert_allclose(model.rotor_inertias, (0.05, 0.02, 0.05))
    np.testing.assert_allclose(plant.true_friction(), [[0.3] * 3, [0.4, 0.0, 0.0]])
    np.testing.assert_allclose(model.limits("effort"), (80.0, 30.0, 50.0))
    np.testing.assert_allclose(model.limits("lower"), (-2.0, -np.inf, -0.1))
    np.testing.assert_allclose(model.limits("upper"), (1.5, np.inf, 0.3))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_shapes_of_a_scene_are_kept(tmp_path: Path) -> None:
    shapes = read_assembly(_written(tmp_path), {"arm": True}).shapes
    assert {(one.link, one.kind, one.collides) for one in shapes} == {
        ("table", "box", True),
        ("table", "box", False),
        ("upper", "capsule", False),
    }
    box = next(one for one in shapes if one.kind == "box")
    assert box.size == (0.4, 0.6, 0.8)


def test_what_is_left_out_is_said_once(tmp_path: Path) -> None:
    stiff = ARM.replace('damping="0.3"', 'damping="0.3" stiffness="2"').replace(
        '"0.01 0.5 0 0 0"', '"0.01 0.5 0 0.2 0"'
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_model(_written(tmp_path, stiff), tree=True)
    (said,) = [str(one.message) for one in caught if issubclass(one.category, UnusedElementWarning)]
    for part in "left out of the model: cube, equality 0, the spring of a":
        assert part in said


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<worldbody>", '<include file="/etc/passwd"/><worldbody>', r"arm.xml:5: <include>: file='/etc/passwd'"),
        ("<worldbody>", '<include file="../../other.xml"/><worldbody>', r"a path in this folder or one beside it"),
        ('type="slide"', 'type="screw"', "MuJoCo cannot read it"),
        (
            '<joint name="b" axis="1 0 0" pos="0 0.05 0" armature="0.02"/>',
            '<joint name="b" type="ball"/>',
            "a ball joint",
        ),
    ],
)
def test_a_file_that_cannot_be_is_one_typed_error(old: str, new: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    with pytest.raises(RobotFileError, match=message):
        load_model(_written(tmp_path / "inner", ARM.replace(old, new)))


@pytest.mark.parametrize(
    "assets",
    ['<asset><mesh file="../../../a.stl"/></asset>', '<compiler meshdir=".."/><asset><mesh file="../a.stl"/></asset>'],
)
def test_an_included_file_leads_no_farther(assets: str, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    _written(tmp_path / "inner", f"<mujocoinclude>{assets}</mujocoinclude>", "part.xml")
    text = ARM.replace("<worldbody>", '<include file="part.xml"/><worldbody>')
    with pytest.raises(RobotFileError, match="a path in this folder or one beside it"):
        load_model(_written(tmp_path / "inner", text))


def test_what_it_includes_is_followed(tmp_path: Path) -> None:
    with pytest.raises(RobotFileError, match=r"part.xml:1: <mesh>: file='/root/a.stl'"):
        _written(tmp_path, '<mujocoinclude><asset><mesh file="/root/a.stl"/></asset></mujocoinclude>', "part.xml")
        load_model(_written(tmp_path, ARM.replace("<worldbody>", '<include file="part.xml"/><worldbody>')))
