"""Cases on the workers of a Dask cluster: all come, also where a worker dies, and what fails is its own row."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from evaluation import ROOT

from thunder_controllers.experiments.engine import run_cases
from thunder_controllers.experiments.experiment import Case, Measured
from thunder_controllers.experiments.runner import choose_run
from thunder_controllers.simulation.scenario import RunConfig, load_scenario
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_dynamics.errors import ScenarioError

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler of this machine with two workers, processes that are replaced when they die."""
    folder = str(tmp_path_factory.mktemp("dask"))
    path = os.pathsep.join([str(ROOT), str(Path(__file__).parent), str(Path(__file__).parents[1])])
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=folder, env={"PYTHONPATH": path}
        ) as cluster,
    ):
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def config() -> RunConfig:
    scenario = load_scenario(ROOT / "config/scenarios/panda_joint_slotine_li.yaml")
    return choose_run(scenario, None).config.model_copy(update={"duration": 0.05})


def dies_once(case: Case, trace: Trace, timing: Timing) -> Measured:
    """The worker dies in the middle of the first case that comes here."""
    marker = Path(case.row)
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Measured({"second": 1.0})


def fails(case: Case, trace: Trace, timing: Timing) -> Measured:
    raise ZeroDivisionError("nothing to divide by")


def test_a_worker_that_is_killed_takes_no_row_along(address: str, config: RunConfig, tmp_path: Path) -> None:
    cases = [Case("runs", config, 0.02) for _ in range(6)]
    cases[2] = Case(str(tmp_path / "died"), config, 0.02, measure=dies_once)
    cases[4] = Case("fails", config, 0.02, measure=fails)
    outcomes = dict(run_cases(cases, 1, address))
    assert [outcomes[index].ended for index in range(6)] == ["done"] * 4 + ["failed", "done"]
    assert (tmp_path / "died").exists() and outcomes[2].values["second"] == 1.0
    assert outcomes[4].message == "ZeroDivisionError: nothing to divide by"
    assert outcomes[0] == outcomes[5] == dict(run_cases(cases[:1], 1))[0]


def test_an_address_where_nothing_answers_is_one_line(config: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thunder_controllers.experiments.engine.CONNECTING", 0.5)
    for address in ("tcp://127.0.0.1:9", "nothing://x"):
        with pytest.raises(ScenarioError, match=f"{address}: no scheduler answers .*; valid: the address"):
            list(run_cases([Case("runs", config, 0.02)], 1, address))
