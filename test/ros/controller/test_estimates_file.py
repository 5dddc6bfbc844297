"""The file of saved estimates: it comes back bit for bit, and no other file does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from controller_robot import build_panda

from thunder_controllers.ros.controller.estimates_file import (
    EstimatesFileError,
    EstimatesOwner,
    load_estimates,
    save_estimates,
)

VALUES = {"pi_hat": np.array([0.73, 1 / 3, -1e-17, 0.045, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])}


@pytest.fixture(scope="module")
def owner() -> EstimatesOwner:
    return EstimatesOwner("panda", build_panda().law("cartesian_backstepping"), ("panda_link7",))


def test_estimates_come_back_bit_for_bit(owner: EstimatesOwner, tmp_path: Path) -> None:
    save_estimates(tmp_path / "a.yaml", owner, VALUES)
    assert np.array_equal(load_estimates(tmp_path / "a.yaml", owner)["pi_hat"], VALUES["pi_hat"])


def test_the_file_names_its_owner(owner: EstimatesOwner, tmp_path: Path) -> None:
    save_estimates(tmp_path / "a.yaml", owner, VALUES)
    data = yaml.safe_load((tmp_path / "a.yaml").read_text())
    assert (data["robot"], data["law"], data["links"]) == ("panda", "cartesian_backstepping", ["panda_link7"])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"robot": "ur5"}, "robot is 'ur5'; valid: 'panda'"),
        ({"law": "other"}, "law is 'other'"),
        ({"links": ["panda_link6"]}, "links is"),
        ({"pi_hat": [1.0] * 9}, "9 values; valid: 10"),
        ({"pi_hat": [float("nan")] * 10}, "not finite"),
        ({"pi_hat": "heavy"}, "no list of numbers"),
        ({"pi_hat": [True] * 10}, "no list of numbers"),
        ({"mass": 1.0}, "unknown key 'mass'"),
        ({"law": None, "robot": None}, "robot is None"),
    ],
)
def test_a_file_of_something_else_is_refused(
    owner: EstimatesOwner, tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    file = tmp_path / "a.yaml"
    save_estimates(file, owner, VALUES)
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), **change}))
    with pytest.raises(EstimatesFileError, match=reason):
        load_estimates(file, owner)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("robot: panda", "'law' is missing"), ("[1, 2]", "no mapping"), ("a: [", "no YAML"), ("\x00", "no YAML")],
)
def test_a_broken_file_is_refused(owner: EstimatesOwner, tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(EstimatesFileError, match=reason):
        load_estimates(tmp_path / "a.yaml", owner)


def test_a_missing_file_is_named(owner: EstimatesOwner, tmp_path: Path) -> None:
    with pytest.raises(EstimatesFileError, match=r"a\.yaml: cannot be read"):
        load_estimates(tmp_path / "a.yaml", owner)


def test_a_file_that_cannot_be_written_leaves_nothing(owner: EstimatesOwner, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").mkdir()
    with pytest.raises(EstimatesFileError, match="cannot be written"):
        save_estimates(tmp_path / "a.yaml", owner, VALUES)
    assert [path.name for path in tmp_path.iterdir()] == ["a.yaml"]
