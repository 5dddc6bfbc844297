"""Kinematics that adapt to a measured position of the end effector: its own offset, or the lengths of the arm.

Lengths k are those of which the position is linear, p = p_0(q) + E(q) k, so that ṗ = J q̇ = … + Y(q, q̇) k with
Y = [ω_c × e_i], ω_c the angular velocity of what carries length i along e_i (theory.md §5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add

import casadi as ca

from thunder_dynamics.algorithms.kinematic_regressors import LengthRegressors
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import NEVER, Option, Options, Signals
from thunder_dynamics.spatial import cross, reciprocal, skew

SX = ca.SX

OPTION = Option(
    "kinematics",
    "Lengths of the robot file, or those of the end effector's offset or of the whole arm adapted to ee_position.",
    ("known", "tool", "lengths"),
)

LARGEST_LENGTH = 2.0
"""Bound of the state `length_error` and of what its gain may allow [m]."""

TINY = 1e-12
"""Keeps the direction of a vanishing residual finite [m]."""


class AdaptedKinematics:
    """p̂ of measured positions and of kinematics with k̂, the lengths of the robot file and κ̂, and how both go on.

        p̂̇ = Ĵ q̇ + ℓ ρ,   ρ = p_m + α Ĵ q̇ − p̂ where a position p_m of age α arrives, ρ̇ = −ℓ ρ until the next,
        κ̂̇ = −γ⁻¹ Yᵀ f + β Eᵀ(p̂ − p(q, k̂)),   f = LᵀK_p e of the loop, e = p_d − p̂

    Between samples p̂ moves with q̇, so that the loop has an error at every step, and its exact rate. A position that is
    not finite is none of this law's: a host makes no step with it. One further than `ee_error_limit` from p̂ is
    implausible and not taken. Without one for `ee_timeout` the law goes on by forward kinematics: ρ = p(q, k̂) − p̂, and
    κ̂ rests. ℓ ρ is `ee_speed` at most.

    With V = ½eᵀK_p e + ½sᵀM s + ½π̃ᵀΓπ̃ + ½γ κ̃ᵀκ̃, p̂ = p and ρ = 0, V̇ = −eᵀK_pΛe − sᵀK_d s − γβ κ̃ᵀEᵀE κ̃ − sᵀM Ĵ⁺L⁻¹ΛL Y κ̃:
    the last for Ĵ q̇, not J q̇, is in q̈_r. It is dominated where 4 λ_min(K_d) γβ > ‖M Ĵ⁺L⁻¹ΛL ω‖² for a tool, E = R.
    With e of p̂ ≠ p, q̈_r is exact and nothing of κ̃ is in ė: V has ½(p − p̂)ᵀP(p − p̂) besides, and what is left is
    indefinite only in (e, s, p − p̂), by terms that ℓ dominates.

    M, C, G and Y_r are those of the robot file's lengths. No offset of the end effector is in them; lengths between
    links are, and their error is one of the dynamics that π̂ cannot take up.

    Args:
        robot: What k is a part of.
        signals: Where the state, gains, measurement and telemetry are declared.
        options: Of the law, OPTION among them.

    Attributes:
        position: p̂ (3,).
        jacobian: Ĵ (6, n).
        nominal: J of the robot file (6, n).
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, options: Options) -> None:
        self._signals = signals
        self._R, self._p = robot.pose(signals.q)
        self.nominal, self._nominal_rate = robot.jacobian(signals.q), robot.jacobian_dot(signals.q, signals.qd)
        self._directions, self._turning = _lengths(robot, signals, options["kinematics"] == "tool")
        count = self._directions.shape[1]
        self._kappa = signals.state(
            "length_error",
            size=count,
            default=0.0,
            bounds=(-LARGEST_LENGTH, LARGEST_LENGTH),
            unit="m",
            doc="κ̂: estimated lengths less the robot file's: of the offset, in the end effector's axes, or of all.",
            adapted=True,
        )
        signals.describe_telemetry("length_error", size=count, unit="m", doc="κ̂ in use.")
        self._gains = _declare_gains(signals)
        self._filter = _PositionFilter(signals, self._gains)
        self._reach = self._directions @ self._kappa
        self.jacobian = self.nominal + self._lengthened(self._kappa)
        known = ca.if_else(self._filter.is_first, self._reach, self._filter.offset)
        self.position, self._known = self._p + known, known

    def _lengthened(self, kappa: SX) -> SX:
        """What lengths κ add to J, (6, n): of each a turning of its carrier, −S(κ e) J_ω."""
        parts = [-SX(skew(kappa[i] * self._directions[:, i])) @ turning for i, turning in enumerate(self._turning)]
        return ca.vertcat(reduce(add, parts), SX.zeros(3, self._signals.robot.n))

    def step(self, force: SX) -> Motion:
        """Follow measurements for a period, and adapt.

        Args:
            force: f (3,) [N].
        """
        signals, gains, q_dot = self._signals, self._gains, self._signals.qd
        velocity = self.jacobian[:3, :] @ q_dot
        Y = ca.horzcat(*(cross(J @ q_dot, self._directions[:, i]) for i, J in enumerate(self._turning)))
        known, dt = self._known, signals.dt
        correction, is_measured, next_state, telemetry = self._filter.step(
            self._p + known, velocity, self._reach - known
        )
        count = self._kappa.numel()
        wanted = -reciprocal(gains["gamma_length"]) * (Y.T @ force)
        wanted += gains["length_bandwidth"] * 3.0 / count * (self._directions.T @ (known - self._reach))
        limit = gains["length_limit"]
        kappa = ca.fmin(ca.fmax(self._kappa + dt * is_measured * wanted, -limit), limit)
        kappa_dot = (kappa - self._kappa) / dt
        # E κ̂ turns with the links: what p̂ is beyond p(q, k_file) moves by Y κ̂, and by the correction
        known_dot = Y @ self._kappa + correction / dt
        next_state |= {"length_error": kappa, "ee_offset": known + dt * known_dot}
        telemetry["length_error"] = self._kappa
        lengthened = self._lengthened(self._kappa)
        rate = self._nominal_rate + signals.time_derivative(lengthened) + self._lengthened(kappa_dot)
        return Motion(rate, self._filter.offset, known_dot, next_state, telemetry)


