"""The plan of the start-up motion: within its bounds, at rest at both ends, refused where there is no room."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from described_arms import LIMIT, arm

from thunder_controllers.commissioning.plan import FASTEST, WAVE_SPEED, Budget, CommissioningError, Known, Planner
from thunder_controllers.host import Library
from thunder_dynamics.build import build
from thunder_dynamics.errors import DimensionError
from thunder_dynamics.readers import load_model

RATE = 500.0


@cache
def library(more: str = LIMIT) -> Library:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "three_joints.urdf"
        file.write_text(arm(3, more), encoding="utf-8")
        return Library(build(load_model(file), [("pd_plus", {"friction": "none"})]))


def planner(start: object = (0.2, -0.4, 0.5), **budget: object) -> Planner:
    return Planner(library(), np.array(start), RATE, Budget(**budget))


@pytest.mark.parametrize("is_last", [False, True])
def test_a_sweep_is_smooth_within_its_reach_and_rests_at_both_ends(is_last: bool) -> None:
    stage = planner().stage(Known.nothing(3), is_last=is_last)
    q, qd, qdd = stage.sweep
    assert np.abs(q - stage.start).max() < 0.1 and np.abs(qd).max() < 0.25
    assert np.abs(qd[[0, -1]]).max() < 1e-3 and np.abs(q[[0, -1]] - stage.start).max() < 1e-4
    np.testing.assert_allclose(np.gradient(q, 1.0 / RATE, axis=0)[1:-1], qd[1:-1], atol=2e-4)
    np.testing.assert_allclose(np.gradient(qd, 1.0 / RATE, axis=0)[1:-1], qdd[1:-1], atol=5e-3)


def test_inertia_takes_no_more_than_the_share_of_the_effort() -> None:
    known = Known(np.array([0.3, 0.1, 0.02]), *np.zeros((3, 3)), np.ones(3, dtype=bool))
    stage = planner().stage(known, is_last=True)
    J = np.diag(np.asarray(library().evaluate("M", stage.start))) + known.rotor
    taken = np.abs(J * stage.sweep[2]).max(axis=0) + np.abs(stage.wave).max(axis=0)
    assert (taken < 0.02 * np.asarray(library().effort_limit)).all()


def test_waves_move_joints_of_the_inertia_that_is_sure_no_faster_than_they_may() -> None:
    made = planner()
    known = Known.nothing(3)
    stage = made.stage(known, is_last=True)
    speed = np.cumsum(stage.wave, axis=0) / RATE / made.inertia(known)
    assert np.ptp(speed, axis=0).max() < 2.0 * WAVE_SPEED * 1.05


def test_gains_are_for_the_inertia_unless_friction_bears_more() -> None:
    made, known = planner(), Known.nothing(3)
    M = np.asarray(library().evaluate("M", [0.2, -0.4, 0.5]))
    _, K_d = made.gains(known, is_last=False)
    assert np.abs(np.linalg.eigvals(np.linalg.solve(M, np.diag(K_d)))).max() == pytest.approx(FASTEST)
    held = Known(*np.zeros((3, 3)), np.array([0.0, 0.0, 2.0]), np.zeros(3, dtype=bool))
    K_p, more = made.gains(held, is_last=False)
    assert more[2] > K_d[2] and (more[:2] == K_d[:2]).all() and (K_p > 0.0).all()


@pytest.mark.parametrize(
    ("start", "budget", "message"),
    [
        ((0.2, 1.95, 0.5), {}, r"arm2_joint: 0.05 from a limit of its position at 1.95; valid: 0.1 at least"),
        ((0.2, 0.0, -1.8), {"reach": 0.3}, r"arm3_joint: 0.2 from a limit"),
    ],
)
def test_a_joint_too_close_to_a_limit_is_refused(start: object, budget: dict[str, object], message: str) -> None:
    with pytest.raises(CommissioningError, match=message):
        planner(start, **budget)


def test_an_arm_without_limits_of_effort_is_refused() -> None:
    other = library('<limit lower="-2" upper="2" velocity="3" effort="0"/>')
    with pytest.raises(CommissioningError, match="no limit of the effort"):
        Planner(other, np.zeros(3), RATE, Budget())


def test_a_start_of_another_size_is_refused() -> None:
    with pytest.raises(DimensionError, match="2 values of q; valid: 3"):
        planner((0.0, 0.0))


def test_a_joint_that_stands_still_under_a_quarter_of_its_effort_is_not_reached() -> None:
    made, known = planner(), Known.nothing(3)
    held = Known(*np.zeros((3, 3)), np.array([0.0, 30.0, 0.0]), np.zeros(3, dtype=bool))
    stage = made.stage(held, is_last=False)
    still = np.where(np.arange(3) == 1, stage.start, stage.sweep[0])
    with pytest.raises(CommissioningError, match="arm2_joint: it stands still under"):
        made.learned(held, stage, still, known)
