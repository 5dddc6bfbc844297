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
from thunder_dynamics.law import Law, ReferenceKind, Signals
from thunder_dynamics.model import RobotModel

PERIOD, BANDWIDTH, BIAS = 2e-3, 50.0, 3.0


def arm() -> RobotModel:
    """The planar arm of its file, with viscous friction and rotors."""
    model = load_robot("planar3r")
    links = tuple(replace(link, friction=(0.4,)) for link in model.links)
    return replace(model, links=links).with_rotor_inertias(dict.fromkeys(model.joint_names, 0.05))


def observer(model: RobotModel) -> Law:
    """A law of which only the residual counts, from r̄ = 0, which stays as it is where a fault is known."""
    robot = RobotExpressions(model)
    signals = Signals(robot, ReferenceKind.JOINT)
    residual = FaultResidual(robot, signals, ca.SX(1))
    return signals.law("observer", "r.", ca.SX.zeros(robot.n), residual.next_state, residual.telemetry)


@pytest.mark.slow
def test_the_residual_is_the_injected_torque_through_its_filters(build_cache: Path) -> None:
    """In one joint alone; what is left is the rest of the momentum, a mean of both ends of a period: below 1 % here."""
    model = arm()
    law, onset = observer(model), 0.5
    fault = Bias(type="bias", joints=(model.joint_names[1],), effort=BIAS, start=onset)
    plant = ModelPlant(model, model.joint_names, PERIOD, PlantOptions(faults=(fault,), velocity="exact"))
    plant.reset(np.array([0.3, 0.9, -0.6]))
    gains = packed(law.gains, {"observer_bandwidth": BANDWIDTH})
    state = np.asarray(law.initial(plant.q, plant.qd, gains)).ravel()
    reference, applied = packed(law.reference, {}), plant.holding_effort()
    holding, rows = applied.copy(), []
    for k in range(500):
        effort = holding - 2.0 * plant.qd + 2.0 * np.sin(4.0 * k * PERIOD)
        _, state, told = law.step(plant.q, plant.qd, applied, [], reference, state, gains, PERIOD)
        rows.append(unpacked(law.telemetry, np.asarray(told).ravel())["fault_residual"].ravel())
        applied = effort
        plant.step(effort)
    found = np.array(rows)
    decay, steps = np.exp(-BANDWIDTH * PERIOD), np.maximum(np.arange(500) - round(onset / PERIOD), 0)
    expected = BIAS * (1.0 - decay**steps * (1.0 + (1.0 - decay) * steps))
    np.testing.assert_allclose(found[:, [0, 2]], 0.0, atol=0.01 * BIAS)
    np.testing.assert_allclose(found[:, 1], expected, atol=0.01 * BIAS)


@pytest.mark.slow
def test_what_the_model_may_be_wrong_by_grows_with_what_moves() -> None:
    model = arm()
    law = observer(model)
    gains = dict.fromkeys(("velocity_noise", "body_error", "rotor_error", "friction_error", "payload_error"), 0.0)
    q, still = np.array([0.3, 0.9, -0.6]), np.zeros(3)

    def deviation(qd: np.ndarray, **changed: float) -> np.ndarray:
        vector = packed(law.gains, {**gains, **changed})
        state = np.asarray(law.initial(q, qd, vector)).ravel()
        told = law.step(q, qd, still, [], packed(law.reference, {}), state, vector, PERIOD)[2]
        return unpacked(law.telemetry, np.asarray(told).ravel())["fault_deviation"].ravel()

    assert not deviation(still).any()
    np.testing.assert_allclose(deviation(np.ones(3), friction_error=0.05), 0.05 * 0.4, rtol=1e-12)
    noisy = [deviation(still, velocity_noise=size) for size in (1e-3, 2e-3)]
    np.testing.assert_allclose(noisy[1], 2.0 * noisy[0], rtol=1e-12)
