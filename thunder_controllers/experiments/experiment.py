"""What an experiment is: groups of runs declared as data, or computed rows, and the criteria that they must meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, NamedTuple

from thunder_controllers.simulation.scenario import RunConfig
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_dynamics.errors import NameNotFoundError, ScenarioError, loaded, nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure  # a process that runs cases draws nothing

GROUP = "thunder.experiments"
"""Entry points: a name, and the function without arguments that makes its `Experiment`."""


DONE, REFUSED, DIVERGED, FAILED = "done", "refused", "diverged", "failed"
"""How a case can end, beside the name of the first fault of the host."""


class Measured(NamedTuple):
    """What a case's own measure makes of its run: numbers for the table, and short series for figures."""

    values: Mapping[str, float | None]
    series: Mapping[str, list[Any]] = {}


@dataclass(frozen=True)
class Case:
    """One run.

    Args:
        row: Of the table; the cases of a row are summarised together.
        config: All that the run needs, as in a scenario; paths are absolute.
        window: The error is taken over this long at the end of the run [s].
        adaptation: Whether the estimates adapt; the host keeps them if not.
        measure: What else is taken from the run: a function of a module, as it runs in another process.
        measures_stopped: Also where the host stops the arm, of the time until then.
    """

    row: str
    config: RunConfig
    window: float
    adaptation: bool = True
    measure: Callable[[Case, Trace, Timing], Measured] | None = None
    measures_stopped: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a case gave.

    Attributes:
        ended: `DONE`; `REFUSED`, activation was; `DIVERGED`, the plant's state was not finite; a fault of the host; or
            `FAILED`, an error.
        values: Numbers: `peak_speed`, the largest joint speed over its limit; `frozen` and `rate_limited`, shares of
            steps that kept the estimates, and whose effort the rate limit cut. If the case is done, `error` and
            `peak_error`, mean and largest value of ‖[e_p; θ]‖ over the window [m, rad], and what `Case.measure` found;
            if a fault stopped the arm, `stopped`, when [s], and the others are of the time until then.
        series: What `Case.measure` found for figures.
        why: What went how far beyond which limit when a fault stopped the arm.
        message: Of the error.
    """

    ended: str
    values: Mapping[str, float | None] = field(default_factory=dict)
    series: Mapping[str, list[Any]] = field(default_factory=dict)
    why: str = ""
    message: str = ""


Results = Sequence[tuple[Case, Outcome]]
"""Cases with what they gave, in their order."""


def by_row(results: Results) -> dict[str, list[Outcome]]:
    """Outcomes by the row of their cases."""
    members: dict[str, list[Outcome]] = {case.row: [] for case, _ in results}
    for case, one in results:
        members[case.row].append(one)
    return members


class Spread(NamedTuple):
    """A cell of the table: mean and standard deviation over the cases of a row."""

    mean: float
    deviation: float


Value = float | Spread | None
"""A cell of the table."""

Column = Callable[[Sequence[Outcome]], Value]
"""What a column makes of the outcomes of a row."""

Draw = Callable[[Results], "Figure | None"]
"""What draws the results of a group; None where there is nothing to see."""


@dataclass(frozen=True)
class Criterion:
    """A bound on one column of the table.

    Args:
        column: Of the group's table; of a `Spread`, the mean is judged.
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
class Published:
    """A number of a publication, beside which a cell of the table stands.

    A cell passes within a share `within` of the number, or of what lies between the least and the largest of
    `independent`.

    Args:
        row: Of the group's table.
        column: Of it; of a `Spread`, the mean is compared.
        value: As published.
        source: Publication and table.
        within: Relative.
        independent: What simulations that share no code with this package give for the published set-up.
        why: What keeps this number from being reproduced; without it, a cell that does not pass is missed.
    """

    row: str
    column: str
    value: float
    source: str
    within: float = 0.05
    independent: tuple[float, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Group:
    """Cases that are run, in parallel, and shown together.

    Args:
        title: Of the group.
        cases: What is run.
        criteria: What the rows must meet.
        columns: Of its table; None: `table.COLUMNS`.
        figures: What draws its results beside the common figure, by name: `figures.over_time` and `figures.estimates`
            make such functions.
        published: Numbers of publications that its rows stand beside.
    """

    title: str
    cases: tuple[Case, ...]
    criteria: tuple[Criterion, ...] = ()
    columns: Mapping[str, Column] | None = None
    figures: Mapping[str, Draw] = field(default_factory=dict)
    published: tuple[Published, ...] = ()


@dataclass(frozen=True)
class Findings:
    """What a group found. A group that is not made of scenario runs is a function of the settings that returns this.

    Args:
        title: Of the group.
        rows: Of its table: cells by row and column; all rows have the same columns.
        criteria: What the rows must meet.
        figures: What it drew, by name; each becomes `<group>_<name>.png` and a part of the page.
        results: Of its cases; empty where there are none.
        published: Numbers of publications that its rows stand beside.
    """

    title: str
    rows: Mapping[str, Mapping[str, Value]]
    criteria: tuple[Criterion, ...] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)
    results: Results = ()
    published: tuple[Published, ...] = ()


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

    @property
    def seeds(self) -> range:
        """One for each case."""
        return range(self.seed, self.seed + self.cases)


@dataclass(frozen=True)
class Experiment:
    """Groups by name, each built, or computed, only when it is asked for.

    Args:
        description: What it shows; its first line is what `thunder experiment --list` says of it.
        groups: Functions of the settings.
        setup: Which published set-up it follows, what that leaves open, and how it was chosen here; paragraphs.
        cases: In each group of random cases, where the user chooses no number.
    """

    description: str
    groups: Mapping[str, Callable[[Settings], Group | Findings]]
    setup: str = ""
    cases: int = 200

    def select(self, names: tuple[str, ...], settings: Settings) -> dict[str, Group | Findings]:
        """Build the named groups, all if there are no names.

        Raises:
            ScenarioError: if there is no such group.
        """
        unknown = [name for name in names if name not in self.groups]
        if unknown:
            raise ScenarioError(f"no group '{unknown[0]}'", valid=", ".join(self.groups))
        return {name: build(settings) for name, build in self.groups.items() if not names or name in names}


def experiment_entries() -> dict[str, EntryPoint]:
    """Entry points of the installed experiments, by name."""
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}


def load_experiment(name: str) -> Experiment:
    """Load an installed experiment.

    Raises:
        NameNotFoundError: if there is none of that name.
    """
    found = experiment_entries()
    if name not in found:
        raise NameNotFoundError(f"no experiment '{name}'", valid=nearest(name, found))
    experiment: Experiment = loaded(found[name])()
    return experiment
