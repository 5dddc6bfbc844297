"""The benchmark program: both sides give the same numbers, bench.json says what it should. No test looks at a time."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from robots import general_robot, random_robot

from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

import builds  # noqa: E402
import humanoid  # noqa: E402
import run  # noqa: E402
import table  # noqa: E402
from robot_text import robot_text  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("bench")]

COMPARED = {"J_ee", "J_ee_dot", "M", "C", "G", "inverse_dynamics", "M_dot", "Y", "Yr"}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The whole program with as few calls as it can do with; Pinocchio's headers take a minute and a half to compile.

    What was compiled stays under build/, named after all it was made of, as after `make bench`.
    """
    out = tmp_path_factory.mktemp("bench")
    # Batches of 5 ms: 8 s of a controller's time, whose arm would be stopped after 6 s where it does not follow.
    few = ["--short", "--parts", "dynamics"]
    assert run.main([*few, "--work", str(REPOSITORY / "build/bench"), "--out", str(out)]) == 0
    found: dict[str, Any] = json.loads((out / "bench.json").read_text(encoding="utf-8"))
    return found


def test_generated_code_and_pinocchio_give_the_same_numbers(document: dict[str, Any]) -> None:
    assert set(document["agreement"]) == COMPARED
    for name, found in document["agreement"].items():
        assert found["deviation"] <= 1e-9, name  # the program's own limit, which it enforces by its exit status


def test_every_row_has_statistics_of_both_warm_passes_and_of_cold_calls(document: dict[str, Any]) -> None:
    for name, row in document["timings"].items():
        for kind in ("warm1", "warm2", "cold"):
            assert len(row[kind]["samples"]) == 2, name
            assert row[kind]["min"] <= row[kind]["median"] <= row[kind]["max"], name
    text = table.text(document)
    assert all(name in text for name in document["timings"])
    assert all(requirement["requirement"] in text for requirement in document["requirements"])


def test_rows_that_have_a_peer_are_compared_with_it(document: dict[str, Any]) -> None:
    rows = document["timings"]
    assert set(table.PEERS) <= set(rows)
    assert rows["M_dot: C core"]["peer"] is None
    steps = [name for name in rows if name.startswith("control step")]
    assert len(steps) == 4  # two sets of adapted links, C ABI and host each
    for name in [*steps, "Yr: C core"]:
        ratio = rows[table.REGRESSOR]["cold"]["median"] / rows[name]["cold"]["median"]
        assert math.isclose(rows[name]["times_faster"]["cold"], ratio, rel_tol=1e-12)


def test_limits_are_of_all_that_is_timed_and_steps_take_more_than_what_they_are_made_of(
    document: dict[str, Any],
) -> None:
    """A step needs G and M at least; with all links adapted more than with one. Registers hold more than one double."""
    limits = document["limits"]
    timed = {name.partition(":")[0] for name in document["timings"] if not name.startswith("pinocchio ")}
    operations = limits["operations"]
    assert timed <= set(operations)
    last, of_all = (operations[f"control step, {which}"] for which in ("last link adapted", "all links adapted"))
    assert operations["M"] + operations["G"] < last < of_all
    assert limits["lanes"] > limits["scalar"] > 0.0


@pytest.mark.parametrize(
    ("name", "passes", "value", "kept"),
    [
        ("Yr: C core", (5.0, 3.9), 3.9, False),
        ("control step", (1.0, 1.2), 1.0, True),
        ("control step", (0.8, 1.2), 1.25, False),
    ],
)
def test_requirements_are_judged_by_the_worse_pass(
    name: str, passes: tuple[float, float], value: float, kept: bool
) -> None:
    row = {"peer": table.REGRESSOR, "times_faster": dict(zip(("warm1", "warm2"), passes, strict=True))}
    (found,) = table.speed_requirements({name: row})
    assert (found.value, found.kept) == (value, kept)


def test_builds_and_simulation_have_their_bounds() -> None:
    found = table.other_requirements({"panda": {"one core": {"total": 15.1}}}, {"a": 0.05, "b": 0.2})
    assert [(r.bound, r.value, r.kept) for r in found] == [(15.0, 15.1, False), (0.1, 0.2, False)]


def test_a_figure_that_is_not_finite_meets_no_requirement() -> None:
    assert not table.Requirement("at least", math.nan, 4.0, at_least=True).kept
    assert not table.Requirement("at most", math.nan, 1.0).kept


def test_humanoids_are_trees_of_25_joints_and_consistent_bodies() -> None:
    """Those of example-robot-data where it is installed, with a free joint more where the base floats."""
    for label, model in humanoid.robots():
        assert model.n == 25 + ("floating" in label) and not model.has_coupled_joints
        assert len(set(range(model.n)) - {link.parent for link in model.links}) == 4, label  # hands and feet
        for link in model.links:
            link.inertia.check_consistent(link.name)


def test_the_long_chain_is_a_consistent_robot(tmp_path: Path) -> None:
    file = tmp_path / "chain30.yaml"
    builds.write_chain(file)
    model = load_model(file)  # refuses inertias that no body has
    assert model.n == 30
    assert np.array_equal(model.links[7].joint.placement.translation, model.links[0].joint.placement.translation)


@pytest.mark.parametrize("model", [random_robot(3), general_robot(3, 2)], ids=["chain", "free"])
def test_robot_text_holds_everything_the_program_reads(model: RobotModel) -> None:
    words = robot_text(model).split()
    # n, gravity, per link 2 + 3 + 9 + 3 + 1 + 3 + 9, end effector 1 + 9 + 3, two limits per value, one per velocity
    assert len(words) == 1 + 3 + 30 * model.n + 13 + 2 * model.nq + model.nv
    assert np.isfinite([float(word) for word in words]).all()
