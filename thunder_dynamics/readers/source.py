"""What all readers share: their options, and the check of a link's inertia."""

from __future__ import annotations

import keyword
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from thunder_dynamics.errors import (
    InconsistentInertiaWarning,
    InertiaError,
    ModelError,
    NameNotFoundError,
    PlaceholderWarning,
    RobotFileError,
    SnappedAnglesWarning,
    UnusedInertiaWarning,
    listed,
    nearest,
    option,
)
from thunder_dynamics.inertia import FloatArray, Inertia
from thunder_dynamics.joints import JointKind, Limits
from thunder_dynamics.locking import lock_joints, locked_pose
from thunder_dynamics.model import (
    C_KEYWORDS,
    ENTITY_NAMES,
    IDENTIFIER,
    Drive,
    Frame,
    Joint,
    Pose,
    RobotModel,
    is_entity_name,
    plain_name,
)
from thunder_dynamics.readers.fields import Strict, complaint
from thunder_dynamics.readers.limits import NUMBER
from thunder_dynamics.readers.yaml_text import parse_yaml
from thunder_dynamics.spatial import SNAP, cos_sin, rot_x, rot_z, rotation_from_ypr, ypr_from_rotation
from thunder_dynamics.storage.door import read_text

Finite = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-NUMBER, le=NUMBER)]
"""A finite number; integers count, texts and booleans do not."""

NonNegative = Annotated[Finite, Field(ge=0.0)]
"""The same, zero or more."""

Position = Annotated[
    tuple[Finite, ...],
    BeforeValidator(lambda at: at if isinstance(at, Sequence) and not isinstance(at, str) else (at,)),
    Field(strict=False, min_length=1),
]
"""Of a joint: one number, or all of its configuration."""


