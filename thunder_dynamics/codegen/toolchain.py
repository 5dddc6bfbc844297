"""The compilers and headers that a build uses, and how they are called.

Called directly: what setuptools builds are extensions of Python, not a library with C, C++ and a module beside it.
"""

from __future__ import annotations

import errno
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from thunder_dynamics.errors import BuildError

NO_SLP = "-fno-tree-slp-vectorize"
OPTIMISATION = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", NO_SLP)
"""Results stay IEEE: only errno and floating-point traps, which nothing here reads, are given up, and a product may be
added unrounded. Straight-line code is no faster in vectors that are put together scalar by scalar: M by a fifth slower.
"""

NATIVE = ("-march=native",)

NO_ROOM = (*map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)), str(signal.strsignal(signal.SIGXFSZ)))
"""What compilers say where a disk is full, or a file larger than it may be."""

_EIGEN_VERSION = tuple(f"#define EIGEN_{part}_VERSION " for part in ("WORLD", "MAJOR", "MINOR", "PATCH"))


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
    """What a build of library and Python module lacks on this machine, in one sentence; None if nothing."""
    for command in (compiler("c"), compiler("c++")):
        if shutil.which(command[0]) is None:
            return f"no compiler '{command[0]}'"
    try:
        eigen_include()
        python_includes()
    except BuildError as error:
        return str(error)
    return None


def compiler_identity() -> str:
    """Version of Eigen, each compiler's command and first line of --version, the processor that -march=native means."""
    headers = [eigen_include() / "Eigen" / name for name in ("src/Core/util/Macros.h", "Version")]  # until 4, from 5 on
    texts = [header.read_text(encoding="utf-8") for header in headers if header.is_file()]
    lines = [line for text in texts for line in text.splitlines() if line.startswith(_EIGEN_VERSION)]
    for command in (compiler("c"), compiler("c++")):
        lines += [shlex.join(command), run([*command, "--version"]).splitlines()[0]]
    target = run([*compiler("c"), *NATIVE, "-Q", "--help=target"], must_succeed=False)
    return "\n".join([*lines, *(line for line in target.splitlines() if "march" in line or "enabled" in line)])


def eigen_include() -> Path:
    """Folder of Eigen's headers: $EIGEN3_INCLUDE_DIR, the cmeel-eigen package, or the system's.

    Raises:
        BuildError: naming what was searched.
    """
    candidates = [Path(os.environ["EIGEN3_INCLUDE_DIR"])] if os.environ.get("EIGEN3_INCLUDE_DIR") else []
    with suppress(metadata.PackageNotFoundError):  # the system's headers are tried next
        candidates.append(Path(str(metadata.distribution("cmeel-eigen").locate_file("cmeel.prefix/include/eigen3"))))
    candidates += [Path("/usr/include/eigen3"), Path("/usr/local/include/eigen3")]
    for candidate in candidates:
        if (candidate / "Eigen" / "Core").is_file():
            return candidate
    where = ", ".join(map(str, candidates))
    raise BuildError("Eigen's headers are nowhere", where=where, valid="pip install cmeel-eigen, or libeigen3-dev")


def python_includes() -> list[str]:
    """Flags that a pybind11 module needs to find its headers.

    Raises:
        BuildError: if Python's headers are missing.
    """
    import pybind11

    include = Path(sysconfig.get_path("include"))
    if not (include / "Python.h").is_file():
        raise BuildError("Python.h is missing", where=str(include), valid="the package python3-dev")
    own = pybind11.get_include()
    return [f"-I{include}", f"-I{own}", f"-fmacro-prefix-map={own}=pybind11"]  # its assertions name their file


def run(command: Sequence[str], cwd: Path | None = None, *, must_succeed: bool = True) -> str:
    """Run a command without a shell and return its standard output.

    Raises:
        BuildError: with the end of its messages if it fails or does not exist.
    """
    try:
        english = {**os.environ, "LC_ALL": "C"}
        result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=english)
    except OSError as error:
        raise BuildError(f"cannot run '{command[0]}': {error.strerror}", valid="a compiler in $CC or $CXX") from error
    for line in result.stderr.splitlines() if must_succeed and result.returncode else ():
        if any(reason in line for reason in NO_ROOM):
            raise BuildError(f"the output cannot be written ({line.strip()})", valid="a writable folder with space")
    if must_succeed and result.returncode:
        errors = "\n".join(result.stderr.strip().splitlines()[-15:])
        raise BuildError(f"'{shlex.join(command)}' failed:\n{errors}")
    return result.stdout


def run_all(commands: Sequence[Sequence[str]], cwd: Path) -> None:
    """Run independent commands at the same time, one per core that this process may use."""
    with ThreadPoolExecutor(max_workers=max(1, len(os.sched_getaffinity(0)))) as pool:
        for future in [pool.submit(run, command, cwd) for command in commands]:
            future.result()
