"""Time to generate and compile libraries, and to simulate a second, each in a process of its own."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from thunder_dynamics.errors import BuildError

REPOSITORY = Path(__file__).resolve().parent.parent
PANDA = REPOSITORY / "config" / "robots" / "panda.yaml"
SCENARIO = REPOSITORY / "config" / "scenarios" / "panda_lissajous_wrong_last_link.yaml"
THUNDER = [sys.executable, "-m", "thunder_dynamics.cli"]
IMPORTS = ((), ("numpy",), ("numpy", "casadi"), ("numpy", "casadi", "mujoco"))
CHAIN_JOINTS, LONG_CHAIN_JOINTS = 30, 60
DYN = ("mass", "CoM_x", "CoM_y", "CoM_z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


def time_build(robot: Path, law: str | None, folder: Path, core: int | None) -> dict[str, Any]:
    """Time `thunder gen` into a fresh folder, on one core or on all: with a law or without.

    Returns:
        Seconds: `total` of the whole command as its user waits for it, `generate` until the last source was written
        (the start of Python included), `compile` for the rest; `processor` is the processor time of all of it, which
        other work on the machine does not lengthen.
    """
    started, used = time.time(), _children_time()
    laws = [] if law is None else ["--law", law]
    _run([*THUNDER, "gen", str(robot), "-o", str(folder), *laws], core)
    ended = time.time()
    generated = folder / f"{robot.stem}_generatedFiles"
    compiled_or_later = (".so", "manifest.json", "SHA256SUMS")
    files = (path for path in generated.rglob("*") if path.is_file())
    written = max(path.stat().st_mtime for path in files if not path.name.endswith(compiled_or_later))
    figures = {"total": ended - started, "generate": written - started, "compile": ended - written}
    figures["processor"] = _children_time() - used
    return {**figures, "cores": 1 if core is not None else len(os.sched_getaffinity(0))}


def time_simulation(folder: Path, core: int) -> dict[str, Any]:
    """Wall time per simulated second of each run of the demo scenario, plant, host and recording included."""
    _run([*THUNDER, "run", str(SCENARIO), "--out", str(folder)], core)
    runs = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["runs"]
    return {name: run["wall_per_simulated_second"] for name, run in runs.items()}


def time_commands(folder: Path, repeats: int = 3) -> dict[str, dict[str, float]]:
    """Least wall and processor time [s] of commands that a person waits for, by their words; all is compiled before."""
    demo = ["run", str(SCENARIO), "--out", str(folder)]
    commands = {"--help": ["--help"], "list robots": ["list", "robots"], "info panda": ["info", "panda"], "demo": demo}
    result: dict[str, dict[str, float]] = {}
    for name, words in commands.items():
        result[name] = _least(partial(_run, [*THUNDER, *words], None), repeats)
    return result


def time_imports(repeats: int = 3) -> dict[str, dict[str, float]]:
    """The same of Python and what it imports, without which no command is."""
    result: dict[str, dict[str, float]] = {}
    for names in IMPORTS:
        code = f"import {', '.join(names)}" if names else ""
        result[", ".join(("Python", *names))] = _least(partial(_run, [sys.executable, "-c", code], None), repeats)
    return result


def time_installation(folder: Path) -> dict[str, float]:
    """Wall and processor time [s] of compiling the extension modules from source, as an installation does."""
    started, used = time.time(), _children_time()
    places = ["--build-temp", str(folder / "objects"), "--build-lib", str(folder / "modules")]
    _run([sys.executable, "setup.py", "--quiet", "build_ext", "--force", *places], None, REPOSITORY)
    return {"wall": time.time() - started, "processor": _children_time() - used}


def write_chain(file: Path, joints: int = CHAIN_JOINTS, *, is_planar: bool = False) -> None:
    """Write a chain with inertias of random bodies (eight point masses each).

    Its DH rows are Panda's over and over, or those of parallel joints 0.3 m apart.
    """
    panda = yaml.safe_load(PANDA.read_text(encoding="utf-8"))
    rows = [[0.3, 0.0, 0.0, 0.0]] if is_planar else np.reshape(panda["kinematics"]["DH"], (-1, 4))
    rng = np.random.default_rng(30)
    robot = {
        "num_joints": joints,
        "type_joints": ["R"] * joints,
        "kinematics": {"DH": [float(v) for i in range(joints) for v in rows[i % len(rows)]]},
        "gravity": {"value": [0.0, 0.0, -9.81]},
        "Base_to_L0": {"tr": [0.0] * 3, "ypr": [0.0] * 3},
        "Ln_to_EE": {"tr": [0.0, 0.0, 0.107], "ypr": [0.0] * 3},
        "dynamics": {
            f"link{i + 1}": {"inertial": dict(zip(DYN, random_body(rng), strict=True))} for i in range(joints)
        },
    }
    file.write_text(yaml.safe_dump(robot, sort_keys=False), encoding="utf-8")


def random_body(rng: np.random.Generator) -> list[float]:
    """DYN parameters of eight point masses."""
    points, masses = rng.normal(scale=0.1, size=(8, 3)), rng.uniform(0.05, 0.5, size=8)
    com = masses @ points / masses.sum()
    second = ((points - com) * masses[:, None]).T @ (points - com)
    inertia = np.trace(second) * np.eye(3) - second
    return [float(v) for v in (masses.sum(), *com, *inertia[np.triu_indices(3)])]


def _least(run: Callable[[], None], repeats: int) -> dict[str, float]:
    times = []
    for _ in range(repeats + 1):  # the first one compiles what is new
        started, used = time.time(), _children_time()
        run()
        times.append((time.time() - started, _children_time() - used))
    wall, processor = (min(one) for one in zip(*times[1:], strict=True))
    return {"wall": wall, "processor": processor}


def _children_time() -> float:
    """Processor time of all child processes that have ended, [s]."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _run(command: list[str], core: int | None, cwd: Path | None = None) -> None:
    pin = [] if core is None else ["taskset", "-c", str(core)]
    result = subprocess.run([*pin, *command], capture_output=True, text=True, cwd=cwd)
    if result.returncode != 0:
        raise BuildError(f"'{' '.join(command)}' failed: {result.stderr.strip()[-2000:]}", valid="exit status 0")
