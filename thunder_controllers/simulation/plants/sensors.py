"""Sensors of a plant: noise, resolution, and velocities from differences of positions."""

from __future__ import annotations

import numpy as np

from thunder_controllers.fields import FloatArray, per_joint
from thunder_controllers.simulation.options import PlantOptions

NOISE_BLOCK = 1024
"""Steps for which noise is drawn at once: one call of the generator costs as much as a thousand numbers."""


class Sensors:
    """White noise, then rounding to the encoder's resolution, of q and q̇; or q̇ from the differences of such q.

    v_k = v_{k−1} + (1 − e^{−2πfΔ})((q_k − q_{k−1})/Δ − v_{k−1}), one call per control period Δ; f is the cut-off.
    """

    def __init__(self, options: PlantOptions, n: int, period: float, seed: int, where: str) -> None:
        noise = options.noise
        self._differences = options.velocity == "differences"
        self.act = noise.acts or self._differences
        self._n = n
        self._period = period
        self._weight = -np.expm1(-2.0 * np.pi * options.velocity_cutoff * period)
        pairs = ((noise.q_std, noise.qd_std), (noise.q_resolution, noise.qd_resolution))
        self._std, self._resolution = (
            np.concatenate([per_joint(value, n, f"{where}: noise") for value in pair]) for pair in pairs
        )
        self._rounded = self._resolution > 0.0
        self._rng = np.random.default_rng(seed)
        self._block = np.empty((NOISE_BLOCK, 2 * n))
        self._row = NOISE_BLOCK
        self.restart()

    def restart(self) -> None:
        """Forget the filtered velocity: the next one is the true one, as of a filter that has long settled."""
        self._last: tuple[FloatArray, FloatArray] | None = None

    def corrupt(self, q: FloatArray, qd: FloatArray) -> None:
        """Turn true q and q̇ into measured ones, in place."""
        if self._row == NOISE_BLOCK:
            self._rng.standard_normal(out=self._block)
            self._row = 0
        both = np.concatenate((q, qd)) + self._std * self._block[self._row]
        self._row += 1
        if self._rounded.any():
            steps = self._resolution[self._rounded]
            both[self._rounded] = np.round(both[self._rounded] / steps) * steps
        q[:], qd[:] = both[: self._n], both[self._n :]
        if self._differences:
            if self._last is not None:
                last_q, last_qd = self._last
                qd[:] = last_qd + self._weight * ((q - last_q) / self._period - last_qd)
            self._last = q.copy(), qd.copy()
