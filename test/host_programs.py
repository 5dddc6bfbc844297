"""Compiles the C++ programs of test/cpp with the host; once per set of flags and state of the sources."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from pendulum2 import ABI_INCLUDE, HOST, REPOSITORY

from thunder_dynamics.codegen.toolchain import eigen_include

INCLUDES = (f"-I{HOST / 'include'}", f"-I{ABI_INCLUDE}", "-isystem", str(eigen_include()))
OPTIONS = ("-std=c++17", "-Wall", "-Wextra", "-Werror", *INCLUDES)
ADDRESS = ("-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
THREAD = ("-O1", "-g1", "-fsanitize=thread")

MAPPING_REFUSED = "ThreadSanitizer: unexpected memory mapping"


def compile_program(
    name: str, cache: Path, *flags: str, sources: Sequence[Path] = (), libraries: Sequence[str] = ()
) -> Path:
    """Compile test/cpp/<name>.cpp, with further sources and libraries; `cache` may outlive the session."""
    folder = cache / "host_programs" / hashlib.sha256(" ".join(flags).encode() + _state_of_sources()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    if not program.exists():
        core = _core(folder, flags)
        work = Path(mkdtemp(dir=folder))
        source = REPOSITORY / f"test/cpp/{name}.cpp"
        link = ["-o", str(work / name), *(f"-l{library}" for library in libraries), "-ldl", "-lcrypto", "-pthread"]
        _call(["c++", *OPTIONS, *flags, str(source), *map(str, sources), str(core), *link])
        os.replace(work / name, program)  # another process of this session may have made it meanwhile
    return program


@lru_cache
def _state_of_sources() -> bytes:
    files = [path for root in (HOST, ABI_INCLUDE, REPOSITORY / "test/cpp") for path in sorted(root.rglob("*.[ch]pp"))]
    files += sorted(ABI_INCLUDE.rglob("*.h"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).digest()


def _core(folder: Path, flags: Sequence[str]) -> Path:
    archive = folder / "libhost.a"
    if archive.exists():
        return archive
    work = Path(mkdtemp(dir=folder))
    sources = sorted((HOST / "src").rglob("*.cpp"))
    objects = [work / f"{'_'.join(path.relative_to(HOST).parts)}.o" for path in sources]
    commands = [
        ["c++", *OPTIONS, *flags, "-c", str(path), "-o", str(object_)]
        for path, object_ in zip(sources, objects, strict=True)
    ]
    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(_call, command) for command in commands]:
            future.result()
    _call(["ar", "rcs", str(work / archive.name), *map(str, objects)])
    os.replace(work / archive.name, archive)
    return archive


def _call(command: Sequence[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)


def run_with_thread_sanitizer(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program made with THREAD, without address randomisation if need be; skips where that is impossible."""
    result = run(*command)
    if MAPPING_REFUSED in result.stderr:
        # Older sanitizers know only the memory layout of kernels with less address randomisation.
        result = run("setarch", "-R", *command)
        if "failed to set personality" in result.stderr:
            pytest.skip("ThreadSanitizer does not run on this kernel, and address randomisation cannot be turned off")
    assert "WARNING: ThreadSanitizer" not in result.stderr, result.stderr
    return result
