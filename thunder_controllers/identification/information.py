"""The regressor along a motion, what of it friction and rotors could be instead (theory.md §8), and weighted fits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Library
from thunder_dynamics.inertia import N_PARAMETERS

FloatArray = NDArray[np.float64]

LENGTH = 0.1
"""Of a body that fits on a flange [m]: makes first moments and inertias comparable with masses."""

SCALE = np.array([1.0, *[LENGTH] * 3, *[LENGTH**2] * 6])
"""π over this is in kilograms, all ten."""

SIGN_SPEED = 0.01
"""Of the smoothed sign of Coulomb friction [rad/s or m/s]: that of the laws."""

LEAST_VARIANCE = 1e-12
"""Of what is left of an effort [N²m²]: arithmetic, and joints of which no sample is used."""

REWEIGHTINGS = 6
"""By the noise of each joint: the weights have settled then. After three, the public record of a Panda was predicted
worse by a sixth in its joint 6.
"""

UNKNOWN = 1e4
"""Standard deviation beforehand of parameters of which nothing is known [SI]."""


def regressor(library: Library, q: FloatArray, qd: FloatArray, qdd: FloatArray) -> FloatArray:
    """Y(q, q̇, q̈) of the compiled dynamics at samples (N, n): τ = Y π without friction and rotors, (N, n, 10 n)."""
    return np.asarray(library.batch("Yr", q, qd, qd, qdd))


def rotor_effort(library: Library, qdd: FloatArray) -> FloatArray:
    """What the rotors that the robot file knows take, at accelerations (…, n)."""
    return np.asarray(np.nan_to_num(library.rotor_inertia) * qdd)


def columns_of(link: int) -> slice:
    """Columns of a link of that index."""
    return slice(N_PARAMETERS * link, N_PARAMETERS * (link + 1))


def joint_terms(qd: FloatArray, sign: FloatArray, qdd: FloatArray) -> FloatArray:
    """B: what viscous and Coulomb friction and the rotor of each joint add to its own effort, (N, n, 3)."""
    return np.stack([qd, sign, qdd], axis=2)


def explain(rows: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fit rows (N, n, k) by B (N, n, b), joint by joint, by least squares.

    Returns:
        Coefficients B⁺ rows (n, b, k), and what is left of the rows (N, n, k).
    """
    found = np.linalg.pinv(B.transpose(1, 0, 2)) @ rows.transpose(1, 0, 2)
    return found, rows - np.einsum("tjb,jbk->tjk", B, found)


@dataclass(frozen=True)
class Fit:
    """x, and how well it is known.

    Attributes:
        x: (p,).
        covariance: Of that, from the information and the noise that is left (p, p).
        information: Σ WᵀW/σ² (p, p).
        variance: σ² of each joint's effort (n,).
    """

    x: FloatArray
    covariance: FloatArray
    information: FloatArray
    variance: FloatArray


def weighted_fit(W: FloatArray, y: FloatArray, freedom: FloatArray, unknown: float) -> Fit:
    """Solve W x = y, weighted by the variances that this leaves.

    Args:
        W: (N, n, p); rows of samples that are not used are zero.
        y: (N, n), likewise.
        freedom: Samples used of each joint, less what is fitted (n,).
        unknown: Standard deviation of what nothing is known of: keeps the equations solvable.
    """
    rows, variance = W.transpose(1, 0, 2), np.ones(y.shape[1])
    squares, products = rows.transpose(0, 2, 1) @ rows, np.einsum("jtk,tj->kj", rows, y)
    for _ in range(REWEIGHTINGS):
        information = np.einsum("jkl,j->kl", squares, 1.0 / variance)
        values, vectors = np.linalg.eigh(information)  # semidefinite, but for rounding: then there is no inverse
        covariance = vectors / (np.fmax(values, 0.0) + 1.0 / unknown**2) @ vectors.T
        x = covariance @ (products @ (1.0 / variance))
        variance = np.fmax(((y - W @ x) ** 2).sum(axis=0) / np.fmax(freedom, 1.0), LEAST_VARIANCE)
    return Fit(x, covariance, information, variance)


def fit_columns(
    W: FloatArray, effort: FloatArray, used: NDArray[np.bool_], explained: int = 0
) -> tuple[Fit, FloatArray]:
    """Fit efforts (N, n) by columns W (N, n, p) where `used`, weighted; and the samples that count as one (n,).

    The covariance reckons with residuals that are correlated from sample to sample, and with so many numbers per joint
    that have explained their part before.
    """
    freedom = used.sum(axis=0) - W.shape[2] / W.shape[1] - explained
    fit = weighted_fit(used[:, :, None] * W, used * effort, freedom, UNKNOWN)
    correlation = correlation_time(used * (effort - W @ fit.x))
    told = used[:, :, None] * W * np.sqrt(correlation / fit.variance)[:, None]
    spread = fit.covariance @ np.einsum("tjk,tjl->kl", told, told, optimize=True) @ fit.covariance
    return replace(fit, covariance=spread + fit.covariance @ fit.covariance / UNKNOWN**2), correlation


def correlation_time(residual: FloatArray) -> FloatArray:
    """Samples of a residual (N, n) that count as one of independent noise, 1 + 2 Σ ρ_k, at least one, (n,).

    The sum is over the lags before the first at which ρ_k is not above twice its deviation 1/√N [Bartlett 1946].
    Samples that are zero, as unused ones are, count as none.
    """
    times = np.ones(residual.shape[1])
    for joint, r in enumerate(residual.T):
        used = r != 0.0
        power = (r**2).sum() / max(used.sum(), 1)
        for lag in range(1, len(r) // 4):
            pairs = int((used[lag:] & used[:-lag]).sum())
            rho = float(r[lag:] @ r[:-lag]) / (pairs * power) if pairs and power > 0.0 else 0.0
            if rho <= 2.0 / np.sqrt(max(pairs, 1)):
                break
            times[joint] += 2.0 * rho
    return times
