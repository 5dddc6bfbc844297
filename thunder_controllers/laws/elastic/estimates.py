"""Springs and motors of elastic joints as a law believes in them: the robot file's, or estimated ones."""

from __future__ import annotations

import casadi as ca
import numpy as np

from thunder_controllers.laws.adaptation.limit import AdaptationLimit
from thunder_controllers.laws.elastic.gains import stored_energy
from thunder_controllers.laws.elastic.odd import Odd
from thunder_dynamics.algorithms.drives import power_basis
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

LEAST, MOST = 0.2, 5.0
"""Bounds of what must not vanish, K_1, D_1 and Mm, over the robot file's; the others may be zero [1]."""


BESIDE_STORED, LEAST_GAMMA = 4.0, 0.1
"""γ over what springs store under gravity, and γ where there is no gravity [1, N·m]."""


class ElasticEstimates:
    """k, d, dm and Mm; with θ̂ = [K; D; Dm; Mm] all are linear in it, and θ̂̇ = g Γ⁻¹(W_mᵀ s_x − W_lᵀ s).

    W_m = [reg_k(x − q), reg_d(ẋ − q̇), reg_dm(ẋ), diag(ẍ_r + Λ_x ż)] is what the motor's torque has of θ̂, and
    W_l = [reg_k(σ_r), reg_d(σ̇_r), 0, 0] what τ_d has, as the spring is to bear it. V has ½ θ̃ᵀΓθ̃, Γ = γ/θ_0² of the
    file's θ_0: what is 0 there does not adapt.

    Args:
        signals: Where state and gains are declared.
        adapts: Whether θ̂ is a state.

    Attributes:
        stiffness: k.
        described_stiffness: That of the robot file.
        damping: d.
        friction: dm.
        inertia: Mm, (m,).
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, *, adapts: bool) -> None:
        self.adapts, self._signals = adapts, signals
        groups = ("par_K", "par_D", "par_Dm", "par_Mm")
        self._nominal = np.concatenate([robot.model.parameters(group) for group in groups])
        sizes = [len(robot.model.parameters(group)) for group in groups]
        m = sizes[-1]
        self._orders = [size // m for size in sizes[:3]]
        described = ca.vertcat(*(robot.parameters.column(group) for group in groups))
        values = self._declared(robot, sizes) if adapts else described
        K, D, Dm, self.inertia = ca.vertsplit(values, [0, *np.cumsum(sizes).tolist()])
        order_k, order_d, order_m = self._orders
        self.stiffness, self.described_stiffness = (
            Odd(c, range(1, 2 * order_k, 2)) for c in (K, described[: sizes[0]])
        )
        self.damping, self.friction = Odd(D, range(1, order_d + 1)), Odd(Dm, range(1, order_m + 1))

    def _declared(self, robot: RobotExpressions, sizes: list[int]) -> SX:
        signals, nominal = self._signals, self._nominal
        kept = [[1.0] + [0.0] * (order - 1) if order else [] for order in self._orders[:2]]
        kept_all = np.concatenate([*(np.tile(one, sizes[3]) for one in kept), np.zeros(sizes[2]), np.ones(sizes[3])])
        lower, upper = LEAST * kept_all * nominal, MOST * nominal
        unit = "N·m/rad, N·m·s/rad, kg·m²"
        estimate = signals.state(
            "elastic_hat",
            size=len(nominal),
            default=nominal,
            bounds=(lower, upper),
            unit=unit,
            doc="Estimated K, D, Dm and Mm of the elastic joints, joint by joint each.",
            adapted=True,
        )
        self._bounds = [
            signals.gain(
                f"elastic_{what}",
                size=len(nominal),
                default=default,
                bounds=(0.0, np.inf),
                unit=unit,
                doc=f"{what.capitalize()} bounds of θ̂; K_1 and D_1 are divided by.",
            )
            for what, default in (("lower", lower), ("upper", upper))
        ]
        springs, motors = (
            signals.gain(
                f"gamma_{what}",
                default=self._slow(robot),
                bounds=(1e-6, 1e9),
                unit="N·m",
                doc=f"Γ of {of} over the robot file's values; larger is slower.",
            )
            for what, of in (("springs", "K̂ and D̂"), ("motors", "the estimates of Dm and Mm"))
        )
        of_springs = sum(sizes[:2])
        gamma = ca.vertcat(ca.repmat(springs, of_springs), ca.repmat(motors, len(nominal) - of_springs))
        self._rates = SX(nominal**2) * reciprocal(gamma)
        self._estimate = estimate
        return estimate

    @staticmethod
    def _slow(robot: RobotExpressions) -> float:
        """γ by default: ẋ_r leaves K̂̇ out, σ_r K̂̇/K̂ = σ_r τ s_x/γ of it, which has to be small beside s_x."""
        return float(f"{max(BESIDE_STORED * stored_energy(robot), LEAST_GAMMA):.2g}")

    def regressors(self, stretch: SX, rate: SX, velocity: SX | None = None, acceleration: SX | None = None) -> SX:
        """W, (m, numbers of θ̂): k, d, and dm and Mm of a motor's velocity and acceleration, where they are given."""
        none = SX.zeros(stretch.shape)
        odd = [[s ** (2 * j + 1) for j in range(self._orders[0])] for s in ca.vertsplit(stretch)]
        parts = [ca.diagcat(*(ca.horzcat(SX(1, 0), *row) for row in odd))]
        for v, order in ((rate, self._orders[1]), (none if velocity is None else velocity, self._orders[2])):
            rows = (power_basis(one, order) for one in ca.vertsplit(v))
            parts.append(ca.diagcat(*(ca.horzcat(SX(1, 0), *row) for row in rows)))
        return ca.horzcat(*parts, ca.diag(none if acceleration is None else acceleration))

    def step(self, gate: SX, W_m: SX, s_x: SX, K_x: SX, W_l: SX, s: SX, limit: AdaptationLimit) -> dict[str, SX]:
        """Next state: θ̂ after an Euler step, clamped; K_x (m,) is the feedback on s_x, s (m,) of elastic joints."""
        moved = limit.moved(self._estimate, gate * W_m, self._rates, s_x, K_x, -gate * (W_l.T @ s))
        lower, upper = self._bounds
        return {"elastic_hat": SX(ca.fmin(ca.fmax(moved, lower), upper))}
