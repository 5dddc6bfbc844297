"""Limits as functions of position and speed, where they come from, and what the host makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from evaluation import load_robot
from numpy.typing import NDArray

import thunder_dynamics
from thunder_controllers.franka.arms import ARMS, FLANGE, robot_urdf
from thunder_controllers.host import (
    Configuration,
    Controller,
    ControlSession,
    Guard,
    Library,
    Limits,
    Options,
    TimedJoints,
)
from thunder_dynamics.errors import DimensionError, RefusedMotionError
from thunder_dynamics.joints import Limits as JointLimits
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model

FloatArray = NDArray[np.float64]

STEP = 1e-3


@pytest.fixture(scope="module")
def fr3(tmp_path_factory: pytest.TempPathFactory) -> RobotModel:
    file = tmp_path_factory.mktemp("fr3") / "fr3.urdf"
    file.write_text(robot_urdf("fr3"))
    return load_model(file, ee_link=FLANGE)


@pytest.fixture(scope="module")
def library(fr3: RobotModel, build_cache: Path) -> Library:
    return Library(thunder_dynamics.build(fr3, laws=["slotine_li"]) / f"lib{fr3.name}.so")


def test_velocity_limits_are_those_of_libfranka() -> None:
    """Numbers of `joint_velocity_limits.cpp` by hand: √(2 · 2.585 · 0.1) − 0.2 towards the upper end of joint 2."""
    limits = Limits(ARMS["fr3"])
    q = np.array([0.0, 1.7918 - 0.1, 0.0, -1.5, 0.0, 2.0, 0.0])
    lower, upper = limits.velocity_at(np.array([q, q]))
    assert lower.shape == (2, 7)
    np.testing.assert_allclose(upper[1], [2.62, np.sqrt(0.517) - 0.2, 2.62, 2.62, 5.26, 4.18, 5.26])
    np.testing.assert_allclose(lower[0], [-2.62, -2.62, -2.62, -2.62, -5.26, -(np.sqrt(11.0 * 1.45908) - 0.35), -5.26])
    for end in (limits.position_lower - 0.1, limits.position_upper + 0.1):
        assert not np.array(limits.velocity_at(end))[int(end[0] > 0.0)].any()
    with pytest.raises(DimensionError, match="velocity_at: q"):
        limits.velocity_at(np.zeros(3))


def test_a_constant_limit_holds_up_to_the_ends_and_beyond() -> None:
    lower, upper = Limits([JointLimits(-1.0, 1.0, 2.0)]).velocity_at(np.array([[-1.1], [0.0], [1.0]]))
    assert lower.tolist() == [[-2.0]] * 3 and upper.tolist() == [[2.0]] * 3


def test_the_effort_that_drives_falls_from_the_corner_to_no_load() -> None:
    motor = JointLimits(effort=10.0, effort_corner_velocity=2.0, effort_no_load_velocity=6.0)
    limits = Limits([motor, JointLimits(effort=3.0)])
    efforts = limits.effort_at(np.array([[0.0, 0.0], [-2.0, 1.0], [3.0, 9.0], [-5.0, 9.0], [7.0, 9.0]]))
    assert efforts.tolist() == [[10.0, 3.0], [10.0, 3.0], [7.5, 3.0], [2.5, 3.0], [0.0, 3.0]]


def test_the_description_of_the_fr3_says_them_to_the_library(fr3: RobotModel, library: Library) -> None:
    assert [link.joint.limits for link in fr3.links] == list(ARMS["fr3"])
    q = np.random.default_rng(0).uniform(library.position_lower, library.position_upper, (100, 7))
    for mine in (Limits.described(library), Limits(library)):
        np.testing.assert_array_equal(mine.velocity_at(q), Limits(ARMS["fr3"]).velocity_at(q))
    slower = Limits(library, Options(velocity_limit=[0.5] * 7))
    np.testing.assert_array_equal(slower.velocity_at(q)[1], np.fmin(Limits(library).velocity_at(q)[1], 0.5))


def test_a_joint_is_too_fast_by_where_it_goes(library: Library) -> None:
    """0.2 rad before the upper end of joint 2 its limit is 0.817 rad/s, away from it 2.62; at rest it has none."""
    q, qd, effort = np.array([0.0, 1.7918 - 0.2, 0.0, -1.5, 0.0, 2.0, 0.0]), np.zeros(7), np.zeros(7)
    limit = Limits(library).velocity_at(q)[1][1]

    def is_too_fast(speed: float, at: float = 1.7918 - 0.2) -> bool:
        controller = Controller()
        controller.configure(library, law="slotine_li")
        q[1], qd[1] = at, speed
        controller.activate(q, qd)
        return Guard.VELOCITY_EXCEEDED in Guard(controller.update(STEP, q, qd, STEP, effort))

    assert not is_too_fast(0.99 * limit) and is_too_fast(1.01 * limit)
    assert not is_too_fast(-2.6) and is_too_fast(-2.63)
    assert not is_too_fast(0.04 * 2.62, 1.7917) and is_too_fast(0.06 * 2.62, 1.7917)


def active_session(library: Library, q: FloatArray) -> ControlSession:
    session = ControlSession(Configuration(library, law="slotine_li"), Options())
    effort = np.zeros(7)
    held = library.evaluate("G", q).ravel()
    session.activate(q, np.zeros(7), held)
    session.update(1_000_000, STEP, q, np.zeros(7), STEP, effort)
    return session


@pytest.mark.parametrize(
    ("there", "time", "limit", "joint"),
    [
        ([0.0, 1.65, 0.0, -1.5, 0.0, 2.0, 0.0], 1.0, "velocity", 1),  # 1.1 rad/s at most, but late
        ([0.0, 0.8, 0.0, -1.5, 0.0, 2.0, 0.0], 0.2, "velocity", 1),
        ([0.0, 0.6, 0.0, -1.5, 0.0, 2.0, 0.0], 0.16, "effort", 1),
    ],
)
def test_a_refusal_names_limit_joint_and_the_time_that_does(
    library: Library, there: list[float], time: float, limit: str, joint: int
) -> None:
    session = active_session(library, np.array([0.0, 0.5, 0.0, -1.5, 0.0, 2.0, 0.0]))
    with pytest.raises(RefusedMotionError) as caught:
        session.follow([TimedJoints(time, there)])
    refusal = caught.value
    assert (refusal.limit, refusal.joint) == (limit, joint) and 0.0 < refusal.time < time
    assert refusal.slower is not None and 1.0 < refusal.slower < 4.0
    assert f"the {limit} of joint2 is " in str(refusal)
    assert f"; or times {refusal.slower:g} times as long, {refusal.slower * time:.6g} s in all" in str(refusal)
    quicker = 1.0 + 0.9 * (refusal.slower - 1.0)
    with pytest.raises(RefusedMotionError):
        session.follow([TimedJoints(time * quicker, there)])
    session.follow([TimedJoints(time * refusal.slower, there)])


def test_no_time_is_named_where_none_would_do(library: Library) -> None:
    session = active_session(library, np.array([0.0, 0.5, 0.0, -1.5, 0.0, 2.0, 0.0]))
    late = (
        r"follow: after 6\S+ s the velocity of joint2 is .*; in 32 times the time after 2\S+ s the velocity of joint2"
    )
    with pytest.raises(RefusedMotionError, match=late) as caught:
        session.follow([TimedJoints(9.0, [0.0, 2.0, 0.0, -1.5, 0.0, 2.0, 0.0])])
    assert (caught.value.limit, caught.value.joint, caught.value.slower) == ("velocity", 1, None)


def test_a_start_beyond_a_limit_says_by_how_much(library: Library) -> None:
    controller = Controller()
    controller.configure(library, law="slotine_li")
    q = np.array([0.0, 1.7918 + 0.03, 0.0, -1.5, 0.0, 2.0, 0.0])
    with pytest.raises(
        Exception,
        match=r"joint joint2 is at 1\.8218, 0\.03 above its limit; valid: \[-1\.7918, 1\.7918\], both ends",
    ):
        controller.activate(q)


def test_a_panda_without_the_element_has_constant_limits() -> None:
    limits = Limits([link.joint.limits for link in load_robot("panda").links])
    assert np.isinf(limits.velocity_deceleration).all() and not limits.velocity_offset.any()
