"""Bounds of speeds that do not change their direction: one smooth factor, exactly 1 up to a share of the bound."""

from __future__ import annotations

import casadi as ca

from thunder_dynamics.spatial import dot

SX = ca.SX

EXACT_SHARE = 0.7
"""Of a bound, up to which nothing is scaled."""

TINY = 1e-16
"""Keeps the slope of a norm finite at zero, where the factor is 1 whatever it is."""


def saturate(m: SX) -> tuple[SX, SX]:
    """φ(m) ≤ 1 and φ'(m), twice differentiable: m up to a = EXACT_SHARE, then a + (1 − a) tanh((m − a)/(1 − a)).

    Args:
        m: Not negative.
    """
    a = EXACT_SHARE
    bend = ca.tanh(ca.fmax(m - a, 0.0) / (1.0 - a))
    return SX(ca.fmin(m, a) + (1.0 - a) * bend), SX(1.0 - bend * bend)


def limit_joints(v: SX, v_dot: SX, limit: SX) -> tuple[SX, SX]:
    """κ v and its time derivative, |κ vᵢ| ≤ limitᵢ, with κ = φ(m)/m and m = (Σ (vᵢ/limitᵢ)⁸)^(1/8) ≥ max |vᵢ|/limitᵢ.

    Args:
        v: Velocities of joints, shape (n,) [rad/s or m/s].
        v_dot: Their time derivative.
        limit: Positive bounds, shape (n,).
    """
    ratio = v / limit
    square = ratio * ratio
    seventh = square * square * square * ratio
    m_square = ca.sqrt(ca.sqrt(dot(seventh, ratio) + TINY))
    m = ca.sqrt(m_square)
    m_dot = dot(seventh, v_dot / limit) / (m_square * m_square * m_square * m)
    phi, slope = saturate(m)
    scale = phi / m
    scale_dot = (slope - scale) / m * m_dot
    return SX(scale * v), SX(scale * v_dot + scale_dot * v)


def limit_norm(v: SX, limit: SX) -> SX:
    """κ v with ‖κ v‖ ≤ limit, shape of v: κ = φ(m)/m, m = ‖v‖/limit."""
    m = ca.sqrt(dot(v, v) + TINY) / limit
    return SX(saturate(m)[0] / m * v)
