"""The C core without an operating system: cross-compiled for Cortex-M, and in single precision."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest
from evaluation import ROOT, assert_close, evaluate
from robots import random_state

from thunder_dynamics.codegen import toolchain
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.readers import load_model

sys.path.insert(0, str(ROOT / "benchmarks"))

import microcontroller  # noqa: E402

SINGLE = 1e-5
"""Some hundred roundings of single precision, 6e-8 each."""


@pytest.mark.slow
@pytest.mark.skipif(not microcontroller.is_available(), reason="arm-none-eabi-gcc is not installed")
@pytest.mark.parametrize("target", microcontroller.TARGETS)
def test_the_core_needs_nothing_but_libm_and_fits(target: str, tmp_path: Path) -> None:
    name = microcontroller.write_sources(tmp_path, 7)
    footprint = microcontroller.measure(tmp_path, name, target)
    assert footprint.undefined == ({"sinf", "cosf"} if "single" in target else {"sin", "cos"})
    assert 1000 < footprint.flash < 128_000 and 0 < footprint.stack < 4096
    results, signals = 10 * 7 * 7, 4 * 7
    assert footprint.memory <= (results + signals + 16) * 8


@pytest.mark.slow
def test_single_precision_gives_the_same_numbers(tmp_path: Path) -> None:
    name = microcontroller.write_sources(tmp_path, 4)
    flags = [flag for flag in microcontroller.TARGETS["Cortex-M4, single"] if not flag.startswith(("-mcpu", "-mfpu"))]
    command = [*toolchain.compiler("c"), "-std=c99", "-O1", "-I.", "-Werror", *flags, "-fPIC", "-shared"]
    toolchain.run([*command, f"{name}_gen.c", "-lm", "-o", "single.so"], tmp_path)
    library = ctypes.CDLL(str(tmp_path / "single.so"))
    model = load_model(tmp_path / f"{name}.yaml")
    robot, state = RobotExpressions(model), random_state(model, 2)
    pointer = ctypes.POINTER(ctypes.c_float)
    for function in microcontroller.FUNCTIONS:
        expected = evaluate(robot, function, state)
        arguments = [np.asarray(state[a], dtype=np.float32) for a in robot.signature(function)]
        result = np.zeros(expected.shape, dtype=np.float32, order="F")
        taken = (pointer * len(arguments))(*(a.ctypes.data_as(pointer) for a in arguments))
        given = (pointer * 1)(result.ctypes.data_as(pointer))
        assert getattr(library, f"{name}_{function}")(taken, given, None, None, 0) == 0
        assert_close(result, expected, SINGLE)
