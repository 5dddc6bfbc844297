"""Files of gains are read as ROS 2 reads them, and written as they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from thunder_controllers.analysis.gain_file import read_gains, write_gains
from thunder_controllers.resources import share
from thunder_dynamics.errors import LawError, RobotFileError


def test_the_gains_of_our_own_files_are_read() -> None:
    assert read_gains(share("config/ros/panda.yaml")) == {"gamma": 0.3}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    gains = {"K_d": [1.5, 2.0], "gamma": 0.3}
    write_gains(tmp_path / "gains.yaml", gains, "Two\nlines.")
    text = (tmp_path / "gains.yaml").read_text(encoding="utf-8")
    assert text.startswith("# Two\n# lines.\n/**/adaptive_controller:\n")
    assert read_gains(tmp_path / "gains.yaml") == gains


@pytest.mark.parametrize(
    "text", ["/**/c: {ros__parameters: {gains.gamma: 2.0}}", "/**/c: {ros__parameters: {gains: {gamma: 2.0}}}"]
)
def test_both_ways_to_name_a_gain_are_read(tmp_path: Path, text: str) -> None:
    file = tmp_path / "gains.yaml"
    file.write_text(text, encoding="utf-8")
    assert read_gains(file) == {"gamma": 2.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: 0.3", "gains.yaml:1: version: no ROS parameters; valid: <node>"),
        ("/**/c: {ros__parameters: 3}", "no ROS parameters"),
        ("/**/c: {ros__parameters: {gains: 5}}", "gains are 5"),
        ("/**/c: {ros__parameters: {robot: panda}}", "no gains"),
        (
            "/**/c: {ros__parameters: {gains: {K_d: {a: 1.0, b: 2.0}}}}",
            "K_d by the names of joints, which a node passes over; valid: lists in the order of the library's joints",
        ),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "gains.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(LawError, match=message.replace("*", r"\*")):
        read_gains(file)


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RobotFileError, match="nothing.yaml"):
        read_gains(tmp_path / "nothing.yaml")
    with pytest.raises(LawError, match="cannot be written: No such file"):
        write_gains(tmp_path / "no_folder" / "gains.yaml", {}, "")
