"""References through rows: beside motions known in closed form, and beside differences of what they say."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from watchdog import watched

from thunder_controllers.references.sinusoids import JointLissajous, Lissajous
from thunder_controllers.references.table import JointTable, PoseTable, Sampled, table_of
from thunder_controllers.references.table_file import Csv
from thunder_controllers.references.trajectories import (
    ACCELERATION,
    POSITION,
    ROTATION,
    TWIST,
    Follower,
    Reference,
)
from thunder_dynamics.errors import ScenarioError, ThunderError
from thunder_dynamics.storage.door import TABLE

FloatArray = NDArray[np.float64]

MOTION = Lissajous(
    centre=(0.4, 0.0, 0.5),
    amplitude=(0.1, 0.2, 0.1),
    frequency=(0.5, 0.3, 0.7),
    phase=0.3,
    swing=(0.5, 0.4, 0.3),
    swing_frequency=0.6,
)
T = np.linspace(0.0, 2.0, 201)
BETWEEN = np.linspace(0.0, 2.0, 1237)


def _poses(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    turn = rows[:, ROTATION].reshape(-1, 3, 3).transpose(0, 2, 1)
    return rows[:, POSITION], Rotation.from_matrix(turn).as_quat()


def test_a_spline_of_poses_is_the_motion_that_was_sampled() -> None:
    found = PoseTable(T, *_poses(MOTION.sample(T))).sample(BETWEEN)
    exact = MOTION.sample(BETWEEN)
    inside = slice(40, -40)  # the ends of a spline know one side only
    for part, tolerance in ((POSITION, 1e-9), (ROTATION, 1e-9), (TWIST, 1e-7), (ACCELERATION, 1e-4)):
        np.testing.assert_allclose(found[inside, part], exact[inside, part], atol=tolerance)
        np.testing.assert_allclose(found[:, part], exact[:, part], atol=500.0 * tolerance)


def test_given_derivatives_are_followed_exactly_at_the_rows_and_closely_between() -> None:
    rows = MOTION.sample(T)
    table = PoseTable(T, *_poses(rows), (rows[:, TWIST], rows[:, ACCELERATION]))
    np.testing.assert_allclose(table.sample(T), rows, atol=1e-9)
    np.testing.assert_allclose(table.sample(BETWEEN), MOTION.sample(BETWEEN), atol=1e-4)


@pytest.mark.parametrize("given", [False, True])
def test_derivatives_are_those_of_the_curve_itself(given: bool) -> None:
    """Also of a coarse table, whose curve is far from the motion: central differences agree to their own error."""
    coarse = MOTION.sample(T[::20])
    table = PoseTable(T[::20], *_poses(coarse), (coarse[:, TWIST], coarse[:, ACCELERATION]) if given else None)
    t, h = np.linspace(0.05, 1.95, 64), 1e-5
    before, now, after = (table.sample(t + shift) for shift in (-h, 0.0, h))
    np.testing.assert_allclose((after - before)[:, POSITION] / (2 * h), now[:, TWIST][:, :3], atol=1e-8)
    R = [rows[:, ROTATION].reshape(-1, 3, 3).transpose(0, 2, 1) for rows in (before, after)]
    omega = Rotation.from_matrix(R[1] @ R[0].transpose(0, 2, 1)).as_rotvec() / (2 * h)
    np.testing.assert_allclose(omega, now[:, TWIST][:, 3:], atol=1e-7)
    np.testing.assert_allclose((after - before)[:, TWIST] / (2 * h), now[:, ACCELERATION], atol=1e-6)


def test_signs_of_quaternions_do_not_matter() -> None:
    position, quaternion = _poses(MOTION.sample(T))
    signs = np.where(np.arange(len(T)) % 3 == 0, -1.0, 1.0)[:, None]
    rows = [PoseTable(T, position, turn).sample(BETWEEN) for turn in (quaternion, signs * quaternion)]
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-12)


def test_homogeneous_matrices_and_whole_samples_are_poses_too() -> None:
    rows = MOTION.sample(T)
    T_0_ee = np.tile(np.eye(4), (len(T), 1, 1))
    T_0_ee[:, :3, 3] = rows[:, POSITION]
    T_0_ee[:, :3, :3] = rows[:, ROTATION].reshape(-1, 3, 3).transpose(0, 2, 1)
    by_quaternion = PoseTable(T, *_poses(rows)).sample(BETWEEN)
    np.testing.assert_allclose(table_of(T, T_0_ee, True).sample(BETWEEN), by_quaternion, atol=1e-9)
    np.testing.assert_allclose(table_of(T, rows, True).sample(T), rows, atol=1e-9)


@pytest.mark.parametrize(
    "function",
    [
        lambda t: [np.sin(t), t**2],
        lambda t: ([np.sin(t), t**2], [np.cos(t), 2 * t], [-np.sin(t), 2.0]),
    ],
    ids=["positions", "all"],
)
def test_a_function_of_time_of_joints(function: Callable[[float], Any]) -> None:
    sine, cosine = np.sin(T), np.cos(T)
    exact = np.stack([sine, T**2, cosine, 2 * T, -sine, np.full_like(T, 2.0)], axis=1)
    np.testing.assert_allclose(Sampled(function, False).sample(T), exact, atol=1e-6)


def test_a_function_of_time_of_a_pose() -> None:
    def pose(t: float) -> tuple[FloatArray, FloatArray]:
        row = MOTION.sample(np.array([t]))[0]
        return row[POSITION], row[ROTATION].reshape(3, 3).T

    np.testing.assert_allclose(Sampled(pose, True).sample(T), MOTION.sample(T), atol=1e-2)
    np.testing.assert_allclose(Sampled(pose, True).sample(T)[:, :12], MOTION.sample(T)[:, :12], atol=1e-9)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize(
    ("rate", "digits", "told"), [(100, 16, (True, True)), (100, 6, (True, False)), (1000, 4, (False, False))]
)
def test_a_table_of_joints_gives_jerk_and_snap_where_rounding_has_left_them(
    given: bool, rate: int, digits: int, told: tuple[bool, bool]
) -> None:
    """With rates given, six digits leave no jerk: a quintic between two rows has more of the rounding."""
    waves = JointLissajous(centre=(0.0, 0.5), amplitude=(0.3, 0.2), frequency=(0.5, 0.9), phase=(0.3, 1.0))
    t = np.linspace(0.0, 2.0, 2 * rate + 1)
    q, qd, qdd = np.split(waves.sample(t).round(digits), 3, axis=1)
    table = JointTable(t, q, (qd, qdd) if given else None)
    found, exact = table.further_rates(BETWEEN), waves.further_rates(BETWEEN)
    inside = slice(100, -100)
    for name, is_told in zip(("jerk", "snap"), told, strict=True):
        off = np.abs(found[name] - exact[name])[inside].max() / np.abs(exact[name]).max()
        if digits == 16:
            assert off < 1e-3
        elif not is_told:
            assert not found[name].any()
        else:
            assert not found[name].any() if given else off < 0.5


def test_a_function_is_asked_once_at_every_time_whatever_is_asked_of_it() -> None:
    asked: list[float] = []

    def function(time: float) -> list[float]:
        asked.append(time)
        return [np.sin(time)]

    sampled = Sampled(function, False)
    np.testing.assert_allclose(sampled.sample(T)[:, 1], np.cos(T), atol=1e-6)
    rates = sampled.further_rates(T)
    np.testing.assert_allclose(rates["jerk"][10:-10, 0], -np.cos(T)[10:-10], atol=1e-4)
    np.testing.assert_allclose(rates["snap"][10:-10, 0], np.sin(T)[10:-10], atol=1e-2)
    assert asked == T.tolist()
    assert Sampled(lambda time: np.array([0.4, 0, 0.5, 0, 0, 0, 1.0]), True).further_rates(T) == {}


def test_a_table_rests_after_its_end_if_it_ends_at_rest() -> None:
    at_rest = JointTable(T, (1.0 - np.cos(np.pi * T))[:, None])
    row = at_rest.sample(np.array([0.0, 3.0]))[1]
    np.testing.assert_allclose(row, 0.0, atol=1e-12)
    with pytest.raises(ThunderError, match="the table ends at 2 s in motion, the run at 3 s; valid: a run of 2 s"):
        JointTable(T, T[:, None]).sample(np.array([0.0, 3.0]))


def _read(path: Path, cartesian: bool = False) -> Reference:
    """Of a robot with the joints a and b."""
    library: Any = SimpleNamespace(joint_names=("a", "b"), joint_topology=np.zeros(2, dtype=int))
    return Csv(file=path.name).build_for(Follower(library, cartesian, path.parent))


def _joint_file(folder: Path, header: str, rows: FloatArray) -> Path:
    path = folder / "table.csv"
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.17g")
    return path


def test_columns_of_joints_by_number_or_by_name_with_derivatives_or_without(tmp_path: Path) -> None:
    sine, cosine = np.sin(T), np.cos(T)
    q, qd, qdd = (np.column_stack(pair) for pair in ((sine, cosine), (cosine, -sine), (-sine, -cosine)))
    plain = _read(_joint_file(tmp_path, "t,q1,q2", np.column_stack([T, q])))
    swapped = np.column_stack([T, q[:, ::-1], qd[:, ::-1], qdd[:, ::-1]])
    kinds = ("position", "velocity", "acceleration")
    header = ",".join(["t", *(f"{joint}.{kind}" for kind in kinds for joint in "ba")])
    named = _read(_joint_file(tmp_path, header, swapped))
    np.testing.assert_allclose(plain.sample(T), np.hstack([q, qd, qdd]), atol=1e-5)
    np.testing.assert_allclose(named.sample(T), np.hstack([q, qd, qdd]), atol=1e-12)


def test_columns_of_poses_by_quaternion_or_by_angles(tmp_path: Path) -> None:
    position, quaternion = _poses(MOTION.sample(T))
    angles = Rotation.from_quat(quaternion).as_euler("ZYX")
    tables = [
        _read(_joint_file(tmp_path, header, np.column_stack([T, position, turn])), True)
        for header, turn in (("t,x,y,z,qx,qy,qz,qw", quaternion), ("t,x,y,z,yaw,pitch,roll", angles))
    ]
    np.testing.assert_allclose(tables[0].sample(BETWEEN), tables[1].sample(BETWEEN), atol=1e-9)


GOOD = "t,q1,q2\n0,0,0\n1,0,1\n2,0,0\n3,0,1\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("q2", "q3", ":1: no column q2; valid: t, q1, q2"),
        ("q2", "qd1", ":1: no column q2, qd2, qdd1, qdd2; valid: t, q1, q2, qd1, qd2, qdd1, qdd2"),
        ("1,0,1", "1,0,one", ":3: 'one' in column q2; valid: a number"),
        ("1,0,1", "1,0", ":3: 2 cells; valid: 3, as line 1 has"),
        ("1,0,1", "1,0,1.7e308", ": times of shape (4,) and values of shape (4, 2); valid: finite, at most 1e+15"),
        ("1,0,1", "1,0,nan", ": times of shape (4,) and values of shape (4, 2); valid: finite"),
        (
            "1,0,1",
            "1e-120,0,1",
            ": the curve through the rows is too steep at t = 0 s; valid: times that are further apart",
        ),
        ("0,0,0\n", "5,0,0\n", ": time 5 s in row 0; valid: times from 0 on that rise"),
        ("2,0,0", "1,0,0", ": time 1 s in row 2; valid: times from 0 on that rise"),
        ("3,0,1\n", "", ": 3 rows; valid: 4 or more"),
        ("t,q1,q2", "t,q1,q1", ":1: columns: twice q1; valid: t, q1, each once"),
        (GOOD, "", ": no rows; valid: a line of names, then numbers"),
    ],
)
def test_a_bad_file_is_told_by_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ThunderError) as caught:
        _read(path)
    assert str(caught.value).startswith(f"{path}{message}")


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (os.mkfifo, "it is no regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "it is no regular file"),
        (lambda path: os.truncate(path.open("w").name, TABLE.largest + 1), "it is larger than 1048576 KiB"),
        (Path.mkdir, "it is no regular file"),
    ],
    ids=["pipe", "device", "endless", "folder"],
)
def test_what_is_no_file_of_a_sensible_size_is_refused_at_once(
    tmp_path: Path, place: Callable[[Path], object], reason: str
) -> None:
    place(tmp_path / "table.csv")
    with watched(), pytest.raises(ScenarioError, match=reason):
        _read(tmp_path / "table.csv")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JointTable(T, T[:, None], (10 * np.ones((201, 1)), np.zeros((201, 1)))), "the rates are not those of"),
        (lambda: PoseTable(T, np.zeros((201, 3)), np.full((201, 4), 0.6)), "a quaternion of norm 1.2 at 0 s"),
        (
            lambda: PoseTable(range(4), np.zeros((4, 3)), np.eye(4)),
            "a turn of 180° from 0 to 1 s; valid: less than 90°",
        ),
        (lambda: table_of(T, np.zeros((201, 4, 4)), True), "row 0 has no rotation matrix"),
        (lambda: table_of(T, np.zeros((201, 5)), True), "values of shape (201, 5); valid: poses (4, 4)"),
    ],
)
def test_rows_that_are_no_motion_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ThunderError, match=re.escape(message)):
        make()
