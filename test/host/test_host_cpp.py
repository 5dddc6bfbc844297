"""The C++ tests of the host: no allocation in updates, no data race, no undefined behaviour, in real time as well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from host_programs import ADDRESS, THREAD, compile_program, run, run_with_thread_sanitizer

pytestmark = pytest.mark.slow


def test_updates_neither_allocate_nor_free(pendulum2_file: Path, build_cache: Path) -> None:
    result = run(compile_program("host_allocations", build_cache, "-O1"), pendulum2_file)
    assert result.returncode == 0, result.stderr


def test_configuring_and_updating_threads_do_not_race(pendulum2_file: Path, build_cache: Path) -> None:
    result = run_with_thread_sanitizer(compile_program("host_threads", build_cache, *THREAD), pendulum2_file)
    assert result.returncode == 0, result.stderr


def test_any_bit_pattern_is_handled_without_undefined_behaviour(pendulum2_file: Path, build_cache: Path) -> None:
    result = run(compile_program("host_guards", build_cache, *ADDRESS), pendulum2_file)
    assert result.returncode == 0, result.stderr


def test_soak_does_every_step_finite_and_without_allocation(panda_folder: Path, build_cache: Path) -> None:
    result = run(compile_program("host_soak", build_cache, "-O1"), "5", panda_folder / "libpanda.so")
    soak = json.loads(result.stdout)
    assert soak["steps"] == 5000 and soak["writes"] > 0
    (controller,) = soak["controllers"]
    assert all(controller["steps_by_reference"].values())  # hold, stream, motion, stopping
    assert controller["allocations"] == 0
    assert controller["efforts_beyond_limits"] == 0  # NaN is beyond as well
    blocking = ("measurement_non_finite", "measurement_stale", "time_step_invalid", "result_non_finite", "not_active")
    assert [controller["guards"][name] for name in blocking] == [0] * 5


@pytest.mark.parametrize("flags", [ADDRESS, THREAD], ids=["address", "thread"])
def test_soak_is_clean_under_sanitizers(pendulum2_file: Path, build_cache: Path, flags: tuple[str, ...]) -> None:
    """A step may well take longer than a period here: the exit status says so, and does not count."""
    program = compile_program("host_soak", build_cache, *flags)
    result = (run_with_thread_sanitizer if flags == THREAD else run)(program, "2", pendulum2_file)
    assert "Sanitizer" not in result.stderr and "runtime error" not in result.stderr, result.stderr
    soak = json.loads(result.stdout)
    assert soak["steps"] == 2000
    assert [(c["law"], c["efforts_beyond_limits"]) for c in soak["controllers"]] == [
        ("joint_adaptive", 0),
        ("cartesian_spring", 0),
    ]
