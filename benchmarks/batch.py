"""Functions and a law's step at many states, by a library without lanes and one with lanes.

Nanoseconds of processor time a state on one core, the best of some runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import builds
import numpy as np
from program import LAW

from thunder_controllers.host import Library
from thunder_dynamics import build, load_model

FUNCTIONS = ("T_0_ee", "J_ee", "J_ee_dot", "M", "C", "G", "Y", "Yr", "inverse_dynamics", "forward_dynamics")
FEW, MANY = 1_000, 200_000
COLUMNS = ("evaluate", "batch", "few in lanes", "many in lanes", "writing")
"""A loop in Python; `Library.batch`; the same in lanes, with results that stay in the cache and that do not; what
writing as many results to memory takes alone."""


def measure(runs: int) -> dict[str, Any]:
    """Build and time; `rows` are figures by function in the order of COLUMNS."""
    model, options = load_model(builds.PANDA), {"functions": FUNCTIONS[-2:]}
    plain, wide = (Library(build(model, [LAW], lanes=lanes, **options)) for lanes in (False, True))
    rows = {name: _row(name, plain, wide, runs) for name in (*FUNCTIONS, LAW)}
    return {"lanes": wide.lanes, "few": FEW, "many": MANY, "columns": COLUMNS, "rows": rows}


def _row(name: str, plain: Library, wide: Library, runs: int) -> list[float | None]:
    few, many = _arguments(plain, name, FEW), _arguments(plain, name, MANY)
    single = None
    if name != LAW:
        states = [{key: rows[i] for key, rows in few.items()} for i in range(FEW)]
        single = _best(lambda: [plain.evaluate(name, **one) for one in states], FEW, runs)
    times = [
        single,
        *(_batch(library, name, rows, runs) for library, rows in ((plain, few), (wide, few), (wide, many))),
    ]
    results = wide.batch(name, **many)
    written = [one if one.base is None else one.base for one in (results if isinstance(results, tuple) else (results,))]
    return [*times, _best(lambda: [one.fill(0.0) for one in written], MANY, runs)]


def _batch(library: Library, name: str, rows: dict[str, np.ndarray], runs: int) -> float:
    out = library.batch(name, threads=1, **rows)
    return _best(lambda: library.batch(name, threads=1, out=out, **rows), len(rows["q"]), runs)


def _arguments(library: Library, name: str, count: int) -> dict[str, np.ndarray]:
    """Random rows for every argument without a default; those of a step follow a pose at rest."""
    rng = np.random.default_rng(0)
    if name != LAW:
        taken = [entry for entry in library.function(name).inputs if not entry.name.startswith("par_")]
        return {entry.name: rng.uniform(-2.0, 2.0, (count, entry.size)) for entry in taken}
    state = np.concatenate([entry.defaults.ravel(order="F") for entry in library.law(LAW).state])
    reference = np.concatenate([[0.4, 0.0, 0.4], np.diag([1.0, -1.0, -1.0]).ravel(), np.zeros(12)])
    return {
        "q": rng.uniform(-1.0, 1.0, (count, 7)),
        "qd": rng.uniform(-1.0, 1.0, (count, 7)),
        "reference": np.tile(reference, (count, 1)),
        "state": state * rng.uniform(0.95, 1.05, (count, 1)),
        "dt": np.full((count, 1), 0.001),
    }


def _best(run: Callable[[], object], count: int, runs: int) -> float:
    times = []
    for _ in range(runs):
        begun = time.process_time_ns()
        run()
        times.append(time.process_time_ns() - begun)
    return min(times) / count
