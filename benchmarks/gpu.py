"""Kernels of a Panda on an NVIDIA GPU, and JAX and PyTorch on the same graph, at a million states that lie there.

    python benchmarks/gpu.py prepare FOLDER     # where this package is: files of the three targets, states, results
    python FOLDER/gpu.py run FOLDER             # where a GPU and CuPy are: needs nothing of this package

`run` compares each result with what CasADi gave at the first states, takes times by the GPU's own events, median of
some runs, and prints nanoseconds a state beside what its bytes cost at the rate of a copy; it writes gpu-….json. Status
1 if a result is off.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FUNCTIONS = ("T_0_ee", "J_ee", "J_ee_dot", "M", "C", "G", "Yr")
ON_REQUEST = ("inverse_dynamics", "forward_dynamics", "Yr_packed", "Yr_pi", "YrT_s")
LAWS = ("computed_torque", "slotine_li", "cartesian_backstepping")
ARRAYS = ("T_0_ee", "M", "inverse_dynamics", "Yr")
"""What JAX and PyTorch are timed with."""

LIBRARIES = ("kernels", "jax", "torch")

COMPARED, MANY, ARRAY_STATES = 1_024, 2**20, 2**17
BLOCKS = (64, 128, 256)
TOLERANCES = {"double": 1e-12, "single": 2e-5}
"""Of the largest element; single precision is for functions, laws have limits smaller than it can tell."""

Rows = list[NDArray[np.float64]]


def prepare(folder: Path) -> None:
    """Write the files of all targets and random states with CasADi's results, column by column."""
    import builds

    from thunder_dynamics import load_model, save_target
    from thunder_dynamics.build import law_entry
    from thunder_dynamics.expressions import RobotExpressions
    from thunder_dynamics.law import build_law

    folder.mkdir(parents=True, exist_ok=True)
    model, rng = load_model(builds.PANDA), np.random.default_rng(0)
    save_target(model, "cuda", folder, LAWS, functions=ON_REQUEST)
    for target in ("jax", "torch"):
        save_target(model, target, folder, functions=ON_REQUEST)
    robot, states = RobotExpressions(model), {}
    for name in (*FUNCTIONS, *ON_REQUEST):
        function = robot.function(name)
        given = [rng.uniform(-2.0, 2.0, (function.numel_in(k), COMPARED)) for k in range(function.n_in())]
        states |= _with_results(name, function, given)
    for name in LAWS:
        law = build_law(law_entry(name), RobotExpressions(model), {})
        values = [
            [x for one in getattr(law, kind) for x in one.default.ravel(order="F")] for kind in ("state", "gains")
        ]
        reference = rng.uniform(-1.0, 1.0, (law.step.numel_in(4), COMPARED))
        motion = rng.uniform(-1.0, 1.0, (2, model.nv, COMPARED))
        rest = [np.tile(np.reshape(one, (-1, 1)), COMPARED) for one in (*values, [1e-3])]
        still = [np.zeros((law.step.numel_in(k), COMPARED)) for k in (2, 3)]
        states |= _with_results(f"law_{name}", law.step, [*motion, *still, reference, *rest])
    np.savez(folder / "states.npz", **states)
    shutil.copy(__file__, folder)


def _with_results(name: str, function: Any, given: Rows) -> dict[str, NDArray[np.float64]]:
    """Of a function at columns of arguments."""
    made = [function.call([one[:, [i]].reshape(function.size_in(k), order="F") for k, one in enumerate(given)])
            for i in range(COMPARED)]  # fmt: skip
    results = [np.array([np.asarray(row[k]).ravel(order="F") for row in made]).T for k in range(function.n_out())]
    return {f"{name}/x{k}": one for k, one in enumerate(given)} | {f"{name}/r{k}": r for k, r in enumerate(results)}


def run(folder: Path, repeats: int, libraries: Sequence[str]) -> int:
    """Check and time what is asked for; print tables."""
    states = dict(np.load(folder / "states.npz"))
    sys.path.insert(0, str(folder))
    document = _kernels(folder, states, repeats) if "kernels" in libraries else {"rows": []}
    for library in (one for one in ("jax", "torch") if one in libraries):
        for precision in TOLERANCES:
            print(f"\n{library}, {precision}", flush=True)
            for name in ARRAYS:
                document["rows"].append(_array_row(folder, library, name, states, precision, repeats))
                print(_line(document["rows"][-1]), flush=True)
    (folder / f"gpu-{'-'.join(libraries)}.json").write_text(json.dumps(document, indent=1))
    rows = [row for row in document["rows"] if not row["name"].startswith("law_")]
    return int(any(row["error"] > TOLERANCES[row["precision"]] for row in rows))


def _kernels(folder: Path, states: dict[str, Any], repeats: int) -> dict[str, Any]:
    import cupy

    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    copied = _copy_time(cupy, repeats)
    print(
        f"{device}, a copy moves {1e-3 / copied:.2f} TB/s; {MANY} states, CUDA {cupy.cuda.runtime.runtimeGetVersion()}"
    )
    rows = []
    for precision in TOLERANCES:
        options = ("-std=c++14", *(["-DTHUNDER_SINGLE"] if precision == "single" else []))
        begun = time.perf_counter()
        module = cupy.RawModule(code=(folder / "panda.cu").read_text(), options=options)
        module.compile()
        print(f"\nkernels, {precision}, compiled in {time.perf_counter() - begun:.1f} s")
        for name in (*FUNCTIONS, *ON_REQUEST, *(f"law_{law}" for law in LAWS)):
            rows.append(
                _kernel_row(cupy, module.get_function(f"panda_{name}"), name, states, precision, repeats, copied)
            )
            print(_line(rows[-1]), flush=True)
    return {"device": device, "copy": copied, "rows": rows}


