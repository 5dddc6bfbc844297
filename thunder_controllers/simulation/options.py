"""What a plant can be told: payloads, wrong models, friction, noise, delay, faults, integration."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from thunder_controllers.fields import (
    Finite,
    NonNegative,
    PerJoint,
    Positive,
    PositivePerJoint,
    SignedPerJoint,
    Six,
    Strict,
    Vector3,
    numbers,
)
from thunder_controllers.simulation.faults.faults import FaultOptions, check_agreement
from thunder_dynamics.errors import InertiaError
from thunder_dynamics.inertia import Inertia, symmetric_from_six

VelocitySource = Literal["exact", "differences"]


class Body(Strict):
    """A rigid body in the frame of a link: mass [kg], CoM [m], [Ixx, Ixy, Ixz, Iyy, Iyz, Izz] about the CoM [kg·m²]."""

    mass: NonNegative
    com: Vector3 = (0.0, 0.0, 0.0)
    inertia: Six = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    @model_validator(mode="after")
    def _is_physical(self) -> Body:
        try:
            self.to_inertia().check_consistent("body")
        except InertiaError as error:
            raise ValueError(f"{error.what} (valid: {error.valid})") from error
        return self

    def to_inertia(self) -> Inertia:
        """Convert to the type that the dynamics use."""
        return Inertia(self.mass, np.array(self.com), np.array(symmetric_from_six(self.inertia)))


class Payload(Body):
    """A body fixed to `link` from simulated time `time` [s] on, until `until`; None: for good.

    With `over` it comes, unless it is there from the start, and goes in slices over that time [s], as a load that is
    handed over or poured out.
    """

    link: str
    time: NonNegative = 0.0
    until: Positive | None = None
    over: NonNegative = 0.0

    @model_validator(mode="after")
    def _lasts(self) -> Payload:
        if self.until is not None and self.until <= self.time:
            raise ValueError(f"attached at {self.time:g} s until {self.until:g} s (valid: an end after the start)")
        return self


class Friction(Strict):
    """Joint friction of the plant: viscous [N·m·s/rad or N·s/m] and Coulomb [N·m or N], and how it sticks: `Bristles`.

    Joints that slide want a `stribeck_velocity` and a `deflection` of their own: the defaults are for those that turn.
    """

    viscous: PerJoint = 0.0
    coulomb: PerJoint = 0.0
    static: PerJoint | None = None  #: Level at which a joint breaks away [N·m or N]; None: joints do not stick.
    stribeck_velocity: PositivePerJoint = 0.1  #: About which friction falls from `static` to `coulomb` [rad/s or m/s].
    load: PerJoint = 0.0  #: Share of the motor's effort that friction rises by, sliding or not [1].
    deflection: PositivePerJoint = 1e-3  #: Elastic way of a joint that sticks, up to the breakaway [rad or m].

    @model_validator(mode="after")
    def _sticks(self) -> Friction:
        idle = sorted({"deflection", "load", "stribeck_velocity"} & self.model_fields_set)
        if self.static is None and idle:
            raise ValueError(f"{' and '.join(idle)} of joints that do not stick (valid: static beside it)")
        return self


class Noise(Strict):
    """Measurement errors: standard deviation of white noise, then resolution of the encoder (0: none).

    Of positions [rad or m], velocities [rad/s or m/s] and efforts that are measured [N·m or N].
    """

    q_std: PerJoint = 0.0
    qd_std: PerJoint = 0.0
    q_resolution: PerJoint = 0.0
    qd_resolution: PerJoint = 0.0
    effort_std: PerJoint = 0.0

    @property
    def acts(self) -> bool:
        """Whether any measurement differs from the truth."""
        return any(numbers(getattr(self, name)).any() for name in ("q_std", "qd_std", "q_resolution", "qd_resolution"))


class Held(Strict):
    """A load that a robot holds up: mass [kg] and CoM [m] in the frame of `link`. It has no inertia, and any sign."""

    link: str
    mass: Finite
    com: Vector3 = (0.0, 0.0, 0.0)


class Firmware(Strict):
    """Gravity and load by which a robot compensates gravity itself, where its description has others."""

    load: Held | None = None  #: Beside the bodies of the description.
    gravity: Vector3 | None = None  #: By the mounting that it was told, in the world frame [m/s²]; None: the plant's.


class PositionSensor(Strict):
    """A sensor beside the arm that sees where its end effector is, such as a tracker, in the world frame."""

    rate: Positive = 100.0  #: Positions per second [Hz]; at most one in a period of the control.
    std: NonNegative = 0.0  #: Of the white noise along each axis [m].
    delay: NonNegative = 0.0  #: Between measuring and telling [s].
    until: Positive | None = None  #: Simulated time from which on it sees nothing [s]; None: it goes on.


class PlantOptions(Strict):
    """How the plant departs from the robot's nominal description, and how it is integrated."""

    ee_link: str | None = None  #: Link whose frame is the end effector; by default as the reader chooses.
    #: MuJoCo's; `rk4` is the default for its accuracy (docs/reference/scenario.md has the comparison).
    integrator: Literal["euler", "implicit", "implicitfast", "rk4"] = "rk4"
    substeps: Annotated[int, Field(ge=1, le=1000)] = 1  #: Integration steps per control step.
    contacts: bool = False  #: Keep collision geometry and let bodies collide.
    gravity: Vector3 | None = None  #: In the world frame [m/s²]; None: as the description is read.
    payloads: tuple[Payload, ...] = ()  #: Bodies fixed to links.
    #: Links whose true inertia is another than the description says.
    inertia: dict[str, Body] = Field(default_factory=dict)
    friction: Friction | None = None  #: Replaces the friction of the description; None keeps it.
    #: Reflected rotor inertias instead of those of the robot file [kg·m² or kg], of elastic joints Mm; None keeps them.
    rotors: PerJoint | None = None
    rotor_inertia: PerJoint = 0.0  #: What the rotors have beyond that [kg·m² or kg].
    stiffness: PositivePerJoint = 1.0  #: Of the springs of elastic joints, over that of the robot file [1].
    #: Effort that each joint needs beside its dynamics and friction, instead of the robot file's [N·m or N].
    offsets: SignedPerJoint | None = None
    #: Where the end effector truly is, in the axes of the robot file's [m]; nothing of it has mass.
    tool_offset: Vector3 = (0.0, 0.0, 0.0)
    position_sensor: PositionSensor | None = None  #: Feeds laws that take `ee_position`.
    noise: Noise = Noise()  #: On the measurements.
    #: Joints whose positions are told between −π and π, as by drivers of joints that turn without end.
    wrapped: tuple[str, ...] = ()
    #: What the robot reports: `exact`, the true one with the noise of velocities, or `differences` of measured
    #: positions through a first-order low-pass.
    velocity: VelocitySource = "exact"
    #: Where elastic joints have the sensors of q and q̇: on their links, or on their motors, as many robots.
    joint_sensors: Literal["link", "motor"] = "link"
    velocity_cutoff: Positive = 100.0  #: Of that low-pass [Hz].
    torque_delay: NonNegative = 0.0  #: Dead time between command and effect [s], a whole number of integration steps.
    #: Time constant T of each drive [s]: T dτ/dt = τ_commanded − τ, a torque bandwidth of 1/(2πT) Hz.
    torque_lag: PerJoint = 0.0
    #: What drives give of the effort that they are told, gravity that the robot adds included [1].
    drive_gain: PositivePerJoint = 1.0
    #: What the robot's own compensation of gravity is told; only with `host.gravity_compensated_by_robot`.
    firmware: Firmware = Firmware()
    #: Of motors and sensors, and pushes from outside, each in a window of time.
    faults: tuple[FaultOptions, ...] = ()

    @model_validator(mode="after")
    def _has_one_source_of_velocity_noise(self) -> PlantOptions:
        if self.velocity == "differences" and (
            numbers(self.noise.qd_std).any() or numbers(self.noise.qd_resolution).any()
        ):
            raise ValueError("noise of velocities beside velocity: differences (valid: noise of q, or velocity: exact)")
        return self

    @model_validator(mode="after")
    def _integrates_bristles(self) -> PlantOptions:
        if self.friction is not None and self.friction.static is not None and self.integrator != "rk4":
            raise ValueError(f"static friction with integrator {self.integrator} (valid: rk4)")
        return self

    @model_validator(mode="after")
    def _has_faults_that_agree(self) -> PlantOptions:
        check_agreement(self.faults)
        return self
