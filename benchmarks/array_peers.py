"""Dynamics of many states by other libraries, where they are installed, and by ours in JAX.

`pip install frax "adam-robotics[jax]" mujoco-mjx pin`, into an environment of their own, as they take another JAX than
ours may be: `python benchmarks/array_peers.py URDF [--jax FILE] [--count N] [--out JSON]` needs nothing of this package
but files: of a URDF, and of `thunder gen --target jax`. After compiling, in double precision and in single, where there
is such: the least of some runs, of wall time on a GPU, of processor time on as many cores as XLA takes elsewhere.
Pinocchio and MuJoCo are called state by state, from Python.
"""

from __future__ import annotations

import argparse
import json
import runpy
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import machine

PACKAGES = ("jax", "frax", "adam-robotics", "mujoco-mjx", "mujoco", "pin")
LOOPED = 2000
"""States of a loop in Python."""

Peer = tuple[str, Callable[..., Any], int]
"""Name, a function of one state, and how many vectors of joints it takes."""


def in_jax(urdf: Path) -> Iterator[Peer]:
    """Libraries of array code."""
    import jax.numpy as jnp

    if find_spec("frax"):
        import frax

        panda = frax.load_panda()
        yield "frax, M", panda.mass_matrix, 1
        yield "frax, C·dq + G", panda.nonlinear_bias, 2
    if find_spec("adam"):
        from adam.jax import KinDynComputations

        joints = [f"panda_joint{k}" for k in range(1, 8)]
        arm, still = KinDynComputations(urdf.read_text(), joints), (jnp.eye(4), jnp.zeros(6))
        yield "adam, M", lambda q: arm.mass_matrix(still[0], q)[6:, 6:], 1
        yield "adam, C·dq + G", lambda q, v: arm.bias_force(still[0], q, still[1], v)[6:], 2
    if is_installed("mujoco.mjx"):
        import mujoco
        from mujoco import mjx

        compiled = mujoco.MjModel.from_xml_string(urdf.read_text())
        model, data = mjx.put_model(compiled), mjx.make_data(compiled)

        def after(stages: tuple[Any, ...], **motion: Any) -> Any:
            state = data.replace(**motion)
            for stage in (mjx.kinematics, mjx.com_pos, *stages):
                state = stage(model, state)
            return state

        yield "MJX, M", lambda q: mjx.full_m(model, after((mjx.crb,), qpos=q)), 1
        yield "MJX, C·dq + G", lambda q, v: after((mjx.com_vel, mjx.rne), qpos=q, qvel=v).qfrc_bias, 2


def in_loops(urdf: Path) -> Iterator[Peer]:
    """Libraries that are called state by state."""
    if find_spec("mujoco"):
        import mujoco
        import numpy as np

        model = mujoco.MjModel.from_xml_string(urdf.read_text())
        data, full = mujoco.MjData(model), np.zeros((model.nv, model.nv))

        def mass_matrix(q: Any) -> None:
            data.qpos[:] = q
            for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_crb):
                stage(model, data)
            mujoco.mj_fullM(model, data, full)

        def bias(q: Any, v: Any) -> None:
            data.qpos[:], data.qvel[:] = q, v
            for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_comVel):
                stage(model, data)
            mujoco.mj_rne(model, data, 0, data.qfrc_bias)

        yield "MuJoCo, M", mass_matrix, 1
        yield "MuJoCo, C·dq + G", bias, 2
    if find_spec("pinocchio"):
        import pinocchio

        arm = pinocchio.buildModelFromXML(urdf.read_text())
        memory = arm.createData()
        yield "Pinocchio, M", lambda q: pinocchio.crba(arm, memory, q), 1
        yield "Pinocchio, C·dq + G", lambda q, v: pinocchio.nonLinearEffects(arm, memory, q, v), 2


def is_installed(name: str) -> bool:
    """Whether a module of that name, or of that name in a package, can be imported."""
    return find_spec(name.split(".")[0]) is not None and find_spec(name) is not None


def least(run: Callable[[], object], clock: Callable[[], int], runs: int) -> int:
    """Least time of some runs after a first one [ns]."""
    run()
    times = []
    for _ in range(runs):
        begun = clock()
        run()
        times.append(clock() - begun)
    return min(times)


def arrays_timed(urdf: Path, ours: Path | None, states: Any) -> Iterator[tuple[str, str, float]]:
    """Name, precision and ns a state of libraries of array code, and of our file, if there is one."""
    import jax

    clock = time.process_time_ns if jax.default_backend() == "cpu" else time.perf_counter_ns
    for kind in ("double", "single"):
        jax.config.update("jax_enable_x64", kind == "double")
        arrays = [jax.numpy.asarray(one, dtype="float64" if kind == "double" else "float32") for one in states]
        compiled = [(name, jax.jit(jax.vmap(function)), count) for name, function, count in in_jax(urdf)]
        if ours:
            generated, options = runpy.run_path(str(ours)), {"xla_disable_hlo_passes": "fusion"}
            for name, symbol, count in (("M", "M", 1), ("inverse dynamics", "inverse_dynamics", 3)):
                compiled.append((f"ours in JAX, {name}", jax.jit(generated[symbol], compiler_options=options), count))
        for name, function, count in compiled:
            run = partial(lambda f, given: f(*given).block_until_ready(), function, arrays[:count])
            yield name, kind, least(run, clock, 10) / len(states[0])


def loops_timed(urdf: Path, states: Any) -> Iterator[tuple[str, str, float]]:
    """The same of libraries that are called state by state."""
    for name, function, count in in_loops(urdf):
        run = partial(
            lambda f, some: [f(*state) for state in zip(*some, strict=True)], function, states[:count, :LOOPED]
        )
        yield name, "double", least(run, time.process_time_ns, 5) / LOOPED


def main() -> None:
    """Print ns a state of what is installed, and write it as JSON where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("urdf", type=Path)
    parser.add_argument("--jax", type=Path, help="Of `thunder gen --target jax --function inverse_dynamics`.")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if not find_spec("jax"):
        sys.exit("array_peers: no jax here; valid: an environment with frax, adam-robotics[jax] or mujoco-mjx")
    import numpy as np

    for missing in (name for name in ("frax", "adam", "mujoco.mjx", "pinocchio") if not is_installed(name)):
        print(f"{missing}: skipped, not installed")
    states, rows = np.random.default_rng(0).uniform(-1.0, 1.0, (3, given.count, 7)), dict[str, dict[str, float]]()
    for name, kind, took in (*arrays_timed(given.urdf, given.jax, states), *loops_timed(given.urdf, states)):
        rows.setdefault(name, {})[kind] = took
        print(f"{name}, {kind}: {took:.1f} ns")
    if given.out:
        there = {distribution.name for distribution in metadata.distributions()}
        versions = {name: metadata.version(name) for name in PACKAGES if name in there}
        document = {"processor": machine.processor(), "versions": versions, "rows": rows}
        given.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