def _copy_time(cupy: Any, repeats: int) -> float:
    """Of a byte read or written [ns], in a copy of 2 GiB."""
    source, target = cupy.zeros(2**28), cupy.empty(2**28)
    return _time(lambda: cupy.copyto(target, source), repeats) / (2 * source.nbytes)


def _kernel_row(
    cupy: Any, kernel: Any, name: str, states: dict[str, Any], precision: str, repeats: int, copied: float
) -> dict[str, Any]:
    kind = np.float64 if precision == "double" else np.float32
    given, made = _columns(states, name)
    x = [cupy.tile(cupy.asarray(one, kind), MANY // COMPARED) for one in given]
    r = [cupy.full((len(one), MANY), cupy.nan, kind) for one in made]
    given_all = (*x, *r, np.int64(MANY))
    times = {
        str(block): _time(partial(kernel, ((MANY + block - 1) // block,), (block,), given_all), repeats) / MANY
        for block in BLOCKS
    }
    first = [one[:, :COMPARED] for one in r]
    error = max(_error(one.get(), expected) for one, expected in zip(first, made, strict=True))
    same = all(
        bool((one.reshape(len(one), -1, COMPARED) == f[:, None, :]).all()) for one, f in zip(r, first, strict=True)
    )
    bytes_moved = sum(one.nbytes for one in (*x, *r)) / MANY
    return {
        "library": "kernel", "name": name, "precision": precision, "ns": times["128"], "blocks": times,
        "error": error if same else float("inf"), "floor": bytes_moved * copied,
        "registers": kernel.num_regs, "local": kernel.local_size_bytes,
    }  # fmt: skip


def _array_row(
    folder: Path, library: str, name: str, states: dict[str, Any], precision: str, repeats: int
) -> dict[str, Any]:
    given, made = _columns(states, name)
    rows = [np.tile(one.T, (ARRAY_STATES // COMPARED, 1)) for one in given]
    call, compiled = (_jax_call if library == "jax" else _torch_call)(
        getattr(importlib.import_module(f"panda_{library}"), name), rows, precision
    )
    result = np.asarray(call().cpu() if library == "torch" else call(), np.float64)
    result = result.swapaxes(-1, -2).reshape(ARRAY_STATES, -1) if result.ndim == 3 else result
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    error = _error(result[:COMPARED].T, made[0])
    ns = 1e9 * float(np.median(times)) / ARRAY_STATES
    return {
        "library": library, "name": name, "precision": precision, "ns": ns, "error": error, "compiled": compiled,
    }  # fmt: skip


def _jax_call(function: Callable[..., Any], rows: Rows, precision: str) -> tuple[Callable[[], Any], float]:
    import jax

    jax.config.update("jax_enable_x64", True)
    given = [jax.device_put(one.astype(np.float64 if precision == "double" else np.float32)) for one in rows]
    compiled, begun = jax.jit(function), time.perf_counter()
    compiled(*given).block_until_ready()
    return lambda: compiled(*given).block_until_ready(), time.perf_counter() - begun


def _torch_call(function: Callable[..., Any], rows: Rows, precision: str) -> tuple[Callable[[], Any], float]:
    import torch

    kind = torch.float64 if precision == "double" else torch.float32
    given = [torch.as_tensor(one, dtype=kind, device="cuda") for one in rows]
    compiled, begun = torch.compile(function, dynamic=False), time.perf_counter()

    def call() -> Any:
        result = compiled(*given)
        torch.cuda.synchronize()
        return result

    call()
    return call, time.perf_counter() - begun


def _columns(states: dict[str, Any], name: str) -> tuple[Rows, Rows]:
    of = {kind: [key for key in states if key.startswith(f"{name}/{kind}")] for kind in "xr"}
    return tuple([states[key] for key in of[kind]] for kind in "xr")  # type: ignore[return-value]


def _error(found: NDArray[Any], expected: NDArray[np.float64]) -> float:
    largest = float(np.abs(expected).max(initial=0.0)) or 1.0
    off = float(np.abs(found - expected).max(initial=0.0)) / largest
    return off if np.isfinite(off) else float("inf")


def _time(call: Callable[[], object], repeats: int) -> float:
    """Median of runs, by the GPU's events [ns]."""
    import cupy

    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    call()
    times = []
    for _ in range(repeats):
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end))
    return 1e6 * float(np.median(times))


def _line(row: dict[str, Any]) -> str:
    more = {
        key: f"{value:.3g}" for key, value in row.items() if isinstance(value, float) and key not in ("ns", "error")
    }
    more |= {key: str(row[key]) for key in ("registers", "local") if key in row}
    more |= {f"block {key}": f"{value:.3f}" for key, value in row.get("blocks", {}).items()}
    return f"{row['name']:28} {row['ns']:9.3f} ns  off {row['error']:.1e}  " + ", ".join(
        f"{k} {v}" for k, v in more.items()
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare or run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("prepare", "run"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=LIBRARIES)
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args(arguments)
    if given.what == "run":
        return run(given.folder, given.repeats, given.libraries)
    prepare(given.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
