"""What an experiment leaves in its folder: `table.json`, `table.md`, figures, and a page of all of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path

from matplotlib.figure import Figure

from thunder_controllers.experiments.experiment import Findings
from thunder_controllers.experiments.figures import draw_cases
from thunder_controllers.experiments.table import Document, markdown, tables, verdict
from thunder_controllers.report.page import REPORT, html_figure, html_page, html_table, render
from thunder_dynamics.storage.whole import write_whole

CASES = "Error of each case over its window at the end [m, rad]; a cross is one that a fault stopped."


def write_report(
    folder: Path, document: Document, findings: Mapping[str, Findings], earlier: Document | None = None
) -> Path:
    """Write all files into `folder`, which is there, and return the page's path.

    Args:
        folder: Files of the same names are replaced.
        document: As `make_document` makes it of the findings.
        findings: By group; their figures become `<group>_<name>.png`.
        earlier: Another document of the experiment, shown beside.

    Raises:
        OSError: if a file cannot be written.
    """
    name = document["experiment"]
    drawn: dict[str, Figure] = {}
    if (cases := draw_cases(document, earlier)) is not None:
        drawn[name] = cases
    captions = {name: CASES}
    for key, group in findings.items():
        for part, figure in group.figures.items():
            drawn[f"{key}_{part}"] = figure
            captions[f"{key}_{part}"] = f"{group.title}: {part.replace('_', ' ')}"
    images = {stem: render(figure) for stem, figure in drawn.items()}
    for stem, image in images.items():
        _write(folder / f"{stem}.png", image)
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    _write(folder / "table.json", text.encode() + b"\n")
    _write(folder / "table.md", markdown(document, earlier).encode())
    body = [
        *(f"<p>{escape(part)}</p>" for part in document.get("setup", "").split("\n\n") if part),
        "<h2>Result</h2>",
        *(html_table(rows) for rows in tables(document, earlier)),
        *(f"<p>{escape(line)}</p>" for line in verdict(document)),
        "<h2>Figures</h2>",
        *(html_figure(stem, image, captions[stem]) for stem, image in images.items()),
    ]
    _write(folder / REPORT, html_page(name, document["description"], body).encode())
    return folder / REPORT


def _write(path: Path, content: bytes) -> None:
    write_whole(path, lambda file: file.write(content))
