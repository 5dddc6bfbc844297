"""Motions that the rehearsal accepts run on the virtual FR3 without a reflex; `make soak` runs ten thousand of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from host_programs import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "benchmarks"))

import franka_motions  # noqa: E402

pytestmark = pytest.mark.slow


def test_accepted_motions_end_without_a_reflex(tmp_path: Path, build_cache: Path) -> None:
    tally = franka_motions.run_motions(15, 46, tmp_path)
    counts = tally.counts
    assert not counts["reflexes"] and not counts["refused in the time that was named"], tally.lines
    assert counts["accepted in the time that was named"] and counts["accepted as asked"]
