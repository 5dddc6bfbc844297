"""Metrics of traces whose answers are known in closed form."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from traces import TRUE_BODY, make_timing, make_trace

from thunder_controllers.simulation.metrics import compute_metrics, joint_drift, pose_error
from thunder_controllers.simulation.trace import BY_STEP, Timing, Trace
from thunder_dynamics.storage.whole import write_whole


def test_pose_error_is_distance_and_r_sin_theta() -> None:
    """For a turn by θ about r from actual to desired, e_o = r sin θ (theory.md §5)."""
    rng = np.random.default_rng(3)
    actual, turn = Rotation.random(20, rng), Rotation.random(20, rng)
    p, p_d = rng.normal(size=(2, 20, 3))
    R_d = (turn * actual).as_matrix().transpose(0, 2, 1).reshape(-1, 9)
    error = pose_error(np.hstack([p_d, R_d, np.zeros((20, 12))]), p, actual.as_matrix())
    vector = turn.as_rotvec()
    angle = np.linalg.norm(vector, axis=1, keepdims=True)
    np.testing.assert_allclose(error[:, :3], p_d - p, atol=1e-15)
    np.testing.assert_allclose(error[:, 3:], vector / angle * np.sin(angle), atol=1e-12)


def test_error_metrics_of_an_exponential() -> None:
    metrics = compute_metrics(make_trace(), make_timing())
    t = np.arange(1000) * 1e-2
    norm = 0.1 * np.exp(-t)
    assert metrics["final_error_norm"] == pytest.approx(norm[500:].mean(), rel=1e-12)  # the last 5 s of 10 s
    assert metrics["max_error_norm"] == pytest.approx(0.1, rel=1e-12)
    assert metrics["iae"] == pytest.approx(0.1, rel=1e-2)  # ∫ 0.1 e^−t dt, a sum of width 0.01
    assert metrics["duration"] == pytest.approx(10.0)
    assert metrics["wall_per_simulated_second"] == pytest.approx(0.05)


def test_a_run_shorter_than_five_seconds_is_averaged_whole() -> None:
    trace = make_trace(steps=100)
    assert compute_metrics(trace, make_timing(100))["final_error_norm"] == pytest.approx(
        np.linalg.norm(trace.error, axis=1).mean(), rel=1e-12
    )


def test_guards_are_counted_by_step() -> None:
    metrics = compute_metrics(make_trace(), make_timing())
    assert metrics["guards"] == {"measurement_non_finite": 0, "effort_rate_limited": 4, "effort_limited": 1}


def test_the_first_fault_is_named_with_its_time() -> None:
    trace = make_trace()
    assert compute_metrics(trace, make_timing())["fault"] is None
    names = np.array(["measurement_lost", "position_exceeded", "effort_limited"])
    guards = np.zeros_like(trace.guards)
    guards[2:], guards[40:], guards[70:] = 0b100, 0b110, 0b111
    fault = compute_metrics(replace(trace, guards=guards, guard_names=names), make_timing())["fault"]
    what = "a joint has left its range"
    assert fault == {"guard": "position_exceeded", "time": pytest.approx(0.4), "what": what, "cause": None}


def _stopped(after: float) -> Trace:
    """A run that a fault ended at t = 3 s, and what was recorded from then on."""
    trace = make_trace(faults=("freeze j1, 0 s to the end",))
    names = np.array([*trace.guard_names, "stopping", "runaway", "position_exceeded"])
    truth = np.concatenate([trace.truth, 5.0 * trace.truth])
    trace = replace(trace, guard_names=names, truth=truth, truth_time=np.array([0.0, 6.0]))
    trace.guards[300:] = 0b011010
    trace.guards[400:] = 0b111110
    for name in ("q", "qd", "q_measured", "qd_measured", "error", "estimates", "position", "effort"):
        values = getattr(trace, name).copy()
        values[301:] = after
        setattr(trace, name, values)
    trace.faults[301:] = True
    return trace


def test_nothing_after_a_fault_is_in_a_metric() -> None:
    """But for whether limits were kept, which the host answers for while it brings the arm to rest too."""
    calm, wild = (compute_metrics(_stopped(after), make_timing()) for after in (0.0, 1e6))
    assert (calm.pop("limits_kept"), wild.pop("limits_kept")) == (True, False)
    assert calm == wild
    assert calm["fault"]["time"] == pytest.approx(3.0) and calm["duration"] == pytest.approx(10.0)
    assert calm["final_error_norm"] is None and calm["errors"]["position"]["final"] is None
    assert calm["joint_drift"] is None
    assert calm["max_error_norm"] == pytest.approx(0.1, rel=1e-12)
    assert calm["iae"] == pytest.approx(0.1 * (1.0 - np.exp(-3.0)), rel=1e-2)  # a sum of width 0.01
    assert calm["estimates"]["tool"]["final"]["mass"] == pytest.approx(np.exp(-3.0), rel=1e-9)
    assert calm["guards"]["runaway"] == 1 and calm["guards"]["position_exceeded"] == 0
    assert calm["faults"] == {"freeze j1, 0 s to the end": 3}


def test_a_trace_to_its_fault_is_as_long_in_every_array() -> None:
    """And knows no truth of later."""
    whole = _stopped(0.0)
    cut = whole.until_fault()
    assert [len(getattr(cut, name)) for name in BY_STEP] == [301] * len(BY_STEP)
    same = {name for name, value in vars(whole).items() if len(np.atleast_1d(value)) == 1000}
    assert same == set(BY_STEP)
    assert cut.truth_time.tolist() == [0.0] and len(cut.truth) == 1
    assert cut.first_fault() == (300, "runaway") and make_trace().until_fault().first_fault() is None


def test_efforts_are_compared_with_their_limits() -> None:
    trace = make_trace()
    metrics = compute_metrics(trace, make_timing())
    assert metrics["max_effort"][0] == pytest.approx(10.0, rel=1e-2)
    assert metrics["effort_limit"] == [20.0, None]
    assert metrics["limits_kept"] is True
    trace.effort[7, 0] = 20.1
    assert compute_metrics(trace, make_timing())["limits_kept"] is False
    trace.effort[7, 0] = trace.effort[6, 0] + 1000.0 * 1.01e-2
    trace.effort[8:, 0] = trace.effort[7, 0]
    assert compute_metrics(trace, make_timing())["limits_kept"] is False


def test_joint_drift_is_the_change_over_one_period() -> None:
    trace = make_trace(period=0.5)
    assert joint_drift(trace) == pytest.approx(0.0, abs=1e-12)
    trace.q[-1, 1] += 0.25
    assert joint_drift(trace) == pytest.approx(0.25, abs=1e-12)


@pytest.mark.parametrize("period", [np.nan, 10.0, 100.0])
def test_no_drift_without_a_whole_period(period: float) -> None:
    trace = make_trace()
    trace.period = np.array(period)
    assert joint_drift(trace) is None
    json.dumps(compute_metrics(trace, make_timing()), allow_nan=False)


def test_estimate_errors_at_start_and_end() -> None:
    errors = compute_metrics(make_trace(), make_timing())["estimates"]["tool"]
    assert errors["initial"]["mass"] == pytest.approx(1.0, rel=1e-12)
    com = TRUE_BODY.com * (2.0 / 3.0 - 1.0)  # the first moment is right, the mass 3 kg instead of 2
    assert errors["initial"]["com"] == pytest.approx(np.linalg.norm(com), rel=1e-12)
    assert errors["initial"]["inertia"] == 0.0
    assert errors["final"]["mass"] == pytest.approx(np.exp(-9.99), rel=1e-9)


def test_an_estimate_without_mass_has_no_centre() -> None:
    trace = make_trace()
    trace.estimates[-1, 0, 0] = 0.0
    assert compute_metrics(trace, make_timing())["estimates"]["tool"]["final"]["com"] is None


def test_step_times_are_percentiles_in_microseconds() -> None:
    times = compute_metrics(make_trace(), make_timing())["control_step_us"]
    assert times["median"] == pytest.approx(5.005)
    assert times["p99"] == pytest.approx(9.9001)
    assert times["max"] == 10.0


def test_traces_survive_saving(tmp_path: Path) -> None:
    trace, timing = make_trace(), make_timing()
    trace.save(tmp_path / "a.npz")
    timing.save(tmp_path / "a_timing.npz")
    loaded = Trace.load(tmp_path / "a.npz")
    for name, value in vars(trace).items():
        np.testing.assert_array_equal(getattr(loaded, name), value)
    np.testing.assert_array_equal(Timing.load(tmp_path / "a_timing.npz").step_ns, timing.step_ns)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "a_timing.npz"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    path.write_text("old")

    def fail(file: object) -> None:
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        write_whole(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
