"""M and C·dq + G of many states by libraries of array code, where they are installed: frax and adam, both in JAX.

`pip install frax "adam-robotics[jax]"`, into an environment of their own, as they take another JAX than ours may be:
`python benchmarks/array_peers.py` needs nothing of this package but the URDF it is given. Processor time on as many
cores as XLA takes, the best of some runs, after compiling, in double precision.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")

COUNT = 20_000


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


def main() -> None:
    """Print ns a state of what is installed."""
    if not find_spec("jax"):
        sys.exit("array_peers: no jax here; valid: an environment with frax or adam-robotics[jax]")
    import jax

    urdf = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    for missing in (name for name in ("frax", "adam") if not find_spec(name)):
        print(f"{missing}: skipped, not installed")
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    state = [jax.random.uniform(key, (COUNT, 7), minval=-1.0, maxval=1.0) for key in keys]
    for name, function, count in peers(urdf):
        run = jax.jit(jax.vmap(function))
        run(*state[:count]).block_until_ready()
        times = []
        for _ in range(5):
            begun = time.process_time_ns()
            run(*state[:count]).block_until_ready()
            times.append(time.process_time_ns() - begun)
        print(f"{name}: {min(times) / COUNT:.0f} ns")


if __name__ == "__main__":
    main()