class ReaderOptions(BaseModel):
    """Options that every reader of ours takes.

    Args:
        name: Name of the robot, instead of the one that the file gives.
        allow_inconsistent: Warn of inertias that no rigid body has, instead of raising.
        locked_joints: Joints to hold at a position [rad] or [m], by name, those with several values at a list of them
            (`joints`); what follows one is held with it. See `locking`.
        without_rotors: Rotors are known to be zero, as in a simulator that has none, whatever the file says.
        rotor_inertias: Of joints by name [kg·m² or kg], reflected: those that the file does not have, or others.
        snap_angles: Angles of frames within `ROUNDED` of a multiple of a right angle are that multiple.
        drives: File with rotors, friction and offsets of joints, as `thunder commission` writes it; see `read_drives`.
        gravity: g₀ in the frame of the base link, as it is given, whatever the file says [m/s²]; default: the file's,
            or 9.81 m/s² down in the root of a URDF, turned by the joints between root and base link.
        arm: Select the arm and hold all other joints, as `select_arm` does; a file of DH parameters is an arm.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True, defer_build=True)

    name: str | None = None
    allow_inconsistent: bool = False
    locked_joints: Mapping[str, Position] = Field(default_factory=dict)
    without_rotors: bool = False
    rotor_inertias: Mapping[str, NonNegative] = Field(default_factory=dict)
    drives: str | PathLike[str] | None = None
    gravity: Annotated[tuple[Finite, Finite, Finite], Field(strict=False)] | None = None
    arm: bool = False
    snap_angles: bool = False

    def reduced(self, model: RobotModel, positions: Mapping[str, Any], where: str) -> RobotModel:
        """The model with joints held at positions, and with the gravity, drives and rotors of these options.

        Raises:
            NameNotFoundError: for a joint to lock that there is not, or of a rotor or a drive.
            RobotFileError: for a position, a rotor or a file of drives that it cannot have, naming `where`.
        """
        if self.snap_angles and (exact := snapped(model)) is not model:
            what = f"angles within {ROUNDED:g} rad of a right angle are right angles, as snap_angles says"
            warnings.warn(f"{where}: {what}", SnappedAnglesWarning, stacklevel=3)
            model = exact
        try:
            locked = lock_joints(model, positions)
            locked = locked if self.gravity is None else replace(locked, gravity=self.gravity)
            return self._with_rotors(locked if self.drives is None else locked.with_drives(read_drives(self.drives)))
        except ModelError as error:
            raise relocated(error, where) from error

    def _with_rotors(self, model: RobotModel) -> RobotModel:
        if self.without_rotors:
            rigid = (link.joint for link in model.links if link.joint.is_single and not link.joint.elastic)
            kept = {group: mask for group, mask in model.symbolic.items() if group != "par_Ia"}
            model = replace(model, symbolic=kept).with_rotor_inertias({joint.name: 0.0 for joint in rigid})
        return model.with_rotor_inertias(self.rotor_inertias) if self.rotor_inertias else model


def dh_placement(a: float, alpha: float, d: float, theta: float) -> Pose:
    """Trans_x(a) Rot_x(alpha) Trans_z(d) Rot_z(theta), for numbers in m and rad."""
    c, s = cos_sin(alpha)
    return Pose(rot_x(alpha) @ rot_z(theta), np.array([a, -s * d, c * d]))


ROUNDED = 1e-4
"""What an angle that a file has with five digits is off by at most [rad]."""


def snapped(model: RobotModel) -> RobotModel:
    """Return the model with angles of its frames within `ROUNDED` of a multiple of π/2 there; itself if none is.

    Zeros and ones of right angles cost no operations: 1.5708 in a file doubles those of M and C.
    """

    def angle(value: float) -> float:
        right = round(value / (math.pi / 2.0)) * (math.pi / 2.0)
        return right if abs(value - right) < ROUNDED else value

    def frame(one: Frame) -> Frame:
        yaw, pitch, roll = map(angle, one.ypr)
        return replace(one, ypr=(yaw, pitch, roll))

    def joint(one: Joint) -> Joint:
        if one.dh is not None:
            a, alpha, d, theta = one.dh
            row = (a, angle(alpha), d, angle(theta))
            return replace(one, dh=row, placement=dh_placement(*row)) if row != one.dh else one
        place = one.placement
        exact = rotation_from_ypr(*map(angle, ypr_from_rotation(place.rotation)))
        moved = np.abs(exact - place.rotation).max()
        return replace(one, placement=Pose(exact, place.translation)) if moved > SNAP else one

    joints = [joint(link.joint) for link in model.links]
    frames = frame(model.base), frame(model.ee)
    if frames == (model.base, model.ee) and all(x is link.joint for x, link in zip(joints, model.links, strict=True)):
        return model
    links = tuple(replace(link, joint=x) for x, link in zip(joints, model.links, strict=True))
    return replace(model, links=links, base=frames[0], ee=frames[1])


DRIVES = ("/**/drives", "ros__parameters")
"""Place of the drives in their file, which ROS reads as parameters."""


class DriveEntry(Strict):
    """What a file says of a joint's drive, see `Drive`, with standard deviations and the gain, which nobody reads."""

    rotor: NonNegative | None = None
    rotor_std: NonNegative | None = None
    viscous: NonNegative | None = None
    viscous_std: NonNegative | None = None
    coulomb: NonNegative | None = None
    coulomb_std: NonNegative | None = None
    offset: Finite | None = None
    offset_std: NonNegative | None = None
    gain: NonNegative | None = None
    gain_std: NonNegative | None = None


def read_drives(path: str | PathLike[str]) -> dict[str, Drive]:
    """Read the drives of joints by name from the section `DRIVES` of a file.

    Raises:
        RobotFileError: if the file cannot be read, has no such section, or says what no drive can be.
    """
    document = parse_yaml(read_text(Path(path), RobotFileError), str(path))
    data: Any = document.data
    for key in DRIVES:
        data = data.get(key) if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping):
        raise RobotFileError("no drives", where=str(path), valid=f"the section {': '.join(DRIVES)}, joints by name")
    found = {}
    for joint, entry in data.items():
        try:
            checked = DriveEntry.model_validate(entry)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            what, valid = complaint(first)
            place = (*DRIVES, joint, *first["loc"])
            raise RobotFileError(what, where=document.where(place), valid=valid) from error
        found[joint] = Drive(checked.rotor, checked.viscous, checked.coulomb, checked.offset)
    return found


Options = TypeVar("Options", bound=ReaderOptions)


def take_options(kind: type[Options], options: Mapping[str, Any], where: str) -> Options:
    """Check a reader's options.

    Raises:
        NameNotFoundError: for an option the reader does not take, naming those it takes.
        RobotFileError: for a value of the wrong kind.
    """
    unknown = [key for key in options if key not in kind.model_fields]
    if unknown:
        valid = nearest(option(unknown[0]), [option(name) for name in kind.model_fields])
        raise NameNotFoundError(f"no option '{option(unknown[0])}'", where=where, valid=valid)
    try:
        return kind(**options)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(str(part) for part in first["loc"])
        raise RobotFileError(f"option '{path}' is {first['input']!r}", where=where, valid=first["msg"]) from error