@dataclass(frozen=True)
class Motion:
    """How adapted kinematics go on.

    Attributes:
        jacobian_rate: d/dt Ĵ (6, n), along q̇ and κ̂̇.
        offset: The symbol in p̂ beside q, p̂ = p(q) of the robot file + offset.
        offset_rate: Its rate, less that of any rotation with q.
        next_state: Of every state.
        telemetry: What to report.
    """

    jacobian_rate: SX
    offset: SX
    offset_rate: SX
    next_state: Mapping[str, SX]
    telemetry: Mapping[str, SX]

    def rate_of(self, signals: Signals, expression: SX) -> SX:
        """d/dt of an expression of p̂, q and the reference."""
        return signals.time_derivative(expression) + ca.jtimes(expression, self.offset, self.offset_rate)


def _lengths(robot: RobotExpressions, signals: Signals, of_tool: bool) -> tuple[SX, list[SX]]:
    """E (3, m), and of every length the Jacobian of the angular velocity (3, n) of what carries it."""
    if of_tool:
        R, _ = robot.pose(signals.q)
        return R, 3 * [robot.jacobian(signals.q)[3:, :]]
    regressors = LengthRegressors(robot.kinematics(signals.q))
    carried = [(carrier, e) for carrier, e in regressors.directions() if carrier is not None]
    return ca.horzcat(*(e for _, e in carried)), [regressors.turning(carrier) for carrier, _ in carried]


