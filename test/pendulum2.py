"""Builds the hand-written robot library of test/data/pendulum2, and knows its physics independently."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thunder_dynamics.storage.checksums import write_checksums

REPOSITORY = Path(__file__).resolve().parent.parent
ABI_INCLUDE = REPOSITORY / "thunder_dynamics/include"
HOST = REPOSITORY / "thunder_controllers/host"
SOURCE = REPOSITORY / "test/data/pendulum2/pendulum2.c"
MASSES = np.array([1.2, 0.8])
LENGTHS = np.array([0.5, 0.4])


def compile_pendulum2(folder: Path, *macros: str, options: Sequence[str] = ()) -> Path:
    """Compile the library, spoilt by the given macros, with further options; returns its path."""
    library = folder / f"libpendulum2{''.join(macros)}.so"
    defines = [f"-D{macro}" for macro in macros]
    flags = ["-std=c99", "-O1", "-fPIC", "-shared", f"-I{ABI_INCLUDE}", *options]
    subprocess.run(["cc", *flags, *defines, str(SOURCE), "-o", str(library), "-lm"], check=True)
    write_checksums(folder)
    return library


def gravity(q: np.ndarray) -> np.ndarray:
    """Gravity torque from the potential energy, by the complex step: exact to rounding, no derivative by hand."""

    def energy(angles: np.ndarray) -> complex:
        first = -LENGTHS[0] * np.cos(angles[0])
        second = first - LENGTHS[1] * np.cos(angles[0] + angles[1])
        return 9.81 * (MASSES[0] * first + MASSES[1] * second)

    step = 1e-30
    return np.array([energy(q + 1j * step * direction).imag / step for direction in np.eye(2)])
