"""Adaptation of reflected rotor inertias, with the law that adapts inertial parameters (theory.md §2)."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.laws.adaptation.limit import BEARABLE, TINY, AdaptationLimit
from thunder_controllers.laws.parts.gains import bearable_bandwidth, least_joint_inertia, unknown_rotors
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Options, Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX


def are_learned(options: Options) -> bool:
    """Return whether rotors adapt by a scheme that tells what they surely have."""
    return bool(options.get("rotors") == "adapted" and getattr(options.parts.get("adaptation"), "tells_rotors", False))


class RotorAdaptation:
    """τ_a = diag(q̈_r) Î_a, Î̇_a = g Γ_a⁻¹ diag(q̈_r) s, 0 ≤ Î_a ≤ its bound: a parameter of each joint, as friction is.

    V grows by ½ γ_a Σ(Î_a − I_a)². At rest the noise of q̇ is in both s and q̈_r, as in Y_r: g opens while the arm moves.
    Î_a Λ is a feedback of velocity, of which a sampled loop bears no more than of an estimated inertia (`Estimates`):
    Î_a exceeds the file's by BEARABLE a/(λ Δ) at most, a the gain `joint_inertia`.

    The rotor of a joint whose own link adapts about the same axis cannot be told from that link's inertia.

    Args:
        signals: Where state `rotor_hat` (n) and gains gamma_rotor and joint_inertia are declared.
        qdd_r: Derivative of the reference velocity, (n,).
        gate: g, from zero at rest to one in motion.
        chosen: Which of Î_a adapt, (n,).

    Attributes:
        estimate: Î_a (n,).
        nominal: Of the robot file, zero where it is unknown.
        sure: What they have at least (n,), by which the bound exceeds the file's.
        most: What they have at most (n,); infinite where the scheme does not tell.
    """

    def __init__(
        self, robot: RobotExpressions, signals: Signals, qdd_r: SX, gate: SX, chosen: NDArray[np.bool_]
    ) -> None:
        self.nominal = np.nan_to_num(robot.model.rotor_inertias)
        self.sure, self.most = SX(self.nominal), SX(ca.inf * np.ones(robot.n))
        self._guess, self._is_silent = unknown_rotors(robot), np.isnan(robot.model.drive_inertias).astype(float)
        self.estimate = signals.state(
            "rotor_hat",
            size=robot.n,
            default=self.nominal,
            bounds=(0.0, np.inf),
            unit="kg·m²|kg",
            doc="Estimated reflected inertia of the rotor of every joint.",
            adapted=True,
        )
        gamma = signals.gain(
            "gamma_rotor", default=0.5, bounds=(1e-6, 1e9), unit="1/(kg·m²·s²)", doc="Γ of the rotors' inertia."
        )
        self._inertia = signals.gain(
            "joint_inertia",
            size="joints",
            default=least_joint_inertia(robot),
            bounds=(0.0, 1e6),
            unit="kg·m²|kg",
            doc="Least inertia that each joint turns: bounds the estimate of its rotor by the rate.",
        )
        self._rates, self._dt = chosen.astype(float) * ca.repmat(reciprocal(gamma), robot.n), signals.dt
        self._regressor = ca.diag(gate * qdd_r)

    def add_rows(self, rows: SX) -> None:
        """Adapt Î_a by further errors, which s of `step` then has below it: these rows (m, n) multiply Ĩ_a there."""
        self._regressor = ca.vertcat(self._regressor, rows)

    def step(self, s: SX, K_d: SX, Lambda: SX, limit: AdaptationLimit) -> SX:
        """Next Î_a: one Euler step, clamped.

        Args:
            s: q̇_r − q̇, (n,).
            K_d: The law's feedback on s, (n,).
            Lambda: Bandwidths of the law's error, of any size [1/s].
            limit: What slows each joint's adaptation where it would be too fast for its damping.
        """
        moved = limit.moved(self.estimate, self._regressor, self._rates, s, K_d)
        return self.bounded(moved, Lambda)

    def damping(self, K_d: SX, default: NDArray[np.float64]) -> SX:
        """Return K_d (1 + R/a), (n,): R what rotors surely have that the file leaves out, a the gain `joint_inertia`.

        A K_d that is not the default (n,) stays: whoever states one may mean it for the arm with its rotors.

        No eigenvalue of M⁻¹K_d grows. With f the largest one over all poses K_d ≤ f M and K_d,i ≤ f a_i, as
        a_i ≤ 1/(M⁻¹)_ii; so K_d + K_d R/a ≤ f (M + R).
        """
        grown = K_d * (1.0 + self._is_silent * self.sure * reciprocal(self._inertia + TINY))
        return SX(ca.if_else(K_d == default, grown, K_d))

    def observer_bandwidth(self, K_o: SX, K_d: SX, Lambda: SX) -> SX:
        """Return K_o of each joint (n,) [1/s], less where its drive may have more than is sure: `bearable_bandwidth`.

        Args:
            K_o: Wanted [1/s].
            K_d: In use (n,).
            Lambda: Bandwidths of the law's error, of any size [1/s].
        """
        left = ca.fmax(ca.fmin(self._guess, self.most) - self.sure, 0.0)
        fastest = ca.mmax(Lambda)
        return bearable_bandwidth(K_o, fastest, fastest * left * reciprocal(K_d + TINY))

    def bounded(self, inertia: SX, Lambda: SX) -> SX:
        """I_a, (n,), not negative, and above what is `sure` by no more than a loop of bandwidths Λ bears."""
        most = self.sure + self._inertia * (BEARABLE / (ca.mmax(Lambda) * self._dt + TINY))
        return SX(ca.fmin(ca.fmax(inertia, 0.0), most))
