"""The robot YAML's schema, versions 0.2 and 0.3, as types: which keys there are and what each may hold; and 0.1 as 0.2.

Lengths that depend on the number of joints are checked by `dh_yaml`. docs/reference/robot-file.md explains every key.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field

from thunder_dynamics.errors import RobotFileError
from thunder_dynamics.model import GRAVITY
from thunder_dynamics.readers.fields import Strict, beyond_a_turn
from thunder_dynamics.readers.source import Finite
from thunder_dynamics.readers.yaml_text import KeyPath, YamlDocument

Flag = Annotated[int, Field(ge=0, le=1)]
"""0: a constant, 1: a run-time parameter."""

Order = Annotated[int, Field(ge=0, le=8)]
"""Number of terms of a polynomial in a velocity or a deflection."""

NonNegative = Annotated[Finite, Field(ge=0.0)]
Three = Annotated[tuple[Finite, Finite, Finite], Field(strict=False)]
ThreeFlags = Annotated[list[Flag], Field(min_length=3, max_length=3)]
SixFlags = Annotated[list[Flag], Field(min_length=6, max_length=6)]
TenFlags = Annotated[list[Flag], Field(min_length=10, max_length=10)]
JointType = Literal["R", "P", "R_SEA", "P_SEA"]


class Entry(Strict):
    """A mapping that holds the keys of its class and no others, each of its own type."""

    model_config = ConfigDict(strict=True)


class KinematicsEntry(Entry):
    """One row [a, alpha, d, theta] per joint: Tx(a) Rx(alpha) Tz(d) Rz(theta), or classical: Rz Tz Tx Rx."""

    type: Literal["DH"] = "DH"
    convention: Literal["modified", "classical"] = "modified"
    DH: list[Finite]
    symb: list[Flag] | None = None


class UrdfKinematicsEntry(Entry):
    """A URDF or xacro file, its path from the folder of this one; base and end effector as the reader's options."""

    type: Literal["URDF"]
    urdf_path: str
    base_link: str | None = None
    ee_link: str | None = None


class GravityEntry(Entry):
    """Gravity in the world frame [m/s²]."""

    value: Three = GRAVITY
    symb: ThreeFlags | None = None


def _in_radians(angles: tuple[float, float, float]) -> tuple[float, float, float]:
    """More than a turn is meant in degrees."""
    if wrong := beyond_a_turn(angles):
        raise ValueError("{} (valid: {})".format(*wrong))
    return angles


class FrameEntry(Entry):
    """Translation [m], then yaw, pitch, roll [rad]."""

    tr: Three = (0.0, 0.0, 0.0)
    ypr: Annotated[Three, AfterValidator(_in_radians)] = (0.0, 0.0, 0.0)
    symb: SixFlags | None = None


class InertialEntry(Entry):
    """Mass [kg], CoM [m], inertia about the CoM [kg·m²], along the axes of the DH link frame."""

    mass: NonNegative
    CoM_x: Finite
    CoM_y: Finite
    CoM_z: Finite
    Ixx: Finite
    Ixy: Finite
    Ixz: Finite
    Iyy: Finite
    Iyz: Finite
    Izz: Finite
    symb: TenFlags | None = None


class FrictionEntry(Entry):
    """Friction of the joint: Dl_1 q̇ + Dl_2 |q̇| q̇ + …; coefficients beyond `Dl_order` have no effect."""

    Dl: list[NonNegative]
    symb: list[Flag] | None = None


class RotorEntry(Entry):
    """The rotor of the joint's motor: its inertia [kg·m² or kg], and how much faster than the joint it turns.

    Without `gear_ratio` it is the inertia that the joint feels. `symb` makes that a run-time parameter.
    """

    inertia: NonNegative
    gear_ratio: Finite = 1.0
    symb: Flag = 0


class LinkEntry(Entry):
    """A link, and friction and rotor of its joint; without `rotor` that is unknown."""

    inertial: InertialEntry
    friction: FrictionEntry | None = None
    rotor: RotorEntry | None = None


class ElasticJointEntry(Entry):
    """Stiffness K, coupling damping D, motor damping Dm, motor inertia Mm of an elastic joint."""

    K: list[Finite] = Field(default_factory=list)
    D: list[Finite] = Field(default_factory=list)
    Dm: list[Finite] = Field(default_factory=list)
    Mm: Annotated[Finite, Field(gt=0.0)]
    K_symb: list[Flag] | None = None
    D_symb: list[Flag] | None = None
    Dm_symb: list[Flag] | None = None
    Mm_symb: Flag = 0


class ElasticEntry(Entry):
    """Orders of the elastic terms, and the elastic joints by name, by number or in order."""

    K_order: Order
    D_order: Order
    Dm_order: Order
    joints: dict[str, ElasticJointEntry]


