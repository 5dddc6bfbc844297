"""Friction and effort offsets of joints in laws: of the robot file, compensated (theory.md §6), or adapted (§8)."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.laws.adaptation.limit import TINY, AdaptationLimit
from thunder_controllers.laws.parts.gate import opened
from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Option, Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX
FloatArray = NDArray[np.float64]

GATE_SPEED = 2.0 * SMOOTHING_VELOCITY
"""Default of the gains `friction_speed` and `offset_speed` [rad/s or m/s]: where tanh(q̇_r / v_s) is 96 % of a sign."""

STEEPEST = 0.1
"""Stiffness that friction may add which is fed forward, while its sign changes, over K_d and the rate [1].

A loop of 1 kHz with 2 ms of delay and differenced velocities, whose K_d is 230/s of the inertia, bears 0.19 by its
phase, of an arm that is a fifth lighter 0.16.
"""

GAMMA, PATIENCE = 0.02, 2.0
"""Default Γ_f of viscous [rad²/(N·m·s²)] and Coulomb friction [1/(N·m)]; and Γ_f K_d beside an observer [rad/s, s/rad].

There a joint that turns with v [rad/s] learns its viscous friction in PATIENCE/v² seconds, and Coulomb friction in
PATIENCE, whatever its size. Nothing is lost by waiting, as the observer takes friction up until it is learned. What a
payload does to slow joints looks like friction at first: with GAMMA a j2s6 that sticks learns seven times what a wrist
has, and with ten times GAMMA an xArm7 does not unlearn in 14 s what its file has too much.
"""

MAXIMUM = 50.0
"""Widest estimate of a coefficient, viscous [N·m·s/rad] or Coulomb [N·m], or of an offset, either way [N·m or N]."""


COMPENSATION = Option(
    "friction", "Feed friction and effort offsets of the robot file forward, or leave them out.", ("model", "none")
)
ADAPTATION = Option("friction", "Feed the estimated friction of every joint forward, or none.", ("none", "adapted"))


class FrictionTerms:
    """F_V and F_C sign(q̇) + o of τ_f = F_V(q̇) q̇ + F_C sign(q̇) + o, the sign smoothed, or zero for "none".

    With effort offsets o, Coulomb friction differs by direction: F_C + o, and F_C − o.

    Args:
        choice: Value of the option COMPENSATION of a law.

    Attributes:
        viscous: Diagonal of F_V, shape (n,) [N·m·s/rad]; it depends on |q̇| where the polynomial goes beyond order 1.
        coulomb: F_C tanh(q̇ / v_s) + o, shape (n,) [N·m].
    """

    def __init__(self, robot: RobotExpressions, qd: SX, choice: str = "model") -> None:
        n, model = robot.n, robot.model
        self.viscous, self.coulomb = SX.zeros(n), SX.zeros(n)
        if choice == "none":
            return
        order, coefficients = model.friction_order, robot.parameters["par_Dl"]
        for i, link in enumerate(model.links):
            mine = coefficients[order * i : order * (i + 1)]
            self.viscous[i] = sum(c * ca.fabs(qd[i]) ** k for k, c in enumerate(mine))
            self.coulomb[i] = link.coulomb * ca.tanh(qd[i] / SMOOTHING_VELOCITY) + link.effort_offset

    def torque(self, velocity: SX) -> SX:
        """F_V v + F_C sign(q̇) + o, (n,)."""
        return self.viscous * velocity + self.coulomb


class FrictionAdaptation:
    """τ_f = Y_f φ̂, φ̂̇ = g(v) Γ_f⁻¹ Y_fᵀ s, Y_f = [diag(q̇_r), diag(tanh(u / v_s))], 0 ≤ φ̂ ≤ its bound.

    Friction on the reference velocity instead of the measured one keeps noise out of the feedforward. But q̇_r has Λ e
    in it: with u = q̇_r a stiffness F̂_C Λ/v_s stands beside K_d Λ while the sign changes. V knows no delay and bounds no
    F̂_C, which takes up the weight of an unknown payload for a while: a limit cycle. So of what q̇_r feeds back u has the
    share that keeps the stiffness within `STEEPEST` K_d/Δ, all of it up to some F̂_C. φ̂ adapts by the Y_f that is in τ,
    and φ̃ cancels in V as with u = q̇_r.

    A joint that is held, or that sags, cannot tell friction from gravity: while an error stays, s and q̇_r = Λ e keep
    their signs, and φ̂ grows by their product. So the gate g of each joint is zero while the slower of |u| and q̇ in
    the direction of u, v, is below v_g, the gain `friction_speed`; one from 2 v_g on; and x² (3 − 2x) with
    x = v/v_g − 1 between them.

    Args:
        signals: Where state `friction_hat` (2 n: viscous, then Coulomb) and gains gamma_viscous, gamma_coulomb,
            friction_speed, friction_upper are declared.
        qd_r: Reference velocity, (n,).
        chosen: Which of φ̂ adapt, (2 n,).
        feedback: What of qd_r feeds positions back, (n,), at Λ times their errors at most.
        K_d: The law's feedback on s, (n,) or one for all.
        Lambda: Bandwidths of the law's error, of any size [1/s].
        gamma: Default of both gains Γ_f.

    Attributes:
        estimate: φ̂ (2 n,).
        nominal: Of the robot file.
        effort: Y_f φ̂ (n,).
        regressor: g Y_f (n, 2 n), what adapts φ̂.
        rates: Diagonal of Γ_f⁻¹ (2 n,), zero of what stays.
        measured: Y_f at the measured velocity (n, 2 n), and g(|q̇|) (n,): where that tells friction from gravity.
    """

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        qd_r: SX,
        chosen: NDArray[np.bool_],
        feedback: SX,
        K_d: SX,
        Lambda: SX,
        gamma: float | FloatArray = GAMMA,
    ) -> None:
        n = robot.n
        links = robot.model.links
        viscous = [link.friction[0] if link.friction else 0.0 for link in links]
        self.nominal = np.array([*viscous, *(link.coulomb for link in links)])
        upper = np.maximum(MAXIMUM, self.nominal)
        units = "N·m·s/rad, N·m"
        self.estimate = signals.state(
            "friction_hat",
            size=2 * n,
            default=self.nominal,
            bounds=(0.0, upper),
            unit=units,
            doc="Estimated friction: viscous coefficient of every joint, then Coulomb friction of every joint.",
            adapted=True,
        )
        gammas = [
            signals.gain(
                f"gamma_{what}",
                size="joints",
                default=gamma,
                bounds=(1e-6, 1e9),
                unit=unit,
                doc=f"Γ of {what} friction.",
            )
            for what, unit in (("viscous", "rad²/(N·m·s²)"), ("coulomb", "1/(N·m)"))
        ]
        speed = signals.gain(
            "friction_speed",
            default=GATE_SPEED,
            bounds=(1e-6, 1e3),
            unit="rad/s|m/s",
            doc="Reference velocity of a joint below which its φ̂ does not adapt; from twice that on it does in full.",
        )
        self._upper = signals.gain(
            "friction_upper", size=2 * n, default=upper, bounds=(0.0, 1e4), unit=units, doc="Upper bounds of φ̂."
        )
        self.rates = chosen.astype(float) * ca.vertcat(*map(reciprocal, gammas))
        stiffness = self.estimate[n:] * (ca.mmax(Lambda) * signals.dt / SMOOTHING_VELOCITY)
        share = ca.fmin(1.0, STEEPEST * K_d * reciprocal(stiffness + TINY))
        direction = qd_r - (1.0 - share) * feedback
        Y = _basis(qd_r, direction)
        self.effort = Y @ self.estimate
        self.regressor = ca.diag(_moving(signals, direction, speed)) @ Y
        self.measured = _basis(signals.qd, signals.qd), opened(ca.fabs(signals.qd), speed)

    def add_rows(self, rows: SX) -> None:
        """Adapt φ̂ by further errors, which s of `step` then has below it: these rows (m, 2 n) multiply φ̃ there."""
        self.regressor = ca.vertcat(self.regressor, rows)

    def step(self, s: SX, K_d: SX, limit: AdaptationLimit, force: SX | float = 0.0) -> dict[str, SX]:
        """Next state: φ̂ after one Euler step, clamped to its bounds; arguments as of `AdaptationLimit.moved`."""
        moved = limit.moved(self.estimate, self.regressor, self.rates, s, K_d, force)
        return {"friction_hat": self.bounded(moved)}

    def bounded(self, phi: SX) -> SX:
        """φ within its bounds."""
        return SX(ca.densify(ca.fmin(ca.fmax(phi, 0.0), self._upper)))


class OffsetAdaptation:
    """τ_o = ô, ô̇ = g(v) Γ_o⁻¹ s, |ô| ≤ its bound: a constant effort of each joint.

    V grows by ½ γ_o Σ(ô − o)². A joint that is held cannot tell an offset from gravity, nor from what its Coulomb
    friction holds: while an error stays, ô would take all of it, as an integral action does. So the gate g of a joint
    is that of `FrictionAdaptation`, with a v_g of its own, `offset_speed`. A joint that moves to and fro tells offset
    from friction, which changes its sign with the motion.

    Args:
        signals: Where state `offset_hat` (n) and gains gamma_offset, offset_speed and offset_upper are declared.
        qd_r: Reference velocity, (n,).
        chosen: Which of ô adapt, (n,).

    Attributes:
        estimate: ô (n,).
        nominal: Of the robot file.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, qd_r: SX, chosen: NDArray[np.bool_]) -> None:
        n = robot.n
        self.nominal = robot.model.effort_offsets
        upper = np.maximum(MAXIMUM, np.abs(self.nominal))
        self.estimate = signals.state(
            "offset_hat",
            size=n,
            default=self.nominal,
            bounds=(-upper, upper),
            unit="N·m|N",
            doc="Estimated effort that every joint needs beside its dynamics and friction.",
            adapted=True,
        )
        gamma = signals.gain("gamma_offset", default=0.02, bounds=(1e-6, 1e9), unit="1/(N·m)", doc="Γ of the offsets.")
        speed = signals.gain(
            "offset_speed",
            default=GATE_SPEED,
            bounds=(1e-6, 1e3),
            unit="rad/s|m/s",
            doc="Reference velocity of a joint below which its ô does not adapt; from twice that on it does in full.",
        )
        self._upper = signals.gain(
            "offset_upper",
            size="joints",
            default=upper,
            bounds=(0.0, 1e4),
            unit="N·m|N",
            doc="Bounds of ô, either way.",
        )
        self._rates = chosen.astype(float) * ca.repmat(reciprocal(gamma), n)
        self._regressor = ca.diag(_moving(signals, qd_r, speed))
        self._measured = ca.diag(opened(ca.fabs(signals.qd), speed))

    def add_rows(self) -> None:
        """Adapt ô by n further errors of the effort, which s of `step` then has below it."""
        self._regressor = ca.vertcat(self._regressor, self._measured)

    def step(self, s: SX, K_d: SX, limit: AdaptationLimit) -> SX:
        """Next ô: one Euler step, clamped; arguments as of `AdaptationLimit.moved`."""
        return self.bounded(limit.moved(self.estimate, self._regressor, self._rates, s, K_d))

    def bounded(self, offsets: SX) -> SX:
        """Offsets within their bounds."""
        return SX(ca.fmin(ca.fmax(offsets, -self._upper), self._upper))


def _moving(signals: Signals, wanted: SX, speed: SX) -> SX:
    """g of each joint (n,), by the slower of a velocity that is wanted and q̇ in its direction."""
    return opened(ca.fmin(ca.fabs(wanted), ca.sign(wanted) * signals.qd), speed)


def _basis(qd: SX, direction: SX) -> SX:
    """Y_f at a velocity, and the sign of another: sparse."""
    return ca.horzcat(ca.diag(qd), ca.diag(ca.tanh(direction / SMOOTHING_VELOCITY)))
