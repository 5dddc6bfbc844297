"""Each kind of fault in one run of the study's Panda, a run without any, and options that do not go together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot

from thunder_controllers.experiments.runner import run_case
from thunder_controllers.laws.cartesian_computed_torque import cartesian_computed_torque
from thunder_controllers.laws.faults.kinds import Action, Kind
from thunder_controllers.simulation.scenario import merged
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_studies.faults import isolation as study

FAULTS: dict[str, dict[str, Any]] = {
    "loss": {"type": "loss", "joints": ("panda_joint2",), "share": 0.5},
    "bias": {"type": "bias", "joints": ("panda_joint1",), "effort": 12.0},
    "block": {"type": "block", "joints": ("panda_joint5",), "rate": 20.0},
    "freeze": {"type": "freeze", "joints": ("panda_joint4",)},
}


@pytest.fixture(autouse=True)
def _cache(build_cache: Path) -> None:
    """Libraries are built where the session says."""


def run(seed: int, *faults: dict[str, Any]) -> dict[str, float | None]:
    keys = study.draw_arm(np.random.default_rng(seed))
    keys = merged(keys, {"duration": 4.0, "plant": {"faults": faults}})
    measure = study.measure_fault if faults else study.measure_health
    outcome = run_case(study._case("run", keys, seed, "continue", measure))
    assert outcome.ended != "failed", outcome.message
    return dict(outcome.values)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_found_in_its_joint_and_told_by_its_kind(kind: str) -> None:
    """On a path on which no joint comes to rest in friction then: a frozen torque that friction holds is as a block."""
    found = run(5 if kind == "freeze" else 3, {**FAULTS[kind], "start": 1.8})
    assert found["in_time"] == 1.0 and found["kind"] == 1.0
    if kind in ("loss", "bias"):
        assert found["goes_on"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4])
def test_a_healthy_arm_has_no_fault(seed: int) -> None:
    found = run(seed)
    assert found["joint"] == 0.0 == found["several"]
    assert (found["sigmas"] or 0.0) < 5.0


def test_the_bounds_are_kept_once() -> None:
    robot = RobotExpressions(load_robot("panda"))
    with pytest.raises(
        LawError, match="faults=continue with redundancy=acceleration_bounds; valid: redundancy=posture"
    ):
        cartesian_computed_torque(robot, {"faults": "continue", "redundancy": "acceleration_bounds"})
    with pytest.raises(LawError, match="faults 'find'; valid: "):
        cartesian_computed_torque(robot, {"faults": "find"})


def test_the_study_reads_the_codes_that_the_law_declares() -> None:
    for name, code in study.CODES.items():
        assert code == Kind[name.upper()]
    assert (study.SEVERAL, study.STOPS) == (Kind.SEVERAL, Action.STOPS)
