"""Surfaces that a link touches, hands that guide it, and firmware that holds up another load than the arm has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot
from numpy.typing import NDArray
from plant_arms import ARM, ARM_JOINTS, assembled
from pydantic import ValidationError

from thunder_controllers.simulation.faults.wrench import Hand, Surface
from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_dynamics import load_model
from thunder_dynamics.errors import ScenarioError

FloatArray = NDArray[np.float64]
PERIOD = 1e-3
READY, SPEED = np.array([0.3, -0.9, 1.2, -0.4, 0.7, 0.2]), np.array([0.2, -0.3, 0.1, 0.4, -0.2, 0.3])
POINT = (0.05, -0.02, 0.1)
LOAD = {"mass": 2.0, "com": (0.05, 0.0, 0.1)}
TILTED = (1.5, 0.0, -9.7)


def _arm(**options: Any) -> ModelPlant:
    model = load_robot("ur5")
    compensated = bool(options.pop("compensated", False))
    plant = ModelPlant(model, model.joint_names, PERIOD, PlantOptions(**options), gravity_compensated=compensated)
    plant.reset(READY, SPEED)
    return plant


def _place(plant: ModelPlant, link: str, q: FloatArray) -> FloatArray:
    T = plant.frame(link, q)
    return np.asarray(T[:3, :3] @ POINT + T[:3, 3])


def _motion(plant: ModelPlant, link: str) -> tuple[FloatArray, FloatArray]:
    """Jacobian of the point by central differences, error 1e-10, and its velocity."""
    ways = 1e-5 * np.eye(plant.n)
    J = np.column_stack([(_place(plant, link, READY + w) - _place(plant, link, READY - w)) / 2e-5 for w in ways])
    return J, J @ SPEED


def test_a_surface_presses_and_rubs_the_point_that_is_in_it() -> None:
    link = load_robot("ur5").link_names[-1]
    free = _arm()
    J, v = _motion(free, link)
    normal = np.array([0.6, 0.0, 0.8])
    at = _place(free, link, READY) + 3e-3 * normal
    table = {"type": "surface", "link": link, "point": POINT, "position": tuple(at), "normal": tuple(2.0 * normal)}
    plant = _arm(faults=({**table, "stiffness": 5e3, "damping": 20.0, "friction": 0.4},))
    pressed, along = 5e3 * 3e-3 - 20.0 * (normal @ v), v - (normal @ v) * normal
    assert pressed > 0.0
    force = pressed * (normal - 0.4 * along / np.hypot(np.linalg.norm(along), 0.02))
    np.testing.assert_allclose(plant.external_effort(), J.T @ force, atol=1e-7)
    outside = tuple(at - 6e-3 * normal)
    assert not _arm(faults=({**table, "position": outside},)).external_effort().any()
    pulled = {"stiffness": 1.0, "damping": 1e3, "normal": tuple(np.sign(normal @ v) * normal)}
    leaving = tuple(_place(free, link, READY) + 1e-4 * np.array(pulled["normal"]))
    assert not _arm(faults=({**table, **pulled, "position": leaving},)).external_effort().any(), "it does not stick"


@pytest.mark.parametrize(("grip", "most"), [(20.0, 80.0), (2000.0, 15.0)])
def test_a_hand_pulls_the_point_towards_its_own_velocity(grip: float, most: float) -> None:
    link = load_robot("ur5").link_names[-1]
    J, v = _motion(_arm(), link)
    hand = {"type": "hand", "link": link, "point": POINT, "velocity": (0.3, 0.1, -0.2), "grip": grip, "most": most}
    plant = _arm(faults=({**hand, "profile": ((0.0, 0.5), (1.0, 0.5))},))
    force = grip * (np.array([0.15, 0.05, -0.1]) - v)
    force *= min(1.0, most / np.linalg.norm(force))
    np.testing.assert_allclose(plant.external_effort(), J.T @ force, atol=1e-7)


def test_both_engines_move_alike_under_pushes(tmp_path: Path) -> None:
    """A planar arm that falls on a table while a hand drags it; both integrate by RK4."""
    (tmp_path / "arm.urdf").write_text(ARM)
    model = load_model(tmp_path / "arm.urdf")
    link, begin = model.link_names[-1], np.array([0.1, 0.2, 0.1])
    at = tuple(ModelPlant(model, ARM_JOINTS, PERIOD).frame(link, begin)[:3, 3])
    faults = (
        {"type": "hand", "link": link, "velocity": (0.1, 0.0, 0.2), "grip": 30.0},
        {"type": "surface", "link": link, "position": at, "normal": (0.0, 0.0, 1.0), "stiffness": 500.0},
    )
    options, dragged = PlantOptions(faults=faults), PlantOptions(faults=faults[:1])
    ours, theirs = (
        ModelPlant(model, ARM_JOINTS, PERIOD, options),
        MujocoPlant(assembled(ARM), ARM_JOINTS, PERIOD, options),
    )
    without_table = ModelPlant(model, ARM_JOINTS, PERIOD, dragged)
    for plant in (ours, theirs, without_table):
        plant.reset(begin, [0.5, -0.7, 0.3])
        for _ in range(300):
            plant.step(np.zeros(3))
    np.testing.assert_allclose(ours.q, theirs.q, atol=1e-7)
    assert np.abs(ours.q - without_table.q).max() > 0.01


def test_firmware_holds_up_a_load_that_is_not_there() -> None:
    """Its command at rest is less by the weight that a payload of that mass and CoM would add."""
    link = load_robot("ur5").link_names[-1]
    told = _arm(compensated=True, firmware={"load": {"link": link, **LOAD}})
    carries = _arm(compensated=True, payloads=({"link": link, **LOAD},))
    np.testing.assert_allclose(told.holding_effort(), -carries.holding_effort(), atol=1e-12)
    assert np.abs(told.holding_effort()).max() > 1.0


@pytest.mark.parametrize("engine", ["model", "mujoco"])
def test_firmware_that_was_told_another_mounting(engine: str) -> None:
    def hold(**options: Any) -> FloatArray:
        plant: Any = _arm if engine == "model" else _planar
        return np.asarray(plant(**options).holding_effort())

    upright, tilted = hold(), hold(gravity=TILTED)
    wrong = hold(compensated=True, firmware={"gravity": TILTED})
    np.testing.assert_allclose(wrong, upright - tilted, atol=1e-9)


def _planar(**options: Any) -> MujocoPlant:
    compensated = bool(options.pop("compensated", False))
    plant = MujocoPlant(assembled(ARM), ARM_JOINTS, PERIOD, PlantOptions(**options), gravity_compensated=compensated)
    plant.reset([0.1, 0.2, 0.1])
    return plant


def test_firmware_without_compensation_and_a_surface_without_sides_are_refused() -> None:
    with pytest.raises(ScenarioError, match="firmware of a robot that compensates no gravity"):
        _arm(firmware={"gravity": TILTED})
    with pytest.raises(ValidationError, match="a normal of no length"):
        Surface(type="surface", link="a", position=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 0.0))
    with pytest.raises(ValidationError, match="times of a profile that do not rise"):
        Hand(type="hand", link="a", velocity=(1.0, 0.0, 0.0), profile=((0.0, 1.0), (0.0, 2.0)))
