"""What a comparison runs: a scenario under laws, grids of gains and seeds, checked before anything runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thunder_controllers.experiments.experiment import Case
from thunder_controllers.experiments.measures import measure_run
from thunder_controllers.experiments.runner import load_robot, prepare_case
from thunder_controllers.simulation.metrics import FINAL_SECONDS
from thunder_controllers.simulation.preparation import adapted_links
from thunder_controllers.simulation.scenario import Run, RunConfig, Scenario, law_text, value_text
from thunder_dynamics.errors import NameNotFoundError, ScenarioError, nearest

LawRequest = tuple[str, Mapping[str, Any]]
"""A law's name and options."""

Grid = Mapping[str, Sequence[float | tuple[float, ...]]]
"""Values to try, by gain."""


@dataclass(frozen=True)
class Plan:
    """What a comparison runs.

    Attributes:
        cases: By combination of law and gains, and within it by seed.
        notes: What of the scenario does not apply to a law.
    """

    cases: tuple[Case, ...]
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


def choose_run(scenario: Scenario, name: str | None) -> Run:
    """Find a run of the scenario by name; the last if none is named.

    Raises:
        ScenarioError: if there is no such run.
    """
    found = [run for run in scenario.runs if name in (None, run.name)]
    if not found:
        valid = ", ".join(run.name for run in scenario.runs)
        raise ScenarioError(f"no run '{name}'", where=str(scenario.path), valid=valid)
    run = found[-1]
    paths = {
        "robot": str(scenario.resolve(run.config.robot)),
        "plant": {"urdf": str(scenario.resolve(run.config.plant.urdf))},
    }
    return Run(run.name, run.adaptation, run.config.model_copy(update=_nested(run.config, paths)))


def _nested(config: RunConfig, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes of a configuration whose values may be of the models in it."""
    return {
        key: getattr(config, key).model_copy(update=value) if isinstance(value, Mapping) else value
        for key, value in changes.items()
    }


def make_plan(run: Run, laws: Sequence[LawRequest], grid: Grid, seeds: int) -> Plan:
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
            parts = ([name] if len(requests) > 1 or not gains else []) + [
                f"{k}={value_text(v)}" for k, v in gains.items()
            ]
            one = config.model_copy(update={"law": law})
            cases += _seeded(Case(" ".join(parts), one, FINAL_SECONDS, run.adaptation, measure_run), seeds)
    if unused:
        name = min(unused)
        raise NameNotFoundError(f"no law has a gain '{name}'", where="--gains", valid=nearest(name, sorted(known)))
    for case in cases[::seeds]:
        prepare_case(case)
    return Plan(tuple(cases), tuple(notes))


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
    return config.model_copy(update={"law": law.model_copy(update=kept)}), known, notes


def _seeded(case: Case, seeds: int) -> Iterator[Case]:
    first = case.config.seed
    for seed in range(first, first + seeds):
        config = case.config.model_copy(update={"seed": seed})
        yield Case(case.row, config, case.window, case.adaptation, case.measure)
