"""The C++ programs of test/cpp with the host: compiled once per set of flags and state of the sources, and run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from pendulum2 import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "benchmarks"))

from program import eigen_include as eigen_include  # noqa: E402
from program import host_program  # noqa: E402

ADDRESS = ("-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
THREAD = ("-O1", "-g1", "-fsanitize=thread")

MAPPING_REFUSED = "ThreadSanitizer: unexpected memory mapping"


def compile_program(name: str, cache: Path, *flags: str, others: Sequence[Path] = ()) -> Path:
    """Compile test/cpp/<name>.cpp with other sources; `cache` may outlive the session."""
    return host_program(REPOSITORY / f"test/cpp/{name}.cpp", cache / "host_programs", ("-Werror", *flags), others)


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
