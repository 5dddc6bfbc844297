"""What the record of a motion says of the inertial parameters of one link, and how well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Library
from thunder_controllers.identification.information import (
    SCALE,
    columns_of,
    explain,
    fit_columns,
    joint_terms,
    regressor,
)
from thunder_controllers.identification.motion import Motion, Record

FloatArray = NDArray[np.float64]

EXPLAINED = 4
"""Numbers fitted per joint: its friction, rotor and delay."""


@dataclass(frozen=True)
class Evidence:
    """What a motion says of π of a link, with friction, rotors and delays of the joints unknown.

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


def gather(library: Library, estimates: Mapping[str, FloatArray], record: Record) -> dict[str, Evidence]:
    """Look at a motion of all joints, for what it says of each estimated link.

    What a joint's friction, rotor and delay explain is left out, so is a joint where it is slow, and rows are weighted
    by the noise of their joints.

    Args:
        library: Of the robot, for its regressor.
        estimates: π̂ of links by name, (10,): of a link's own that is no evidence, others are taken as they are, and
            those without estimate as the robot's π says.
        record: Of the motion.

    Returns:
        By link; nothing where the motion is too short, or not all of it was measured.
    """
    if not estimates or not record.is_usable:
        return {}
    motion = Motion.of(record)
    Y = regressor(library, motion.q, motion.qd, motion.qdd)
    columns = {name: columns_of(library.link_names.index(name)) for name in estimates}
    believed = np.array(library.pi)
    for name, pi in estimates.items():
        believed[columns[name]] = pi
    return {name: _of_link(motion, Y, believed, own) for name, own in columns.items()}


def _of_link(motion: Motion, Y: FloatArray, believed: FloatArray, own: slice) -> Evidence:
    """Of the link whose parameters are `own` of all."""
    believed = believed.copy()
    believed[own] = 0.0
    used = motion.used[:, :, None]
    rows = np.concatenate([Y[:, :, own] / SCALE, (motion.effort - Y @ believed)[:, :, None]], axis=2)
    B = np.concatenate([joint_terms(motion.qd, motion.sign, motion.qdd), motion.effort_rate[:, :, None]], axis=2)
    _, left = explain(used * rows, used * B)
    W = left[:, :, :-1]
    fit, _ = fit_columns(W, left[:, :, -1], motion.used, EXPLAINED)
    eigenvalues = np.linalg.eigvalsh(np.einsum("tjk,tjl->kl", W, W)) * motion.period
    least, most = max(eigenvalues[0], 0.0), eigenvalues[-1]
    condition = float(np.sqrt(most / least)) if least > 0.0 else np.inf
    return Evidence(fit.x / SCALE, fit.covariance / np.outer(SCALE, SCALE), float(least), condition)
