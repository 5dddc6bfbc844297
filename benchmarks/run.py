"""Speed of generated code beside Pinocchio, of builds and of the simulation; see docs/results/benchmarks.md.

Prints a table and writes <out>/bench.json. Exit status 1 if a requirement is missed, 2 if a number differs from
Pinocchio's or something fails.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import batch
import builds
import closed_loops
import instructions
import limits
import machine
import regressors
import table
from program import LAW, Program, cores, make_program

from thunder_dynamics.codegen import toolchain
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.readers import load_model

PARTS = ("dynamics", "batch", "builds", "simulation", "waiting", "instructions")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts asked for; returns the exit status."""
    options = _options(arguments)
    try:
        document = measure(options)
    except ThunderError as error:
        print(f"bench: error: {error}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "bench.json"
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(table.text(document))
    print(f"written: {file}")
    return 0 if options.short or all(r["kept"] for r in document["requirements"]) else 1


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure everything, one thing after the other; returns what bench.json holds."""
    core = cores()[-1]
    flags = toolchain.compile_flags(portable=False)
    document: dict[str, Any] = {"machine": machine.describe(flags, core), "instructions": {}, "skipped": {}}
    document["settings"] = {
        "processes": options.processes,
        "batches": options.batches,
        "batch_ms": options.batch_ms,
        "cold_samples": options.samples,
    }
    _say("compiling the program (Pinocchio's headers take minutes the first time)")
    program = make_program(load_model(builds.PANDA), options.work / "native")
    _say("comparing and timing")
    lines = _timed(program, options, core)
    document["agreement"], document["timings"] = table.checks(lines), table.timings(lines)
    document["batch"] = _batch(options)
    document["regressors"] = regressors.measure(options.batches) if document["batch"] else {}
    lanes = document["batch"].get("lanes", 2)
    document["limits"] = limits.measure(_functions(document["timings"]), lanes, options.work)
    document["loops"] = closed_loops.measure() if "simulation" in options.parts else {}
    document["builds"] = _builds(options, core)
    document["simulation"] = _simulation(options, core)
    document["waiting"] = _waiting(options)
    document["imports"] = builds.time_imports() if "waiting" in options.parts else {}
    document["installation"] = _installation(options)
    document["instructions"] = _instructions(options, document["skipped"])
    wanted = table.speed_requirements(document["timings"])
    wanted += table.other_requirements(document["builds"], document["simulation"])
    document["requirements"] = [requirement.as_dict() for requirement in wanted]
    return document


def _timed(program: Program, options: argparse.Namespace, core: int) -> list[list[str]]:
    """What some processes print, row by row, each of a copy: where code lies in memory makes it a fifth slower."""
    each = [str(max(count // options.processes, 1)) for count in (options.batches, options.samples)]
    words = (each[0], str(options.batch_ms * 1e6), each[1], str(machine.buffer_bytes()))
    rows: dict[tuple[str, str], list[str]] = {}
    for _ in range(options.processes):
        with tempfile.TemporaryDirectory(prefix="thunder_bench_") as name:
            for kind, row, *values in program.copied(Path(name)).run("time", *words, core=core):
                found = rows.setdefault((kind, row), [])
                found += values if kind != "check" or not found else []
    return [[*key, *values] for key, values in rows.items()]


def _batch(options: argparse.Namespace) -> dict[str, Any]:
    if "batch" not in options.parts:
        return {}
    _say("evaluating batches")
    return batch.measure(options.batches)


def _functions(timings: Mapping[str, Any]) -> list[str]:
    """Those that a core or a batch of it has times of."""
    return sorted({name.partition(":")[0] for name in timings if name.endswith(": C core")} | {*batch.FUNCTIONS})


def _waiting(options: argparse.Namespace) -> dict[str, Any]:
    if "waiting" not in options.parts:
        return {}
    _say("running commands")
    return builds.time_commands(options.work / "waiting")


def _installation(options: argparse.Namespace) -> dict[str, float]:
    if "waiting" not in options.parts:
        return {}
    _say("compiling the host as an installation does")
    with tempfile.TemporaryDirectory(prefix="thunder_bench_") as name:
        return builds.time_installation(Path(name))


def _builds(options: argparse.Namespace, core: int) -> dict[str, Any]:
    if "builds" not in options.parts:
        return {}
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="thunder_bench_") as name:
        folder = Path(name)
        chain, long = (folder / f"chain{n}.yaml" for n in (builds.CHAIN_JOINTS, builds.LONG_CHAIN_JOINTS))
        builds.write_chain(chain)
        builds.write_chain(long, builds.LONG_CHAIN_JOINTS)
        for robot in (builds.PANDA, chain, long):
            ways = {"all cores": None} if robot == long else {"one core": core, "all cores": None}
            _say(f"building {robot.stem}, on {' and on '.join(ways)}")
            result[robot.stem] = {
                how: builds.time_build(robot, LAW, folder / f"{robot.stem}_{how.split()[0]}", pin)
                for how, pin in ways.items()
            }
    return result


def _simulation(options: argparse.Namespace, core: int) -> dict[str, float]:
    if "simulation" not in options.parts:
        return {}
    _say("simulating the demo scenario")
    return builds.time_simulation(options.work / "simulation", core)


def _instructions(options: argparse.Namespace, skipped: dict[str, str]) -> dict[str, float]:
    if "instructions" not in options.parts:
        skipped["instruction counts"] = "not asked for: --parts instructions"
        return {}
    reason = instructions.why_not()
    if reason is not None:
        skipped["instruction counts"] = reason
        return {}
    _say("counting instructions of portable builds")
    folder = options.work / "counted"
    program = make_program(load_model(builds.PANDA), folder, portable=True)
    return instructions.count_instructions(program, folder)


def _say(what: str) -> None:
    print(f"bench: {what}", file=sys.stderr, flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--out", type=Path, default=Path("results/bench"), help="where bench.json is written [%(default)s]"
    )
    parser.add_argument(
        "--work", type=Path, default=Path("build/bench"), help="where programs are compiled and kept [%(default)s]"
    )
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=PARTS,
        default=list(PARTS[:-1]),
        help="what to measure; dynamics always is [%(default)s]",
    )
    parser.add_argument("--processes", type=_positive, default=5, help="that share batches and samples [%(default)s]")
    parser.add_argument("--batches", type=_positive, default=20, help="batches per row and pass [%(default)s]")
    parser.add_argument("--batch-ms", type=float, default=2.0, help="least duration of a batch [ms, %(default)s]")
    parser.add_argument("--samples", type=_positive, default=101, help="calls per row with cold caches [%(default)s]")
    parser.add_argument("--short", action="store_true", help="few calls: whether it runs; requirements are not judged")
    options = parser.parse_args(arguments)
    if options.short:
        options.processes, options.batches, options.samples = 1, 2, 2
        options.batch_ms, options.parts = 5.0, [part for part in options.parts if part not in ("builds", "waiting")]
    options.out, options.work = options.out.resolve(), options.work.resolve()
    if shutil.which("taskset") is None:
        parser.error("taskset is missing; valid: the package util-linux")
    return options


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value}; valid: at least 1")
    return value


if __name__ == "__main__":
    sys.exit(main())