def settle_first_links(
    model: RobotModel, where: Mapping[str, str], held: Mapping[str, Any] | None = None
) -> RobotModel:
    """Replace inertias that no rigid body has where only their moment about a fixed axis acts, and warn once.

    Of the inertia I about the CoM of a link that turns about one direction n alone, such as the first one of an arm,
    only nᵀ I n acts, so it becomes (nᵀ I n) 1; for a link that does not turn, n = 0. M, C and G stay as the file says.

    Args:
        model: May have a floating base, whose links turn about any direction.
        where: Place in the file of every link, by name.
        held: Where joints are that do not move, by name.
    """
    directions: list[FloatArray | None] = []  # n in the frame of each link; None: several
    settled: dict[str, Inertia] = {}
    for link in model.links:
        above, joint, body = np.zeros(3) if link.parent < 0 else directions[link.parent], link.joint, link.inertia
        direction = None
        if above is not None and held is not None and joint.name in held:
            still = replace(joint, limits=Limits())
            direction = locked_pose(still, held[joint.name], model.name).rotation.T @ above
        elif above is not None and joint.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC):
            direction = joint.placement.rotation.T @ above
            if joint.kind is JointKind.REVOLUTE:
                is_one = np.linalg.norm(np.cross(direction, joint.axis)) < SAME_DIRECTION
                direction = np.array(joint.axis) if is_one else None
        directions.append(direction)
        moment = -1.0 if direction is None else float(direction @ body.inertia_com @ direction)
        if body.mass >= 0.0 and moment >= 0.0 and not body.is_consistent:
            settled[link.name] = Inertia(body.mass, body.com, moment * np.eye(3))
    if settled:
        names = listed(list(settled))
        what = (
            f"the inertia of {names} is no rigid body's; only its moment about the axis that the link turns about acts"
        )
        warnings.warn(f"{where[next(iter(settled))]}: {what}", UnusedInertiaWarning, stacklevel=3)
    for name, inertia in settled.items():
        model = model.with_inertia(name, inertia)
    return model


SAME_DIRECTION = 1e-9
"""Sine of the angle between axes that count as parallel."""


def check_bodies(bodies: Iterable[tuple[str, str, Inertia]], allow_inconsistent: bool) -> None:
    """Raise unless rigid bodies have these parameters: one complaint of them all, or if allowed one warning.

    Args:
        bodies: Name, place in the file and inertia of what moves as one body in the model.
        allow_inconsistent: Warn only.

    Raises:
        InertiaError: naming what the first one violates, and the others.
    """
    wrong: list[tuple[str, InertiaError]] = []
    for name, where, inertia in bodies:
        try:
            inertia.check_consistent(where)
        except InertiaError as error:
            wrong.append((name, error))
    if not wrong:
        return
    first, others = wrong[0][1], [name for name, _ in wrong[1:]]
    what = first.what + (f"; {len(others)} more inertias that no rigid body has: {listed(others)}" if others else "")
    if not allow_inconsistent:
        raise InertiaError(what, where=first.where, valid=f"{first.valid}, or {option('allow_inconsistent')}")
    warnings.warn(str(InertiaError(what, where=first.where)), InconsistentInertiaWarning, stacklevel=2)


def note_placeholders(bodies: Sequence[tuple[str, str]]) -> None:
    """Warn once of inertias that stand for ones that nobody has measured: name and place of each."""
    if bodies:
        names = listed([name for name, _ in bodies])
        what = f"placeholders for inertias: {names}, all six entries equal, as no rigid body has them"
        warnings.warn(f"{bodies[0][1]}: {what}; what is computed of them is no arm's", PlaceholderWarning, stacklevel=2)


def check_entity_name(name: str, kind: str, where: str) -> None:
    """Raise `RobotFileError` unless a link or joint may be called `name`."""
    if not is_entity_name(name):
        raise RobotFileError(f"{kind} name {name!r}", where=where, valid=ENTITY_NAMES)


def robot_identifier(name: str) -> str:
    """The C identifier for the name that a file gives its robot: `my-arm 2` is my_arm_2, `7dof` robot_7dof."""
    words = plain_name(name)[:50].rstrip("_")
    if not words:
        return "robot"
    is_reserved = words in C_KEYWORDS or keyword.iskeyword(words)
    return words if IDENTIFIER.fullmatch(words) and not is_reserved else f"robot_{words}"


def relocated(error: ModelError, where: str) -> RobotFileError:
    """The same complaint as `error`, at a place in a file."""
    return RobotFileError(error.what, where=where, valid=error.valid)
