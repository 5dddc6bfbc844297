"""A run that a fault ended: all that is said of it is of the time until then; joint, cause and mend are named."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import thunder
from lxml import html
from scenario_files import written

from thunder_controllers import simulate
from thunder_controllers.experiments.experiment import Case
from thunder_controllers.experiments.measures import measure_run
from thunder_controllers.experiments.runner import choose_run, run_case
from thunder_controllers.simulation.experiment import load_results, run_scenario
from thunder_controllers.simulation.scenario import Scenario, merged
from thunder_dynamics.errors import ScenarioError

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("stopped")]  # one worker runs the scenario of the page once

ROBOT = Path(__file__).parents[2] / "config/robots/planar3r.yaml"
STIFF = {"K_d": 100.0}
"""Gains that leave the last rod no margin: 15 times its speed is taken away in each period."""


def _document(**changes: Any) -> dict[str, Any]:
    """Three rods wave about a bent posture, with their own inertias and a calm gain."""
    document = {
        "name": "rods",
        "robot": str(ROBOT),
        "plant": {"engine": "model", "urdf": str(ROBOT)},
        "law": {"name": "slotine_li", "gains": {"K_d": 1.0}},
        "reference": {
            "type": "joint_lissajous",
            "centre": [0.3, 0.6, -0.4],
            "amplitude": 0.2,
            "frequency": 0.25,
            "phase": 1.5708,
        },
        "start": {"q": [0.5, 0.8, -0.2]},
        "duration": 2.0,
        "host": {"accepts_unstable_gains": True},
        "runs": [{"name": "only"}],
    }
    return merged(document, changes)


def _scenario(folder: Path, **changes: Any) -> Scenario:
    return written(folder, _document(**changes))


def _fault(folder: Path, **changes: Any) -> dict[str, Any]:
    fault: dict[str, Any] = run_scenario(_scenario(folder, **changes), folder / "out").runs[0].metrics["fault"]
    return fault


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run that is stopped beside one that is not, and what the command said."""
    folder = tmp_path_factory.mktemp("stopped")
    runs = [{"name": "stiff", "overrides": {"law": {"gains": STIFF}}}, {"name": "soft"}]
    done = thunder("run", _scenario(folder, runs=runs).path, "--out", folder / "out", "--verbose")
    assert done.exit_code == 1, done.output
    return folder / "out", done.output


def test_the_line_names_joint_speed_limit_time_and_a_command_that_shows_the_cause(results: tuple[Path, str]) -> None:
    folder, output = results
    (line,) = [text for text in output.splitlines() if text.startswith("run stiff failed")]
    trace = next(run.trace for run in load_results(folder).runs if run.name == "stiff")
    step, guard = trace.first_fault() or (0, "")
    speed = np.abs(trace.qd_measured[max(step - 500, 0) : step + 1]).max(axis=0)  # the patience of the host
    assert guard == "runaway" and np.argmax(speed) == 2  # the limits are alike
    begins = f"run stiff failed at t = {trace.t[step]:g} s: the arm ran away: joint3 at up to {speed[2]:.3g} rad/s, "
    assert line.startswith(f"{begins}its limit is 3 rad/s (runaway); likely cause: the velocity feedback leaves no ")
    (command,) = re.findall("`thunder (.*)`", line)
    shown = thunder(*shlex.split(command))
    assert shown.exit_code == 1 and "Unstable at 21 of 21 poses" in shown.output
    assert shlex.split(command)[2:] == ["--law", "slotine_li", "--gains", "K_d=100"]


def test_tables_say_that_it_was_stopped_where_a_number_would_be_of_the_end(results: tuple[Path, str]) -> None:
    folder, output = results
    stiff, soft = json.loads((folder / "metrics.json").read_text())["runs"].values()
    page = html.document_fromstring((folder / "report.html").read_bytes())
    rows = page.xpath("(//div[@class='pair']//table)[1]/tbody/tr")
    cells = [[cell.text_content() for cell in row.xpath("td")] for row in rows]
    when = f"stopped at {stiff['fault']['time']:g} s"
    last, largest = (row[1:] for row in cells)
    assert last == [when, f"{1e3 * soft['errors']['revolute joints']['final']:.4g}"]
    assert largest[0] == f"{1e3 * stiff['errors']['revolute joints']['max']:.4g}"
    assert when in output and json.loads((folder / "metrics.json").read_text())["final_error_ratio"] is None
    assert "In run soft the arm follows to" in output


