"""End to end: the compiled Panda in its host against the MuJoCo Panda, and every way a scenario can fail to fit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from command_line import thunder
from scenario_files import document_of, written

from thunder_controllers.commands.run import run as run_command
from thunder_controllers.simulation.experiment import ScenarioResult, run_once, run_scenario
from thunder_controllers.simulation.preparation import Setup, build_library, prepare
from thunder_controllers.simulation.trace import Trace
from thunder_dynamics.errors import ThunderError

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def _document(**changes: Any) -> dict[str, Any]:
    """The demo cut to one second."""
    return document_of(**{"duration": 1.0, **changes})


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> ScenarioResult:
    """The demo's first three seconds."""
    folder = tmp_path_factory.mktemp("demo")
    return run_scenario(written(folder, _document(duration=3.0)), folder / "out")


def _prepare(tmp_path: Path, document: dict[str, Any], run: int = 0) -> Setup:
    scenario = written(tmp_path, document)
    return prepare(scenario, scenario.runs[run], *build_library(scenario, scenario.runs[run]))


def test_adaptation_makes_the_error_small(demo: ScenarioResult) -> None:
    """Over the first three seconds already; the whole demo is thirty."""
    late = [np.linalg.norm(run.trace.error[-500:], axis=1).mean() for run in demo.runs]
    assert late[1] < 0.1 * late[0]
    mass = demo.runs[1].metrics["estimates"]["panda_link7"]
    assert mass["initial"]["mass"] == pytest.approx(2.5 - 0.735522, abs=1e-9)
    assert mass["final"]["mass"] < 0.1


def test_it_starts_on_the_path_keeps_limits_and_no_guard_distrusts_the_measurements(demo: ScenarioResult) -> None:
    for run in demo.runs:
        np.testing.assert_allclose(run.trace.error[0], 0.0, atol=1e-8)
        assert run.metrics["limits_kept"] is True
        assert run.metrics["effort_rate_limit"] == [1000.0] * 7
        for guard in ("measurement_non_finite", "measurement_stale", "time_step_invalid", "result_non_finite"):
            assert run.metrics["guards"][guard] == 0


def test_estimates_stay_without_adaptation(demo: ScenarioResult) -> None:
    frozen, adapted = (run.trace.estimates for run in demo.runs)
    np.testing.assert_array_equal(frozen, np.broadcast_to(frozen[0], frozen.shape))
    assert np.abs(adapted - adapted[0]).max() > 0.1
    assert demo.runs[0].metrics["guards"]["adaptation_frozen"] == 3000


def test_files_are_written_and_agree(demo: ScenarioResult) -> None:
    names = sorted(path.name for path in demo.folder.iterdir())
    expected = [f"{run}{kind}.npz" for run in ("adaptation", "no_adaptation") for kind in ("", "_frames", "_timing")]
    assert names == sorted([*expected, "adaptation_estimates.yaml", "metrics.json", "scenario.yaml"])
    metrics = json.loads((demo.folder / "metrics.json").read_text())
    assert metrics == json.loads(json.dumps(demo.metrics))
    ratio = metrics["runs"]["no_adaptation"]["final_error_norm"] / metrics["runs"]["adaptation"]["final_error_norm"]
    assert metrics["final_error_ratio"] == pytest.approx(ratio, rel=1e-12)
    assert metrics["runs"]["adaptation"]["control_step_us"]["median"] > 0.0
    trace = Trace.load(demo.folder / "adaptation.npz")
    np.testing.assert_array_equal(trace.q, demo.runs[1].trace.q)


def test_a_run_starts_from_what_another_has_learned(demo: ScenarioResult, tmp_path: Path) -> None:
    learned = demo.runs[1].trace.estimates[-1]
    law = {"initial_estimates": {}, "estimates_file": str(demo.folder / "adaptation_estimates.yaml")}
    setup = _prepare(tmp_path, _document(law=law))
    entry = next(entry for entry in setup.library.law(setup.host.law).state if entry.name == "pi_hat")
    start = setup.host.state_vector[entry.offset : entry.offset + entry.size]
    np.testing.assert_array_equal(start, learned.ravel())  # the file has all digits of a double
    (tmp_path / "wrong.yaml").write_text(Path(law["estimates_file"]).read_text() + "friction_hat: [0.0]\n")
    with pytest.raises(ThunderError, match="wrong.yaml: unknown key 'friction_hat'"):
        _prepare(tmp_path, _document(law={**law, "estimates_file": "wrong.yaml"}))


