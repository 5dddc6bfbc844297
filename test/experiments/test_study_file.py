"""A study as a file: what is laid over what, which cases come of it, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from thunder_controllers.experiments.experiment import Criterion, Findings, Group, Outcome, Published, Settings
from thunder_controllers.experiments.measures import measure_run
from thunder_controllers.experiments.study import load_study
from thunder_controllers.simulation.scenario import merged
from thunder_dynamics.errors import ThunderError

STUDY: dict[str, Any] = {
    "description": "What it shows.",
    "common": {
        "scenario": "panda_joint_slotine_li",
        "window": 0.5,
        "config": {"duration": 2.0, "law": {"gains": {"K_d": 5.0}}},
        "rows": {"fixed": {"adaptation": False}, "soft": {"law": {"gains": {"K_d": 1.0}}}},
    },
    "groups": {
        "plain": {"title": "Plain"},
        "drawn": {"title": "Drawn", "draw": f"{__name__}:draw", "measure": f"{measure_run.__module__}:measure_run"},
    },
}


def draw(settings: Settings, row: str) -> Iterator[Mapping[str, Any]]:
    return ({"seed": 10 + seed, "law": {"gains": {"Lambda": float(len(row))}}} for seed in settings.seeds)


def _group(folder: Path, name: str, settings: Settings, **changes: Any) -> Group:
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(merged(STUDY, {"groups": {name: changes}})))
    group = load_study(path).select((name,), settings)[name]
    assert isinstance(group, Group)
    return group


def test_rows_are_laid_over_what_is_drawn_and_that_over_group_common_and_scenario(tmp_path: Path) -> None:
    group = _group(tmp_path, "drawn", Settings(seed=1, cases=2), config={"duration": 3.0})
    found = [(case.row, case.adaptation, case.config.seed, dict(case.config.law.gains)) for case in group.cases]
    assert found == [
        ("fixed", False, 11, {"K_d": 5.0, "Lambda": 5.0}),
        ("fixed", False, 12, {"K_d": 5.0, "Lambda": 5.0}),
        ("soft", True, 11, {"K_d": 1.0, "Lambda": 4.0}),
        ("soft", True, 12, {"K_d": 1.0, "Lambda": 4.0}),
    ]
    assert {(case.config.duration, case.window, case.measure) for case in group.cases} == {(3.0, 0.5, measure_run)}
    assert group.cases[0].config.law.name == "slotine_li" and Path(group.cases[0].config.robot).is_absolute()


@pytest.mark.parametrize(
    ("changes", "asked", "expected"), [({}, 4, 4), ({"cases": 2}, 4, 2), ({"cases_at_most": 3}, 4, 3)]
)
def test_cases_are_those_asked_for_unless_the_group_says(
    changes: Mapping[str, int], asked: int, expected: int, tmp_path: Path
) -> None:
    group = _group(tmp_path, "plain", Settings(seed=7, cases=asked), **changes)
    assert [case.config.seed for case in group.cases[:expected]] == list(range(7, 7 + expected))
    assert len(group.cases) == 2 * expected


def test_columns_are_counts_or_statistics_and_criteria_bound_them(tmp_path: Path) -> None:
    columns = {"runs": "runs", "worst": "error max", "middle": "error median"}
    criteria = {"worst": {"at_most": 2, "rows": ["soft"], "times": "fixed"}, "runs": {"at_least": 1}}
    group = _group(tmp_path, "plain", Settings(cases=1), columns=columns, criteria=criteria)
    outcomes = [Outcome("done", {"error": error}) for error in (1.0, 5.0, 2.0)]
    assert group.columns is not None
    assert {name: column(outcomes) for name, column in group.columns.items()} == {
        "runs": 3,
        "worst": 5.0,
        "middle": 2.0,
    }
    expected = {Criterion("worst", 2.0, False, ("soft",), "fixed"), Criterion("runs", 1.0, at_least=True)}
    assert set(group.criteria) == expected


def _with_published(folder: Path, section: Mapping[str, Any]) -> Path:
    path = folder / "study.yaml"
    published = [{"group": "plain", "source": "A, Table 1", **section}]
    groups = {**STUDY["groups"], "computed": f"{__name__}:computed"}
    path.write_text(yaml.safe_dump({**STUDY, "groups": groups, "published": published}))
    return path


def computed(_: Settings) -> Findings:
    return Findings("Computed", {"fast": {"x": 1.0}})


def test_published_numbers_stand_beside_rows_that_run_and_rows_that_are_computed(tmp_path: Path) -> None:
    path = _with_published(tmp_path, {"numbers": {"error": {"soft": {"value": 2.0, "independent": [1.0, 3.0]}}}})
    group = load_study(path).groups["plain"](Settings(cases=1))
    assert group.published == (Published("soft", "error", 2.0, "A, Table 1", independent=(1.0, 3.0)),)
    numbers = {"x": {"fast": {"value": 1.0, "why": "left open"}}}
    path = _with_published(tmp_path, {"group": "computed", "within": 0.1, "numbers": numbers})
    group = load_study(path).groups["computed"](Settings())
    assert group.published == (Published("fast", "x", 1.0, "A, Table 1", 0.1, why="left open"),)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"group": "plian"}, "published.0: no group 'plian'; valid: "),
        ({"numbers": {"eror": {"soft": {"value": 1.0}}}}, "published.0: no column 'eror'; valid: "),
        ({"numbers": {"error": {"sofd": {"value": 1.0}}}}, "published.0: no row 'sofd'; valid: "),
        ({"numbers": {"error": {"soft": {"is": 1.0}}}}, "published.0.numbers.error.soft.is: unknown key 'is'; valid: "),
        ({"within": 0.0}, "published.0.within: 0.0; valid: "),
    ],
)
def test_published_numbers_of_nothing_are_refused(section: Mapping[str, Any], message: str, tmp_path: Path) -> None:
    path = _with_published(tmp_path, {"numbers": {}, **section})
    with pytest.raises(ThunderError) as caught:
        load_study(path).groups["plain"](Settings(cases=1))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colums": {}}, "groups.plain: colums: unknown key 'colums'; valid: "),
        ({"window": -1}, "groups.plain: window: -1"),
        ({"columns": {"x": "error maximum"}}, "no column 'error maximum'; valid: a number and one of spread, mean"),
        ({"criteria": {"error": {"rows": ["soft"]}}}, "criteria.error: not one bound; valid: at_most or at_least"),
        ({"criteria": {"eror": {"at_most": 1}}}, "criteria.eror: no column 'eror'; valid: error"),
        ({"criteria": {"error": {"at_most": 1, "times": "hard"}}}, "criteria.error: no row 'hard'; valid: "),
        ({"rows": {"soft": {"law": {"gain": {}}}}}, "groups.plain.rows.soft: law.gain: unknown key 'gain'; valid: "),
        ({"draw": "no_such_module:draw"}, "no_such_module"),
        ({"scenario": "no_such"}, "groups.plain.scenario: no scenario 'no_such'"),
        ({"scenario": "x" * 300}, "groups.plain.scenario: no scenario 'xxx"),
        ({"draw": "no function"}, "groups.plain.draw: no function 'no function'; valid: module:function"),
        ({"cases": 100_001}, "groups.plain: cases: 100001; valid: input should be less than or equal to 100000"),
        ({"scenario": None, "config": {"robot": 3}}, "groups.plain.config.robot: no file 3; valid: a path"),
        (
            {"scenario": None, "config": {"robot": "config/robots/panda.yaml", "plant": 3}},
            "config.plant: 3; valid: keys",
        ),
        ({"scenario": None}, "groups.plain.rows.fixed: "),
        ({"figures": {"error": "unknown"}}, "groups.plain: figures.error"),
    ],
)
def test_what_is_wrong_is_named_with_its_key(changes: Mapping[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ThunderError) as caught:
        _group(tmp_path, "plain", Settings(cases=1), **changes)
    assert message in str(caught.value)
