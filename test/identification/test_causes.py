"""Records of a planar arm with one thing wrong each, as `benchmarks/identify_causes.py` spoils them: what is named."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import identify_causes as causes

from thunder_controllers.identification.diagnosis import LAG
from thunder_controllers.identification.motion import Fault, Record, UnsoundError
from thunder_controllers.identification.robot_fit import RobotFit, fit_robot

PLANAR = list(causes.CENTRES).index("planar3r")
SEEDS = range(PLANAR + len(causes.CENTRES), 1000, len(causes.CENTRES))
"""Of records of the planar arm."""


def fit(one: causes.Draw, effort: np.ndarray | None = None) -> RobotFit:
    record = Record(one.q, one.effort if effort is None else effort, causes.RATE)
    return fit_robot(one.library, record, range(one.n))


@pytest.mark.parametrize("kind", causes.KINDS)
def test_the_true_cause_is_named_first(kind: str, build_cache: object) -> None:
    done = causes.one_case(kind, SEEDS[0])
    assert (done["arm"], done["first"]) == ("planar3r", done["wanted"]), done["said"]
    assert "{" not in done["said"], "joints are named"


@pytest.mark.parametrize("milliseconds", [-20.0, -3.0, 0.0, 3.0, 4.0, 8.0, 40.0])
def test_a_lag_is_found_within_a_millisecond(milliseconds: float, build_cache: object) -> None:
    """Taken out where it is small, so that friction is right, and refused where it is not; early is late, negative."""
    one = causes.draw("planar3r", SEEDS[1], "right")
    one.delayed(np.full(one.n, 1e-3 * milliseconds))
    found = fit(one)
    np.testing.assert_allclose(found.lag.size, 1e-3 * milliseconds, atol=1e-3)
    assert (abs(milliseconds) <= 1e3 * LAG) == (found.diagnosis.other is None)
    one.delayed(np.zeros(one.n))
    np.testing.assert_allclose(found.joints[:, :2], fit(one).joints[:, :2], atol=0.02)


def test_the_joint_whose_efforts_are_late_is_named(build_cache: object) -> None:
    one = causes.draw("planar3r", SEEDS[1], "right")
    one.delayed(np.array([0.0, 0.02, 0.0]))
    with pytest.raises(
        UnsoundError, match=r"efforts are late: joint2 by (19|20)\.\d ± \d\.\d ms; valid: efforts within"
    ):
        fit(one).check_sound(one.library.joint_names)


def test_efforts_at_a_limit_that_the_arm_feels_are_right(build_cache: object) -> None:
    """Equal efforts at a limit are no sign of a clipped record where the model explains them."""
    one = causes.draw("planar3r", SEEDS[1], "right")
    effort = one.effort.copy()
    held = np.argsort(effort[:, 0])[-100:]
    effort[held, 0] = effort[held, 0].max()  # 3 % of the record, within the noise
    assert fit(one, effort).diagnosis.other is None


def test_gravity_that_is_held_elsewhere_is_told_with_its_share(build_cache: object) -> None:
    one = causes.draw("planar3r", SEEDS[1], "right")
    with pytest.raises(UnsoundError, match=r"efforts are without gravity: they have \d% of the robot file's") as caught:
        fit(one, one.effort - one.gravity).check_sound(one.library.joint_names)
    assert caught.value.fault == Fault.GRAVITY


def test_an_arm_at_rest_excites_nothing(build_cache: object) -> None:
    one = causes.draw("planar3r", SEEDS[1], "right")
    one.q[:] = one.q[0]
    with pytest.raises(UnsoundError, match="does not excite all base .*; joint1 stands still; joint2 stands") as caught:
        fit(one).check_sound(one.library.joint_names)
    assert caught.value.fault == Fault.UNEXCITED


@pytest.mark.parametrize(
    ("samples", "missing", "said", "fault"),
    [
        (3000, (500, 1), "the position of joint 2 is no number after 2 s, 1 in all", Fault.NOT_MEASURED),
        (300, (), "300 samples at 250 Hz", Fault.SHORT),
        (450, (), "efforts for 18 unknowns; valid: a record of at least", Fault.SHORT),
    ],
)
def test_each_flaw_is_an_error_of_its_own(
    samples: int, missing: tuple[int, ...], said: str, fault: Fault, build_cache: object
) -> None:
    one = causes.draw("planar3r", SEEDS[1], "right")
    q = one.q[:samples]
    if missing:
        q[missing] = np.nan
    with pytest.raises(UnsoundError, match=said) as caught:
        fit_robot(one.library, Record(q, one.effort[:samples], causes.RATE), range(one.n))
    assert caught.value.fault == fault