def test_recorded_efforts_replay_the_motion(demo: ScenarioResult, tmp_path: Path) -> None:
    """The trace says what happened: the plant under its efforts goes through its positions, bit for bit."""
    trace = demo.runs[1].trace
    plant = _prepare(tmp_path, _document()).plant
    plant.reset(trace.q[0], trace.qd[0])
    for k in range(500):
        np.testing.assert_array_equal(plant.q, trace.q[k])
        plant.step(trace.effort[k])


def test_same_seed_same_trace_bit_for_bit(tmp_path: Path) -> None:
    faults = [{"type": "effort_noise", "share": 0.05}, {"type": "repeated_samples", "probability": 0.1}]
    noisy = {"noise": {"q_std": 1e-5, "qd_std": 1e-3}, "faults": faults}
    document = _document(duration=0.3, runs=[{"name": "adaptation"}], plant=noisy)
    files = []
    for seed in (3, 3, 4):
        folder = tmp_path / str(len(files))
        run_scenario(written(tmp_path, {**document, "seed": seed}), folder)
        files.append((folder / "adaptation.npz").read_bytes())
    assert files[0] == files[1] != files[2]


def test_plant_and_library_have_the_same_dynamics(tmp_path: Path) -> None:
    """YAML → compiled library against xacro → MuJoCo: M and G to 1e-9, link inertias of both."""
    setup = _prepare(tmp_path, _document())
    rng = np.random.default_rng(0)
    lower, upper = setup.library.position_lower, setup.library.position_upper
    for q in rng.uniform(lower, upper, (10, 7)):
        setup.plant.reset(q)
        G = np.ravel(setup.library.evaluate("G", q))
        np.testing.assert_allclose(setup.plant.holding_effort(), G, rtol=1e-9, atol=1e-9 * np.abs(G).max())
        mujoco.mj_forward(setup.plant.model, setup.plant.data)
        M = np.zeros((7, 7))
        for column, unit in zip(M, np.eye(7), strict=True):
            mujoco.mj_mulM(setup.plant.model, setup.plant.data, column, unit)
        expected = setup.library.evaluate("M", q)
        np.testing.assert_allclose(M, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    pi = np.reshape(setup.library.pi, (7, 10))
    for link, expected in zip(setup.library.link_names, pi, strict=True):
        np.testing.assert_allclose(setup.plant.true_inertia(link).pi, expected, atol=1e-9)


def test_a_compensating_robot_tracks_alike(tmp_path: Path) -> None:
    """Effort without gravity to a robot that adds it itself moves the arm as full effort to one that does not."""
    motions = []
    for compensated in (False, True):
        document = _document(duration=0.5, host={"gravity_compensated_by_robot": compensated})
        scenario = written(tmp_path, document)
        setup = _prepare(tmp_path, document, run=1)
        motions.append(run_once(setup, scenario.runs[1])[0])
    # The limits cut the commands at the start, which are not the same; and so are the first estimates.
    np.testing.assert_allclose(motions[1].position, motions[0].position, atol=2e-3)
    assert np.abs(motions[1].effort[-1] - motions[0].effort[-1]).max() > 5.0


def test_a_payload_while_running_changes_the_truth(tmp_path: Path) -> None:
    payload = {"link": "panda_flange", "mass": 1.5, "com": [0.05, 0.03, 0.06], "time": 0.1}
    document = _document(duration=0.2, plant={"payloads": [payload]})
    scenario = written(tmp_path, document)
    trace, _ = run_once(_prepare(tmp_path, document), scenario.runs[0])
    np.testing.assert_allclose(trace.truth_time, [0.0, 0.1], atol=1e-12)
    assert trace.truth[1, 0, 0] - trace.truth[0, 0, 0] == pytest.approx(1.5, rel=1e-9)


def test_start_velocity_can_be_that_of_the_reference(tmp_path: Path) -> None:
    document = _document()
    document["start"]["velocity"] = "reference"
    setup = _prepare(tmp_path, document)
    before, after = (setup.plant.pose(setup.plant.q + k * 1e-6 * setup.plant.qd)[0] for k in (-1, 1))
    np.testing.assert_allclose((after - before) / 2e-6, setup.samples[0, 12:15], atol=1e-6)


def test_a_plant_that_diverges_is_an_error(tmp_path: Path) -> None:
    setup = _prepare(tmp_path, _document())
    setup.plant.data.qvel[:] = np.nan
    with pytest.raises(ThunderError, match=re.escape("run no_adaptation: the plant diverged before t = 0.02 s")):
        run_once(setup, written(tmp_path, _document()).runs[0])


def test_progress_is_reported_to_the_end(tmp_path: Path) -> None:
    calls: list[tuple[str, float]] = []
    scenario = written(tmp_path, _document(duration=0.1))
    run_scenario(scenario, tmp_path / "out", lambda *call: calls.append(call))
    assert calls[-1] == ("adaptation", 1.0)
    fractions = [fraction for name, fraction in calls if name == "no_adaptation"]
    assert fractions == sorted(fractions) and len(fractions) == 50


MISFITS: dict[str, tuple[dict[str, Any], str]] = {
    "too few joints": ({"start": {"q": [0.0]}}, "start.q: 1 joint positions; valid: 7"),
    "guess beyond a limit": (
        {"start": {"q": [3.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0]}},
        "start.q: panda_joint1 at 3 (-2.897 to 2.897): beyond joint limits",
    ),
    "start beyond a limit": (
        {"start": {"q": [0.0, -0.4, 0.0, 0.1, 0.0, 1.8, 4.0], "on_reference": False}},
        "start.q: panda_joint4 at 0.1 (-3.072 to -0.0698), panda_joint7 at 4 (-2.897 to 2.897): beyond joint limits",
    ),
    "start too heavy to hold": (
        {"host": {"effort_limit": 10.0}},
        "activate: held_effort: joint panda_joint4 needs an effort of 18.",
    ),
    "unreachable": (
        {"reference": {"type": "hold", "position": [0.9, 0.0, 0.5]}},
        "start: the pose at the start cannot be reached (off by",
    ),
    "far out of reach": (
        {"reference": {"type": "hold", "position": [2.0, 0.0, 0.5]}},
        "reference: the reference is out of reach at t = 0 s, 2.01 m from the arm's first joint; valid: 0.986 m",
    ),
    "joint reference beyond a limit": (
        {
            "law": {"name": "slotine_li"},
            "reference": {"type": "joint_steps", "steps": [{"time": 0.0, "q": [0.0, 0.0, 0.0, 1.0, 0.0, 1.5, 0.0]}]},
        },
        "reference: the reference has panda_joint4 at position 1 at t = 0 s; valid: -3.0",
    ),
    "joint reference for a Cartesian law": (
        {"reference": {"type": "joint_lissajous", "centre": [0.0] * 7, "amplitude": 0.1, "frequency": 1.0}},
        "a reference of type joint_lissajous with 21 values per sample",
    ),
    "estimate of a link that does not adapt": (
        {"law": {"initial_estimates": {"panda_link3": {"mass": 1.0}}}},
        "law.initial_estimates: link 'panda_link3' is not adapted",
    ),
    "joint reference of another size": (
        {
            "law": {"name": "slotine_li"},
            "reference": {"type": "joint_steps", "steps": [{"time": 0.0, "q": [0.0] * 6}]},
        },
        "reference: a reference of 6 joints; valid: 7",
    ),
    "joint reference beyond a speed": (
        {
            "law": {"name": "slotine_li"},
            "reference": {"type": "joint_lissajous", "centre": [0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0]}
            | {"amplitude": 1.0, "frequency": 2.0},
        },
        "reference: the reference has panda_joint1 at velocity 12.57 at t = 0 s; valid: -2.",
    ),
    "unknown gain": ({"law": {"gains": {"K_q": 1.0}}}, "law.gains: law cartesian_backstepping has no gain 'K_q'"),
    "gain of another size": ({"law": {"gains": {"K_d": [1.0, 2.0]}}}, "law.gains.K_d: 2 values; valid: one, or 7"),
    "gain out of bounds": ({"law": {"gains": {"K_d": -1.0}}}, "K_d"),
    "unknown law": ({"law": {"name": "no_such_law"}}, "no_such_law"),
    "unknown law option": ({"law": {"options": {"links": ["panda_link7"]}}}, "no option 'links'"),
    "limit of wrong length": ({"host": {"effort_limit": [1.0, 2.0]}}, "host.effort_limit: 2 values"),
    "another end effector": (
        {"plant": {"ee_link": "panda_link7"}},
        "plant.ee_link: the plant's end effector 'panda_link7' is at",
    ),
    "another robot's plant": ({"plant": {"xacro_args": {"prefix": "left_"}}}, "the plant's joints are left_joint1"),
}


NEED_A_LIBRARY = {
    "start too heavy to hold",
    "unreachable",
    "gain out of bounds",
    "another end effector",
}


@pytest.mark.parametrize("case", sorted(MISFITS.keys() - NEED_A_LIBRARY))
def test_what_the_scenario_shows_is_refused_before_anything_is_compiled(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))  # nothing is there, so all would be compiled
    changes, message = MISFITS[case]
    scenario = written(tmp_path, _document(**changes))
    with pytest.raises(ThunderError) as caught:
        run_scenario(scenario, tmp_path / "out")
    assert message in str(caught.value)
    assert list((tmp_path / "cache").rglob("*.so")) == []


