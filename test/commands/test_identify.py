"""`thunder identify`, from a simulated run to the estimates that a controller starts from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner, Result
from evaluation import load_robot, robot_file

from thunder_controllers.commands.identify import identify, read_coupling
from thunder_controllers.host import Configuration, ControlSession, Library, Options, read_estimates
from thunder_controllers.identification.motion import UnsoundError
from thunder_controllers.identification.records import read_record
from thunder_controllers.identification.robot_fit import fit_robot
from thunder_controllers.simulation.experiment import run_scenario
from thunder_controllers.simulation.scenario import load_scenario
from thunder_dynamics.build import build
from thunder_dynamics.errors import LawError
from thunder_dynamics.readers import load_model

pytestmark = pytest.mark.slow

ROBOT = str(robot_file("planar3r"))
OPTIONS = {"adapted_links": "all", "friction": "adapted"}
LAW = "slotine_li:adapted_links=all,friction=adapted"
SCENARIO = f"""
name: excited
robot: {ROBOT}
plant:
  engine: model
  urdf: {ROBOT}
  friction: {{viscous: 0.5, coulomb: 0.3}}
  noise: {{q_std: 1.0e-5}}
  faults: [{{type: effort_noise, std: 0.02, share: 0.01}}]
law: {{name: slotine_li, options: {{adapted_links: all, friction: adapted}}}}
reference: {{type: joint_excitation, centre: [0.0, 0.5, 0.5], amplitude: 1.0, frequency: 0.1, harmonics: 5}}
start: {{q: [0.0, 0.5, 0.5]}}
duration: 20
runs: [{{name: run, adaptation: false}}]
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory, build_cache: Path) -> Path:
    """Of an arm that follows its reference with friction that nobody told the law of."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "scenario.yaml").write_text(SCENARIO)
    run_scenario(load_scenario(folder / "scenario.yaml"), folder)
    return folder / "run.npz"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(identify, [ROBOT, *map(str, arguments)], env={"COLUMNS": "200"})


def test_estimates_are_what_a_controller_starts_from(trace: Path, tmp_path: Path) -> None:
    file, plot = tmp_path / "estimates.yaml", tmp_path / "held_out.png"
    result = run(trace, "--law", LAW, "--out", file, "--plot", plot, "--describe", tmp_path / "arm.yaml")
    assert result.exit_code == 0, result.output
    assert "18 base parameters" in result.output and "link3.mcx" in result.output
    assert plot.read_bytes().startswith(b"\x89PNG")
    model = load_robot("planar3r")
    library = Library(build(model, [("slotine_li", OPTIONS)]))
    configuration = Configuration(library)
    estimates = read_estimates(file, configuration)
    session = ControlSession(configuration, Options(), estimates=estimates)
    session.activate([0.0, 0.5, 0.5], np.zeros(3))
    session.update(1, 0.001, np.array([0.0, 0.5, 0.5]), np.zeros(3), 0.001, np.zeros(3))
    state = session.snapshot()
    np.testing.assert_allclose(state.state("friction_hat").ravel(), [0.5] * 3 + [0.3] * 3, atol=0.05)
    pi = state.state("pi_hat").ravel()
    described = load_model(tmp_path / "arm.yaml", drives=tmp_path / "arm.drives.yaml")
    np.testing.assert_allclose(described.pi, pi, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose([link.coulomb for link in described.links], 0.3, atol=0.05)
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 3))
    effort, true = (library.evaluate("Y", q, qd, qdd) @ one for one in (pi, model.pi))
    np.testing.assert_allclose(effort, true, rtol=0.02, atol=0.05)


def test_json_has_what_the_tables_show(trace: Path) -> None:
    result = run(trace, "--json")
    document = json.loads(result.output)
    assert {row["parameter"] for row in document["base"]} >= {"link3.mcx", "link3.Izz"}
    assert all(abs(row["found"] - row["robot_file"]) < 5.0 * row["std"] + 1e-3 for row in document["base"][:9])
    assert set(document["joints"]["joint1"]) == {"viscous", "coulomb", "offset"}
    assert np.array(document["bodies"]["link3"]["pi"]).shape == (10,)
    assert (np.array(document["held_out_bodies"]) < 1.5 * np.array(document["noise"])).all()


def test_late_efforts_are_noted_or_refused(trace: Path, tmp_path: Path) -> None:
    with np.load(trace) as archive:
        arrays = dict(archive)
    for samples, said in ((3, r"late, which was taken out: joint1 by (2\.[5-9]|3\.)"), (20, r"late: by (19|20)\.\d ±")):
        late = np.roll(arrays["effort"], samples, axis=0)
        np.savez(tmp_path / "late.npz", **{**arrays, "effort": late})
        result = run(tmp_path / "late.npz")
        assert re.search(said, f"{result.output}{result.exception}")
        assert isinstance(result.exception, UnsoundError) == (samples == 20)


def test_nothing_is_written_of_what_is_not_sound(trace: Path, tmp_path: Path) -> None:
    with np.load(trace) as archive:
        arrays = dict(archive)
    arrays["effort"] = arrays["effort"] + np.where(arrays["t"][:, None] > 16.0, 5.0, 0.0)
    np.savez(tmp_path / "pushed.npz", **arrays)
    result = run(tmp_path / "pushed.npz", "--law", LAW, "--out", tmp_path / "estimates.yaml")
    assert isinstance(result.exception, UnsoundError)
    assert not (tmp_path / "estimates.yaml").exists()


def test_estimates_need_a_law_that_has_some(trace: Path, tmp_path: Path) -> None:
    for arguments, message in (
        (["--out", tmp_path / "a.yaml"], "--out: estimates are those of a law"),
        (["--law", "pd_plus"], "an adaptive law"),
    ):
        error = run(trace, *arguments).exception
        assert isinstance(error, LawError) and message in str(error)


@pytest.fixture(scope="module")
def trace_with_rotors(tmp_path_factory: pytest.TempPathFactory, build_cache: Path) -> Path:
    folder = tmp_path_factory.mktemp("rotors")
    text = SCENARIO.replace("  noise", "  rotors: [0.4, 0.2, 0.1]\n  noise")
    (folder / "scenario.yaml").write_text(text)
    run_scenario(load_scenario(folder / "scenario.yaml"), folder)
    return folder / "run.npz"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["joint3=joint9:1"], "no joint 'joint9'"),
        (["joint3=joint2"], "no joint ''"),
        (["joint3=joint2:one"], "one"),
        (["joint3"], "NAME=VALUE"),
        (["joint3=joint2:1", "joint2=joint3:1"], "do not turn independently"),
        (["joint3=joint2:1", "joint3=joint2:2"], "--coupled: joint3=joint2 twice; valid: each pair of joints once"),
    ],
)
def test_couplings_that_cannot_be_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(LawError, match=message):
        read_coupling(words, ("joint1", "joint2", "joint3"))


def test_a_coupling_is_what_a_drive_turns_with() -> None:
    A = read_coupling(["joint3=joint2:-0.5"], ("joint1", "joint2", "joint3"))
    np.testing.assert_array_equal(A, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -0.5, 1.0]])
    assert read_coupling([], ("joint1",)) is None


def test_rotors_that_are_found_are_entries_of_the_robot_file(trace_with_rotors: Path, tmp_path: Path) -> None:
    """What is printed, put into the file, is what the arm has; the first rotor is part of Izz of its link."""
    result = run(trace_with_rotors, "--rotors")
    assert result.exit_code == 0, result.output
    printed = yaml.safe_load(result.output[result.output.index("dynamics:") :].split("The motion")[0])
    data = yaml.safe_load(robot_file("planar3r").read_text())
    del data["PI_2"]  # an anchor, which the copy has no more
    for link, entry in printed["dynamics"].items():
        data["dynamics"][link] |= entry
    (tmp_path / "arm.yaml").write_text(yaml.safe_dump(data))
    found = load_model(tmp_path / "arm.yaml").rotor_inertias
    np.testing.assert_allclose(found[1:], [0.2, 0.1], rtol=0.05)


def test_known_rotors_are_not_taken_for_links(trace_with_rotors: Path) -> None:
    """With the rotors in the model the fit leaves the noise alone, without them it does not predict the motion."""
    model = load_robot("planar3r").with_rotor_inertias({"joint1": 0.4, "joint2": 0.2, "joint3": 0.1})
    noise = []
    for known in (model, load_robot("planar3r")):
        library = Library(build(known) / f"lib{known.name}.so")
        record = read_record(trace_with_rotors, library.joint_names, "")
        noise.append(fit_robot(library, record, range(3)).noise)
    assert (noise[0][1:] < 0.5 * noise[1][1:]).all()  # the first rotor acts as Izz of its link
