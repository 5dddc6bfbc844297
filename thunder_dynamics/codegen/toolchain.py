"""Compilers, their flags, how they are called, and what stands in for that of C where there is none."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from thunder_dynamics.errors import BuildError
from thunder_dynamics.storage.door import GENERATED, read_bytes

NO_SLP = "-fno-tree-slp-vectorize"
OPTIMISATION = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", NO_SLP)
"""Results stay IEEE: only errno and floating-point traps, which nothing here reads, are given up, and a product may be
added unrounded. Straight-line code is no faster in vectors that are put together scalar by scalar: M by a fifth slower.
"""

SINGLE = ("-fsingle-precision-constant",)
"""Of the core in lanes of single precision: its constants are doubles, which no vector of floats is multiplied with."""

TO_INSTALL = "a compiler (Debian and Ubuntu: apt-get install build-essential)"
"""What to do where there is none."""

NATIVE = ("-march=native",)

NO_ROOM = (*map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)), str(signal.strsignal(signal.SIGXFSZ)))
"""What compilers say where a disk is full, or a file larger than it may be."""

PORTABLE = ("-march=x86-64-v2",) if platform.machine() in ("x86_64", "AMD64") else ()
"""What every x86-64 processor since about 2009 runs; other architectures have the compiler's own default."""


def compile_flags(portable: bool) -> tuple[str, ...]:
    """Flags for the generated code, for this processor or for a portable library."""
    return OPTIMISATION + (PORTABLE if portable else NATIVE)


def processor_flags(flags: Iterable[str]) -> list[str]:
    """Those of the flags that Eigen's alignment, and so the layout of the generated class, depends on."""
    return [flag for flag in flags if flag.startswith("-march=")]


def compiler(language: str) -> list[str]:
    """Command of the C or C++ compiler: $CC or $CXX, by default cc and c++."""
    variable, default = {"c": ("CC", "cc"), "c++": ("CXX", "c++")}[language]
    return shlex.split(os.environ.get(variable) or default)


def what_is_missing() -> str | None:
    """What a build lacks on this machine, in one sentence; None if nothing.

    Raises:
        BuildError: if $THUNDER_COMPILER is neither unset nor `none`, which means to do without one.
    """
    asked, command = os.environ.get("THUNDER_COMPILER", ""), compiler("c")[0]
    if asked not in ("", "none"):
        raise BuildError(f"THUNDER_COMPILER={asked}", valid="none, or unset; $CC and $CXX name compilers")
    if asked:
        return "THUNDER_COMPILER=none"
    return None if shutil.which(command) else f"no compiler '{command}'"


def compiler_identity() -> str:
    """The C compiler's command, the first line of its --version, and the processor that -march=native means."""
    command = compiler("c")
    lines = [shlex.join(command), run([*command, "--version"]).splitlines()[0]]
    target = run([*command, *NATIVE, "-Q", "--help=target"], must_succeed=False)
    return "\n".join([*lines, *(line for line in target.splitlines() if "march" in line or "enabled" in line)])


def interpreter() -> Path:
    """The object that libraries are made of without a compiler, `runtime/interpreter.c`.

    Raises:
        BuildError: if there is none.
    """
    spec = importlib.util.find_spec("thunder_dynamics.runtime._interpreter")
    if spec is None or spec.origin is None:
        raise BuildError("the interpreter is not installed", valid="an installation by pip or colcon")
    return Path(spec.origin)


def interpreter_identity() -> str:
    """What determines how an image is interpreted."""
    return f"interpreter {hashlib.sha256(read_bytes(interpreter(), GENERATED, BuildError)).hexdigest()}"


def run(command: Sequence[str], cwd: Path | None = None, *, must_succeed: bool = True) -> str:
    """Run a command without a shell and return its standard output.

    Raises:
        BuildError: with the end of its messages if it fails or does not exist.
    """
    try:
        english = {**os.environ, "LC_ALL": "C"}
        result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=english)
    except OSError as error:
        what, valid = f"cannot run '{command[0]}': {error.strerror}", f"{TO_INSTALL}, in $CC or $CXX"
        raise BuildError(what, valid=valid) from error
    for line in result.stderr.splitlines() if must_succeed and result.returncode else ():
        if any(reason in line for reason in NO_ROOM):
            raise BuildError(f"the output cannot be written ({line.strip()})", valid="a writable folder with space")
    if must_succeed and result.returncode:
        errors = "\n".join(result.stderr.strip().splitlines()[-15:])
        raise BuildError(f"'{shlex.join(command)}' failed:\n{errors}")
    return result.stdout


def run_all(commands: Sequence[Sequence[str]], cwd: Path) -> None:
    """Run independent commands at the same time, one per core that this process may use."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=max(1, len(os.sched_getaffinity(0)))) as pool:
        for future in [pool.submit(run, command, cwd) for command in commands]:
            future.result()
