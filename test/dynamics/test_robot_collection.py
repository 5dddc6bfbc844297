"""Robots that nobody here described, those of PyPI's example-robot-data, against Pinocchio on the same files.

Its 130 MB of meshes are the extra `arms`, which `make test-collection` installs.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from urdf_agreement import (
    assert_agrees_with_pinocchio,
    assert_derivatives_agree_with_pinocchio,
    reference_of,
)

from thunder_controllers.arms.descriptions import collection
from thunder_dynamics.errors import RobotFileError
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model

RELATIVE = 1e-8  # the acceptance limit


FOLDER = collection()
FILES = sorted(FOLDER.rglob("*.urdf")) if FOLDER else []
pytestmark = pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")

QUICK = {
    "z1_description/urdf/z1.urdf": ["fixed", "floating"],
    "panda_description/urdf/panda.urdf": ["fixed"],
    "go2_description/urdf/go2.urdf": ["floating"],
    "g1_description/urdf/g1_29dof_rev_1_0.urdf": ["floating"],
}
"""A chain, coupled fingers, four legs and a humanoid of 29 joints; the others are slow."""


REFUSALS = {
    "no joint moves from": [
        ("hector_description/robots/quadrotor_base.urdf", "fixed"),
        ("iris_description/robots/iris_simple.urdf", "fixed"),
    ],
    "<robot>: the attribute 'name' is missing": [
        ("ur_description/urdf/ur3.urdf", "fixed"),
        ("ur_description/urdf/ur3.urdf", "floating"),
    ],
    "mimics 'index_q1'; valid: a movable joint of the file": [
        ("alex_description/urdf/alex_psyonic_hands.urdf", "fixed"),
        ("alex_description/urdf/alex_psyonic_hands.urdf", "floating"),
    ],
}
"""What is refused, and why: nothing that moves; a name that URDF demands; a joint that is missing. All else loads."""


def cases() -> list[object]:
    result = []
    for file in FILES:
        name = str(file.relative_to(FOLDER or file))
        for base in ("fixed", "floating"):
            marks = [] if base in QUICK.get(name, []) else [pytest.mark.slow]
            result.append(pytest.param(file, base, id=f"{name}-{base}", marks=marks))
    return result


def load(file: Path, base: str) -> RobotModel:
    """The model; impossible inertias count, too."""
    options = {"name": "robot", "allow_inconsistent": True, "base": base}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_model(file, **options)


@pytest.mark.parametrize(("file", "base"), cases())
def test_a_robot_of_the_collection_agrees_with_pinocchio(file: Path, base: str) -> None:
    case = str(file.relative_to(FOLDER or file)), base
    refusal = next((reason for reason, refused in REFUSALS.items() if case in refused), None)
    if refusal:
        with pytest.raises(RobotFileError, match=re.escape(refusal)):
            load(file, base)
        return
    model, reference = load(file, base), reference_of(file.read_text(), base)
    assert_agrees_with_pinocchio(model, reference, RELATIVE)
    assert_derivatives_agree_with_pinocchio(model, reference, RELATIVE)
