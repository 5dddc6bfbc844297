"""Joints that stick: the LuGre equations by themselves, breakaway, Stribeck's curve, energy, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from plant_arms import ARM, ARM_JOINTS, PENDULUM, assembled
from pydantic import ValidationError
from scipy.integrate import solve_ivp

from thunder_controllers.simulation.model_file import write_model_file
from thunder_controllers.simulation.options import Friction, Payload, PlantOptions
from thunder_controllers.simulation.plants.bristles import Bristles
from thunder_controllers.simulation.plants.fleet import common_options
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_controllers.simulation.plants.plant import Plant
from thunder_dynamics.errors import NameNotFoundError, ScenarioError
from thunder_dynamics.readers.urdf import read_urdf_text

FloatArray = NDArray[np.float64]
PERIOD = 1e-3
FRICTION = {"viscous": 0.3, "coulomb": 1.0, "static": 2.0}
INERTIA = 0.02 + 1.5 * 0.5**2
"""Of PENDULUM about its hinge [kg·m²]."""

WEIGHTLESS = (0.0, 0.0, 0.0)


def mujoco_of(urdf: str, joints: tuple[str, ...], **options: Any) -> MujocoPlant:
    return MujocoPlant(assembled(urdf), joints, PERIOD, PlantOptions(**options))


def model_of(urdf: str, joints: tuple[str, ...], **options: Any) -> ModelPlant:
    return ModelPlant(read_urdf_text(urdf, "arm"), joints, PERIOD, PlantOptions(**options))


engines = pytest.mark.parametrize("engine", [mujoco_of, model_of])


def pendulum(engine: Callable[..., Plant], **options: Any) -> Plant:
    return engine(PENDULUM, ("hinge",), **({"friction": FRICTION, "gravity": WEIGHTLESS} | options))


def lugre(t: float, state: FloatArray, effort: float) -> list[float]:
    """Rates of q, q̇, z of the pendulum without gravity, by the published equations 1 to 5."""
    _, v, z = state
    sigma0, level = 2.0 / 1e-3, 1.0 + np.exp(-((v / 0.1) ** 2))
    sigma1 = 20.0 / (1.0 + 20.0 * abs(v) / level)
    zd = v - sigma0 * abs(v) / level * z
    return [v, (effort - sigma0 * z - sigma1 * zd - 0.3 * v) / INERTIA, zd]


@pytest.mark.slow
@engines
def test_a_joint_that_a_spring_draws_sticks_and_slips_as_the_equations_say(engine: Callable[..., Plant]) -> None:
    """Off by no more than the spring's end moves in a period; it is drawn at v_S, by efforts held for a period."""
    plant, exact = pendulum(engine), np.zeros(3)
    plant.reset([0.0])
    moved, expected = np.empty((2, 2000, 2))
    for k in range(2000):
        moved[k], expected[k] = np.ravel([plant.q, plant.qd]), exact[:2]
        end = 0.1 * k * PERIOD
        plant.step(40.0 * (end - plant.q))
        effort = (40.0 * (end - exact[0]),)
        exact = solve_ivp(lugre, (0.0, PERIOD), exact, "LSODA", args=effort, rtol=1e-9, atol=1e-12).y[:, -1]
    sticks = np.abs(expected[:, 1]) < 1e-2
    assert (np.diff(sticks.astype(int)) == -1).sum() >= 2  # it broke away more than once
    np.testing.assert_allclose(moved[:, 0], expected[:, 0], rtol=0, atol=0.1 * PERIOD)


@pytest.mark.slow
@engines
def test_it_breaks_away_at_the_static_level(engine: Callable[..., Plant]) -> None:
    """Drawn slowly, it yields by F_s/σ0 ln(F_s/(F_s − τ)) before: dz/dq = 1 − τ/F_s."""
    plant = pendulum(engine, friction={"coulomb": 1.0, "static": 2.0})
    plant.reset([0.0])
    for k in range(2000):
        plant.step(np.array([min(k * PERIOD, 1.5)]))
    assert abs(plant.qd[0]) < 1e-4 and plant.q[0] == pytest.approx(1e-3 * np.log(2.0 / 0.5), rel=0.05)
    friction = []
    for k in range(2000):
        effort, before = 1.5 + 0.4 * k * PERIOD, plant.qd[0]
        plant.step(np.array([effort]))
        friction.append(effort - INERTIA * (plant.qd[0] - before) / PERIOD)
    assert 0.98 * 2.0 < max(friction) < 2.0 + 1e-6
    assert plant.qd[0] > 0.1


