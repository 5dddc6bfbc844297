"""The interface between an adaptation scheme and a law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca

from thunder_controllers.laws.adaptation.limit import AdaptationLimit, Estimates
from thunder_controllers.laws.adaptation.mask import Mask
from thunder_controllers.laws.parts.friction import FrictionAdaptation, OffsetAdaptation
from thunder_controllers.laws.parts.rotors import RotorAdaptation
from thunder_dynamics.law import Signals

SX = ca.SX


@dataclass(frozen=True)
class Adapted:
    """Parts that adapt: of the joints, each by itself unless the scheme has its state; and which of all parameters.

    `effort` (n,) is what sensors measure of the drives, instead of what they were told; None: nothing.
    """

    friction: FrictionAdaptation | None = None
    rotors: RotorAdaptation | None = None
    offsets: OffsetAdaptation | None = None
    mask: Mask = field(default_factory=dict)
    effort: SX | None = None


LINKS = Adapted()
"""All of the links, nothing of the joints."""


class Adaptation:
    """Estimated inertial parameters of some links and their update; a scheme says what `step` does.

    An entry point is a scheme, `(robot, signals, links, adapted)`: indices of links; what of them, and of the joints.

    Args:
        signals: Where what the estimates have is declared, and the gain of AdaptationLimit.
        estimates: Of the adapted links, in the order of the columns of Y.

    Attributes:
        estimate: π̂ (10 k,), REG order per link, of the state `pi_hat`, which hosts, files of estimates and topics know.
        limit: What slows the adaptation down where it is too eager for the damping.
        telemetry: What to report, as it was declared.
        separable: Whether some parameters of a link may stay while the others adapt, by a mask.
        tells_rotors: Whether it tells what adapted rotors surely have, and have at most.
        predicts: Whether it predicts the applied effort, with the effort offsets of the robot file.
    """

    separable = False
    tells_rotors = False
    predicts = False

    def __init__(self, signals: Signals, estimates: Estimates) -> None:
        self._signals, self._estimates = signals, estimates
        self.estimate, self.telemetry = estimates.value, estimates.telemetry
        self.limit = AdaptationLimit(signals)

    estimate: SX
    telemetry: Mapping[str, SX]

    def step(self, regressor: SX, s: SX, K_d: SX, Lambda: SX) -> dict[str, SX]:
        """Next values of every state that the scheme has declared, and of the drives where it adapts them.

        Args:
            regressor: Y of the adapted links along the reference velocity, (n, 10 k).
            s: q̇_r − q̇, (n,).
            K_d: The law's feedback on s, (n,) or one for all.
            Lambda: Bandwidths of the law's error, of any size [1/s].
        """
        raise NotImplementedError

    def borne(self, bandwidth: SX) -> SX:
        """Return what a loop bears of π̂ where its M̂ is a feedback of velocity with that bandwidth [1/s]."""
        return self._estimates.borne(self.estimate, bandwidth)

    def accepted(self, pi: SX) -> SX:
        """Return what π̂ becomes of π, the end of a step: what the mask leaves out stays."""
        return self._estimates.accepted(pi)

    def feedforward(self, qd_r: SX, qdd_r: SX) -> SX | float:
        """Effort (n,) that the law adds to Y π̂: of a scheme that estimates more than π."""
        return 0.0
