"""The studies, cut to a fraction of a second: what they run, measure, draw and write."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from command_line import thunder

from thunder_controllers.commands.experiment import experiment as command
from thunder_controllers.experiments.engine import summarise
from thunder_controllers.experiments.experiment import (
    Case,
    Criterion,
    Experiment,
    Findings,
    Group,
    Outcome,
    Settings,
    experiment_entries,
    load_experiment,
)
from thunder_controllers.experiments.report import write_report
from thunder_controllers.experiments.runner import load_robot, run_case
from thunder_controllers.experiments.table import make_document, missed
from thunder_controllers.laws.slotine_li import slotine_li
from thunder_controllers.references.trajectories import PoseToPose
from thunder_controllers.simulation.options import Body
from thunder_controllers.simulation.scenario import RunConfig
from thunder_dynamics.law import options_of
from thunder_studies import panda
from thunder_studies.adaptation_shootout import first_estimate
from thunder_studies.arms import ARMS, robot_file
from thunder_studies.kinematics import tool_length
from thunder_studies.redundancy import ends
from thunder_studies.rpr_partially_known import base_parameters

pytestmark = pytest.mark.slow

SHORT = (
    "gain_study",
    "adaptive_vs_fixed",
    "rpr_partially_known",
    "unknown_tool",
    "variable_inertia",
    "adaptation_shootout",
)
"""Studies whose measures mean something after a tenth of a second."""

RUNS = (*SHORT, "beside_practice", "contact", "payload", "redundancy", "unknown_tool_length")
"""Those all of whose groups are runs."""


def _groups(study: str, *names: str, cases: int = 1) -> dict[str, Group]:
    found = load_experiment(study).select(names, Settings(cases=cases))
    assert all(isinstance(group, Group) for group in found.values())
    return found  # type: ignore[return-value]


def _short(case: Case) -> Case:
    return replace(case, config=case.config.model_copy(update={"duration": 0.1}), window=0.05)


@pytest.mark.parametrize("name", SHORT)
def test_a_study_runs_and_reports(name: str, tmp_path: Path) -> None:
    """One row of each group, in this process."""
    study, settings = load_experiment(name), Settings(cases=1)
    findings: dict[str, Findings] = {}
    for key, group in _groups(name).items():
        cases = (_short(group.cases[-1]),)
        outcomes = [run_case(case) for case in cases]
        assert [one.ended for one in outcomes] == ["done"], outcomes[0].message
        findings[key] = summarise(replace(group, cases=cases, criteria=(), published=()), outcomes)
        assert group.columns is not None
        values = findings[key].rows[cases[-1].row]
        assert list(values) == list(group.columns)
        assert {column for column, value in values.items() if value is None} <= {"rise time [s]"}  # it still rises
        assert set(findings[key].figures) == set(group.figures) >= {"error_over_time"}
    page = write_report(tmp_path, make_document(name, study, settings, findings), findings).read_text()
    assert all(title in page for title in (name, "Left open there, and chosen here", "error over time"))
    assert page.count("<img") == len(list(tmp_path.glob("*.png"))) > len(findings)
    assert study.setup in (tmp_path / "table.md").read_text()


@pytest.mark.parametrize("study", RUNS)
def test_every_group_of_a_study_is_judged(study: str) -> None:
    """One of arms that are not installed has no cases."""
    is_bare = study in ("beside_practice", "contact", "payload") and robot_file(ARMS["z1"]) is None
    for group in _groups(study, cases=2).values():
        assert group.criteria and (group.cases or is_bare)


def test_the_uncertain_arm_is_possible_within_its_bounds_and_the_seeds_own() -> None:
    nominal, drawn = panda.bodies(), panda.uncertain_arm(3)
    assert list(drawn) == list(nominal) and len(drawn) == 7
    for name, body in drawn.items():
        Body.model_validate(body)  # refuses what no body is
        for key in ("mass", "com", "inertia"):
            ratio = np.divide(body[key], nominal[name][key])
            assert (np.abs(ratio - 1.0) <= 0.3).all() and (np.abs(ratio - 1.0) > 0.0).all()
    assert panda.uncertain_arm(3) == drawn != panda.uncertain_arm(4)


def test_schemes_start_from_possible_bodies_and_the_default_is_judged() -> None:
    for seed in range(20):
        Body.model_validate(first_estimate(seed))  # refuses what no body is
    (rest,) = _groups("adaptation_shootout", "rest").values()
    default = next(one.choices[0] for one in options_of(slotine_li) if one.name == "adaptation")
    assert {criterion.rows for criterion in rest.criteria} == {(), (default,)}


def test_the_true_tip_of_every_arm_reaches_its_path() -> None:
    """The first path that is drawn for this UR5 is out of its reach, by 28 mm."""
    (case,) = (
        case
        for case in _groups("unknown_tool_length", "ur5", cases=16)["ur5"].cases
        if case.row == "adapted" and case.config.seed == 15
    )
    config, library = case.config, load_robot(case.config).library
    q, offset = np.array(config.start.q), np.array(config.plant.tool_offset)
    reference = config.reference.model_dump()
    assert tool_length.is_reached(library, reference, q, offset)
    assert not tool_length.is_reached(library, reference, q, 20.0 * offset)


def test_the_tool_is_measured_as_what_the_robot_file_lacks() -> None:
    (group,) = _groups("unknown_tool", "swinging").values()
    still, adapted = (run_case(_short(case)).values for case in group.cases[:2])
    assert still["tool_mass"] == pytest.approx(829.5, rel=1e-9)
    assert still["tool_com"] is None, "a tool that is not seen has no centre"
    assert (adapted["tool_mass"] or 0.0) < 829.5 and (adapted["tool_com"] or 0.0) > 0.0


def test_four_numbers_of_the_first_two_links_act_on_the_planar_arm() -> None:
    """Random changes of π that keep them have no effect on any effort, and as many as they are have one."""
    (group,) = _groups("rpr_partially_known").values()
    library, rng = load_robot(group.cases[0].config).library, np.random.default_rng(0)
    states = zip(*rng.uniform(-1.0, 1.0, (3, 40, 3)), strict=True)
    Y = np.vstack([library.evaluate("Y", *state)[:, :20] for state in states])
    base = np.array([base_parameters(unit.reshape(2, 10)) for unit in np.eye(20)]).T
    assert np.linalg.matrix_rank(Y) == 4 == np.linalg.matrix_rank(np.vstack([Y, base]))


def test_the_experiments_are_listed_with_a_line_each() -> None:
    result = CliRunner().invoke(command, ["--list"])
    assert result.exit_code == 0
    shown = {line.split()[0] for line in result.output.splitlines()[2:]}
    assert shown >= {"bad_day", "sns", *RUNS} and shown <= set(experiment_entries())
    nothing = thunder("experiment")
    valid = "no experiment is named; valid: adaptation_shootout, adaptive_vs_fixed, bad_day, "
    assert nothing.exit_code == 2 and valid in nothing.output


def _run_only(group: Group | Findings, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    experiment = Experiment("Of one group.", {"only": lambda _: group})
    monkeypatch.setattr("thunder_controllers.experiments.experiment.load_experiment", lambda _: experiment)
    return CliRunner().invoke(command, ["only", "--out", str(folder), "--jobs", "1"])


def test_computed_groups_need_no_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"fast": {"time [s]": 0.1}, "slow": {"time [s]": 0.5}}
    result = _run_only(Findings("Stops", rows, (Criterion("time [s]", 0.3),)), tmp_path, monkeypatch)
    assert result.exit_code == 1 and "missed: Stops, slow: time [s] ≤ 0.3 (is 0.5)" in result.output
    assert json.loads((tmp_path / "table.json").read_text())["groups"]["only"]["rows"]["fast"] == {"time [s]": 0.1}
    assert not list(tmp_path.glob("*.png")) and (tmp_path / "report.html").is_file()


def test_a_case_that_failed_is_told_and_misses_its_criteria(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = _short(_groups("gain_study", "friction")["friction"].cases[0])
    law = case.config.law.model_copy(update={"gains": {"K_d": -1.0}})
    wrong = replace(case, row="row", config=case.config.model_copy(update={"law": law}))
    group = Group("Group", (wrong,), (Criterion("error", 1.0),))
    result = _run_only(group, tmp_path, monkeypatch)
    assert result.exit_code == 1 and "row, seed 0: failed" in result.output and "K_d" in result.output
    assert "missed: Group, row: error ≤ 1 (is –)" in result.output


def test_a_push_is_measured_by_what_was_kept_and_what_was_believed() -> None:
    """A push of 40 N from 0.1 to 0.3 s, in runs of 0.4 s."""
    (group,) = _groups("contact", "plain").values()
    push = {"type": "wrench", "link": panda.LAST_LINK, "start": 0.1, "end": 0.3, "force": (0.0, 0.0, 40.0)}
    outcomes: dict[str, Outcome] = {}
    for case in group.cases:
        data = case.config.model_dump()
        faults = (push,) if case.config.plant.faults else ()
        data |= {"duration": 0.4, "plant": {**data["plant"], "faults": faults}}
        data["law"]["initial_estimates"] = {panda.LAST_LINK: panda.bodies()[panda.LAST_LINK]}
        outcomes[case.row] = run_case(replace(case, config=RunConfig.model_validate(data)))
    assert [one.message for one in outcomes.values()] == [""] * 3
    learns, freezes, quiet = (outcomes[row].values for row in ("adapts on", "freezes", "no push, freezes"))
    assert freezes["detected"] == 1.0 and 0.0 < (freezes["delay"] or 0.0) < 50.0
    assert (freezes["covered"] or 0.0) > 0.7
    assert (freezes["mass"] or 0.0) < (learns["mass"] or 0.0)
    assert "false" in quiet and "mass" not in quiet and "detected" not in learns
    figure = group.figures["around_the_push"]([(case, outcomes[case.row]) for case in group.cases])
    assert figure is not None and [len(axis.lines) for axis in figure.axes] == [2, 2]


def test_lines_near_limits_have_one_joint_near_one_at_both_ends() -> None:
    limits, rng = panda.library(), np.random.default_rng(5)
    for both in (ends(rng) for _ in range(20)):
        distance = np.minimum(both - limits.position_lower, limits.position_upper - both)
        assert (distance >= 0.0).all() and ((distance >= 0.06) & (distance <= 0.3)).all(axis=0).any()
    (case, *_) = _groups("redundancy")["lines"].cases
    line = case.config.reference
    assert isinstance(line, PoseToPose) and len(line.poses) == 5 and line.poses[0] == line.poses[-1]
    assert case.config.duration == line.duration + 1.0
    values = run_case(_short(case)).values
    assert 0.0 < (values["distance"] or 0.0) < 0.3 and values["lost"] == 0.0


def _beside_published(study: str, group: str, *, judged: bool = False) -> list[dict[str, Any]]:
    """What is published beside runs of their whole length, of the rows that it is of, or of all that are judged."""
    (found,) = _groups(study, group).values()
    rows = {one.row for one in found.published}
    cases = tuple(case for case in found.cases if judged or case.row in rows)
    group_of_them = replace(found, cases=cases, figures={}, criteria=found.criteria if judged else ())
    findings = summarise(group_of_them, [run_case(case) for case in cases])
    document = make_document(study, load_experiment(study), Settings(), {group: findings})
    assert missed(document) == []
    compared: list[dict[str, Any]] = document["groups"][group]["published"]
    assert len(compared) == len(found.published) > 0
    return compared


@pytest.mark.parametrize("group", ["full", "half", "cubic"])
def test_the_published_errors_of_fast_motions_are_found(group: str) -> None:
    verdicts = {one["row"]: one["verdict"] for one in _beside_published("variable_inertia", group)}
    assert all(verdict.startswith("passes") for verdict in verdicts.values())
    assert ("not adapted" in verdicts) == (group == "cubic")


@pytest.mark.parametrize("group", ["frictionless", "friction"])
def test_published_gains_give_the_published_order_and_the_errors_of_another_simulation(group: str) -> None:
    """As near to the independent simulation as the definitions that the paper leaves open let two of them be.

    The ratios are 0.5 to 1.23; the largest of the error in the window instead of its mean alone makes 0.5 0.7.
    """
    compared = _beside_published("gain_study", group, judged=True)
    assert all(one["verdict"] for one in compared)
    for one in compared:
        for other in one["independent"]:
            assert 0.45 * other <= one["ours"] <= 1.3 * other, one
    errors = {one["row"]: one["ours"] for one in compared if one["column"] == "steady-state error"}
    by_damping = [errors[f"K_d {K_d}, r_7 = 10"] for K_d in ("5 … 1", "10 … 2", "30 … 5")]
    assert by_damping == sorted(by_damping, reverse=group == "friction"), "friction alone turns their order round"


def test_the_published_hand_is_found_better_than_on_the_real_arm() -> None:
    for one in _beside_published("unknown_tool", "constant"):
        assert one["verdict"].startswith("of a real arm")
        assert one["column"].startswith("CoM") or one["ours"] < 0.01 * one["published"]
