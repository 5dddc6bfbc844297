"""Regressors of many states: stored, packed, multiplied with what they are wanted for, and summed up.

Nanoseconds a state: processor time on one core, wall time on all, and processor time in single precision. What works
on a stored regressor is timed without making it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import builds
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Library
from thunder_dynamics import build, load_model

FUNCTIONS = ("Yr_pi", "YrT_s", "Yr_packed", "Yr_places", "Yb", "Yb_packed", "Yb_places", "inverse_dynamics")
COUNT = 100_000
COLUMNS = ("one core", "all cores", "single precision")

Row = tuple[float | None, float | None, float | None]


def measure(runs: int) -> dict[str, Any]:
    """Build and time; `rows` are figures in the order of COLUMNS."""
    library = Library(build(load_model(builds.PANDA), lanes=True, single=True, functions=FUNCTIONS))
    state = {k: np.random.default_rng(0).uniform(-2.0, 2.0, (COUNT, 7)) for k in ("q", "dq", "ddq", "dq_r", "ddq_r")}
    state |= {"pi": library.pi, "s": state["dq"]}
    rows: dict[str, Row] = {}
    for name in ("inverse_dynamics", "Yr_pi", "YrT_s"):
        rows[name] = _batches(library, name, state, runs)
    rows["Yr, stored"] = _batches(library, "Yr", state, runs)
    rows["Yr_packed, stored"] = _batches(library, "Yr_packed", state, runs)
    rows["Yr_packed, stored in blocks"] = _batches(library, "Yr_packed", state, runs, blocks=True)
    packed = library.batch("Yr_packed", **_taken(library, "Yr_packed", state), blocks=True)
    rows["writing as much as Yr_packed"] = (_best(lambda: packed.fill(0.0), runs), None, None)
    rows["sum of YrᵀYr"] = _sums(library, "Yr", state, runs)
    rows["sum of YrᵀWYr and YrᵀWb"] = _sums(library, "Yr", state, runs, weights=state["s"], b=state["dq"])
    rows["sum of YbᵀYb"] = _sums(library, "Yb", state, runs)
    stored = np.ascontiguousarray(library.batch("Yr", **_taken(library, "Yr", state)))
    flat = stored.reshape(-1, stored.shape[2])
    rows["NumPy, Yr·π of a stored Yr"] = (_best(lambda: flat @ library.pi, runs), None, None)
    rows["NumPy, sum of YrᵀYr of a stored Yr"] = (_best(lambda: flat.T @ flat, runs), None, None)
    return {"lanes": library.lanes, "count": COUNT, "columns": COLUMNS, "rows": rows}


def _taken(library: Library, name: str, state: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {entry.name: state[entry.name] for entry in library.function(name).inputs}


def _batches(library: Library, name: str, state: Mapping[str, NDArray[Any]], runs: int, *, blocks: bool = False) -> Row:
    def run(dtype: str, threads: int | None) -> Callable[[], object]:
        arguments = {k: v.astype(dtype) for k, v in _taken(library, name, state).items()}
        out = library.batch(name, **arguments, dtype=dtype, blocks=blocks)
        return lambda: library.batch(name, **arguments, dtype=dtype, blocks=blocks, threads=threads, out=out)

    double = run("float64", 1)
    return _best(double, runs), _best(run("float64", None), runs, time.perf_counter_ns), _best(run("float32", 1), runs)


def _sums(library: Library, name: str, state: Mapping[str, NDArray[Any]], runs: int, **options: Any) -> Row:
    def run(threads: int | None) -> Callable[[], object]:
        arguments = _taken(library, f"{name}_packed", state)
        return lambda: library.normal_equations(name, **arguments, **options, threads=threads)

    return _best(run(1), runs), _best(run(None), runs, time.perf_counter_ns), None


def _best(run: Callable[[], object], runs: int, clock: Callable[[], int] = time.process_time_ns) -> float:
    run()  # the first call meets new pages
    times = []
    for _ in range(runs):
        begun = clock()
        run()
        times.append(clock() - begun)
    return min(times) / COUNT
