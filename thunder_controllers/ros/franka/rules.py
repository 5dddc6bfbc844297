"""When a Franka may be activated, must be stopped, and must not be learned from. Plain values, no ROS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.ros.franka.state import Body, FrankaState, Mode

FloatArray = NDArray[np.float64]

ADVICE = {
    Mode.OTHER: "look at the robot's own web interface",
    Mode.IDLE: "activate the effort controller first: nothing takes the commands",
    Mode.GUIDING: "release the guiding button",
    Mode.REFLEX: "find out why, then run the action error_recovery",
    Mode.USER_STOPPED: "release the user stop",
    Mode.AUTOMATIC_ERROR_RECOVERY: "wait for its end",
}
"""What to do about a mode in which no torque controller runs."""


def mode_reason(state: FrankaState) -> str | None:
    """Say why this state rules out torque control, None if it does not.

    Only the mode `move` is right: in any other, commands reach nobody, and the law would learn from motion that is
    not its own.
    """
    if state.errors:
        return f"the robot reports {', '.join(state.errors)}; clear the cause, then run the action error_recovery"
    if state.mode is not Mode.MOVE:
        return f"the robot is in mode {state.mode.text}; {ADVICE[state.mode]}"
    return None


class ContactMonitor:
    """Contact with hysteresis, in torque and in time; a torque that is no number counts as contact.

    Args:
        torque: Contact begins above this, per joint, [N·m].
        release_ratio: It can end below this part of `torque`, [1].
        release_time: For this long without interruption, [s].
    """

    def __init__(self, torque: Sequence[float], release_ratio: float, release_time: float) -> None:
        self._torque, self._release_ratio, self._release_time = torque, release_ratio, release_time
        self.active = False
        """Whether there is contact."""
        self._calm_since = math.inf

    def update(self, now: float, state: FrankaState) -> bool:
        """Take a state at the time `now` [s]; whether there is contact."""
        if state.flags or not self._below(state, 1.0):
            self.active, self._calm_since = True, math.inf
        elif self.active:
            is_calm = self._below(state, self._release_ratio)
            self._calm_since = min(self._calm_since, now) if is_calm else math.inf
            self.active = now - self._calm_since < self._release_time
        return self.active

    def _below(self, state: FrankaState, ratio: float) -> bool:
        pairs = zip(state.external_torque, self._torque, strict=True)
        return all(abs(torque) <= ratio * limit for torque, limit in pairs)  # false for NaN


@dataclass(frozen=True)
class CompensatedBodies:
    """What the library's model contains beyond the bare arm, as the robot must know it, in the flange frame.

    Only mass and first moment are compared: the robot compensates weight, and weight is linear in these.

    Attributes:
        load: Set with SetLoad.
        end_effector: Set in the administrator's interface.
        mass_tolerance: Difference of masses that is none, [kg].
        moment_tolerance: Difference of m·c along an axis that is none, [kg·m].
    """

    load: Body
    end_effector: Body
    mass_tolerance: float
    moment_tolerance: float

    def difference(self, state: FrankaState) -> str | None:
        """Say what the robot compensates that the model does not contain, or the reverse; None if all agrees.

        The robot adds the weight of these bodies to every command. If it adds a weight that the model lacks, estimates
        would settle where gravity and inertia contradict each other: so nothing may be learned then.
        """
        pairs = (("a load", state.load, self.load), ("an end effector", state.end_effector, self.end_effector))
        for what, reported, modelled in pairs:
            if not self._agree(_weight(reported), _weight(modelled)):
                return f"the robot compensates {what} of {reported}, the model contains {modelled}"
        return None

    def is_nominal(self, estimate: FloatArray, nominal: FloatArray) -> bool:
        """Whether estimated parameters, REG order, shape (10,), have the weight of their model."""
        return self._agree(estimate[:4], nominal[:4])

    def _agree(self, weight: FloatArray, other: FloatArray) -> bool:
        difference = np.abs(weight - other)  # false below for NaN
        return bool(difference[0] <= self.mass_tolerance and (difference[1:] <= self.moment_tolerance).all())


def _weight(body: Body) -> FloatArray:
    """Mass and first moment, shape (4,); NaN where the robot says what is no number."""
    return np.array([body.mass, *(body.mass * value for value in body.com)])
