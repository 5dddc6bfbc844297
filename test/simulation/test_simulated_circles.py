"""An arm with joints that turn without end in simulation: what wraps at ±π gives the motion of what never does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thunder_controllers import simulate
from thunder_controllers.identification.records import read_record
from thunder_dynamics.errors import NameNotFoundError
from thunder_dynamics.readers import load_model

pytestmark = pytest.mark.slow

TURN = 2.0 * np.pi
BODY = '<inertial><origin xyz="0 0 0.2"/><mass value="2"/>' + (
    '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LINK = '<link name="l{0}">' + BODY + "</link>"
JOINT = (
    '<joint name="j{0}" type="{1}"><parent link="{2}"/><child link="l{0}"/><origin xyz="0 0 0.3"/><axis xyz="{3}"/>'
    '<limit lower="-2.9" upper="2.9" velocity="2" effort="80"/></joint>'
)
ARM = (
    '<robot name="turning"><link name="base"/>'
    + "".join(map(LINK.format, (1, 2, 3)))
    + JOINT.format(1, "continuous", "base", "0 0 1")
    + JOINT.format(2, "revolute", "l1", "0 1 0")
    + JOINT.format(3, "continuous", "l2", "0 1 0")
    + "</robot>"
)
START = (3.0, 0.5, -3.0)
MOTION = {"type": "joint_path", "positions": [START, (3.6, 0.2, -3.5), START], "velocity": 1.0}
FAR = {"type": "joint_path", "positions": [START, (3.6 - TURN, 0.2, -3.5 + 2.0 * TURN), START], "velocity": 1.0}
STREAM = {"velocity": "differences", "noise": {"q_std": 1e-5}}


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("arm") / "turning.urdf"
    path.write_text(ARM, encoding="utf-8")
    return path


def _run(arm: Path, reference: Any = MOTION, engine: str = "mujoco", **plant: Any) -> Any:
    urdf = {} if engine == "mujoco" else {"engine": engine}
    return simulate(
        arm, law="slotine_li", reference=reference, duration=4.0, start=START, plant={**STREAM, **urdf, **plant}
    )


@pytest.mark.parametrize("engine", ["mujoco", "model"])
def test_a_reading_that_wraps_moves_the_arm_as_one_that_does_not(arm: Path, engine: str) -> None:
    whole, wrapped = _run(arm, engine=engine), _run(arm, engine=engine, wrapped=("j1", "j3"))
    assert whole.fault is None and wrapped.fault is None
    assert np.ptp(whole.trace.q[:, 0]) > 0.5, "it crosses π"
    np.testing.assert_allclose(wrapped.trace.q, whole.trace.q, atol=1e-9)
    np.testing.assert_allclose(wrapped.trace.q_measured, whole.trace.q_measured, atol=1e-9)


def test_positions_that_are_written_at_another_turn_are_the_same_motion(arm: Path) -> None:
    np.testing.assert_allclose(_run(arm, FAR).trace.reference, _run(arm).trace.reference, atol=1e-9)
    steps = {"type": "joint_steps", "steps": [{"time": 0.0, "q": [START[0] - TURN, 0.5, START[2] + TURN]}]}
    done = _run(arm, steps)
    assert done.fault is None and np.ptp(done.trace.q, axis=0).max() < 0.05


def test_a_table_that_wraps_is_followed(arm: Path, tmp_path: Path) -> None:
    whole = _run(arm)
    rows = whole.trace.reference[::20, :3].copy()
    rows[:, [0, 2]] = np.remainder(rows[:, [0, 2]] + np.pi, TURN) - np.pi
    table = np.column_stack([whole.trace.t[::20], rows])
    np.savetxt(tmp_path / "table.csv", table, delimiter=",", header="t,q1,q2,q3", comments="")
    done = _run(arm, str(tmp_path / "table.csv"))
    np.testing.assert_allclose(done.trace.reference[:, :3], whole.trace.reference[:, :3], atol=1e-3)
    assert done.fault is None


def test_the_trace_of_a_wrapped_reading_is_the_record_of_the_motion(arm: Path, tmp_path: Path) -> None:
    done = _run(arm, wrapped=("j1", "j3"))
    done.trace.save(tmp_path / "run.npz")
    model = load_model(arm)
    record = read_record(tmp_path / "run.npz", model.joint_names, circles=model.circles)
    np.testing.assert_allclose(record.q, done.trace.q[1:], atol=1e-3)


def test_only_joints_of_the_arm_wrap(arm: Path) -> None:
    with pytest.raises(NameNotFoundError, match="no joint 'j9'"):
        _run(arm, wrapped=("j9",))
