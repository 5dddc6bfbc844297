"""Faults: all that goes wrong with one robot, as its plant asks for it: at motors, joints and sensors."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import combinations
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from thunder_controllers.fields import FloatArray
from thunder_controllers.simulation.faults.actuator import (
    Bias,
    Block,
    EffortNoise,
    Freeze,
    Loss,
    MotorFault,
    Saturation,
)
from thunder_controllers.simulation.faults.fault import Fault, JointFault
from thunder_controllers.simulation.faults.load import Mechanics, compute_load
from thunder_controllers.simulation.faults.sensor import (
    Dropout,
    LateSamples,
    RepeatedSamples,
    Sample,
    SensorFault,
)
from thunder_controllers.simulation.faults.wrench import Hand, Push, Surface, Wrench
from thunder_dynamics.errors import ScenarioError, nearest

FaultOptions = Annotated[
    Block
    | Loss
    | Bias
    | Freeze
    | Saturation
    | EffortNoise
    | Dropout
    | RepeatedSamples
    | LateSamples
    | Wrench
    | Surface
    | Hand,
    Field(discriminator="type"),
]


def check_agreement(faults: Sequence[Fault]) -> None:
    """Raise ValueError if two faults contradict each other: both say what one joint does at one time."""
    for first, second in combinations([fault for fault in faults if isinstance(fault, JointFault)], 2):
        if first.contradicts(second):
            raise ValueError(f"'{first.label}' beside '{second.label}' (valid: windows or joints apart)")


class Faults:
    """The faults of one plant and what they remember.

    Args:
        faults: As the scenario lists them; those of one motor act in this order.
        joints: Names in the plant's order.
        timestep: Of the integration [s].
        seed: Of noise and of random dropouts; each fault draws numbers of its own.
        where: Named in errors.

    Raises:
        ScenarioError: if a fault names a joint that is not there.
    """

    def __init__(self, faults: Sequence[Fault], joints: Sequence[str], timestep: float, seed: int, where: str) -> None:
        for index, fault in enumerate(faults):
            unknown = [name for name in getattr(fault, "joints", ()) if name not in joints]
            if unknown:
                place = f"{where}: faults.{index}"
                raise ScenarioError(
                    f"the plant has no joint '{unknown[0]}'", where=place, valid=nearest(unknown[0], joints)
                )
        self.faults = tuple(faults)
        self._at = {f: f.indices(joints) for f in faults if isinstance(f, JointFault)}
        self._slack = 0.5 * timestep
        self._seed = seed
        self._n = len(joints)
        self.restart(np.zeros(self._n))

    def restart(self, effort: FloatArray) -> None:
        """Start anew at time 0, the motors giving `effort`, shape (n,)."""
        self._rng = {fault: np.random.default_rng((self._seed, k)) for k, fault in enumerate(self.faults)}
        self._effort = np.array(effort)
        self._acting: list[Fault] = []
        late = max((fault.steps for fault in self.faults if isinstance(fault, LateSamples)), default=0)
        self._sensed: deque[Sample] = deque(maxlen=late + 1)
        self._reported: Sample | None = None

    def in_force(self, time: FloatArray) -> NDArray[np.bool_]:
        """Which faults act at the times `time` [s], shape (N,), as rows of one flag per fault, shape (N, faults)."""
        flags = [fault.in_force(time, self._slack) for fault in self.faults]
        return np.array(flags, dtype=bool).reshape(len(flags), len(time)).T

    def act(self, time: float, effort: FloatArray) -> FloatArray:
        """Effort that the motors give from `time` [s] on when asked for `effort`, shape (n,) each.

        What acts at `time` decides the loads of the joints too, until the next call.
        """
        self._acting = [fault for fault in self.faults if fault.in_force(time, self._slack)]
        given = effort.copy()
        for fault in self._acting:
            if isinstance(fault, MotorFault):
                at = self._at[fault]
                given[at] = fault.act(given[at], self._effort[at], self._rng[fault])
        self._effort = given
        return given

    def pushes(self, time: float) -> list[Push]:
        """What pushes links at `time` [s]."""
        return [f for f in self.faults if isinstance(f, Push) and f.in_force(time, self._slack)]

    @property
    def loads_joints(self) -> bool:
        """Whether `load` is not zero now."""
        return any(isinstance(fault, Block | Push) for fault in self._acting)

    @property
    def blocked(self) -> NDArray[np.intp]:
        """Joints that are blocked now."""
        return np.concatenate([np.zeros(0, int), *(self._at[f] for f in self._acting if isinstance(f, Block))])

    def load(self, mechanics: Mechanics) -> FloatArray:
        """Load of the joints beside the motors' efforts, shape (n,); see `compute_load`."""
        pushes = [fault for fault in self._acting if isinstance(fault, Push)]
        rates = [np.full(len(self._at[f]), f.rate) for f in self._acting if isinstance(f, Block)]
        return compute_load(mechanics, pushes, self.blocked, np.concatenate([np.zeros(0), *rates]))

    def report(self, time: float, q: FloatArray, qd: FloatArray) -> int:
        """Turn what the sensors say at `time` [s] into what is reported, in place; how many steps old that is.

        A sample of several joints is as old as its newest reading.
        """
        sensed = Sample(np.array([q, qd]), np.zeros(self._n, dtype=int))
        self._sensed.append(sensed)
        values, age = sensed.values.copy(), sensed.age.copy()
        last = self._reported or sensed
        for fault in self.faults:
            if isinstance(fault, SensorFault) and fault.in_force(time, self._slack):
                at = self._at[fault]
                sample = fault.report(self._sensed, last, self._rng[fault])
                if sample is not None:
                    values[:, at], age[at] = sample.values[:, at], sample.age[at]
        self._reported = Sample(values, age)
        q[:], qd[:] = values
        return int(age.min())
