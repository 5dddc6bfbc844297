"""What an arm looks like: the visual meshes and shapes of a URDF, in the frames of the links of the model that runs.

The model has other frames than the URDF has links: fixed and locked joints are merged, and the robot of a run may be
another file than the URDF that its plant is made of. A link of the URDF is seen with the frame that its last moving
joint moves; where it is in that frame is what both kinematics say, at several positions of the joints, where it has to
be the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.fields import FloatArray
from thunder_controllers.host import Note
from thunder_controllers.mesh import Mesh, find_file, make_shape, read_mesh, scaled
from thunder_controllers.simulation.experiment import RunResult, look_file
from thunder_controllers.simulation.scenario import DESCRIPTIONS, RunConfig
from thunder_controllers.simulation.trace import Archive
from thunder_dynamics.errors import ScenarioError, ThunderError, listed
from thunder_dynamics.joints import Pose
from thunder_dynamics.locking import Assembly, Shape, draw_positions, link_poses
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import exists, read_assembly
from thunder_dynamics.readers.dh_yaml import named_urdf
from thunder_dynamics.spatial import homogeneous
from thunder_dynamics.storage.door import MESH

INCOMPLETE = "look_incomplete"
"""Code of the note that something of an arm is not drawn as its description has it."""

MOST_TRIANGLES, MOST_IN_ALL = 400, 6000
"""Of a mesh, and of all meshes of a robot; a page holds them, and moves their vertices."""

MOST_VISUALS, MOST_VERTICES = 200, 8000
"""That are drawn, and of all of them; arms have ten of 2000 vertices, robots of two arms a hundred of 5000.

A page keeps the vertices at each of 900 times, for two runs 170 MB.
"""

MOST_BYTES = 4 * MESH.largest
"""Of all mesh files of a robot: they are read in three seconds."""

SHOWN_REASONS = 3
"""Of a note."""

PROBES, APART = 3, 1e-3
"""Positions of the joints at which kinematics are compared, and what poses may differ by [m, 1]."""


@dataclass(frozen=True)
class Look(Archive):
    """Triangles that move with the frames of an arm; none where nothing but its frames is known of it."""

    vertices: NDArray[np.float32]  #: In their frame [m], (V, 3).
    faces: NDArray[np.int32]  #: Indices of vertices, counter-clockwise from outside, (F, 3).
    frame: NDArray[np.int32]  #: Index of the frame of each vertex in `Frames`, (V,).
    missing: NDArray[np.str_]  #: What is not drawn, and why, at most one sentence.

    def __post_init__(self) -> None:
        fits = self.vertices.shape == (len(self.frame), 3) and self.faces.ndim == 2 and self.faces.shape[1] == 3
        if not fits or self.faces.size and not 0 <= self.faces.min() <= self.faces.max() < len(self.frame):
            raise ScenarioError("vertices and faces do not fit", where="look", valid="what `thunder run` writes")

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is not drawn, and why."""
        return tuple(Note(INCOMPLETE, text) for text in self.missing.tolist())

    def parts(self) -> dict[int, Mesh]:
        """The triangles of each frame that has some, in it."""
        found = {}
        for frame in np.unique(self.frame).tolist():
            used = np.flatnonzero(self.frame == frame)
            faces = self.faces[np.isin(self.faces[:, 0], used)]
            found[frame] = Mesh(self.vertices[used].astype(np.float64), np.searchsorted(used, faces))
        return found

    def places(self, position: FloatArray, rotation: FloatArray) -> FloatArray:
        """Where the vertices are [m], (V, 3), with the frames at positions (F, 3), turned by rotations (F, 3, 3)."""
        turned = np.einsum("vij,vj->vi", rotation[self.frame], self.vertices)
        return np.asarray(turned + position[self.frame], dtype=np.float64)


def make_look(parts: Sequence[tuple[int, Mesh]], missing: Sequence[str] = ()) -> Look:
    """Join meshes, each with the index of its frame."""
    starts = np.cumsum([0, *(len(mesh.vertices) for _, mesh in parts)])
    faces = [mesh.faces + start for start, (_, mesh) in zip(starts[:-1], parts, strict=True)]
    return Look(
        np.concatenate([np.zeros((0, 3)), *(mesh.vertices for _, mesh in parts)]).astype(np.float32),
        np.concatenate([np.zeros((0, 3)), *faces]).astype(np.int32),
        np.repeat([frame for frame, _ in parts], np.diff(starts)).astype(np.int32),
        np.array(missing, dtype=np.str_),
    )


NO_LOOK = make_look([])


def look_of(run: RunResult, folder: Path) -> Look:
    """The look of a run that was written into a folder: read once from the robot's files, and kept there.

    Raises:
        ScenarioError: if what is kept there is damaged.
        OSError: if it cannot be kept.
    """
    file = look_file(folder, run.name)
    if file.is_file():
        return Look.load(file)
    if run.origin is None:
        return NO_LOOK
    look = read_look(*run.origin)
    look.save(file)
    return look


def read_look(config: RunConfig, model: RobotModel) -> Look:
    """Read what the robot of a run looks like; what cannot be read is left out, and said.

    Args:
        config: Of the run; its robot is a URDF, a YAML file that names one, or else that of the plant may be one.
        model: Its robot, whose frames are drawn.
    """
    try:
        source = _source(config)
        return NO_LOOK if source is None else _read(source, model)
    except ThunderError as error:
        return make_look([], [f"the arm is drawn without its visuals: {error}"])


