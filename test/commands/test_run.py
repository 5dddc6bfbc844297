"""`thunder run`: what its options change in a scenario, and what it refuses before anything is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import thunder
from scenario_files import document_of, written

from thunder_controllers.commands.terminal import changed
from thunder_controllers.simulation.scenario import load_scenario
from thunder_dynamics.errors import ScenarioError

NAME = "panda_payload_noise"


def test_options_change_every_run_whatever_its_overrides_are() -> None:
    settings = ["plant.torque_delay=0.002", "plant.noise.q_std=2e-5", "start.q=[0, 0, 0, -1.5, 0, 1.5, 0]"]
    changes = changed({"duration": 2.0, "seed": None}, {"Lambda": 5.0}, settings)
    before, after = load_scenario(NAME), load_scenario(NAME, changes)
    for old, new in zip(before.runs, after.runs, strict=True):
        assert (new.config.duration, new.config.seed) == (2.0, old.config.seed)
        assert new.config.law.gains == {**old.config.law.gains, "Lambda": 5.0}
        assert (new.config.plant.torque_delay, new.config.plant.noise.q_std) == (0.002, 2e-5)
        assert new.config.plant.noise.qd_std == old.config.plant.noise.qd_std
        assert new.config.start.q == (0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0)
    assert after.hash != before.hash and "# duration: 2.0" in after.text
    assert after.text.startswith(before.text.rstrip("\n"))


def test_another_law_has_none_of_the_gains_of_the_first() -> None:
    (run, *_) = load_scenario(NAME, {"law": {"name": "cartesian_impedance", "options": {}}}).runs
    assert run.config.law.gains == {} and run.config.law.name == "cartesian_impedance"
    (run, *_) = load_scenario(NAME, {"law": {"name": "cartesian_backstepping"}}).runs
    assert run.config.law.gains


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["plant.nise=1"], "plant.nise, as changed: unknown key 'nise'.*did you mean noise?"),
        (["duration=-1"], "duration, as changed: "),
        (["law=["], "--set law: "),
        (["law=3", "law.name=pd_plus"], "--set law.name: law is set as a whole too"),
        (["duration"], "'duration' is no option"),
    ],
)
def test_a_change_that_is_none_is_said_with_its_key(settings: list[str], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load_scenario(NAME, changed({}, {}, settings))


def test_what_cannot_be_written_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rosbags.rosbag2", None)
    monkeypatch.setattr("thunder_controllers.view.video.find_spec", lambda name: None)
    file = written(tmp_path, document_of()).path
    for words, extra in ((["--mcap"], "bags"), (["--video", tmp_path / "a.mp4"], "view")):
        ended = thunder("run", file, "--out", tmp_path / "out", *words)
        assert ended.exit_code == 2 and f"pip install 'thunder-controllers[{extra}]'" in ended.output
    assert not (tmp_path / "out").exists()


def test_a_file_in_no_folder_is_said_so() -> None:
    ended = thunder("run", "nowhere/scenario.yaml")
    expected = "thunder: error: no file nowhere/scenario.yaml; valid: a file; there is no folder nowhere\n"
    assert (ended.exit_code, ended.output) == (2, expected)
