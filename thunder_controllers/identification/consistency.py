"""Bodies that can exist: those that agree best with a record.

A body with parameters π exists iff its pseudo-inertia P(π) ⪰ 0, with mass at more than a plane iff P ≻ 0 [Wensing, Kim,
Slotine, "Linear matrix inequalities for physically consistent inertial parameter identification", 2018].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.inertia import N_PARAMETERS, pseudo_inertia

FloatArray = NDArray[np.float64]

BASIS = pseudo_inertia(np.eye(N_PARAMETERS))
"""P(π) = Σ_k π_k BASIS[k], (10, 4, 4)."""

SHARES = 2.0 ** np.arange(-26.0, 1.0)
"""Of the information, one after the other: far from all bodies, the way to the best one goes through their middle."""

ITERATIONS = 500
"""Of Newton's method with each of them; it takes up to some twenty."""

DONE = 1e-10
"""Newton decrement, squared, at which the minimum is reached."""

ROUNDING = 1e-12
"""Share of a cost by which it may rise: it is the difference of large numbers."""


@dataclass(frozen=True)
class Divergence:
    """D(x) = Σ tr(P₀⁻¹P) − log det(P₀⁻¹P) − size, of bodies and then of positive numbers: infinite where one cannot be.

    The log-det divergence [Lee, Wensing, Park, "Geometric robot dynamic identification", 2020]: convex, the same in
    every frame, and in units of nothing. A number φ counts as a matrix of one entry.

    Args:
        prior: x₀: π of bodies, REG order, then positive numbers.
        bodies: How many bodies.
    """

    prior: FloatArray
    bodies: int

    def _blocks(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        count = N_PARAMETERS * self.bodies
        return pseudo_inertia(x[:count].reshape(-1, N_PARAMETERS)), x[count:]

    def value(self, x: FloatArray) -> float:
        """D(x), up to a constant."""
        (P, phi), (P0, phi0) = self._blocks(x), self._blocks(self.prior)
        if (np.linalg.eigvalsh(P) <= 0.0).any() or (phi <= 0.0).any():
            return np.inf
        trace = np.einsum("iab,iba->", np.linalg.inv(P0), P) + (phi / phi0).sum()
        return float(trace - np.linalg.slogdet(P)[1].sum() - np.log(phi).sum())

    def derivatives(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradient (p,) and Hessian (p, p)."""
        (P, phi), (P0, phi0) = self._blocks(x), self._blocks(self.prior)
        inverse = np.linalg.inv(P)
        gradient = np.einsum("iab,kba->ik", np.linalg.inv(P0) - inverse, BASIS)
        moved = np.einsum("iab,kbc->ikac", inverse, BASIS)
        curvature = np.einsum("ikab,ilba->ikl", moved, moved)
        hessian = np.diag(np.concatenate([np.zeros(gradient.size), phi**-2.0]))
        for i, block in enumerate(curvature):
            place = slice(N_PARAMETERS * i, N_PARAMETERS * (i + 1))
            hessian[place, place] = block
        return np.concatenate([gradient.ravel(), 1.0 / phi0 - 1.0 / phi]), hessian


def consistent_fit(information: FloatArray, told: FloatArray, prior: Divergence) -> tuple[FloatArray, FloatArray]:
    """Minimise ½ xᵀA x − bᵀx + D(x) by Newton's method with a line search; all of it is convex.

    Where the information is large the prior hardly counts; where there is none, x is what makes the least of D.

    Args:
        information: A = Σ WᵀW/σ² (p, p).
        told: b = Σ Wᵀy/σ² (p,).
        prior: D, about parameters of bodies with P ≻ 0.

    Returns:
        x, and its covariance: the inverse of the Hessian there.
    """
    x = prior.prior.copy()
    for share in SHARES:
        x, hessian = _newton(share * information, share * told, prior, x)
    scale = 1.0 / np.sqrt(np.diag(hessian))
    return x, np.outer(scale, scale) * np.linalg.inv(hessian * np.outer(scale, scale))


def _newton(A: FloatArray, b: FloatArray, prior: Divergence, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The minimum from a start x, and the Hessian there."""

    def cost(x: FloatArray) -> float:
        return float(0.5 * x @ A @ x - b @ x) + prior.value(x)

    for _ in range(ITERATIONS):
        slope, curvature = prior.derivatives(x)
        gradient, hessian = A @ x - b + slope, A + curvature
        scale = 1.0 / np.sqrt(np.diag(hessian))
        step = -scale * np.linalg.solve(hessian * np.outer(scale, scale), scale * gradient)
        decrement, size, before = float(-gradient @ step), 1.0, cost(x)
        if decrement < DONE:
            break
        while not cost(x + size * step) <= before - 0.25 * size * decrement + ROUNDING * abs(before):
            size *= 0.5
        x = x + size * step
    return x, hessian
