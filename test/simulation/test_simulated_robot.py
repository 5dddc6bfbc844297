"""The arm of the simulation node without ROS: where it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.robot import RobotOptions, SimulatedRobot

AXES = {"stretched": ("0 0 1", "0 1 0", "0 1 0", "0 0 1"), "bent": ("0 0 1", "0 1 0", "1 0 0", "0 1 0")}
"""Of joints one above the other: the first and last of the first arm turn about one line at zero."""


def arm(
    folder: Path, axes: tuple[str, ...], lower: float = -2.0, effort: float = 100.0, **options: Any
) -> SimulatedRobot:
    inertial = '<inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="l{k}">{inertial}</link>' for k in range(len(axes) + 1))
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="0 0 .3"/>'
        f'<axis xyz="{axis}"/><limit lower="{lower}" upper="2" effort="{effort}" velocity="3"/></joint>'
        for k, axis in enumerate(axes)
    )
    file = folder / "arm.urdf"
    file.write_text(f'<robot name="arm">{links}{joints}</robot>', encoding="utf-8")
    given: dict[str, Any] = {"joints": (), "plant": PlantOptions()} | options
    return SimulatedRobot(RobotOptions(urdf=file, reading={}, period=1e-3, **given))


def smallest(robot: SimulatedRobot, q: np.ndarray) -> float:
    """Of the singular values of J, by finite differences of the pose."""
    step = 1e-6
    columns = []
    for k in range(robot.n):
        positions, rotations = robot.plant.poses(q + np.outer((-step, step), np.eye(robot.n)[k]))
        turn = (rotations[1] - rotations[0]) @ rotations[0].T / (2.0 * step)
        columns.append([*(positions[1] - positions[0]) / (2.0 * step), turn[2, 1], turn[0, 2], turn[1, 0]])
    return float(np.linalg.svd(np.array(columns).T, compute_uv=False)[-1])


def test_an_arm_that_is_singular_at_zero_starts_bent(tmp_path: Path) -> None:
    robot = arm(tmp_path, AXES["stretched"])
    assert smallest(robot, np.zeros(4)) < 1e-6
    assert smallest(robot, robot.q_start) > 0.1
    assert (np.abs(robot.q_start) <= 1.0).all()  # the middle half of the range
    np.testing.assert_array_equal(arm(tmp_path, AXES["stretched"]).q_start, robot.q_start)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2), (1, 3, 2, 0), (2, 0, 3, 1)])
def test_an_arm_is_the_same_in_any_order_of_its_joints(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Lists of values are in that order; where none are given, the arm starts at the same place."""
    plain, names, values = arm(tmp_path, AXES["stretched"]), [f"j{k}" for k in order], np.array([0.1, 0.2, 0.3, 0.4])
    other = arm(tmp_path, AXES["stretched"], joints=tuple(names))
    np.testing.assert_allclose(other.q_start, plain.q_start[[*order]], rtol=0, atol=1e-12)
    runs = []
    for joints, places in ((("j0", "j1", "j2", "j3"), range(4)), (tuple(names), order)):
        given = tuple(values[[*places]])
        robot = arm(
            tmp_path,
            AXES["stretched"],
            joints=joints,
            q_start=given,
            plant=PlantOptions(friction={"viscous": given}, torque_lag=given),
        )
        for _ in range(20):
            robot.command(10.0 * np.array(given))
            robot.advance()
        runs.append(dict(zip(joints, robot.plant.q, strict=True)))
    assert runs[0] == pytest.approx(runs[1], rel=1e-12)


def test_another_starts_at_zero_or_in_the_middle_of_its_range(tmp_path: Path) -> None:
    np.testing.assert_array_equal(arm(tmp_path, AXES["bent"]).q_start, np.zeros(4))
    np.testing.assert_array_equal(arm(tmp_path, AXES["bent"], lower=0.5).q_start, np.full(4, 1.25))


@pytest.mark.parametrize("effort", [8.0, 0.1])
def test_weak_joints_hold_the_start(tmp_path: Path, effort: float) -> None:
    """By half of their efforts; where these hold no posture, the lightest of them: those are drawn here alike."""
    robot = arm(tmp_path, AXES["stretched"], effort=effort)
    drawn = np.random.default_rng(0).uniform(-1.0, 1.0, (100, 4))
    least = min(np.abs(robot.plant.gravity(q)).max() for q in drawn)
    assert np.abs(robot.plant.gravity(robot.q_start)).max() <= max(0.5 * effort, least + 1e-9)
