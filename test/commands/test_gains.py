"""`thunder gains`: margins as tables and JSON, a file of gains that are far enough, and exit statuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import Ended, thunder
from evaluation import robot_file

from thunder_controllers.analysis.gain_file import read_gains
from thunder_controllers.commands.terminal import print_json


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def gains(*arguments: object) -> Ended:
    return thunder("gains", robot_file("planar3r"), "--law", "slotine_li", "--poses", "2", *arguments)


def test_stable_gains_are_shown() -> None:
    ended = gains("--velocity-filter", "200", "--delay", "0.001")
    shown = [line.split()[:2] for line in ended.output.splitlines() if re.match(r" *\d ", line)]
    assert shown == [["1", "26.4"], ["2", "2.82"], ["3", "0.746"]]
    assert ended.exit_code == 0 and re.search(r"Stable; the least margin of K_d is [\d.]+\.", ended.output)


@pytest.mark.slow
def test_poses_and_delay_are_those_of_the_host_unless_others_are_given() -> None:
    documents = [json.loads(gains(*more, "--json").output) for more in ((), ("--delay", "0.002"), ("--seed", "1"))]
    assert documents[0] == documents[1] != documents[2]


@pytest.mark.slow
def test_what_is_suggested_has_the_margin(tmp_path: Path) -> None:
    hard, suggested, late = tmp_path / "hard.yaml", tmp_path / "suggested.yaml", ("--delay", "0.003")
    hard.write_text("/**/adaptive_controller: {ros__parameters: {gains: {K_d: 30.0, Lambda: 4.0}}}", encoding="utf-8")
    ended = gains(*late, "--gains", hard, "--out", suggested)
    assert ended.exit_code == 1 and "Unstable at 3 of 3 poses" in ended.output
    found = read_gains(suggested)
    assert found["Lambda"] == 4.0 and len(found["K_d"]) == 3
    ended = gains(*late, "--gains", suggested, "--json")
    result = json.loads(ended.output)
    assert ended.exit_code == 0 and result["stable"] and 2.0 - 5e-3 < result["margin"] < 2.4
    assert result["gains"] == {"K_d": found["K_d"]}
    assert len(result["poses"]) == 3
    assert min(pose["margin"] for pose in result["poses"]) == result["margin"]


def test_what_is_infinite_is_null_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"margin": np.inf, "gains": {"K_d": np.array([1.0, np.nan])}})
    assert json.loads(capsys.readouterr().out) == {"margin": None, "gains": {"K_d": [1.0, None]}}


def test_gains_that_cannot_be_suggested_are_not_written(tmp_path: Path) -> None:
    output = tmp_path / "suggested.yaml"
    ended = gains("--delay", "0.02", "--gains", "Lambda=200", "--out", output)
    assert ended.exit_code == 2 and "lowering K_d leaves no margin of 2; valid: other gains" in ended.output
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
        (["--gains", "K_d=1+2"], "K_d"),
        (["--gains", "K_d=many"], "K_d"),
        (["--gains", "K_d=-1"], "K_d"),
        (["--law", "nothing"], "no law 'nothing'"),
    ],
)
def test_wrong_input_is_one_line(arguments: list[str], message: str) -> None:
    ended = gains(*arguments)
    assert ended.exit_code == 2 and message in ended.output and ended.output.count("\n") == 1
