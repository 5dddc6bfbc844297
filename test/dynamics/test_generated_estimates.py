"""load_conf with the estimates that a controller has saved: they become the inertial parameters of their links."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from cpp_robot import cpp_robot
from evaluation import assert_close, evaluate, load_robot
from robots import random_state

import thunder_dynamics as td
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.model import RobotModel

RELATIVE = 1e-12
"""One expression graph, compiled with other roundings."""

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("sea2")]

ESTIMATE = [1.3, 0.2, -0.1, 0.05, 0.3, 0.01, -0.02, 0.25, 0.03, 0.2]
"""m, m·c, I about the frame origin."""


def _estimates_file(folder: Path, links: str, values: list[float], robot: str = "planar3r") -> str:
    file = folder / "estimates.yaml"
    file.write_text(f"robot: {robot}\nlaw: some_law\nlinks: {links}\npi_hat: {values}\nfriction_hat: [0.1]\n")
    return str(file)


@pytest.fixture(params=["Python", "C++"])
def load(request: pytest.FixtureRequest, build_cache: Path) -> Callable[[Path, str], Any]:
    """A class of a generated folder: what makes an instance of the robot of that name."""
    if request.param == "C++":
        return lambda folder, robot: cpp_robot(folder, robot, build_cache / "cpp")
    return lambda folder, robot: td.load(folder)


@pytest.fixture
def sea2(load: Callable[[Path, str], Any], sea2_folder: Path) -> Any:
    return load(sea2_folder, "sea2")


@pytest.fixture(scope="module")
def estimated() -> tuple[RobotModel, Path]:
    model = load_robot("planar3r").with_symbolic("par_DYN", True)
    return model, td.build(model)


def test_saved_estimates_take_the_place_of_the_parameters_of_their_link(
    load: Callable[[Path, str], Any], estimated: tuple[RobotModel, Path], tmp_path: Path
) -> None:
    model, folder = estimated
    robot = load(folder, "planar3r")
    first, last = model.link_names[0], model.link_names[2]
    other = [0.8 * value for value in ESTIMATE]
    robot.load_conf(_estimates_file(tmp_path, f"['{last}', {first}]", [*ESTIMATE, *other]))
    expected = model.with_inertia(last, Inertia.from_pi(ESTIMATE)).with_inertia(first, Inertia.from_pi(other))
    np.testing.assert_allclose(robot.get_par_DYN(), expected.parameters("par_DYN"), rtol=1e-12, atol=1e-15)
    state = random_state(model, 5)
    for name in ("q", "dq"):
        getattr(robot, f"set_{name}")(state[name])
    numeric = RobotExpressions(dataclasses.replace(expected, symbolic={}))
    for name in ("M", "C", "G"):
        assert_close(getattr(robot, f"get_{name}")(), evaluate(numeric, name, state), RELATIVE)


@pytest.mark.parametrize("flow", [True, False])
@pytest.mark.parametrize("order", permutations(range(3)))
def test_inertial_parameters_are_found_by_the_names_of_their_links(
    load: Callable[[Path, str], Any],
    estimated: tuple[RobotModel, Path],
    tmp_path: Path,
    order: tuple[int, ...],
    flow: bool,
) -> None:
    model, folder = estimated
    robot, file = load(folder, "planar3r"), tmp_path / "reg.yaml"
    before = robot.get_par_REG()
    robot.save_par_REG(str(file))
    bodies = yaml.safe_load(file.read_text())["dynamics"]
    given = {"dynamics": {name: bodies[name] for name in (model.link_names[k] for k in order)}}
    file.write_text(yaml.safe_dump(given, sort_keys=False, default_flow_style=flow, width=10**9))
    np.testing.assert_allclose(robot.load_par_REG(str(file)), before, rtol=1e-14)


def test_inertial_parameters_of_other_links_are_refused(
    load: Callable[[Path, str], Any], estimated: tuple[RobotModel, Path], tmp_path: Path
) -> None:
    model, folder = estimated
    robot, file = load(folder, "planar3r"), tmp_path / "reg.yaml"
    robot.save_par_REG(str(file))
    first, second, third = model.link_names
    text = file.read_text().replace(f"{first}:", "tool:").replace(f"{third}:", f"{first}:")
    file.write_text(text)
    with pytest.raises(
        RuntimeError, match=f"reg.yaml.*(links tool, {second}, {first}|no link '{third}'); valid: .*once"
    ):
        robot.load_par_REG(str(file))


def test_estimates_change_only_the_symbolic_parameters(sea2: Any, tmp_path: Path) -> None:
    model = load_robot("sea2")
    link, mask = model.link_names[1], np.array(model.symbolic["par_DYN"])
    before = sea2.get_par_REG()
    sea2.load_conf(_estimates_file(tmp_path, f"[{link}]", ESTIMATE, "sea2"))
    full = np.array(model.pi)
    full[mask] = before
    full[10:] = np.where(mask[10:], ESTIMATE, full[10:])
    assert mask[10:].any() and not mask[10:].all()
    np.testing.assert_allclose(sea2.get_par_REG(), full[mask], rtol=1e-14)


def test_estimates_of_another_robot_are_refused(sea2: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="robot 'other'"):
        sea2.load_conf(_estimates_file(tmp_path, "[]", [], "other"))


@pytest.mark.parametrize(
    ("links", "values", "message"),
    [
        ("[none]", ESTIMATE, "estimates.yaml:3: (links: )?no link 'none'; valid: "),
        ("[LAST]", ESTIMATE[:9], "estimates.yaml:4: .* in 'pi_hat'; valid: ten (numbers )?for each of 1 links"),
        ("[LAST]", [0.0] * 10, "estimates.yaml:4: (pi_hat: )?set_par_REG: a mass is zero"),
        ("LAST", ESTIMATE, "estimates.yaml:3: (links: )?'LAST' is no list"),
        ("[LAST, LAST]", [*ESTIMATE, *ESTIMATE], "estimates.yaml:3: (links: )?twice the link 'LAST'; valid: "),
    ],
)
def test_estimates_that_do_not_fit_are_named_and_nothing_is_set(
    load: Callable[[Path, str], Any],
    estimated: tuple[RobotModel, Path],
    tmp_path: Path,
    links: str,
    values: list[float],
    message: str,
) -> None:
    model, folder = estimated
    robot, last = load(folder, "planar3r"), model.link_names[2]
    before = robot.get_par_DYN()
    with pytest.raises(RuntimeError, match=message.replace("LAST", last)):
        robot.load_conf(_estimates_file(tmp_path, links.replace("LAST", last), values))
    np.testing.assert_array_equal(robot.get_par_DYN(), before)


def test_a_robot_without_symbolic_inertia_passes_over_estimates(
    load: Callable[[Path, str], Any], tmp_path: Path
) -> None:
    model = load_robot("planar3r")
    robot = load(td.build(model), "planar3r")
    robot.set_q([0.1, 0.2, 0.3])
    before = robot.get_M()
    robot.load_conf(_estimates_file(tmp_path, f"[{model.link_names[2]}]", ESTIMATE))
    np.testing.assert_array_equal(robot.get_M(), before)
