"""Some parameters symbolic, of any groups at once: the numbers of the numeric robot, compiled and interpreted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import assert_close, evaluate
from hypothesis import given, settings
from hypothesis import strategies as st
from parameters import robot_with_all_groups, with_parameters
from robots import random_state

import thunder_dynamics as td
from thunder_controllers.host import Library
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.model import PARAMETER_GROUPS, RobotModel

RELATIVE = 1e-11
"""The same formulas with the same numbers, but constants folded in another order."""

MODEL = robot_with_all_groups()
ROBOT = RobotExpressions(MODEL)
FUNCTIONS = [name for name in ROBOT.functions if name != "par_REG"]
"""`par_REG` is one of numeric robots alone; symbolic ones have par_DYN in that form, of the symbolic entries."""

Masks = Mapping[str, np.ndarray]


def changed_values(group: str, mask: np.ndarray, seed: int) -> np.ndarray:
    """Values of the whole group, those of the mask some percent off the file's."""
    values = np.array(MODEL.parameters(group))
    return values * np.where(mask, np.random.default_rng(seed).uniform(0.95, 1.05, values.size), 1.0)


def state(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return random_state(MODEL, seed) | {name: rng.uniform(-1, 1, 2) for name in ("x", "dx", "ddx")}


def masked(masks: Masks) -> RobotModel:
    model = MODEL
    for group, mask in masks.items():
        model = model.with_symbolic(group, mask)
    return model


def numeric(masks: Masks, seed: int) -> tuple[RobotExpressions, dict[str, np.ndarray]]:
    """The robot of the changed values, and these values at the masked entries."""
    model, given_values = MODEL, {}
    for group, mask in masks.items():
        values = changed_values(group, mask, seed)
        model = with_parameters(model, group, values)
        if mask.any():
            given_values[group] = values[mask]
    return RobotExpressions(model), given_values


def some(group: str, *entries: int) -> np.ndarray:
    mask = np.zeros(len(MODEL.parameters(group)), dtype=bool)
    mask[list(entries)] = True
    return mask


@st.composite
def random_masks(draw: st.DrawFn) -> dict[str, np.ndarray]:
    groups = draw(st.lists(st.sampled_from(PARAMETER_GROUPS), unique=True, max_size=4))
    seed, share = draw(st.integers(0, 2**31)), draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    rng = np.random.default_rng(seed)
    return {group: rng.random(len(MODEL.parameters(group))) < share for group in groups}


@pytest.mark.slow
@given(masks=random_masks(), function=st.sampled_from(FUNCTIONS), seed=st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_expressions_with_any_masks_are_the_numeric_ones(masks: Masks, function: str, seed: int) -> None:
    expected, values = numeric(masks, seed)
    robot, arguments = RobotExpressions(masked(masks)), state(seed)
    assert set(robot.parameters.symbols) == set(values)
    assert_close(evaluate(robot, function, arguments | values), evaluate(expected, function, arguments), RELATIVE)


CASES = {
    "one entry": {"par_DYN": some("par_DYN", 12)},
    "one of every group": {group: some(group, 1) for group in PARAMETER_GROUPS},
    "half of every group": {
        g: np.random.default_rng(k).random(len(MODEL.parameters(g))) < 0.5 for k, g in enumerate(PARAMETER_GROUPS)
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_compiled_and_interpreted_robots_with_masks_are_the_numeric_one(case: str) -> None:
    masks = CASES[case]
    model = masked(masks)
    folder = td.build(model)
    library = Library(folder / "librandom_robot.so")
    robots: list[Any] = [td.load(folder), td.robot(model, backend="casadi")]
    for seed in range(2):
        expected, values = numeric(masks, seed)
        arguments = state(seed)
        for robot in robots:
            for name, value in {**arguments, **values}.items():
                if hasattr(robot, f"set_{name}"):  # those of functions on request are not there
                    getattr(robot, f"set_{name}")(value)
        for name in FUNCTIONS:
            wanted = evaluate(expected, name, arguments)
            taken = [entry.name for entry in library.function(name).inputs]
            assert_close(library.evaluate(name, **{a: (arguments | values)[a] for a in taken}), wanted, RELATIVE)
            for robot in robots:
                assert_close(getattr(robot, f"get_{name}")(), wanted, RELATIVE)


def test_masks_that_mark_nothing_leave_no_group(tmp_path: Path) -> None:
    robot = RobotExpressions(masked({group: some(group) for group in PARAMETER_GROUPS}))
    assert not robot.parameters.symbols and robot.functions == ROBOT.functions
