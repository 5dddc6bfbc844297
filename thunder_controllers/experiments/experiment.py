"""What an experiment is: groups of cases, declared as data, and the criteria that their results must meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points

from thunder_controllers.simulation.scenario import RunConfig
from thunder_dynamics.errors import NameNotFoundError, ScenarioError

GROUP = "thunder.experiments"
"""Entry points: a name, and the function without arguments that makes its `Experiment`."""


@dataclass(frozen=True)
class Case:
    """One run.

    Args:
        row: Of the table; the cases of a row are summarised together.
        config: All that the run needs, as in a scenario; paths are absolute.
        window: The error is taken over this long at the end of the run [s].
    """

    row: str
    config: RunConfig
    window: float


@dataclass(frozen=True)
class Criterion:
    """A bound on one column of the table.

    Args:
        column: See `table.COLUMNS`.
        bound: Largest value, or the smallest with `at_least`.
        at_least: The bound is a lower one.
        rows: That it holds for; empty: for all of the group.
        times: Row of the same group whose value multiplies the bound.
    """

    column: str
    bound: float
    at_least: bool = False
    rows: tuple[str, ...] = ()
    times: str | None = None

    def __str__(self) -> str:
        relation = "≥" if self.at_least else "≤"
        of = f" × that of '{self.times}'" if self.times else ""
        return f"{self.column} {relation} {self.bound:g}{of}"


@dataclass(frozen=True)
class Group:
    """Cases that are shown together."""

    title: str
    cases: tuple[Case, ...]
    criteria: tuple[Criterion, ...]


@dataclass(frozen=True)
class Settings:
    """What a user chooses.

    Args:
        seed: Of everything random.
        cases: In each group of random cases.
        long: Runs that test patience last as long as that takes.
    """

    seed: int = 0
    cases: int = 200
    long: bool = False


@dataclass(frozen=True)
class Experiment:
    """Groups by name, each built only when it is asked for."""

    description: str
    groups: Mapping[str, Callable[[Settings], Group]]

    def select(self, names: tuple[str, ...], settings: Settings) -> dict[str, Group]:
        """Build the named groups, all if there are no names.

        Raises:
            ScenarioError: if there is no such group.
        """
        unknown = [name for name in names if name not in self.groups]
        if unknown:
            raise ScenarioError(f"no group '{unknown[0]}'", valid=", ".join(self.groups))
        return {name: build(settings) for name, build in self.groups.items() if not names or name in names}


def load_experiment(name: str) -> Experiment:
    """Load an installed experiment.

    Raises:
        NameNotFoundError: if there is none of that name.
    """
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in found:
        raise NameNotFoundError(f"no experiment '{name}'", valid=", ".join(sorted(found)) or "none is installed")
    experiment: Experiment = found[name].load()()
    return experiment
