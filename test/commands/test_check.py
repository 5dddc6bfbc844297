"""`thunder check`: what holds, what does not, and the exit status that says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from evaluation import robot_file

from thunder_controllers.commands.check import check
from thunder_dynamics.errors import ModelError

ARM = robot_file("planar3r")
INERTIA = "Ixx: 0.01, Ixy: 0, Ixz: 0, Iyy: 0.01, Iyz: 0, Izz: 0.05"


def checked(*arguments: object) -> Result:
    return CliRunner().invoke(check, [str(one) for one in arguments], env={"COLUMNS": "200"})


def arm_with(folder: Path, old: str, new: str) -> Path:
    text = ARM.read_text(encoding="utf-8")
    changed = re.sub(old, new, text, count=1)
    assert changed != text
    (folder / "arm.yaml").write_text(changed, encoding="utf-8")
    return folder / "arm.yaml"


def test_a_sound_robot_passes(build_cache: Path) -> None:
    result = checked(ARM, ARM)
    assert result.exit_code == 0 and result.output.endswith("All holds.\n")
    assert "Y·π = Y_b·K·π, 9 base parameters" in result.output and "agreement, planar3r and planar3r" in result.output


@pytest.mark.slow
def test_the_nearest_body_of_one_that_cannot_exist_passes(tmp_path: Path, build_cache: Path) -> None:
    result = checked(arm_with(tmp_path, r"Ixx: [^}]*", INERTIA))
    assert result.exit_code == 1 and "1 of 22 checks failed" in result.output
    found = re.search(r"nearest body of \w+: (.*)", result.output)
    assert found is not None
    assert checked(arm_with(tmp_path, r"mass: [^}]*", found.group(1))).exit_code == 0


@pytest.mark.slow
def test_another_description_that_differs_is_seen(tmp_path: Path, build_cache: Path) -> None:
    result = checked(ARM, arm_with(tmp_path, r"effort: \[60", "effort: [61"))
    assert result.exit_code == 1 and re.search(r"effort limit +0.016 +1e-06 +NO", result.output)


def test_a_robot_of_other_joints_is_refused(tmp_path: Path) -> None:
    links = "".join(
        f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        "</inertial></link>"
        for name in "ab"
    )
    joint = '<joint name="j" type="planar"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
    (tmp_path / "sled.urdf").write_text(f'<robot name="sled">{links}{joint}</robot>')
    error = checked(tmp_path / "sled.urdf").exception
    assert isinstance(error, ModelError) and "sled: the joints 'j' (planar); valid: " in str(error)
