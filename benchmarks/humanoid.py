"""M, C, G of humanoids of 25 joints and their derivatives in time, beside Pinocchio's (docs/results/benchmarks.md).

Prints a Markdown table. Exit status 1 if a requirement is missed, 2 if a number differs or something fails.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import builds
import machine
import numpy as np
from program import Program, cores, make_terms_program

from thunder_dynamics.codegen import toolchain
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.model import Joint, JointKind, Link, Pose, RobotModel
from thunder_dynamics.readers import load_model
from thunder_dynamics.spatial import rotation_from_ypr

COLLECTION = "example-robot-data"
REAL = {
    "g1": (
        "g1_description/urdf/g1_29dof_rev_1_0.urdf",
        [f"{side}_wrist_{axis}_joint" for side in ("left", "right") for axis in ("pitch", "yaw")],
    ),
    "talos": (
        "talos_data/robots/talos_reduced.urdf",
        ["torso_1_joint", "head_1_joint", "head_2_joint"]
        + [f"{part}_joint" for side in ("left", "right") for part in (f"gripper_{side}", f"arm_{side}_7")],
    ),
}
"""Humanoids of the collection: file, and the joints that are held at zero so that 25 are left."""

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


def robots() -> Iterator[tuple[str, RobotModel]]:
    """The humanoids and what to call them: the one above, and those of the collection if it is installed."""
    yield "synthetic, fixed", humanoid()
    try:
        found = metadata.distribution(COLLECTION)
    except metadata.PackageNotFoundError:
        print(f"humanoid: real ones need 'pip install --no-deps {COLLECTION}'", file=sys.stderr)
        return
    folder = Path(str(found.locate_file("cmeel.prefix/share/example-robot-data/robots")))
    for name, (file, locked) in REAL.items():
        for base in ("fixed", "floating"):
            held = dict.fromkeys(locked, 0.0)
            yield f"{name}, {base}", load_model(folder / file, name="humanoid", base=base, locked_joints=held)


def main() -> int:
    """Measure and judge; returns the exit status."""
    parser = argparse.ArgumentParser(prog="benchmarks/humanoid.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--work", type=Path, default=Path("build/bench/humanoid"), help="where it compiles [%(default)s]"
    )
    parser.add_argument("--batches", type=int, default=20, help="batches per row and pass [%(default)s]")
    options = parser.parse_args()
    print(f"{machine.line(toolchain.compile_flags(portable=False))}\n")
    names = [*TERMS.split(", "), *RATES.split(", ")]
    print(f"| robot | Pinocchio's M | C | G | {TERMS} | of Pinocchio's | {RATES} | of Pinocchio's | agreement |")
    print("| --- |" + " ---: |" * 8)
    kept = True
    try:
        for label, model in robots():
            program = make_terms_program(model, names, options.work.resolve(), label.replace(", ", "_"))
            kept &= _row(label, program, options.batches)
    except ThunderError as error:
        print(f"humanoid: error: {error}", file=sys.stderr)
        return 2
    return 0 if kept else 1


def _row(label: str, program: Program, batches: int) -> bool:
    """Print the times of the slower pass, ns, and their ratios; returns whether the bounds are kept."""
    lines = program.run(str(batches), "2e6", core=cores()[-1])
    (deviation,) = (fields[0] for kind, *fields in lines if kind == "check")
    passes = []
    for name in ("warm1", "warm2"):
        medians = {f[1]: float(np.median([float(v) for v in f[2:]])) for f in lines if f[0] == name}
        peers = [min(v for row, v in medians.items() if row.startswith(f"pinocchio {term}: ")) for term in "MCG"]
        passes.append((peers, {row: (medians[row], medians[row] / sum(peers)) for row in BOUNDS}))
    peers, ours = max(passes, key=lambda one: max(one[1][row][1] / bound for row, bound in BOUNDS.items()))
    figures = " | ".join(f"{value:.0f} | {ratio:.2f}" for value, ratio in ours.values())
    print(f"| {label} | {' | '.join(f'{value:.0f}' for value in peers)} | {figures} | {deviation} |", flush=True)
    return all(ours[row][1] <= bound for row, bound in BOUNDS.items())


if __name__ == "__main__":
    sys.exit(main())
