"""Effort offsets in laws: those of the robot file are fed forward, those that adapt are found, and none drifts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot, robot_file
from hypothesis import given
from hypothesis import strategies as st
from laws import packed, step, unpacked

from thunder_controllers.host import Controller, Library, Options
from thunder_controllers.laws.cartesian_impedance import cartesian_impedance
from thunder_controllers.laws.computed_torque import computed_torque
from thunder_controllers.laws.gravity_compensation import gravity_compensation
from thunder_controllers.laws.parts.friction import GATE_SPEED
from thunder_controllers.laws.pd_plus import pd_plus
from thunder_controllers.laws.slotine_li import slotine_li
from thunder_controllers.laws.variable_inertia import variable_inertia
from thunder_controllers.simulation.options import Friction, Noise, PlantOptions
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.preparation import build_library, prepare
from thunder_controllers.simulation.scenario import load_scenario
from thunder_dynamics.build import build
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law
from thunder_dynamics.model import RobotModel

TRUE = np.array([0.0, 1.0, 0.0])
"""[N·m]"""

PERIOD = 1e-3
FIXED = {"adaptation": "none"}
seeds = st.integers(0, 2**32 - 1)


def arm(offsets: np.ndarray | None = None) -> RobotModel:
    """The planar arm, with offsets in its file or without."""
    model = load_robot("planar3r")
    offsets = np.zeros(3) if offsets is None else offsets
    links = (replace(x, effort_offset=float(o)) for x, o in zip(model.links, offsets, strict=True))
    return replace(model, links=tuple(links))


def law(model: RobotModel, **options: Any) -> Law:
    return slotine_li(RobotExpressions(model), {**FIXED, **options})


def joint_reference(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return dict(zip(("q", "qd", "qdd"), rng.uniform(-1, 1, (3, 3)), strict=True))


@pytest.mark.parametrize("kind", [slotine_li, computed_torque, pd_plus, variable_inertia, gravity_compensation])
def test_offsets_of_the_robot_file_are_fed_forward(kind: Any) -> None:
    rng, offsets = np.random.default_rng(1), np.array([0.3, -2.0, 0.7])
    q, qd = rng.uniform(-1, 1, (2, 3))
    reference = joint_reference(rng)
    options = FIXED if kind is slotine_li else {}
    told, untold = (
        step(kind(RobotExpressions(model), options), q, qd, reference, {}, {}, PERIOD)[0]
        for model in (arm(offsets), arm())
    )
    np.testing.assert_allclose(told - untold, offsets, rtol=1e-9)


def test_an_impedance_holds_them_too() -> None:
    offsets = np.array([0.3, -2.0, 0.7])
    reference = {"position": np.zeros(3), "rotation": np.eye(3), "twist": np.zeros(6), "acceleration": np.zeros(6)}
    q = np.array([0.3, -0.2, 0.4])
    told, untold = (
        step(cartesian_impedance(RobotExpressions(model), {}), q, np.zeros(3), reference, {}, {}, PERIOD)[0]
        for model in (arm(offsets), arm())
    )
    np.testing.assert_allclose(told - untold, offsets, rtol=1e-9)


def test_friction_none_leaves_them_out_with_friction() -> None:
    q, reference = np.ones(3), joint_reference(np.random.default_rng(2))
    told, untold = (
        step(computed_torque(RobotExpressions(model), {"friction": "none"}), q, q, reference, {}, {}, PERIOD)[0]
        for model in (arm(TRUE), arm())
    )
    np.testing.assert_array_equal(told, untold)


@pytest.fixture(scope="module")
def adapting() -> Law:
    return law(arm(TRUE), offsets="adapted")


@given(seeds)
def test_the_update_cancels_the_error_of_the_offsets_in_the_lyapunov_function(adapting: Law, seed: int) -> None:
    """γ_o õᵀ ô̇ = g õᵀ s: of joints that follow their reference velocity at twice v_g or more, and of no others."""
    rng = np.random.default_rng(seed)
    q, speed = rng.uniform(-1, 1, (2, 3))
    qd = 3.0 * GATE_SPEED * np.sign(speed)
    reference = {"q": q, "qd": qd * rng.uniform(0.8, 1.2, 3) * [1, 1, -1], "qdd": np.zeros(3)}
    estimate, gamma = rng.uniform(-5, 5, 3), float(rng.uniform(0.1, 10.0))
    gains = {"gamma_offset": gamma, "adaptation_limit": 1e9}
    effort, after, telemetry = step(adapting, q, qd, reference, {"offset_hat": estimate}, gains, PERIOD)
    rate = gamma * (after["offset_hat"] - estimate) / PERIOD
    np.testing.assert_allclose(rate, telemetry["s"] * [1, 1, 0], rtol=1e-6, atol=1e-9)
    without = step(adapting, q, qd, reference, {"offset_hat": np.zeros(3)}, gains, PERIOD)[0]
    np.testing.assert_allclose(effort - without, estimate, rtol=1e-9)


def test_estimates_start_from_the_robot_file_and_stay_within_their_bounds(adapting: Law) -> None:
    (entry,) = (entry for entry in adapting.state if entry.name == "offset_hat")
    np.testing.assert_array_equal(entry.default.ravel(), TRUE)
    q, qd = np.zeros(3), np.full(3, 0.5)
    reference = {"q": np.zeros(3), "qd": qd + 10.0, "qdd": np.zeros(3)}
    gains = {"gamma_offset": 1e-6, "adaptation_limit": 1e9, "offset_upper": [0.1, 2.0, 3.0]}
    _, after, _ = step(adapting, q, qd, reference, {}, gains, PERIOD)
    np.testing.assert_array_equal(after["offset_hat"], [0.1, 2.0, 3.0])


@pytest.mark.parametrize("scheme", ["composite", "natural_composite"])
def test_a_scheme_that_predicts_the_effort_by_the_file_is_refused(scheme: str) -> None:
    with pytest.raises(LawError, match="offsets=adapted with a composite scheme.*valid: another adaptation"):
        law(arm(), offsets="adapted", adaptation=scheme)


def test_a_contact_keeps_the_estimates() -> None:
    built = law(arm(), offsets="adapted", contact="freeze")
    q, qd = np.array([0.3, -0.2, 0.4]), np.full(3, 0.5)
    first = unpacked(built.state, np.asarray(built.initial(q, qd, packed(built.gains))).ravel())
    reference = {"q": q, "qd": 2.0 * qd, "qdd": np.zeros(3)}
    pushed = {**first, "contact_left": 0.1}
    held, free = (step(built, q, qd, reference, state, {}, PERIOD)[1]["offset_hat"] for state in (pushed, first))
    np.testing.assert_array_equal(held, first["offset_hat"])
    assert (free > first["offset_hat"]).all()


class Run:
    """The planar arm, one joint with an offset, on a sum of sinusoids or at rest under a compiled law."""

    def __init__(self, model: RobotModel, plant: PlantOptions, moves: bool = True, **options: Any) -> None:
        library = Library(build(model, [("slotine_li", {**FIXED, **options})]) / f"lib{model.name}.so")
        self.host, self.plant = Controller(), ModelPlant(arm(TRUE), model.joint_names, PERIOD, plant, seed=3)
        self.host.configure(library, law="slotine_li", options=Options(nominal_dt=PERIOD))
        self.time, self._moves = 0.0, moves
        start = self.reference()
        self.plant.reset(start[:3], start[3:6])
        self.host.set_reference(start)
        self.host.activate(start[:3], start[3:6], self.plant.holding_effort())
        self.errors: list[float] = []
        self.found: list[np.ndarray] = []

    def reference(self) -> np.ndarray:
        w = 2.0 * np.pi * np.outer([1.0, 1.1, 1.3], [0.2, 0.45, 0.7])
        angle = w * self.time * self._moves + np.outer([0.0, 1.0, 2.0], [1.0, 2.0, 4.0])
        rows = 0.2 * np.sin(angle), 0.2 * w * np.cos(angle) * self._moves, -0.2 * w**2 * np.sin(angle) * self._moves
        return np.concatenate([row.sum(axis=1) for row in rows])

    def go(self, seconds: float, adapts: bool = True) -> Run:
        q, qd, effort = np.zeros((3, 3))
        for step_ in range(round(seconds / PERIOD)):
            reference = self.reference()
            self.host.set_reference(reference)
            self.plant.measure(q, qd)
            self.errors.append(float(np.abs(self.plant.q - reference[:3]).max()))
            self.host.update(self.time, q, qd, PERIOD, effort)
            self.plant.step(effort)
            self.time += PERIOD
            if adapts and step_ % 100 == 0:
                self.found.append(self.host.state("offset_hat").ravel().copy())
        return self


NOISE = Noise(q_std=1e-5, qd_std=2e-3)


@pytest.mark.slow
def test_an_unknown_offset_is_found_within_a_tenth_and_the_arm_tracks_better(build_cache: Path) -> None:
    plant = PlantOptions(noise=NOISE)
    adapted = Run(arm(), plant, offsets="adapted").go(20.0)
    fixed = Run(arm(), plant).go(20.0, adapts=False)
    np.testing.assert_allclose(adapted.found[-1], TRUE, atol=0.1)
    last = slice(-5000, None)
    assert max(adapted.errors[last]) < 0.2 * max(fixed.errors[last])


@pytest.mark.slow
def test_it_is_told_from_adapted_friction(build_cache: Path) -> None:
    """Of 1 N·m with 0.5 N·m of Coulomb friction: 1.5 forwards and 0.5 backwards."""
    plant = PlantOptions(noise=NOISE, friction=Friction(viscous=0.2, coulomb=0.5))
    run = Run(arm(), plant, offsets="adapted", friction="adapted").go(40.0)
    np.testing.assert_allclose(run.found[-1], TRUE, atol=0.1)
    np.testing.assert_allclose(run.host.state("friction_hat").ravel(), [0.2] * 3 + [0.5] * 3, atol=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("coulomb", [0.0, 2.0])
def test_nothing_drifts_at_rest(build_cache: Path, coulomb: float) -> None:
    """The arm sags by the offset, or sticks: the error stays, and says nothing of the offset once nothing moves."""
    plant = PlantOptions(noise=NOISE, friction=Friction(coulomb=coulomb))
    run = Run(arm(), plant, moves=False, offsets="adapted").go(60.0)
    found = np.array(run.found)
    assert np.abs(found).max() < 0.05  # [N·m], while it sags
    np.testing.assert_allclose(found[500:].mean(axis=0), found[100:200].mean(axis=0), atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "true"),
    [("", [0.3, -0.4, 0.5]), ("  offsets: 0.0", [0.0, 0.0, 0.0]), ("  offsets: [1, 0, -2]", [1.0, 0.0, -2.0])],
)
def test_a_plant_has_the_offsets_of_the_robot_file_unless_told_otherwise(
    build_cache: Path, tmp_path: Path, plant: str, true: list[float]
) -> None:
    robot = tmp_path / "pulled.yaml"
    robot.write_text(robot_file("planar3r").read_text().replace("thunder:", "thunder:\n  offset: [0.3, -0.4, 0.5]"))
    (tmp_path / "scenario.yaml").write_text(f"""
name: pulled
robot: {robot}
plant:
  engine: model
  urdf: {robot_file("planar3r")}
{plant}
law: {{name: gravity_compensation}}
reference: {{type: joint_lissajous, centre: [0, 0, 0], amplitude: [0, 0, 0], frequency: [1, 1, 1], phase: [0, 0, 0]}}
start: {{q: [0, 0, 0]}}
duration: 1
runs: [{{name: run}}]
""")
    scenario = load_scenario(tmp_path / "scenario.yaml")
    setup = prepare(scenario, scenario.runs[0], *build_library(scenario, scenario.runs[0]))
    np.testing.assert_allclose(setup.plant.offsets, true)
