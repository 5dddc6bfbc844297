"""The hour across ±π of `benchmarks/turns.py`, in half a minute."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from pendulum2 import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "benchmarks"))

import turns  # noqa: E402

pytestmark = pytest.mark.slow


def test_the_gen3_turns_without_end_by_readings_that_wrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, step in (("STOP", 8_000), ("GOAL", 10_000), ("HOME", 19_000), ("EPISODE", 28_000)):
        monkeypatch.setattr(turns, name, step)
    assert turns.main(["--minutes", "0.5", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "turns.json").read_text(encoding="utf-8"))
    wrapped, whole = found["wrapped"], found["whole"]
    assert wrapped["goals"] == whole["goals"] == 2
    assert wrapped["readings that cross ±π"] > 4 and whole["readings that cross ±π"] == 0
    assert wrapped["guards"] == whole["guards"]
