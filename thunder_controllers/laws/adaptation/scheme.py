"""What an adaptation scheme offers to a law, and which schemes there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

import casadi as ca

from thunder_controllers.laws.adaptation.limit import AdaptationLimit
from thunder_controllers.laws.parts.friction import FrictionAdaptation
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals

SX = ca.SX

DEFAULT = "consistent"


class Adaptation(Protocol):
    """Estimated inertial parameters of some links and their update.

    Attributes:
        estimate: π̂ (10 k,), REG order per link, of the state `pi_hat`, which hosts, files of estimates and topics know.
            A scheme that estimates more than π feeds that forward itself: it also has a method
            `feedforward(qd_r, qdd_r)`, the effort (n,) that the law adds to Y π̂.
        limit: What slows the adaptation down where it is too eager for the damping.
        telemetry: What to report, as it was declared.
    """

    estimate: SX
    limit: AdaptationLimit
    telemetry: Mapping[str, SX]

    def step(self, regressor: SX, s: SX, K_d: SX, Lambda: SX) -> dict[str, SX]:
        """Next values of every state that the scheme has declared, and of `friction_hat` where it adapts that itself.

        Args:
            regressor: Y of the adapted links along the reference velocity, (n, 10 k).
            s: q̇_r − q̇, (n,).
            K_d: The law's feedback on s, (n,) or one for all.
            Lambda: Bandwidths of the law's error, of any size [1/s].
        """


Scheme = Callable[[RobotExpressions, Signals, Sequence[int], FrictionAdaptation | None], Adaptation]
"""Declares state, gains and telemetry of the adaptation of links, given by their indices, beside that of friction."""


def schemes() -> dict[str, EntryPoint]:
    """Entry points of the installed schemes, each a `Scheme`, by name, the default one first."""
    found = sorted(entry_points(group="thunder.adaptations"), key=lambda entry: (entry.name != DEFAULT, entry.name))
    return {entry.name: entry for entry in found}
