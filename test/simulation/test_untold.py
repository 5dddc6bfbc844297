"""What the plant has and the law was not told of is said, with what mends it; and nothing where all is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plant_arms import ARM, ARM_JOINTS, assembled

from thunder_controllers import simulate
from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_controllers.simulation.plants.untold import find_untold
from thunder_dynamics.readers.urdf import read_urdf_text

RUBBING = ARM.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><dynamics damping="0.5" friction="0.2"/>')
SMOOTH = read_urdf_text(ARM, "arm")
PERIOD = 1e-3


def _notes(law: str, urdf: str = RUBBING, known: str = ARM, options: Any = None, **plant: Any) -> list[str]:
    true = MujocoPlant(assembled(urdf), ARM_JOINTS, PERIOD, PlantOptions(**plant))
    return find_untold(true, read_urdf_text(known, "arm"), law, options or {})


def test_friction_that_a_law_could_estimate_names_the_option() -> None:
    (note,) = _notes("slotine_li")
    assert "viscous up to 0.5, Coulomb up to 0.2: j2) that slotine_li was not told of" in note
    assert "law.options: {friction: adapted}" in note
    assert _notes("slotine_li", urdf=ARM) == []
    assert _notes("slotine_li", options={"friction": "adapted"}) == []
    assert _notes("slotine_li", options={"friction": "none"}) == []


def test_friction_of_the_options_counts_as_that_of_the_description() -> None:
    (note,) = _notes("slotine_li", urdf=ARM, friction={"viscous": 0.1, "coulomb": [0.0, 0.0, 0.3]})
    assert "viscous up to 0.1, Coulomb up to 0.3: j1, j2, j3" in note


def test_a_law_that_compensates_the_files_friction_needs_it_there() -> None:
    (note,) = _notes("pd_plus")
    assert "not in the controller's robot file, whose friction pd_plus compensates" in note
    assert _notes("pd_plus", known=RUBBING) == []


def test_friction_that_sticks_is_said_whatever_the_file_has() -> None:
    sticks = {"viscous": [0.0, 0.5, 0.0], "coulomb": [0.0, 0.2, 0.0], "static": [0.0, 0.3, 0.0]}
    (note,) = _notes("pd_plus", known=RUBBING, friction=sticks)
    assert "Coulomb up to 0.2, static up to 0.3: j2), and pd_plus compensates what" in note
    (note,) = _notes("slotine_li", friction=sticks)
    assert "static up to 0.3: j2) that slotine_li was not told of" in note


def test_friction_of_the_file_that_the_plant_lacks_is_said_to_push() -> None:
    (note,) = _notes("pd_plus", urdf=ARM, known=RUBBING)
    assert "more friction than the plant (j2)" in note and "friction: none" in note
    assert _notes("pd_plus", urdf=ARM, known=RUBBING, options={"friction": "none"}) == []
    assert _notes("slotine_li", urdf=ARM, known=RUBBING) == []


def test_offsets_that_the_robot_file_lacks_are_said() -> None:
    (note,) = _notes("slotine_li", urdf=ARM, offsets=(0.0, 0.5, -0.1))
    assert "than the robot file says (j2, j3): thunder.offset there, or law.options: {offsets: adapted}, mends" in note
    (note,) = _notes("pd_plus", urdf=ARM, offsets=0.5)
    assert "thunder.offset there mends it" in note
    assert _notes("slotine_li", urdf=ARM, options={"offsets": "adapted"}, offsets=0.5) == []


def test_a_law_that_can_be_told_nothing_is_told_nothing() -> None:
    assert _notes("gravity_compensation") == []


def test_a_delay_that_the_host_does_not_look_at_is_said() -> None:
    assert _notes("slotine_li", urdf=ARM, torque_delay=0.002) == []
    (note,) = _notes("slotine_li", urdf=ARM, torque_delay=0.005)
    assert "act 5 periods late" in note and "thunder gains --delay 0.005 finds" in note
    (note,) = _notes("slotine_li", urdf=ARM, torque_delay=0.001, torque_lag=(0.0, 0.003, 0.0))
    assert "act 4 periods late" in note and "thunder gains --delay 0.001 --lag 0.003 finds" in note


def test_drives_of_another_gain_are_said() -> None:
    assert _notes("slotine_li", urdf=ARM, drive_gain=1.0) == []
    (note,) = _notes("slotine_li", urdf=ARM, drive_gain=(0.9, 1.0, 1.1))
    assert "drives give 0.9 to 1.1 of what is commanded (plant.drive_gain), and no law is told" in note


def test_an_end_effector_that_is_elsewhere_is_said_and_one_that_nothing_sees() -> None:
    off = (0.0, 0.03, 0.04)
    (note,) = _notes("cartesian_backstepping", urdf=ARM, tool_offset=off)
    assert "end effector is 50 mm from" in note and "law.options: {kinematics: tool} with a plant.position_s" in note
    (note,) = _notes("pd_plus", urdf=ARM, tool_offset=off)
    assert note.endswith("(plant.tool_offset)")
    (note,) = _notes("cartesian_backstepping", urdf=ARM, options={"kinematics": "tool"}, tool_offset=off)
    assert "to ee_position, which nothing measures: plant.position_sensor does" in note
    seen = {"tool_offset": off, "position_sensor": {"rate": 100.0}}
    assert _notes("cartesian_backstepping", urdf=ARM, options={"kinematics": "tool"}, **seen) == []


def test_what_firmware_compensates_is_said() -> None:
    firmware = {"load": {"link": "l3", "mass": -0.5}, "gravity": (0.0, 0.0, -9.7)}
    options = PlantOptions.model_validate({"firmware": firmware})
    true = MujocoPlant(assembled(ARM), ARM_JOINTS, PERIOD, options, gravity_compensated=True)
    (note,) = find_untold(true, SMOOTH, "slotine_li", {})
    assert note.code == "plant_firmware"
    assert "a load of -0.5 kg on l3 and a gravity of [0.0, 0.0, -9.7] m/s²" in note


def test_another_gravity_is_said() -> None:
    (note,) = _notes("slotine_li", urdf=ARM, gravity=(9.81, 0.0, 0.0))
    assert "the plant's gravity is [9.81, 0.0, 0.0] m/s², that of the controller's robot [0.0, 0.0, -9.81]" in note


@pytest.mark.slow
def test_a_run_hands_them_on(tmp_path: Path) -> None:
    """For a plant of either engine."""
    (tmp_path / "arm.urdf").write_text(RUBBING)
    motion = {"type": "joint_steps", "steps": [{"time": 0.0, "q": [0.1, -0.2, 0.05]}]}
    result = simulate(tmp_path / "arm.urdf", reference=motion, law="slotine_li", duration=0.01)
    assert result.notes[0].startswith("the plant has joint friction")
    true = ModelPlant(read_urdf_text(RUBBING, "arm"), ARM_JOINTS, PERIOD)
    assert find_untold(true, SMOOTH, "slotine_li", {}) == _notes("slotine_li")
