"""Checks of plausibility: a right arm passes, each wrong unit is said, and the effort of gravity is G."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import evaluate, robot_file
from robots import random_robot
from urdf_text import UrdfText

from thunder_dynamics.errors import DegreesWarning, ImplausibleWarning, SnappedAnglesWarning
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.joints import Limits, Pose
from thunder_dynamics.model import RobotModel
from thunder_dynamics.plausibility import CHECKS, _gravity_efforts, judge
from thunder_dynamics.readers import load_model
from thunder_dynamics.readers.source import snapped

PANDA = load_model(robot_file("panda"))
ARM = UrdfText("arm.urdf")


def beyond(model: RobotModel) -> dict[str, tuple[str, ...]]:
    """Names of what is implausible, by the codes of the checks."""
    return {one.check.code: one.names for one in judge(model) if not one.holds}


def with_joints(model: RobotModel, **changes: Any) -> RobotModel:
    return replace(model, links=tuple(replace(x, joint=replace(x.joint, **changes)) for x in model.links))


def with_limits(limits: Limits) -> RobotModel:
    return with_joints(PANDA, limits=limits)


def in_millimetres() -> RobotModel:
    places = [Pose(link.joint.placement.rotation, 1e3 * link.joint.placement.translation) for link in PANDA.links]
    rows = zip(PANDA.links, places, strict=True)
    return replace(PANDA, links=tuple(replace(x, joint=replace(x.joint, placement=at, dh=None)) for x, at in rows))


def with_bodies(mass: float, moment: float) -> RobotModel:
    body = Inertia(mass, np.zeros(3), moment * np.eye(3))
    return replace(PANDA, links=tuple(replace(link, inertia=body) for link in PANDA.links))


@pytest.mark.parametrize("name", ["panda", "ur5", "planar3r", "rpr", "sea2", "panda_elastic", "point_masses5"])
def test_right_robots_pass(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ImplausibleWarning)
        assert beyond(load_model(robot_file(name), allow_inconsistent=True)) == {}


@pytest.mark.parametrize(
    ("code", "model"),
    [
        ("no_mass", with_bodies(0.0, 0.0)),
        ("reach", in_millimetres()),
        ("limits_in_degrees", with_limits(Limits(-170.0, 170.0))),
        ("radius_of_gyration", with_bodies(1.0, 1e4)),
        ("rotor", with_joints(PANDA, rotor_inertia=1e4, limits=Limits())),
        ("rotor_by_effort", with_joints(PANDA, rotor_inertia=9.0)),
        ("gravity_by_effort", with_limits(Limits(effort=0.5))),
    ],
)
def test_every_wrong_unit_is_said(code: str, model: RobotModel) -> None:
    assert code in beyond(model)
    assert code in {check.code for check in CHECKS}


@pytest.mark.parametrize("end", [np.inf, 1e16, 6.0 * np.pi])
def test_joints_of_several_turns_and_limits_that_stand_for_none_are_no_degrees(end: float) -> None:
    assert beyond(with_limits(Limits(-end, end))) == {}


def test_the_effort_of_gravity_is_that_of_the_model() -> None:
    for seed in range(4):
        model = random_robot(seed, 5)
        q = np.random.default_rng(seed).uniform(-2.0, 2.0, 5)
        expected = evaluate(RobotExpressions(model), "G", {"q": q}).ravel()
        np.testing.assert_allclose(_gravity_efforts(model, q), expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_reading_warns_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(ARM.changed('lower="-1" upper="2"', 'lower="-170" upper="170"'), encoding="utf-8")
    with pytest.warns(ImplausibleWarning, match=r"arm\.urdf: position limit 170 rad .*are limits in degrees\?"):
        load_model(file)


def test_more_than_a_turn_of_rpy_is_warned_of() -> None:
    with pytest.warns(DegreesWarning, match=r"arm\.urdf:7: <origin>: 90 rad is more than a turn; valid: radians; did"):
        ARM.read(ARM.changed('rpy="0.1 0.2 0.3"', 'rpy="0.1 90 0.3"'))


def test_rounded_right_angles_are_snapped_if_an_option_says_so() -> None:
    rounded = ARM.changed('rpy="0.3 0 0"', 'rpy="1.5708 0 -3.1416"')
    exact = ARM.read(ARM.changed('rpy="0.3 0 0"', f'rpy="{math.pi / 2} 0 {-math.pi}"'))
    with pytest.warns(SnappedAnglesWarning, match="angles within 0.0001 rad of a right angle"):
        model = ARM.read(rounded, snap_angles=True)
    places = [[link.joint.placement.rotation for link in one.links] for one in (model, exact)]
    np.testing.assert_array_equal(*places)
    assert snapped(model) is model and snapped(exact) is exact and snapped(ARM.read(rounded)) is not model


def test_rounded_right_angles_of_a_real_arm_cost_a_third_of_the_operations() -> None:
    gen3 = UrdfText("gen3.urdf").read()
    before, after = (RobotExpressions(one).operations("M") for one in (gen3, snapped(gen3)))
    assert after < 0.7 * before


@pytest.mark.parametrize("theta", ["1.5708", "-1.5708", "3.1416", "0.00005"])
def test_rounded_angles_of_a_dh_table_are_snapped_too(theta: str, tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    text = robot_file("planar3r").read_text(encoding="utf-8")
    file.write_text(re.sub(r"DH: \[[^,]*,[^,]*,[^,]*,[^,]*,", f"DH: [0, 1.5708, 0, {theta},", text), encoding="utf-8")
    with pytest.warns(SnappedAnglesWarning):
        joint = load_model(file, snap_angles=True).links[0].joint
    assert np.isin(np.abs(joint.placement.rotation), (0.0, 1.0)).all() and joint.dh is not None
    assert math.remainder(joint.dh[1], math.pi / 2) == math.remainder(joint.dh[3], math.pi / 2) == 0.0
