"""A sensor beside the arm, and an end effector that is elsewhere than the robot file says, on both engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot, robot_file
from plant_arms import assembled, urdf_of
from pydantic import ValidationError
from scenario_files import document_of, written

from thunder_controllers.simulation.experiment import run_once
from thunder_controllers.simulation.options import PlantOptions, PositionSensor
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_controllers.simulation.plants.plant import Plant
from thunder_controllers.simulation.plants.sensors import PositionSampler
from thunder_controllers.simulation.preparation import prepare

DT = 1e-3
OFFSET = (0.01, -0.02, 0.03)


def told(options: PositionSensor, steps: int, seed: int = 0) -> dict[float, Any]:
    """Samples by the time at which they are told, of a tip that moves along x at 1 m/s."""
    sampler, found = PositionSampler(options, seed), {}
    for k in range(steps):
        now = k * DT
        if (sample := sampler.sample(now, lambda now=now: np.array([now, 0.0, 0.0]))) is not None:
            found[round(now, 6)] = sample
    return found


def test_positions_come_at_the_rate_and_each_a_delay_after_it_was_measured() -> None:
    found = told(PositionSensor(rate=100.0, delay=0.015), 100)
    assert list(found) == pytest.approx(np.arange(0.015, 0.1, 0.01))
    for now, sample in found.items():
        assert sample.time == pytest.approx(now - 0.015)
        assert sample.values.tolist() == pytest.approx([sample.time, 0.0, 0.0])


def test_a_rate_that_no_period_divides_is_kept_on_average() -> None:
    found = told(PositionSensor(rate=300.0), 1000)
    assert len(found) == 300
    assert len(told(PositionSensor(rate=5000.0), 100)) == 100  # one in a period, at most


def test_noise_has_its_deviation_and_its_seed() -> None:
    options = PositionSensor(rate=1000.0, std=2e-3)
    errors = np.array([sample.values - [sample.time, 0.0, 0.0] for sample in told(options, 4000).values()])
    assert np.std(errors, axis=0) == pytest.approx(2e-3, rel=0.05)
    again, other = (next(iter(told(options, 1, seed).values())).values for seed in (0, 1))
    assert again.tolist() == errors[0].tolist() != other.tolist()


def test_it_sees_nothing_from_its_end_on() -> None:
    assert max(told(PositionSensor(rate=100.0, until=0.05), 200)) == pytest.approx(0.04)


@pytest.mark.parametrize(
    "options", [{"rate": 0.0}, {"rate": np.inf}, {"std": -1e-3}, {"delay": -0.1}, {"until": 0.0}, {"hz": 100.0}]
)
def test_what_no_sensor_is_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        PositionSensor(**options)
    with pytest.raises(ValidationError):
        PlantOptions(tool_offset=(0.0, np.nan, 0.0))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["model", "mujoco"])
def test_the_end_effector_is_off_in_its_own_axes_and_the_sensor_sees_it(engine: str) -> None:
    model, plants = load_robot("planar3r", without_rotors=True), []
    for offset in ((0.0, 0.0, 0.0), OFFSET):
        options = PlantOptions(tool_offset=offset, position_sensor=PositionSensor(rate=100.0))
        known: Plant = (
            ModelPlant(model, model.joint_names, DT, options)
            if engine == "model"
            else MujocoPlant(assembled(urdf_of(model)), model.joint_names, DT, options)
        )
        known.reset([0.3, -0.5, 0.4])
        plants.append(known)
    (p, R), (moved, same) = (plant.pose(plant.q) for plant in plants)
    np.testing.assert_allclose(moved - p, R @ np.array(OFFSET), atol=1e-15)
    np.testing.assert_array_equal(same, R)
    sample = plants[1].measured_position()
    assert sample is not None and sample.time == 0.0
    np.testing.assert_array_equal(sample.values, moved)
    plants[1].step(plants[1].holding_effort())
    assert plants[1].measured_position() is None  # until 10 ms have passed
    plants[1].reset([0.3, -0.5, 0.4])
    assert plants[1].measured_position() is not None


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["model", "mujoco"])
def test_a_law_that_adapts_its_tool_follows_with_the_true_one(engine: str, tmp_path: Path) -> None:
    """From 5 cm to below a millimetre; without the sensor it stays where the robot file has it, and says so."""
    plant = {"tool_offset": [0.0, 0.03, 0.04], "position_sensor": {"rate": 100}}
    if engine == "model":
        plant |= {"engine": engine, "urdf": str(robot_file("panda"))}
    document = document_of(
        plant=plant,
        law={"name": "cartesian_backstepping", "options": {"kinematics": "tool"}},
        duration=6.0,
        runs=[{"name": "seen"}, {"name": "unseen", "overrides": {"plant": {"position_sensor": None}}}],
    )
    scenario = written(tmp_path, document)
    ends = {}
    for run in scenario.runs:
        trace, _ = run_once(prepare(scenario, run), run)
        source = trace.telemetry[:, trace.telemetry_names == "ee_source"]
        ends[run.name] = 1e3 * float(np.linalg.norm(trace.error[-1, :3])), float(source[-1, 0])
    assert ends["seen"][0] < 1.0 and ends["seen"][1] == 1.0
    assert ends["unseen"] == (pytest.approx(50.0, abs=2.0), 0.0)
