"""Adaptation of laws with e and ė: of the inertial parameters of some links, by any scheme (theory.md §6, §8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import casadi as ca

from thunder_controllers.laws.adaptation.bodies import CONSISTENCY
from thunder_controllers.laws.adaptation.limit import bandwidth_beside
from thunder_controllers.laws.adaptation.scheme import Adaptation
from thunder_controllers.laws.outside.observer import MomentumObserver
from thunder_controllers.laws.parts.gate import motion
from thunder_controllers.laws.parts.redundancy import factor_ldl
from thunder_controllers.laws.parts.split_dynamics import ADAPTED
from thunder_controllers.laws.second_order.scan import Scan
from thunder_dynamics.algorithms.dynamics import Dynamics
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.law import Option, Options, Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

OPTIONS = (
    ADAPTED,
    Option("adaptation", "Scheme of the adaptation; none is the law of the model.", ("none",), "thunder.adaptations"),
)
"""Of a law that has this part."""


class AdaptedLinks:
    """π̂ of the links that a scheme adapts, all others being those of the robot file; of none with adaptation=none.

    Args:
        signals: Where what the scheme has is declared.
        options: Of the law, OPTIONS among them.

    Attributes:
        links: Indices of the adapted ones.
        telemetry: What the scheme reports.

    Raises:
        LawError: for links to adapt without adaptation.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, options: Options) -> None:
        self._robot, self._signals, self._options = robot, signals, options
        adapts = options["adaptation"] != "none"
        if not adapts and options[ADAPTED.name] is not None:
            raise options.error("links to adapt with adaptation=none", "one of them")
        self.links = robot.model.select_links(options[ADAPTED.name]) if adapts else ()
        self._known = [i for i in range(robot.n) if i not in self.links]
        self._scheme: Adaptation | None = None
        self.telemetry: Mapping[str, SX] = {}
        if adapts:
            self._scheme = options.parts["adaptation"](robot, signals, self.links)
            self.telemetry = self._scheme.telemetry

    def regressor(self, q: SX, qd: SX, qd_r: SX, qdd_r: SX) -> SX:
        """Y_u, with Y_u π̂ the effort of the adapted links, (n, 10 k)."""
        return self._robot.slotine_li_regressor(q, qd, qd_r, qdd_r, self.links)

    def effort(self, q: SX, qd: SX, qd_r: SX, qdd_r: SX) -> SX:
        """M̂ q̈_r + Ĉ q̇_r + Ĝ, (n,), rotors included."""
        effort = self._robot.inverse_dynamics(q, qd, qd_r, qdd_r, self._known)
        if self._scheme:
            effort += self.regressor(q, qd, qd_r, qdd_r) @ self._scheme.estimate + self._scheme.feedforward(qd_r, qdd_r)
        return SX(effort)

    @cached_property
    def dynamics(self) -> Dynamics:
        """M̂, Ĉ, Ĝ at signals.q."""
        robot, scheme = self._robot, self._scheme
        return robot.dynamics if scheme is None else estimated(robot, self._signals.q, self.links, scheme.estimate)

    def observer(self, K_o: SX, loss: SX, Lambda: SX | float = 0.0) -> MomentumObserver:
        """Return the observer of what the model in use does not explain.

        Its M̂ has inertias as far as the loop bears M̂K_o; the effort of the rest is that along the reference.

        Args:
            K_o: Its bandwidth [1/s].
            loss: Friction and offsets that the law feeds forward (n,).
            Lambda: Bandwidths of the law's error where links adapt, of any size [1/s].
        """
        signals, pi, along = self._signals, SX(0, 1), None
        if self._scheme:
            reference, pi = signals.reference, self._scheme.borne(bandwidth_beside(K_o, SX(Lambda)))
            Y = self.regressor(signals.q, reference.qd, reference.qd, reference.qdd)
            along = Y, self._scheme.estimate - pi
        return MomentumObserver(self._robot, signals, K_o, self.links, pi, loss, along=along)

    @property
    def predicts(self) -> bool:
        """Whether the scheme has an error of the predicted effort by itself."""
        return self._scheme is not None and self._scheme.predicts

    def step(self, W: SX, error: SX, damping: SX, bandwidth: SX) -> dict[str, SX]:
        """Next states: π̂̇ = Γ⁻¹Wᵀ error, as the scheme has it.

        Args:
            W: What multiplies π − π̂ in the error's dynamics, (n, 10 k).
            error: (n,).
            damping: Of the error's rate (n,), in the units of its dynamics [N·m·s/rad].
            bandwidth: By which M̂ is a feedback of velocity, of any size [1/s].
        """
        return self._scheme.step(W, error, damping, bandwidth) if self._scheme else {}

    def step_by_acceleration(self, inertia: SX | float, error: SX, damping: SX) -> tuple[dict[str, SX], dict[str, SX]]:
        """Next states and telemetry of a law that inverts M̂: W = m M̂⁻¹Y(q, q̇, q̈), q̈ from positions at scans.

        At rest only what gravity shows adapts: the noise of q̇ is in both ė and q̈ of W, and E[Wᵀė] would drive the
        rest.

        Args:
            inertia: m, by which M̂⁻¹ is scaled [kg·m²].
            error: (n,).
            damping: Of the error's rate (n,) [N·m·s/rad]; M̂/m times it is the feedback of velocity.

        Raises:
            LawError: for a scheme whose estimates need not be bodies: M̂ may have no inverse.
        """
        if not self._scheme:
            return {}, {}
        if CONSISTENCY not in self.telemetry:
            what = f"adaptation={self._options['adaptation']}, whose estimated mass matrix may have no inverse"
            raise self._options.error(what, "one whose estimates are bodies, such as consistent or natural")
        signals, scan = self._signals, Scan(self._signals)
        q, rest = signals.q, SX.zeros(signals.robot.n)
        Y_0 = self.regressor(q, rest, rest, rest)
        Y = Y_0 + motion(signals, signals.reference.qd) * (self.regressor(q, scan.qd, scan.qd, scan.qdd) - Y_0)
        W = inertia * factor_ldl(self.dynamics.mass_matrix()).solve(Y)
        found = self.step(W, error, damping, damping * reciprocal(SX(inertia)))
        return scan.next_state | found, {"acceleration": scan.qdd}


def estimated(robot: RobotExpressions, q: SX, links: Sequence[int], estimate: SX) -> Dynamics:
    """M̂, Ĉ, Ĝ at q with the estimates of some links (10 k,), REG order, for those of the model."""
    parts = ca.vertsplit(robot.pi, N_PARAMETERS)
    for index, own in zip(links, ca.vertsplit(estimate, N_PARAMETERS), strict=True):
        parts[index] = own
    return Dynamics(robot.kinematics(q), ca.vertcat(*parts))


def error_weight(signals: Signals, default: float) -> SX:
    """Declare the gain alpha: α, the weight of e beside ė in what adapts."""
    return signals.gain("alpha", default=default, bounds=(0.0, 1e3), unit="1/s", doc="Weight of e beside ė.")
