"""`thunder info`: tree, frames and parameters; the limits that a controller keeps, and what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import thunder
from evaluation import load_robot

from thunder_controllers.commands.info import info
from thunder_controllers.resources import share
from thunder_dynamics.build import warn_interpreted
from thunder_dynamics.cli import main
from thunder_dynamics.expressions import RobotExpressions


def shown(robot: str, *options: str) -> str:
    result = CliRunner().invoke(info, [robot, *options], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


def test_limits_and_what_stands_for_those_that_are_missing_are_shown() -> None:
    text = shown(str(share("config/robots/planar3r.yaml")))
    row = next(line.split() for line in text.splitlines() if line.strip().startswith("joint1"))
    assert row == ["joint1", "–", "…", "–", "3", "–", "60", "2400"]
    assert "Note: no effort rate limit is given; from zero to the effort limit it takes 0.025 s: joint1, joint2" in text
    assert "Note: no position limits are given" in text


@pytest.mark.slow
def test_joints_on_a_circle_are_shown_as_such() -> None:
    text = shown(str(Path(__file__).parents[1] / "data/gen3.urdf"))
    rows = [line.split() for line in text.splitlines()]
    assert [row[1] for row in rows if row[:1] == ["joint_1"]] == ["circle"]
    assert [row[3] for row in rows if row[2:3] in (["joint_1"], ["joint_2"])] == ["continuous", "revolute"]
    assert "no position limits" not in text


@pytest.mark.slow
def test_a_robot_that_no_controller_takes_is_named(tmp_path: Path) -> None:
    text = share("config/robots/planar3r.yaml").read_text(encoding="utf-8")
    robot = tmp_path / "weak.yaml"
    robot.write_text(text.replace("effort: [60, 30, 10]", "effort: [60, null, 10]"), encoding="utf-8")
    assert "No controller takes it: robot weak: no effort limit: joint2; valid: thunder.limits.effort" in shown(
        str(robot)
    )


def test_a_posture_shows_pose_singular_values_and_distances_to_limits() -> None:
    """Of a Panda, beside NumPy on the compiled-in expressions; joint 4 is 0.03 from its upper limit."""
    text = shown("panda", "--at", "0, -0.4 0 -0.0998 0 1.8 0")
    robot = RobotExpressions(load_robot("panda"))
    q = [0, -0.4, 0, -0.0998, 0, 1.8, 0]
    assert row(text, "position")[2:] == [f"{x:.4g}" for x in np.array(robot.function("T_0_ee")(q))[:3, 3] + 0.0]
    J = np.array(robot.function("J_ee")(q))
    values = np.linalg.svd(J, compute_uv=False)
    assert row(text, "both")[1:] == [f"{x:.4g}" for x in values]
    assert float(row(text, "manipulability,")[-1]) == pytest.approx(np.sqrt(np.linalg.det(J @ J.T)), rel=1e-3)
    assert row(text, "panda_joint4")[1:5] == ["-0.0998", "-3.072", "-0.0698", "0.03"]


def test_without_a_compiler_it_says_so_once_and_shows_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def after_the_hash(text: str) -> list[str]:
        return text[text.index(" joints") :].split()

    whole = shown("planar3r", "--base-parameters")
    monkeypatch.setenv("CC", "no_such_compiler")
    warn_interpreted.cache_clear()
    ended = thunder("info", "planar3r", "--base-parameters")
    assert ended.exit_code == 0 and ended.output.count("warning") == 1
    assert "thunder: warning: no compiler 'no_such_compiler': robots are interpreted" in ended.output
    assert after_the_hash(ended.output) == after_the_hash(whole)


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("0 0", "--at: 2 positions; valid: 7 finite ones: panda_joint1 panda_joint2"),
        ("0 0 0 0 0 0 nan", "--at: 7 positions; valid: 7 finite ones"),
        ("0 0 zero", "--at: 'zero' is no number; valid: a number"),
    ],
)
def test_a_posture_of_another_form_is_refused(at: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["info", "panda", "--at", at])
    assert left.value.code == 2 and message in capsys.readouterr().err


def row(text: str, start: str) -> list[str]:
    return next(line.split() for line in text.splitlines() if line.split()[:1] == [start])


def test_tree_frames_and_parameters_are_those_of_the_file(build_cache: object) -> None:
    text = shown(str(share("config/robots/planar3r.yaml")), "--base-parameters")
    assert row(text, "link2") == ["link2", "link1", "joint2", "revolute", "0", "0", "1", "0.5", "0", "0"]
    assert row(text, "end") == ["end", "effector", "link3", "0.3", "0", "0", "0", "0", "0"]
    assert row(text, "gravity")[2:] == ["world", "0", "0", "-9.81", "–"]
    parameters = text[text.index("parameters ") :]
    assert row(parameters, "link3") == ["link3", "1", "0.15", *"0 0 0.0002 0 0 0.0076 0 0.0076 0 0 unknown".split()]
    assert "9 base parameters" in text and row(text, "link1.Izz") == [
        "link1.Izz",
        "+",
        "0.25·link2.m",
        "+",
        "0.25·link3.m",
    ]


@pytest.mark.slow
def test_what_may_change_at_run_time_is_marked(build_cache: object) -> None:
    text = shown(str(share("config/robots/sea2.yaml")))
    assert "* at run time" in text
    assert row(text[text.index("parameters ") :], "link2")[1:5] == ["1.1*", "0.15*", "0*", "0"]