def test_a_run_that_does_not_fit_is_found_before_another_one_has_run(tmp_path: Path) -> None:
    runs = [{"name": "good"}, {"name": "bad", "overrides": {"start": {"q": [0.0]}}}]
    with pytest.raises(ThunderError, match="run bad: start.q: 1 joint positions"):
        run_scenario(written(tmp_path, _document(runs=runs)), tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    """/proc/self takes no files, from anybody."""
    scenario = written(tmp_path, _document())
    with pytest.raises(ThunderError, match="/proc/self.*the results cannot be written"):
        run_scenario(scenario, Path("/proc/self"))


@pytest.mark.parametrize("case", sorted(NEED_A_LIBRARY))
def test_a_scenario_that_does_not_fit_the_compiled_robot_says_what_would(case: str, tmp_path: Path) -> None:
    changes, message = MISFITS[case]
    with pytest.raises(ThunderError) as caught:
        _prepare(tmp_path, _document(**changes))
    assert message in str(caught.value)


def test_the_hosts_help_can_be_switched_off(tmp_path: Path) -> None:
    host = {"approaches_jumps": False, "approach_patience": None}
    options = _prepare(tmp_path, _document(host=host)).host.options
    assert not options.approaches_jumps and options.approach_patience == np.inf


def test_command_runs_a_scenario_and_says_where_the_report_lies(tmp_path: Path) -> None:
    path = written(tmp_path, _document(duration=0.2)).path
    result = CliRunner().invoke(run_command, [str(path), "--out", str(tmp_path / "out"), "--seed", "5"])
    assert result.exit_code == 0, result.output
    assert "position error, last 0.2 s [mm]" in result.output and "control step" not in result.output
    assert f"report: {tmp_path / 'out' / 'report.html'}" in result.output
    assert re.search(r"^adaptation +\S+ +100%$", result.output, re.MULTILINE)
    assert "\x1b" not in result.output
    assert (tmp_path / "out" / "report.html").stat().st_size > 100_000
    assert json.loads((tmp_path / "out" / "metrics.json").read_text())["runs"]["adaptation"]["seed"] == 5


def test_command_says_once_what_the_host_notices_of_the_gains(tmp_path: Path) -> None:
    host = {"accepts_unstable_gains": True}
    document = document_of("panda_joint_slotine_li", duration=0.05, host=host)
    document["law"]["gains"] = {"K_d": 20.0}
    path = written(tmp_path, document).path
    result = CliRunner().invoke(run_command, [str(path), "--out", str(tmp_path / "out"), "--verbose"])
    assert result.exit_code == 0, result.output
    assert "control step, median" in result.output
    assert len(re.findall(r"^note: .*leaves no margin at 1000 Hz", result.output, re.MULTILINE)) == 1


def test_command_ends_with_1_and_says_when_and_why_an_arm_was_stopped(tmp_path: Path) -> None:
    path = written(tmp_path, _document(duration=0.3, host={"velocity_limit": 0.01}, check_reference=False)).path
    result = CliRunner().invoke(run_command, [str(path), "--out", str(tmp_path / "out")])
    assert result.exit_code == 1, result.output
    runs = json.loads((tmp_path / "out/metrics.json").read_text())["runs"]
    for name in ("no_adaptation", "adaptation"):
        assert runs[name]["fault"]["guard"] == "runaway" and 0.0 < runs[name]["fault"]["time"] < 0.3
        assert f"run {name} failed at t = {runs[name]['fault']['time']:g} s: the arm ran away" in result.output
    assert "runaway at 0." in (tmp_path / "out/report.html").read_text()


def test_command_refuses_a_reference_that_leaves_the_reach_late(tmp_path: Path) -> None:
    """The first samples are within reach; nothing has moved when the rest is found not to be."""
    steps = [{"time": t, "position": [0.45, 0.0, z], "ypr": [0, 0, np.pi]} for t, z in ((0, 0.45), (0.9, 1.6))]
    path = tmp_path / "far.yaml"
    path.write_text(yaml.safe_dump(_document(reference={"type": "steps", "steps": steps})))
    result = thunder("run", path, "--out", tmp_path / "out")
    assert (result.exit_code, list((tmp_path / "out").glob("*.npz"))) == (2, [])
    assert "run no_adaptation: reference: the reference is out of reach at t = 0.9 s, 1.34 m" in result.output


def test_command_ends_with_2_and_one_line_on_an_error(tmp_path: Path) -> None:
    result = thunder("run", tmp_path / "none.yaml")
    assert result.exit_code == 2
    assert result.output.strip().count("\n") == 0
    assert (
        result.output.startswith("thunder: error: ")
        and "no file " in result.output
        and "none.yaml; valid: " in result.output
    )
    path = tmp_path / "misfit.yaml"
    path.write_text(yaml.safe_dump(_document(robot="none.yaml")))
    result = thunder("run", path, "--out", tmp_path / "out")
    assert result.output.count("\n") == 1 and result.output.startswith("thunder: error: ")


@pytest.mark.parametrize(("profile", "delay"), [("stiff", 0.001), ("topics", 0.002), ("topics", 0.003)])
def test_a_profile_bears_its_delay_with_a_wrong_last_link(tmp_path: Path, profile: str, delay: float) -> None:
    document = _document(duration=4.0)
    document["runs"] = [{"name": "adaptation", "adaptation": True}]
    document["plant"]["torque_delay"] = delay
    document["law"]["options"]["profile"] = profile
    (run,) = run_scenario(written(tmp_path, document), tmp_path / "out").runs
    assert run.metrics["guards"]["runaway"] == 0 and run.metrics["guards"]["velocity_exceeded"] == 0
    # At the start the effort comes up from zero; afterwards a loop that is stable has no need of the limit.
    (bit,) = np.flatnonzero(run.trace.guard_names == "effort_rate_limited")
    assert not ((run.trace.guards[500:] >> bit) & 1).any()
    late = np.linalg.norm(run.trace.error[-500:], axis=1)
    assert late.mean() < 0.01 * np.linalg.norm(run.trace.error, axis=1).max()
