"""Rows of the momentum regressor, filtered twice, and what a joint's effort holds besides its links (theory.md §8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from thunder_controllers.laws.adaptation.prediction import PredictionError
from thunder_controllers.laws.parts.gate import opened
from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.law import Signals

SX = ca.SX

LINK_SHARE, LINK_LENGTH = 0.3, 0.2
"""What a link may be wrong by: of its mass, or of all links' where it carries; of its first moments and so on, by m."""

FRICTION_SHARE = 0.1
"""What a joint's viscous friction at 1 rad/s (or 1 m/s) and its Coulomb friction may be, of its effort limit."""

OFFSET_SHARE = 0.01
"""What a joint's effort offset may be, of its effort limit, where it is no more known than friction."""

ROTOR, DELAY = 0.5, 5e-3
"""What a rotor's reflected inertia [kg·m² or kg] and the delay of efforts [s] may be."""

LOAD_SHARE = 0.05
"""What a joint's friction may rise by, of the effort of its motor."""

ROTOR_SHARE = 0.3
"""What a rotor may be wrong by that the robot file states, of its inertia."""

SIGN_CLEAR = 2.0
"""Of the velocity that smooths the sign of friction: up to there, and half up to 1.5 times that, tanh is 4 % off it."""

UNLIMITED = 100.0
"""Stands for the effort limit of a joint that has none [N·m or N]."""


def effort_limits(robot: RobotExpressions) -> np.ndarray:
    """Of every joint, finite, (n,) [N·m or N]."""
    limits = robot.model.limits("effort")
    return np.asarray(np.where(np.isfinite(limits), limits, UNLIMITED))


def prior_deviations(
    robot: RobotExpressions, links: Sequence[int], offsets: bool = False, rotors: bool = False
) -> np.ndarray:
    """Standard deviations of `MomentumRows`' parameters about the robot file, (10 k + 4 n + 1,) or n more.

    With `rotors` those of rotors that the file states are as wide as of those of which it says nothing. One that it
    states as zero is known: sensors of torque at the links feel none.
    """
    masses = [link.inertia.mass for link in robot.model.links]
    known = [masses[i] if i != robot.model.ee_link else sum(masses) for i in links]
    each = np.kron(known, LINK_SHARE * np.array([1.0, *3 * [LINK_LENGTH], *6 * [LINK_LENGTH**2]]))
    friction = FRICTION_SHARE * effort_limits(robot)
    stated = np.full(robot.n, np.nan) if rotors else robot.model.rotor_inertias
    rotor = np.where(np.isnan(stated), ROTOR, ROTOR_SHARE * stated)
    joints = [
        friction,
        friction,
        rotor,
        np.full(robot.n, LOAD_SHARE),
        *([OFFSET_SHARE * effort_limits(robot)] * offsets),
    ]
    return np.concatenate([each, *joints, [DELAY]])


@dataclass(frozen=True)
class Row:
    """y = wᵀθ of one joint.

    Attributes:
        joint: 1 at the joint, 0 elsewhere (n,).
        y: Effort that the robot file does not explain [N·m or N].
        w: (10 k + 4 n + 1,), or n more.
        effort: Of the motor [N·m or N].
        unclear: Share of time in which the joint was so slow that Coulomb friction may hold it with either sign.
    """

    joint: SX
    y: SX
    w: SX
    effort: SX
    unclear: SX


