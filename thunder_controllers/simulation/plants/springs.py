"""Motors on springs: the torque between motor and link, and what an integrator must know of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.fields import FloatArray
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.joints import Elasticity

NEWTON = 60
"""Steps of Newton's method: from 1 + J/2 times the root of a polynomial of J terms, some ten are needed at most."""


LARGEST_STEP = 2.0
"""Longest step of Runge–Kutta, in times 1/λ of a damped joint's λ: stable to 2.78 and far from it below 2."""

FINEST_WAVE = 0.3
"""Longest step of Runge–Kutta, in times 1/ω of the fastest spring.

It damps that spring by ζ = (ωh)⁵/288 = 8e-6 too much, real ones have 1e-3 and more, and its frequency is off by
(ωh)⁴/120 = 7e-5.
"""


Linear = tuple[FloatArray, FloatArray, FloatArray]
"""Inverse inertia, stiffness and damping of a linear system, (k, k) each."""


@dataclass(frozen=True)
class Odd:
    """f(v) = Σ_j c_j |v|^(p_j − 1) v, which rises where no c_j is negative: springs and dampers of each joint.

    Attributes:
        coefficients: c, (J, m).
        powers: p, (J,).
    """

    coefficients: FloatArray
    powers: FloatArray

    def __call__(self, v: FloatArray) -> FloatArray:
        """f, (m,)."""
        return np.asarray((self.coefficients * np.abs(v) ** (self.powers[:, None] - 1.0) * v).sum(axis=0))

    def slope(self, v: FloatArray) -> FloatArray:
        """df/dv, (m,)."""
        powers = self.powers[:, None]
        return np.asarray((self.coefficients * powers * np.abs(v) ** (powers - 1.0)).sum(axis=0))

    def energy(self, v: FloatArray) -> float:
        """∫f dv from zero, all joints together: of a spring, what it stores."""
        powers = self.powers[:, None]
        return float((self.coefficients * np.abs(v) ** (powers + 1.0) / (powers + 1.0)).sum())

    def inverse(self, value: FloatArray) -> FloatArray:
        """V with f(v) = value, (m,): f is convex beyond zero, so Newton's steps from above the root stay above it."""
        size = np.abs(value)
        alone = np.divide(
            size, self.coefficients, out=np.full_like(self.coefficients, np.inf), where=self.coefficients > 0.0
        )
        v = (alone ** (1.0 / self.powers[:, None])).min(axis=0)
        for _ in range(NEWTON):
            v = v - np.where(size > 0.0, (self(v) - size) / np.maximum(self.slope(v), 1e-300), 0.0)
        return np.asarray(np.copysign(v, value))


@dataclass(frozen=True)
class Springs:
    """k + d between motors x and links q of the elastic joints, and dm of the motors: `algorithms.elastic`, of numbers.

    Attributes:
        elastic: Names of the elastic joints, and what they truly are.
        joints: Their places among the robot's.
        stiffness: k of x − q.
        damping: d of ẋ − q̇.
        friction: dm of ẋ.
        inertia: Mm, (m,) [kg·m² or kg].
    """

    elastic: tuple[tuple[str, Elasticity], ...]
    joints: NDArray[np.intp]
    stiffness: Odd
    damping: Odd
    friction: Odd
    inertia: FloatArray

    @classmethod
    def of(
        cls, names: Sequence[str], described: Mapping[str, Elasticity], inertia: FloatArray, stiffness: FloatArray
    ) -> Springs:
        """Those of a robot as it truly is.

        Args:
            names: Of its joints.
            described: Of its elastic joints, by name, of terms of the same orders.
            inertia: Of the motors, by joint (n,), instead of the described Mm.
            stiffness: What each joint's stiffness has of the described one, (n,) [1].

        Raises:
            ScenarioError: for springs that do not rise with their stretch, and motors without inertia.
        """
        true = {
            name: replace(one, K=tuple(K * stiffness[i] for K in one.K), Mm=float(inertia[i]))
            for i, name in enumerate(names)
            if (one := described.get(name)) is not None
        }
        for name, e in true.items():
            if not (e.K and e.K[0] > 0.0 and e.Mm > 0.0 and min((*e.K, *e.D, *e.Dm)) >= 0.0):
                valid = "K that begins above 0, no negative coefficient, Mm above 0"
                raise ScenarioError(f"{e}", where=f"elastic joint {name}", valid=valid)

        def odd(key: str, step: float) -> Odd:
            rows = np.array([getattr(e, key) for e in true.values()], dtype=np.float64).reshape(len(true), -1).T
            return Odd(rows, np.asarray(1.0 + step * np.arange(len(rows)), dtype=np.float64))

        joints = np.array([names.index(name) for name in true], dtype=np.intp)
        motors = np.array([e.Mm for e in true.values()])
        return cls(tuple(true.items()), joints, odd("K", 2.0), odd("D", 1.0), odd("Dm", 1.0), motors)

    def torque(self, stretch: FloatArray, rate: FloatArray) -> FloatArray:
        """k + d, (m,): what pulls the links after the motors [N·m or N]."""
        return self.stiffness(stretch) + self.damping(rate)

    def acceleration(self, effort: FloatArray, torque: FloatArray, velocity: FloatArray) -> FloatArray:
        """ẍ = (τ_m − dm − k − d)/Mm, (m,)."""
        return (effort - self.friction(velocity) - torque) / self.inertia

    def linearized(self, arm: Linear, stretch: FloatArray, rate: FloatArray, velocity: FloatArray) -> Linear:
        """Inverse inertia diag(M, Mm)⁻¹, stiffness and damping of arm and motors about a state, (n + m, n + m) each.

        Args:
            arm: The same of the arm alone, M⁻¹ first, (n, n) each.
            stretch: x − q, (m,).
            rate: ẋ − q̇, (m,).
            velocity: ẋ, (m,).
        """
        n, m = len(arm[0]), len(self.joints)
        motors = 1.0 / self.inertia, np.zeros(m), self.friction.slope(velocity)
        mobility, stiffness, damping = (
            np.block([[one, np.zeros((n, m))], [np.zeros((m, n)), np.diag(motor)]])
            for one, motor in zip(arm, motors, strict=True)
        )
        between = np.zeros((n + m, m))  # x − q of q and x
        between[self.joints, range(m)], between[range(n, n + m), range(m)] = -1.0, 1.0
        stiffness += (between * self.stiffness.slope(stretch)) @ between.T
        damping += (between * self.damping.slope(rate)) @ between.T
        return mobility, stiffness, damping


def count_parts(step: float, mobility: FloatArray, stiffness: FloatArray, damping: FloatArray) -> int:
    """In how many parts Runge–Kutta is to make a step [s], for its fastest oscillation and its fastest damping.

    Both are of A = M⁻¹ S, S symmetric: √tr(A²) is no less than the largest eigenvalue, and little above.

    Args:
        step: [s].
        mobility: M⁻¹, (k, k).
        stiffness: (k, k), symmetric.
        damping: (k, k), symmetric.
    """
    waves, damped = (float(np.sqrt(np.sum(A * A.T))) for A in (mobility @ stiffness, mobility @ damping))
    finest = step * max(math.sqrt(waves) / FINEST_WAVE, damped / LARGEST_STEP)
    return max(math.ceil(finest), 1) if math.isfinite(finest) else 1
