"""`thunder try`: a run that fits the arm, said in words, from a name or a file to a report."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import yaml
from command_line import thunder
from described_arms import BODY, arm, chain, hand, joint, link, robot

from thunder_controllers.arms.choice import choose_arm
from thunder_controllers.arms.trial import DURATION, PICKED_UP, TOLD, plan_trial
from thunder_controllers.commands.start import try_
from thunder_controllers.scripting import simulate
from thunder_controllers.simulation.scenario import load_scenario
from thunder_dynamics.cli import thunder as commands
from thunder_dynamics.errors import RobotFileError, ScenarioError, UnusedInertiaWarning
from thunder_dynamics.joints import UNKNOWN_ROTOR

commands.add_command(try_)  # an installation of before the command knows nothing of its entry point


@pytest.fixture
def gripping(tmp_path: Path) -> Path:
    """An arm of four joints with a hand of two fingers."""
    file = tmp_path / "gripping.urdf"
    file.write_text(robot([link("base"), *chain("arm", "base", 4), *hand("arm4", 2, 1)]))
    return file


def test_what_is_held_is_said_with_the_option_that_holds_it(gripping: Path) -> None:
    facts = choose_arm(gripping).facts
    assert facts[1] == "Arm: arm1_joint to arm4_joint, 4 joints; end effector arm4_palm (--ee LINK)"
    assert facts[2] == "Held, joints of the gripper: --lock arm4_palm_finger0_1_joint=0"
    given = choose_arm(gripping, {"locked_joints": {"arm4_palm_finger0_1_joint": (0.4,)}}).facts
    assert given[2].endswith("--lock arm4_palm_finger0_1_joint=0.4")


def test_many_that_are_held_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text(
        robot([link("base"), *chain("arm", "base", 6), *chain("leg", "base", 5), *chain("tail", "base", 2)])
    )
    facts = choose_arm(file).facts
    assert facts[-1].startswith("Held, joints of no part of the arm: --lock leg1_joint=0 ")
    assert facts[-1].endswith(" and 3 more")


@pytest.mark.slow
def test_rotors_that_a_file_does_not_say_are_assumed_said_and_others_in_truth(gripping: Path) -> None:
    trial = plan_trial(gripping)
    assumed = TOLD * UNKNOWN_ROTOR * 40.0
    np.testing.assert_allclose(trial.model.rotor_inertias, assumed, rtol=1e-2)  # three digits
    beyond = trial.scenario["plant"]["rotor_inertia"]
    np.testing.assert_allclose(beyond, (1.0 / TOLD - 1.0) * trial.model.rotor_inertias)
    assert any(fact.startswith("No rotor inertias in the file: the gains are for") for fact in trial.facts)
    known = plan_trial(gripping, {"rotor_inertias": {f"arm{i}_joint": 0.2 for i in range(1, 5)}})
    assert (known.model.rotor_inertias == 0.2).all() and not np.any(known.scenario["plant"]["rotor_inertia"])
    assert not any(fact.startswith("No rotor") for fact in known.facts) and "rotors" not in known.conditions


@pytest.mark.slow
@pytest.mark.parametrize(("velocity", "effort"), [("0", "0"), ("0", "40"), ("3", "0")])
def test_limits_that_are_missing_are_a_fact_each(velocity: str, effort: str, tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(arm(3, f'<limit lower="-2" upper="2" velocity="{velocity}" effort="{effort}"/>'))
    trial = plan_trial(file)
    missing = [kind for kind, limit in (("effort", effort), ("velocity", velocity)) if limit == "0"]
    assert [fact.split()[1] for fact in trial.facts if " limits in the file: " in fact] == missing
    assert np.isfinite(trial.scenario["host"]["effort_limit"]).all()


@pytest.mark.slow
def test_inertias_that_no_body_has_are_taken_and_said(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(arm(3).replace('iyy="0.003"', 'iyy="0.009"', 3))  # of the base, which falls away, arm1 and arm2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UnusedInertiaWarning)  # of arm1, of which one moment acts
        trial = plan_trial(file)
    assert trial.facts[-1].startswith("Inertias that no body has, taken as they are: ")
    assert trial.scenario["plant"]["engine"] == "model"  # MuJoCo refuses them
    assert trial.scenario["robot_options"]["allow_inconsistent"] is True
    file.write_text(
        arm(3).replace(
            BODY, '<inertial><mass value="0.5"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>'
        )
    )
    assert plan_trial(file).scenario["law"]["options"]["adaptation"] == "projected"


def test_an_arm_that_no_law_takes_is_one_error_before_anything_is_written(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(robot([link("base"), link("a"), joint("weld", "base", "a", "fixed")]))
    ended = thunder("try", file, "--out", tmp_path / "out")
    assert ended.exit_code == 2 and "no joint moves that could be an arm's" in ended.output
    assert thunder("try", "no_such_arm", "--out", tmp_path / "out").exit_code == 2
    assert thunder("try", tmp_path / "nothing.urdf", "--out", tmp_path / "out").exit_code == 2
    assert not (tmp_path / "out").exists()
    with pytest.raises(RobotFileError):
        simulate(file)


LINKS = (  # the axis of each joint, where its link ends [m], mass [kg], moment of inertia in all directions [kg·m²]
    ("0 0 1", "0 0 0.05", 0.1, 6e-5),
    ("0 1 0", "0.11 0 0.03", 0.1, 1e-4),
    ("0 1 0", "0.13 0 0", 0.1, 1e-4),
    ("0 1 0", "0.06 0 0", 0.08, 3e-5),
    ("1 0 0", "0.02 0 -0.02", 0.09, 4e-5),
    ("0 0 1", "0 0 0", 0.012, 1.5e-5),  # the jaw of a gripper
)


def _light_arm() -> str:
    """An arm of half a kilogram with a jaw of 12 g, which a motor moves, as hobby servos have them."""
    parts, ends = [], "0 0 0"
    for k, (axis, end, mass, moment) in enumerate(LINKS):
        parts.append(
            f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/><origin xyz="{ends}"/>'
            f'<axis xyz="{axis}"/><limit lower="-1.7" upper="1.7" effort="3" velocity="10"/></joint>'
            f'<link name="l{k + 1}"><inertial><origin xyz="0.01 0 0.01"/><mass value="{mass}"/><inertia ixx="{moment}" '
            f'iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        ends = end
    return f'<robot name="light"><link name="l0"/>{"".join(parts)}</robot>'


@pytest.mark.slow
def test_a_light_arm_with_its_jaw_free_does_not_run_away(build_cache: Path, tmp_path: Path) -> None:
    """By defaults of the law, though a moment of a kg·m² counts as little as a mass of a kilogram."""
    file = tmp_path / "light.urdf"
    file.write_text(_light_arm())
    reference = {"type": "joint_lissajous", "centre": [0.0] * 6, "amplitude": 0.3, "phase": 1.5708}
    fixed, adaptive = (
        simulate(
            file,
            law="slotine_li",
            reference={**reference, "frequency": [0.1, 0.15, 0.2, 0.25, 0.1, 0.15]},
            payload={"mass": 0.048},
            robot_options={"without_rotors": True},
            start=[0.0] * 6,
            duration=20.0,
            adaptation=adapts,
        )
        for adapts in (False, True)
    )
    assert fixed.fault is None and adaptive.fault is None
    # 0.8 and 359 mrad were seen.
    assert adaptive.metrics["final_error_norm"] < 5e-3 < 0.1 < fixed.metrics["final_error_norm"]


@pytest.mark.slow
def test_a_description_whose_package_lies_elsewhere_is_tried_and_its_scenario_asks_for_it(
    build_cache: Path, tmp_path: Path
) -> None:
    package = tmp_path / "arm_description"
    package.mkdir()
    (package / "arm.xacro").write_text(arm(2))
    file = tmp_path / "cell.xacro"
    file.write_text(
        '<robot name="cell" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:include filename="$(find arm_description)/arm.xacro"/></robot>'
    )
    ended = thunder("try", file, "--package", f"arm_description={package}", "--out", tmp_path / "deep/er")
    assert ended.exit_code == 0, ended.output
    written = tmp_path / "deep/er/scenario.yaml"
    assert yaml.safe_load(written.read_text())["robot"] == "../../cell.xacro"  # as seen from there
    with pytest.raises(ScenarioError, match=f"a xacro file may not read {package}"):
        load_scenario(written)
    scenario = load_scenario(written, xacro_folders=[package])
    assert scenario.load_model(scenario.runs[0].config.robot, scenario.runs[0].config).n == 2


def test_a_model_needs_a_reference(gripping: Path) -> None:
    from thunder_dynamics import load_model

    with pytest.raises(ScenarioError, match="a model and no reference"):
        simulate(load_model("planar3r"))


@pytest.mark.slow
def test_an_arm_adapts_and_its_scenario_runs_again(gripping: Path, build_cache: Path, tmp_path: Path) -> None:
    ended = thunder("try", gripping, "--out", tmp_path / "out")
    assert ended.exit_code == 0, ended.output
    assert "warning" not in ended.output and "note:" not in ended.output
    assert "Conditions, unknown to the controller: 0.35 kg are picked up after 5 s;" in ended.output
    assert (tmp_path / "out/report.html").is_file()
    scenario = load_scenario(tmp_path / "out/scenario.yaml")
    assert [run.adaptation for run in scenario.runs] == [False, False, False, True]
    assert "Conditions" in scenario.description
    metrics = yaml.safe_load((tmp_path / "out/metrics.json").read_text())["runs"]
    left = {name: run["final_error_norm"] for name, run in metrics.items()}
    assert left["nothing_unknown"] < 1e-3 and left["adaptive"] < 1e-3 < 5e-3 < left["fixed"]
    assert left["adaptive"] < left["observer_alone"] < 0.2 * left["fixed"]
    fit = metrics["adaptive"]["payload"]["fit"]["mass"]
    assert metrics["adaptive"]["payload"]["estimate"]["mass"] == pytest.approx(fit, rel=0.02)
    (shares,) = re.findall("payload (.*) mrad, friction (.*) mrad, rotors (.*) mrad", ended.output)
    # Each thing by itself leaves less than all together, and together they leave more than that.
    payload, friction, rotors = (1e-3 * float(share) for share in shares)
    assert max(payload, friction, rotors) < left["fixed"] < payload + friction + rotors + left["nothing_unknown"]
    assert "lightposition" not in _written(tmp_path / "out")


def _written(folder: Path) -> str:
    """What a report draws, without the library that it holds."""
    return (folder / "report.html").read_text().partition("</head>")[2]


@pytest.mark.slow
def test_an_arm_is_drawn_as_its_description_has_it_and_a_missing_mesh_ends_nothing(
    gripping: Path, build_cache: Path, tmp_path: Path
) -> None:
    pytest.importorskip("trimesh")
    box = '<visual><geometry><box size="0.1 0.1 0.1"/></geometry></visual>'
    text = gripping.read_text()
    mesh = box.replace('box size="0.1 0.1 0.1"', 'mesh filename="a.stl"')
    for name, visual in (("base", box), ("arm1", box), ("arm2", mesh)):
        text = text.replace(f'<link name="{name}">', f'<link name="{name}">{visual}')
    gripping.write_text(text)
    file = tmp_path / "scenario.yaml"
    trial = plan_trial(gripping)
    runs = [{"name": "fixed", "adaptation": False}, {"name": "adaptive"}]
    file.write_text(yaml.safe_dump({"name": "drawn", **trial.scenario, "duration": 0.3, "runs": runs}))
    ended = thunder("run", file, "--out", tmp_path / "out")
    assert ended.exit_code == 0, ended.output
    notes = [
        line for line in " ".join(ended.output.split()).split("note: ")[1:] if line.startswith("the picture alone")
    ]
    assert len(notes) == 1
    assert notes[0].startswith("the picture alone lacks, of the description: arm2 (no file ")
    assert len(list((tmp_path / "out").glob("*_look.npz"))) == 2
    assert "lightposition" in _written(tmp_path / "out")
    assert _written(tmp_path / "out").count("the picture alone lacks, of the description") == 1
    again = thunder("export", tmp_path / "out", "--csv")
    assert again.exit_code == 0, again.output


@pytest.mark.slow
def test_simulate_without_a_reference_is_the_same_run_and_what_is_given_replaces_it(
    gripping: Path, build_cache: Path
) -> None:
    result = simulate(gripping)
    trial = plan_trial(gripping)
    assert result.config.duration == DURATION and result.config.law.name == "slotine_li"
    assert result.config.plant.payloads[0].time == PICKED_UP and result.config.robot == str(gripping)
    assert result.config.reference.centre == pytest.approx(trial.scenario["reference"]["centre"])
    assert result.fault is None and result.metrics["final_error_norm"] < 2e-3
    other = simulate(gripping, payload=0.1, duration=2.0, adaptation=False, gains={"Lambda": 5.0}, plant={"noise": {}})
    assert [body.mass for body in other.config.plant.payloads] == [0.1] and other.config.duration == 2.0
    assert other.config.law.options == result.config.law.options and other.config.law.gains == {"Lambda": 5.0}
    law = simulate(gripping, law="computed_torque", duration=1.0)
    assert law.config.law.name == "computed_torque" and law.config.law.options == {}
