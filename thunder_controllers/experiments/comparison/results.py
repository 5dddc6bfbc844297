"""From a plan to outcomes, kept in a folder so that nothing is run twice, and to CSV and a table."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from thunder_controllers.experiments.comparison.figure import draw
from thunder_controllers.experiments.comparison.plan import Plan
from thunder_controllers.experiments.experiment import FAILED, Case, Column, Group, Outcome
from thunder_controllers.experiments.runner import load_robot, run_cases
from thunder_controllers.experiments.table import cell, faults, find, markdown_table, spread, summary
from thunder_controllers.report.page import render
from thunder_controllers.simulation.trace import write_atomically
from thunder_dynamics.codegen.fingerprint import canonical
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.version import __version__

MEASURES: dict[str, str] = {
    "error": "error",
    "largest_error": "largest error",
    "iae": "∫‖e‖ dt",
    "rise_time": "rise time [s]",
    "mass_error": "mass error [kg]",
    "com_error": "CoM error [m]",
    "inertia_error": "inertia error [kg·m²]",
    "consistent": "consistent",
    "step_us": "step [µs]",
}
"""What the CSV calls a measure, and what the table does; docs/experiments.md says them in words."""

ONLY_IN_CSV = ("effort", "rate_limited", "frozen", "peak_speed", "stopped")

COLUMNS: dict[str, Column] = {
    "runs": len,
    "failed": faults,
    "stopped at [s]": summary("stopped", min),
    **{title: summary(name, spread) for name, title in MEASURES.items()},
}


def run_plan(plan: Plan, folder: Path, jobs: int, progress: Callable[[str, float], None]) -> list[Outcome]:
    """Run what `folder` does not hold yet; every run that ends is kept there at once, errors are not.

    Raises:
        ScenarioError: if a kept run cannot be read.
    """
    kept = folder / "runs"
    kept.mkdir(parents=True, exist_ok=True)
    files = [kept / f"{_digest(case)}.json" for case in plan.cases]
    outcomes = {index: _read(file) for index, file in enumerate(files) if file.exists()}
    missing = [index for index in range(len(files)) if index not in outcomes]
    progress("runs", len(outcomes) / len(files))
    for place, outcome in run_cases([plan.cases[index] for index in missing], jobs):
        index = missing[place]
        outcomes[index] = outcome
        if outcome.ended != FAILED:
            text = json.dumps(asdict(outcome))
            write_atomically(files[index], lambda file, text=text: file.write(text.encode()))  # type: ignore[misc]
        progress("runs", len(outcomes) / len(files))
    return [outcomes[index] for index in range(len(files))]


def _digest(case: Case) -> str:
    """Of all that a run's outcome follows from: library, plant's description, configuration with its seed, version."""
    robot = load_robot(case.config)
    config = case.config.model_dump(mode="json", exclude={"robot": True, "plant": {"urdf"}})
    parts = [__version__, robot.library.hash, canonical(robot.description), config, case.adaptation, case.window]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _read(file: Path) -> Outcome:
    try:
        return Outcome(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        what = f"cannot be read ({error})"
        raise ScenarioError(
            what, where=str(file), valid="a run that was kept; delete the file to run it again"
        ) from error


def csv_text(plan: Plan, outcomes: Sequence[Outcome]) -> str:
    """Write the runs as CSV, a row each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["combination", "law", "options", "gains", "seed", "ended", "message", *MEASURES, *ONLY_IN_CSV])
    for case, one in zip(plan.cases, outcomes, strict=True):
        law = case.config.law
        chosen = [json.dumps(law.options), json.dumps(law.gains), case.config.seed, one.ended, one.message]
        writer.writerow([case.row, law.name, *chosen, *map(one.value, (*MEASURES, *ONLY_IN_CSV))])
    return text.getvalue()


def table(plan: Plan, outcomes: Sequence[Outcome]) -> list[list[str]]:
    """Lay the table out: a row per combination, mean ± deviation over seeds; columns that stay empty are left out."""
    rows = find(Group("", plan.cases, columns=COLUMNS), outcomes).rows
    shown = [name for name in COLUMNS if any(row[name] is not None for row in rows.values())]
    return [
        ["law and gains", *shown],
        *([name, *(cell(row[column]) for column in shown)] for name, row in rows.items()),
    ]


def write_results(plan: Plan, outcomes: Sequence[Outcome], folder: Path, title: str) -> None:
    """Write `runs.csv`, `table.md` and `comparison.png`.

    Raises:
        OSError: if a file cannot be written.
    """
    notes = [f"- {note}" for note in plan.notes]
    page = "\n".join([f"# {title}", "", *markdown_table(table(plan, outcomes)), "", *notes]).rstrip() + "\n"
    files = {
        "runs.csv": csv_text(plan, outcomes).encode(),
        "table.md": page.encode(),
        "comparison.png": render(draw(list(zip(plan.cases, outcomes, strict=True)))),
    }
    for name, content in files.items():
        write_atomically(folder / name, lambda file, content=content: file.write(content))  # type: ignore[misc]
