"""Adaptation of reflected rotor inertias, with the law that adapts inertial parameters (theory.md §2)."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.laws.adaptation.limit import BEARABLE, TINY, AdaptationLimit
from thunder_controllers.laws.parts.gains import least_joint_inertia
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX


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
    """

    def __init__(
        self, robot: RobotExpressions, signals: Signals, qdd_r: SX, gate: SX, chosen: NDArray[np.bool_]
    ) -> None:
        self.nominal = np.nan_to_num(robot.model.rotor_inertias)
        self.sure = SX(self.nominal)
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

    def bounded(self, inertia: SX, Lambda: SX) -> SX:
        """I_a, (n,), not negative, and above what is `sure` by no more than a loop of bandwidths Λ bears."""
        most = self.sure + self._inertia * (BEARABLE / (ca.mmax(Lambda) * self._dt + TINY))
        return SX(ca.fmin(ca.fmax(inertia, 0.0), most))
