"""The elastic Panda on references of every type: their jerk and snap reach its law, which follows them as sinusoids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from evaluation import robot_file

from thunder_controllers import simulate
from thunder_controllers.references.sinusoids import JointLissajous
from thunder_controllers.references.users import Checked
from thunder_dynamics.errors import ScenarioError

FROM, TO = (0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8), (0.5, -0.8, 0.5, -1.7, -0.6, 2.3, 1.5)
WAVES = {
    "type": "joint_lissajous",
    "centre": FROM,
    "amplitude": 0.3,
    "frequency": (0.5, 0.6, 0.7, 0.8, 0.9, 0.55, 0.65),
    "phase": (0.1, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
}
UNKNOWN = {"jerk": 0.0, "snap": 0.0}
DURATION = 1.5


def _error(reference: Any) -> float:
    """Mean of ‖q_d − q‖ over the run but its first 0.2 s, from a start on the reference [rad]."""
    run = simulate(
        robot_file("panda_elastic"),
        law="slotine_li_elastic",
        options={"adaptation": "none"},
        reference=reference,
        plant={"engine": "model", "velocity": "exact"},
        start={"q": FROM, "on_reference": True, "velocity": "reference"},
        check_reference=False,
        duration=DURATION,
    )
    return float(np.linalg.norm(run.trace.error, axis=1)[200:].mean())


@pytest.mark.slow
def test_every_reference_of_joints_is_followed_as_well_as_a_sinusoid() -> None:
    """What states that jerk and snap are zero, as of an unknown reference, costs three times the error or more."""
    steady = _error(WAVES)
    assert _error({**WAVES, "further": UNKNOWN}) > 3.0 * steady
    polynomial = {"type": "joint_polynomial", "start": FROM, "end": TO, "time": 1.0}
    path = {"type": "joint_path", "positions": [FROM, TO]}
    for reference in ({**polynomial, "degree": 5}, {**polynomial, "degree": 9}, path):
        assert 3.0 * (error := _error(reference)) < _error({**reference, "further": UNKNOWN})
        assert error < steady
    waves = JointLissajous.model_validate(WAVES)
    t = np.linspace(0.0, DURATION, 151)
    n = len(FROM)
    for same in ((t, waves.sample(t)[:, :n]), lambda time: waves.sample(np.array([time]))[0, :n], waves):
        assert _error(same) == pytest.approx(steady, rel=1e-3)


@pytest.mark.slow
def test_rates_of_a_reference_of_ones_own_have_a_column_for_each_joint() -> None:
    class Narrow:
        def sample(self, t: np.ndarray) -> np.ndarray:
            return np.hstack([np.tile(FROM, (len(t), 1)), np.zeros((len(t), 14))])

        def further_rates(self, t: np.ndarray) -> dict[str, np.ndarray]:
            return {"jerk": np.zeros((len(t), 3)), "snap": np.zeros((len(t), 7))}

    with pytest.raises(ScenarioError, match=r"reference: a jerk of shape \(1500, 3\); valid: \(1500, 7\), a row for"):
        _error(Narrow())


def test_rates_of_a_reference_of_ones_own_are_handed_on_or_told_where_they_are_wrong() -> None:
    class Own:
        def __init__(self, rates: Any) -> None:
            self.rates = rates

        def sample(self, t: np.ndarray) -> np.ndarray:
            return np.zeros((len(t), 3))

        def further_rates(self, t: np.ndarray) -> Any:
            return self.rates

    t = np.linspace(0.0, 1.0, 3)
    found = Checked(Own({"jerk": [[1.0]] * 3, "snap": [[2.0]] * 3}), "own").further_rates(t)
    np.testing.assert_array_equal([found["jerk"], found["snap"]], [[[1.0]] * 3, [[2.0]] * 3])
    assert Checked(type("Less", (), {"sample": Own.sample})(), "less").further_rates(t) == {}
    with pytest.raises(ScenarioError, match="own: further_rates raises KeyError: 'snap'; valid: a row for every time"):
        Checked(Own({"jerk": [[1.0]] * 3}), "own").further_rates(t)
    with pytest.raises(
        ScenarioError, match=r"shape \(2, 1\), or not finite, for 3 times; valid: finite, \(N, n\) each"
    ):
        Checked(Own({"jerk": [[1.0]] * 2, "snap": [[2.0]] * 3}), "own").further_rates(t)
