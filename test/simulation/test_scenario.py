"""Scenario files: what is accepted, how overrides combine, and the message of every error."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from thunder_controllers.references.sinusoids import Lissajous
from thunder_controllers.references.trajectories import Hold
from thunder_controllers.resources import share
from thunder_controllers.simulation.scenario import Scenario, load_scenario
from thunder_dynamics.errors import ScenarioError

TEXT = """\
name: test
robot: robot.yaml
plant:
  urdf: robot.urdf
  friction: {viscous: [0.1, 0.2]}
law:
  gains: {Lambda: 10, K_d: [1, 2]}
  initial_estimates:
    tool: {mass: 2.5, com: [0.2, 0.2, 0.2]}
reference: {type: lissajous, centre: [0.4, 0, 0.5], amplitude: 0.1, frequency: 0.5}
start: {q: [0, 0]}
duration: 2
host: {effort_limit: 10}
runs:
  - name: first
    adaptation: false
  - name: second
    overrides: {plant: {torque_delay: 0.001}, law: {gains: {Lambda: 20}}}
"""


def _load(tmp_path: Path, text: str = TEXT, seed: int | None = None) -> Scenario:
    for name in ("robot.yaml", "robot.urdf"):
        (tmp_path / name).touch()
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    return load_scenario(path, None if seed is None else {"seed": seed})


def test_defaults_and_values(tmp_path: Path) -> None:
    scenario = _load(tmp_path)
    first = scenario.runs[0]
    assert (scenario.name, first.name, first.adaptation, scenario.runs[1].adaptation) == ("test", "first", False, True)
    assert (first.config.rate, first.config.steps, first.config.seed) == (1000.0, 2000, 0)
    assert first.config.plant.friction is not None and first.config.plant.friction.viscous == (0.1, 0.2)
    assert first.config.law.name == "cartesian_backstepping"
    np.testing.assert_array_equal(first.config.law.initial_estimates["tool"].to_inertia().com, [0.2, 0.2, 0.2])
    assert first.config.robot == str(tmp_path / "robot.yaml")


def test_first_estimates_come_from_a_file_or_from_the_scenario(tmp_path: Path) -> None:
    """The file lies where the scenario says, relative to its own; both at once contradict each other."""
    (tmp_path / "learned.yaml").touch()
    estimates = "  initial_estimates:\n    tool: {mass: 2.5, com: [0.2, 0.2, 0.2]}\n"
    run = _load(tmp_path, TEXT.replace(estimates, "  estimates_file: learned.yaml\n")).runs[0]
    assert run.config.law.estimates_file == str(tmp_path / "learned.yaml")
    laid = load_scenario(tmp_path / "scenario.yaml", {"law": {"initial_estimates": {"tool": {"mass": 1.0}}}})
    assert (laid.runs[0].config.law.estimates_file, len(laid.runs[0].config.law.initial_estimates)) == (None, 1)
    _load(tmp_path)
    laid = load_scenario(tmp_path / "scenario.yaml", {"law": {"estimates_file": "learned.yaml"}})
    assert not laid.runs[0].config.law.initial_estimates
    with pytest.raises(ScenarioError, match="law: initial_estimates beside estimates_file; valid: one of them"):
        _load(tmp_path, TEXT.replace(estimates, f"  estimates_file: learned.yaml\n{estimates}"))
    with pytest.raises(ScenarioError, match=r"law.estimates_file: no file other.yaml; valid: a file, seen from"):
        _load(tmp_path, TEXT.replace(estimates, "  estimates_file: other.yaml\n"))


def test_velocities_are_measured_by_differences_unless_the_scenario_says_exact(tmp_path: Path) -> None:
    exact = _load(tmp_path, TEXT.replace("torque_delay: 0.001", "velocity: exact")).runs[1].config.plant
    default = _load(tmp_path).runs[0].config.plant
    assert (default.velocity, default.velocity_cutoff, exact.velocity) == ("differences", 100.0, "exact")


def test_overrides_are_laid_over_the_common_part(tmp_path: Path) -> None:
    first, second = (run.config for run in _load(tmp_path).runs)
    assert (first.plant.torque_delay, second.plant.torque_delay) == (0.0, 0.001)
    assert second.plant.friction == first.plant.friction
    assert (first.law.gains, second.law.gains) == ({"Lambda": 10, "K_d": (1, 2)}, {"Lambda": 20, "K_d": (1, 2)})


def test_an_override_of_another_type_replaces_the_reference(tmp_path: Path) -> None:
    text = TEXT.replace("{plant: {torque_delay: 0.001},", "{reference: {type: hold, position: [0.4, 0, 0.5]},")
    first, second = (run.config.reference for run in _load(tmp_path, text).runs)
    assert isinstance(first, Lissajous) and isinstance(second, Hold)


def test_seed_can_be_replaced(tmp_path: Path) -> None:
    assert [run.config.seed for run in _load(tmp_path, seed=7).runs] == [7, 7]


def test_hash_is_of_the_text(tmp_path: Path) -> None:
    changed = _load(tmp_path, TEXT + "# a comment\n").hash
    assert _load(tmp_path).hash == _load(tmp_path).hash != changed


def test_a_reference_is_read_as_the_class_of_its_type(tmp_path: Path) -> None:
    text = re.sub(r"reference: .*", "reference: {type: hold, position: [1, 2, 3], ypr: [1, 0, 0]}", TEXT)
    assert _load(tmp_path, text).runs[0].config.reference == Hold(position=(1, 2, 3), ypr=(1, 0, 0))


BAD = {
    "unknown key": ("duration: 2", "duraton: 2", ":12: duraton: unknown key 'duraton'; valid: duration, description, "),
    "key like no other": (
        "duration: 2",
        "period: 2",
        ":12: period: unknown key 'period'; valid: robot, robot_options, ee_link, plant, law, reference, ",
    ),
    "unknown nested key": ("torque_delay", "delay", ":18: runs[1].overrides.plant.delay: unknown key 'delay'"),
    "missing key": ("start: {q: [0, 0]}", "", ":1: missing key 'start'; valid: a value for it"),
    "duplicate key": ("duration: 2", "duration: 2\nname: x", ":13: name: duplicate key, first on line 1"),
    "wrong kind": ("duration: 2", "duration: long", ":12: duration: 'long'; valid: input should be a valid number"),
    "text for a number": ("duration: 2", 'duration: "2"', ":12: duration: '2'; valid: input should be a valid number"),
    "non-finite": ("centre: [0.4", "centre: [.nan", ":10: reference.centre[0]: nan"),
    "negative": ("[0.1, 0.2]", "[0.1, -0.2]", ":5: plant.friction.viscous[1]: -0.2"),
    "too long": ("duration: 2", "duration: 2e7", ":1: duration · rate is 2e+10 steps; valid: 1 to 10000000"),
    "longer than any number": (
        "duration: 2",
        "duration: 1e308\nrate: 1e308",
        ":1: duration · rate is inf steps; valid: ",
    ),
    "reference of no type": ("type: lissajous", "type: {a: 1}", ":10: reference.type: type \"{'a': 1}\""),
    "name that no file has": ("robot: robot.yaml", "robot: " + 300 * "x", ":2: robot: no robot 'xxx"),
    "name with a zero": ("robot: robot.yaml", 'robot: "a/\\0"', r":2: robot: no file 'a/\x00'; valid: a path"),
    "name of two lines": (
        "duration: 2",
        '"a\\nb\\e[31m": 2',
        r":12: a\nb\x1b[31m: unknown key 'a\nb\x1b[31m'; valid: ",
    ),
    "too few values": ("com: [0.2, 0.2, 0.2]", "com: [0.2, 0.2]", ":9: law.initial_estimates.tool.com: only 2 values"),
    "unphysical body": (
        "com: [0.2, 0.2, 0.2]",
        "inertia: [1, 0, 0, 0.1, 0, 0.1]",
        ":9: law.initial_estimates.tool: the inertia about the CoM breaks the triangle inequality: principal moments",
    ),
    "unknown reference": ("lissajous", "circle", ":10: reference.type: type 'circle'"),
    "reference without type": ("type: lissajous, ", "", ":10: reference: missing key 'type'"),
    "same names": ("name: second", "name: first", ":1: two runs share a name: first, first"),
    "name that is a path": ("name: first", "name: ../first", ":15: runs[0].name: '../first'"),
    "no runs": (TEXT[TEXT.index("runs:") :], "runs: []\n", ":14: runs: []; valid: tuple should have at least 1 item"),
    "missing robot": ("robot: robot.yaml", "robot: other.yaml", ":2: robot: no file other.yaml"),
    "robot of no such name": ("robot: robot.yaml", "robot: pnada", ":2: robot: no robot 'pnada'"),
    "missing URDF": ("urdf: robot.urdf", "urdf: other.urdf", ":4: plant.urdf: no file other.urdf"),
    "object tag": (
        "duration: 2",
        "duration: !!python/object:os.system 2",
        ":12: duration: the tag '!!python/object:os.system'",
    ),
    "no YAML": ("duration: 2", "duration: [2", ":13: expected ',' or ']', but got ':'; valid: YAML 1.2"),
}


BAD_PLANTS = {
    "noise: {qd_std: 0.1}": ": noise of velocities beside velocity: differences",
    "faults: [{type: fire}]": ".faults[0].type: type 'fire'; valid: bias, block, dropout, effort_noise, freeze",
    "faults: [{type: freeze, start: 2, end: 1}]": ".faults[0]: a window from 2 s to 1 s",
    "faults: [{type: block, rate: 1, joints: [a, b, a]}]": ".faults[0]: joints a, b, a",
    "faults: [{type: freeze, joints: [a], start: 1}, {type: loss, share: 1, end: 2}]": (
        ": 'freeze a, 1 s to the end' beside 'loss all joints, 0 s to 2 s'"
    ),
    "faults: [{type: wrench, link: a, profile: [[0, 1], [0, 2]]}]": ".faults[0]: times of a profile that do not rise",
    "payloads: [{link: a, mass: 1, time: 2, until: 1}]": ".payloads[0]: attached at 2 s until 1 s",
}
BAD |= {new: ("torque_delay: 0.001", new, f":18: runs[1].overrides.plant{m}") for new, m in BAD_PLANTS.items()}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_scenario_names_file_line_key_and_what_is_valid(tmp_path: Path, case: str) -> None:
    old, new, message = BAD[case]
    assert TEXT.count(old) == 1
    with pytest.raises(ScenarioError) as caught:
        _load(tmp_path, TEXT.replace(old, new))
    assert str(caught.value).startswith(f"{tmp_path / 'scenario.yaml'}{message}")
    assert "; valid: " in str(caught.value)


def test_a_robot_may_be_named_and_a_file_beside_the_scenario_comes_first(tmp_path: Path) -> None:
    text = TEXT.replace("robot: robot.yaml", "robot: planar3r")
    config = _load(tmp_path, text).runs[0].config
    assert Path(config.robot) == share("config/robots/planar3r.yaml")
    assert config.plant.urdf == str(tmp_path / "robot.urdf")
    (tmp_path / "planar3r").touch()
    assert _load(tmp_path, text).runs[0].config.robot == str(tmp_path / "planar3r")


FOLDERS = {
    "xacro_folders": "robot_options: {{xacro_folders: [{}]}}",
    "packages": "robot_options: {{packages: {{arm: {}}}}}",
    "packages of the plant": "plant: {{packages: {{arm: {}}}}}",
    "of a run": "robot_options: {{xacro_folders: [{}]}}",
}


@pytest.mark.parametrize("kind", FOLDERS)
@pytest.mark.parametrize("folder", ["/", "..", "link", "a/../.."])
def test_a_scenario_by_itself_opens_no_folder_outside_its_own_to_a_xacro(
    tmp_path: Path, kind: str, folder: str
) -> None:
    own = tmp_path / "own"
    (own / "a").mkdir(parents=True)
    (own / "link").symlink_to(tmp_path)
    section, _, options = FOLDERS[kind].partition(": ")

    def text(where: str) -> str:
        given = options.format(where)
        if kind == "of a run":
            return TEXT.replace("overrides: {plant:", f"overrides: {{{section}: {given}, plant:")
        return (
            TEXT.replace("  urdf:", f"  {given[1:-1]}\n  urdf:")
            if section == "plant"
            else f"{TEXT}{section}: {given}\n"
        )

    assert len(_load(own, text("a")).runs) == 2
    with pytest.raises(
        ScenarioError, match=rf"scenario.yaml:\d+: .*: a xacro file may not read {folder}; valid: .*{own}"
    ):
        _load(own, text(folder))
    allowed = load_scenario(own / "scenario.yaml", xacro_folders=["/" if folder == "/" else tmp_path])
    assert len(allowed.runs) == 2


def test_an_unreadable_file_is_a_scenario_error(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no file .*nowhere.yaml"):
        load_scenario(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).parents[2].glob("config/scenarios/*.yaml")), ids=lambda p: p.stem
)
def test_scenarios_of_the_package_are_valid(path: Path) -> None:
    scenario = load_scenario(path)
    assert scenario.name == path.stem
    compares = path.stem != "panda_excitation"  # a record for `thunder identify`
    assert [run.adaptation for run in scenario.runs] == ([False, True] if compares else [False])
