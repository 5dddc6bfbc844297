"""The tables of docs/results/benchmarks.md are those of the run that is kept beside it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import page  # noqa: E402


def test_the_page_shows_the_figures_of_the_kept_run() -> None:
    kept, text = json.loads(page.KEPT.read_text(encoding="utf-8")), page.PAGE.read_text(encoding="utf-8")
    assert page.with_figures(text, kept) == text
    for name, figure in page.plots(kept).items():
        drawn = (page.DOCS / "images" / f"benchmarks-{name}.svg").read_text(encoding="utf-8")
        labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert labels and all(f">{label}<" in drawn for label in labels)
