"""`thunder gains`: margins as tables and JSON, a file of gains that are far enough, and exit statuses."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from evaluation import ROOT, robot_file

from thunder_controllers.analysis.gain_file import read_gains
from thunder_dynamics.cli import main

ARM = (str(robot_file("planar3r")), "--law", "slotine_li", "--poses", "2")
LATE = (*ARM, "--delay", "0.003")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def status(*arguments: str) -> int:
    """Exit status of the command line."""
    with pytest.raises(SystemExit) as caught:
        main(["gains", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


@pytest.fixture
def hard(tmp_path: Path) -> Path:
    """A file of gains that are too high for a late loop."""
    file = tmp_path / "hard.yaml"
    file.write_text("/**/adaptive_controller: {ros__parameters: {gains: {K_d: 30.0, Lambda: 4.0}}}", encoding="utf-8")
    return file


def test_stable_gains_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(*ARM, "--velocity-filter", "200", "--delay", "0.001") == 0
    text = capsys.readouterr().out
    assert [line.split()[:2] for line in text.splitlines() if re.match(r" *\d ", line)] == [
        ["1", "26.4"],
        ["2", "2.82"],
        ["3", "0.746"],
    ]
    assert re.search(r"Stable; the least margin of K_d is [\d.]+\.", text)


@pytest.mark.slow
def test_poses_and_delay_are_those_of_the_host_unless_others_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    documents = []
    for more in ((), ("--delay", "0.002"), ("--seed", "1")):
        assert status(*ARM, *more, "--json") == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert documents[0] == documents[1] != documents[2]


def test_what_is_suggested_has_the_margin(tmp_path: Path, hard: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suggested = tmp_path / "suggested.yaml"
    assert status(*LATE, "--gains", str(hard), "--out", str(suggested)) == 1
    assert "Unstable at 3 of 3 poses" in capsys.readouterr().out
    gains = read_gains(suggested)
    assert gains["Lambda"] == 4.0
    assert len(gains["K_d"]) == 3
    assert status(*LATE, "--gains", str(suggested), "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["stable"]
    assert 2.0 - 5e-3 < result["margin"] < 2.4
    assert result["gains"] == {"K_d": gains["K_d"]}
    assert len(result["poses"]) == 3


def test_gains_that_cannot_be_suggested_are_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, output = tmp_path / "eager.yaml", tmp_path / "suggested.yaml"
    file.write_text("/**/c: {ros__parameters: {gains: {Lambda: 200.0}}}", encoding="utf-8")
    assert status(*ARM, "--delay", "0.02", "--gains", str(file), "--out", str(output)) == 2
    assert "lowering K_d leaves no margin of 2; valid: other gains" in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--delay", "-0.001"], "delay: -0.001 s; valid: 0 to 0.1 s"),
        (["--rate", "0"], "rate: 0 Hz"),
        (["--velocity-filter", "-1"], "velocity filter: -1 Hz"),
        (["--poses", "0"], "0 poses"),
        (["--gain", "D"], "no gain 'D'"),
        (["--gains", "nothing.yaml"], "nothing.yaml"),
        (["--law", "nothing"], "no law 'nothing'"),
    ],
)
def test_wrong_input_is_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(*ARM, *arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("values", ["[1.0, 2.0]", "many", "-1.0", "[1.0, 2.0, {a: 3}]"])
def test_gains_that_the_law_does_not_take_are_one_line(
    tmp_path: Path, values: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gains.yaml"
    file.write_text(f"/**/c: {{ros__parameters: {{gains: {{K_d: {values}}}}}}}", encoding="utf-8")
    assert status(*ARM, "--gains", str(file)) == 2
    error = capsys.readouterr().err
    assert "K_d" in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_the_example_of_the_documentation_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "add-a-robot.md").read_text(encoding="utf-8")
    found = re.search(r"^    thunder gains (.*)$", page, re.MULTILINE)
    assert found is not None
    robot, *arguments = shlex.split(found.group(1))
    monkeypatch.chdir(tmp_path)
    assert status(str(ROOT / robot), *arguments) == 0
    assert status(str(ROOT / robot), *arguments[: arguments.index("--out")], "--gains", "gains.yaml") == 0
