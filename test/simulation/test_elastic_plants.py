"""Arms whose motors sit behind springs: energy, the equations by themselves, MuJoCo, rigid limits, sensors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot
from plant_arms import assembled, urdf_of
from scipy.integrate import solve_ivp

from thunder_controllers.host import Library
from thunder_controllers.simulation.options import Friction, Noise, Payload, PlantOptions
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_controllers.simulation.plants.plant import Plant
from thunder_controllers.simulation.plants.springs import FINEST_WAVE, Odd
from thunder_dynamics.build import build
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.joints import Elasticity
from thunder_dynamics.model import RobotModel

FloatArray = np.ndarray
PERIOD = 1e-3
HOME = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8])
LOAD = Payload(link="panda_link7", mass=1.0, com=(0.0, 0.0, 0.1), inertia=(0.01, 0.0, 0.0, 0.01, 0.0, 0.01))


def with_springs(model: RobotModel, joints: dict[int, Elasticity]) -> RobotModel:
    """The arm with these joints elastic, without friction and run-time parameters."""
    links = [
        replace(x, friction=(), coulomb=0.0, joint=replace(x.joint, elastic=joints.get(i), rotor_inertia=None))
        for i, x in enumerate(model.links)
    ]
    return replace(model, links=tuple(links), symbolic={})


def plant_of(model: RobotModel, **options: Any) -> ModelPlant:
    return ModelPlant(model, model.joint_names, PERIOD, PlantOptions(**options))


def mujoco_of(model: RobotModel, **options: Any) -> MujocoPlant:
    elastic = {link.joint.name: link.joint.elastic for link in model.links if link.joint.elastic}
    rotors, given = np.nan_to_num(model.drive_inertias), PlantOptions(**options)
    return MujocoPlant(assembled(urdf_of(model)), model.joint_names, PERIOD, given, rotors=rotors, elastic=elastic)


def states(plant: Plant) -> FloatArray:
    """True q, q̇, x, ẋ, (4, n)."""
    q, qd = np.zeros((2, plant.n))
    plant.measure(q, qd)
    return np.array([q, qd, plant.motor_position, plant.motor_velocity])


def test_an_odd_polynomial_is_inverted_to_rounding_and_has_its_slope_and_energy() -> None:
    spring = Odd(np.array([[120.0, 1e4], [15.0, 0.0], [0.0, 1e9]]), np.array([1.0, 3.0, 5.0]))
    for v in ([0.0, 0.0], [0.3, -0.2], [-4.0, 1e-6]):
        np.testing.assert_allclose(spring.inverse(spring(np.array(v))), v, rtol=1e-13)
    v, h = np.array([0.3, -0.02]), 1e-6
    np.testing.assert_allclose(spring.slope(v), (spring(v + h) - spring(v - h)) / (2 * h), rtol=1e-8)
    slope = (spring.energy(v + [h, 0.0]) - spring.energy(v - [h, 0.0])) / (2 * h)
    assert slope == pytest.approx(spring(v)[0], rel=1e-8)


@pytest.mark.slow
def test_without_damping_a_plucked_arm_keeps_its_energy() -> None:
    """The fastest mode alone loses (ωh)⁶/72 of its energy in a step; h is what the springs of this pose ask for."""
    plant = plant_of(load_robot("panda_elastic"), gravity=(0.0, 0.0, 0.0))
    plant.reset(HOME)
    plant._state_vector[0, plant.n :] += np.random.default_rng(0).uniform(-1e-3, 1e-3, 7)
    first = plant.energy()
    for _ in range(200):
        plant.step(np.zeros(7))
    fewest = FINEST_WAVE / (PERIOD / 6)  # rad/s of the fastest mode; 6 parts of the period
    lost = 0.2 * fewest / FINEST_WAVE * FINEST_WAVE**6 / 72
    assert 0.0 <= 1.0 - plant.energy() / first < lost
    assert lost < 0.013


@pytest.mark.slow
def test_what_motors_give_is_kinetic_and_stored_or_went_into_dampers() -> None:
    """Trapezoids of a power that is smooth over a period: their error is some 1e-5 of what flows."""
    springs = {i: Elasticity((4e3,), (6.0, 0.3), (0.4, 0.1), 0.1) for i in (1, 3, 6)}
    plant = plant_of(with_springs(load_robot("panda"), springs), gravity=(0.0, 0.0, 0.0))
    plant.reset(HOME)
    assert plant.springs is not None
    joints, effort = plant.springs.joints, np.array([4.0, -8.0, 2.0, 6.0, 1.0, -1.0, 0.5])

    def powers() -> tuple[float, float]:
        q, qd, x, xd = states(plant)
        moved = qd.copy()
        moved[joints] = xd[joints]
        rate, own = (xd - qd)[joints], xd[joints]
        return float(effort @ moved), float(plant.springs.damping(rate) @ rate + plant.springs.friction(own) @ own)

    given = lost = 0.0
    for _ in range(300):
        before, energy = np.array(powers()), plant.energy()
        plant.step(effort)
        given, lost = np.array([given, lost]) + 0.5 * PERIOD * (before + powers())
    assert energy > 1.0 and lost > 0.1
    assert plant.energy() == pytest.approx(given - lost, rel=1e-4)


@pytest.mark.slow
def test_it_moves_as_the_equations_of_the_robot_say() -> None:
    """sea2 with all its terms, from its compiled M, C, G, dl, k, d, dm and Mm, by another integrator."""
    model = replace(load_robot("sea2"), symbolic={})
    library = Library(build(model) / "libsea2.so")
    plant, effort = plant_of(model), np.array([3.0, 1.0])
    q, qd = np.array([0.4, -0.3]), np.array([0.5, -1.0])
    plant.reset(q, qd)
    x = float(states(plant)[2, 0])

    def number(name: str, *of: FloatArray) -> float:
        return float(np.ravel(library.evaluate(name, *of))[0])

    def derivative(_t: float, y: FloatArray) -> FloatArray:
        q, x, qd, xd = y[:2], y[2:3], y[3:5], y[5:]
        pull = number("k", q, x) + number("d", qd, xd)
        M, C = (np.reshape(library.evaluate(*of), (2, 2)) for of in (("M", q), ("C", q, qd)))
        rest = C @ qd + np.ravel(library.evaluate("G", q)) + np.ravel(library.evaluate("dl", qd))
        qdd = np.linalg.solve(M, [pull, effort[1]] - rest)
        xdd = (effort[0] - pull - number("dm", xd)) / number("Mm")
        return np.concatenate([qd, xd, qdd, [xdd]])

    start = [*q, x, *qd, qd[0]]
    expected = solve_ivp(derivative, (0.0, 0.3), start, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    for _ in range(300):
        plant.step(effort)
    found = states(plant)
    np.testing.assert_allclose([*found[0], found[2, 0], *found[1], found[3, 0]], expected, atol=1e-8)


ARMS = {
    "all joints": {i: Elasticity((1e4,), (), (), 0.1) for i in range(7)},
    "some, of higher order": {i: Elasticity((2e3, 5e5), (3.0, 0.1), (0.5, 0.2), 0.1 + 0.05 * i) for i in (0, 3, 5)},
}


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"payloads": (LOAD,)}, {"stiffness": 0.5, "rotor_inertia": 0.05}])
@pytest.mark.parametrize("arm", ARMS)
def test_it_moves_as_mujoco_does(arm: str, options: dict[str, Any]) -> None:
    """The same steps of the same method: rounding, some 1e-12 here."""
    model, rng = with_springs(load_robot("panda"), ARMS[arm]), np.random.default_rng(3)
    ours, theirs = plant_of(model, **options), mujoco_of(model, **options)
    for plant in (ours, theirs):
        plant.reset(HOME, np.full(7, 0.2))
    for _ in range(200):
        np.testing.assert_allclose(states(ours), states(theirs), rtol=0, atol=1e-9)
        effort = ours.holding_effort() + rng.uniform(-3.0, 3.0, 7)
        np.testing.assert_allclose(theirs.holding_effort(), ours.holding_effort(), atol=1e-9)
        ours.step(effort)
        theirs.step(effort)


@pytest.mark.slow
def test_links_that_stick_move_as_in_mujoco_and_a_load_that_comes_later_leaves_time_as_it_is() -> None:
    sticking = Friction(viscous=0.5, coulomb=1.0, static=2.0)
    options = {"friction": sticking, "payloads": (LOAD.model_copy(update={"time": 0.05}),)}
    model, rng = with_springs(load_robot("panda"), ARMS["all joints"]), np.random.default_rng(4)
    ours, theirs = plant_of(model, **options), mujoco_of(model, **options)
    for plant in (ours, theirs):
        plant.reset(HOME, np.full(7, 0.05))
    for _ in range(100):
        effort = ours.holding_effort() + rng.uniform(-3.0, 3.0, 7)
        ours.step(effort)
        theirs.step(effort)
    np.testing.assert_allclose(states(ours), states(theirs), rtol=0, atol=1e-8)
    for friction in (sticking, None):
        plant = mujoco_of(model, **{**options, "friction": friction})
        plant.reset(HOME)
        for _ in range(60):
            plant.step(plant.holding_effort())
        assert plant.time == pytest.approx(0.06, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("engine", [plant_of, mujoco_of])
def test_at_rest_springs_hold_the_links_and_loads_that_come_later_swing(engine: Any) -> None:
    plant = engine(load_robot("panda_elastic"), payloads=(LOAD.model_copy(update={"time": 0.05}),))
    plant.reset(HOME)
    held = plant.holding_effort()
    stretch = states(plant)[2] - HOME
    np.testing.assert_allclose(stretch, held / 1e4, atol=1e-12)
    for _ in range(50):
        plant.step(held)
    np.testing.assert_allclose(states(plant)[0], HOME, atol=1e-9)
    for _ in range(50):
        plant.step(held)
    assert np.abs(states(plant)[0] - HOME).max() > 1e-3
    plant.brake()
    q, _, x, _ = states(plant)
    np.testing.assert_allclose(x - q, plant.holding_effort() / 1e4, atol=1e-12)


@pytest.mark.slow
def test_stiff_springs_make_the_rigid_arm_whose_rotors_are_the_motors() -> None:
    """The difference is the stretch, which falls as 1/K."""
    model, differences = load_robot("panda_elastic"), []
    rigid, effort = plant_of(model.with_rigid_joints()), np.array([1.0, 2.0, 1.0, -2.0, 0.5, 0.5, 0.2])
    for stiffness in (10.0, 100.0):
        elastic = plant_of(model, stiffness=stiffness)
        for plant in (rigid, elastic):
            plant.reset(HOME)
            held = plant.holding_effort()
            for _ in range(100):
                plant.step(held + effort)
        differences.append(np.abs(rigid.q - elastic.q).max())
    assert differences[0] < 1e-3 and differences[1] < 0.2 * differences[0]


@pytest.mark.slow
def test_sensors_of_motors_have_noise_of_their_own_and_joints_may_be_seen_there() -> None:
    model = load_robot("panda_elastic")
    noise = Noise(q_std=1e-4, qd_std=1e-2)
    links, motors = (plant_of(model, noise=noise, joint_sensors=where) for where in ("link", "motor"))
    for plant in (links, motors):
        plant.reset(HOME)
    truth = states(plant_of(model))
    q, qd, x, xd = states(links)
    assert np.abs(x - q).max() > 1e-5 and np.abs(np.corrcoef(x - HOME, q - HOME)[0, 1]) < 0.9
    assert truth.shape == (4, 7) and np.abs(xd - qd).min() > 0.0
    seen = states(motors)
    np.testing.assert_array_equal(seen[:2], seen[2:])
    np.testing.assert_array_equal(seen[2], x)


@pytest.mark.slow
def test_the_sensors_of_a_rigid_arm_stand_for_its_motors() -> None:
    plant = plant_of(load_robot("planar3r"), noise=Noise(q_std=1e-4))
    q, qd, x, xd = states(plant)
    np.testing.assert_array_equal((q, qd), (x, xd))


@pytest.mark.parametrize(
    "elastic",
    [
        Elasticity((), (), (), 0.1),
        Elasticity((0.0,), (), (), 0.1),
        Elasticity((1.0,), (-1.0,), (), 0.1),
        Elasticity((1.0,), (), (), 0.0),
    ],
)
@pytest.mark.parametrize("engine", [plant_of, mujoco_of])
def test_springs_that_are_none_are_refused(engine: Any, elastic: Elasticity) -> None:
    model = with_springs(load_robot("planar3r"), {1: elastic})
    with pytest.raises(
        ScenarioError, match="elastic joint joint2: .*; valid: K that begins above 0, no negative coeff"
    ):
        engine(model)


def test_what_mujoco_has_not_is_refused() -> None:
    model = with_springs(load_robot("planar3r"), {1: Elasticity((1.0, 1.0, 1.0), (), (), 0.1)})
    with pytest.raises(ScenarioError, match="joint2: more terms than MuJoCo has; valid: K_order up to 2, D_order and"):
        mujoco_of(model)
    springs = with_springs(load_robot("planar3r"), {1: Elasticity((1.0,), (), (), 0.1)})
    with pytest.raises(
        ScenarioError, match="an effort offset of the elastic joint joint2; valid: none, or engine: model"
    ):
        mujoco_of(springs, offsets=(0.0, 1.0, 0.0))
    assert mujoco_of(springs, friction=Friction(viscous=1.0)).true_friction()[0].tolist() == [1.0, 1.0, 1.0]