@pytest.mark.slow
@engines
@pytest.mark.parametrize("speed", [0.02, 0.05, 0.1, -0.2, 1.0, -5.0])
def test_at_a_constant_speed_friction_is_on_stribecks_curve(engine: Callable[..., Plant], speed: float) -> None:
    """A servo of a time constant of 4 ms holds the speed: its effort is the friction."""
    plant = pendulum(engine)
    plant.reset([0.0], [speed])
    effort = 0.0
    for _ in range(1500):
        effort += 0.05 * 100.0 * (speed - plant.qd[0])
        plant.step(np.array([effort + 100.0 * (speed - plant.qd[0])]))
    expected = np.sign(speed) * (1.0 + np.exp(-((speed / 0.1) ** 2))) + 0.3 * speed
    assert plant.qd[0] == pytest.approx(speed, rel=1e-6)
    assert effort == pytest.approx(expected, rel=1e-6)


def bristles(**friction: Any) -> Bristles:
    found = Bristles.of(Friction(**friction), ("a", "b"), "plant")
    assert found is not None
    return found


def test_no_motion_takes_more_out_of_bristles_than_is_in_them_or_exceeds_the_static_level() -> None:
    """F v ≥ d(½ σ0 z²)/dt wherever z can be, at speeds of seven decades."""
    one, rng = bristles(coulomb=(0.2, 1.0), static=(2.0, 1.0)), np.random.default_rng(0)
    for _ in range(2000):
        v = rng.choice([-1.0, 1.0], 2) * 10.0 ** rng.uniform(-5.0, 2.0, 2)
        one.stretch = one.deflection * rng.uniform(-1.0, 1.0, 2)
        F, z = one.effort(np.zeros(2), 0.0, v), one.stretch
        zd = v - one.stiffness * np.abs(v) / one.level(v) * z
        assert (F * v - one.stiffness * z * zd >= -1e-12 * np.abs(F * v)).all()
        assert (np.abs(F) <= one.static * (1.0 + 1e-12)).all()


def test_a_way_stretches_bristles_the_same_in_one_piece_or_many_and_never_beyond_the_deflection() -> None:
    whole, pieces = (bristles(coulomb=1.0, static=2.0) for _ in range(2))
    rng = np.random.default_rng(1)
    for way in rng.normal(size=(200, 2)) * 10.0 ** rng.uniform(-5.0, 1.0, (200, 1)):
        whole.follow(way, 0.01)
        for _ in range(7):
            pieces.follow(way / 7, 0.01 / 7)
        np.testing.assert_allclose(pieces.stretch, whole.stretch, rtol=0, atol=1e-15)
        assert (np.abs(whole.stretch) <= whole.deflection).all()


def test_a_loaded_joint_slides_at_a_level_that_is_a_share_of_its_effort_higher() -> None:
    one, v = bristles(coulomb=1.0, static=2.0, load=(0.1, 0.0)), np.array([0.3, 0.3])
    one.press(np.array([-20.0, -20.0]))
    one.follow(1.0 * v, 1.0)
    level = 1.0 + np.exp(-9.0)
    np.testing.assert_allclose(one.effort(np.zeros(2), 0.0, v), [level + 2.0, level], rtol=1e-12)


@pytest.mark.slow
@engines
def test_a_loaded_joint_holds_more_than_its_static_level(engine: Callable[..., Plant]) -> None:
    """It slips under τ where τ exceeds F_s + 0.2 τ: at 2.5 of F_s = 2."""
    ends = []
    for effort in (2.2, 2.7):
        plant = pendulum(engine, friction={**FRICTION, "load": 0.2})
        plant.reset([0.0])
        for k in range(3000):
            plant.step(np.array([min(effort, 2.0 * k * PERIOD)]))
        ends.append(plant.qd[0])
    assert abs(ends[0]) < 1e-3 and ends[1] > 0.1


@pytest.mark.slow
def test_an_arm_left_alone_loses_what_its_friction_takes() -> None:
    """Trapezoids of F q̇ − σ0 z ż over periods: some per mille of what is lost; and energy never rises."""
    friction = {"viscous": 0.1, "coulomb": 0.5, "static": 0.8, "deflection": 2e-3}
    plant = model_of(ARM, ARM_JOINTS, friction=friction, gravity=WEIGHTLESS)
    plant.reset([0.1, 0.2, 0.1], [1.5, -1.0, 0.5])
    one = plant.bristles
    assert one is not None
    first, power, energy = plant.energy(), [], []
    for _ in range(1000):
        qd, still = plant.qd, np.zeros(3)
        zd = qd - one.stiffness * np.abs(qd) / one.level(qd) * one.stretch
        rubbed = one.effort(still, 0.0, qd) + 0.1 * qd
        power.append(float(rubbed @ qd - (one.stiffness * one.stretch) @ zd))
        energy.append(plant.energy())
        plant.step(still)
    assert (np.diff(energy) <= 1e-9 * first).all() and energy[-1] < 0.01 * first
    assert np.trapezoid(power, dx=PERIOD) == pytest.approx(first - energy[-1], rel=5e-3)


