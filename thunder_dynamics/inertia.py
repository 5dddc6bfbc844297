"""Inertial parameters of a rigid body: π ↔ (m, c, I about the CoM) ↔ pseudo-inertia.

Two parametrisations of one body, both in the link frame:

- **REG**, linear in the equations of motion, about the frame origin:
  π = [m, m·cx, m·cy, m·cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz], units [kg, kg·m, kg·m²];
- **DYN**, as data sheets state it, inertia about the centre of mass:
  [m, cx, cy, cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz], units [kg, m, kg·m²].

I_origin = I_com + m S(c)ᵀS(c)  (parallel-axis theorem).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thunder_dynamics.errors import DimensionError, InertiaError

FloatArray = NDArray[np.float64]

REG_NAMES = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""Order of π, inertia about the frame origin."""

DYN_NAMES = ("mass", "CoM_x", "CoM_y", "CoM_z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""Order of the DYN form, inertia about the centre of mass."""

N_PARAMETERS = 10
CONSISTENCY_TOLERANCE = 1e-10
"""Relative slack granted to rounded data-sheet values, against the largest principal moment."""

LEAST_SHARE = 1e-6
"""Least second moment of a nearest body over its largest: so thin is thinner than any link, and P is inverted."""

LENGTH_RESOLUTION = 3e-8
"""Relative slack of where mass lies, against 1 m and its distance from the frame.

I about the CoM is often a difference of numbers as large as m‖c‖², which rounds at a few ε m‖c‖² (ε = 2e-16). Where a
body is thin or a point, nothing larger than that noise is left, of either sign: a mass misplaced by 30 nm.
"""

ALUMINIUM = 2700.0
"""Its density [kg/m³]."""


def symmetric_from_six(six: Any) -> list[list[Any]]:
    """Arrange [Ixx, Ixy, Ixz, Iyy, Iyz, Izz] as a 3×3 nested list, for floats and CasADi alike."""
    xx, xy, xz, yy, yz, zz = (six[k] for k in range(6))
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


def six_from_symmetric(matrix: ArrayLike) -> FloatArray:
    """Inverse of `symmetric_from_six`: the upper triangle, row by row, shape (6,)."""
    m = np.asarray(matrix, dtype=float)
    return np.array([m[0, 0], m[0, 1], m[0, 2], m[1, 1], m[1, 2], m[2, 2]])


def parallel_axis(mass: Any, c: Any) -> list[Any]:
    """Compute m S(c)ᵀS(c) as [xx, xy, xz, yy, yz, zz] [kg·m²], for floats and CasADi alike."""
    x, y, z = c[0], c[1], c[2]
    return [
        mass * (y * y + z * z),
        -mass * x * y,
        -mass * x * z,
        mass * (x * x + z * z),
        -mass * y * z,
        mass * (x * x + y * y),
    ]


def reg_from_dyn(dyn: Any) -> list[Any]:
    """Convert one body's DYN parameters to REG, for floats and CasADi alike."""
    mass, c = dyn[0], (dyn[1], dyn[2], dyn[3])
    shift = parallel_axis(mass, c)
    return [mass, *(mass * ck for ck in c), *(dyn[4 + k] + shift[k] for k in range(6))]


@dataclass(frozen=True, eq=False)
class Inertia:
    """A rigid body's mass [kg], centre of mass [m] and inertia about the CoM [kg·m²], in its link frame."""

    mass: float = 0.0
    com: FloatArray = None  # type: ignore[assignment]  # None means the origin
    inertia_com: FloatArray = None  # type: ignore[assignment]  # None means zero

    def __post_init__(self) -> None:
        com = np.zeros(3) if self.com is None else np.array(self.com, dtype=float)
        tensor = np.zeros((3, 3)) if self.inertia_com is None else np.array(self.inertia_com, dtype=float)
        if com.shape != (3,) or tensor.shape != (3, 3):
            raise DimensionError(
                f"com has shape {com.shape}, inertia {tensor.shape}", where="Inertia", valid="(3,) and (3, 3)"
            )
        if not (np.isfinite(self.mass) and np.isfinite(com).all() and np.isfinite(tensor).all()):
            raise InertiaError("a parameter is not finite", where="Inertia", valid="finite numbers")
        if not np.array_equal(tensor, tensor.T):
            raise InertiaError("the inertia tensor is not symmetric", where="Inertia", valid="I = Iᵀ")
        com.setflags(write=False)
        tensor.setflags(write=False)
        object.__setattr__(self, "mass", float(self.mass))
        object.__setattr__(self, "com", com)
        object.__setattr__(self, "inertia_com", tensor)

    @classmethod
    def from_dyn(cls, dyn: ArrayLike) -> Inertia:
        """Build from [m, cx, cy, cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz], inertia about the CoM."""
        d = _ten(dyn, "Inertia.from_dyn")
        return cls(d[0], d[1:4], np.array(symmetric_from_six(d[4:])))

    @classmethod
    def from_pi(cls, pi: ArrayLike) -> Inertia:
        """Build from the REG form π; the mass must not be zero unless all of π is.

        Raises:
            InertiaError: if m = 0 with a first moment or inertia left over, which has no CoM form.
        """
        p = _ten(pi, "Inertia.from_pi")
        if p[0] == 0.0:
            if p.any():
                raise InertiaError("zero mass with other parameters non-zero has no centre of mass", valid="m > 0")
            return cls()
        com = p[1:4] / p[0]
        return cls(p[0], com, np.array(symmetric_from_six(p[4:] - np.array(parallel_axis(p[0], com)))))

    @property
    def dyn(self) -> FloatArray:
        """The DYN parameters, shape (10,)."""
        return np.concatenate(([self.mass], self.com, six_from_symmetric(self.inertia_com)))

    @property
    def pi(self) -> FloatArray:
        """The REG parameters π about the frame origin, shape (10,)."""
        return np.array(reg_from_dyn(self.dyn), dtype=float)

    def transformed(self, rotation: FloatArray, translation: FloatArray) -> Inertia:
        """Express the same body in a parent frame, given the pose of this frame in it."""
        inertia = rotation @ self.inertia_com @ rotation.T
        return Inertia(self.mass, rotation @ self.com + translation, 0.5 * (inertia + inertia.T))

    def __add__(self, other: Inertia) -> Inertia:
        """Merge two bodies rigidly joined and expressed in the same frame."""
        mass = self.mass + other.mass
        if mass == 0.0:
            return Inertia(0.0, None, self.inertia_com + other.inertia_com)  # type: ignore[arg-type]
        com = (self.mass * self.com + other.mass * other.com) / mass
        inertia = self.inertia_com + other.inertia_com
        for body in (self, other):
            shift = parallel_axis(body.mass, body.com - com)
            inertia = inertia + np.array(symmetric_from_six(shift))
        return Inertia(mass, com, inertia)

    @property
    def is_consistent(self) -> bool:
        """Whether a rigid body with these parameters exists: what `check_consistent` asks."""
        try:
            self.check_consistent("body")
        except InertiaError:
            return False
        return True

    def check_consistent(self, where: str) -> None:
        """Raise unless a rigid body with these parameters exists: m ≥ 0 and Σ_c = ½tr(I)1 − I ⪰ 0.

        Σ_c ⪰ 0 says that the principal moments satisfy the triangle inequality (Wensing, Kim, Slotine 2018, eq. 12);
        rounding is granted `CONSISTENCY_TOLERANCE` and `LENGTH_RESOLUTION`.

        Raises:
            InertiaError: naming the violated condition.
        """
        if self.mass < 0.0:
            raise InertiaError(f"the mass is negative ({self.mass:g} kg)", where=where, valid="m ≥ 0")
        principal = np.linalg.eigvalsh(self.inertia_com)
        misplaced = self.mass * LENGTH_RESOLUTION**2 * (1.0 + float(self.com @ self.com))
        slack = CONSISTENCY_TOLERANCE * abs(principal).max() + misplaced
        if principal[0] < -slack:
            what = f"the inertia about the CoM has a negative principal moment ({principal[0]:.4g} kg·m²)"
            raise InertiaError(what, where=where, valid="all principal moments ≥ 0")
        if principal[2] > principal[0] + principal[1] + slack:
            moments = ", ".join(f"{v:.4g}" for v in principal)
            what = f"the inertia about the CoM breaks the triangle inequality: principal moments {moments}"
            raise InertiaError(what, where=where, valid="each principal moment at most the sum of the other two")


def ball_radius(mass: float) -> float:
    """Radius of a ball of aluminium [m], which stands for a body of unknown shape."""
    return float((0.75 * mass / (np.pi * ALUMINIUM)) ** (1.0 / 3.0))


def least_second_moment(body: Inertia) -> float:
    """Smallest eigenvalue of Σ_c = ½ tr(I_c) 1 − I_c over the largest magnitude; −1 for a negative mass, 0 for a point.

    Not negative, but for rounding, exactly if the body can exist: P is congruent to diag(Σ_c, m).
    """
    if body.mass < 0.0:
        return -1.0
    moments = np.linalg.eigvalsh(_second_moments(body))
    largest = float(np.abs(moments).max())
    return float(moments[0]) / largest if largest > 0.0 else 0.0


def nearest_consistent(body: Inertia) -> Inertia:
    """Find the nearest body with P ≻ 0.

    Near is ‖S^−½ (P − P') S^−½‖_F small, S the pseudo-inertia of a ball with the body's mass and centre of mass:
    independent of the frame. In this metric the eigenvalues of S^−½ P S^−½ clipped are the nearest point, which keeps
    mass and CoM, and clips the eigenvalues of Σ_c.

    Raises:
        InertiaError: if the mass is not positive: there is no ball to measure with.
    """
    if not body.mass > 0.0:
        raise InertiaError(f"no body is near one of {body.mass:g} kg", where="nearest_consistent", valid="m > 0")
    moments, axes = np.linalg.eigh(_second_moments(body))
    clipped = np.fmax(moments, LEAST_SHARE * max(moments[-1], 0.0))
    second = (axes * clipped) @ axes.T
    inertia = np.trace(second) * np.eye(3) - second
    return Inertia(body.mass, body.com, 0.5 * (inertia + inertia.T))


def _second_moments(body: Inertia) -> FloatArray:
    """Σ_c (3, 3) [kg·m²]."""
    return np.asarray(0.5 * np.trace(body.inertia_com) * np.eye(3) - body.inertia_com)


def pseudo_inertia(pi: ArrayLike) -> FloatArray:
    """Build the 4×4 pseudo-inertia P(π) = [[½tr(I)1₃ − I, h], [hᵀ, m]] of bodies (…, 10), I about the frame origin.

    A body with π exists with positive density everywhere iff P ≻ 0 (Wensing, Kim, Slotine 2018).
    """
    p = np.asarray(pi, dtype=float)
    if p.shape[-1:] != (N_PARAMETERS,):
        raise DimensionError(
            f"shape {p.shape}", where="pseudo_inertia", valid=f"({N_PARAMETERS},) or (…, {N_PARAMETERS})"
        )
    inertia = np.moveaxis(np.array(symmetric_from_six(np.moveaxis(p[..., 4:], -1, 0))), (0, 1), (-2, -1))
    P = np.empty((*p.shape[:-1], 4, 4))
    P[..., :3, :3] = 0.5 * np.trace(inertia, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - inertia
    P[..., :3, 3] = P[..., 3, :3] = p[..., 1:4]
    P[..., 3, 3] = p[..., 0]
    return P


def pi_from_pseudo_inertia(P: ArrayLike) -> FloatArray:
    """Inverse of `pseudo_inertia`: I = tr(Σ)1₃ − Σ, shape (10,)."""
    matrix = np.asarray(P, dtype=float)
    if matrix.shape != (4, 4):
        raise DimensionError(f"shape {matrix.shape}", where="pi_from_pseudo_inertia", valid="(4, 4)")
    second_moment = matrix[:3, :3]
    inertia = np.trace(second_moment) * np.eye(3) - second_moment
    return np.concatenate(([matrix[3, 3]], matrix[:3, 3], six_from_symmetric(inertia)))


def _ten(values: ArrayLike, where: str) -> FloatArray:
    array = np.asarray(values, dtype=float)
    if array.shape != (N_PARAMETERS,):
        raise DimensionError(f"shape {array.shape}", where=where, valid=f"({N_PARAMETERS},)")
    return array
