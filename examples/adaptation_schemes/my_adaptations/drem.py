"""Dynamic regressor extension and mixing, with least squares as the extension."""

from __future__ import annotations

from functools import partial

import casadi as ca
import numpy as np

from thunder_controllers.laws.adaptation.least_squares.adaptation import LeastSquaresAdaptation
from thunder_controllers.laws.adaptation.least_squares.momentum_rows import Row
from thunder_controllers.laws.adaptation.least_squares.recursion import Innovation, RecursiveLeastSquares
from thunder_controllers.laws.parts.redundancy import factor_ldl

SX = ca.SX

LEAST = 1e-6
"""Of an eigenvalue of 1 − C: what is less is rounding."""


class MixedLeastSquares(RecursiveLeastSquares):
    """θ̇_i = γ Δ (Z_i − Δ θ_i),  Δ = det(1 − C),  Z = adj(1 − C)(z − C z_0), one equation for each parameter.

    The extension is least squares [Aranovskiy et al. 2017; Ortega, Romero & Aranovskiy 2022, LS+DREM]: without noise
    z − θ = C (z_0 − θ), C the covariance over that of the prior, z_0 the first z, so that (1 − C) θ = z − C z_0, which
    adj(1 − C) multiplied from the left makes p scalar equations of. With Ψ = Σ w wᵀ/r of Kreisselmeier's filter without
    forgetting C = (1 + Ψ)⁻¹, Δ = det Ψ/det(1 + Ψ), and Z/Δ = Ψ⁻¹ Σ w y/r is least squares without a prior. det Ψ
    itself grows by tens of orders of magnitude; Δ is from 0 to 1 and has no unit.

    θ_i goes towards Z_i/Δ at γ Δ², exactly over a period. Rows, weights, changes and contacts are those of least
    squares. After a change what is unknown of θ is unknown again, and z_0 of the body is what was told then.

    Args:
        arguments: Of RecursiveLeastSquares; the gain mixing_rate, γ, is declared with its.

    Attributes:
        z: θ less the robot file's, over the deviations of the prior (p,).
        covariance: w 1 (p, p), w = exp(−∫γΔ² dt): no parameter is known before all are.
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.z = self._mixed
        self.covariance = self._share * SX.eye(self.z.numel())

    def _learnt(
        self, row: Row, scale: np.ndarray, told: Innovation, used: SX, changed: SX, restored: SX
    ) -> dict[str, SX]:
        found = super()._learnt(row, scale, told, used, changed, restored)
        size = len(scale)
        rate = self._signals.gain(
            "mixing_rate", default=100.0, bounds=(0.0, 1e6), unit="1/s", doc="γ of the scalar estimators."
        )
        self._mixed = self._state("mixed", 0.0, "1", "θ of the scalar estimators, as told.", size)
        self._share = self._state("mixed_unknown", 1.0, "1", "exp(−∫γΔ² dt) since the last change.")
        first = self._state("mixed_first", 0.0, "1", "θ of least squares at first, or at the last change.", size)
        first = ca.if_else(self._time > 0.0, first, self.z)
        mixing = factor_ldl((1.0 + LEAST) * SX.eye(size) - self.covariance)
        determinant = ca.exp(ca.sum1(ca.log(mixing.pivots)))
        target = mixing.solve(self.z - self.covariance @ first)
        left = ca.exp(-rate * determinant**2 * self._signals.dt)
        body = SX.zeros(size)
        body[self._body] = 1.0
        return found | {
            "mixed": self._mixed + (1.0 - left) * (target - self._mixed),
            "mixed_unknown": ca.if_else(changed, 1.0, self._share * left),
            "mixed_first": first + changed * body * (self.z - first),
        }


drem = partial(LeastSquaresAdaptation, told=MixedLeastSquares)
"""π̂̇ = κ w Γ⁻¹Yᵀs + k (1 − w)(θ − π̂), θ and w by `MixedLeastSquares`."""