@engines
def test_an_arm_that_is_held_rests_and_the_fastest_stays_finite(engine: Callable[..., Plant]) -> None:
    """A stiffness of 5e4 N·m/rad swings the second link 700 times in 2π s: the plant divides its step."""
    friction = {"coulomb": 50.0, "static": 50.0}
    plant = engine(ARM, ARM_JOINTS, friction=friction)
    plant.reset([0.1, 0.2, 0.1])
    held = plant.holding_effort()
    for _ in range(50):
        plant.step(held)
    np.testing.assert_allclose(plant.q, [0.1, 0.2, 0.1], rtol=0, atol=1e-12)
    for k in range(300):
        plant.step(held + 40.0 * np.sin(0.05 * k))
    assert np.abs(plant.q - [0.1, 0.2, 0.1]).max() < 3e-3
    plant.brake()
    for _ in range(50):
        q = plant.q
        plant.step(plant.holding_effort())
    np.testing.assert_allclose(plant.q, q, rtol=0, atol=1e-9)


@engines
def test_time_goes_on_as_told_and_starts_repeat(engine: Callable[..., Plant]) -> None:
    """However many parts the steps have, with a payload that comes later, too."""
    box = Payload(link="l3", mass=1.2, com=(0.0, 0.0, 0.1), inertia=(0.01, 0.0, 0.0, 0.01, 0.0, 0.01), time=0.02)
    plant = engine(ARM, ARM_JOINTS, friction={"coulomb": 1.0, "static": 50.0}, payloads=(box,), substeps=2)
    ends = []
    for _ in range(2):
        plant.reset([0.1, 0.2, 0.1], [0.5, 0.5, 0.0])
        for _ in range(40):
            plant.step(np.zeros(3))
        ends.append(plant.q)
        assert plant.time == pytest.approx(0.04, rel=1e-9)
    np.testing.assert_array_equal(*ends)
    np.testing.assert_array_equal(plant.true_friction(), [3 * [0.0], 3 * [1.0]])


def test_a_joint_of_no_friction_moves_as_without(tmp_path: Any) -> None:
    smooth, one = mujoco_of(ARM, ARM_JOINTS), mujoco_of(ARM, ARM_JOINTS, friction={"static": 0.0})
    for plant in (smooth, one):
        plant.reset([0.1, 0.2, 0.1])
        for _ in range(20):
            plant.step(np.zeros(3))
    np.testing.assert_array_equal(smooth.q, one.q)
    with pytest.raises(ScenarioError, match="a model file holds no static friction"):
        write_model_file(one, tmp_path / "arm.xml", np.zeros(3))


def test_a_plant_that_sticks_moves_by_itself_and_so_do_its_twins() -> None:
    plant = model_of(ARM, ARM_JOINTS, friction={"coulomb": 1.0, "static": 2.0})
    assert common_options(plant) is None
    plant.reset([0.1, 0.2, 0.1])
    twin = plant.twin(1)
    for _ in range(20):
        plant.step(np.zeros(3))
    assert twin.bristles is not None and not twin.bristles.stretch.any()
    for _ in range(20):
        twin.step(np.zeros(3))
    np.testing.assert_array_equal(twin.q, plant.q)


@pytest.mark.parametrize(
    ("friction", "message"),
    [
        ({"coulomb": 1.0, "static": (2.0, 0.5, 1.0)}, "static friction below Coulomb friction, or without any: j2"),
        ({"coulomb": (1.0, 1.0, 0.0), "static": 2.0}, "without any: j3"),
        ({"static": (1.0, 2.0)}, "2 values"),
        ({"coulomb": 1.0, "static": 2.0, "stribeck_velocity": (0.1, 0.1)}, "2 values"),
    ],
)
def test_levels_that_no_friction_has_are_refused(friction: dict[str, Any], message: str) -> None:
    for engine in (mujoco_of, model_of):
        with pytest.raises(ScenarioError, match=message):
            engine(ARM, ARM_JOINTS, friction=friction)


def test_joints_that_are_not_there_are_refused() -> None:
    with pytest.raises(NameNotFoundError, match="unknown j4"):
        mujoco_of(ARM, ARM_JOINTS, friction={"coulomb": 1.0, "static": {"j1": 1.0, "j2": 1.0, "j4": 1.0}})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"friction": {"coulomb": 1.0, "stribeck_velocity": 0.1}}, "stribeck_velocity of joints that do not stick"),
        ({"friction": {"coulomb": 1.0, "static": 2.0}, "integrator": "euler"}, "static friction with integrator euler"),
        ({"friction": {"coulomb": 1.0, "load": 0.1}}, "load of joints that do not stick"),
        ({"friction": {"static": -1.0}}, "static"),
        ({"friction": {"coulomb": 1.0, "static": 2.0, "deflection": 0.0}}, "deflection"),
        ({"friction": {"coulomb": 1.0, "static": 2.0, "stribeck_velocity": 0.0}}, "stribeck_velocity"),
        ({"friction": {"coulomb": 1.0, "static": float("inf")}}, "static"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PlantOptions(**options)
