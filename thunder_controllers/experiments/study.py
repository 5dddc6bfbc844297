"""A study as a file: a scenario, what is laid over it by group, drawn case and row, and what must come of it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from thunder_controllers.experiments.experiment import (
    Case,
    Column,
    Criterion,
    Draw,
    Experiment,
    Findings,
    Group,
    Published,
    Settings,
)
from thunder_controllers.experiments.figures import ERROR, Panel, draw_estimates, over_time
from thunder_controllers.experiments.runner import choose_run
from thunder_controllers.experiments.table import COLUMNS, faults, spread, summary
from thunder_controllers.fields import Finite, Positive, Strict
from thunder_controllers.resources import share
from thunder_controllers.simulation.scenario import RunConfig, check_keys, load_scenario, merged
from thunder_dynamics.errors import NameNotFoundError, ScenarioError, loaded, nearest, shortened
from thunder_dynamics.readers import exists
from thunder_dynamics.readers.yaml_text import parse_yaml
from thunder_dynamics.storage.door import read_text

Keys = Mapping[str, Any]

MOST_CASES = 100_000
"""Of a row: all of them are checked, and kept in memory, before the first one runs."""

COUNTS: Mapping[str, Column] = {**COLUMNS, "runs": len, "faults": faults}
"""Columns that are no number of a case."""

STATISTICS: Mapping[str, Callable[[list[float]], Any]] = {
    "spread": spread,
    "mean": statistics.fmean,
    "median": statistics.median,
    "max": max,
    "min": min,
    "p95": lambda values: float(np.quantile(values, 0.95)),
}
"""What a column makes of a number of its cases."""


FIGURES: Mapping[str, Draw] = {"error": over_time(ERROR), "estimates": draw_estimates}
"""Figures that have a name."""


class CriterionSection(Strict):
    """A bound on a column, as `Criterion` has it."""

    at_most: Finite | None = None
    at_least: Finite | None = None
    rows: tuple[str, ...] = ()
    times: str | None = None

    def of(self, column: str, columns: Collection[str], rows: Collection[str], where: str) -> Criterion:
        """Make the criterion of a column.

        Raises:
            NameNotFoundError: if there is no such column or row.
            ScenarioError: if there is not one bound.
        """
        _known("column", column, columns, where)
        for row in filter(None, (*self.rows, self.times)):
            _known("row", row, rows, where)
        bounds = [bound for bound in (self.at_most, self.at_least) if bound is not None]
        if len(bounds) != 1:
            raise ScenarioError("not one bound", where=where, valid="at_most or at_least, one of them")
        return Criterion(column, bounds[0], self.at_least is not None, self.rows, self.times)


class GroupSection(Strict):
    """A group of runs. What a study says under `common` is that of all its groups, and a group's own is laid over it.

    Attributes:
        title: Of the group.
        scenario: File or name of the scenario whose last run is taken, without its gains; none: all is in `config`.
        config: Keys of a scenario, laid over it.
        draw: `module:function` that makes, of the `Settings` and the name of a row, what is laid over that for each
            case of the row; none: `seeds`.
        cases: Of a row, whatever the user chooses; 1 where nothing is random.
        cases_at_most: Where the user chooses more.
        window: The error is taken over this long at the end of the run [s].
        measure: `module:function` for `Case.measure`.
        columns: Of the table, by title: a count (`runs`, `faults`, …), or the name of a number and a statistic.
        criteria: By column.
        figures: By name: `error`, `estimates`, or panels.
        rows: By name, what is laid over the rest, keys of a scenario and `adaptation`.
        long: What is laid over the group with `--long`.
    """

    title: str
    scenario: str | None = None
    config: Keys = {}
    draw: str | None = None
    cases: int | None = Field(None, ge=1, le=MOST_CASES)
    cases_at_most: int | None = Field(None, ge=1, le=MOST_CASES)
    window: Positive
    measure: str | None = None
    columns: Mapping[str, str] = {}
    criteria: Mapping[str, CriterionSection] = {}
    figures: Mapping[str, Literal["error", "estimates"] | tuple[Panel, ...]] = {}
    rows: Mapping[str, Keys]
    long: Keys = {}


class PublishedNumber(Strict):
    """What `Published` says of one cell."""

    value: Finite
    independent: tuple[Finite, ...] = ()
    why: str = ""


class PublishedSection(Strict):
    """What a source says of the rows of a group.

    Attributes:
        group: Name of the group.
        source: Publication and table.
        within: A cell passes within this share of the number.
        numbers: By column, then by row.
    """

    group: str
    source: str
    within: Positive = 0.05
    numbers: Mapping[str, Mapping[str, PublishedNumber]]

    def of(self, columns: Collection[str], rows: Collection[str], where: str) -> Iterable[Published]:
        """Make what the rows stand beside.

        Raises:
            NameNotFoundError: if there is no such column or row.
        """
        for column, own in self.numbers.items():
            _known("column", column, columns, where)
            for row, one in own.items():
                _known("row", row, rows, where)
                yield Published(row, column, one.value, self.source, self.within, one.independent, one.why)


class StudyFile(Strict):
    """Groups by name: a mapping, laid over `common`, or the `module:function` of a computed one.

    Attributes:
        published: Numbers of publications, beside which those of the groups are shown.
    """

    description: str
    setup: str = ""
    cases: int = Field(200, ge=1, le=MOST_CASES)
    common: Keys = {}
    groups: Mapping[str, Keys | str]
    published: tuple[PublishedSection, ...] = ()


def load_study(path: Path) -> Experiment:
    """Read a study; its groups are built when they are asked for.

    Raises:
        ThunderError: with file and key, and what would be valid.
    """
    file = check_keys(StudyFile, parse_yaml(read_text(path, ScenarioError), str(path)).data, str(path))
    groups: dict[str, Callable[[Settings], Group | Findings]] = {
        name: _function(group, f"{path}: groups.{name}")
        if isinstance(group, str)
        else partial(_build, path, name, merged(file.common, group))
        for name, group in file.groups.items()
    }
    for place, section in enumerate(file.published):
        where = f"{path}: published.{place}"
        _known("group", section.group, groups, where)
        groups[section.group] = partial(_beside, groups[section.group], section, where)
    return Experiment(file.description, groups, file.setup.rstrip("\n"), file.cases)


def _known(what: str, name: str, known: Collection[str], where: str) -> None:
    if name not in known:
        raise NameNotFoundError(f"no {what} '{name}'", where=where, valid=nearest(name, known))


def _beside(
    build: Callable[[Settings], Group | Findings], section: PublishedSection, where: str, settings: Settings
) -> Group | Findings:
    """A group with what a section says of it."""
    group = build(settings)
    if isinstance(group, Findings):
        rows, columns = list(group.rows), next(iter(group.rows.values()), {})
        return replace(group, published=(*group.published, *section.of(columns, rows, where)))
    rows = [case.row for case in group.cases]
    return replace(group, published=(*group.published, *section.of(group.columns or COLUMNS, rows, where)))


def _function(reference: str, where: str) -> Callable[..., Any]:
    if not EntryPoint.pattern.match(reference):
        raise ScenarioError(f"no function {shortened(reference)}", where=where, valid="module:function")
    found: Callable[..., Any] = loaded(EntryPoint(reference, reference, "study"))
    return found


def seeds(settings: Settings, _row: str) -> Iterable[Keys]:
    """A seed for each case."""
    return ({"seed": seed} for seed in settings.seeds)


def _build(path: Path, name: str, data: Keys, settings: Settings) -> Group:
    where = f"{path}: groups.{name}"
    group = check_keys(GroupSection, merged(data, data.get("long", {}) if settings.long else {}), where)
    most = group.cases_at_most or settings.cases
    chosen = replace(settings, cases=group.cases or min(settings.cases, most))
    draw = _function(group.draw, f"{where}.draw") if group.draw else seeds
    base, measure = _base(path, group, where), _function(group.measure, f"{where}.measure") if group.measure else None
    cases = []
    for row, own in group.rows.items():
        over = {key: value for key, value in own.items() if key != "adaptation"}
        for one in draw(chosen, row):
            config = check_keys(RunConfig, merged(merged(base, one), over), f"{where}.rows.{row}")
            cases.append(Case(row, config, group.window, own.get("adaptation", True), measure))
    columns = {title: _column(text, where) for title, text in group.columns.items()} or COLUMNS
    criteria = [
        one.of(column, columns, group.rows, f"{where}.criteria.{column}") for column, one in group.criteria.items()
    ]
    figures = {key: FIGURES[one] if isinstance(one, str) else over_time(*one) for key, one in group.figures.items()}
    return Group(group.title, tuple(cases), tuple(criteria), columns, figures)


def _base(path: Path, group: GroupSection, where: str) -> Keys:
    """What all cases of a group have in common; files are found beside the study, or in the package."""
    if group.scenario is not None:
        beside = path.parent / group.scenario
        try:
            config = choose_run(load_scenario(beside if exists(beside) else group.scenario)).config
        except (NameNotFoundError, ScenarioError) as error:
            raise type(error)(error.what, where=error.where or f"{where}.scenario", valid=error.valid) from error
        return merged(config.model_dump(exclude={"law": {"gains"}}, exclude_defaults=True), group.config)
    robot = _file(path, group.config.get("robot", ""), f"{where}.config.robot")
    plant = group.config.get("plant", {})
    if not isinstance(plant, Mapping):
        raise ScenarioError(shortened(plant), where=f"{where}.config.plant", valid="keys and values")
    urdf = _file(path, plant.get("urdf", robot), f"{where}.config.plant.urdf")
    return {**group.config, "robot": robot, "plant": {**plant, "urdf": urdf}}


def _file(path: Path, given: object, where: str) -> str:
    if not isinstance(given, str):
        raise ScenarioError(f"no file {shortened(given)}", where=where, valid="a path")
    beside = path.parent / given
    return str(beside if exists(beside) else share(given))


def _column(text: str, where: str) -> Column:
    if text in COUNTS:
        return COUNTS[text]
    name, _, statistic = text.rpartition(" ")
    if not name or statistic not in STATISTICS:
        valid = f"a number and one of {', '.join(STATISTICS)}; or {nearest(text, COUNTS)}"
        raise NameNotFoundError(f"no column '{text}'", where=f"{where}.columns", valid=valid)
    return summary(name, STATISTICS[statistic])
