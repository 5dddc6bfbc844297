"""A scenario under laws, grids of gains and seeds, as an experiment of one group; checked before anything runs."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from thunder_controllers.experiments.experiment import FAILED, Case, Column, Findings, Group, Outcome, Results
from thunder_controllers.experiments.figures import ERROR, over_time
from thunder_controllers.experiments.measures import measure_run
from thunder_controllers.experiments.runner import load_robot, prepare_case
from thunder_controllers.experiments.table import faults, spread, summary
from thunder_controllers.simulation.metrics import FINAL_SECONDS
from thunder_controllers.simulation.preparation import adapted_links
from thunder_controllers.simulation.scenario import Run, RunConfig, law_text, value_text
from thunder_dynamics.codegen.fingerprint import canonical
from thunder_dynamics.errors import NameNotFoundError, ScenarioError, nearest
from thunder_dynamics.storage.door import read_json, read_text
from thunder_dynamics.storage.whole import write_text
from thunder_dynamics.version import __version__

LawRequest = tuple[str, Mapping[str, Any]]
"""A law's name and options."""

Grid = Mapping[str, Sequence[float | tuple[float, ...]]]
"""Values to try, by gain."""

MEASURES: dict[str, str] = {
    "error": "error [m or rad]",
    "largest_error": "largest error [m or rad]",
    "iae": "∫‖e‖ dt [m s or rad s]",
    "rise_time": "rise time [s]",
    "mass_error": "mass error [kg]",
    "com_error": "CoM error [m]",
    "inertia_error": "inertia error [kg·m²]",
    "consistent": "consistent",
    "step_us": "step [µs]",
}
"""What the CSV calls a measure, and what the table does; docs/compare.md says them in words."""

ONLY_IN_CSV = ("effort", "rate_limited", "frozen", "peak_speed", "stopped")

COLUMNS: dict[str, Column] = {
    "runs": len,
    "failed": faults,
    "stopped at [s]": summary("stopped", min),
    **{title: summary(name, spread) for name, title in MEASURES.items()},
}


@dataclass(frozen=True)
class Plan:
    """What a comparison runs.

    Attributes:
        group: Cases by combination of law and gains, and within it by seed.
        notes: What of the scenario does not apply to a law.
    """

    group: Group
    notes: tuple[str, ...]


