"""Derivatives of M, C, G, J and of inverse and forward dynamics, in time and along the state.

Derivatives in time, and those for which no recursion is known that costs less, are forward-mode automatic
differentiation of the expressions, whose common subexpressions are then merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from thunder_dynamics.algorithms.dynamics import Dynamics
from thunder_dynamics.spatial import cross, dot, skew

SX = ca.SX


def time_derivative(expression: SX, motion: Sequence[tuple[SX, SX]]) -> SX:
    """d/dt of an expression, same shape; `motion` pairs each symbol that moves with its rate."""
    symbols, rates = (ca.vertcat(*column) for column in zip(*motion, strict=True))
    return ca.cse(ca.reshape(ca.jtimes(ca.vec(expression), symbols, rates), expression.shape))


def stacked(slices: Sequence[SX]) -> SX:
    """A derivative of a matrix as a matrix: column k is vec(slice k)."""
    return ca.horzcat(*(ca.vec(part) for part in slices))


def christoffel_symbols(dynamics: Dynamics) -> list[SX]:
    """Γ_k = ∂C/∂q̇_k of every velocity k, each (n, n): C = Σ Γ_k q̇_k and ∂M/∂q_k = Γ_k + Γ_kᵀ.

    (Γ_k)_ab is zero unless a, b and k lie on one path. Else, with β_i(x, y) = S_xᵀ B(I^c_i, S_i) S_y of the deepest of
    them: β_k(a, b), or β_b(a, k), or −β_a(deeper of b and k, the other one) [Echeandia & Wensing 2021, alg. 2, reduced
    by B(I, v) w + I (v × w) = B(I, w) v, which makes the three forms one].
    """
    model, beta = dynamics.model, _christoffel_forms(dynamics)
    symbols = [SX.zeros(model.n, model.n) for _ in range(model.n)]
    for i in range(model.n):
        above = model.path(model.links[i].parent)
        for x in (*above, i):
            for y in (*above, i):
                symbols[i][x, y] = beta[i, x, y]
                symbols[y][x, i] = beta[i, x, y]
        for x in above:
            for y in above:
                symbols[y][i, x] = -beta[i, max(x, y), min(x, y)]
    return symbols


def _christoffel_forms(dynamics: Dynamics) -> Mapping[tuple[int, int, int], SX]:
    """β_i(x, y) = S_xᵀ B(I^c_i, S_i) S_y for x and y on the path to i, B = [[0, −S(l)], [0, −S(h) S(v) − S(ω) Σ]]."""
    screws, forms = dynamics.kinematics.joint_axes_in_links, {}
    for i in range(dynamics.model.n):
        linear, angular = screws[i, i]
        _, h, second = dynamics._composite_inertias[i]
        momentum, _ = dynamics._composite_wrench(i, linear, angular)
        operator = -(SX(skew(h)) @ SX(skew(linear))) - SX(skew(angular)) @ second
        for y in dynamics.model.path(i):
            w = screws[y, i][1]
            force, moment = cross(w, momentum), operator @ w
            for x in dynamics.model.path(i):
                forms[i, x, y] = dot(screws[x, i][0], force) + dot(screws[x, i][1], moment)
    return forms
