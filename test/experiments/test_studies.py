"""The studies, cut to a fraction of a second: what they run, measure, draw and write."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import thunder

from thunder_controllers.commands.experiment import experiment as command
from thunder_controllers.experiments.experiment import Case, Criterion, Experiment, Findings, Group, Outcome, Settings
from thunder_controllers.experiments.report import write_report
from thunder_controllers.experiments.runner import load_robot, run_case
from thunder_controllers.experiments.studies import demo
from thunder_controllers.experiments.studies.adaptation_shootout import CHOSEN as CHOSEN_SCHEME
from thunder_controllers.experiments.studies.adaptation_shootout import adaptation_shootout, first_estimate
from thunder_controllers.experiments.studies.adaptive_vs_fixed import adaptive_vs_fixed, uncertain_arm
from thunder_controllers.experiments.studies.contact import FREEZES, LEARNS, NO_PUSH, contact
from thunder_controllers.experiments.studies.gain_study import gain_study
from thunder_controllers.experiments.studies.redundancy import ends, redundancy
from thunder_controllers.experiments.studies.rpr_partially_known import base_parameters, rpr_partially_known
from thunder_controllers.experiments.studies.unknown_tool import CHOSEN, unknown_tool
from thunder_controllers.experiments.studies.variable_inertia import variable_inertia
from thunder_controllers.experiments.table import find, make_document, missed
from thunder_controllers.laws.slotine_li import slotine_li
from thunder_controllers.simulation.options import Body
from thunder_controllers.simulation.scenario import RunConfig
from thunder_dynamics.law import options_of

pytestmark = pytest.mark.slow

STUDIES = {
    one.__name__: one
    for one in (
        gain_study,
        adaptive_vs_fixed,
        rpr_partially_known,
        unknown_tool,
        variable_inertia,
        adaptation_shootout,
    )
}
THEIR_OWN = {one.__name__: one for one in (contact, redundancy)}
"""Studies with figures of their own, or none."""


ROWS = ("posture", "joint_limits", "none")


def _short(case: Case) -> Case:
    return replace(case, config=case.config.model_copy(update={"duration": 0.1}), window=0.05)


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_runs_and_reports(name: str, tmp_path: Path) -> None:
    """One row of each group, in this process."""
    study, settings = STUDIES[name](), Settings(cases=1)
    findings: dict[str, Findings] = {}
    for key, group in study.select((), settings).items():
        assert isinstance(group, Group)
        cases = tuple(map(_short, group.cases[-2:]))
        outcomes = [run_case(case) for case in cases]
        assert [one.ended for one in outcomes] == ["done", "done"], [one.message for one in outcomes]
        findings[key] = find(replace(group, cases=cases, criteria=()), outcomes)
        assert group.columns is not None
        values = findings[key].rows[cases[-1].row]
        assert list(values) == list(group.columns)
        assert {column for column, value in values.items() if value is None} <= {"rise time [s]"}  # it still rises
        assert "error_over_time" in findings[key].figures
    page = write_report(tmp_path, make_document(name, study, settings, findings), findings).read_text()
    assert all(title in page for title in (name, "Left open there, and chosen here", "error over time"))
    assert page.count("<img") == len(list(tmp_path.glob("*.png"))) > len(findings)
    assert study.setup in (tmp_path / "table.md").read_text()


@pytest.mark.parametrize("build", (STUDIES | THEIR_OWN).values(), ids=STUDIES | THEIR_OWN)
def test_every_criterion_names_a_row_and_a_column_that_are_there(build: Callable[[], Experiment]) -> None:
    for group in build().select((), Settings(cases=2)).values():
        assert isinstance(group, Group) and group.columns is not None and group.criteria
        rows = {case.row for case in group.cases}
        for criterion in group.criteria:
            assert {*criterion.rows, *([criterion.times] if criterion.times else [])} <= rows
            assert criterion.column in group.columns


def test_the_uncertain_arm_is_possible_within_its_bounds_and_the_seeds_own() -> None:
    nominal, drawn = demo.bodies(), uncertain_arm(3)
    assert list(drawn) == list(nominal) and len(drawn) == 7
    for name, body in drawn.items():
        Body.model_validate(body)  # refuses what no body is
        for key in ("mass", "com", "inertia"):
            ratio = np.divide(body[key], nominal[name][key])
            assert (np.abs(ratio - 1.0) <= 0.3).all() and (np.abs(ratio - 1.0) > 0.0).all()
    assert uncertain_arm(3) == drawn != uncertain_arm(4)


def test_every_scheme_starts_from_the_same_possible_bodies_and_the_chosen_one_is_the_default() -> None:
    groups = adaptation_shootout().select((), Settings(cases=2))
    for group in groups.values():
        assert isinstance(group, Group)
        members: dict[str, list[Body]] = {}
        for case in group.cases:
            members.setdefault(case.row, []).append(case.config.law.initial_estimates[demo.LAST_LINK])
        assert all(first == next(iter(members.values())) for first in members.values())
    for seed in range(20):
        Body.model_validate(first_estimate(seed))  # refuses what no body is
    assert next(one.choices[0] for one in options_of(slotine_li) if one.name == "adaptation") == CHOSEN_SCHEME


def test_both_forms_meet_the_same_arms() -> None:
    (group, _) = adaptive_vs_fixed().select((), Settings(cases=3)).values()
    assert isinstance(group, Group)
    fixed, adaptive = ([case for case in group.cases if case.adaptation is one] for one in (False, True))
    assert [case.config for case in fixed] == [case.config for case in adaptive] and len(fixed) == 3


def test_the_tool_is_measured_as_what_the_robot_file_lacks() -> None:
    (group,) = unknown_tool().select(("swinging",), Settings()).values()
    assert isinstance(group, Group)
    still, adapted = (run_case(_short(case)) for case in group.cases if case.row in ("not adapted", CHOSEN))
    assert still.values["tool_mass"] == pytest.approx(830.0, rel=1e-9)
    assert still.values["tool_com"] is None, "a tool that is not seen has no centre"
    assert adapted.values["tool_mass"] < 830.0 and adapted.values["tool_com"] > 0.0


def test_four_numbers_of_the_first_two_links_act_on_the_planar_arm() -> None:
    """Random changes of π that keep them have no effect on any effort, and as many as they are have one."""
    (group,) = rpr_partially_known().select((), Settings(cases=1)).values()
    assert isinstance(group, Group)
    library, rng = load_robot(group.cases[0].config).library, np.random.default_rng(0)
    states = zip(*rng.uniform(-1.0, 1.0, (3, 40, 3)), strict=True)
    Y = np.vstack([library.evaluate("Y", *state)[:, :20] for state in states])
    base = np.array([base_parameters(unit.reshape(2, 10)) for unit in np.eye(20)]).T
    assert np.linalg.matrix_rank(Y) == 4 == np.linalg.matrix_rank(np.vstack([Y, base]))


def test_only_the_unknown_links_differ_from_the_file_in_all_rows_alike() -> None:
    (group,) = rpr_partially_known().select((), Settings(cases=2)).values()
    assert isinstance(group, Group)
    plants = [case.config.plant.inertia for case in group.cases]
    assert all(list(plant) == ["column", "boom"] for plant in plants)
    assert plants[0] != plants[1] and plants == plants[:2] * (len(plants) // 2)


def test_the_experiments_are_listed_with_a_line_each() -> None:
    result = CliRunner().invoke(command, ["--list"])
    assert result.exit_code == 0
    shown = {line.split()[0] for line in result.output.splitlines()[2:]}
    assert shown >= {"bad_day", *STUDIES}
    nothing = thunder("experiment")
    assert (
        nothing.exit_code == 2
        and "no experiment is named; valid: adaptation_shootout, adaptive_vs_fixed, bad_day, " in nothing.output
    )


def test_computed_groups_need_no_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(settings: Settings) -> Findings:
        return Findings("Stops", {"fast": {"time [s]": 0.1}, "slow": {"time [s]": 0.5}}, (Criterion("time [s]", 0.3),))

    name = "thunder_controllers.experiments.experiment.load_experiment"
    monkeypatch.setattr(name, lambda _: Experiment("Computed.", {"stops": stops}))
    result = CliRunner().invoke(command, ["stops", "--out", str(tmp_path)])
    assert result.exit_code == 1 and "missed: Stops, slow: time [s] ≤ 0.3 (is 0.5)" in result.output
    assert json.loads((tmp_path / "table.json").read_text())["groups"]["stops"]["rows"]["fast"] == {"time [s]": 0.1}
    assert not list(tmp_path.glob("*.png")) and (tmp_path / "report.html").is_file()


def test_a_case_that_failed_is_told_and_misses_its_criteria() -> None:
    case = Case("row", demo.demo(), 1.0)
    group = Group("Group", (case,), (Criterion("error", 1.0),))
    findings = find(group, [Outcome("failed", message="what went wrong")])
    assert findings.failures == ("Group, row: what went wrong",)
    assert missed(make_document("test", Experiment("", {}), Settings(), {"group": findings})) == [
        "Group, row: error ≤ 1 (is –)"
    ]


def test_a_push_is_measured_by_what_was_kept_and_what_was_believed() -> None:
    """A push of 40 N from 0.1 to 0.3 s, in runs of 0.4 s."""
    group = contact().groups["plain"](Settings(cases=1))
    assert isinstance(group, Group) and group.figures is not None
    push = {"type": "wrench", "link": demo.LAST_LINK, "start": 0.1, "end": 0.3, "force": (0.0, 0.0, 40.0)}
    outcomes: dict[str, Outcome] = {}
    for case in group.cases:
        data = case.config.model_dump()
        data |= {"duration": 0.4, "plant": {**data["plant"], "faults": () if case.row == NO_PUSH else (push,)}}
        data["law"]["initial_estimates"] = {demo.LAST_LINK: demo.bodies()[demo.LAST_LINK]}
        outcomes[case.row] = run_case(replace(case, config=RunConfig.model_validate(data)))
    assert [one.message for one in outcomes.values()] == [""] * 3
    learns, freezes = outcomes[LEARNS].values, outcomes[FREEZES].values
    assert freezes["detected"] == 1.0 and 0.0 < (freezes["delay"] or 0.0) < 50.0
    assert (freezes["covered"] or 0.0) > 0.7
    assert (freezes["mass"] or 0.0) < (learns["mass"] or 0.0)
    assert list(outcomes[NO_PUSH].values) == ["false"] and "detected" not in learns
    figures = group.figures([(case, outcomes[case.row]) for case in group.cases])
    assert [len(axis.lines) for axis in figures["around_the_push"].axes] == [2, 2]


def test_lines_near_limits_have_one_joint_near_one_at_both_ends_and_are_the_same_for_all() -> None:
    limits, rng = demo.library(), np.random.default_rng(5)
    for both in (ends(rng) for _ in range(20)):
        distance = np.minimum(both - limits.position_lower, limits.position_upper - both)
        assert (distance >= 0.0).all() and ((distance >= 0.06) & (distance <= 0.3)).all(axis=0).any()
    group = redundancy().groups["lines"](Settings(cases=2))
    assert isinstance(group, Group)
    posture, limited, none = ([case.config for case in group.cases if case.row == row] for row in ROWS)
    assert [one.reference for one in posture] == [one.reference for one in limited] == [one.reference for one in none]
    values = run_case(_short(group.cases[0])).values
    assert 0.0 < (values["distance"] or 0.0) < 0.3 and values["lost"] == 0.0
