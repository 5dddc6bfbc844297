"""The search for the pose where an arm is lightest: its gradients, what it takes from five poses, what it finds."""

from __future__ import annotations

import numpy as np
import pytest
from evaluation import load_robot
from numpy.typing import NDArray

from thunder_controllers.laws.parts.worst_pose import (
    PLACES,
    ArmInertia,
    Value,
    axis_mobility,
    box_mobility,
    fastest_damping,
    joint_mobility,
    task_mobility,
)
from thunder_dynamics.expressions import RobotExpressions

FloatArray = NDArray[np.float64]

VALUES: dict[str, Value] = {
    "fastest damping": fastest_damping(np.array([3.0, 1.0, 0.5])),
    "joint": joint_mobility(1),
    "task": task_mobility(slice(3)),
    "axis": axis_mobility(8),
    "box": box_mobility(slice(6, 9), np.array([1.0, 2.0, 3.0])),
}


@pytest.fixture(scope="module")
def arm() -> ArmInertia:
    """Revolute, prismatic, revolute."""
    return ArmInertia(RobotExpressions(load_robot("rpr")), (2,))


@pytest.mark.parametrize("name", VALUES)
def test_gradients_are_those_of_finite_differences(arm: ArmInertia, name: str) -> None:
    """Of the logarithm, central: h² and rounding over h are 1e-9 each."""
    q, h = np.random.default_rng(1).uniform(0.2, 1.0, (4, 3)), 1e-5
    value, gradient = arm._rated([VALUES[name]], q)
    for joint in range(3):
        step = h * np.eye(3)[joint]
        after, before = (np.log(arm._rated([VALUES[name]], q + sign * step)[0]) for sign in (1.0, -1.0))
        np.testing.assert_allclose(gradient[:, joint], (after - before) / (2.0 * h), atol=1e-7)
    assert (value > 0.0).all()


@pytest.mark.parametrize("joint", range(3))
def test_five_poses_tell_of_every_place_of_a_joint(arm: ArmInertia, joint: int) -> None:
    q, places = np.random.default_rng(2).uniform(0.2, 1.0, (2, 3)), np.linspace(-2.0, 3.0, PLACES)
    poses = np.repeat(q, PLACES, axis=0)
    poses[:, joint] = np.tile(places, 2)
    for along, there in zip(arm._along(joint, places, q), arm._at(poses), strict=True):
        np.testing.assert_allclose(along, there, rtol=0.0, atol=1e-12 * abs(there).max())


@pytest.mark.parametrize("name", VALUES)
def test_no_random_pose_has_more_than_what_is_found(arm: ArmInertia, name: str) -> None:
    found = arm.largest(VALUES[name])
    random = np.random.default_rng(3).uniform(arm._lower, arm._upper, (2000, 3))
    assert VALUES[name](*arm._at(random)).value.max() <= found * (1.0 + 1e-4)  # where an ascent ends


def test_values_that_are_searched_together_are_found_as_each_alone(arm: ArmInertia) -> None:
    values = [joint_mobility(joint) for joint in range(3)]
    together, poses = arm.largest_of(values)
    alone = [arm.largest_of([value])[0][0] for value in values]
    np.testing.assert_allclose(together, alone, rtol=1e-3)
    M, _ = arm._at(poses)
    np.testing.assert_allclose(np.linalg.inv(M)[range(3), range(3), range(3)], together, rtol=1e-9)
