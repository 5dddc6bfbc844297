"""Fuzz everything that is read, and the host: `python test/fuzz/run.py [--inputs N] [--out DIR] [TARGET …]`.

The Python targets are those of `readers.py`, the others the libFuzzer programs `test/cpp/fuzz_<target>.cpp`, which need
clang with its runtimes (Debian: clang, libclang-rt-dev). Prints a row for each; status 1 if it found anything.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "test")]

READERS = ("robot_yaml", "urdf", "xacro", "scenario", "study", "gains", "parameters", "yaml", "csv", "npz", "bag")
PROGRAMS = {"metadata": 600, "files": 2000, "host": 400}
"""Longest input [byte]."""
FLAGS = (
    "-O1",
    "-g1",
    "-fsanitize=address,undefined,fuzzer",
    "-fno-sanitize-recover=all",
    "-Wno-unused-command-line-argument",
)


def read(target: str, inputs: int, seed: int, folder: Path) -> tuple[str, bool]:
    """Fuzz a reader of Python: a row, and whether nothing was found."""
    command = [sys.executable, str(ROOT / "test/fuzz/readers.py"), target, str(inputs), str(folder), str(seed)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
    (folder / f"{target}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode or not (folder / f"{target}.json").is_file():
        return f"| {target} | – | ended with {done.returncode}: {folder / target}.log | – |", False
    found = json.loads((folder / f"{target}.json").read_text(encoding="utf-8"))
    kinds = "; ".join(found["findings"]) or "none"
    return f"| {target} | {found['inputs']} | {covered(done.stderr)} | {kinds} |", not found["findings"]


def covered(log: str) -> str:
    """The branches that libFuzzer counts at the end of its log."""
    seen = re.findall(r"cov: (\d+)", log)
    return seen[-1] if seen else "–"


def attack(target: str, inputs: int, seed: int, folder: Path) -> tuple[str, bool]:
    """Fuzz the host: a row, and whether nothing was found."""
    os.environ["CXX"] = os.environ.get("FUZZ_CXX", "clang++")
    from pendulum2 import compile_pendulum2
    from program import host_program

    extra = ("-Wl,--allow-multiple-definition",) if target == "host" else ()
    program = host_program(ROOT / f"test/cpp/fuzz_{target}.cpp", folder / "programs", (*FLAGS, *extra))
    package, corpus = folder / "pendulum2", folder / "corpus" / target
    for made in (package, corpus):
        made.mkdir(parents=True, exist_ok=True)
    options = [
        f"-runs={inputs}",
        f"-max_len={PROGRAMS[target]}",
        f"-seed={seed}",
        "-timeout=60",
        f"-artifact_prefix={folder}/",
    ]
    environment = os.environ | {"THUNDER_FUZZ_LIBRARIES": str(compile_pendulum2(package))}
    command = [str(program), *options, str(corpus)]
    done = subprocess.run(command, env=environment, cwd=corpus.parent, capture_output=True, text=True, errors="replace")
    (folder / f"{target}.log").write_text(done.stderr, encoding="utf-8")
    result = "none" if done.returncode == 0 else f"{folder / target}.log"
    return f"| {target} | {inputs} | {covered(done.stderr)} | {result} |", done.returncode == 0


def main() -> int:
    """Run targets one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join((*READERS, *PROGRAMS))}. [all]")
    parser.add_argument("--inputs", type=float, default=20_000, help="For each target. [20000]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/fuzz"))
    given = parser.parse_args()
    folder = given.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    unknown = set(given.targets) - {*READERS, *PROGRAMS}
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; valid: {', '.join((*READERS, *PROGRAMS))}")
    if find_spec("atheris") is None and not set(given.targets) <= set(PROGRAMS) | {""}:
        parser.error("atheris is not installed; valid: pip install 'thunder-controllers[fuzz]'")
    print("| target | inputs | branches | found |\n| --- | ---: | ---: | --- |")
    is_clean = True
    for target in given.targets or (*READERS, *PROGRAMS):
        row, was_clean = (read if target in READERS else attack)(target, int(given.inputs), given.seed, folder)
        print(row, flush=True)
        is_clean = is_clean and was_clean
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
