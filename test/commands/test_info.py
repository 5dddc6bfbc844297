"""`thunder info`: the limits that a controller keeps, and what is missing of them."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from thunder_controllers.commands.info import info
from thunder_controllers.resources import share


def shown(robot: str) -> str:
    result = CliRunner().invoke(info, [robot], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


def test_limits_and_what_stands_for_those_that_are_missing_are_shown() -> None:
    text = shown(str(share("config/robots/planar3r.yaml")))
    row = next(line.split() for line in text.splitlines() if line.strip().startswith("joint1"))
    assert row == ["joint1", "–", "…", "–", "3", "–", "60", "1200"]
    assert "Note: no effort rate limit is given; from zero to the effort limit it takes 0.05 s: joint1, joint2" in text
    assert "Note: no position limits are given" in text


def test_a_robot_that_no_controller_takes_is_named(tmp_path: Path) -> None:
    text = share("config/robots/planar3r.yaml").read_text(encoding="utf-8")
    robot = tmp_path / "weak.yaml"
    robot.write_text(text.replace("effort: [60, 30, 10]", "effort: [60, null, 10]"), encoding="utf-8")
    assert "No controller takes it: robot weak: no effort limit: joint2; valid: thunder.limits.effort" in shown(
        str(robot)
    )
