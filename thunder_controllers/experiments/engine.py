"""Groups to findings: all cases are run, whatever group they are of, and each group is summarised and drawn."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

import matplotlib.style

from thunder_controllers.experiments.experiment import FAILED, Case, Findings, Group, Outcome, by_row
from thunder_controllers.experiments.fleet import may_share
from thunder_controllers.experiments.runner import load_robot, shared_by
from thunder_controllers.experiments.runner import run_cases as run_here
from thunder_controllers.experiments.table import COLUMNS
from thunder_controllers.report.figures import STYLE
from thunder_dynamics.errors import ScenarioError, require

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""What BLAS libraries read as they are loaded."""

MOST_TOGETHER = 256
"""Cases that go together: what a step costs beside them is shared by so many, and progress is seen when they end."""

CONNECTING = 10.0
"""Longest wait for a scheduler [s]."""


def run_groups(
    groups: Mapping[str, Group | Findings],
    jobs: int,
    progress: Callable[[str, float], None],
    known: Callable[[Case], Outcome | None] = lambda _: None,
    keep: Callable[[Case, Outcome], None] = lambda *_: None,
    scheduler: str | None = None,
) -> dict[str, Findings]:
    """Run the cases of all groups together; what a group has computed itself stands.

    Args:
        groups: By name.
        jobs: Processes.
        progress: Called with a group's name and the fraction of its cases that is done.
        known: What a case gave before; it is not run again then.
        keep: Called with each case that was run.
        scheduler: Address of a Dask scheduler whose workers run the cases, instead of processes of this machine.

    Raises:
        ThunderError: if the library of a case cannot be built.
    """
    flat = [(key, case) for key, group in groups.items() if isinstance(group, Group) for case in group.cases]
    outcomes = [known(case) for _, case in flat]
    missing = [index for index, outcome in enumerate(outcomes) if outcome is None]
    for place, outcome in run_cases([flat[index][1] for index in missing], jobs, scheduler):
        key, case = flat[missing[place]]
        outcomes[missing[place]] = outcome
        keep(case, outcome)
        own = [one is not None for (name, _), one in zip(flat, outcomes, strict=True) if name == key]
        progress(key, sum(own) / len(own))
    found: dict[str, list[Outcome]] = {key: [] for key in groups}
    for (key, _), one in zip(flat, outcomes, strict=True):
        found[key] += [one] if one is not None else []
    return {key: summarise(one, found[key]) if isinstance(one, Group) else one for key, one in groups.items()}


def run_cases(cases: Sequence[Case], jobs: int, scheduler: str | None = None) -> Iterator[tuple[int, Outcome]]:
    """Run cases in parallel processes; yields the index of each with its outcome, as they end.

    A process that dies takes those beside it along: what they had begun is run again, each in a process of its own, or
    where a worker of the scheduler is left. Workers build libraries themselves: their caches are their own.

    Raises:
        ThunderError: if the library of a case cannot be built here, or there is no such scheduler.
    """
    for case in cases:
        load_robot(case.config)  # compiled here, so that no two processes compile the same
    if scheduler is not None:
        with dask_executor(scheduler) as executor:
            yield from _run_on(executor, cases, jobs)
        return
    with _one_thread_each():
        yield from _run_cases(cases, jobs)


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """The executor of a Dask cluster, for as long as it is needed.

    Raises:
        MissingLibraryError: without the extra `cluster`.
        ScenarioError: if nothing answers there.
    """
    require("distributed")
    import distributed

    connect: Any = distributed.Client  # which has no types
    try:
        client = connect(address, timeout=CONNECTING, set_as_default=False)
    except (OSError, ValueError) as error:
        what = f"no scheduler answers ({' '.join(str(error).split()) or type(error).__name__})"
        raise ScenarioError(
            what, where=address, valid="the address that `dask scheduler` shows, tls:// on a network"
        ) from error
    with client, client.get_executor(pure=False) as executor:  # equal cases are run each, as processes do
        yield executor


def _run_on(executor: Executor, cases: Sequence[Case], jobs: int) -> Iterator[tuple[int, Outcome]]:
    """What the workers of an executor give; what fails or is lost on the way is run once more, each case by itself.

    A worker that ends takes results along, and CPython 3.11 fails where two threads of a worker compile at a time
    (SystemError: AST constructor recursion depth mismatch). What fails by itself fails again.
    """
    parts, again = parts_of(cases, jobs), list[int]()
    for is_last in (False, True):
        futures = {executor.submit(run_here, [cases[i] for i in part]): part for part in parts}
        for future in as_completed(futures):
            part = futures[future]
            try:
                outcomes = future.result()
            except Exception as error:  # noqa: BLE001 - of Dask, of pickle, of a worker with other packages
                message = f"{type(error).__name__}: {' '.join(str(error).split())}"
                outcomes = [Outcome(FAILED, message=message)] * len(part)
            for index, outcome in zip(part, outcomes, strict=True):
                if is_last or outcome.ended != FAILED:
                    yield index, outcome
                else:
                    again.append(index)
        parts = [[index] for index in again]


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Give processes that begin meanwhile one thread for linear algebra, unless the user has chosen.

    With as many as there are cores they wait for each other: the fit of a record took 24 s beside two busy processes,
    and 0.9 s with one thread.
    """
    given = {name: os.environ[name] for name in THREADS if name in os.environ}
    os.environ.update(dict.fromkeys(THREADS, "1") | given)
    try:
        yield
    finally:
        for name in set(THREADS) - set(given):
            os.environ.pop(name, None)


def _run_cases(cases: Sequence[Case], jobs: int) -> Iterator[tuple[int, Outcome]]:
    context, lost = multiprocessing.get_context("spawn"), []
    with ProcessPoolExecutor(jobs, context) as pool:
        futures = {pool.submit(run_here, [cases[i] for i in part]): part for part in parts_of(cases, jobs)}
        for future in as_completed(futures):
            try:
                yield from zip(futures[future], future.result(), strict=True)
            except BrokenProcessPool:
                lost += futures[future]
    for index in lost:
        with ProcessPoolExecutor(1, context) as pool:
            try:
                yield index, pool.submit(run_here, [cases[index]]).result()[0]
            except BrokenProcessPool:
                yield index, Outcome(FAILED, message="its process died")


def parts_of(cases: Sequence[Case], jobs: int) -> list[list[int]]:
    """Indices of the cases that a process takes at once: those that may go together, shared out among the processes."""
    together: dict[str, list[int]] = {}
    for index, case in enumerate(cases):
        config = case.config
        key = f"{shared_by(config)} {config.rate} {config.duration}" if may_share(config) else str(index)
        together.setdefault(key, []).append(index)
    parts = []
    for some in together.values():
        size = min(MOST_TOGETHER, -(-len(some) // jobs))
        parts += [some[first : first + size] for first in range(0, len(some), size)]
    return parts


def summarise(group: Group, outcomes: Sequence[Outcome]) -> Findings:
    """Summarise the outcomes of a group's cases, and draw its figures."""
    results = list(zip(group.cases, outcomes, strict=True))
    columns = COLUMNS if group.columns is None else group.columns
    rows = {row: {name: of(own) for name, of in columns.items()} for row, own in by_row(results).items()}
    with matplotlib.style.context(STYLE):
        drawn = {name: draw(results) for name, draw in group.figures.items()}
    figures = {name: figure for name, figure in drawn.items() if figure is not None}
    return Findings(group.title, rows, group.criteria, figures, results, group.published)
