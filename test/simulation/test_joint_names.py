"""Values by the names of joints: in any order they are what the list in the robot's order is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import robot_file
from plant_arms import ARM, ARM_JOINTS, assembled

from thunder_controllers.fields import order_of, per_joint
from thunder_controllers.host import Library
from thunder_controllers.identification.limits import Limits, MotionBounds
from thunder_controllers.scripting import Result, simulate
from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_controllers.simulation.scenario import load_scenario
from thunder_controllers.simulation.stop import gains_command
from thunder_dynamics.build import build
from thunder_dynamics.errors import NameNotFoundError, ScenarioError
from thunder_dynamics.readers import load_model

PLANAR = robot_file("planar3r")
JOINTS = ("joint1", "joint2", "joint3")
START = [0.3, -0.5, 0.4]

Shape = Callable[[Sequence[float]], Any]


def by_name(order: Sequence[int], names: Sequence[str] = JOINTS) -> Shape:
    return lambda values: {names[k]: values[k] for k in order}


def plant_of(shape: Shape) -> dict[str, Any]:
    """Keys of a plant that have a value for each joint."""
    return {
        "friction": {"viscous": shape([0.1, 0.2, 0.3]), "coulomb": shape([0.05, 0.02, 0.01])},
        "noise": {"q_std": shape([1e-5, 2e-5, 3e-5]), "q_resolution": shape([1e-6, 2e-6, 4e-6])},
        "rotors": shape([0.3, 0.2, 0.1]),
        "rotor_inertia": shape([0.01, 0.02, 0.03]),
        "offsets": shape([0.5, -0.3, 0.1]),
        "torque_lag": shape([1e-3, 2e-3, 3e-3]),
        "drive_gain": shape([1.0, 0.95, 1.05]),
        "stiffness": shape([1.0, 2.0, 3.0]),
    }


def ran(shape: Shape, **changes: Any) -> Result:
    """A run in which each of the numbers of three joints differs."""
    arguments: dict[str, Any] = {
        "law": "pd_plus",
        "reference": lambda t: np.array(START) + 0.1 * np.sin(3.0 * t),
        "duration": 0.05,
        "gains": {"K_p": shape([90.0, 60.0, 30.0]), "K_d": shape([9.0, 5.0, 2.0])},
        "start": {"q": shape(START), "on_reference": False},
        "plant": plant_of(shape),
        "host": {
            "effort_limit": shape([50.0, 20.0, 8.0]),
            "effort_rate_limit": shape([900.0, 500.0, 300.0]),
            "velocity_limit": shape([2.9, 2.8, 2.7]),
            "stop_damping": shape([3.0, 2.0, 1.0]),
        },
    }
    return simulate(PLANAR, **(arguments | changes))


@cache
def listed() -> Result:
    return ran(list)


@pytest.mark.slow
@pytest.mark.parametrize("order", permutations(range(3)))
def test_a_run_is_the_same_in_any_order_of_the_joints(order: tuple[int, ...]) -> None:
    expected, found = listed(), ran(by_name(order))
    for name in ("q", "qd_measured", "effort"):
        np.testing.assert_array_equal(getattr(found.trace, name), getattr(expected.trace, name))
    assert found.metrics["gains"] == expected.metrics["gains"]
    assert found.metrics["effort_limit"] == [50.0, 20.0, 8.0]
    assert gains_command(found.config, JOINTS) == gains_command(expected.config, JOINTS)
    assert "K_p=90+60+30" in gains_command(found.config, JOINTS)


@pytest.mark.parametrize("order", permutations(range(3)))
def test_mujocos_plant_is_the_same_in_any_order_of_the_joints(order: tuple[int, ...]) -> None:
    q = []
    for shape in (list, by_name(order, ARM_JOINTS)):
        plant = MujocoPlant(assembled(ARM), ARM_JOINTS, 1e-3, PlantOptions.model_validate(plant_of(shape)))
        plant.reset([0.1, 0.2, 0.3])
        measured = np.zeros((2, 3))
        for k in range(20):
            plant.measure(*measured)
            plant.step(np.array([1.0, -0.5, 0.2]) * k)
        q.append([*plant.q, *measured[0], *plant.holding_effort()])
    np.testing.assert_array_equal(*q)


@pytest.mark.parametrize("order", permutations(range(3)))
def test_a_motion_that_identifies_has_the_same_bounds_in_any_order(order: tuple[int, ...], build_cache: Path) -> None:
    library = Library(build(load_model(PLANAR), [("pd_plus", {})]))
    made = []
    for shape in (list, by_name(order)):
        bounds = MotionBounds.model_validate({name: shape([0.3, 0.2, 0.1]) for name in ("reach", "velocity")})
        made.append(Limits(library, np.array(START), bounds).of_motion)
    for ours, theirs in zip(*made, strict=True):
        np.testing.assert_array_equal(ours.width, theirs.width)


WRONG = [
    ({"joint1": 1.0, "joint3": 1.0}, "missing joint2"),
    ({"joint1": 1.0, "joint2": 1.0, "joint3": 1.0, "tool": 1.0}, "unknown tool"),
    ({"joint1": 1.0, "joint_2": 1.0, "joint3": 1.0}, "missing joint2, unknown joint_2"),
]
PLACES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "start.q": lambda values: {"start": {"q": values}},
    "host.effort_limit": lambda values: {"host": {"effort_limit": values}},
    "host.velocity_limit": lambda values: {"host": {"velocity_limit": values}},
    "law.gains.K_d": lambda values: {"gains": {"K_d": values}},
    "friction": lambda values: {"plant": {"friction": {"viscous": values}}},
    "noise": lambda values: {"plant": {"noise": {"q_std": values}}},
    "rotors": lambda values: {"plant": {"rotors": values}},
    "drive_gain": lambda values: {"plant": {"drive_gain": values}},
    "torque_lag": lambda values: {"plant": {"torque_lag": values}},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("values", "reason"), WRONG)
def test_other_joints_are_refused(place: str, values: dict[str, float], reason: str) -> None:
    with pytest.raises(NameNotFoundError, match=f"{place}: {reason}; valid: joint1, joint2, joint3, each once"):
        ran(list, **PLACES[place](values))


def test_a_joint_that_stands_twice_in_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("start: {q: {joint1: 1.0, joint2: 2.0, joint1: 3.0}}\n")
    with pytest.raises(ScenarioError, match=r"a\.yaml:1: .*joint1"):
        load_scenario(tmp_path / "a.yaml")


def test_what_is_not_of_joints_takes_no_names_of_theirs() -> None:
    """gamma is of the three adapted links."""
    gamma, links = dict.fromkeys(JOINTS, 1.0), {"adapted_links": "all"}
    with pytest.raises(ScenarioError, match=r"law.gains.gamma: names of joints; valid: one value, or a list of 3"):
        ran(list, law="slotine_li", options=links, gains={"gamma": gamma})


def test_values_by_names_are_noise_only_where_one_is_not_zero() -> None:
    for name in ("qd_std", "qd_resolution"):
        quiet, loud = ({name: {"a": 0.0, "b": value}} for value in (0.0, 0.1))
        assert not PlantOptions.model_validate({"velocity": "differences", "noise": quiet}).noise.acts
        assert PlantOptions.model_validate({"noise": loud}).noise.acts
        with pytest.raises(ValueError, match="noise of velocities beside velocity: differences"):
            PlantOptions.model_validate({"velocity": "differences", "noise": loud})


def test_order_comes_from_names() -> None:
    rng = np.random.default_rng(0)
    for n in range(1, 13):
        names = [f"j{k}" for k in range(n)]
        given = rng.permutation(names).tolist()
        assert [given[place] for place in order_of(given, names, "here")] == names
        values = dict(zip(given, rng.normal(size=n), strict=True))
        np.testing.assert_array_equal(per_joint(values, names, "here"), [values[name] for name in names])
    assert order_of(["tool", "b", "tool", "a"], ["a", "b"], "here", others=True) == [3, 1]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["a"], "missing b"),
        (["b", "a", "c"], "unknown c"),
        (["a", "b", "a"], "twice a"),
        (["a", "a", "d"], "missing b, unknown d, twice a"),
    ],
)
def test_names_that_do_not_fit_are_told(given: list[str], reason: str) -> None:
    with pytest.raises(NameNotFoundError) as caught:
        order_of(given, ["a", "b"], "here")
    assert str(caught.value) == f"here: {reason}; valid: a, b, each once"
    with pytest.raises(ScenarioError, match=reason):
        order_of(given, ["a", "b"], "here", ScenarioError)
