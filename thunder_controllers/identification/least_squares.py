"""Least squares of W x = y, each joint with a noise of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LEAST_VARIANCE = 1e-12
"""Of what is left of an effort [N²m²]: arithmetic, and joints of which no sample is used."""

REWEIGHTINGS = 3
"""By the noise of each joint."""


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
    variance = np.ones(y.shape[1])
    for _ in range(REWEIGHTINGS):
        weighted = W / variance[:, None]
        information = np.einsum("tjk,tjl->kl", weighted, W, optimize=True)
        values, vectors = np.linalg.eigh(information)  # semidefinite, but for rounding: then there is no inverse
        covariance = vectors / (np.fmax(values, 0.0) + 1.0 / unknown**2) @ vectors.T
        x = covariance @ np.einsum("tjk,tj->k", weighted, y)
        variance = np.fmax(((y - W @ x) ** 2).sum(axis=0) / np.fmax(freedom, 1.0), LEAST_VARIANCE)
    return Fit(x, covariance, information, variance)
