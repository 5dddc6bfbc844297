"""`thunder compare`: combinations and seeds, what is checked before a run, what is kept, and what is written."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import Ended, thunder
from evaluation import ROOT

from thunder_controllers.experiments import comparison
from thunder_controllers.experiments.comparison import MEASURES, make_plan, parse_grid, shown
from thunder_controllers.experiments.engine import summarise
from thunder_controllers.experiments.experiment import Case, Outcome
from thunder_controllers.experiments.figures import CURVES, ERROR, over_time
from thunder_controllers.experiments.runner import choose_run
from thunder_controllers.simulation.scenario import Scenario, load_scenario
from thunder_dynamics.errors import ScenarioError

pytestmark = pytest.mark.slow

CARTESIAN = "panda_lissajous_wrong_last_link"
JOINT = "panda_joint_slotine_li"


def _file(folder: Path, name: str = JOINT, **changes: Any) -> Path:
    """A scenario cut to a twentieth of a second."""
    document = yaml.safe_load((ROOT / f"config/scenarios/{name}.yaml").read_text())
    document["robot"] = str(ROOT / "config/robots/panda.yaml")
    document["plant"]["urdf"] = str(ROOT / "urdf/panda.urdf.xacro")
    path = folder / "scenario.yaml"
    taken = {"duration": 0.05, "host": {"accepts_unstable_gains": True}}
    path.write_text(yaml.safe_dump({**document, **taken, **changes}))
    return path


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    return load_scenario(_file(tmp_path))


def _compare(path: Path, *arguments: str) -> Ended:
    return thunder("compare", path, "--out", path.parent / "out", "--jobs", "2", *arguments)


def _rows(path: Path) -> list[dict[str, str]]:
    with (path.parent / "out" / "runs.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_grid_is_parsed() -> None:
    assert parse_grid(["K_d=5,1+2", "gamma=1e2"]) == {"K_d": (5.0, (1.0, 2.0)), "gamma": (100.0,)}
    with pytest.raises(ScenarioError, match="K_d are given twice"):
        parse_grid(["K_d=1", "K_d=2"])


def test_every_combination_has_every_seed_and_a_name(scenario: Scenario) -> None:
    run = choose_run(scenario)
    plan = make_plan(run, [], parse_grid(["K_d=5,10", "gamma=1,2"]), 3)
    assert [case.row for case in plan.group.cases][::3] == [f"K_d={a} gamma={b}" for a in (5, 10) for b in (1, 2)]
    assert [case.config.seed for case in plan.group.cases] == [0, 1, 2] * 4
    assert plan.group.cases[-1].config.law.gains == {"gamma": 2.0, "K_d": 10.0}
    assert plan.group.cases[0].adaptation and not choose_run(scenario, "no_adaptation").adaptation


def test_the_scenarios_own_law_has_its_options_unless_others_are_given(tmp_path: Path) -> None:
    run = choose_run(load_scenario(_file(tmp_path, CARTESIAN)))
    plan = make_plan(run, [("cartesian_backstepping", {}), ("cartesian_backstepping", {"friction": "adapted"})], {}, 1)
    assert [case.row for case in plan.group.cases] == [
        "cartesian_backstepping",
        "cartesian_backstepping:friction=adapted",
    ]
    options = [case.config.law.options for case in plan.group.cases]
    assert options == [{"adapted_links": ["panda_link7"], "disturbance": "none"}, {"friction": "adapted"}]
    assert plan.notes == ()


def test_notes_say_what_of_the_scenario_does_not_apply(tmp_path: Path) -> None:
    changes = {"law": {"name": "cartesian_backstepping", "gains": {"k_n": 1.0, "gamma": 0.5}}}
    run = choose_run(load_scenario(_file(tmp_path, JOINT, **changes)))
    plan = make_plan(run, [("slotine_li", {})], {}, 1)
    assert plan.group.cases[0].config.law.gains == {"gamma": 0.5}
    assert plan.notes == ("slotine_li: the scenario's gains of k_n do not apply",)


def test_saved_estimates_are_those_of_the_scenario_s_own_law(tmp_path: Path) -> None:
    """Whatever another law or other options adapt, the file does not say."""
    (tmp_path / "learned.yaml").touch()
    config = load_scenario(_file(tmp_path, JOINT, law={"name": "slotine_li"})).runs[-1].config
    law = config.law.model_copy(update={"estimates_file": str(tmp_path / "learned.yaml")})
    config = config.model_copy(update={"law": law})
    assert comparison._under(config, ("slotine_li", {}), "own")[0].law.estimates_file == law.estimates_file
    other, _, notes = comparison._under(config, ("slotine_li", {"friction": "adapted"}), "other")
    assert (other.law.estimates_file, notes) == (None, ["other: the scenario's estimates_file does not apply"])


def test_runs_leave_csv_table_and_figure_and_are_not_run_again(tmp_path: Path) -> None:
    path = _file(tmp_path, plant={"urdf": str(ROOT / "urdf/panda.urdf.xacro"), "noise": {"q_std": 1e-4}})
    first = _compare(path, "--gains", "K_d=5,2", "--seeds", "2")
    assert first.exit_code == 0, first.output
    rows = _rows(path)
    assert [(row["combination"], row["seed"], row["ended"]) for row in rows] == [
        (name, seed, "done") for name in ("K_d=5", "K_d=2") for seed in ("0", "1")
    ]
    assert all(float(row[name]) >= 0.0 for row in rows for name in ("error", "iae", "step_us", "mass_error"))
    assert rows[0]["error"] != rows[1]["error"], "the seed must reach the noise"
    text = (tmp_path / "out/table.md").read_text()
    assert "| K_d=2 | 2 | 0 |" in text and "±" in text
    for name in ("comparison.png", "comparison_error_over_time.png", "report.html", "table.json"):
        assert (tmp_path / "out" / name).stat().st_size > 1000

    kept = {file: file.stat().st_mtime_ns for file in (tmp_path / "out/runs").iterdir()}
    again = _compare(path, "--gains", "K_d=5,2,1", "--seeds", "2")
    assert again.exit_code == 0, again.output
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
    assert len(list((tmp_path / "out/runs").iterdir())) == 6 and _rows(path)[:4] == rows


def test_a_run_that_a_fault_stops_is_a_row_and_1(tmp_path: Path) -> None:
    slow = {"velocity_limit": 0.01}
    path = _file(tmp_path, duration=0.3, check_reference=False, host=slow)
    result = _compare(path)
    assert result.exit_code == 1 and "slotine_li, seed 0: runaway" in result.output
    assert [row["ended"] for row in _rows(path)] == ["runaway"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--law", "no_such"], "no law 'no_such'; valid: "),
        (["--law", "slotine_li:wrong=1"], "no option 'wrong'; valid: "),
        (["--law", "slotine_li", "--law", "slotine_li"], "a law is given twice"),
        (["--law", "cartesian_backstepping"], "a reference of type joint_lissajous"),
        (["--gains", "k_q=1"], "no law has a gain 'k_q'; valid: "),
        (["--gains", "K_d=1+2"], "K_d"),
        (["--gains", "K_d=1,-5"], "K_d"),
        (["--gains", "K_d=x"], "gains 'K_d=x'; valid: NAME=VALUE"),
        (["--gains", "K_d=1,"], "gains 'K_d=1,'; valid: NAME=VALUE"),
        (["--run", "third"], "no run 'third'; valid: no_adaptation, adaptation"),
    ],
)
def test_what_is_wrong_is_one_line_and_2_before_the_first_run(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    result = _compare(_file(tmp_path), *arguments)
    assert result.exit_code == 2
    assert result.output.count("\n") == 1 and message in result.output
    assert not (tmp_path / "out").exists()


def test_a_kept_run_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = _file(tmp_path)
    assert _compare(path).exit_code == 0
    (file,) = (tmp_path / "out/runs").iterdir()
    file.write_text("{")
    result = _compare(path)
    assert result.exit_code == 2 and str(file) in result.output


def test_an_error_is_shown_in_its_row_and_columns_that_stay_empty_are_left_out(scenario: Scenario) -> None:
    plan = make_plan(choose_run(scenario), [], parse_grid(["K_d=5,10"]), 1)
    outcomes = [Outcome("done", {"error": 1e-3, "iae": 0.1}), Outcome("failed", message="what went wrong")]
    good, bad = shown(summarise(plan.group, outcomes)).rows.values()
    assert (good["failed"], bad["failed"]) == (0, 1)
    assert bad[MEASURES["iae"]] is None and MEASURES["step_us"] not in bad


def test_the_figure_draws_no_more_curves_than_can_be_told_apart(scenario: Scenario) -> None:
    case = Case("", choose_run(scenario).config, 1.0)
    series = {"t": [0.0, 1.0], "error": [0.1, 0.01]}
    results = [
        (replace(case, row=f"K_d={k}"), Outcome("done", {"error": 0.1 - 1e-3 * k}, series)) for k in range(CURVES + 3)
    ]
    figure = over_time(ERROR)(results)
    assert figure is not None
    assert [line.get_label() for line in figure.axes[0].lines] == [case.row for case, _ in results[3:]]
