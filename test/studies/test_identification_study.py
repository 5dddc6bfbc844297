"""The study of records: one case of a Panda in full, right and with each thing wrong."""

from __future__ import annotations

import pytest

from thunder_controllers.experiments.experiment import Group, Settings, load_experiment
from thunder_controllers.experiments.runner import run_case

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("group", ["records", "poor"])
def test_wrong_records_of_a_panda_are_refused_with_their_cause(group: str) -> None:
    (found,) = load_experiment("identification").select((group,), Settings(seed=3, cases=1)).values()
    assert isinstance(found, Group)
    outcome = run_case(next(case for case in found.cases if case.row == "panda"))
    assert outcome.ended == "done", outcome.message
    values = outcome.values
    if group == "poor":
        assert (values["accepted"], values["cause"]) == (0.0, 1.0)
        return
    assert values["right: refused"] == values["right: noted"] == values["right: invented"] == 0.0
    assert values["right: error"] < 0.01 and values["stribeck: found"] == 1.0
    for kind in ("gains", "zeros", "exchanged"):
        assert (values[f"{kind}: accepted"], values[f"{kind}: named"]) == (0.0, 1.0), kind