def parse_grid(texts: Sequence[str]) -> Grid:
    """Parse NAME=v1,v2,…; a value `a+b` is one number per joint, axis or link.

    Raises:
        ScenarioError: showing the form.
    """
    grid: dict[str, tuple[float | tuple[float, ...], ...]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        try:
            numbers = [tuple(map(float, value.split("+"))) for value in values.split(",")]
        except ValueError:
            raise ScenarioError(f"gains '{text}'", valid="NAME=VALUE,…, values of several numbers as a+b") from None
        if name in grid:
            raise ScenarioError(f"gains of {name} are given twice", valid="one --gains for each name")
        grid[name] = tuple(value[0] if len(value) == 1 else value for value in numbers)
    return grid


def make_plan(run: Run, laws: Sequence[LawRequest], grid: Grid, seeds: int, title: str = "") -> Plan:
    """Lay laws, gains and seeds out, and set every combination up once, so that nothing unknown is left to the runs.

    The scenario's own law has the scenario's options where none are given. The scenario's gains and first estimates go
    to every law that has such gains and adapts such links; `Plan.notes` says where they do not.

    Raises:
        ThunderError: for an unknown law, option or gain, a size or value out of bounds, or parts that do not fit.
    """
    requests = list(laws) or [(run.config.law.name, {})]
    names = [law_text(*request) for request in requests]
    if len(set(names)) != len(names):
        raise ScenarioError(f"a law is given twice: {', '.join(names)}", valid="each combination of options once")
    cases: list[Case] = []
    notes: list[str] = []
    unused = set(grid)
    for request, name in zip(requests, names, strict=True):
        config, known, note = _under(run.config, request, name)
        notes += note
        own = {gain: grid[gain] for gain in grid if gain in known}
        unused -= set(own)
        for values in itertools.product(*own.values()):
            gains = dict(zip(own, values, strict=True))
            law = config.law.model_copy(update={"gains": {**config.law.gains, **gains}})
            parts = [name] if len(requests) > 1 or not gains else []
            row = " ".join([*parts, *(f"{gain}={value_text(value)}" for gain, value in gains.items())])
            for seed in range(config.seed, config.seed + seeds):
                one = config.model_copy(update={"law": law, "seed": seed})
                cases.append(Case(row, one, FINAL_SECONDS, run.adaptation, measure_run))
    if unused:
        name = min(unused)
        raise NameNotFoundError(f"no law has a gain '{name}'", where="--gains", valid=nearest(name, sorted(known)))
    for case in cases[::seeds]:
        prepare_case(case)
    figures = {"error_over_time": over_time(ERROR)}
    return Plan(Group(title, tuple(cases), columns=COLUMNS, figures=figures), tuple(notes))


def _under(config: RunConfig, request: LawRequest, label: str) -> tuple[RunConfig, set[str], list[str]]:
    """The configuration under another law, the names of its gains, and what of the scenario does not apply to it."""
    name, options = request
    scenario, notes = config.law, []
    if name == scenario.name and not options:
        options = scenario.options
    law = scenario.model_copy(update={"name": name, "options": dict(options)})
    config = config.model_copy(update={"law": law})
    robot = load_robot(config)
    known = {entry.name for entry in robot.library.law(name).gains}
    links = adapted_links(robot.model, robot.library.law(config.law.name), config)
    kept: dict[str, dict[str, Any]] = {
        "gains": {key: value for key, value in scenario.gains.items() if key in known},
        "initial_estimates": {key: value for key, value in scenario.initial_estimates.items() if key in links},
    }
    for key, what in (("gains", "gains"), ("initial_estimates", "first estimates")):
        if lost := [one for one in getattr(scenario, key) if one not in kept[key]]:
            notes.append(f"{label}: the scenario's {what} of {', '.join(lost)} do not apply")
    files: dict[str, None] = {}
    if scenario.estimates_file is not None and (name, dict(options)) != (scenario.name, dict(scenario.options)):
        files = {"estimates_file": None}
        notes.append(f"{label}: the scenario's estimates_file does not apply")
    return config.model_copy(update={"law": law.model_copy(update={**kept, **files})}), known, notes


class Kept:
    """Outcomes in a folder, under the hash of all that they follow from; errors are not kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def _file(self, case: Case) -> Path:
        robot = load_robot(case.config)
        config = case.config.model_dump(mode="json", exclude={"robot": True, "plant": {"urdf"}})
        if case.config.law.estimates_file is not None:  # by what it says, not by where it lies
            config["law"]["estimates_file"] = read_text(Path(case.config.law.estimates_file), ScenarioError)
        held = [one.name for one in fields(Outcome)]
        parts = [__version__, held, robot.library.hash, canonical(robot.description), config]
        text = json.dumps([*parts, case.adaptation, case.window], sort_keys=True)
        return self._folder / f"{hashlib.sha256(text.encode()).hexdigest()}.json"

    def read(self, case: Case) -> Outcome | None:
        """Find what a case gave; None if it is not there.

        Raises:
            ScenarioError: if it cannot be read.
        """
        file = self._file(case)
        if not file.exists():
            return None
        try:
            return Outcome(**read_json(file, ScenarioError))
        except TypeError as error:
            valid = "a run that was kept; delete the file to run it again"
            raise ScenarioError(f"cannot be read ({error})", where=str(file), valid=valid) from error

    def keep(self, case: Case, outcome: Outcome) -> None:
        """Write what a case gave, unless it ended with an error."""
        if outcome.ended != FAILED:
            write_text(self._file(case), json.dumps(asdict(outcome)), durable=False)


def shown(findings: Findings) -> Findings:
    """Leave out columns that stay empty."""
    rows = findings.rows
    names = [name for name in COLUMNS if any(row[name] is not None for row in rows.values())]
    return replace(findings, rows={row: {name: own[name] for name in names} for row, own in rows.items()})


def csv_text(results: Results) -> str:
    """Write the runs as CSV, a row each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["combination", "law", "options", "gains", "seed", "ended", "message", *MEASURES, *ONLY_IN_CSV])
    for case, one in results:
        law = case.config.law
        chosen = [json.dumps(law.options), json.dumps(law.gains), case.config.seed, one.ended, one.message]
        writer.writerow([case.row, law.name, *chosen, *(one.values.get(name) for name in (*MEASURES, *ONLY_IN_CSV))])
    return text.getvalue()
