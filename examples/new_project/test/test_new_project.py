"""The arm follows its reference under the law of this project."""

from pathlib import Path

import new_project

from thunder_controllers.simulation.experiment import run_scenario
from thunder_controllers.simulation.scenario import load_scenario


def test_the_arm_follows_its_reference(tmp_path: Path) -> None:
    """No fault stops it, and the mean error of the last seconds is below what the gains allow."""
    scenario = load_scenario(Path(new_project.__file__).with_name("scenario.yaml"))
    (run,) = run_scenario(scenario, tmp_path).runs
    assert run.metrics["fault"] is None
    assert run.metrics["final_error_norm"] < 0.03  # rad
