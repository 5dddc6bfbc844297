"""The robots that come with the project."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from evaluation import ROOT, evaluate, load_robot

from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model

YAML_FILES = sorted((ROOT / "config" / "robots").glob("*.yaml"))
XACRO = ROOT / "urdf" / "panda.urdf.xacro"
POINTS = "point_masses5"
"""Its links have a mass alone: the smallest body that exists."""


def inertia_is_positive(model: RobotModel) -> bool:
    inertias = [link.inertia for link in model.links]
    if model.name == POINTS:
        return all(inertia.mass > 0.0 and not inertia.inertia_com.any() for inertia in inertias)
    return all(np.linalg.eigvalsh(inertia.inertia_com)[0] > 0.0 < inertia.mass for inertia in inertias)


def test_the_robots_of_the_brief_are_there() -> None:
    assert {"panda", "ur5", "planar3r", "rpr", "sea2", POINTS} <= {path.stem for path in YAML_FILES}


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda path: path.stem)
def test_every_robot_file_loads_with_consistent_inertias(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load_model(path)
    assert model.name == path.stem
    assert inertia_is_positive(model)


@pytest.fixture(scope="module")
def panda() -> RobotModel:
    return load_robot("panda")


@pytest.fixture(scope="module")
def panda_urdf() -> RobotModel:
    return load_model(XACRO)


def test_panda_yaml_and_urdf_are_one_model(panda: RobotModel, panda_urdf: RobotModel) -> None:
    assert panda.link_names == panda_urdf.link_names and panda.joint_names == panda_urdf.joint_names
    assert panda.name == panda_urdf.name and panda.gravity == panda_urdf.gravity
    # the same decimal numbers through two conversions: equal but for rounding
    np.testing.assert_allclose(panda.pi, panda_urdf.pi, rtol=0, atol=1e-12)
    np.testing.assert_allclose(panda.ee.parameters, panda_urdf.ee.parameters, rtol=0, atol=1e-12)
    np.testing.assert_allclose(panda.base.parameters, panda_urdf.base.parameters, rtol=0, atol=1e-12)
    for ours, theirs in zip(panda.links, panda_urdf.links, strict=True):
        assert ours.joint.limits == theirs.joint.limits and ours.joint.axis == theirs.joint.axis
        np.testing.assert_allclose(ours.joint.placement.rotation, theirs.joint.placement.rotation, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            ours.joint.placement.translation, theirs.joint.placement.translation, rtol=0, atol=1e-12
        )


def test_panda_has_the_published_masses_and_limits(panda: RobotModel) -> None:
    masses = [link.inertia.mass for link in panda.links]
    assert masses == [4.970684, 0.646926, 3.228604, 3.587895, 1.225946, 1.666555, 0.735522]
    assert [link.joint.limits.effort for link in panda.links] == [87.0] * 4 + [12.0] * 3
    assert [link.joint.limits.velocity for link in panda.links] == [2.175] * 4 + [2.61] * 3
    assert {link.joint.limits.effort_rate for link in panda.links} == {1000.0}
    assert [link.joint.limits.acceleration for link in panda.links] == [15, 7.5, 10, 12.5, 15, 20, 20]
    assert panda.ee.tr == (0.0, 0.0, 0.107)


def test_ur5_reaches_as_far_as_its_data_sheet_says() -> None:
    """At q = 0 the standard DH table puts the flange at (a2 + a3, −(d4 + d6), d1 − d5)."""
    T = evaluate(RobotExpressions(load_robot("ur5")), "T_0_6", {"q": np.zeros(6)})
    # six products of numbers below one
    np.testing.assert_allclose(T[:3, 3], [-0.81725, -0.19145, -0.005491], rtol=0, atol=1e-12)


def test_the_elastic_example_marks_part_of_its_parameters() -> None:
    model = load_robot("sea2")
    assert model.elastic_joints == (0,) and model.friction_order == 2
    marked = {group: sum(mask) for group, mask in model.symbolic.items()}
    assert marked["par_DYN"] == 4 and marked["par_K"] == 1 and marked["par_Dl"] == 1
    assert all(0 < count < len(model.parameters(group)) or group == "par_Mm" for group, count in marked.items())
