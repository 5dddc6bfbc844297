"""Concurrent learning: adaptation by recorded data beside the tracking error."""

from __future__ import annotations

from functools import partial

import casadi as ca
import numpy as np

from thunder_controllers.laws.adaptation.least_squares.adaptation import LeastSquaresAdaptation
from thunder_controllers.laws.adaptation.least_squares.momentum_rows import Row
from thunder_controllers.laws.adaptation.least_squares.recursion import CORRELATED, Innovation, RecursiveLeastSquares
from thunder_controllers.laws.parts.redundancy import factor_ldl
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

RECORDS = 79
"""In the stack: twice the 39 unknowns of seven joints, and prime, so that rows of every joint meet every place."""

WORTH = 1e-3
"""Growth of log det that a record in place of another has to be worth: what is written for less wears out sums."""


class HistoryStack(RecursiveLeastSquares):
    """θ̇ = w S Σ_k w_k (y_k − w_kᵀθ)/σ_k² over a stack of records, by a step that no stack makes unstable.

    [Chowdhary & Johnson 2010], of filtered rows instead of accelerations, as the integral form has them [Parikh,
    Kamalapurkar & Dixon 2019]. A row replaces one of the stack where det(1 + Σ w_k w_kᵀ/σ_k²) grows by it: the least
    singular value [Chowdhary & Johnson 2011] is zero until there are as many directions as unknowns, and chooses
    nothing up to then. Filtered noise stays the same for 4/ω, in which one row of a joint is recorded.
    S = diag(1 + Σ w_k w_kᵀ/σ_k²)⁻¹.

    Weights σ_k², changes and contacts are those of recursive least squares, which runs beside it; so is what is unknown
    of θ. A change clears the stack.

    Attributes:
        z: θ of the stack less the robot file's, over the deviations of the prior (p,).
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        self.z = self._learnt_from_stack

    def _learnt(
        self, row: Row, scale: np.ndarray, told: Innovation, used: SX, changed: SX, restored: SX
    ) -> dict[str, SX]:
        found = super()._learnt(row, scale, told, used, changed, restored)
        size = len(scale)
        self._learnt_from_stack = self._state("stack_told", 0.0, "1", "θ of the stack, as told.", size)
        stack = self._state("stack", 0.0, "1", "Records (w, y)/σ, one after the other.", RECORDS * (size + 1))
        place = self._state("stack_place", 0.0, "1", "Of the record that the next row may replace.")
        volume = self._state("stack_volume", 0.0, "1", "log det(1 + Σ w wᵀ/σ²) of the stack.")
        rest = self._state("stack_rest", 0.0, "s", "Until a joint's rows may be recorded again.", row.joint.numel())
        triangle = ca.Sparsity.lower(size + 1)
        packed = self._state("stack_moments", 0.0, "1", "Lower triangle of Σ (w, y)(w, y)ᵀ/σ².", triangle.nnz())
        moments, records = ca.tril2symm(SX(triangle, packed)), ca.reshape(stack, size + 1, RECORDS)

        new = ca.vertcat(scale * row.w, row.y) / ca.sqrt(told.of_rest + told.of_noise)
        here = ca.vertcat(*(place == float(k) for k in range(RECORDS)))
        old = records @ here
        exchanged = moments - old @ old.T + new @ new.T
        grown = ca.sum1(ca.log(factor_ldl(SX.eye(size) + exchanged[:size, :size]).pivots))
        better = used * (ca.dot(row.joint, rest) <= 0.0) * (grown > volume + WORTH)
        kept = 1.0 - changed
        moments = ca.if_else(better, exchanged, moments)

        information, z = moments[:size, :size], self._learnt_from_stack
        S = reciprocal(ca.diag(information) + 1.0)
        root = ca.sqrt(S)
        largest = ca.norm_fro(ca.diag(root) @ information @ ca.diag(root))
        step = S * (moments[:size, size] - information @ z) * reciprocal(ca.fmax(largest, 1.0))
        return found | {
            "stack_told": z + step,
            "stack": kept * ca.vec(records + better * (new - old) @ here.T),
            "stack_rest": ca.fmax(rest - self._signals.dt, 0.0) + better * (CORRELATED / self._omega) * row.joint,
            "stack_place": ca.if_else(place + 1.0 < float(RECORDS), place + 1.0, 0.0),
            "stack_volume": kept * ca.if_else(better, grown, volume),
            "stack_moments": kept * ca.project(moments, triangle).nz[:],
        }


concurrent_learning = partial(LeastSquaresAdaptation, told=HistoryStack)
"""π̂̇ = κ G Yᵀs + k (1 − C̄)(θ − π̂), θ by `HistoryStack`."""
