"""What a plant can be told: payloads, wrong models, friction, noise, delay, integration.

Every class is a frozen pydantic model: unknown keys, wrong types, non-finite numbers and values out of range raise.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from thunder_dynamics.errors import InertiaError, ScenarioError
from thunder_dynamics.inertia import Inertia, symmetric_from_six

Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(strict=True, ge=0.0, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0.0, allow_inf_nan=False)]
Vector3 = tuple[Finite, Finite, Finite]
Six = tuple[Finite, Finite, Finite, Finite, Finite, Finite]
PerJoint = NonNegative | Annotated[tuple[NonNegative, ...], Field(min_length=1)]
"""One number for all joints, or one each."""

VelocitySource = Literal["exact", "differences"]

UNKNOWN_KEY = "unknown_key"
"""Type of the error that an unknown key is."""


class Strict(BaseModel):
    """Frozen model that refuses unknown keys, naming the known ones."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _knows_all_keys(cls, data: Any) -> Any:
        unknown = [key for key in data if key not in cls.model_fields] if isinstance(data, dict) else []
        if unknown:
            context = {"key": str(unknown[0]), "valid": ", ".join(cls.model_fields)}
            raise PydanticCustomError(UNKNOWN_KEY, "unknown key '{key}' (valid: {valid})", context)
        return data


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
    """A body fixed to `link` from simulated time `time` [s] on."""

    link: str
    time: NonNegative = 0.0


class Friction(Strict):
    """Joint friction of the plant: viscous [N·m·s/rad or N·s/m] and Coulomb [N·m or N]."""

    viscous: PerJoint = 0.0
    coulomb: PerJoint = 0.0


class Noise(Strict):
    """Measurement errors: standard deviation of white noise, then resolution of the encoder (0: none).

    Of positions [rad or m] and velocities [rad/s or m/s].
    """

    q_std: PerJoint = 0.0
    qd_std: PerJoint = 0.0
    q_resolution: PerJoint = 0.0
    qd_resolution: PerJoint = 0.0

    @property
    def acts(self) -> bool:
        """Whether any measurement differs from the truth."""
        return any(np.any(getattr(self, name)) for name in ("q_std", "qd_std", "q_resolution", "qd_resolution"))


class PlantOptions(Strict):
    """How the plant departs from the robot's nominal description, and how it is integrated.

    Args:
        ee_link: Link whose frame is the end effector; the last link of the description by default.
        integrator: MuJoCo's; `rk4` is the default for its accuracy (docs/simulation.md has the comparison).
        substeps: Integration steps per control step.
        contacts: Keep collision geometry and let bodies collide.
        gravity: In the world frame [m/s²].
        payloads: Bodies fixed to links.
        inertia: Links whose true inertia is another than the description says.
        friction: Replaces the friction of the description; None keeps it.
        noise: On the measurements.
        velocity: What the robot reports: `exact`, the true one with the noise of velocities, or `differences` of
            measured positions through a first-order low-pass.
        velocity_cutoff: Of that low-pass [Hz].
        torque_delay: Time between command and effect [s], a whole number of integration steps.
    """

    ee_link: str | None = None
    integrator: Literal["euler", "implicit", "implicitfast", "rk4"] = "rk4"
    substeps: Annotated[int, Field(ge=1, le=1000)] = 1
    contacts: bool = False
    gravity: Vector3 = (0.0, 0.0, -9.81)
    payloads: tuple[Payload, ...] = ()
    inertia: dict[str, Body] = Field(default_factory=dict)
    friction: Friction | None = None
    noise: Noise = Noise()
    velocity: VelocitySource = "exact"
    velocity_cutoff: Positive = 100.0
    torque_delay: NonNegative = 0.0

    @model_validator(mode="after")
    def _has_one_source_of_velocity_noise(self) -> PlantOptions:
        if self.velocity == "differences" and (np.any(self.noise.qd_std) or np.any(self.noise.qd_resolution)):
            raise ValueError("noise of velocities beside velocity: differences (valid: noise of q, or velocity: exact)")
        return self


def per_joint(value: float | tuple[float, ...], n: int, where: str) -> NDArray[np.float64]:
    """Expand one number or n numbers to shape (n,).

    Raises:
        ScenarioError: if there are neither one nor n.
    """
    array = np.atleast_1d(np.asarray(value, dtype=float))
    if array.shape not in ((1,), (n,)):
        raise ScenarioError(f"{len(array)} values", where=where, valid=f"one, or one per joint ({n})")
    return np.broadcast_to(array, (n,)).copy()