class MomentumRows:
    """Rows of F²[τ] = W θ, F the filter ω/(d/dt + ω): those of `PredictionError`, through F once more.

    θ has differences from the robot file: π of the links; viscous friction, Coulomb friction and rotor of every joint,
    and its effort offset if that is asked for; and the delay T of all efforts, whose column is d/dt F²[τ], as
    F²[τ(t − T)] = F²[τ] − T d/dt F²[τ] to first order, what overcomes the file's friction included, as all of τ comes
    late. A lag of drives looks like a delay too; without that column 2 ms cost 10 g of 1 kg. Momenta have the velocity
    that the positions themselves give over a period, with the position at its middle, so that no filter of velocities
    makes them later than gravity is; their noise does not come through F.

    Args:
        signals: Where PredictionError's states and `filtered_joints`, `filtered_twice` are declared.
        links: Indices of the adapted links.
        omega: ω.
        offsets: Whether the joints' effort offsets are unknown: gravity and they take some motion to be told apart.
        measured: Efforts that the drives give (n,), instead of those that they were told.

    Attributes:
        size: Of π of the links, 10 k.
        has_offsets: Whether offsets are among θ.
        is_measured: Whether efforts are measured.
        next_state: Of these states.
    """

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        links: Sequence[int],
        omega: SX,
        offsets: bool = False,
        measured: SX | None = None,
    ) -> None:
        self._n, dt, qd, self.has_offsets = robot.n, signals.dt, signals.qd, offsets
        self.is_measured = measured is not None
        applied = signals.applied_effort if measured is None else measured
        self.size = N_PARAMETERS * len(links)
        self._nominal = SX(np.concatenate([robot.model.links[i].inertia.pi for i in links]))
        q, q_before = (
            signals.q,
            signals.state(
                "position_before",
                size=self._n,
                default=0.0,
                unit="rad|m",
                doc="Measured positions, one step before.",
                initial=signals.q,
            ),
        )
        motion = 0.5 * (q + q_before), (q - q_before) / dt
        prediction = PredictionError(robot, signals, links, self._nominal, omega=omega, motion=motion, applied=applied)
        a = ca.exp(-omega * dt)
        rate = (1.0 - a) / (a * dt)
        before = signals.state(
            "filtered_joints",
            size=6 * self._n,
            default=0.0,
            unit="SI",
            doc="Filtered velocity of every joint, its sign, that by load, whether slow, momentum per inertia, effort.",
            initial=ca.vertcat(SX.zeros(4 * self._n), omega * qd, SX.zeros(self._n)),
        )
        sign = ca.tanh(qd / SMOOTHING_VELOCITY)
        unclear = 1.0 - opened(ca.fabs(qd), SX(SIGN_CLEAR * SMOOTHING_VELOCITY))
        load = sign * ca.fabs(applied)
        own = ca.horzcat(qd, sign, load, unclear, rate * motion[1], applied)
        joints = a * ca.reshape(before, -1, 6) + (1.0 - a) * own
        rotor = rate * motion[1] - joints[:, 4]
        once = ca.horzcat(prediction.error, prediction.W, joints[:, :4], rotor, joints[:, 5])
        twice_before = signals.state(
            "filtered_twice",
            size=once.numel(),
            default=0.0,
            unit="SI",
            doc="Filtered twice: unexplained effort, regressor, columns of joints, effort; column by column.",
        )
        twice_before = ca.reshape(twice_before, *once.shape)
        twice = a * twice_before + (1.0 - a) * once
        self._rows = ca.horzcat(twice, (twice[:, -1] - twice_before[:, -1]) / dt)
        self.next_state = prediction.next_state | {
            "position_before": q,
            "filtered_joints": ca.vec(joints),
            "filtered_twice": ca.vec(twice),
        }

    def of(self, turn: SX) -> Row:
        """The row of the joint whose index is `turn`."""
        joint = ca.vertcat(*(ca.fabs(turn - float(j)) < 0.5 for j in range(self._n)))
        row = (joint.T @ self._rows).T
        viscous, coulomb, load, unclear, rotor, effort, delay = ca.vertsplit(row[1 + self.size :])
        columns = (viscous, coulomb, rotor, load, *([SX(1.0)] * self.has_offsets))
        own = [joint * column for column in columns]
        return Row(joint, row[0], ca.vertcat(row[1 : 1 + self.size], *own, delay), effort, unclear)
