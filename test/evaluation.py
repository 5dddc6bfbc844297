"""Evaluating expressions in tests, and comparing arrays relative to their size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model

ROOT = Path(__file__).resolve().parents[1]

State = Mapping[str, np.ndarray]


def robot_file(name: str) -> Path:
    return ROOT / "config" / "robots" / f"{name}.yaml"


def load_robot(name: str, **options: Any) -> RobotModel:
    return load_model(robot_file(name), **options)


def symbolic_values(model: RobotModel, group: str) -> np.ndarray:
    """Values in the file of the symbolic entries of a group."""
    mask = model.symbolic["par_DYN" if group == "par_REG" else group]
    return np.array(model.parameters(group))[list(mask)]


def evaluate(robot: RobotExpressions, name: str, state: State) -> np.ndarray:
    """A function's value; parameter groups that the state does not give have the file's values."""
    arguments = [state[a] if a in state else symbolic_values(robot.model, a) for a in robot.signature(name)]
    result = robot.function(name)(*arguments)
    if isinstance(result, dict):  # CasADi's answer to a call without arguments
        result = result["out"]
    return np.asarray(result)


def numeric(inputs: list[ca.SX], output: ca.SX, *values: object) -> np.ndarray:
    """Value of an expression at some values of its symbols."""
    return np.asarray(ca.Function("f", inputs, [ca.densify(ca.SX(output))])(*values))


def assert_close(actual: np.ndarray, expected: np.ndarray, relative: float) -> None:
    """Compare with a tolerance relative to the largest entry, at least 1e-3."""
    scale = max(np.abs(expected).max(initial=0.0), 1e-3)
    np.testing.assert_allclose(actual, np.asarray(expected).reshape(actual.shape), rtol=0, atol=relative * scale)
