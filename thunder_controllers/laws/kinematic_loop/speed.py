"""Bounds of speeds that do not change their direction: one smooth factor, exactly 1 up to a share of the bound."""

from __future__ import annotations

import casadi as ca

from thunder_dynamics.spatial import dot, reciprocal

SX = ca.SX

EXACT_SHARE = 0.7
"""Of a bound, up to which nothing is scaled."""

TINY = 1e-16
"""Keeps the slope of a norm finite at zero, where the factor is 1 whatever it is."""


def saturate(m: SX) -> tuple[SX, SX]:
    """φ(m) ≤ 1 and φ'(m), twice differentiable: m up to a = EXACT_SHARE, then a + (1 − a) t (1 + t)/(1 + t + t²).

    t = (m − a)/(1 − a), of which the fraction is 1 − 1/(1 + t + t²).

    Args:
        m: Not negative.
    """
    a = EXACT_SHARE
    t = ca.fmax(m - a, 0.0) / (1.0 - a)
    r = reciprocal(1.0 + t + t * t)
    return SX(ca.fmin(m, a) + (1.0 - a) * (1.0 - r)), SX((1.0 + 2.0 * t) * r * r)


def limit_joints(v: SX, v_dot: SX, limit: SX) -> tuple[SX, SX]:
    """κ v and its time derivative, |κ vᵢ| ≤ limitᵢ, with κ = φ(m)/m and m = (Σ (vᵢ/limitᵢ)⁸)^(1/8) ≥ max |vᵢ|/limitᵢ.

    Args:
        v: Velocities of joints, shape (n,) [rad/s or m/s].
        v_dot: Their time derivative.
        limit: Positive bounds, shape (n,).
    """
    share = reciprocal(limit)
    ratio = v * share
    square = ratio * ratio
    seventh = square * square * square * ratio
    m_square = ca.sqrt(ca.sqrt(dot(seventh, ratio) + TINY))
    m = ca.sqrt(m_square)
    r = reciprocal(m)
    square = r * r
    m_dot = dot(seventh, v_dot * share) * (square * square * square * r)
    phi, slope = saturate(m)
    scale = ca.if_else(m < EXACT_SHARE, 1.0, phi * r)
    scale_dot = (slope - scale) * r * m_dot
    return SX(scale * v), SX(scale * v_dot + scale_dot * v)


def limit_norm(v: SX, limit: SX) -> SX:
    """κ v with ‖κ v‖ ≤ limit, shape of v: κ = φ(m)/m, m = ‖v‖/limit."""
    m = ca.sqrt(dot(v, v) + TINY) / limit
    return SX(ca.if_else(m < EXACT_SHARE, 1.0, saturate(m)[0] / m) * v)
