"""The plant of the model's own equations: against MuJoCo, against point masses written down by hand, by its order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from plant_arms import ARM, ARM_JOINTS, PENDULUM, assembled

from thunder_controllers.host import Library, RigidArms
from thunder_controllers.resources import share
from thunder_controllers.simulation.experiment import run_scenario
from thunder_controllers.simulation.options import Body, Friction, Noise, Payload, PlantOptions
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_controllers.simulation.plants.plant import Plant
from thunder_controllers.simulation.scenario import load_scenario
from thunder_dynamics.build import build
from thunder_dynamics.errors import DimensionError, NameNotFoundError, ScenarioError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model

FloatArray = NDArray[np.float64]
PERIOD = 1e-3
BOX = Payload(link="l3", mass=1.2, com=(0.05, -0.02, 0.1), inertia=(0.004, 0.0, 0.0, 0.003, 0.0, 0.005))
POINTS = share("config/robots/point_masses5.yaml")

BLOCKS = tuple({"type": "block", "joints": [j], "rate": rate, "end": 0.1} for j, rate in (("j1", 5.0), ("j3", 20.0)))
MOTORS = (
    {"type": "effort_noise", "std": 1.0, "share": 0.05, "joints": ["j1"]},
    {"type": "freeze", "joints": ["j2"], "start": 0.05, "end": 0.1},
    {"type": "loss", "share": 0.5, "joints": ["j3"]},
)
SENSORS = (
    {"type": "dropout", "joints": ["j1"], "probability": 0.2, "start": 0.05},
    {"type": "late_samples", "joints": ["j2"], "steps": 3},
)
STICKING = Friction(
    viscous=0.2, coulomb=(1.0, 1.5, 0.5), static=(2.0, 2.5, 1.0), deflection=(1e-3, 2e-3, 5e-4), load=0.1
)


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> RobotModel:
    """The test arm of three joints, whose model is read from the URDF that MuJoCo gets."""
    path = tmp_path_factory.mktemp("arm") / "arm.urdf"
    path.write_text(ARM)
    return load_model(path)


def _moved(plant: Plant, steps: int = 200) -> FloatArray:
    """Measured states under torques that change every step, one row each."""
    rng = np.random.default_rng(3)
    plant.reset([0.2, -0.3, 0.1], [0.5, 0.3, -0.2])
    states = np.empty((steps, 2, plant.n))
    for state in states:
        plant.measure(*state)
        plant.step(plant.holding_effort() + rng.uniform(-3.0, 3.0, plant.n))
    return states


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"payloads": (BOX,)},
        {"payloads": (BOX.model_copy(update={"time": 0.05}),), "torque_delay": 0.002},
        {"inertia": {"l2": Body(mass=2.0, com=(0.1, 0.0, 0.2), inertia=(0.01, 0.0, 0.0, 0.02, 0.0, 0.02))}},
        {"friction": Friction(viscous=(0.5, 0.3, 2.0)), "gravity": (1.0, 2.0, -3.0)},
        {"torque_delay": 0.0015, "substeps": 2},
        {"torque_lag": (0.005, 0.0, 0.02), "torque_delay": 0.001, "substeps": 2},
        {"drive_gain": (0.9, 1.0, 1.2), "torque_delay": 0.001},
        {"noise": Noise(q_std=1e-3, q_resolution=1e-4), "velocity": "differences"},
        {"payloads": (BOX.model_copy(update={"until": 0.1}),)},
        {"rotor_inertia": (0.1, 0.2, 0.3), "faults": BLOCKS},
        {"rotors": (0.3, 0.0, 0.1), "rotor_inertia": 0.05},
        {"offsets": (3.0, -1.0, 0.5), "payloads": (BOX.model_copy(update={"time": 0.05}),)},
        {"faults": ({"type": "wrench", "link": "l2", "force": (3.0, 5.0, -8.0), "torque": (1.0, 2.0, 3.0)},)},
        {"faults": MOTORS},
        {"faults": SENSORS},
        {"friction": STICKING},
        {"friction": STICKING, "faults": BLOCKS, "payloads": (BOX.model_copy(update={"time": 0.05}),), "substeps": 2},
    ],
    ids=[
        *(
            "plain",
            "payload",
            "late payload and delay",
            "inertia",
            "friction",
            "delay in sub-steps",
            "lag",
            "gain",
            "sensors",
        ),
        *("payload for a while", "rotors and blocks", "rotors", "offsets", "wrench", "motors", "samples"),
        *("stiction", "stiction, blocks and a late payload"),
    ],
)
def test_it_moves_and_measures_as_mujoco_does(arm: RobotModel, options: dict[str, Any]) -> None:
    """Two integrators of order four of one motion differ by their truncation errors, some 1e-12 a step."""
    ours, theirs = (
        ModelPlant(arm, ARM_JOINTS, PERIOD, PlantOptions(**options), seed=4),
        MujocoPlant(assembled(ARM), ARM_JOINTS, PERIOD, PlantOptions(**options), seed=4),
    )
    np.testing.assert_allclose(_moved(ours), _moved(theirs), rtol=0, atol=1e-8)
    assert ours.time == pytest.approx(theirs.time, rel=1e-12) and ours.payload_changes == theirs.payload_changes
    np.testing.assert_allclose(ours.external_effort(), theirs.external_effort(), rtol=0, atol=1e-7)
    for link in ("l1", "l2", "l3"):
        np.testing.assert_allclose(ours.true_inertia(link).pi, theirs.true_inertia(link).pi, atol=1e-12)
    for mine, other in zip(ours.poses(np.eye(3)), theirs.poses(np.eye(3)), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-12)


def test_gravity_compensation_is_of_the_description_and_limits_saturate_the_motors(arm: RobotModel) -> None:
    carries = PlantOptions(payloads=(BOX,))
    ours = ModelPlant(arm, ARM_JOINTS, PERIOD, carries, gravity_compensated=True)
    theirs = MujocoPlant(assembled(ARM), ARM_JOINTS, PERIOD, carries, gravity_compensated=True)
    np.testing.assert_allclose(_moved(ours), _moved(theirs), rtol=0, atol=1e-8)
    assert np.abs(theirs.holding_effort()).max() > 1.0
    for plant in (ours, theirs):
        plant.reset(np.zeros(3))
        for _ in range(20):
            plant.step(np.array([500.0, -500.0, 500.0]))
    np.testing.assert_allclose(ours.qd, theirs.qd, rtol=0, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["model", "mujoco"])
def test_a_drive_with_a_lag_answers_a_step_as_one_of_first_order_does(engine: str, tmp_path: Path) -> None:
    """I q̈ = τ, T dτ/dt = u − τ from rest: q̇ = (u/I)(t − T(1 − e^{−t/T})) at the end of every step, exactly."""
    lag, inertia, effort = 0.005, 0.02 + 1.5 * 0.25, 2.0
    options = PlantOptions(torque_lag=lag, torque_delay=0.002, gravity=(0.0, 0.0, 0.0))
    (tmp_path / "pendulum.urdf").write_text(PENDULUM)
    plant = (
        ModelPlant(load_model(tmp_path / "pendulum.urdf"), ("hinge",), PERIOD, options)
        if engine == "model"
        else MujocoPlant(assembled(PENDULUM), ("hinge",), PERIOD, options)
    )
    plant.reset([0.0])
    for step in range(1, 31):
        plant.step(np.array([effort]))
        t = max(step - 2, 0) * PERIOD
        gone = lag * -np.expm1(-t / lag)
        np.testing.assert_allclose(plant.qd, effort / inertia * (t - gone), rtol=1e-10, atol=1e-15)
        expected = effort / inertia * (0.5 * t**2 - lag * (t - gone))
        np.testing.assert_allclose(plant.q, expected, rtol=0.0, atol=effort / inertia * PERIOD**2 / 12)


@pytest.mark.slow
def test_an_arm_that_is_held_rests_whatever_the_lag(arm: RobotModel) -> None:
    plant = ModelPlant(arm, ARM_JOINTS, PERIOD, PlantOptions(torque_lag=0.01), gravity_compensated=True)
    for qd in (None, [0.5, 0.3, -0.2]):
        plant.reset([0.2, -0.3, 0.1], qd)
        if qd is not None:
            plant.brake()
        for _ in range(20):
            plant.step(plant.effort)
        np.testing.assert_allclose(plant.q, [0.2, -0.3, 0.1], atol=1e-10)


@pytest.mark.slow
def test_rotors_of_the_robot_file_turn_with_the_plant(arm: RobotModel) -> None:
    known = arm.with_rotor_inertias(dict(zip(ARM_JOINTS, (0.4, None, 0.2), strict=True)))
    beyond = PlantOptions(rotor_inertia=0.1)
    ours = ModelPlant(known, ARM_JOINTS, PERIOD, beyond)
    theirs = MujocoPlant(assembled(ARM), ARM_JOINTS, PERIOD, beyond, rotors=known.rotor_inertias)
    told = MujocoPlant(
        assembled(ARM), ARM_JOINTS, PERIOD, PlantOptions(rotors=(0.5, 0.1, 0.3)), rotors=known.rotor_inertias
    )
    moved = _moved(ours)
    np.testing.assert_allclose(moved, _moved(theirs), rtol=0, atol=1e-8)
    np.testing.assert_allclose(moved, _moved(told), rtol=0, atol=1e-8)
    M = RobotExpressions(known).function("M")
    difference = np.asarray(ours.mass_matrix(np.ones(3)) - M(np.ones(3)))
    np.testing.assert_allclose(difference, 0.1 * np.eye(3), atol=1e-12)
    assert np.abs(moved - _moved(ModelPlant(arm, ARM_JOINTS, PERIOD))).max() > 1e-3


@pytest.mark.parametrize("engine", ["model", "mujoco"])
def test_an_offset_shifts_the_effort_that_a_motion_needs(arm: RobotModel, engine: str) -> None:
    """Of every joint that is not at its limit; there the motor saturates, and the offset does not."""
    offset = np.array([3.0, -1.0, 0.5])
    described = replace(
        arm,
        links=tuple(replace(x, effort_offset=float(o)) for x, o in zip(arm.links, offset, strict=True)),
    )
    pulled, free = (
        ModelPlant(model, ARM_JOINTS, PERIOD)
        if engine == "model"
        else MujocoPlant(assembled(ARM), ARM_JOINTS, PERIOD, PlantOptions(offsets=tuple(model.effort_offsets.tolist())))
        for model in (described, arm)
    )
    np.testing.assert_allclose(pulled.holding_effort() - free.holding_effort(), offset, atol=1e-12)
    rng = np.random.default_rng(5)
    for _ in range(100):
        effort = free.holding_effort() + rng.uniform(-3.0, 3.0, 3)
        free.step(effort)
        pulled.step(effort + offset)
    np.testing.assert_allclose(pulled.q, free.q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(pulled.external_effort(), 0.0, atol=1e-12)
    limits, sign = arm.limits("effort"), np.sign(offset)
    free.step(sign * limits - offset)
    pulled.step(sign * (limits + 10.0))
    np.testing.assert_allclose(pulled.qd, free.qd, rtol=0, atol=1e-9)


def _points(q: ca.SX) -> list[ca.SX]:
    """Where the point masses are, from the lengths and rotations of the robot's description alone."""

    def turned(axis: str, angle: ca.SX) -> ca.SX:
        c, s = ca.cos(angle), ca.sin(angle)
        rows = [[c, -s, 0], [s, c, 0], [0, 0, 1]] if axis == "z" else [[c, 0, s], [0, 1, 0], [-s, 0, c]]
        return ca.vertcat(*(ca.horzcat(*row) for row in rows))

    points = [(0, 0.2, 0.5), (0, 0, 0.5), (0, 0, 0.4), (0, 0.15, 0), (0, 0, 0.3)]
    R, origin, found = ca.SX.eye(3), ca.SX.zeros(3), []
    for k, axis in enumerate("zyyzy"):
        R = R @ turned(axis, q[k])
        if 1 <= k <= 3:
            origin = found[k - 1]
        found.append(origin + R @ ca.DM(points[k]))
    return found


