"""The study of payloads: what it measures of a run, and one run in full."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from thunder_controllers.experiments.experiment import Group, Outcome, Settings
from thunder_controllers.experiments.report import write_report
from thunder_controllers.experiments.runner import run_case
from thunder_controllers.experiments.studies.payload import TABLE, payload, within
from thunder_controllers.experiments.table import find, make_document

pytestmark = pytest.mark.slow


def test_an_error_is_within_its_bound_from_the_last_time_on_that_it_comes_in() -> None:
    t = np.arange(5.0)
    assert within(t, np.array([9.0, 0.5, 2.0, 0.5, 0.1]), 1.0) == 3.0
    assert within(t, np.array([np.nan, 0.5, 0.5, 0.5, 0.1]), 1.0) == 1.0
    assert within(t, np.zeros(5), 1.0) == 0.0
    assert within(t, np.array([0.0, 0.0, 0.0, 0.0, 2.0]), 1.0) is None


def test_a_run_that_never_is_within_is_no_time_and_lowers_the_share() -> None:
    good = Outcome("done", values={"mass": 1.0, "com": 0.2, "mass_time": 4.0})
    late = Outcome("done", values={"mass": 9.0, "com": 0.2, "mass_time": None})
    assert TABLE["within 5 g and 1 mm"]([good, late]) == 0.5
    assert TABLE["mass within after [s]"]([good, late]) is None
    assert TABLE["mass within after [s]"]([good, replace(good, values={**good.values, "mass_time": 6.0})]) == 6.0


def test_every_criterion_names_a_row_and_a_column_that_are_there() -> None:
    for group in payload().select((), Settings(cases=2)).values():
        assert isinstance(group, Group) and group.columns is not None and group.criteria
        rows = {case.row for case in group.cases}
        assert len(group.cases) == 2 * len(rows)
        for criterion in group.criteria:
            assert set(criterion.rows) <= rows and criterion.column in group.columns


def test_a_payload_of_a_kilogram_is_found(tmp_path: Path) -> None:
    experiment, settings = payload(), Settings(cases=1)
    (group,) = experiment.select(("masses",), settings).values()
    assert isinstance(group, Group)
    (case,) = (one for one in group.cases if one.row == "1 kg")
    outcome = run_case(case)
    assert outcome.ended == "done", outcome.message
    found = find(replace(group, cases=(case,), criteria=()), [outcome])
    row = found.rows["1 kg"]
    assert row["within 5 g and 1 mm"] == row["record: within 5 g and 1 mm"] == 1.0
    assert None not in row.values()
    findings = {"masses": found}
    page = write_report(tmp_path, make_document("payload", experiment, settings, findings), findings).read_text()
    assert {one.name for one in tmp_path.glob("*.png")} > {"masses_payload_over_time.png"} and "Left open there" in page
