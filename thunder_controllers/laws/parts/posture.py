"""Hold of spare motion against loads: the null space is led by velocities, and what loads displace is undone."""

from __future__ import annotations

import casadi as ca

from thunder_controllers.laws.parts.gains import FASTEST
from thunder_controllers.laws.parts.gate import smooth_step
from thunder_controllers.laws.parts.redundancy import (
    describe_singularity,
    distance_to_singularity,
    factor_ldl,
    singularity_threshold,
)
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import dot, reciprocal

SX = ca.SX

SLOWER = 8.0
"""Times that k_σ by default is below the fastest M⁻¹K_d: its critical damping, 2 k_σ, is then a quarter of it.

1 kg at the elbow is held within 0.05 rad by 8 to 12 1/s at most poses of a Panda, by 21 1/s at the worst of 300, and by
22 1/s at nine of ten poses of an xArm7.
"""

FREQUENCY = FASTEST["default"] / SLOWER
"""k_σ by default [1/s]."""

LIMIT = 0.3
"""Default of the gain `deflection_limit` [rad or m]."""

TINY = 1e-16
"""Keeps the direction of a vanishing deflection finite."""


class Deflection:
    """State σ (n,), how far loads have displaced the spare joints: σ̇ = ν(P s_n − k_σ σ) − Γσ, s_n = s + k_σ σ.

    s is the velocity that the joints shall have, less q̇, P the projector on the null space, ν its share near
    singularities and Γσ what a law adds. In the null space that is σ̇ = s; what leaves it as the arm moves decays. σ is
    shortened to `deflection_limit`, so that an obstacle does not wind it up.

    Args:
        signals: Where state `deflection` and gains k_sigma and deflection_limit are declared.
        frequency: Default of k_σ [1/s].

    Attributes:
        value: σ, shape (n,).
        k: k_σ [1/s].
    """

    def __init__(self, signals: Signals, frequency: float) -> None:
        self.k = signals.gain(
            "k_sigma",
            default=frequency,
            bounds=(0.0, 100.0),
            unit="1/s",
            doc="Rate at which spare joints return to where they shall be; the larger, the less a load displaces them.",
        )
        self._limit = signals.gain(
            "deflection_limit",
            default=LIMIT,
            bounds=(1e-3, 10.0),
            unit="rad|m",
            doc="Norm of the deflection of the spare joints at which they give way to a load.",
        )
        self.value = signals.state(
            "deflection",
            size=signals.robot.n,
            default=0.0,
            unit="rad|m",
            doc="σ: how far loads have displaced the spare joints.",
        )
        self._signals = signals

    def step(self, pulled: SX, share: SX, turning: SX | float = 0.0) -> SX:
        """Return the next σ.

        Args:
            pulled: P s_n.
            share: ν.
            turning: Γσ.
        """
        sigma, dt = self.value, self._signals.dt
        after = sigma + dt * (share * (pulled - self.k * sigma) - turning)
        return SX(after * ca.fmin(1.0, self._limit / ca.sqrt(dot(after, after) + TINY)))


def velocity_home(signals: Signals, k_n: SX, away: SX) -> tuple[SX, SX, SX]:
    """Return the state z (n,), a velocity that leads home, ż = k_n²(q_home − q) − 2 k_n z, and its next value.

    Args:
        k_n: Bandwidth [1/s].
        away: q_home − q (n,).
    """
    unit, doc = "rad/s|m/s", "z: velocity by which the spare joints go to q_home."
    z = signals.state("spare_velocity", size=signals.robot.n, default=0.0, unit=unit, doc=doc)
    z_dot = k_n**2 * away - 2.0 * k_n * z
    return z, SX(z_dot), SX(z + signals.dt * z_dot)


def is_redundant(robot: RobotExpressions, rows: int) -> bool:
    """Return whether the path to the end effector has a joint for each row of the task, and joints are left."""
    return len(robot.model.path(robot.model.ee_link)) >= rows < robot.n


def hold_spare_joints(
    robot: RobotExpressions, signals: Signals, J: SX, s: SX, share: SX, frequency: float = FREQUENCY
) -> tuple[SX, SX]:
    """Return τ_n = ν M P(k_σ² σ + 2 k_σ s), P = 1 − M⁻¹JᵀΛJ, Λ = (JM⁻¹Jᵀ)⁻¹   [Khatib 1987, eq. 51], and the next σ.

    σ is the `Deflection` of s with Γ = M⁻¹C.

    J M⁻¹τ_n = 0: no acceleration of the end effector is due to τ_n. No τ_n ≠ 0 is a Jᵀf, whatever M the model has: at
    rest the torques of the task bear their part of a load, and τ_n the rest.

    With E = ½ k_σ² σᵀM σ, Ė = sᵀτ_n − ν(2 k_σ sᵀM P s + k_σ³ σᵀM(1 − P)σ). With s = −q̇ it is a passive spring and
    damper at every pose: the P that σ moves by is the one that σ acts by, and M⁻¹Cσ keeps σᵀMσ while M turns. A limit
    that shortens σ lowers E.

    Args:
        robot: A redundant one, as `is_redundant` has it.
        signals: Where what `Deflection` has is declared.
        J: Jacobian of the task (rows, n), an expression of q.
        s: Velocity that the joints shall have, less q̇ (n,).
        share: ν, zero at singularities of J, where P has no limit.
        frequency: Default of k_σ [1/s].
    """
    q, rest = signals.q, SX.zeros(robot.n)
    M = SX(robot["M"])
    inertia = factor_ldl(M)
    W = inertia.solve(J.T)
    mobility = factor_ldl(J @ W)
    deflection = Deflection(signals, frequency)
    sigma, k = deflection.value, deflection.k

    def project(velocity: SX) -> SX:
        return SX(velocity - W @ mobility.solve(J @ velocity))

    coriolis = robot.inverse_dynamics(q, signals.qd, sigma, rest) - robot.inverse_dynamics(q, rest, rest, rest)
    after = deflection.step(project(s + k * sigma), share, inertia.solve(coriolis))
    return SX(share * (M @ project(k**2 * sigma + 2.0 * k * s))), after


def away_from_singularities(signals: Signals, J: SX) -> tuple[SX, SX]:
    """Return ν(q) = S(μ/threshold), S the smooth step, and μ = 1/tr((JJᵀ)⁻¹) [m²].

    Declares gain singularity_threshold and telemetry `singularity`, which is μ.
    """
    describe_singularity(signals)
    distance = distance_to_singularity(J)
    threshold = singularity_threshold(signals, "spare joints are held less")
    return smooth_step(distance * reciprocal(threshold)), distance
