"""The table of an experiment: how rows are summarised, when a criterion is kept, what an earlier table adds."""

from __future__ import annotations

import pytest

from thunder_controllers.experiments.engine import summarise
from thunder_controllers.experiments.experiment import (
    Case,
    Criterion,
    Experiment,
    Findings,
    Group,
    Outcome,
    Published,
    Settings,
    Spread,
)
from thunder_controllers.experiments.table import Document, make_document, markdown, missed, spread, tables
from thunder_controllers.simulation.scenario import RunConfig

CONFIG = RunConfig.model_validate(
    {
        "robot": "robot.yaml",
        "plant": {"urdf": "robot.urdf"},
        "reference": {"type": "hold", "position": [0.4, 0.0, 0.5]},
        "start": {"q": [0.0]},
        "duration": 1.0,
    }
)


def _outcome(ended: str, **values: float) -> Outcome:
    return Outcome(ended, {"peak_speed": 0.5, "frozen": 0.0, "rate_limited": 0.0, **values})


GOOD = _outcome("done", error=1e-4, peak_error=2e-4)
FAR = _outcome("done", error=3e-2, peak_error=5e-2, peak_speed=0.9, frozen=0.2)
AWAY = _outcome("runaway", peak_speed=4.0, stopped=1.0)


def _document(*criteria: Criterion, **rows: list[Outcome]) -> Document:
    cases = tuple(Case(row, CONFIG, 1.0) for row, outcomes in rows.items() for _ in outcomes)
    experiment = Experiment("What it shows.", {})
    group = Group("Group", cases, criteria)
    flat = [one for outcomes in rows.values() for one in outcomes]
    return make_document("test", experiment, Settings(), {"group": summarise(group, flat)})


def test_a_row_counts_what_ran_and_what_did_not() -> None:
    document = _document(row=[GOOD, FAR, AWAY, Outcome("refused"), Outcome("diverged"), Outcome("position_exceeded")])
    row = document["groups"]["group"]["rows"]["row"]
    assert (row["cases"], row["refused"], row["runaways"], row["other faults"]) == (6, 1, 2, 1)
    assert row["success"] == 0.2  # of the five that ran
    assert (row["error"], row["largest error"], row["speed / limit"]) == (1.505e-2, 5e-2, 4.0)


def test_a_row_of_refusals_has_no_numbers_and_misses_nothing() -> None:
    document = _document(Criterion("success", 0.9, at_least=True), row=[Outcome("refused")])
    assert document["groups"]["group"]["rows"]["row"]["success"] is None
    assert missed(document) == []


@pytest.mark.parametrize(
    ("criterion", "missing"),
    [
        (Criterion("runaways", 0.0), ["Group, b: runaways ≤ 0 (is 1)"]),
        (Criterion("runaways", 0.0, rows=("a",)), []),
        (Criterion("success", 1.0, at_least=True), ["Group, b: success ≥ 1 (is 0.333)"]),
        (Criterion("error", 2.0, rows=("b",), times="a"), ["Group, b: error ≤ 2 × that of 'a' (is 0.015)"]),
        (Criterion("error", 1e4, rows=("b",), times="a"), []),
    ],
)
def test_a_criterion_is_kept_or_named(criterion: Criterion, missing: list[str]) -> None:
    document = _document(criterion, a=[GOOD], b=[FAR, GOOD, AWAY])
    assert missed(document) == missing
    page = markdown(document)
    assert ("All criteria are kept." in page) == (not missing) and all(line in page for line in missing)


def test_an_earlier_table_shows_where_it_differs() -> None:
    before, now = _document(a=[AWAY], b=[GOOD]), _document(a=[GOOD], b=[GOOD], c=[FAR])
    ((head, *rows),) = tables(now, before)
    column = head.index("runaways")
    assert [row[column] for row in rows] == ["1 → 0", "0", "0"]


def test_a_spread_is_shown_whole_and_judged_by_its_mean() -> None:
    assert spread([1.0, 3.0]) == Spread(2.0, pytest.approx(2.0**0.5)) and spread([1.0]) == Spread(1.0, 0.0)
    rows = {"a": {"error": spread([1.0, 3.0])}, "b": {"error": spread([1.0])}}
    criteria = (Criterion("error", 1.9), Criterion("error", 0.6, rows=("b",), times="a"))
    document = make_document("test", Experiment("", {}), Settings(), {"group": Findings("Group", rows, criteria)})
    assert missed(document) == ["Group, a: error ≤ 1.9 (is 2)"]
    ((_, *body),) = tables(document)
    assert [row[-1] for row in body] == ["2 ± 1.4", "1"]


def test_groups_of_other_columns_have_a_table_of_their_own() -> None:
    groups = {name: Findings(name, {"row": {name[0]: 1.0}}) for name in ("aa", "ab", "b")}
    document = make_document("test", Experiment("", {}), Settings(), groups)
    assert [[row[-1] for row in table] for table in tables(document)] == [["a", "1", "1"], ["b", "1"]]
    assert markdown(document).count("| group | row |") == 2


@pytest.mark.parametrize(
    ("published", "ours", "verdict"),
    [
        (Published("row", "x", 2.0, "A, Table 1"), 2.09, "passes"),
        (Published("row", "x", -2.0, "A, Table 1"), -1.91, "passes"),
        (Published("row", "x", 2.0, "A, Table 1"), 2.11, "fails"),
        (Published("row", "x", 2.0, "A, Table 1", within=0.1), 2.11, "passes"),
        (Published("row", "x", 2.0, "A, Table 1", independent=(3.0, 2.5)), 2.4, "passes by the independent ones"),
        (Published("row", "x", 2.0, "A, Table 1", independent=(3.0,), why="left open"), 4.0, "left open"),
        (Published("row", "x", 2.0, "A, Table 1", why="left open"), None, "fails"),
    ],
)
def test_a_published_number_passes_or_says_why_not_or_is_missed(
    published: Published, ours: float | None, verdict: str
) -> None:
    group = Findings("Group", {"row": {"x": ours}}, published=(published,))
    document = make_document("test", Experiment("", {}), Settings(), {"group": group})
    (_, (head, cells)) = tables(document)
    shown = dict(zip(head, cells, strict=True))
    assert (shown["source"], shown["number"], shown["verdict"]) == ("A, Table 1", "x", verdict)
    assert bool(missed(document)) == (verdict == "fails")
    assert ours is None or shown["difference"] == f"{100.0 * (ours / published.value - 1.0):+.1f} %"
