"""MJCF → the records of links and joints that URDF is read into: what MuJoCo compiles of a file, not its text.

A body with several joints becomes a chain of links without mass; a body without one is fixed to its parent; a site is a
link without mass that is fixed to its body, so that it may be the end effector. The frame of a link with a joint is the
body's, moved to the anchor of the joint. Springs, fluids, tendons and loops are no part of a tree of rigid links: one
warning says which of them a file has.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from lxml import etree

from thunder_controllers.simulation.plants.mujoco_model import body_inertia
from thunder_dynamics.errors import RobotFileError, UnusedElementWarning, listed
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.joints import Coupling, Limits, Pose
from thunder_dynamics.locking import Shape
from thunder_dynamics.readers.urdf_elements import UrdfJoint, UrdfLink, UrdfRobot, parse_xml
from thunder_dynamics.spatial import rotation_from_quaternion
from thunder_dynamics.storage.door import read_text

FILES = ("file", "meshdir", "texturedir", "assetdir", "fileup", "fileback", "filedown", "filefront", "fileleft")
"""Attributes of MJCF that name files and folders."""

LINEAR_TERMS = 2
"""Coefficients of a coupling between joints that a mimic joint has: an offset and a multiplier."""

AGREES = 1e-9
"""Largest coefficient of another term that counts as none [1]."""


def read_mjcf(path: Path) -> UrdfRobot:
    """Read a file of MuJoCo, with what it includes and its meshes, all of them in its folder or beside it.

    Raises:
        RobotFileError: for a file that MuJoCo does not compile, that names files elsewhere, or whose joints have no
            counterpart in URDF.
    """
    _check_files(path)
    try:
        model = mujoco.MjSpec.from_file(str(path)).compile()
    except ValueError as error:
        what = f"MuJoCo cannot read it: {' '.join(str(error).split())}"
        raise RobotFileError(what, where=str(path), valid="a file of MuJoCo") from error
    return _Reading(model, str(path)).robot()


def _check_files(main: Path) -> None:
    """Refuse files that lie elsewhere than in the folder of `main` or in one beside it, whichever file names them."""
    near, pending, folders = main.resolve().parent.parent, [main], [main.parent]
    named: list[tuple[str, str, str]] = []
    for path in pending:  # grows meanwhile
        for element in parse_xml(read_text(path, RobotFileError), str(path)).iter(etree.Element):
            where = f"{path}:{element.sourceline}: <{element.tag}>"
            given = [(where, name, value) for name in FILES if (value := element.get(name)) is not None]
            named += given
            folders += [main.parent / value for _, name, value in given if name.endswith("dir")]
            if element.tag == "include":
                places = (folder / value for folder in (main.parent, path.parent) for *_, value in given)
                inside = (place for place in places if place.resolve().is_relative_to(near) and place.is_file())
                pending += [place for place in inside if place not in pending]
    for where, name, value in named:
        if os.path.isabs(value) or not all((folder / value).resolve().is_relative_to(near) for folder in folders):
            raise RobotFileError(f"{name}={value!r}", where=where, valid="a path in this folder or one beside it")


class _Reading:
    """Reads a compiled model.

    Args:
        model: Of MuJoCo.
        where: Names the file in messages.
    """

    def __init__(self, model: Any, where: str) -> None:
        self.m, self.where = model, where
        self.links: dict[str, UrdfLink] = {}
        self.joints: dict[str, UrdfJoint] = {}
        self.frames: list[tuple[str, Pose]] = []  # the link of each body, and the body's frame in it
        self.shapes: list[Shape] = []

    def robot(self) -> UrdfRobot:
        m = self.m
        self._add_link("world", Inertia())
        self.frames.append(("world", Pose()))
        objects = self._objects()
        for body in range(1, m.nbody):
            if m.body_rootid[body] in objects:
                self.frames.append(("", Pose()))
            else:
                self._add_body(body)
        for geom in range(m.ngeom):
            if self.frames[m.geom_bodyid[geom]][0]:
                self.shapes += self._shapes_of(geom)
        for site in range(m.nsite):
            link, frame = self.frames[m.site_bodyid[site]]
            if not link:
                continue
            name = self._unique(m.site(site).name or f"site_{site}", "site")
            self._add_link(name, Inertia())
            self._add_joint(f"{name}_fixed", "fixed", link, name, frame @ _pose(m.site_pos[site], m.site_quat[site]))
        left = [*(m.body(body).name or f"body_{body}" for body in objects), *self._couple(), *self._springs()]
        if m.opt.density or m.opt.viscosity:
            left.append("a fluid")
        notes = [(UnusedElementWarning, f"{self.where}: left out of the model: {listed(left)}")] if left else []
        name = os.fsdecode(m.names[: m.names.index(b"\0")])
        x, y, z = (float(value) for value in m.opt.gravity)
        return UrdfRobot(name, self.links, self.joints, self.where, tuple(notes), (x, y, z), lambda: (self.shapes, []))

    def _objects(self) -> list[int]:
        """Bodies that lie about in a scene: each moves freely, and nothing moves on it."""
        m, free = self.m, mujoco.mjtJoint.mjJNT_FREE
        roots = {int(m.body_rootid[m.jnt_bodyid[joint]]) for joint in range(m.njnt) if m.jnt_type[joint] == free}
        jointed = {int(m.body_rootid[m.jnt_bodyid[joint]]) for joint in range(m.njnt) if m.jnt_type[joint] != free}
        return sorted(roots - jointed)

    def _unique(self, name: str, kind: str) -> str:
        return f"{name}_{kind}" if name in self.links else name

    def _add_link(self, name: str, inertia: Inertia) -> None:
        self.links[name] = UrdfLink(name, inertia, f"{self.where}: {name}")

    def _add_joint(self, name: str, kind: str, parent: str, child: str, origin: Pose, **more: Any) -> None:
        axis = more.pop("axis", (1.0, 0.0, 0.0))
        self.joints[name] = UrdfJoint(name, kind, parent, child, origin, axis, f"{self.where}: {name}", **more)

    def _add_body(self, body: int) -> None:
        m = self.m
        name = self._unique(m.body(body).name or f"body_{body}", "body")
        parent, above = self.frames[m.body_parentid[body]]
        place = above @ _pose(m.body_pos[body], m.body_quat[body])
        first, count = m.body_jntadr[body], m.body_jntnum[body]
        anchor = Pose()
        for index, joint in enumerate(range(first, first + count)):
            child = name if index == count - 1 else f"{name}_{index}"
            at = Pose(translation=m.jnt_pos[joint])
            origin = place if index == 0 else Pose(translation=-anchor.translation)
            self._add_moving(joint, parent, child, origin @ at)
            if child != name:
                self._add_link(child, Inertia())
            parent, anchor = child, at
        if count == 0:
            self._add_joint(f"{name}_fixed", "fixed", parent, name, place)
        frame = Pose(translation=-anchor.translation)
        inertia = body_inertia(m, body).transformed(frame.rotation, frame.translation)
        self._add_link(name, inertia)
        self.frames.append((name, frame))

    def _add_moving(self, joint: int, parent: str, child: str, origin: Pose) -> None:
        m, kinds = self.m, mujoco.mjtJoint
        name, kind, dof = m.joint(joint).name or f"joint_{joint}", m.jnt_type[joint], m.jnt_dofadr[joint]
        if kind == kinds.mjJNT_FREE:
            self._add_joint(name, "floating", parent, child, Pose())
            return
        if kind == kinds.mjJNT_BALL:
            where = f"{self.where}: joint {name}"
            raise RobotFileError("a ball joint", where=where, valid="hinges, slides and free joints")
        axis, start = m.jnt_axis[joint], m.qpos0[m.jnt_qposadr[joint]]
        is_hinge = kind == kinds.mjJNT_HINGE
        back = Pose(_turn(axis, -start)) if is_hinge else Pose(translation=-start * axis)
        lower, upper = m.jnt_range[joint] if m.jnt_limited[joint] else (-np.inf, np.inf)
        effort = self._effort(joint)
        self._add_joint(
            name,
            "revolute" if is_hinge else "prismatic",
            parent,
            child,
            origin @ back,
            axis=tuple(float(value) for value in axis),
            limits=Limits(float(lower), float(upper), effort=effort),
            damping=float(m.dof_damping[dof]),
            friction=float(m.dof_frictionloss[dof]),
            rotor_inertia=float(m.dof_armature[dof]) or None,
        )

    def _effort(self, joint: int) -> float:
        """Largest effort that actuators give a joint, within the joint's own range of forces [N·m or N]."""
        m = self.m
        most, found = 0.0, False
        for i in range(m.nu):
            if m.actuator_trntype[i] != mujoco.mjtTrn.mjTRN_JOINT or m.actuator_trnid[i, 0] != joint:
                continue
            found, force = True, np.inf
            if m.actuator_forcelimited[i]:
                force = np.abs(m.actuator_forcerange[i]).max()
            is_motor = m.actuator_biastype[i] == mujoco.mjtBias.mjBIAS_NONE
            if m.actuator_ctrllimited[i] and is_motor and m.actuator_gaintype[i] == mujoco.mjtGain.mjGAIN_FIXED:
                force = min(force, abs(m.actuator_gainprm[i, 0]) * np.abs(m.actuator_ctrlrange[i]).max())
            most += abs(m.actuator_gear[i, 0]) * force
        own = np.abs(m.jnt_actfrcrange[joint]).max() if m.jnt_actfrclimited[joint] else np.inf
        limit = min(most if found else np.inf, own)
        return float(limit) if limit > 0.0 else np.inf

    def _couple(self) -> Iterator[str]:
        """Couple joints that an equality couples linearly; names of other constraints are given back."""
        m, kinds = self.m, mujoco.mjtEq
        for i in range(m.neq):
            name = m.equality(i).name or f"equality {i}"
            first, second = m.eq_obj1id[i], m.eq_obj2id[i]
            if m.eq_type[i] != kinds.mjEQ_JOINT or second < 0:
                yield name
                continue
            terms = m.eq_data[i, :5]
            follower, leader = (m.joint(k).name or f"joint_{k}" for k in (first, second))
            if np.abs(terms[LINEAR_TERMS:]).max() > AGREES or self.joints[leader].mimic is not None:
                yield name
                continue
            at = [float(m.qpos0[m.jnt_qposadr[k]]) for k in (first, second)]
            offset = at[0] + float(terms[0]) - float(terms[1]) * at[1]
            coupling = Coupling(leader, float(terms[1]), offset)
            self.joints[follower] = replace(self.joints[follower], mimic=coupling)

    def _springs(self) -> Iterable[str]:
        m = self.m
        stiff = [m.joint(k).name or f"joint_{k}" for k in range(m.njnt) if m.jnt_stiffness[k]]
        lifted = [m.body(k).name for k in range(m.nbody) if m.body_gravcomp[k]]
        yield from (f"the spring of {name}" for name in stiff)
        if lifted:
            yield f"gravcomp of {listed(lifted)}"
        if m.ntendon:
            yield f"{m.ntendon} tendons"

    def _shapes_of(self, geom: int) -> Iterator[Shape]:
        """What a geom looks like, and what it touches with; planes and height fields belong to no arm."""
        m, kinds = self.m, mujoco.mjtGeom
        link, frame = self.frames[m.geom_bodyid[geom]]
        place, size = frame @ _pose(m.geom_pos[geom], m.geom_quat[geom]), m.geom_size[geom]
        forms: dict[Any, tuple[str, tuple[float, ...]]] = {
            kinds.mjGEOM_BOX: ("box", tuple(2.0 * size)),
            kinds.mjGEOM_SPHERE: ("sphere", (size[0],)),
            kinds.mjGEOM_CYLINDER: ("cylinder", (size[0], 2.0 * size[1])),
            kinds.mjGEOM_CAPSULE: ("capsule", (size[0], 2.0 * size[1])),
        }
        file, kind = "", int(m.geom_type[geom])
        if kind == kinds.mjGEOM_MESH:
            mesh = m.geom_dataid[geom]
            own = _pose(m.mesh_pos[mesh], m.mesh_quat[mesh])  # MuJoCo keeps a mesh in the axes of its inertia
            back = own.rotation.T
            place = place @ Pose(back, -back @ own.translation)
            start = m.mesh_pathadr[mesh]
            if start < 0:
                return
            file = os.fsdecode(m.paths[start : m.paths.index(b"\0", start)])
            form, numbers = "mesh", tuple(m.mesh_scale[mesh])
        elif kind in forms:
            form, numbers = forms[kind]
        else:
            return
        touches = bool(m.geom_contype[geom] or m.geom_conaffinity[geom])
        numbers = tuple(float(value) for value in numbers)
        if touches:
            yield Shape(link, True, place, form, numbers, file)
        if not touches or m.geom_group[geom] < 3:
            yield Shape(link, False, place, form, numbers, file)


def _pose(position: Any, quaternion: Any) -> Pose:
    """Pose of MuJoCo's position and quaternion w, x, y, z."""
    w, x, y, z = quaternion
    return Pose(np.asarray(rotation_from_quaternion(x, y, z, w), dtype=float), position)


def _turn(axis: Any, angle: float) -> Any:
    half = 0.5 * angle
    x, y, z = np.sin(half) * np.asarray(axis)
    return np.asarray(rotation_from_quaternion(x, y, z, np.cos(half)), dtype=float)