def test_plots_of_a_run_that_was_stopped_end_there(results: tuple[Path, str], tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning, match=r"stopped at t = .*joint3 at up to .*likely cause"):
        result = simulate(
            ROBOT,
            reference=_document()["reference"],
            law="slotine_li",
            duration=2.0,
            gains=STIFF,
            host={"accepts_unstable_gains": True},
            start=[0.5, 0.8, -0.2],
        )
    step, _ = result.trace.first_fault() or (0, "")
    assert result.fault is not None and result.fault in repr(result)
    for name in ("errors", "components", "efforts"):
        curves = [curve for curve in result.plot(name).data if curve.y is not None]
        assert curves and all(len(curve.y) == step + 1 for curve in curves)
        lines = [shape for shape in result.plot(name).layout.shapes if shape.x0 == shape.x1]
        assert lines[0].label.text == "stopped" and {line.x0 for line in lines} == {result.trace.t[step]}
    ends = [bar.base[-1] + bar.x[-1] for bar in result.plot("guards").data]
    assert max(ends) == pytest.approx(result.trace.t[step] + 1e-3)
    assert len(result.trace.t) == 2000 and result.plot("replay").frames[-1].name == "59"  # it goes on there


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"plant": {"payloads": [{"link": "link3", "mass": 3.0, "time": 0.5}]}}, "3 kg at link3 that no estimate"),
        ({"plant": {"gravity": [0, 0, -25.0]}}, "the plant's gravity is"),
        (
            {"plant": {"faults": [{"type": "bias", "effort": 60, "start": 0.5, "end": 0.505}]}},
            "the scenario's bias all",
        ),
        ({"plant": {"torque_delay": 0.03}}, "the plant's efforts act 30 periods late"),
    ],
)
def test_what_the_law_was_not_told_is_the_likely_cause(tmp_path: Path, changes: dict[str, Any], cause: str) -> None:
    tight = {"velocity_limit": 0.5, "velocity_stop_ratio": 1.0}
    runs = [{"name": "only", "adaptation": False}]
    fault = _fault(tmp_path, **changes, host=tight, runs=runs, check_reference=False)
    assert fault["guard"] == "runaway" and fault["cause"].startswith(cause)


def test_measurements_that_are_missing_are_a_fault_of_their_own(tmp_path: Path) -> None:
    fault = _fault(tmp_path, plant={"faults": [{"type": "dropout", "joints": ["joint2"], "start": 0.5, "end": 0.9}]})
    assert fault["guard"] == "measurement_lost" and 0.5 < fault["time"] < 0.9
    begun, doubt = "measurements were missing from t = 0.5 s on", "joint joint2 has no position: it is read as nan"
    assert fault["what"] == f"{begun}: {doubt}"
    assert fault["cause"] == "the scenario's dropout joint2, 0.5 s to 0.9 s"


def test_a_joint_beyond_its_range_is_named_with_the_range(tmp_path: Path) -> None:
    limits = "position_lower: [-3, -3, -3]\n    position_upper: [3, 3, 0]\n    velocity:"
    (tmp_path / "arm.yaml").write_text(ROBOT.read_text().replace("velocity:", limits))
    push = {"type": "wrench", "link": "link3", "torque": [0, -40.0, 0], "start": 0.2}
    fault = _fault(tmp_path, robot=str(tmp_path / "arm.yaml"), plant={"faults": [push]}, host={"velocity_limit": 100.0})
    assert fault["guard"] == "position_exceeded"
    assert re.match(r"a joint has left its range: joint3 at [-\d.]+, its range is -3 to 0 rad$", fault["what"])


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # NumPy says it before the run does
def test_a_plant_that_diverges_is_one_error_with_the_likely_cause(tmp_path: Path) -> None:
    patient = {"velocity_limit": 1e6, "velocity_stop_ratio": 1e9, "velocity_limit_patience": 100.0}
    scenario = _scenario(tmp_path, law={"gains": STIFF}, rate=10.0, duration=20.0, host=patient)
    with pytest.raises(ScenarioError, match="the plant diverged before t = .* likely cause: the velocity feedback"):
        run_scenario(scenario, tmp_path / "out")


def test_a_case_of_an_experiment_that_was_stopped_has_no_error(tmp_path: Path) -> None:
    run = choose_run(_scenario(tmp_path, law={"gains": STIFF}), None)
    outcome = run_case(Case("stiff", run.config, 0.5, measure=measure_run))
    assert outcome.ended == "runaway" and 0.0 < outcome.values["stopped"] < 2.0
    assert set(outcome.values) == {"stopped", "peak_speed", "frozen", "rate_limited"}
    assert outcome.why.startswith("the arm ran away: joint3 at up to ")
    assert outcome.values["peak_speed"] > 3.0  # the host's ratio


def test_a_comparison_says_when_and_why_a_run_was_stopped(tmp_path: Path) -> None:
    _scenario(tmp_path)
    out = tmp_path / "out"
    done = thunder("compare", tmp_path / "scenario.yaml", "--gains", "K_d=1,100", "--jobs", 1, "--out", out)
    assert done.exit_code == 1
    assert re.search(r"K_d=100, seed 0: runaway at t = 0\.\d+ s: the arm ran away: joint3 at up to", done.output)
    lines = [line for line in (out / "table.md").read_text().splitlines() if line.startswith("|")]
    head, *rows = [re.split(r" *\| *", line.strip("| ")) for line in lines]
    stiff = dict(zip(head, next(row for row in rows if "K_d=100" in row), strict=True))
    assert (
        stiff["error [m or rad]"] == stiff["largest error [m or rad]"] == "–"
        and 0.0 < float(stiff["stopped at [s]"]) < 2.0
    )