def _declare_gains(signals: Signals) -> dict[str, SX]:
    rows = {
        "ee_bandwidth": (
            5.0,
            (0.0, 100.0),
            "1/s",
            "ℓ: with which the estimated position follows the measured one.",
        ),
        "ee_speed": (0.1, (1e-3, 10.0), "m/s", "Largest speed of that correction."),
        "ee_timeout": (
            0.1,
            (1e-3, 60.0),
            "s",
            "Age beyond which forward kinematics go on without a measured position.",
        ),
        "ee_error_limit": (0.2, (1e-3, 10.0), "m", "A measured position further from the expected one is implausible."),
        "gamma_length": (
            200.0,
            (1e-3, 1e9),
            "N/m",
            "γ: slows down adaptation of lengths by the error of the pose.",
        ),
        "length_bandwidth": (1.0, (0.0, 50.0), "1/s", "β: adaptation of lengths by what they predict of the position."),
        "length_limit": (0.15, (0.0, LARGEST_LENGTH), "m", "Of each |κ̂|: how wrong a length of the robot file may be."),
    }
    return {
        name: signals.gain(name, default=default, bounds=bounds, unit=unit, doc=doc)
        for name, (default, bounds, unit, doc) in rows.items()
    }


class _PositionFilter:
    """The observer of the position: what of p̂ measurements have said, beyond p(q) of the robot file.

    Attributes:
        offset: p̂ − p(q) (3,), a state.
        is_first: Whether this is the first step, in which `offset` says nothing.
    """

    def __init__(self, signals: Signals, gains: Mapping[str, SX]) -> None:
        self._signals, self._gains = signals, gains
        self._measured, self._age = signals.aged_measurement("ee_position")
        self.offset = signals.state("ee_offset", size=3, default=0.0, unit="m", doc="p̂ less p(q) of the robot file.")
        self._residual = signals.state("ee_residual", size=3, default=0.0, unit="m", doc="ρ, what p̂ is yet to move by.")
        self._silence = signals.state(
            "ee_silence",
            default=-1.0,
            unit="s",
            doc="Age of the last position that was taken; -1 before the first step.",
        )
        doc = "Age of ee_position in the step before."
        self._age_before = signals.state("ee_age", default=NEVER, unit="s", doc=doc)
        self._refused = signals.state(
            "ee_refused",
            default=0.0,
            bounds=(0.0, 1.0),
            unit="1",
            doc="1 if the last position was implausible.",
        )
        self.is_first = self._silence < 0.0
        signals.describe_telemetry(
            "ee_source",
            unit="1",
            doc="1 where the position of the end effector follows ee_position; by forward kinematics alone: 0 as there "
            "is none, -1 as the last was implausible.",
            measured_bounds=(0.5, 1.0),
        )
        doc = "ρ: measured position less p̂, as far as it is open."
        signals.describe_telemetry("ee_residual", size=3, unit="m", doc=doc)

    def step(self, position: SX, velocity: SX, reach: SX) -> tuple[SX, SX, dict[str, SX], dict[str, SX]]:
        """Correction of p̂ in this period (3,), whether it is by a measurement, next state and telemetry.

        Args:
            position: p̂ (3,).
            velocity: Ĵ q̇ (3,).
            reach: p(q, k̂) − p̂ (3,).
        """
        signals, gains, age = self._signals, self._gains, self._age
        timeout = gains["ee_timeout"]
        found = self._measured + age * velocity - position
        is_new = ca.logic_and(age <= timeout, age < self._age_before + 0.5 * signals.dt)
        is_plausible = ca.norm_2(found) <= gains["ee_error_limit"]
        is_taken = ca.logic_and(is_new, is_plausible)
        silence = ca.if_else(is_taken, age, ca.if_else(self.is_first, NEVER, self._silence + signals.dt))
        is_measured = silence <= timeout
        residual = ca.if_else(is_taken, found, ca.if_else(is_measured, self._residual, reach))
        length = ca.sqrt(ca.sumsqr(residual) + TINY**2)
        share = ca.fmin(1.0 - ca.exp(-gains["ee_bandwidth"] * signals.dt), gains["ee_speed"] * signals.dt / length)
        refused = ca.if_else(is_new, 1.0 - is_plausible, self._refused)
        next_state = {
            "ee_residual": (1.0 - share) * residual,
            "ee_silence": silence,
            "ee_age": age,
            "ee_refused": refused,
        }
        source = ca.if_else(is_measured, 1.0, -refused)
        return share * residual, is_measured, next_state, {"ee_source": source, "ee_residual": residual}
