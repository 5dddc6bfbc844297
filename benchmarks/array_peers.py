"""Dynamics of many states by libraries of array code, where they are installed: frax, adam and MuJoCo MJX, all in JAX.

`pip install frax "adam-robotics[jax]" mujoco-mjx`, into an environment of their own, as they take another JAX than ours
may be: `python benchmarks/array_peers.py [URDF] [--count N]` needs nothing of this package but the URDF it is given,
which adam and MJX need. After compiling, in double precision and in single: the least of some runs, of wall time on a
GPU, of processor time on as many cores as XLA takes elsewhere.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def peers(urdf: Path | None) -> Iterator[tuple[str, Callable[..., Any], int]]:
    """Name, a function of one state, and how many vectors of joints it takes."""
    import jax.numpy as jnp

    if find_spec("frax"):
        import frax

        panda = frax.load_panda()
        yield "frax, M", panda.mass_matrix, 1
        yield "frax, C·dq + G", panda.nonlinear_bias, 2
    if find_spec("adam") and urdf:
        from adam.jax import KinDynComputations

        joints = [f"panda_joint{k}" for k in range(1, 8)]
        arm, still = KinDynComputations(urdf.read_text(), joints), (jnp.eye(4), jnp.zeros(6))
        yield "adam, M", lambda q: arm.mass_matrix(still[0], q)[6:, 6:], 1
        yield "adam, C·dq + G", lambda q, v: arm.bias_force(still[0], q, still[1], v)[6:], 2
    if is_installed("mujoco.mjx") and urdf:
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


def is_installed(name: str) -> bool:
    """Whether a module of that name, or of that name in a package, can be imported."""
    return find_spec(name.split(".")[0]) is not None and find_spec(name) is not None


def main() -> None:
    """Print ns a state of what is installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("urdf", nargs="?", type=Path)
    parser.add_argument("--count", type=int, default=20_000)
    given = parser.parse_args()
    if not find_spec("jax"):
        sys.exit("array_peers: no jax here; valid: an environment with frax, adam-robotics[jax] or mujoco-mjx")
    import jax

    clock = time.process_time_ns if jax.default_backend() == "cpu" else time.perf_counter_ns
    for missing in (name for name in ("frax", "adam", "mujoco.mjx") if not is_installed(name)):
        print(f"{missing}: skipped, not installed")
    for kind in ("double", "single"):
        jax.config.update("jax_enable_x64", kind == "double")
        keys = jax.random.split(jax.random.PRNGKey(0), 3)
        state = [jax.random.uniform(key, (given.count, 7), minval=-1.0, maxval=1.0) for key in keys]
        for name, function, count in peers(given.urdf):
            run = jax.jit(jax.vmap(function))
            run(*state[:count]).block_until_ready()
            times = []
            for _ in range(10):
                begun = clock()
                run(*state[:count]).block_until_ready()
                times.append(clock() - begun)
            print(f"{name}, {kind}: {min(times) / given.count:.2f} ns")


if __name__ == "__main__":
    main()
