"""M, C, G of a humanoid of 25 joints and their derivatives in time, beside Pinocchio's M, C, G; see docs/benchmarks.md.

Prints medians and ratios. Exit status 1 if a requirement is missed, 2 if a number differs or something fails.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import builds
import numpy as np
from program import cores, make_terms_program

from thunder_dynamics.errors import ThunderError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.model import Joint, JointKind, Link, Pose, RobotModel
from thunder_dynamics.spatial import rotation_from_ypr

TERMS, RATES = "M, C, G", "M_dot, C_dot, G_dot"
BOUNDS = {TERMS: 1.0, RATES: 2.0}
"""Bounds of the time of ours over Pinocchio's M, C and G."""

LIMBS = ((-1, 1), (0, 6), (0, 6), (-1, 6), (-1, 6))
"""(link that it hangs on, joints) of waist, arms and legs, depth first as Pinocchio wants it; −1 is the pelvis."""


def humanoid() -> RobotModel:
    """A waist, legs and arms of six joints: axes z, frames turned by right angles, inertias of random bodies."""
    rng = np.random.default_rng(25)
    links: list[Link] = []
    for root, joints in LIMBS:
        parent = root
        for _ in range(joints):
            placement = Pose(rotation_from_ypr(*rng.integers(4, size=3) * (np.pi / 2)), rng.uniform(-0.3, 0.3, 3))
            joint = Joint(f"joint{len(links)}", JointKind.REVOLUTE, placement)
            links.append(Link(f"link{len(links)}", parent, joint, Inertia.from_dyn(builds.random_body(rng))))
            parent = len(links) - 1
    return RobotModel("humanoid", tuple(links))


def main() -> int:
    """Measure and judge; returns the exit status."""
    parser = argparse.ArgumentParser(prog="benchmarks/humanoid.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--work", type=Path, default=Path("build/bench/humanoid"), help="where it compiles [%(default)s]"
    )
    parser.add_argument("--batches", type=int, default=20, help="batches per row and pass [%(default)s]")
    options = parser.parse_args()
    try:
        program = make_terms_program(
            RobotExpressions(humanoid()), [*TERMS.split(", "), *RATES.split(", ")], options.work.resolve()
        )
        lines = program.run(str(options.batches), "2e6", core=cores()[-1])
    except ThunderError as error:
        print(f"humanoid: error: {error}", file=sys.stderr)
        return 2
    kept = True
    for kind, *fields in lines:
        if kind == "check":
            print(f"agreement with Pinocchio: {fields[0]} (bound {fields[1]})")
    for pass_ in ("warm1", "warm2"):
        medians = {f[1]: float(np.median([float(v) for v in f[2:]])) for f in lines if f[0] == pass_}
        peer = sum(min(v for name, v in medians.items() if name.startswith(f"pinocchio {t}: ")) for t in "MCG")
        for name, value in medians.items():
            bound = BOUNDS.get(name)
            ratio = "" if bound is None else f"{value / peer:6.2f} of Pinocchio's M, C, G (bound {bound:g})"
            kept = kept and (bound is None or value <= bound * peer)
            print(f"{pass_}  {value:8.0f} ns  {name}  {ratio}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
