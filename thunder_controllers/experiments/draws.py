"""Random bodies; postures and pairs of poses, drawn with forward kinematics alone, so that both ends can be reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from thunder_controllers.host import Library

FloatArray = NDArray[np.float64]
Generator = np.random.Generator

POOL = 20_000
"""Candidates among which pairs of a wanted distance and angle are found."""

MARGIN = 0.1
"""Of the range of each joint, kept at both ends [1]."""

SINGULAR_POOL = 4000
"""Postures among which the most singular are found."""


def postures(rng: Generator, library: Library, count: int) -> FloatArray:
    """Draw joint positions, uniform within the margin, shape (count, n); a joint without limits turns once."""
    lower = np.where(np.isfinite(library.position_lower), library.position_lower, -np.pi)
    upper = np.where(np.isfinite(library.position_upper), library.position_upper, np.pi)
    keep = MARGIN * (upper - lower)
    return np.asarray(rng.uniform(lower + keep, upper - keep, (count, library.n_joints)))


def within(library: Library, q: FloatArray) -> NDArray[np.bool_]:
    """Whether postures (…, n) are inside the joint limits."""
    lower, upper = np.asarray(library.position_lower), np.asarray(library.position_upper)
    return np.asarray(((lower < q) & (q < upper)).all(axis=-1))


def poses(library: Library, q: FloatArray) -> FloatArray:
    """T_0_ee of postures (N, n), shape (N, 4, 4)."""
    return np.asarray(library.batch("T_0_ee", q))


def stated(T: FloatArray) -> dict[str, Any]:
    """A pose (4, 4) as a scenario says it."""
    ypr = Rotation.from_matrix(T[:3, :3]).as_euler("ZYX")
    return {"position": tuple(T[:3, 3].tolist()), "ypr": tuple(ypr.tolist())}


def apart(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distance [m] and angle [rad] between poses (N, 4, 4)."""
    relative = np.swapaxes(a[:, :3, :3], 1, 2) @ b[:, :3, :3]
    return np.linalg.norm(a[:, :3, 3] - b[:, :3, 3], axis=1), Rotation.from_matrix(relative).magnitude()


def pairs(
    rng: Generator, library: Library, count: int, distance: tuple[float, float], angle: tuple[float, float]
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Draw pairs of postures whose poses are apart by distances [m] and angles [rad] that fill the two ranges evenly.

    From a random posture a joint step of random size and direction leads to the other; of a pool of such pairs that
    one is taken, and not again, which is nearest to the distance and angle drawn.
    """
    first = postures(rng, library, POOL)
    size = np.exp(rng.uniform(np.log(0.05), np.log(1.5), (POOL, 1)))
    second = first + size * rng.standard_normal(first.shape) * rng.integers(0, 2, first.shape)
    first, second = (q[within(library, second)] for q in (first, second))
    found = np.transpose(apart(poses(library, first), poses(library, second)))
    lower, upper = np.transpose([distance, angle])
    for _ in range(count):
        away = np.linalg.norm((found - rng.uniform(lower, upper)) / (upper - lower), axis=1)
        away[((found < lower) | (found > upper)).any(axis=1)] = np.inf
        best = int(np.argmin(away))
        yield first[best], second[best]
        found[best] = np.inf


def singular(rng: Generator, library: Library, count: int) -> FloatArray:
    """Draw postures and keep those where the smallest singular value of the Jacobian is least, shape (count, n)."""
    q = postures(rng, library, max(SINGULAR_POOL, count))
    smallest = np.linalg.svd(library.batch("J_ee", q), compute_uv=False)[:, -1]
    return np.asarray(q[np.argsort(smallest)[:count]])


def uncertain(body: Mapping[str, Any], share: float, rng: Generator) -> dict[str, Any]:
    """Draw a body near another, as a scenario says it: each number times a factor of its own, 1 ± share.

    The six of the inertia about the CoM have one factor, so that it stays that of a possible body.
    """
    factors = rng.uniform(1.0 - share, 1.0 + share, 5)
    return {
        "mass": float(factors[0] * body["mass"]),
        "com": tuple((factors[1:4] * body["com"]).tolist()),
        "inertia": tuple((factors[4] * np.array(body["inertia"])).tolist()),
    }
