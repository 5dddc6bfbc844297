"""The study of payloads: what it measures of a run, and one run in full."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from thunder_controllers.experiments.engine import summarise
from thunder_controllers.experiments.experiment import Group, Settings, load_experiment
from thunder_controllers.experiments.runner import run_case
from thunder_studies.payload import BOUNDS, within

pytestmark = pytest.mark.slow


def test_an_error_is_within_its_bound_from_the_last_time_on_that_it_comes_in() -> None:
    t = np.arange(5.0)
    assert within(t, np.array([9.0, 0.5, 2.0, 0.5, 0.1]), 1.0) == 3.0
    assert within(t, np.array([np.nan, 0.5, 0.5, 0.5, 0.1]), 1.0) == 1.0
    assert within(t, np.zeros(5), 1.0) == 0.0
    assert within(t, np.array([0.0, 0.0, 0.0, 0.0, 2.0]), 1.0) == np.inf


def test_a_payload_of_a_kilogram_is_found() -> None:
    (group,) = load_experiment("payload").select(("masses",), Settings(cases=1)).values()
    assert isinstance(group, Group)
    (case,) = (one for one in group.cases if one.row == "1 kg")
    outcome = run_case(case)
    assert outcome.ended == "done", outcome.message
    found = summarise(replace(group, cases=(case,), criteria=()), [outcome])
    row = found.rows["1 kg"]
    assert row["record: within 5 g and 1 mm"] == 1.0 and None not in row.values()
    assert [row[f"{name} within after [s]"] for name in BOUNDS] == [np.inf] * 3, "by the law's estimate"
    assert row["within 5 g and 1 mm"] == 0.0
    assert set(found.figures) == {"error_over_time", "payload_over_time"}
