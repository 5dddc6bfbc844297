"""Sensors of a plant: noise, resolution, and velocities from differences of positions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

from thunder_controllers.fields import FloatArray, per_joint
from thunder_controllers.simulation.options import PlantOptions, PositionSensor

NOISE_BLOCK = 1024
"""Steps for which noise is drawn at once: one call of the generator costs as much as a thousand numbers."""

_SIZED = ("_std", "_resolution")


TIME_TOLERANCE = 1e-9
"""By how much a sample may come early, for rounding of times [s]."""


class Sample(NamedTuple):
    """What is fed to a law: values, and when they were measured [s], of what has an age."""

    values: FloatArray
    time: float | None = None


class PositionSampler:
    """What a `PositionSensor` tells: positions with noise at its rate, each a delay after it was measured.

    Args:
        options: Its own.
        seed: Of the noise, drawn for every sample, whoever asks for it.
    """

    def __init__(self, options: PositionSensor, seed: int) -> None:
        self._options = options
        self._rng = np.random.default_rng([seed, 1])  # another stream than that of the joints
        self._next = 0.0
        self._coming: deque[Sample] = deque()

    def sample(self, time: float, position: Callable[[], FloatArray]) -> Sample | None:
        """The sample that is told now, once per step; None where none is.

        Args:
            time: Simulated [s].
            position: The true one (3,) [m] now.
        """
        options, now = self._options, time + TIME_TOLERANCE
        if now >= self._next and (options.until is None or now < options.until):
            self._coming.append(Sample(position() + options.std * self._rng.standard_normal(3), time))
            self._next = max(self._next + 1.0 / options.rate, time)
        told = None
        while self._coming and (self._coming[0].time or 0.0) + options.delay <= now:
            told = self._coming.popleft()
        return told


class Sensors:
    """White noise, then rounding to the encoder's resolution, of q and q̇; or q̇ from the differences of such q.

    v_k = v_{k−1} + (1 − e^{−2πfΔ})((q_k − q_{k−1})/Δ − v_{k−1}), one call per control period Δ; f is the cut-off.
    """

    def __init__(
        self, options: PlantOptions, joints: Sequence[str], period: float, seed: int | Sequence[int], where: str
    ) -> None:
        noise = options.noise
        self._differences = options.velocity == "differences"
        self.act = noise.acts or self._differences
        self._n = len(joints)
        self._period = period
        self._weight = -np.expm1(-2.0 * np.pi * options.velocity_cutoff * period)
        pairs = ((noise.q_std, noise.qd_std), (noise.q_resolution, noise.qd_resolution))
        self._std, self._resolution = (
            np.concatenate([per_joint(value, joints, f"{where}: noise") for value in pair]) for pair in pairs
        )
        self._rounds = bool(np.any(self._resolution))
        self._rng = np.random.default_rng(seed)
        self._row = NOISE_BLOCK
        self.restart()

    @classmethod
    def together(cls, members: Sequence[Sensors]) -> Sensors:
        """Sensors of several plants, with the noise of each: rows of q and q̇, shape (N, n).

        All differ positions, or none does.
        """
        all_of = copy(members[0])
        all_of.act = any(one.act for one in members)
        all_of._std, all_of._resolution = (np.stack([getattr(one, key) for one in members]) for key in _SIZED)
        all_of._rounds = any(one._rounds for one in members)
        all_of._weight = np.array([[one._weight] for one in members])
        all_of._draw = lambda: np.stack([one._draw() for one in members], axis=1)  # type: ignore[method-assign]
        return all_of

    def _draw(self) -> FloatArray:
        return self._rng.standard_normal((NOISE_BLOCK, 2 * self._n))

    def restart(self) -> None:
        """Forget the filtered velocity: the next one is the true one, as of a filter that has long settled."""
        self._last: tuple[FloatArray, FloatArray] | None = None

    def corrupt(self, q: FloatArray, qd: FloatArray) -> None:
        """Turn true q and q̇ into measured ones, in place."""
        if self._row == NOISE_BLOCK:
            self._block = self._std * self._draw()
            self._row = 0
        noise = self._block[self._row]
        self._row += 1
        for values, part in ((q, slice(None, self._n)), (qd, slice(self._n, None))):
            values += noise[..., part]
            if self._rounds:
                _round(values, self._resolution[..., part])
        if self._differences:
            if self._last is not None:
                last_q, last_qd = self._last
                qd[:] = last_qd + self._weight * ((q - last_q) / self._period - last_qd)
            self._last = q.copy(), qd.copy()


def _round(values: FloatArray, resolution: FloatArray) -> None:
    """To multiples of the resolution, where there is one."""
    rounded = resolution > 0.0
    values[rounded] = np.round(values[rounded] / resolution[rounded]) * resolution[rounded]
