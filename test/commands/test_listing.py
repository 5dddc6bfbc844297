"""`thunder list`: everything that is installed, by the names that other commands take."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import pretend_package
from evaluation import ROOT, robot_file

from thunder_dynamics.build import law_builders
from thunder_dynamics.cli import main
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.readers import load_model


def names(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """First words of the table's rows."""
    main(["list", *arguments])
    lines = capsys.readouterr().out.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("──"))
    return [line.split()[0] for line in lines[start + 1 :] if line.strip()]


def test_laws_robots_and_scenarios_are_all_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert names(capsys, "laws") == sorted(law_builders())
    for what in ("robots", "scenarios"):
        files = sorted((ROOT / "config" / what).glob("*.yaml"))
        assert names(capsys, what) == [file.stem for file in files] != []


def test_a_law_or_robots_that_cannot_be_loaded_are_left_out_with_a_warning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend_package(tmp_path, "[thunder.laws]\nodd = odd.law:odd\n[thunder.robots]\nodd = odd:robots\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for what in ("laws", "robots"):
        main(["list", what])
        written = capsys.readouterr()
        assert "planar3r" in written.out or "slotine_li" in written.out
        assert written.err.startswith("thunder: warning: left out: entry point odd = odd")
        assert written.err.count("\n") == 1


def test_functions_are_those_of_the_robot(capsys: pytest.CaptureFixture[str]) -> None:
    robot = RobotExpressions(load_model(robot_file("rpr")))
    listed = names(capsys, "functions", str(robot_file("rpr")))
    assert listed == [*robot.functions, *robot.functions_on_request]
