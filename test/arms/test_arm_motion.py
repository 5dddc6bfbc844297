"""What an arm does keeps within its limits of position, speed and effort, whatever the arm is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from described_arms import arm
from evaluation import load_robot

from thunder_controllers.arms.motion import (
    EFFORT,
    FASTEST,
    LARGEST,
    LEAST,
    PAYLOAD,
    PERIOD,
    SAMPLES,
    WITH_FRICTION,
    WITHOUT_LIMIT,
    Motion,
    ball_at_hand,
    choose_motion,
)
from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY
from thunder_dynamics.errors import ModelError
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers.urdf import read_urdf_text

pytestmark = pytest.mark.slow  # graphs of the dynamics, built and evaluated without a compiler

FRICTION = 0.04


def limited(
    lower: float = -2.0, upper: float = 2.0, velocity: float = 3.0, effort: float = 40.0, n: int = 5
) -> RobotModel:
    more = f'<limit lower="{lower}" upper="{upper}" velocity="{velocity}" effort="{effort}"/>'
    return read_urdf_text(arm(n, more), "text")


def independent_efforts(model: RobotModel, motion: Motion) -> np.ndarray:
    """M q̈ + C q̇ + G of Pinocchio where it was looked at, the payload a point mass, (100, n)."""
    import pinocchio as pin
    from robots import pinocchio_model

    robot = pinocchio_model(model)
    frame = robot.frames[robot.getFrameId("ee")]
    _, com = ball_at_hand(model, PAYLOAD * sum(link.inertia.mass for link in model.links))
    body = pin.Inertia(motion.payload, com, np.zeros((3, 3)))
    robot.appendBodyToJoint(frame.parentJoint, body, pin.SE3.Identity())
    data, found = robot.createData(), []
    for t in np.linspace(0.0, PERIOD, SAMPLES, endpoint=False):
        turn = 2.0 * np.pi * motion.frequency
        wave = motion.amplitude * np.cos(turn * t)
        rate = -turn * motion.amplitude * np.sin(turn * t)
        sign = np.tanh(rate / SMOOTHING_VELOCITY)
        own = [x.coulomb * way + sum(x.friction) * v for x, way, v in zip(model.links, sign, rate, strict=True)]
        found.append(pin.rnea(robot, data, motion.centre + wave, rate, -(turn**2) * wave) + own)
    return np.array(found)


@pytest.mark.parametrize("robot", ["panda", "ur5", "planar3r", "arm", "arm with friction"])
def test_limits_hold_along_the_motion_by_an_independent_dynamics(robot: str) -> None:
    model = limited() if robot.startswith("arm") else load_robot(robot)
    if robot == "arm with friction":
        model = replace(model, links=tuple(replace(x, friction=(2.0,), coulomb=6.0) for x in model.links))
    motion = choose_motion(model, FRICTION)
    assert (motion.centre - motion.amplitude >= model.limits("lower")).all()
    assert (motion.centre + motion.amplitude <= model.limits("upper")).all()
    speed = 2.0 * np.pi * motion.frequency * motion.amplitude
    assert (speed <= FASTEST * model.limits("velocity") * (1.0 + 1e-12)).all()
    share = np.abs(independent_efforts(model, motion)) / motion.effort + FRICTION
    assert share.max() == pytest.approx(motion.share, rel=1e-9)
    own = (6.0 + 2.0 * speed) / motion.effort if robot == "arm with friction" else np.zeros(model.n)
    assert (share.max(axis=0) <= np.minimum(EFFORT + own, WITH_FRICTION) + 1e-12).all()
    mass = sum(link.inertia.mass for link in model.links)
    assert LEAST * mass <= motion.payload <= PAYLOAD * mass * (1.0 + 1e-12)


def test_all_joints_move_where_they_have_room() -> None:
    motion = choose_motion(limited(), FRICTION)
    assert (motion.amplitude == pytest.approx(list(LARGEST.values())[0])) and motion.payload > 0.0


def test_little_room_and_slow_joints_make_it_smaller() -> None:
    motion = choose_motion(limited(lower=-0.1, upper=0.1), FRICTION)
    assert motion.amplitude.min() > 0.0 and (np.abs(motion.centre) + motion.amplitude < 0.1).all()
    slow = choose_motion(limited(velocity=0.1), FRICTION)
    assert (slow.amplitude <= FASTEST * 0.1 / (2.0 * np.pi * slow.frequency) * (1.0 + 1e-12)).all()


def test_weak_joints_carry_less_and_ones_that_are_too_weak_are_named() -> None:
    strong, weak = choose_motion(limited(), FRICTION), choose_motion(limited(effort=12.0), FRICTION)
    assert weak.payload <= strong.payload and weak.share <= EFFORT + 1e-9
    with pytest.raises(ModelError, match=r"the arm of 2.5 kg carries 0 kg: arm\d_joint needs .* of 0.2 N·m"):
        choose_motion(limited(effort=0.2), FRICTION)


def test_an_arm_without_a_mass_is_refused() -> None:
    nothing = limited()
    weightless = replace(nothing, links=tuple(replace(link, inertia=Inertia()) for link in nothing.links))
    with pytest.raises(ModelError, match="no link that moves has a mass; valid: inertial elements"):
        choose_motion(weightless, FRICTION)


def test_without_limits_of_effort_they_are_what_the_motion_needs_and_as_much_again() -> None:
    motion = choose_motion(limited(effort=0.0), FRICTION)
    assert np.isfinite(motion.effort).all() and (motion.effort > 0.0).all()
    assert motion.share - FRICTION == pytest.approx(1.0 / WITHOUT_LIMIT)
    assert motion.payload == pytest.approx(PAYLOAD * 2.5)


def test_it_is_the_same_every_time() -> None:
    first, second = choose_motion(limited(), FRICTION), choose_motion(limited(), FRICTION)
    np.testing.assert_array_equal(first.centre, second.centre)
    assert first.payload == second.payload