@pytest.mark.slow
def test_a_joint_that_friction_holds_creeps_as_slowly_as_friction_says(arm: RobotModel) -> None:
    """F_c tanh(q̇/v_s) = τ: with λ = F_c/(v_s M) = 2e4/s and more, a step of 1 ms is stable in parts alone."""
    plant = ModelPlant(arm, ARM_JOINTS, PERIOD, PlantOptions(friction=Friction(coulomb=20.0), gravity=(0.0, 0.0, 0.0)))
    plant.reset(np.zeros(3))
    pull = np.array([5.0, -2.0, 1.0])
    for _ in range(20):
        plant.step(pull)
    np.testing.assert_allclose(plant.qd, 0.01 * np.arctanh(pull / 20.0), rtol=1e-3)


@pytest.mark.slow
def test_a_load_that_is_nothing_changes_nothing(arm: RobotModel) -> None:
    """Runs with loads are integrated in Python, those without in the lanes of the library."""
    nothing = {"type": "wrench", "link": "l2", "force": (0.0, 0.0, 0.0)}
    rough: dict[str, Any] = {"friction": Friction(viscous=0.5, coulomb=(20.0, 1.0, 0.1)), "offsets": (1.0, 0.5, -0.5)}
    free, loaded = (
        _moved(ModelPlant(arm, ARM_JOINTS, PERIOD, PlantOptions(**rough, substeps=2, faults=faults)))
        for faults in ((), (nothing,))
    )
    np.testing.assert_allclose(loaded, free, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_arms_of_other_shapes_are_refused(arm: RobotModel) -> None:
    plant = ModelPlant(arm, ARM_JOINTS, PERIOD)
    rows, arms = np.zeros((1, 3)), plant._arms
    for bad in (np.zeros(3), np.zeros((2, 3)), np.zeros((1, 4)), np.zeros((1, 6))[:, ::2]):
        with pytest.raises(DimensionError, match="effort: another shape, or rows that are not contiguous"):
            arms.advance(rows, rows.copy(), bad, 1e-3, 1)
        with pytest.raises(DimensionError, match="q: "):
            arms.count_parts(bad, 1e-3)
    with pytest.raises(TypeError):
        arms.advance(rows.tolist(), rows, rows, 1e-3, 1)  # type: ignore[arg-type]
    plain = Library(build(arm) / f"lib{arm.name}.so")
    given = {"rotors": rows, "offsets": rows, "coulomb": rows, "smoothing": 0.01, "longest": 2.0}
    with pytest.raises(NameNotFoundError, match="forward_dynamics"):
        RigidArms(plain, bodies=np.zeros((1, 30)), viscous=[], **given)
    with pytest.raises(DimensionError, match="viscous: "):
        RigidArms(plant._library, bodies=np.zeros((1, 30)), viscous=[np.zeros((2, 3))], **given)


@pytest.mark.slow
def test_the_point_masses_move_as_their_positions_say() -> None:
    """M = Σ m JᵀJ, G = ∂(Σ m g z)/∂q and C q̇ = Ṁ q̇ − ½ ∂(q̇ᵀM q̇)/∂q, by automatic differentiation."""
    q, qd = ca.SX.sym("q", 5), ca.SX.sym("qd", 5)
    points, masses = _points(q), (2.0, 1.0, 1.0, 0.3, 0.7)
    M = sum(m * ca.jacobian(p, q).T @ ca.jacobian(p, q) for m, p in zip(masses, points, strict=True))
    G = ca.gradient(sum(m * 9.81 * p[2] for m, p in zip(masses, points, strict=True)), q)
    momentum = M @ qd
    bias = ca.jacobian(momentum, q) @ qd - 0.5 * ca.gradient(ca.dot(qd, momentum), q)
    expected = ca.Function("expected", [q, qd], [M, bias, G, points[-1]])
    model = load_model(POINTS)
    library = Library(build(model) / "libpoint_masses5.so")
    assert [link.friction for link in model.links] == [(4.0,), (2.0,), (2.0,), (2.0,), (2.0,)]
    rng = np.random.default_rng(0)
    for _ in range(50):
        angles, rates = rng.uniform(-np.pi, np.pi, 5), rng.uniform(-3.0, 3.0, 5)
        M_ours = library.evaluate("M", angles)
        bias_ours = library.evaluate("C", angles, rates) @ rates
        found = (M_ours, bias_ours, library.evaluate("G", angles), library.evaluate("T_0_ee", angles)[:3, 3])
        for mine, other in zip(found, expected(angles, rates), strict=True):
            np.testing.assert_allclose(np.squeeze(mine), np.squeeze(np.array(other)), rtol=1e-10, atol=1e-10)


def _points_plant(period: float, **options: Any) -> ModelPlant:
    model = load_model(POINTS)
    plant = ModelPlant(model, model.joint_names, period, PlantOptions(**options))
    plant.reset([-1.5, 1.0, 1.2, 0.3, 0.5], [0.5, -0.3, 0.2, 0.4, -0.6])
    return plant


@pytest.mark.slow
def test_the_integration_is_of_order_four() -> None:
    """Halving the step divides the error by sixteen."""

    def end(steps: int) -> FloatArray:
        plant = _points_plant(0.4 / steps)
        for _ in range(steps):
            plant.step(np.array([1.0, 2.0, 0.5, -0.2, 0.1]))
        return plant.q

    exact = end(3200)
    coarse, fine = (np.abs(end(steps) - exact).max() for steps in (200, 400))
    assert 12.0 < coarse / fine < 20.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"integrator": "euler"}, "with integrator euler; valid: rk4"),
        ({"contacts": True}, "with contacts; valid: engine: mujoco"),
    ],
)
def test_what_it_cannot_do_is_refused(arm: RobotModel, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        ModelPlant(arm, ARM_JOINTS, PERIOD, PlantOptions(**options))


def test_other_joints_and_links_are_refused(arm: RobotModel) -> None:
    with pytest.raises(ScenarioError, match="with joints j1, j2, j3; valid: j3, j1, j2"):
        ModelPlant(arm, ("j3", "j1", "j2"), PERIOD)
    with pytest.raises(NameNotFoundError, match="no link 'l9'"):
        ModelPlant(arm, ARM_JOINTS, PERIOD, PlantOptions(payloads=(BOX.model_copy(update={"link": "l9"}),)))


@pytest.mark.slow
def test_a_joint_that_moves_no_mass_is_named() -> None:
    """The last point on the axis of its joint, where it has no lever."""
    model = load_model(POINTS)
    links = (*model.links[:-1], replace(model.links[-1], inertia=replace(model.links[-1].inertia, com=np.zeros(3))))
    plant = ModelPlant(replace(model, links=links), model.joint_names, PERIOD)
    with pytest.raises(ScenarioError, match="the mass matrix is singular at q ="):
        plant.step(np.zeros(5))


SCENARIO = f"""
name: points
robot: {POINTS}
plant: {{engine: model, urdf: {POINTS}, velocity: exact, friction: {{viscous: 0.0}}}}
law: {{name: slotine_li, options: {{adapted_links: [link5], adaptation: projected}},
      initial_estimates: {{link5: {{mass: 0.5, com: [0, -0.3, 0]}}}}}}
reference: {{type: joint_lissajous, centre: [0, 0.8, 0.5, 0, 0.5], amplitude: [0.3, 0.2, 0.2, 0.3, 0.4],
            frequency: [0.4, 0.5, 0.6, 0.5, 0.7], phase: [0, 0, 0, 0, 0]}}
start: {{q: [0, 0.8, 0.5, 0, 0.5], velocity: reference}}
duration: 4.0
runs: [{{name: fixed, adaptation: false}}, {{name: adaptive}}]
"""


@pytest.mark.slow
def test_a_scenario_runs_on_it(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    fixed, adaptive = run_scenario(load_scenario(path), tmp_path / "out").runs
    errors = [np.linalg.norm(run.trace.error[-1000:], axis=1).mean() for run in (fixed, adaptive)]
    assert errors[1] < 0.5 * errors[0] < 0.1
