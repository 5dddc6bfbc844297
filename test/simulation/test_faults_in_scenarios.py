"""Faults of a scenario, end to end: the Panda under its law, what the host says to them, and what the run leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scenario_files import document_of, written

from thunder_controllers.host import Guard
from thunder_controllers.simulation.experiment import RunResult, run_scenario
from thunder_controllers.simulation.trace import Trace

pytestmark = pytest.mark.slow


def _run(folder: Path, *faults: dict[str, Any], duration: float = 1.0, seed: int = 0) -> RunResult:
    """The adaptive run of the scenario with a blocked joint, with other faults."""
    plant, runs = {"velocity": "exact", "faults": list(faults)}, [{"name": "adaptation"}]
    document = document_of("panda_joint_block", plant, duration=duration, seed=seed, runs=runs)
    return run_scenario(written(folder, document), folder / "out").runs[0]


def _acts(trace: Trace, guard: Guard) -> list[int]:
    """Steps at which a guard acted."""
    bit = list(trace.guard_names).index(str(guard.name).lower())
    return [int(step) for step in np.flatnonzero((trace.guards >> bit) & 1)]


def test_a_blocked_joint_of_a_panda_stops_the_others_go_on(tmp_path: Path) -> None:
    """q̇₁ decays as e^−λt from the step at which the block begins; the law keeps the arm near its path."""
    block = {"type": "block", "joints": ["panda_joint1"], "rate": 10.0, "start": 0.5, "end": 1.5}
    result = _run(tmp_path, block, duration=2.5)
    trace = result.trace
    expected = trace.qd[500, 0] * np.exp(-10.0 * (trace.t[500:1501] - trace.t[500]))
    np.testing.assert_allclose(trace.qd[500:1501, 0], expected, rtol=1e-8)
    assert abs(trace.qd[500, 0]) > 0.01 and np.ptp(trace.q[500:1500, 1]) > 0.02
    assert result.metrics["faults"] == {"block panda_joint1, 0.5 s to 1.5 s": 1000}
    np.testing.assert_array_equal(np.flatnonzero(trace.faults[:, 0])[[0, -1]], [500, 1499])
    np.testing.assert_array_equal(Trace.load(tmp_path / "out/adaptation.npz").fault_names, trace.fault_names)
    error = np.linalg.norm(trace.error, axis=1)
    assert error[1400] > 5.0 * error[-1]  # and comes back to it


def test_a_dropped_out_encoder_makes_the_host_hold_the_arm(tmp_path: Path) -> None:
    """No step is made from a missing reading: the command goes to the gravity torque; then the path is found again."""
    fault = {"type": "dropout", "joints": ["panda_joint4"], "start": 0.5, "end": 0.6}
    trace = _run(tmp_path, fault, duration=1.5).trace
    assert _acts(trace, Guard.MEASUREMENT_NON_FINITE) == list(range(500, 600))
    assert np.isnan(trace.q_measured[500:600, 3]).all() and np.isfinite(trace.effort).all()
    np.testing.assert_array_equal(trace.effort[590:600], np.tile(trace.effort[599], (10, 1)))
    assert np.linalg.norm(trace.error[-1]) < 0.2 * np.linalg.norm(trace.error[500:700], axis=1).max()


def test_repeated_samples_of_all_joints_are_stale_those_of_one_are_a_fault(tmp_path: Path) -> None:
    """The first one after the stale ones is stale, too: it lies further from the last than the timeout of 10 ms.

    The encoder of one joint stands while the others move: the arm stops before the joint is 10 mrad further on.
    """
    fault = {"type": "repeated_samples", "start": 0.5, "end": 0.55}
    both = [_run(tmp_path, fault | joints) for joints in ({}, {"joints": ["panda_joint4"]})]
    assert _acts(both[0].trace, Guard.MEASUREMENT_STALE) == list(range(500, 551))
    trace, end = both[1].trace, both[1].metrics["fault"]
    assert _acts(trace, Guard.MEASUREMENT_STALE) == []
    assert (trace.q_measured[500:550, 3] == trace.q_measured[499, 3]).all()
    assert end["guard"] == "measurement_lost" and end["what"].startswith("joint panda_joint4 is read to stand")
    step = _acts(trace, Guard.MEASUREMENT_LOST)[0]
    assert abs(trace.q[step, 3] - trace.q[499, 3]) < 0.0125
