"""The residual of faults against the torque that a motor gives beside the one it is asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from evaluation import load_robot
from laws import packed, unpacked

from thunder_controllers.laws.faults.residual import FaultResidual
from thunder_controllers.simulation.faults.actuator import Bias
from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.law import Law, ReferenceKind, Signals
from thunder_dynamics.model import RobotModel

PERIOD, BANDWIDTH, BIAS = 2e-3, 50.0, 3.0


def arm() -> RobotModel:
    """The planar arm of its file, with viscous friction and rotors."""
    model = load_robot("planar3r")
    links = tuple(replace(link, friction=(0.4,)) for link in model.links)
    return replace(model, links=links).with_rotor_inertias(dict.fromkeys(model.joint_names, 0.05))


def observer(model: RobotModel, known: bool = True) -> Law:
    """A law of which only the residual counts, from θ̂ = 0, which stays as it is where a fault is known."""
    robot = RobotExpressions(model)
    signals = Signals(robot, ReferenceKind.JOINT)
    residual = FaultResidual(robot, signals, ca.SX(known), ca.SX(0))
    return signals.law("observer", "r.", ca.SX.zeros(robot.n), residual.next_state, residual.telemetry)


def moved(law: Law, plant: ModelPlant, gains: np.ndarray, steps: int) -> dict[str, np.ndarray]:
    """Telemetry of a run on sinusoidal efforts, (steps, n) each."""
    state = np.asarray(law.initial(plant.q, plant.qd, gains)).ravel()
    reference, applied = packed(law.reference, {}), plant.holding_effort()
    holding, rows = applied.copy(), []
    for k in range(steps):
        effort = holding - 2.0 * plant.qd + 2.0 * np.sin(4.0 * k * PERIOD)
        _, state, told = law.step(plant.q, plant.qd, applied, [], reference, state, gains, PERIOD)
        state = np.asarray(state).ravel()
        rows.append(unpacked(law.telemetry, np.asarray(told).ravel()))
        applied = effort
        plant.step(effort)
    return {name: np.array([row[name].ravel() for row in rows]) for name in rows[0]}


@pytest.mark.slow
def test_the_residual_is_the_injected_torque_through_its_filters(build_cache: Path) -> None:
    """In one joint alone; what is left is the rest of the momentum, a mean of both ends of a period: below 1 % here."""
    model = arm()
    law, onset = observer(model), 0.5
    fault = Bias(type="bias", joints=(model.joint_names[1],), effort=BIAS, start=onset)
    plant = ModelPlant(model, model.joint_names, PERIOD, PlantOptions(faults=(fault,), velocity="exact"))
    plant.reset(np.array([0.3, 0.9, -0.6]))
    gains = packed(law.gains, {"observer_bandwidth": BANDWIDTH})
    found = moved(law, plant, gains, 500)["fault_residual"]
    decay, steps = np.exp(-BANDWIDTH * PERIOD), np.maximum(np.arange(500) - round(onset / PERIOD), 0)
    expected = BIAS * (1.0 - decay**steps * (1.0 + (1.0 - decay) * steps))
    np.testing.assert_allclose(found[:, [0, 2]], 0.0, atol=0.01 * BIAS)
    np.testing.assert_allclose(found[:, 1], expected, atol=0.01 * BIAS)


def heavier(body: Inertia) -> dict[str, object]:
    """A body of 1.04 times the density, as a scenario says it."""
    inertia = 1.04 * body.inertia_com[np.triu_indices(3)]
    return {"mass": 1.04 * body.mass, "com": tuple(body.com.tolist()), "inertia": tuple(inertia.tolist())}


@pytest.mark.slow
def test_what_errors_of_the_model_make_is_learned_from_what_moves(build_cache: Path) -> None:
    """Bodies twice as far off as they may be by σ_b: not explained at first, then within what is said of it, far below.

    Without noise in the plant; the law takes velocities for noisy, which is what is left of σ.
    """
    model = arm()
    bodies = {name: heavier(link.inertia) for name, link in zip(model.link_names, model.links, strict=True)}
    options = PlantOptions.model_validate({"velocity": "exact", "inertia": bodies})
    gains, found = {"observer_bandwidth": BANDWIDTH, "velocity_noise": 1e-3}, {}
    for known in (True, False):
        plant = ModelPlant(model, model.joint_names, PERIOD, options)
        plant.reset(np.array([0.3, 0.9, -0.6]))
        law = observer(model, known)
        found[known] = moved(law, plant, packed(law.gains, gains), 1000)
    late = slice(750, None)
    unlearned = np.abs(found[True]["fault_residual"][late]).max(axis=0)
    residual, deviation = (np.abs(found[False][f"fault_{name}"][late]) for name in ("residual", "deviation"))
    assert (residual < 3.0 * deviation).all()
    assert (residual.max(axis=0) < 0.1 * unlearned).all() and (deviation.max(axis=0) < 0.2 * unlearned).all()


@pytest.mark.slow
def test_a_body_beside_the_end_effector_is_explained_by_where_it_may_be(build_cache: Path) -> None:
    """A mass at the end effector alone leaves the moment of one that is held beside it."""
    model, found = arm(), {}
    law, held = observer(model, known=False), {"link": model.link_names[-1], "mass": 0.4, "com": (0.2, 0.0, 0.1)}
    options = PlantOptions.model_validate({"velocity": "exact", "payloads": [held]})
    for reach in (0.0, 0.1):
        gains = {"observer_bandwidth": BANDWIDTH, "velocity_noise": 1e-3, "payload_error": 0.2, "payload_reach": reach}
        plant = ModelPlant(model, model.joint_names, PERIOD, options)
        plant.reset(np.array([0.3, 0.9, -0.6]))
        told = moved(law, plant, packed(law.gains, gains), 1000)
        found[reach] = np.abs(told["fault_residual"] / told["fault_deviation"])[250:].max()
    assert found[0.1] < 3.0 < found[0.0]


@pytest.mark.slow
def test_noise_of_velocities_counts_by_its_square() -> None:
    """In σ² beside that of the offset, which is known no better than the limit of effort at first."""
    model = arm()
    law, q, still = observer(model), np.array([0.3, 0.9, -0.6]), np.zeros(3)
    names = ("velocity_noise", "body_error", "rotor_error", "friction_error", "payload_error")

    def variance(size: float) -> np.ndarray:
        vector = packed(law.gains, {**dict.fromkeys(names, 0.0), "velocity_noise": size, "observer_bandwidth": 1e3})
        state = np.asarray(law.initial(q, still, vector)).ravel()
        told = law.step(q, still, still, [], packed(law.reference, {}), state, vector, PERIOD)[2]
        return unpacked(law.telemetry, np.asarray(told).ravel())["fault_deviation"].ravel() ** 2

    base = variance(0.0)
    np.testing.assert_allclose(base, model.limits("effort") ** 2, rtol=1e-12)
    np.testing.assert_allclose(variance(2.0) - base, 4.0 * (variance(1.0) - base), rtol=1e-6)
