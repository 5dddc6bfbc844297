"""The study of payloads: runs in full, of a payload that is carried and of one that is picked up and put down."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from thunder_controllers.experiments.engine import summarise
from thunder_controllers.experiments.experiment import Group, Settings, load_experiment
from thunder_controllers.experiments.runner import run_case

pytestmark = pytest.mark.slow


def row_of(group: str, row: str) -> dict[str, Any]:
    """Of the table, by its first case."""
    (found,) = load_experiment("payload").select((group,), Settings(cases=1)).values()
    assert isinstance(found, Group)
    (case,) = (one for one in found.cases if one.row == row)
    outcome = run_case(case)
    assert outcome.ended == "done", outcome.message
    summary = summarise(replace(found, cases=(case,), criteria=()), [outcome])
    assert None not in summary.rows[row].values()
    return dict(summary.rows[row])


def test_a_payload_of_a_kilogram_is_found_by_law_and_record() -> None:
    row = row_of("masses", "1 kg")
    assert row["found"] == 1.0 and row["mass error, 95 % [g]"] < 3.0 and row["CoM error, 95 % [mm]"] < 0.5
    assert row["record: mass error [g]"].mean < 5.0 and row["record: CoM error [mm]"].mean < 1.0
    assert row["χ²"] < 3.0, "standard deviations that are claimed"


def test_a_body_is_seen_when_it_is_picked_up_and_when_it_is_put_down() -> None:
    row = row_of("changes", "Lissajous with swing")
    assert row["changes missed"] == row["changes invented"] == 0.0
    assert row["found after [s]"] < 0.3
    assert row["mass error of what was picked up [g]"].mean < 15.0
