"""The planar arm of `thunder experiment sns`, what its methods keep, and that its table keeps its criteria."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from thunder_controllers.commands.experiment import experiment as experiment_command
from thunder_studies.sns import BOUNDS, DT, STATES, keep_velocity, planar_arm, stop, within_reach

STEP = 1e-4
"""Of finite differences [s]."""


def test_the_arm_moves_as_its_jacobian_says() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, qd, qdd = rng.uniform(-3.0, 3.0, (3, 3))
        arm = planar_arm(q, qd)
        before, here, after = (planar_arm(q + t * qd + 0.5 * t**2 * qdd, qd).p for t in (-STEP, 0.0, STEP))
        np.testing.assert_allclose((after - before) / (2.0 * STEP), arm.J @ qd, atol=1e-5)
        np.testing.assert_allclose((after - 2.0 * here + before) / STEP**2, arm.J @ qdd + arm.drift, atol=1e-4)


def test_the_states_are_those_of_the_study() -> None:
    """End effectors at (0, 1), (0, 1), (1, 0), (1, 0); the third at rest there, but with joints that turn."""
    places = [planar_arm(*state).p for state in STATES.values()]
    np.testing.assert_allclose(places, [(0, 1), (0, 1), (1, 0), (1, 0)], atol=1e-12)
    singular = [np.linalg.svd(planar_arm(*state).J, compute_uv=False)[-1] < 1e-12 for state in STATES.values()]
    assert singular == [False, False, True, True]
    np.testing.assert_allclose(planar_arm(*STATES["C"]).J @ STATES["C"][1], 0.0, atol=1e-12)


@pytest.mark.parametrize("name", ["A", "B", "D"])
def test_an_end_effector_of_constant_velocity_leaves_the_reach(name: str) -> None:
    arm, time = planar_arm(*STATES[name]), within_reach(STATES[name])
    assert time is not None
    assert np.linalg.norm(arm.p + time * (arm.J @ STATES[name][1])) == pytest.approx(3.0)
    assert within_reach(STATES["C"]) is None


@pytest.mark.parametrize("method", ["SNS", "exact"])
def test_the_velocity_is_kept_within_bounds_where_clipping_loses_it(method: str) -> None:
    """The first instant asks 1.15 times the third joint's bound of the pseudo-inverse; reach ends after 0.471 s."""
    assert keep_velocity("clipped", STATES["A"]).kept == 0.0
    motion = keep_velocity(method, STATES["A"])
    assert motion.kept == pytest.approx(0.3575, abs=2.0 * DT)
    assert np.abs(motion.ratio).max() <= 1.0
    assert motion.deviation[round(motion.kept / DT)] < 2e-3
    given_up = round(motion.kept / DT)
    np.testing.assert_array_equal(motion.ratio[given_up], -np.sign(motion.qd[given_up]))


def test_no_acceleration_at_a_singularity_that_turns_out_of_range() -> None:
    """In C the links pull along the arm, where no joint can; in D their pulls cancel, and the velocity is kept."""
    assert keep_velocity("exact", STATES["C"]).kept == 0.0
    assert keep_velocity("exact", STATES["D"]).kept == pytest.approx(0.821, abs=2e-3)


def test_the_stop_ends_at_zero_and_its_sign_alone_chatters() -> None:
    qd = STATES["C"][1]
    ended, alone = (stop(name, qd)[0] for name in ("to zero", "sign alone"))
    assert not ended[-1].any() and (np.abs(alone[-1]) <= BOUNDS * DT * (1.0 + 1e-9)).all()
    flips = [(velocity[1:] * velocity[:-1] < 0.0).sum() for velocity in (ended, alone)]
    assert flips[0] == 0 < flips[1]


def test_the_experiment_keeps_its_criteria(tmp_path: Path) -> None:
    groups = [argument for group in ("instant", "accelerations", "random", "stop") for argument in ("--group", group)]
    result = CliRunner().invoke(experiment_command, ["sns", "--out", str(tmp_path), "--cases", "100", *groups])
    assert result.exit_code == 0, result.output
    table = json.loads((tmp_path / "table.json").read_text())
    assert [table["groups"]["instant"]["rows"][name]["feasible share"] for name in STATES] == [1.0, 1.0, 0.0, 1.0]
    assert (tmp_path / "stop_stop.png").stat().st_size > 10_000
    verdicts = {(one["row"], one["column"]): one["verdict"] for one in table["groups"]["accelerations"]["published"]}
    infeasible = verdicts.pop(("A, J⁺", "within bounds"))
    assert infeasible == "an error of the source: joint 3 needs 36.19, its bound is 31.42"
    assert len(verdicts) == 6 and set(verdicts.values()) == {"passes"}
