"""Inertial parameters that the virtual Franka takes from a description."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from thunder_controllers.franka.arm import HOME, FrankaArm
from thunder_controllers.franka.arms import robot_urdf
from thunder_controllers.franka.protocol import PROTOCOLS
from thunder_controllers.simulation.options import PlantOptions
from thunder_dynamics.errors import RobotFileError
from thunder_dynamics.readers.urdf_elements import parse_xml


def test_an_arm_weighs_what_the_description_says(tmp_path: Path) -> None:
    """Joints and limits stay those of the arm; the links of the description may have a prefix."""
    other = tmp_path / "other.urdf"
    tree = parse_xml(robot_urdf("fr3").replace('"link', '"arm_link'), "fr3")
    for mass in tree.iter("mass"):
        mass.set("value", repr(2.0 * float(mass.get("value"))))
    tree.getroottree().write(str(other))
    own, heavier = (
        FrankaArm("fr3", PlantOptions(), np.array(HOME), PROTOCOLS[10], inertial=file) for file in (None, other)
    )
    np.testing.assert_allclose(heavier.measured, 2.0 * own.measured, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(heavier.external, 0.0, atol=1e-9)
    np.testing.assert_array_equal(heavier.limits.position_lower, own.limits.position_lower)


def test_rotors_of_the_description_are_moved_and_do_not_reach_the_links(tmp_path: Path) -> None:
    """The links feel M q̈ of τ = (M + I_a) q̈, and what moves the rotors is no torque from outside."""
    bare, tau = robot_urdf("fr3"), np.array([0.0] * 6 + [0.1])
    model = mujoco.MjModel.from_xml_string(bare)
    data, M = mujoco.MjData(model), np.zeros((7, 7))
    data.qpos[:] = HOME
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, M)
    rotor = f'<thunder><rotor joint="arm_joint7" inertia="{float(M[6, 6])!r}"/></thunder></robot>'
    (tmp_path / "rotor.urdf").write_text(bare.replace('"joint', '"arm_joint').replace("</robot>", rotor))
    arm = FrankaArm("fr3", PlantOptions(), np.array(HOME), PROTOCOLS[10], inertial=tmp_path / "rotor.urdf")
    held = arm.measured.copy()
    arm.step(tau)
    expected = M @ np.linalg.solve(M + np.diag([0.0] * 6 + [M[6, 6]]), tau)
    np.testing.assert_allclose(arm.measured - held, expected, atol=1e-4)  # gravity, a step of some 1e-5 rad later
    np.testing.assert_allclose(arm.external, 0.0, atol=1e-4)


def test_a_description_without_the_links_is_refused(tmp_path: Path) -> None:
    arm = robot_urdf("fr3").replace("link1", "first")
    (tmp_path / "none.urdf").write_text(arm)
    with pytest.raises(RobotFileError, match="link …link1: 0 of them have a mass; valid: one of each"):
        robot_urdf("fr3", tmp_path / "none.urdf")
