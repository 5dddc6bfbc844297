"""First estimates of a body that is not there, beside an observer; and first efforts, which move nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from evaluation import ROOT, load_robot

from thunder_controllers.host import Controller, Library, Options, RestingLaw, largest_feedback_share
from thunder_controllers.simulation.experiment import run_once
from thunder_controllers.simulation.preparation import build_library, prepare
from thunder_controllers.simulation.scenario import load_scenario
from thunder_dynamics.build import build

LAW = "cartesian_backstepping"

FAR_OFF = np.array([2.5, 0.5, 0.5, 0.5, 0.204, -0.1, -0.1, 0.204, -0.1, 0.204])
"""A last link of 2.5 kg, 0.35 m from its frame, that is not there."""

HOME = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8])


@pytest.fixture(scope="module")
def observed(build_cache: Path) -> Library:
    return Library(build(load_robot("panda"), [(LAW, {"disturbance": "observed"})]) / "libpanda.so")


def test_an_observers_loop_bears_first_estimates_of_a_body_that_is_not_there(observed: Library) -> None:
    """M̂K_o of that body would be five times what the loop bears."""
    margin = RestingLaw(observed, law=LAW, initial_state={"pi_hat": FAR_OFF}).find_fastest()
    assert margin is not None and margin.share < largest_feedback_share(Options())


def test_frozen_estimates_stay_what_they_are(observed: Library) -> None:
    controller, effort = Controller(), np.empty(7)
    controller.configure(observed, law=LAW, initial_state={"pi_hat": FAR_OFF})
    controller.freeze_adaptation(True)
    controller.activate(HOME)
    for k in range(3):
        controller.update(k * 1e-3, HOME, np.zeros(7), 1e-3, effort)
        np.testing.assert_array_equal(np.ravel(controller.state("pi_hat")), FAR_OFF)


@pytest.mark.slow
@pytest.mark.parametrize("disturbance", ["observed", "integral"])
def test_what_is_taken_up_is_not_handed_over_as_well(disturbance: str, tmp_path: Path) -> None:
    """An arm that its motors hold with 2 kg that nobody has told; with a fade of a second it is thrown by 39 mm."""
    tool = {"link": "panda_flange", "mass": 2.0, "com": [0.05, 0.03, 0.06], "inertia": [0.004, 0, 0, 0.004, 0, 0.003]}
    document = {
        "name": "hold",
        "robot": str(ROOT / "config/robots/panda.yaml"),
        "plant": {"urdf": str(ROOT / "urdf/panda.urdf.xacro"), "payloads": [{**tool, "time": 0}], "torque_delay": 2e-3},
        "law": {"name": LAW, "options": {"adaptation": "none", "disturbance": disturbance}},
        "reference": {"type": "hold", "position": [0.45, 0.0, 0.45], "ypr": [0.0, 0.0, np.pi]},
        "start": {"q": [0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0]},
        "duration": 2.0,
        "runs": [{"name": "hold"}],
    }
    (tmp_path / "hold.yaml").write_text(yaml.safe_dump(document))
    scenario = load_scenario(tmp_path / "hold.yaml")
    (run,) = scenario.runs
    trace = run_once(prepare(scenario, run, *build_library(scenario, run)), run)[0]
    assert np.linalg.norm(trace.error[:, :3], axis=1).max() < 6e-3


@pytest.mark.slow
def test_what_is_fed_forward_of_a_payload_does_not_circle(tmp_path: Path) -> None:
    """Filtered together with its parameters, which move as the borne body does, it leaves 0.75 mm at 7 Hz."""
    path = ROOT / "config/scenarios/panda_unknown_tool.yaml"
    document = yaml.safe_load(path.read_text())
    plant = {**document["plant"], "urdf": str(ROOT / "urdf/panda.urdf.xacro")}
    del plant["noise"]
    options = {**document["law"]["options"], "disturbance": "observed", "rotors": "adapted"}
    law = {"name": LAW, "options": options}
    document |= {"robot": str(ROOT / "config/robots/panda.yaml"), "plant": plant, "law": law, "duration": 16.0}
    (tmp_path / "tool.yaml").write_text(yaml.safe_dump({**document, "runs": [{"name": "tool"}]}))
    scenario = load_scenario(tmp_path / "tool.yaml")
    (run,) = scenario.runs
    trace = run_once(prepare(scenario, run, *build_library(scenario, run)), run)[0]
    late = trace.error[trace.t > 10.0, :3]
    assert np.sqrt((late**2).sum(axis=1).mean()) < 3e-4  # 1.6e-4
