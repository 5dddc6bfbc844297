"""What the record of a motion says of the inertial parameters of one link, and how well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfiltfilt

from thunder_controllers.host import Library
from thunder_controllers.identification.information import SCALE, columns_of, explain, joint_terms, regressor

FloatArray = NDArray[np.float64]

BANDWIDTH = 10.0
"""Of the motion that is looked at [Hz]: arms move slower, and noise of sensors and efforts is mostly faster."""

LEAST_SAMPLES = 30
"""Two a period of the bandwidth."""

UNKNOWN = 1e3
"""Standard deviation of a parameter of which nothing is known, over `SCALE` [kg]."""

EDGE = 4
"""Samples at both ends that are not used: the filter has not settled there."""

FITTED = 4
"""Numbers fitted per joint: its friction and rotor, and its share of the ten."""

LEAST_VARIANCE = 1e-12
"""Of what is left of an effort [N²m²]: arithmetic, and joints of which no sample is used."""

REWEIGHTINGS = 3
"""By the noise of each joint."""

SLOW = 0.1
"""Of a joint's largest speed: samples at less say nothing of it, as friction may do anything where a motion turns."""

AT_REST = 0.02
"""The same for a joint that hardly moves [rad/s or m/s]."""


@dataclass(frozen=True)
class Evidence:
    """What a motion says of π of a link, with friction and rotors of the joints unknown.

    Attributes:
        fit: π by least squares (10,), REG order; without any information, what was believed.
        covariance: Of that (10, 10), from the information and the noise that is left.
        least_information: Smallest eigenvalue of ∫WᵀW dt over `SCALE`, W the link's regressor less what friction and
            rotors can be instead [N²m²s/kg²].
        condition: Of W over `SCALE`.
    """

    fit: FloatArray
    covariance: FloatArray
    least_information: float
    condition: float


def gather(
    library: Library, link: int, believed: FloatArray, q: FloatArray, effort: FloatArray, rate: float
) -> Evidence | None:
    """Look at a motion of all joints.

    Positions and efforts go through the same filter, without delay, and are looked at twice a period of its bandwidth,
    so that the noise of samples is nearly independent. What a joint's friction and rotor explain is left out, so is a
    joint where it is slow, and rows are weighted by the noise of their joints.

    Args:
        library: Of the robot, for its regressor.
        link: Index of the link.
        believed: π of all links, (10 n,); that of `link` is no evidence.
        q: Measured positions (N, n).
        effort: Applied from each sample to the next (N, n) [N·m or N].
        rate: Of both [Hz].

    Returns:
        None where the motion is too short, or not all of it was measured.
    """
    every = max(round(rate / (2.0 * BANDWIDTH)), 1)
    if len(q) < LEAST_SAMPLES * every or not (np.isfinite(q).all() and np.isfinite(effort).all()):
        return None
    smooth = butter(4, min(BANDWIDTH, 0.4 * rate), fs=rate, output="sos")
    at_samples = 0.5 * (effort[1:] + effort[:-1])
    positions, efforts = (sosfiltfilt(smooth, values, axis=0) for values in (q[1:], at_samples))
    velocities = np.gradient(positions, 1.0 / rate, axis=0)
    accelerations = np.gradient(velocities, 1.0 / rate, axis=0)
    inside = slice(EDGE * every, len(positions) - EDGE * every, every)
    states = positions[inside], velocities[inside], accelerations[inside]
    Y = regressor(library, *states)
    believed = believed.copy()
    believed[columns_of(link)] = 0.0
    speed = np.abs(states[1])
    used = (speed > np.fmax(SLOW * speed.max(axis=0), AT_REST))[:, :, None]
    rows = np.concatenate([Y[:, :, columns_of(link)] / SCALE, (efforts[inside] - Y @ believed)[:, :, None]], axis=2)
    _, left = explain(used * rows, used * joint_terms(*states[1:]))
    return _solve(left[:, :, :-1], left[:, :, -1], used.sum(axis=(0, 2)), every / rate)


def _solve(W: FloatArray, y: FloatArray, samples: NDArray[np.int64], period: float) -> Evidence:
    """Weighted least squares of W x = y, (N, n, 10) and (N, n), each joint with a noise of its own."""
    variance, x = np.ones(y.shape[1]), np.zeros(W.shape[2])
    for _ in range(REWEIGHTINGS):
        weighted = W / variance[:, None]
        information = np.einsum("tjk,tjl->kl", weighted, W)
        covariance = np.linalg.inv(information + np.eye(len(x)) / UNKNOWN**2)
        x = covariance @ np.einsum("tjk,tj->k", weighted, y)
        variance = np.fmax(((y - W @ x) ** 2).sum(axis=0) / np.fmax(samples - FITTED, 1), LEAST_VARIANCE)
    eigenvalues = np.linalg.eigvalsh(np.einsum("tjk,tjl->kl", W, W)) * period
    least, most = max(eigenvalues[0], 0.0), eigenvalues[-1]
    condition = float(np.sqrt(most / least)) if least > 0.0 else np.inf
    return Evidence(x / SCALE, covariance / np.outer(SCALE, SCALE), float(least), condition)
