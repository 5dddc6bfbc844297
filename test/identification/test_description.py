"""Descriptions with other bodies: what is written is what is read again, with deviations beside."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml
from described_arms import arm
from evaluation import robot_file
from lxml import etree
from robots import random_inertia

from thunder_controllers.description import Found, write_description
from thunder_dynamics.errors import LawError
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model

STD = np.arange(1, 11) * 1e-3


def drawn(model: RobotModel, links: slice) -> Found:
    rng = np.random.default_rng(0)
    bodies = {name: (random_inertia(rng).pi, STD) for name in model.link_names[links]}
    drives = {"viscous": (0.5, 0.01), "coulomb": (0.3, 0.02), "offset": (-0.1, 0.03), "rotor": (0.2, 0.04)}
    return Found(bodies, dict.fromkeys(model.joint_names, drives))


@pytest.fixture(params=["yaml", "urdf"])
def robot(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A YAML file, or a URDF whose last link carries a plate."""
    if request.param == "yaml":
        return robot_file("planar3r")
    plate = '<link name="plate"><inertial><mass value="0.3"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    plate += '</inertial></link><joint name="screws" type="fixed"><parent link="arm3"/><child link="plate"/></joint>'
    (tmp_path / "robot.urdf").write_text(arm(3).replace("</robot>", f"{plate}</robot>"))
    return tmp_path / "robot.urdf"


@pytest.mark.parametrize("links", [slice(None), slice(2, 3)])
def test_what_is_written_is_read_again(robot: Path, links: slice, tmp_path: Path) -> None:
    """Others keep their bodies; drives are read as a file of drives."""
    model = load_model(robot)
    found, path = drawn(model, links), tmp_path / f"copy{robot.suffix}"
    assert write_description(path, model, found, {}) == (path, drives := tmp_path / "copy.drives.yaml")
    again = load_model(path, drives=drives)
    for before, link in zip(model.links, again.links, strict=True):
        pi, _ = found.bodies.get(link.name, (before.inertia.pi, None))
        np.testing.assert_allclose(link.inertia.pi, pi, rtol=1e-6, atol=1e-8)
        assert (link.friction[0], link.coulomb, link.effort_offset) == (0.5, 0.3, -0.1)
        assert link.joint.rotor_inertia == 0.2
    assert path.read_text().count("mcz 0.004") == len(found.bodies)
    assert (
        yaml.safe_load(drives.read_text())["/**/drives"]["ros__parameters"][model.joint_names[0]]["coulomb_std"] == 0.02
    )


def test_mujoco_reads_bodies_and_drives(robot: Path, tmp_path: Path) -> None:
    """Links of any description, in the frames of the model."""
    found, path = drawn(model := load_model(robot), slice(None)), tmp_path / "copy.xml"
    assert write_description(path, model, found, {}) == (path,)
    theirs = mujoco.MjModel.from_xml_path(str(path))
    for link, (pi, _) in found.bodies.items():
        assert theirs.body(link).mass[0] == pytest.approx(pi[0], rel=1e-4)
        np.testing.assert_allclose(theirs.body(link).ipos, pi[1:4] / pi[0], rtol=1e-4)
    np.testing.assert_allclose(theirs.dof_frictionloss, 0.3)
    np.testing.assert_allclose(theirs.dof_armature, 0.2)
    assert "standard deviations: damping 0.01, frictionloss 0.02, armature 0.04" in path.read_text()
    assert len(etree.fromstring(path.read_bytes()).xpath("//comment()")) == 2 * len(model.links)


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    model = load_model(robot_file("planar3r"))
    with pytest.raises(LawError, match=r"suffix '.urdf' for a robot of planar3r.yaml; valid: .yaml or .yml or .xml"):
        write_description(tmp_path / "copy.urdf", model, drawn(model, slice(None)), {})
    with pytest.raises(LawError, match="cannot be written"):
        write_description(tmp_path / "none" / "copy.yaml", model, drawn(model, slice(None)), {})
