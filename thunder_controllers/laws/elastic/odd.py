"""Odd functions that rise: springs and dampers of elastic joints, their derivatives and their inverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca

from thunder_dynamics.spatial import reciprocal

SX = ca.SX

NEWTON = 8
"""Steps of Newton's method, from at most J times the value of a sum of J powers: the last one changes no digit."""


class Odd:
    """f(v) = Σ_j c_j |v|^(p_j − 1) v of each joint, c_1 > 0 and the others not negative: f rises.

    Args:
        coefficients: c, joint by joint, (m·J,), as the parameter groups have them.
        powers: p, from 1 on.
    """

    def __init__(self, coefficients: SX, powers: Sequence[int]) -> None:
        self._powers = tuple(powers)
        self._c = [coefficients[k :: len(self._powers)] for k in range(len(self._powers))]

    def at(self, joints: Sequence[int]) -> Odd:
        """That of some of the joints."""
        rows = (c[list(joints)] for c in self._c)
        return Odd(ca.vec(ca.horzcat(SX(len(joints), 0), *rows).T), self._powers)

    def __call__(self, v: SX) -> SX:
        """f, (m,)."""
        return self._sum(lambda c, p: c * _power(v, p - 1) * v, v)

    def slope(self, v: SX) -> SX:
        """df/dv, (m,)."""
        return self._sum(lambda c, p: p * c * _power(v, p - 1), v)

    def curvature(self, v: SX) -> SX:
        """d²f/dv², (m,); at zero that from above."""
        return self._sum(
            lambda c, p: p * (p - 1) * c * _power(v, p - 2) * ca.sign(v) if p > 1 else SX.zeros(v.shape), v
        )

    def inverse(self, value: SX) -> SX:
        """v with f(v) = value, (m,). f is convex beyond zero, so Newton's steps from above the root come down to it."""
        first, size = self._c[0], ca.fabs(value)
        v = size * reciprocal(first)
        if len(self._powers) == 1:
            return SX(value * reciprocal(first))
        for c, p in zip(self._c[1:], self._powers[1:], strict=True):
            alone = (size * reciprocal(c + TINY)) ** (1.0 / p)
            v = ca.fmin(v, alone)
        for _ in range(NEWTON):
            v = v - (self(v) - size) * reciprocal(self.slope(v))
        return SX(ca.sign(value) * v)

    def _sum(self, term: Callable[[SX, int], SX], v: SX) -> SX:
        return SX(sum((term(c, p) for c, p in zip(self._c, self._powers, strict=True)), SX.zeros(v.shape)))


TINY = 1e-12
"""Of coefficients: keeps quotients finite."""


def _power(v: SX, p: int) -> SX:
    """|v|^p, (m,)."""
    return SX.ones(v.shape) if p == 0 else SX(v**p if p % 2 == 0 else ca.fabs(v) ** p)
