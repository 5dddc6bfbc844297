"""C by matrix algebra from ∂M/∂q beside the recursion: operations, and times built and unbuilt.

    taskset -c 1 python benchmarks/coriolis.py [--robots config/robots/panda.yaml …] [--calls 20000]

Matrix algebra: C = ½(unvec(D q̇) + Q D − (Q D)ᵀ), D = ∂vec(M)/∂q, Q = [1 q̇₁ | … | 1 q̇ₙ] [Gabiccini, Bracci, De Carli,
Fredianelli & Bicchi, eq. (11)]. Unbuilt is CasADi's virtual machine, built is the C core at many states, both on one
core; by turns, medians of 11.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from thunder_controllers.host import Library
from thunder_dynamics.build import build
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.readers import load_model

FORMS = {"recursion": "C", "matrix algebra": "C_by_matrix"}
FUNCTIONS = """
def add_functions(robot):
    robot.add_function("C_by_matrix", robot.coriolis_reference(), ["q", "dq"])
"""
ROBOTS = [f"config/robots/{name}.yaml" for name in ("planar3r", "ur5", "panda")]
STATES, TURNS = 512, 11


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each robot and form; the exit status is 1 where the two differ."""
    parser = argparse.ArgumentParser(description="C by matrix algebra beside the recursion")
    parser.add_argument("--robots", nargs="+", default=ROBOTS)
    parser.add_argument("--calls", type=int, default=20_000)
    options = parser.parse_args(arguments)
    print("| robot | form | expression [s] | operations | unbuilt [ns] | built [ns] |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    return max(_compare(Path(robot), options.calls) for robot in options.robots)


def _compare(file: Path, calls: int) -> int:
    model, rng = load_model(file), np.random.default_rng(0)
    with tempfile.TemporaryDirectory(prefix="thunder_bench_") as name:
        functions = Path(name) / "functions.py"
        functions.write_text(FUNCTIONS)
        folder = build(model, folder=Path(name) / "built", user_functions=functions)
        library = Library(folder / f"lib{model.name}.so")
    q, dq = rng.uniform(-1.0, 1.0, (2, STATES, model.n))
    rounds, took, calls_of, found = max(1, calls // STATES), {}, {}, {}
    for form, symbol in FORMS.items():
        robot, begin = RobotExpressions(model), time.process_time()
        if symbol not in robot.functions:
            robot.add_function(symbol, robot.coriolis_reference(), ["q", "dq"])
        unbuilt = robot.function(symbol).map(STATES)
        took[form] = time.process_time() - begin, robot.operations(symbol)
        calls_of[form, "unbuilt"] = lambda f=unbuilt: f(q.T, dq.T)
        calls_of[form, "built"] = lambda s=symbol: library.batch(s, q, dq, threads=1)
        found[form] = library.batch(symbol, q, dq, threads=1)
    times = _by_turns(calls_of, {"unbuilt": max(1, rounds // 20), "built": rounds})
    for form, (seconds, operations) in took.items():
        unbuilt, built = (times[form, way] for way in ("unbuilt", "built"))
        print(f"| {model.name} | {form} | {seconds:.2f} | {operations:,} | {unbuilt:,.0f} | {built:,.0f} |", flush=True)
    first, second = found.values()
    return int(not np.allclose(first, second, atol=1e-9 * np.abs(first).max()))


Key = tuple[str, str]


def _by_turns(calls: Mapping[Key, Callable[[], object]], rounds: Mapping[str, int]) -> dict[Key, float]:
    samples: dict[Key, list[float]] = {key: [] for key in calls}
    for _ in range(TURNS):
        for key, call in calls.items():
            call()
            begin = time.process_time()
            for _ in range(rounds[key[1]]):
                call()
            samples[key].append(1e9 * (time.process_time() - begin) / (rounds[key[1]] * STATES))
    return {key: float(np.median(values)) for key, values in samples.items()}


if __name__ == "__main__":
    sys.exit(main())
