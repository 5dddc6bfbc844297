"""Adaptation of joint friction, with the law that adapts inertial parameters (theory.md §8)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from thunder_controllers.laws.adaptation.limit import AdaptationLimit
from thunder_dynamics.algorithms.friction import SMOOTHING_VELOCITY
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

GATE_SPEED = 2.0 * SMOOTHING_VELOCITY
"""Default of the gain `friction_speed` [rad/s or m/s]: where tanh(q̇_r / v_s) is 96 % of a sign."""

MAXIMUM = 50.0
"""Widest estimate of a coefficient, viscous [N·m·s/rad] or Coulomb [N·m]."""


class FrictionAdaptation:
    """τ_f = Y_f φ̂, φ̂̇ = g(v) Γ_f⁻¹ Y_fᵀ s, Y_f = [diag(q̇_r), diag(tanh(q̇_r / v_s))], 0 ≤ φ̂ ≤ its bound.

    Friction on the reference velocity instead of the measured one keeps noise and limit cycles out of the feedforward.

    A joint that is held, or that sags, cannot tell friction from gravity: while an error stays, s and q̇_r = Λ e keep
    their signs, and φ̂ grows by their product. So the gate g of each joint is zero while the slower of |q̇_r| and q̇ in
    the direction of q̇_r, v, is below v_g, the gain `friction_speed`; one from 2 v_g on; and x² (3 − 2x) with
    x = v/v_g − 1 between them. `limit` slows each joint's adaptation where it would be too fast for its damping.

    Args:
        signals: Where state `friction_hat` (2 n: viscous, then Coulomb) and gains gamma_viscous, gamma_coulomb,
            friction_speed, friction_upper are declared.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, limit: AdaptationLimit) -> None:
        n = robot.n
        links = robot.model.links
        viscous = [link.friction[0] if link.friction else 0.0 for link in links]
        nominal = np.array([*viscous, *(link.coulomb for link in links)])
        upper = np.maximum(MAXIMUM, nominal)
        units = "N·m·s/rad, N·m"
        self.estimate = signals.state(
            "friction_hat",
            size=2 * n,
            default=nominal,
            bounds=(0.0, upper),
            unit=units,
            doc="Estimated friction: viscous coefficient of every joint, then Coulomb friction of every joint.",
            adapted=True,
        )
        gammas = [
            signals.gain(f"gamma_{what}", default=0.02, bounds=(1e-6, 1e9), unit=unit, doc=f"Γ of the {what} friction.")
            for what, unit in (("viscous", "rad²/(N·m·s²)"), ("coulomb", "1/(N·m)"))
        ]
        self._speed = signals.gain(
            "friction_speed",
            default=GATE_SPEED,
            bounds=(1e-6, 1e3),
            unit="rad/s|m/s",
            doc="Reference velocity of a joint below which its φ̂ does not adapt; from twice that on it does in full.",
        )
        self._upper = signals.gain(
            "friction_upper", size=2 * n, default=upper, bounds=(0.0, 1e4), unit=units, doc="Upper bounds of φ̂."
        )
        self._rates = ca.vertcat(*(ca.repmat(reciprocal(gamma), n) for gamma in gammas))
        self._dt = signals.dt
        self._n = n
        self._limit = limit

    def torque(self, qd_r: SX) -> SX:
        """Y_f φ̂, shape (n,)."""
        viscous, coulomb = self._basis(qd_r)
        return viscous * self.estimate[: self._n] + coulomb * self.estimate[self._n :]

    def step(self, qd_r: SX, s: SX, K_d: SX) -> dict[str, SX]:
        """Next state: φ̂ after one Euler step, clamped to its bounds.

        Args:
            qd_r: Reference velocity, (n,).
            s: q̇_r − q̇, (n,).
            K_d: The law's feedback on s, (n,).
        """
        basis = ca.horzcat(*self._basis(qd_r))
        rates = ca.reshape(self._rates, self._n, 2)
        gate = self._gate(ca.fmin(ca.fabs(qd_r), ca.sign(qd_r) * (qd_r - s)))
        kept = self._limit.share_kept(ca.sum2(basis * basis * rates) * self._limit.per_damping(K_d))
        moved = self.estimate + self._dt * ca.vec(rates * basis * ca.repmat(kept * gate * s, 1, 2))
        return {"friction_hat": ca.fmin(ca.fmax(moved, 0.0), self._upper)}

    def _gate(self, speed: SX) -> SX:
        x = ca.fmin(ca.fmax(speed * reciprocal(self._speed) - 1.0, 0.0), 1.0)
        return SX(x**2 * (3.0 - 2.0 * x))

    @staticmethod
    def _basis(qd_r: SX) -> tuple[SX, SX]:
        return qd_r, ca.tanh(qd_r / SMOOTHING_VELOCITY)