class LimitsEntry(Entry):
    """Limits, one entry per joint; null where a joint has none."""

    position_lower: list[Finite | None] | None = None
    position_upper: list[Finite | None] | None = None
    velocity: list[Finite | None] | None = None
    velocity_offset: list[Finite | None] | None = None
    velocity_deceleration: list[Finite | None] | None = None
    acceleration: list[Finite | None] | None = None
    effort: list[Finite | None] | None = None
    effort_corner_velocity: list[Finite | None] | None = None
    effort_no_load_velocity: list[Finite | None] | None = None
    effort_rate: list[Finite | None] | None = None


class CustomEntry(Entry):
    """Run-time parameters of one's own."""

    value: Annotated[list[Finite], Field(min_length=1)]
    unit: str = ""
    description: str = ""


class ThunderEntry(Entry):
    """Extensions of the established schema."""

    coulomb: list[NonNegative] | None = None
    offset: list[Finite] | None = None
    joint_names: list[str] | None = None
    link_names: list[str] | None = None
    topology: list[Literal["line", "circle"]] | None = None
    limits: LimitsEntry = Field(default_factory=LimitsEntry)
    parameters: dict[str, CustomEntry] = Field(default_factory=dict)
    sources: Any = None
    description: str = ""


class RobotEntry(Entry):
    """The whole file, without its anchored constants."""

    version: Any = None
    ELASTIC_MODEL: bool = False
    num_joints: Annotated[int, Field(ge=1)]
    Dl_order: Order = 0
    type_joints: list[JointType]
    kinematics: KinematicsEntry
    gravity: GravityEntry = Field(default_factory=GravityEntry)
    Base_to_L0: FrameEntry = Field(default_factory=FrameEntry)
    Ln_to_EE: FrameEntry = Field(default_factory=FrameEntry)
    dynamics: dict[str, LinkEntry]
    elastic: ElasticEntry | None = None
    thunder: ThunderEntry = Field(default_factory=ThunderEntry)


class UrdfInertialEntry(Entry):
    """As `InertialEntry`, along the axes of the URDF's link; without the ten numbers those of the URDF."""

    mass: NonNegative | None = None
    CoM_x: Finite | None = None
    CoM_y: Finite | None = None
    CoM_z: Finite | None = None
    Ixx: Finite | None = None
    Ixy: Finite | None = None
    Ixz: Finite | None = None
    Iyy: Finite | None = None
    Iyz: Finite | None = None
    Izz: Finite | None = None
    symb: TenFlags | None = None


class UrdfLinkEntry(Entry):
    """What the file says of a link of the URDF and its joint instead of the URDF."""

    inertial: UrdfInertialEntry = Field(default_factory=UrdfInertialEntry)
    friction: FrictionEntry | None = None
    rotor: RotorEntry | None = None


class UrdfRobotEntry(Entry):
    """A file that names a URDF for its kinematics, without its anchored constants."""

    version: Any = None
    num_joints: Annotated[int, Field(ge=1)] | None = None
    Dl_order: Order | None = None
    type_joints: list[Literal["R", "P"]] | None = None
    kinematics: UrdfKinematicsEntry
    gravity: GravityEntry = Field(default_factory=GravityEntry)
    Base_to_L0: FrameEntry = Field(default_factory=FrameEntry)
    Ln_to_EE: FrameEntry = Field(default_factory=FrameEntry)
    dynamics: dict[str, UrdfLinkEntry] = Field(default_factory=dict)


def as_schema_0_2(document: YamlDocument) -> YamlDocument:
    """A document of schema 0.1, which has `DH` and `inertial` at top level, by the keys of 0.2; others as they are.

    Raises:
        RobotFileError: for gravity that does not point down. Files of 0.1 write it with either sign, and nothing in
            them tells which they mean.
    """
    data = dict(document.data)
    if not {"DH", "inertial"} & data.keys():
        return document
    gravity = data.get("gravity")
    if isinstance(gravity, list):
        if not (len(gravity) == 3 and isinstance(gravity[2], (int, float)) and gravity[2] < 0):
            what = "gravity of a file of schema 0.1 that does not point down: its generators took either sign"
            raise RobotFileError(what, where=document.where(("gravity",)), valid="[0, 0, -9.81], which points down")
        data["gravity"] = {"value": gravity}
    if "DH" in data:
        data["kinematics"] = {"DH": data.pop("DH")}
    if isinstance(data.get("inertial"), dict):
        data["dynamics"] = {link: {"inertial": body} for link, body in data.pop("inertial").items()}
    lines = {place: line for path, line in document.lines.items() for place in _places_in_0_2(path)}
    return replace(document, data=data, lines={**document.lines, **lines})


def _places_in_0_2(path: KeyPath) -> list[KeyPath]:
    """Where 0.2 has what 0.1 has at a key path."""
    match path:
        case ("DH", *rest):
            return [("kinematics", "DH", *rest)]
        case ("inertial",):
            return [("dynamics",)]
        case ("inertial", link, *rest):
            return (
                [("dynamics", link), ("dynamics", link, "inertial")]
                if not rest
                else [("dynamics", link, "inertial", *rest)]
            )
        case ("gravity", int(k)):
            return [("gravity", "value", k)]
    return []
