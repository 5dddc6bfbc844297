"""What links look like by their description is drawn where they are; what cannot be read is left out, and said."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin
import pytest
from traces import make_frames, make_trace

from thunder_controllers import mesh
from thunder_controllers.mesh import Mesh
from thunder_controllers.simulation.experiment import RunResult, look_file
from thunder_controllers.simulation.scenario import RunConfig, check_keys
from thunder_controllers.view import look
from thunder_controllers.view.arm import Arm
from thunder_controllers.view.look import INCOMPLETE, NO_LOOK, Look, look_of, make_look, read_look
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.locking import link_poses
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model
from thunder_dynamics.readers.urdf import urdf_text

trimesh = pytest.importorskip("trimesh")

ROOT = Path(__file__).parents[2]
CORNERS = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.1]])
SIDES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'

LINKS: Mapping[str, tuple[str, ...]] = {
    "world": (),
    "base": ('<origin xyz="0 0 0.05" rpy="0.1 0 0"/><geometry><cylinder radius="0.1" length="0.3"/></geometry>',),
    "one": (
        '<origin xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"/><geometry><mesh filename="{stl}" scale="2 1 0.5"/></geometry>',
        '<geometry><box size="0.1 0.2 0.3"/></geometry>',
    ),
    "bracket": ('<origin xyz="0 0 0.1"/><geometry><mesh filename="meshes/corner.obj" scale="1 -1 1"/></geometry>',),
    "two": ('<geometry><sphere radius="0.1"/></geometry>',),
    "finger": ('<geometry><mesh filename="package://shapes/meshes/corner.stl"/></geometry>',),
    "other_finger": ('<origin rpy="0 1 0"/><geometry><mesh filename="file://{folder}/meshes/corner.stl"/></geometry>',),
    "tool": (),
}
JOINTS = (
    ("mount", "fixed", "world", "base", 'rpy="0 0 0.4" xyz="0.1 0 0"', ""),
    ("turn", "revolute", "base", "one", 'rpy="0.3 0 0" xyz="0 0 0.4"', ""),
    ("bolt", "fixed", "one", "bracket", 'rpy="0 0.5 0" xyz="0.2 0 0"', ""),
    ("slide", "prismatic", "bracket", "two", 'rpy="1 0 0" xyz="0 0.2 0"', ""),
    ("grip", "revolute", "two", "finger", 'xyz="0 0.1 0.1"', ""),
    ("follow", "revolute", "two", "other_finger", 'xyz="0 -0.1 0.1"', '<mimic joint="grip" multiplier="-0.5"/>'),
    ("wrist", "continuous", "two", "tool", 'rpy="0 0 1" xyz="0.3 0 0"', ""),
)
LIMIT = '<limit lower="-2" upper="2" effort="10" velocity="1"/>'
GRIP = 0.7


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    """An arm of three joints with a gripper, in a package of the name `shapes`."""
    return _written(tmp_path)


def _written(folder: Path, links: Mapping[str, tuple[str, ...]] = LINKS) -> Path:
    package = folder / "shapes"
    (package / "meshes").mkdir(parents=True)
    for name in ("corner.stl", "corner.obj"):
        trimesh.Trimesh(CORNERS, SIDES, process=False).export(package / "meshes" / name)
    places = {"stl": "../shapes/meshes/corner.stl", "folder": str(package)}
    parts = [
        f'<link name="{name}">{INERTIAL}{"".join(f"<visual>{one.format(**places)}</visual>" for one in visuals)}</link>'
        for name, visuals in links.items()
    ]
    for name, kind, parent, child, origin, more in JOINTS:
        parts.append(
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin {origin}/><axis xyz="0 0.6 0.8"/>{LIMIT}{more}</joint>'
        )
    file = package / "arm.urdf"
    file.write_text(f'<robot name="arm">{"".join(parts)}</robot>')
    return file


def _config(robot: Path, plant: Path, **options: Any) -> RunConfig:
    motion = {"type": "joint_lissajous", "centre": [0.0], "amplitude": 0.1, "frequency": 1.0}
    data = {"robot": str(robot), "robot_options": options, "plant": {"urdf": str(plant)}, "reference": motion}
    return check_keys(RunConfig, data | {"start": {"q": [0.0]}, "duration": 1.0}, "test")


def _places(seen: Look, model: RobotModel, q: Mapping[str, float]) -> np.ndarray:
    """Vertices in the world at joint positions, (V, 3)."""
    poses = (model.base.pose, *link_poses(model, q))
    return seen.places(np.array([pose.translation for pose in poses]), np.array([pose.rotation for pose in poses]))


def _assert_where_pinocchio_has_it(
    vertices: np.ndarray, text: str, q: Mapping[str, float], world: pin.SE3 | None = None
) -> None:
    """Each visual of a URDF text has its points among the vertices; meshes are CORNERS at their scale."""
    scales = [
        np.array(scale.split() or [1, 1, 1], dtype=float)
        for scale in re.findall(r'<mesh filename="[^"]*"(?: scale="([^"]*)")?', text)
    ]
    text = re.sub("<mesh [^>]*/>", '<box size="8 8 8"/>', text)  # it loads no file
    model = pin.buildModelFromXML(text)
    shapes = pin.buildGeomFromUrdfString(model, text, pin.GeometryType.VISUAL)
    at = pin.neutral(model)
    for name, value in q.items():
        joint = model.joints[model.getJointId(name)]
        at[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
    data, placed = model.createData(), shapes.createData()
    pin.updateGeometryPlacements(model, data, shapes, placed, at)
    found = {shape.name: (pose, shape.geometry) for pose, shape in zip(placed.oMg, shapes.geometryObjects, strict=True)}
    left = iter(scales)
    for link in re.findall('<link name="([^"]*)"', text):  # in the order of the text, as scales are
        for number in range(sum(name.rpartition("_")[0] == link for name in found)):
            pose, shape = found[f"{link}_{number}"]
            pose = pose if world is None else world * pose
            local = (vertices - pose.translation) @ pose.rotation
            if isinstance(shape, coal.Sphere):
                assert (np.abs(np.linalg.norm(local, axis=1) - shape.radius) < 1e-6).sum() > 100, link
                continue
            if isinstance(shape, coal.Cylinder):
                points = np.array([[shape.radius, 0.0, side * shape.halfLength] for side in (-1, 1)])
            elif shape.halfSide[0] == 4.0:
                points = CORNERS * next(left)
            else:
                points = shape.halfSide * list(itertools.product((-1, 1), repeat=3))
            distance = np.linalg.norm(local[:, None] - points[None], axis=2).min(axis=0)
            assert distance.max() < 1e-6, link  # vertices are kept in single precision
    assert next(left, None) is None


@pytest.mark.parametrize("locked", [{"grip": GRIP}, {"grip": GRIP, "turn": 0.4}, {"grip": GRIP, "slide": -0.2}])
@pytest.mark.parametrize("seed", range(3))
def test_a_visual_is_where_another_library_has_it(urdf: Path, locked: dict[str, float], seed: int) -> None:
    """Whichever joints are fixed or locked, at random positions of the others."""
    options = {"locked_joints": locked, "ee_link": "tool"}
    model = load_model(urdf, **options)
    seen = read_look(_config(urdf, urdf, **options), model)
    assert seen.missing.size == 0 and len(np.unique(seen.frame)) == 1 + len(model.links) - 1  # the tool has none
    q = dict(zip(("turn", "slide", "wrist"), np.random.default_rng(seed).uniform(-1, 1, 3), strict=True)) | locked
    _assert_where_pinocchio_has_it(_places(seen, model, q), urdf.read_text(), q | {"follow": -0.5 * GRIP})


def test_the_urdf_that_a_yaml_names_is_seen_where_its_base_is(urdf: Path) -> None:
    text = re.sub('name="(grip|follow)" type="revolute"', r'name="\1" type="fixed"', urdf.read_text())
    urdf.write_text(re.sub("<mimic [^>]*/>", "", text))
    robot = urdf.with_suffix(".yaml")
    base = "Base_to_L0: {tr: [0.1, 0.2, 0.3], ypr: [0.3, 0.2, 0.1]}"
    robot.write_text(f"kinematics: {{type: URDF, urdf_path: arm.urdf, ee_link: tool}}\n{base}\n")
    model, q = load_model(robot, locked_joints={"turn": 0.3}), {"turn": 0.3, "slide": -0.6, "wrist": 1.1}
    seen = read_look(_config(robot, robot, locked_joints={"turn": 0.3}), model)
    world = pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.2, 0.3), np.array([0.1, 0.2, 0.3]))
    _assert_where_pinocchio_has_it(_places(seen, model, q), urdf.read_text(), q, world)


@pytest.mark.slow
def test_a_robot_of_dh_rows_looks_like_the_urdf_of_its_plant() -> None:
    """Frames of the rows are not those of the URDF's links: here of the demo's."""
    robot, plant = ROOT / "config/robots/panda.yaml", ROOT / "urdf/panda.urdf.xacro"
    model = load_model(robot)
    seen = read_look(_config(robot, plant), model)
    assert seen.missing.size == 0 and set(seen.frame.tolist()) == set(range(8))
    q = dict(zip(model.joint_names, np.random.default_rng(0).uniform(-1, 1, model.n), strict=True))
    _assert_where_pinocchio_has_it(_places(seen, model, q), urdf_text(plant, {}), q)


def test_another_robot_than_the_one_that_runs_is_not_drawn() -> None:
    robot, plant = ROOT / "config/robots/ur5.yaml", ROOT / "urdf/panda.urdf.xacro"
    seen = read_look(_config(robot, plant), load_model(robot))
    assert seen.frame.size == 0
    assert "its links move otherwise than those of ur5; valid: the same kinematics" in seen.notes[0]
    assert read_look(_config(robot, robot), load_model(robot)).notes == ()  # no description at all


def test_what_cannot_be_read_is_left_out_with_one_note_that_says_which_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh_of = '<geometry><mesh filename="{}"{}/></geometry>'.format
    wrong = {
        "base": (mesh_of("meshes/none.stl", ""), '<geometry><box size="1 1 1"/></geometry>'),
        "one": (mesh_of("meshes/broken.stl", ""), mesh_of("meshes/corner.stl", ' scale="1 0 1"')),
        "bracket": (mesh_of("https://example.org/a.stl", ""),),
        "two": (mesh_of("meshes/large.obj", ""),),
        "tool": (mesh_of("meshes/corner.stl", ' scale="1e4 1 1"'), "<geometry><cone/></geometry>"),
    }
    urdf = _written(tmp_path, {**LINKS, **wrong})
    (urdf.parent / "meshes/broken.stl").write_bytes(b"solid of nothing" + bytes(range(256)))
    (urdf.parent / "meshes/large.obj").write_bytes(b" " * 2000)
    monkeypatch.setattr(mesh, "MESH", mesh.MESH._replace(largest=1000))
    monkeypatch.setattr(look, "SHOWN_REASONS", 99)
    options = {"locked_joints": {"grip": GRIP}, "ee_link": "tool"}
    model = load_model(urdf, **options)
    seen = read_look(_config(urdf, urdf, **options), model)
    (note,) = seen.notes
    assert note.code == INCOMPLETE
    for text in (
        "the picture alone lacks, of the description: ",
        "meshes/none.stl; valid: a file of ",
        "one (no triangles, or some that are not finite",
        "one (the size (1.0, 0.0, 1.0); valid: no zeros)",
        "bracket (a mesh at https://; valid: package://, file:///, or a path)",
        "two (the file cannot be read (it is larger than 0 KiB)",
        "as far as 3e+03 m; valid: four or more",
        "tool (a geometry that is not known; valid: <mesh>, <box>, <cylinder>, <capsule>, <sphere>)",
    ):
        assert text in note
    assert set(seen.frame.tolist()) == {0, 2}  # the box of the base; the fingers
    monkeypatch.setattr(look, "SHOWN_REASONS", 1)
    assert read_look(_config(urdf, urdf, **options), model).notes[0].endswith(", 6 more")


def test_files_of_a_robot_are_bounded_in_all_and_so_are_its_visuals(
    urdf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"locked_joints": {"grip": GRIP}, "ee_link": "tool"}
    monkeypatch.setattr(look, "MOST_BYTES", 300)
    monkeypatch.setattr(look, "MOST_VISUALS", 4)
    (note,) = read_look(_config(urdf, urdf, **options), load_model(urdf, **options)).notes
    assert "(one mesh too many; valid: 0 MiB in all)" in note and note.endswith("3 visuals too many")
    monkeypatch.setattr(look, "MOST_VERTICES", 8)  # a mesh has four, the box eight
    seen = read_look(_config(urdf, urdf, **options), load_model(urdf, **options))
    assert len(seen.frame) == 4 and seen.notes[0].endswith("5 visuals too many")


def test_a_missing_library_is_named_and_ends_nothing(urdf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trimesh", None)
    options = {"locked_joints": {"grip": GRIP}, "ee_link": "tool"}
    mesh._read.cache_clear()
    seen = read_look(_config(urdf, urdf, **options), load_model(urdf, **options))
    assert seen.frame.size == 0 and "trimesh is not installed; valid: pip install" in seen.notes[0]


def test_a_look_is_kept_beside_the_run_and_is_no_other_runs(urdf: Path, tmp_path: Path) -> None:
    trace = make_trace()
    options = {"locked_joints": {"grip": GRIP}, "ee_link": "tool"}
    run = RunResult("run", trace, None, make_frames(trace), {}, (), "0", None)  # type: ignore[arg-type]
    assert look_of(run, tmp_path) is NO_LOOK
    seen = look_of(replace(run, origin=(_config(urdf, urdf, **options), load_model(urdf, **options))), tmp_path)
    np.testing.assert_array_equal(look_of(run, tmp_path).vertices, seen.vertices)
    with pytest.raises(ScenarioError, match="a look of other frames"):
        Arm.of("run", trace, make_frames(trace), make_look([(5, Mesh(CORNERS, np.array(SIDES)))]))
    replace(seen, missing=np.array(["x"])).save(look_file(tmp_path, "run"))
    assert look_of(run, tmp_path).notes == ("x",)
    np.savez(look_file(tmp_path, "run"), **(vars(seen) | {"faces": seen.faces + 10**6}))
    with pytest.raises(ScenarioError, match="vertices and faces do not fit"):
        look_of(run, tmp_path)


def test_links_that_are_seen_have_no_capsules() -> None:
    trace = make_trace()
    bare, corner = Arm.of("run", trace, make_frames(trace)), Mesh(CORNERS, np.array(SIDES))
    arm = Arm.of("run", trace, make_frames(trace), make_look([(0, corner), (2, corner), (2, corner)]))
    assert bare.bones().tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert arm.bones().tolist() == [[1, 2], [3, 4]] and arm.bones(bare=False).tolist() == bare.bones().tolist()
    assert len(bare.joints(0)) == 3 and len(arm.joints(0)) == 2
    np.testing.assert_allclose(arm.body(5)[8:12], CORNERS + arm.frames.position[5, 2], atol=1e-7)
