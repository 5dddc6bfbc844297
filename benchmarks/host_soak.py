"""Run the host in real time at 1 kHz, with 10 and 70 adapted parameters, and report deadlines, times and allocations.

    python benchmarks/host_soak.py [--seconds 600] [--out results/soak]

`test/cpp/host_soak.cpp` does the work and says how. Writes soak.json; the exit status is the program's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import machine
from program import HOST_FLAGS, host_program

from thunder_dynamics.build import build
from thunder_dynamics.readers import load_model

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "test/cpp/host_soak.cpp"
LAW = "cartesian_backstepping"


def build_libraries() -> list[Path]:
    """Compile the Panda with its last link adapted, and with all of them."""
    model = load_model(ROOT / "config/robots/panda.yaml")
    options: Sequence[dict[str, Any]] = ({}, {"adapted_links": "all"})
    return [build(model, [(LAW, given)]) / f"lib{model.name}.so" for given in options]


def table(soak: Mapping[str, Any]) -> str:
    """The figures as Markdown."""
    missed, late = soak["deadlines_missed"], soak["woken_late_ns"]
    lines = [
        f"{soak['steps']} steps of 1 ms; memory: {soak['memory']}; scheduler: {soak['scheduler']}; "
        f"{soak['writes']} rounds of the configuring thread",
        f"deadlines missed: {missed['host']} by the host, {missed['scheduler']} by the scheduler; "
        f"faults: {soak['minor_faults']} minor, {soak['major_faults']} major",
        "",
        "| [µs] | p50 | p99 | p99.9 | worst | allocations |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    rows = [(f"step, {c['states']} states", c["step_ns"], c["allocations"]) for c in soak["controllers"]]
    rows += [(f"… in processor time, {c['states']} states", c["step_cpu_ns"], "") for c in soak["controllers"]]
    for name, times, allocations in [*rows, ("woken late", late, "")]:
        figures = " | ".join(f"{1e-3 * times[key]:.1f}" for key in ("p50", "p99", "p99.9", "max"))
        lines.append(f"| {name} | {figures} | {allocations} |")
    return "\n".join(lines)


def main() -> int:
    """Build, run, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--out", type=Path, default=Path("results/soak"))
    arguments = parser.parse_args()
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    libraries = build_libraries()
    program = host_program(PROGRAM, folder.resolve())
    command = [str(program), str(arguments.seconds), *map(str, libraries)]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if not result.stdout:
        return result.returncode
    soak = {**json.loads(result.stdout), "machine": machine.describe(HOST_FLAGS, -1)}
    del soak["machine"]["pinned_to_core"]
    (folder / "soak.json").write_text(json.dumps(soak, indent=2) + "\n", encoding="utf-8")
    print(table(soak))
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
