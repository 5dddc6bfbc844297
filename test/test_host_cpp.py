"""The C++ tests of the host: no allocation in updates, no data race, no undefined behaviour."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pendulum2 import ABI_INCLUDE, HOST, REPOSITORY, compile_pendulum2

CORE = sorted(str(path) for path in HOST.glob("*.cpp") if not path.name.startswith("bindings"))

MAPPING_REFUSED = "ThreadSanitizer: unexpected memory mapping"


@pytest.fixture(scope="module")
def pendulum2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_pendulum2(tmp_path_factory.mktemp("pendulum2"))


def run_cpp_test(name: str, library: Path, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    program = folder / name
    options = ["-std=c++17", "-Wall", "-Wextra", "-Werror", *flags, f"-I{HOST / 'include'}", f"-I{ABI_INCLUDE}"]
    source = REPOSITORY / f"test/cpp/{name}.cpp"
    command = ["c++", *options, str(source), *CORE, "-o", str(program), "-ldl", "-pthread"]
    subprocess.run(command, check=True)
    return run(str(program), str(library))


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_updates_neither_allocate_nor_free(pendulum2: Path, tmp_path: Path) -> None:
    result = run_cpp_test("host_allocations", pendulum2, tmp_path, "-O1")
    assert result.returncode == 0, result.stderr


def test_configuring_and_updating_threads_do_not_race(pendulum2: Path, tmp_path: Path) -> None:
    result = run_cpp_test("host_threads", pendulum2, tmp_path, "-O1", "-g1", "-fsanitize=thread")
    if MAPPING_REFUSED in result.stderr:
        # Older sanitizers know only the memory layout of kernels with less address randomisation.
        result = run("setarch", "-R", str(tmp_path / "host_threads"), str(pendulum2))
        if "failed to set personality" in result.stderr:
            pytest.skip("ThreadSanitizer does not run on this kernel, and address randomisation cannot be turned off")
    assert result.returncode == 0, result.stderr
    assert "WARNING: ThreadSanitizer" not in result.stderr


def test_any_bit_pattern_is_handled_without_undefined_behaviour(pendulum2: Path, tmp_path: Path) -> None:
    flags = ("-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    result = run_cpp_test("host_guards", pendulum2, tmp_path, *flags)
    assert result.returncode == 0, result.stderr
