"""The model along a reference velocity, split into links that are adapted and links that are known (theory.md §5)."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.laws.adaptation import mask
from thunder_controllers.laws.adaptation.limit import AdaptationLimit, bandwidth_beside
from thunder_controllers.laws.adaptation.robustness import Robustness
from thunder_controllers.laws.adaptation.scheme import Adaptation, Adapted
from thunder_controllers.laws.outside.observer import MomentumObserver
from thunder_controllers.laws.parts import friction
from thunder_controllers.laws.parts.friction import GAMMA, PATIENCE, FrictionAdaptation, FrictionTerms, OffsetAdaptation
from thunder_controllers.laws.parts.gains import damping_by_inertia
from thunder_controllers.laws.parts.gate import motion
from thunder_controllers.laws.parts.rotors import RotorAdaptation
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Option, Options, Signals

SX = ca.SX

ADAPTED = Option("adapted_links", "Links to adapt, by names, or all; by default the link of the end effector.")

OPTIONS = (
    ADAPTED,
    Option("known", "Links whose parameters are those of the robot file, by names: all others adapt."),
    mask.OPTION,
    Option(
        "adaptation",
        "Scheme of the adaptation; none is the fixed form, in which every link is known.",
        ("consistent", "none"),
        "thunder.adaptations",
    ),
    friction.ADAPTATION,
    Option(
        "rotors", "Reflected rotor inertias of the robot file, or adapted ones of every joint.", ("model", "adapted")
    ),
    Option("offsets", "Effort offsets of the robot file, or adapted ones of every joint.", ("model", "adapted")),
)
"""Options of a law that has this part."""


class SplitDynamics:
    """τ = Y_u π̂ + Y_k π_k + I_a q̈_r + o + Y_f φ̂ = M̂ q̈_r + Ĉ q̇_r + Ĝ + τ̂_f + o, and π̂̇ = Γ⁻¹ Y_gᵀ s or another's.

    Y_g is Y_u while the arm moves. At rest only gravity says anything of π, but the noise of q̇ is in both s and q̈_r,
    as −Λ q̇, and E[Y_uᵀs] drives what gravity does not hold: on a Panda at rest for ten minutes with 2 mrad/s of noise
    by 0.05 kg·m. So Y_g = Y_0 + g (Y_u − Y_0), Y_0 = Y_u at rest, g rises smoothly from zero to one where
    ‖q̇_r‖ goes from the gain `rest_speed` to twice that.

    Beside an observer M̂ and Ĉ, which feed the measured velocity back, have the inertias of the estimates as far as the
    loop bears them (`bandwidth_beside`). The rest is fed forward, along the reference velocity: as if q̇ were q̇_r.

    Args:
        signals: Where estimates and their gains are declared, if there are any.
        qd_r: Reference velocity of the joints (n,).
        qdd_r: Its exact derivative.
        options: Of the law, OPTIONS among them.
        feedback: What of qd_r feeds positions back, (n,).
        K_d: The law's feedback on s, (n,) or one for all.
        Lambda: Bandwidths of its error, of any size [1/s].
        K_o: Bandwidth of the observer that takes up what is not yet learned, if there is one [1/s].
        stiffens: Whether K_d and K_o follow the rotors that are learned (`RotorAdaptation`).

    Attributes:
        links: Indices of the adapted ones.
        friction: Its adaptation, or None.
        offsets: o (n,), of the robot file or estimated.
        estimates: What adapts, by the names of its states: `pi_hat`, `friction_hat`, `rotor_hat`, `offset_hat`.
        effort: τ.
        K_d: In use: more than the given one where rotors of which the file is silent surely have something.
        gate: g, if anything adapts that it is for.
        limit: What slows adaptation down, if anything adapts.
        observer: Of what the estimates in use do not explain, if its residual is fed back.
        telemetry: What the scheme reports.

    Raises:
        LawError: for links to adapt without adaptation; for a mask of parameters that do not adapt, or of a scheme that
            adapts all of a link's; for offsets to adapt with a scheme that predicts the effort.
    """

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        qd_r: SX,
        qdd_r: SX,
        options: Options,
        feedback: SX,
        K_d: SX,
        Lambda: SX,
        K_o: SX | None = None,
        stiffens: bool = True,
    ) -> None:
        self._robot, self._signals, self.K_d = robot, signals, K_d
        model, adapts, q, qd = robot.model, options["adaptation"] != "none", signals.q, signals.qd
        named = options["adapted_links"], options["known"]
        if not adapts and named != (None, None):
            raise options.error("links to adapt with adaptation=none", "one of them")
        self.links = model.select_links(*named) if adapts else ()
        self._chosen = chosen = mask.mask_of(model, self.links, options)
        self.estimates: dict[str, SX] = {}
        self.telemetry: Mapping[str, SX] = {}
        self._nominal: dict[str, NDArray[np.float64]] = {}
        gated = adapts or "rotor_hat" in chosen
        gate = motion(signals, qd_r) if gated else SX(0)
        self.gate = gate if gated else None
        self._rotors: RotorAdaptation | None = None
        if "rotor_hat" in chosen:
            self._rotors = RotorAdaptation(robot, signals, qdd_r, gate, chosen["rotor_hat"])
            self._adapts("rotor_hat", self._rotors.estimate, self._rotors.nominal)
        self.friction: FrictionAdaptation | None = None
        if "friction_hat" in chosen:
            moves = chosen["friction_hat"]
            gamma = GAMMA if K_o is None else PATIENCE / damping_by_inertia(robot)
            self.friction = FrictionAdaptation(robot, signals, qd_r, moves, feedback, K_d, Lambda, gamma)
            self._adapts("friction_hat", self.friction.estimate, self.friction.nominal)
        self._offsets: OffsetAdaptation | None = None
        if "offset_hat" in chosen:
            self._offsets = OffsetAdaptation(robot, signals, qd_r, chosen["offset_hat"])
            self._adapts("offset_hat", self._offsets.estimate, self._offsets.nominal)
        self.offsets = self.estimates.get("offset_hat", SX(model.effort_offsets))
        self._scheme: Adaptation | None = None
        if adapts:
            measured = signals.measurement("measured_effort") if options.get("effort") == "measured" else None
            adapted = Adapted(self.friction, self._rotors, self._offsets, chosen, measured)
            self._scheme = options.parts["adaptation"](robot, signals, self.links, adapted)
            if not (self._scheme.separable or chosen["pi_hat"].all()):
                what = f"{mask.OPTION.name} with adaptation={options['adaptation']}, which adapts all of a link"
                raise options.error(what, "any adaptation but a natural one")
            if self._offsets and self._scheme.predicts:  # by the offsets of the file: π̂ would take up their error
                raise options.error("offsets=adapted with a composite scheme", "another adaptation, or offsets=model")
            self._adapts(
                "pi_hat", self._scheme.estimate, np.concatenate([model.links[i].inertia.pi for i in self.links])
            )
            self.telemetry = self._scheme.telemetry
        wanted = K_o
        if self._rotors and self._scheme and self._scheme.tells_rotors and stiffens:
            self.K_d = self._rotors.damping(K_d, signals.default_of("gains", "K_d"))
            K_o = None if K_o is None else self._rotors.observer_bandwidth(K_o, self.K_d, Lambda)
            self._tell_gains(K_o)
        sharing = 2.0 if self._scheme and self._rotors else 1.0  # by inertias, what a loop of Λ bears but once
        self._Lambda = sharing * Lambda
        self._used = dict(self.estimates)
        Y_along, beyond = SX(robot.n, 0), SX(0, 1)
        if wanted is not None:
            (along,) = ca.substitute([qdd_r], [qd], [qd_r])
            bandwidth = bandwidth_beside(sharing * wanted, self._Lambda)
            if self._scheme:
                pi, borne = self._scheme.estimate, self._scheme.borne(bandwidth)
                Y_along = robot.slotine_li_regressor(q, qd_r, qd_r, along, self.links)
                beyond = pi - borne
                self._used["pi_hat"] = borne
            if self._rotors:
                rotors, borne = self._rotors.estimate, self._rotors.bounded(self._rotors.estimate, bandwidth)
                Y_along, beyond = ca.horzcat(Y_along, ca.diag(along)), ca.vertcat(beyond, rotors - borne)
                self._used["rotor_hat"] = borne
        known = [i for i in range(robot.n) if i not in self.links]
        self.effort = robot.inverse_dynamics(q, qd, qd_r, qdd_r, known, self._used.get("rotor_hat")) + self.offsets
        self.effort += Y_along @ beyond
        if self.friction:
            self.effort += self.friction.effort
        if self._scheme:
            rest = SX.zeros(robot.n)
            Y_u = robot.slotine_li_regressor(q, qd, qd_r, qdd_r, self.links)
            self._Y_0 = Y_0 = robot.slotine_li_regressor(q, rest, rest, rest, self.links)
            self.effort += Y_u @ self._used["pi_hat"] + self._scheme.feedforward(qd_r, qdd_r)
            self._Y_g = Y_0 + gate * (Y_u - Y_0)
        self.limit: AdaptationLimit | None = None
        if self.estimates:
            self._robustness = Robustness(signals)
            self.limit = self._scheme.limit if self._scheme else AdaptationLimit(signals)
        self.observer: MomentumObserver | None = None
        if K_o is not None:  # F̂_C tanh(q̇/v_s) through the observer is a feedback of velocity that no loop bears
            fed_forward = self.offsets + (0.0 if self.friction is None else self.friction.effort)
            self.observer = self._observer(K_o, fed_forward, (Y_along, beyond) if beyond.numel() else None)

    def _tell_gains(self, K_o: SX | None) -> None:
        """Report the gains that follow what is learned."""
        values = {
            "K_d_used": (
                self.K_d,
                "N·m·s/rad",
                "K_d, more where rotors of which the file is silent surely have something.",
            )
        }
        if K_o is not None:
            doc = "K_o, less where drives may have more inertia than is sure."
            values["observer_bandwidth_used"] = (K_o, "1/s", doc)
        for name, (value, unit, doc) in values.items():
            self._signals.describe_telemetry(name, size=self._robot.n, unit=unit, doc=doc)
            self.telemetry = {**self.telemetry, name: value}

    def _adapts(self, name: str, estimate: SX, nominal: NDArray[np.float64]) -> None:
        self.estimates[name], self._nominal[name] = estimate, nominal

    def looking_observer(self, K_o: SX) -> MomentumObserver:
        """Return an observer whose residual is only looked at; it knows friction at the measured velocity.

        Args:
            K_o: Its bandwidth [1/s].
        """
        loss = self.rubs + self.offsets
        if self.friction is None:
            known = FrictionTerms(self._robot, self._signals.qd).torque(self._signals.qd)
            loss += known - self._robot.model.effort_offsets
        return self._observer(K_o, loss)

    def _observer(self, K_o: SX, loss: SX, along: tuple[SX, SX] | None = None) -> MomentumObserver:
        pi, rotors = self._used.get("pi_hat", SX(0, 1)), self._used.get("rotor_hat")
        return MomentumObserver(self._robot, self._signals, K_o, self.links, pi, loss, rotors, along)

    @property
    def rubs(self) -> SX:
        """Torque of the adapted friction at the measured velocity (n,)."""
        if self.friction is None:
            return SX.zeros(self._robot.n)
        return SX(ca.densify(self.friction.measured[0] @ self.friction.estimate))

    def step(self, s: SX) -> dict[str, SX]:
        """Next state of the estimates.

        An observer takes up what the estimates do not explain, so that s does not show it: by its residual r they adapt
        as well, π̂̇ = Γ⁻¹(Y_gᵀs − W_gᵀR r), as `MomentumObserver.told` has R r. Like Y_g, W_g is gravity's regressor at
        rest. A scheme that predicts the effort has an error like r by itself.

        Args:
            s: q̇_r − q̇, (n,).
        """
        found: dict[str, SX] = {}
        K_d, observer = self.K_d, self.observer
        if self.limit is None:
            return found
        s = self._robustness.outside_dead_zone(s)
        regressor = self._Y_g if self._scheme else SX(0, 0)
        if observer is not None and not (self._scheme and self._scheme.predicts):
            K_d = SX(SX.ones(s.numel()) * K_d)
            s, K_d = ca.vertcat(s, observer.told(K_d)), ca.vertcat(K_d, K_d)
            regressor = self._with_filtered(observer)
        if self.friction:
            found |= self.friction.step(s, K_d, self.limit)
        if self._scheme:
            found |= self._scheme.step(regressor, s, K_d, self._Lambda)
        if self._rotors and "rotor_hat" not in found:
            found["rotor_hat"] = self._rotors.step(s, K_d, self._Lambda, self.limit)
        if self._offsets and "offset_hat" not in found:
            found["offset_hat"] = self._offsets.step(s, K_d, self.limit)
        return found | {name: self._settled(name, found[name]) for name in self.estimates}

    def _with_filtered(self, observer: MomentumObserver) -> SX:
        """Return Y_g above W_g (2 n, 10 k), and add rows through the filter to the regressors of the joints."""
        qd, gate = self._signals.qd, SX(0) if self.gate is None else self.gate
        if self.friction:
            Y_f, moves = self.friction.measured
            self.friction.add_rows(
                ca.diag(moves) @ observer.filtered("observer_friction", Y_f, "Regressor of friction")
            )
        if self._rotors:
            slow = observer.filtered("observer_velocity", ca.diag(qd), "Velocity", initial=qd)
            self._rotors.add_rows(gate * ca.diag(observer.K_o * (qd - ca.diag(slow))))
        if self._offsets:
            self._offsets.add_rows()
        return SX(ca.vertcat(self._Y_g, self._Y_0 + gate * (observer.W - self._Y_0))) if self._scheme else SX(0, 0)

    def _settled(self, name: str, found: SX) -> SX:
        """Return estimates after a step: they are pulled, and what does not adapt stays."""
        pulled, chosen = self._robustness.pulled(found, self._nominal[name]), self._chosen[name]
        if self._scheme and name == "pi_hat" and not chosen.all():
            return self._scheme.accepted(pulled)
        return mask.chosen_of(chosen, pulled, self.estimates[name])
