"""`simulate`: the engine of scenarios, from Python."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from described_arms import chain, joint, link, robot
from numpy.typing import NDArray
from scenario_files import document_of, written

from thunder_controllers import Result, simulate
from thunder_controllers.references.trajectories import Hold
from thunder_controllers.simulation.experiment import run_scenario
from thunder_dynamics.errors import ScenarioError, ThunderError
from thunder_dynamics.readers import load_model

ROOT = Path(__file__).parents[2]
PANDA = ROOT / "config/robots/panda.yaml"
URDF = ROOT / "urdf/panda.urdf.xacro"
PLANAR = ROOT / "config/robots/planar3r.yaml"
BENT = np.array([0.3, 0.6, -0.4])

pytestmark = pytest.mark.slow


def _wave(t: float) -> NDArray[np.float64]:
    return BENT + 0.2 * np.sin(t) ** 3


def _planar(**changes: Any) -> Result:
    arguments: dict[str, Any] = {"law": "slotine_li", "reference": _wave, "duration": 0.5}
    return simulate(PLANAR, **{**arguments, **changes})


def test_it_is_the_run_of_the_scenario_bit_for_bit(tmp_path: Path) -> None:
    document = document_of(duration=0.3)
    scenario = run_scenario(written(tmp_path, document), tmp_path / "out").runs[1]
    law = document["law"]
    result = simulate(
        PANDA,
        reference=document["reference"],
        duration=0.3,
        law=law["name"],
        options=law["options"],
        gains=law.get("gains"),
        initial_estimates=law["initial_estimates"],
        start=document["start"],
        plant=document["plant"],
        host=document.get("host"),
    )
    for name in ("q", "effort", "estimates", "error"):
        np.testing.assert_array_equal(getattr(result.trace, name), getattr(scenario.trace, name))
    assert result.metrics["final_error_norm"] == scenario.metrics["final_error_norm"]


def test_a_yaml_arm_moves_by_its_own_equations_and_carries_what_the_law_does_not_know() -> None:
    free, loaded = _planar(), _planar(payload={"mass": 0.5, "com": [0.1, 0.0, 0.0]})
    assert free.config.plant.engine == "model"
    assert free.config.plant.gravity == load_model(PLANAR).gravity
    assert free.metrics["final_error_norm"] < 0.2 * loaded.metrics["final_error_norm"]
    assert loaded.config.plant.payloads[0].link == load_model(PLANAR).link_names[-1]


def test_a_reference_may_be_a_function_arrays_a_file_or_an_object(tmp_path: Path) -> None:
    """All of them are the same motion, so the arm moves alike."""

    class Wave:
        def sample(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
            sine, cosine = np.sin(t)[:, None], np.cos(t)[:, None]
            q, qd = BENT + 0.2 * sine**3, np.full(3, 0.6) * sine**2 * cosine
            return np.hstack([q, qd, np.full(3, 0.6) * (2.0 * sine * cosine**2 - sine**3)])

    t = np.linspace(0.0, 0.5, 501)
    q = np.array([_wave(time) for time in t])
    rows = "\n".join(",".join(map(repr, map(float, row))) for row in np.column_stack([t, q]))
    (tmp_path / "wave.csv").write_text(f"t,q1,q2,q3\n{rows}\n")
    moved = [_planar(reference=one) for one in (Wave(), _wave, (t, q), tmp_path / "wave.csv")]
    for other in moved[1:]:
        np.testing.assert_allclose(other.trace.q, moved[0].trace.q, atol=1e-9)


def test_one_ee_link_is_that_of_controller_and_plant() -> None:
    hold = Hold(position=(0.45, 0.0, 0.5), ypr=(0.0, 0.0, np.pi))
    result = simulate(URDF, reference=hold, duration=0.02, ee_link="panda_flange", law="cartesian_impedance")
    assert np.abs(result.trace.error).max() < 1e-3
    assert result.config.plant.engine is None and result.config.reference == hold
    assert "plant_engine" not in {note.code for note in result.notes}


def test_an_arm_with_a_massless_link_that_mujoco_refuses_moves_by_its_own_equations(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    last = joint("last", "arm2", "hand", axis="0 1 0")
    file.write_text(
        robot([link("base"), *chain("arm", "base", 2), link("hand"), last]).replace(
            link("arm2"), link("arm2", massless=True)
        )
    )
    result = simulate(file, reference=_wave, duration=0.05, law="computed_torque", start=BENT)
    assert result.fault is None and np.abs(result.trace.error).max() < 1e-3
    assert "plant_engine" in {note.code for note in result.notes}
    with pytest.raises(ScenarioError, match="arm2.*; valid: a body with mass and inertia, or engine: model"):
        simulate(file, reference=_wave, duration=0.05, plant={"engine": "mujoco"})


def test_a_model_may_be_given_itself() -> None:
    given = simulate(load_model(PLANAR), law="slotine_li", reference=_wave, duration=0.5)
    np.testing.assert_array_equal(given.trace.q, _planar().trace.q)


def test_results_are_drawn_tabled_and_written(tmp_path: Path) -> None:
    result = _planar()
    assert result.fault is None and "slotine_li" in repr(result)
    assert result.plot().data and result.plot("efforts").data and result.plot("replay").frames
    with pytest.raises(ThunderError, match="no plot 'poem'"):
        result.plot("poem")
    page = result.report(tmp_path / "out")
    assert page.name == "report.html"
    metrics = json.loads((tmp_path / "out/metrics.json").read_text())
    assert metrics["runs"]["simulate"]["final_error_norm"] == result.metrics["final_error_norm"]
    frame = pytest.importorskip("pandas") and result.to_pandas()
    assert len(frame) == 500 and frame.index.name == "t"
    joint = load_model(PLANAR).joint_names[1]
    np.testing.assert_array_equal(frame[f"{joint}.true_position"], result.trace.q[:, 1])


def test_a_run_starts_from_what_another_has_learned(tmp_path: Path) -> None:
    """Friction included, whose estimates `initial_estimates` by link could not hold; the file has all digits."""
    first = _planar(options={"adapted_links": ["link3"], "friction": "adapted"}, payload=0.5)
    first.save_estimates(tmp_path / "learned.yaml")
    first.report(tmp_path / "out")
    assert (tmp_path / "out/simulate_estimates.yaml").read_text() == (tmp_path / "learned.yaml").read_text()
    options = dict(first.config.law.options)
    second = _planar(options=options, payload=0.5, initial_estimates=tmp_path / "learned.yaml", adaptation=False)
    np.testing.assert_array_equal(second.trace.state, np.broadcast_to(first.trace.state[-1], second.trace.state.shape))
    with pytest.raises(ThunderError, match=r"again\.yaml: nothing was learned; valid: a run that adapts"):
        second.save_estimates(tmp_path / "again.yaml")


def test_what_is_learned_is_saved_where_only_the_host_has_effort_limits(tmp_path: Path) -> None:
    robot = tmp_path / "free.yaml"
    robot.write_text(PLANAR.read_text(encoding="utf-8").replace("effort: [60, 30, 10]", "effort: [null, null, null]"))
    law: dict[str, Any] = {"law": "slotine_li", "options": {"adapted_links": ["link3"]}}
    host = {"effort_limit": [60, 30, 10]}
    result = simulate(robot, reference=_wave, duration=0.1, host=host, **law)
    result.save_estimates(tmp_path / "learned.yaml")
    assert "link3" in (tmp_path / "learned.yaml").read_text()


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import thunder_controllers, sys; print({'casadi', 'mujoco', 'numpy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"duration": -1.0}, "simulate: duration: -1.0; valid: input should be greater than 0"),
        ({"gains": {"K_d": "stiff"}}, "simulate: law.gains.K_d"),
        ({"gains": {"K_x": 1.0}}, "K_x"),
        ({"law": "slotine"}, "no law 'slotine'"),
        ({"reference": 3}, "simulate: a reference of type int; valid: a mapping with a type"),
        ({"reference": {"type": "circle"}}, "simulate: reference.type: type 'circle'; valid: csv, "),
        ({"reference": "circle.csv"}, "circle.csv; valid: a file of "),
        ({"reference": lambda t: 1 / 0}, "reference: the function of time raises ZeroDivisionError"),
        ({"reference": lambda t: "left"}, "reference: the function of time gives 'left'; valid: joint positions"),
        ({"reference": lambda t: [0.0, 1.0]}, "simulate: reference: a reference of 2 joints; valid: 3"),
        ({"law": "slotine_li:links=all"}, "law slotine_li: no option 'links'"),
        ({"reference": (np.arange(5.0), np.zeros((4, 3)))}, "times of shape (5,) and values of shape (4, 3)"),
        ({"start": [0.0]}, "1 joint positions; valid: 3"),
        ({"plant": {"noise": {"q": 1.0}}}, "simulate: plant.noise.q: unknown key 'q'; valid: q_std"),
    ],
)
def test_a_mistake_is_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ThunderError, match=re.escape(message)) as caught:
        _planar(**changes)
    assert "\n" not in str(caught.value)
