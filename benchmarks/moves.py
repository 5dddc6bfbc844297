"""Motions to random poses that an arm can reach: straight, by the joints, or refused; in how much more time.

    python benchmarks/moves.py [--pairs 200] [--seed 1] [--arms panda ur5 gen3 xarm7 z1]

Start and target are the poses of random postures in the middle eight tenths of the ranges. A motion that is accepted
has been played by the law on the arm of the description, within all limits. The exit status is 1 if one is refused.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import numpy as np
from adversary import load_arm
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from thunder_controllers.experiments import draws
from thunder_controllers.host import Configuration, ControlSession, Library, Options
from thunder_dynamics.build import build
from thunder_dynamics.errors import RefusedMotionError

LAW, STEP = "cartesian_computed_torque", 1e-3


def move(library: Library, start: NDArray[np.float64], end: NDArray[np.float64]) -> tuple[str, float]:
    """Which way it is, or what refuses it, and times how much."""
    session = ControlSession(Configuration(library, law=LAW), Options(accepts_unstable_gains=True))
    rest = np.zeros(library.n_joints)
    session.activate(start)
    session.update(round(1e9 * STEP), STEP, start, rest, STEP, rest.copy())
    T = draws.poses(library, end[None])[0]
    try:
        way = session.move_to_pose(T[:3, 3], Rotation.from_matrix(T[:3, :3]).as_quat())
    except RefusedMotionError as error:
        print(error, file=sys.stderr)
        return f"refused: {error.limit}", 1.0
    return "straight" if way.is_straight else "by the joints", way.pace


def main() -> int:
    """Try all, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arms", nargs="+", default=("panda", "ur5", "gen3", "xarm7", "z1"))
    arguments = parser.parse_args()
    refused = 0
    print("| | straight | by the joints | refused | in more time | longest [times] | mean search [s] |")
    print("| --- |" + " ---: |" * 6)
    for name in arguments.arms:
        model = load_arm(name)
        library, rng = Library(build(model, [LAW]) / f"lib{model.name}.so"), np.random.default_rng(arguments.seed)
        started = time.monotonic()
        found = [move(library, *draws.postures(rng, library, 2)) for _ in range(arguments.pairs)]
        mean = (time.monotonic() - started) / arguments.pairs
        count = Counter(kind.split(":")[0] for kind, _ in found)
        paces = [pace for _, pace in found]
        more = sum(pace > 1.0 for pace in paces)
        refused += count["refused"]
        kinds = f"{count['straight']} | {count['by the joints']} | {count['refused']}"
        print(f"| {name} | {kinds} | {more} | {max(paces):.3g} | {mean:.2f} |", flush=True)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
