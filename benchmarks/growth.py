"""How building and calling grow with the number of joints: a Markdown table of planar and spatial chains.

`.venv/bin/python benchmarks/growth.py [JOINTS ...]`; exit status 1 if a requirement of
docs/results/benchmarks.md is missed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import builds
import machine
import numpy as np

import thunder_dynamics
from thunder_dynamics.codegen import toolchain

JOINTS = (3, 5, 7, 9, 15, 30, 60)
FUNCTIONS = ("J_ee", "M", "C", "G", "Yr")
BUILD_LIMITS = {30: 60.0, 60: 300.0}
"""Seconds of processor time in two cores' hands: each has half of it, if nothing else runs."""

CORES = 2

PUBLISHED = {3: (0.023, 0.6), 5: (0.081, 0.8), 7: (0.326, 1.1), 9: (0.954, 2.3), 15: (5.582, 12.1), 30: (18.454, 155.1)}
"""Seconds of another generator, on its authors' machine, by joints: expressions, library [Baracca et al. 2025]."""


def main(arguments: Sequence[str]) -> int:
    """Build, time and print; returns the exit status."""
    joints = [int(n) for n in arguments] or list(JOINTS)
    kept = True
    with tempfile.TemporaryDirectory(prefix="thunder_growth_") as name:
        folder = Path(name)
        program = _program(folder)
        print(f"{machine.line(toolchain.compile_flags(portable=False))}\n")
        titles = ["generate [s]", "published", "compile [s]", "published", "both, processor time [s]", *FUNCTIONS]
        print(f"| joints | {' | '.join(titles)} |")
        print("| --- |" + " ---: |" * len(titles))
        for is_planar in (False, True):
            times = {n: _row(folder, program, n, is_planar) for n in joints}
            kept &= all(build <= CORES * BUILD_LIMITS.get(n, np.inf) for n, (build, _) in times.items())
            if {7, 60} <= times.keys():
                growth = times[60][1] / times[7][1] / (60 / 7) ** 2
                print(f"\nYr from 7 to 60 joints, over quadratic growth: {growth:.2f}\n", file=sys.stderr)
                kept &= growth <= 1
    return 0 if kept else 1


def _program(folder: Path) -> Path:
    program, source = folder / "growth", Path(__file__).with_suffix(".c")
    include = f"-I{Path(thunder_dynamics.__file__).parent / 'include'}"
    toolchain.run([*toolchain.compiler("c"), "-O2", "-std=c99", include, str(source), "-o", str(program), "-ldl"])
    return program


def _row(folder: Path, program: Path, joints: int, is_planar: bool) -> tuple[float, float]:
    """Print a row; returns the processor time of the build [s] and the time of Yr [ns]."""
    name = f"{'planar' if is_planar else 'spatial'}{joints}"
    robot = folder / f"{name}.yaml"
    builds.write_chain(robot, joints, is_planar=is_planar)
    build = builds.time_build(robot, None, folder / name, None)
    library = folder / name / f"{name}_generatedFiles" / f"lib{name}.so"
    result = subprocess.run([program, library, *FUNCTIONS], capture_output=True, text=True, check=True)
    times = {words[0]: float(words[1]) for words in map(str.split, result.stdout.splitlines())}
    shown = " | ".join(f"{times[function]:.0f}" for function in FUNCTIONS)
    theirs = [f"{value:g}" for value in PUBLISHED.get(joints, ())] or ["", ""]
    cells = [f"{build['generate']:.1f}", theirs[0], f"{build['compile']:.1f}", theirs[1], f"{build['processor']:.1f}"]
    print(f"| {name} | {' | '.join(cells)} | {shown} |", flush=True)
    return build["processor"], times["Yr"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