class _Source(NamedTuple):
    """A file of links and joints, how it is read, and the pose of its world in that of the robot."""

    file: Path
    options: Mapping[str, Any]
    world: Pose


def _source(config: RunConfig) -> _Source | None:
    robot, plant = Path(config.robot), config.plant
    if robot.suffix in DESCRIPTIONS:
        named = {} if config.ee_link is None else {"ee_link": config.ee_link}
        return _Source(robot, {**config.robot_options, **named}, Pose())
    locked = config.robot_options.get("locked_joints", {})
    if robot.suffix in (".yaml", ".yml") and exists(robot) and (found := named_urdf(robot)) is not None:
        file, options, world = found
        return _Source(file, {**options, "locked_joints": locked}, world)
    if Path(plant.urdf).suffix not in DESCRIPTIONS:
        return None
    locked = locked if plant.locked_joints is None else plant.locked_joints
    options = {"xacro_args": plant.xacro_args, "packages": plant.packages, "locked_joints": locked}
    return _Source(Path(plant.urdf), options, Pose())


def _read(source: _Source, model: RobotModel) -> Look:
    links = read_assembly(source.file, source.options)
    places = find_places(links, model, source.world)
    visuals = (one for one in links.shapes if not one.collides and one.link in places)
    seen = sorted(visuals, key=lambda one: places[one.link][0] == 0)
    reasons: list[tuple[str, ThunderError]] = [(link, error) for link, error in links.unread if link in places]
    most = min(MOST_TRIANGLES, MOST_IN_ALL // max(sum(one.kind == "mesh" for one in seen[:MOST_VISUALS]), 1))
    parts, left, room, beyond = [], MOST_BYTES, MOST_VERTICES, max(len(seen) - MOST_VISUALS, 0)
    for one in seen[:MOST_VISUALS]:
        frame, pose = places[one.link]
        try:
            mesh, size = _triangles(one, source, most, left)
        except ThunderError as error:
            reasons.append((one.link, error))
            continue
        left -= size
        if len(mesh.vertices) > room:
            beyond += 1
            continue
        room -= len(mesh.vertices)
        place = pose @ homogeneous(one.origin.rotation, one.origin.translation)
        parts.append((frame, Mesh(mesh.vertices @ place[:3, :3].T + place[:3, 3], mesh.faces)))
    return make_look(parts, list(_sentences(reasons, beyond)))


def _triangles(one: Shape, source: _Source, most: int, left: int) -> tuple[Mesh, int]:
    """Triangles of a visual about its origin, and the bytes of its file."""
    if one.kind != "mesh":
        return scaled(make_shape(one.kind, one.size), (1.0, 1.0, 1.0)), 0
    file = find_file(one.file, source.file, source.options.get("packages", {}))
    size = file.stat().st_size if exists(file) else 0
    if size > left:
        raise ScenarioError("one mesh too many", where=str(file), valid=f"{MOST_BYTES >> 20} MiB in all")
    return scaled(read_mesh(file, most), one.size), size


def _sentences(reasons: Sequence[tuple[str, ThunderError]], beyond: int) -> Iterator[str]:
    """What is not drawn, and why, in one sentence, if there is something."""
    by_reason: dict[str, list[str]] = {}
    for link, error in reasons:
        valid = "" if error.valid is None else f"; valid: {error.valid}"
        known = by_reason.setdefault(f"{error.what}{valid}", [])
        if link not in known:
            known.append(link)
    texts = [f"{listed(links)} ({reason})" for reason, links in by_reason.items()]
    more = [f"{len(texts) - SHOWN_REASONS} more"] if len(texts) > SHOWN_REASONS else []
    more += [f"{beyond} visuals too many"] if beyond else []
    if texts or more:
        yield f"the picture alone lacks, of the description: {', '.join(texts[:SHOWN_REASONS] + more)}"


def find_places(links: Assembly, model: RobotModel, world: Pose) -> dict[str, tuple[int, FloatArray]]:
    """Index of the frame that each link of a URDF moves with, and the link's pose in it (4, 4).

    Args:
        links: Of the URDF, joints held as in the model.
        model: Whose frames are the base, then those of its links.
        world: Pose of the URDF's world in that of the model.

    Raises:
        ScenarioError: if the URDF moves otherwise than the model does.
    """
    random = np.random.default_rng(0)
    ours, theirs = [], []
    for _ in range(PROBES):
        q = draw_positions(model, random)
        ours.append([model.base.pose, *link_poses(model, q)])
        theirs.append([world, *(world @ pose for pose in link_poses(links.model, {**q, **links.held}))])
    moved = {name: index for index, name in enumerate(model.joint_names, 1)}
    frames = [0]
    for link in links.model.links:
        above, joint = frames[link.parent + 1], link.joint.name
        frames.append(above if joint in links.held else moved.get(joint, -1))
    names = (links.base, *links.model.link_names)
    T, T_link = (np.array([[homogeneous(p.rotation, p.translation) for p in row] for row in x]) for x in (ours, theirs))
    poses = np.linalg.inv(T[:, frames]) @ T_link
    if -1 in frames or np.ptp(poses, axis=0).max() > APART:
        what = f"its links move otherwise than those of {model.name}"
        raise ScenarioError(what, where=links.model.source, valid="the same kinematics")
    return {name: (frame, pose) for name, frame, pose in zip(names, frames, poses[0], strict=True)}
