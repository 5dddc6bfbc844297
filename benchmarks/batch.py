"""Functions and a law's step at many states, with and without lanes: a Markdown table, and <out>/batch.json.

`python benchmarks/batch.py [OUT]`. Nanoseconds of processor time a state on one core, the best of some runs: by a loop
in Python, by `Library.batch` of a library without and with lanes, of few states (results stay in the cache) and of many
(results are written to memory), and what writing so many bytes takes alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import builds
import machine
import numpy as np

from thunder_controllers.host import Library
from thunder_dynamics import build, load_model
from thunder_dynamics.codegen import toolchain

FUNCTIONS = ("T_0_ee", "J_ee", "J_ee_dot", "M", "C", "G", "Y", "Yr", "inverse_dynamics", "forward_dynamics")
LAW = "cartesian_backstepping"
FEW, MANY = 1_000, 200_000
RUNS = 15


def main(arguments: Sequence[str]) -> int:
    """Build, time, print and write."""
    out = Path(arguments[0] if arguments else "results/bench")
    model, options = load_model(builds.PANDA), {"functions": FUNCTIONS[-2:]}
    plain, wide = (Library(build(model, [LAW], lanes=lanes, **options)) for lanes in (False, True))
    columns = ["evaluate", "batch", f"{wide.lanes} lanes, {FEW:,} states", f"{MANY:,} states", "writing alone"]
    rows = {name: _row(name, plain, wide) for name in (*FUNCTIONS, LAW)}
    described = machine.line(toolchain.compile_flags(portable=False))
    print(f"{described}\n\n| ns a state | {' | '.join(columns)} |\n| --- |" + " ---: |" * len(columns))
    for name, times in rows.items():
        print(f"| {name} | " + " | ".join("–" if one is None else f"{one:.1f}" for one in times) + " |")
    out.mkdir(parents=True, exist_ok=True)
    document = {"machine": described, "columns": columns, "rows": rows}
    (out / "batch.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


def _row(name: str, plain: Library, wide: Library) -> list[float | None]:
    few, many = _arguments(plain, name, FEW), _arguments(plain, name, MANY)
    single = None
    if name != LAW:
        states = [{key: rows[i] for key, rows in few.items()} for i in range(FEW)]
        single = _best(lambda: [plain.evaluate(name, **one) for one in states], FEW)
    times = [single, *(_batch(library, name, rows) for library, rows in ((plain, few), (wide, few), (wide, many)))]
    results = wide.batch(name, **many)
    written = [one if one.base is None else one.base for one in (results if isinstance(results, tuple) else (results,))]
    return [*times, _best(lambda: [one.fill(0.0) for one in written], MANY)]


def _batch(library: Library, name: str, rows: dict[str, np.ndarray]) -> float:
    out = library.batch(name, threads=1, **rows)
    return _best(lambda: library.batch(name, threads=1, out=out, **rows), len(rows["q"]))


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


def _best(run: Callable[[], object], count: int) -> float:
    times = []
    for _ in range(RUNS):
        begun = time.process_time_ns()
        run()
        times.append(time.process_time_ns() - begun)
    return min(times) / count


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
