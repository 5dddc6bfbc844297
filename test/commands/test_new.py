"""`thunder new DIR --robot FILE`: a scenario for one's own arm, which runs as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from thunder_controllers.commands.start import begin_scenario, new
from thunder_controllers.resources import share
from thunder_controllers.simulation.experiment import run_scenario
from thunder_controllers.simulation.scenario import load_scenario
from thunder_dynamics.errors import ScenarioError, ThunderError

XACRO = share("urdf/panda.urdf.xacro")

CART = """<robot name="cart"><link name="floor"/><joint name="roll" type="planar">
<parent link="floor"/><child link="cart"/><axis xyz="0 0 1"/></joint><link name="cart"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>"""


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
    """Though a moment of a kg·m² counts as little as a mass of a kilogram, as for larger arms."""
    (tmp_path / "light.urdf").write_text(_light_arm())
    file = begin_scenario(tmp_path / "arm", str(tmp_path / "light.urdf"), {})
    fixed, adaptive = run_scenario(load_scenario(file), tmp_path / "results").runs
    assert fixed.metrics["fault"] is None and adaptive.metrics["fault"] is None
    # 0.8 and 359 mrad were seen.
    assert adaptive.metrics["final_error_norm"] < 5e-3 < 0.1 < fixed.metrics["final_error_norm"]


@pytest.mark.slow
def test_an_arm_follows_with_its_unknown_payload_when_it_adapts(build_cache: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(new, [str(tmp_path / "arm"), "--robot", str(share("config/robots/planar3r.yaml"))])
    assert result.exit_code == 0 and result.output.startswith("Next: thunder run ")
    scenario = load_scenario(result.output.split()[-1])
    assert scenario.name == "arm" and [run.adaptation for run in scenario.runs] == [False, True]
    fixed, adaptive = run_scenario(scenario, tmp_path / "results").runs
    assert fixed.metrics["fault"] is None and adaptive.metrics["fault"] is None
    # 167 mrad and 0.96 mrad were seen; a law that did not adapt would leave both alike.
    assert adaptive.metrics["final_error_norm"] < 2e-3 < 0.1 < fixed.metrics["final_error_norm"]
    assert adaptive.trace.estimates[-1, 0, 0] == pytest.approx(1.45, abs=0.02)  # [kg]: link3, and a tenth of the arm


def test_what_it_says_next_runs_where_a_package_lies_elsewhere(tmp_path: Path) -> None:
    package = tmp_path / "arm_description"
    package.mkdir()
    (package / "arm.xacro").write_text(XACRO.read_text())
    (tmp_path / "cell.xacro").write_text(
        '<robot name="cell" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:include filename="$(find arm_description)/arm.xacro"/></robot>'
    )
    given = ["--robot", str(tmp_path / "cell.xacro"), "--package", f"arm_description={package}"]
    result = CliRunner().invoke(new, [str(tmp_path / "cell"), *given])
    _, _, run, file, option, folder = result.output.split()
    assert (run, option, folder) == ("run", "--xacro-folder", str(package))
    with pytest.raises(ScenarioError, match=f"a xacro file may not read {package}"):
        load_scenario(file)
    scenario = load_scenario(file, xacro_folders=[folder])
    assert scenario.load_model(scenario.runs[0].config.robot, scenario.runs[0].config).n == 7


def test_it_keeps_to_ranges_and_says_how_the_file_is_read(tmp_path: Path) -> None:
    reading = {"ee_link": "my_flange", "xacro_args": {"prefix": "my_"}}
    document = yaml.safe_load(begin_scenario(tmp_path / "arm", str(XACRO), reading).read_text())
    assert document["ee_link"] == "my_flange" and document["robot_options"] == {
        "xacro_args": {"prefix": "my_"},
        "without_rotors": True,
    }
    assert document["plant"]["engine"] == "mujoco" and document["plant"]["xacro_args"] == {"prefix": "my_"}
    assert (tmp_path / "arm" / document["robot"]).resolve() == XACRO.resolve()
    elbow = document["reference"]["centre"][3]
    assert -3.0718 < elbow - document["reference"]["amplitude"][3] < elbow < -0.0698
    assert load_scenario(tmp_path / "arm/scenario.yaml").runs[1].config.ee_link == "my_flange"


def test_the_link_that_carries_several_tips_is_the_end_effector_and_it_says_so(tmp_path: Path) -> None:
    tips = "".join(
        f'<link name="{tip}"/><joint name="to_{tip}" type="fixed"><parent link="l6"/><child link="{tip}"/></joint>'
        for tip in ("tool0", "ee_link")
    )
    (tmp_path / "arm.urdf").write_text(_light_arm().replace("</robot>", f"{tips}</robot>"))
    result = CliRunner().invoke(new, [str(tmp_path / "arm"), "--robot", str(tmp_path / "arm.urdf")])
    assert result.output.startswith("End effector: l6, which carries tool0, ee_link; --ee-link chooses another\nNext: ")
    assert yaml.safe_load((tmp_path / "arm/scenario.yaml").read_text())["ee_link"] == "l6"


@pytest.mark.parametrize(("limit", "changed", "expected"), [('er="1.7', 'er="0.3', 0.15), ('y="10"', 'y="0.1"', 0.053)])
def test_it_moves_a_quarter_of_a_range_and_at_a_third_of_a_speed(
    limit: str, changed: str, expected: float, tmp_path: Path
) -> None:
    """The first joint, at 0.1 Hz: its upper limit is lowered to 0.3, or its speed."""
    file = tmp_path / "light.urdf"
    file.write_text(_light_arm().replace('lower="-1.7', 'lower="-0.3').replace(limit, changed))
    document = yaml.safe_load(begin_scenario(tmp_path / "arm", str(file), {}).read_text())
    assert document["reference"]["amplitude"][0] == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--robot", "{cart}"], "the joints 'roll' .planar.; valid: "),
        (["--robot", "nowhere.urdf"], "nowhere.urdf"),
        (["--ee-link", "hand"], "--robot FILE"),
    ],
)
def test_what_cannot_be_is_one_error_and_leaves_nothing(words: list[str], message: str, tmp_path: Path) -> None:
    cart = tmp_path / "cart.urdf"
    cart.write_text(CART)
    arguments = [str(tmp_path / "arm"), *(word.format(cart=cart) for word in words)]
    with pytest.raises(ThunderError, match=message):
        CliRunner().invoke(new, arguments, catch_exceptions=False)
    assert not (tmp_path / "arm").exists()
