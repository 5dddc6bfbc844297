"""Derivatives of M, C, G, J and of inverse and forward dynamics, in time and along the state.

Derivatives in time, and those for which no recursion is known that costs less, are forward-mode automatic
differentiation of the expressions, whose common subexpressions are then merged.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from thunder_dynamics.algorithms.dynamics import Dynamics
from thunder_dynamics.algorithms.joint_motion import Screw, power
from thunder_dynamics.spatial import cross, skew

SX = ca.SX


def time_derivative(expression: SX, motion: Sequence[tuple[SX, SX]]) -> SX:
    """d/dt of an expression, same shape; `motion` pairs each symbol that moves with its rate."""
    symbols, rates = (ca.vertcat(*column) for column in zip(*motion, strict=True))
    return ca.cse(ca.reshape(ca.jtimes(ca.vec(expression), symbols, rates), expression.shape))


def stacked(slices: Sequence[SX]) -> SX:
    """A derivative of a matrix as a matrix: column k is vec(slice k)."""
    return ca.horzcat(*(ca.vec(part) for part in slices))


def christoffel_symbols(dynamics: Dynamics) -> list[SX]:
    """Γ_k = ∂C/∂v_k of every velocity k, each (nv, nv), where no motion subspace depends on q: C = Σ Γ_k v_k.

    (Γ_k)_ab is zero unless a, b and k lie on one path. Else, with β_c(x, y) = S_xᵀ B(I^c, S_c) S_y of the deepest of
    them: β_k(a, b), or β_b(a, k), or −β_a(deeper of b and k, the other one) [Echeandia & Wensing 2021, alg. 2, reduced
    by B(I, v) w + I (v × w) = B(I, w) v, which makes the three forms one].
    """
    model, kinematics = dynamics.model, dynamics.kinematics
    symbols = [SX.zeros(model.nv, model.nv) for _ in range(model.nv)]
    for i, link in enumerate(model.links):
        above = kinematics.path_screws(link.parent, i)
        depths = [j for j in model.path(link.parent) for _ in model.v_ranges[j]]
        own = kinematics.screws(i, i)
        for c, screw in own:
            form = _christoffel_form(dynamics, i, screw, [*above, *own])
            for x, (a, _) in enumerate([*above, *own]):
                for y, (b, _) in enumerate([*above, *own]):
                    symbols[b][a, c] += form[x, y]
                    if y < len(above):
                        symbols[c][a, b] += form[x, y]
            for x, (b, _) in enumerate(above):
                for y, (k, _) in enumerate(above):
                    symbols[k][c, b] -= form[y, x] if depths[y] > depths[x] else form[x, y]
    return symbols


def _christoffel_form(dynamics: Dynamics, i: int, screw: Screw, columns: Sequence[tuple[int, Screw]]) -> SX:
    """β(x, y) = S_xᵀ B(I^c_i, S) S_y of columns that move link i, B = [[0, −S(l)], [0, −S(h) S(v) − S(ω) Σ]]."""
    linear, angular = screw
    _, h, second = dynamics.composite_inertias[i]
    momentum, _ = dynamics.composite_wrench(i, linear, angular)
    operator = -(SX(skew(h)) @ SX(skew(linear))) - SX(skew(angular)) @ second
    form = SX.zeros(len(columns), len(columns))
    for y, (_, (_, w)) in enumerate(columns):
        wrench = cross(w, momentum), operator @ w
        for x, (_, other) in enumerate(columns):
            form[x, y] = power(other, wrench)
    return form
