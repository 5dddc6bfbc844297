"""Cases in parallel processes: an error of one, or the death of its process, is its own."""

from __future__ import annotations

import os

import pytest
from evaluation import ROOT

from thunder_controllers.experiments.engine import run_cases
from thunder_controllers.experiments.experiment import Case, Measured
from thunder_controllers.experiments.measures import measure_estimates
from thunder_controllers.experiments.runner import choose_run, run_case
from thunder_controllers.simulation.scenario import RunConfig, load_scenario, merged
from thunder_controllers.simulation.trace import Timing, Trace

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def config() -> RunConfig:
    """A Panda under the joint law, for a twentieth of a second."""
    scenario = load_scenario(ROOT / "config/scenarios/panda_joint_slotine_li.yaml")
    return choose_run(scenario, None).config.model_copy(update={"duration": 0.05})


def fails(case: Case, trace: Trace, timing: Timing) -> Measured:
    raise ZeroDivisionError("nothing to divide by")


def dies(case: Case, trace: Trace, timing: Timing) -> Measured:
    os._exit(3)


def test_what_a_case_measures_comes_with_its_outcome(config: RunConfig) -> None:
    outcome = run_case(Case("row", config, 0.02, measure=measure_estimates))
    assert outcome.ended == "done" and outcome.message == ""
    assert 0.0 < outcome.values["iae"] < 0.05 * outcome.values["largest_error"]
    assert 0.0 < outcome.values["error"] <= outcome.values["peak_error"]
    assert len(outcome.series["t"]) == len(outcome.series["estimates"]) == 50


def test_estimates_are_kept_without_adaptation(config: RunConfig) -> None:
    with_and_without = [run_case(Case("row", config, 0.02, one, measure_estimates)) for one in (True, False)]
    moved = [one.series["estimates"][0] != one.series["estimates"][-1] for one in with_and_without]
    assert moved == [True, False] and with_and_without[1].values["frozen"] == 1.0


def test_an_error_and_a_death_take_no_other_case_along(config: RunConfig) -> None:
    wrong = RunConfig.model_validate(merged(config.model_dump(), {"law": {"gains": {"K_d": 1e6}}}))
    cases = [
        Case("runs", config, 0.02),
        Case("fails", config, 0.02, measure=fails),
        Case("dies", config, 0.02, measure=dies),
        Case("wrong", wrong, 0.02),
        Case("runs", config, 0.02),
    ]
    outcomes = dict(run_cases(cases, 2))
    assert [outcomes[index].ended for index in range(5)] == ["done", "failed", "failed", "failed", "done"]
    assert outcomes[1].message == "ZeroDivisionError: nothing to divide by"
    assert outcomes[2].message == "its process died"
    assert "K_d" in outcomes[3].message and "1e+06" in outcomes[3].message
    assert outcomes[0] == outcomes[4]


def counts_threads(case: Case, trace: Trace, timing: Timing) -> Measured:
    return Measured({"threads": float(os.environ["OPENBLAS_NUM_THREADS"])}, {})


@pytest.mark.parametrize(("chosen", "threads"), [(None, 1.0), ("3", 3.0)])
def test_processes_use_one_thread_each_unless_the_user_has_chosen(
    config: RunConfig, chosen: str | None, threads: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if chosen:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", chosen)
    ((_, outcome),) = run_cases([Case("runs", config, 0.02, measure=counts_threads)], 1)
    assert outcome.values["threads"] == threads
    assert os.environ.get("OPENBLAS_NUM_THREADS") == chosen
