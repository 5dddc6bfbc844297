"""A law that wants more than joint states, in a scenario: what the plant feeds, the file writes, and is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot, robot_file
from observer_law import know_laws
from plant_arms import urdf_of
from scenario_files import written

from thunder_controllers.simulation.experiment import run_once
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_controllers.simulation.preparation import MEASUREMENTS, Setup, build_library, prepare
from thunder_controllers.simulation.trace import Trace
from thunder_dynamics.errors import LawError, ScenarioError

PUSH = np.array([1.0, -0.5, 0.2])
TIP = '<link name="tip"/><joint name="t" type="fixed"><parent link="link3"/><child link="tip"/>'
TIP += '<origin xyz="0.3 0 0"/></joint></robot>'


@pytest.fixture
def setup_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Prepares the planar arm with the observer, holding a place, with further entries of its reference."""
    know_laws(monkeypatch)
    (tmp_path / "arm.urdf").write_text(urdf_of(load_robot("planar3r")).replace("</robot>", TIP))

    def make(**further: Any) -> tuple[Setup, Any]:
        place = {"type": "joint_lissajous", "centre": [0.3, -0.5, 0.4], "amplitude": 0.0, "frequency": 1.0}
        document = {
            "name": "push",
            "robot": str(robot_file("planar3r")),
            "plant": {"urdf": "arm.urdf", "velocity": "exact"},
            "law": {"name": "observer"},
            "reference": {**place, "further": further},
            "start": {"q": [0.3, -0.5, 0.4]},
            "duration": 0.5,
            "runs": [{"name": "hold"}],
        }
        scenario = written(tmp_path, document)
        return prepare(scenario, scenario.runs[0], *build_library(scenario, scenario.runs[0])), scenario.runs[0]

    return make


def test_plant_and_scenario_feed_the_law_and_the_trace_has_its_telemetry(setup_of: Any, tmp_path: Path) -> None:
    setup, run = setup_of(force=[-1.0, 0.5, -0.2])
    setup.plant.data.qfrc_applied[:] = PUSH
    trace, _ = run_once(setup, run)
    columns = {name: trace.telemetry[:, trace.telemetry_names == name] for name in np.unique(trace.telemetry_names)}
    assert {name: values.shape for name, values in columns.items()} == dict.fromkeys(
        ("applied", "measured", "residual"), (500, 3)
    )
    np.testing.assert_array_equal(columns["measured"], np.tile(PUSH, (500, 1)))
    np.testing.assert_array_equal(columns["applied"][1:], trace.effort[:-1])
    np.testing.assert_allclose(columns["residual"][-1], PUSH, atol=0.05)
    np.testing.assert_array_equal(setup.host.reference("force"), -PUSH)
    np.testing.assert_array_equal(trace.telemetry[-1], setup.host.telemetry_vector)
    trace.save(tmp_path / "trace.npz")
    np.testing.assert_array_equal(Trace.load(tmp_path / "trace.npz").telemetry, trace.telemetry)


def test_one_number_stands_for_a_whole_further_entry_and_none_for_its_default(setup_of: Any) -> None:
    assert setup_of(force=2.0)[0].host.reference("force").tolist() == [2.0] * 3
    assert setup_of()[0].host.reference("force").tolist() == [0.0] * 3


@pytest.mark.parametrize("name", ["wrench", "q"])
def test_further_entries_that_the_law_does_not_have_are_refused(setup_of: Any, name: str) -> None:
    message = f"scenario.yaml: reference.further: law observer has no further reference '{name}'; valid: force"
    with pytest.raises(ScenarioError, match=message):
        setup_of(**{name: 0.0})


def test_a_measurement_that_the_plant_does_not_have_is_refused(setup_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = "thunder_controllers.simulation.preparation.MEASUREMENTS"
    monkeypatch.setattr(measured, {"wrench": MEASUREMENTS["external_effort"]})
    message = "scenario.yaml: plant: the law observer needs the measurement 'external_effort'; valid: wrench"
    with pytest.raises(LawError, match=message):
        setup_of()


def test_forces_on_bodies_count_by_their_lever(setup_of: Any) -> None:
    """1 N along z at the centre of mass of the last link, and a torque about y: J^T w by hand."""
    setup, _ = setup_of()
    plant: MujocoPlant = setup.plant
    plant.step(plant.holding_effort())
    plant.data.xfrc_applied[plant.model.body("link3").id] = [0.0, 0.0, 1.0, 0.0, 0.3, 0.0]
    q = np.cumsum(plant.q)
    x = np.array([0.5 * np.cos(q[0]), 0.4 * np.cos(q[1]), 0.15 * np.cos(q[2])])
    lever = np.cumsum(x[::-1])[::-1]  # of each joint, along x
    np.testing.assert_allclose(plant.external_effort(), lever - 0.3, atol=1e-3)
