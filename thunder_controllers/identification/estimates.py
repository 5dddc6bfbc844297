"""Estimates that a controller starts from, of what was identified."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from thunder_controllers.host import Configuration, ControlSession, Library, Options, save_estimates
from thunder_controllers.host.inertia_estimate import ESTIMATE, FRICTION, OFFSETS, ROTORS
from thunder_controllers.identification.robot_fit import RobotFit


def write_estimates(path: Path, library: Library, law: str, found: RobotFit) -> None:
    """Write the file of estimates that a law starts from; the host checks and saves it, as it does while it runs.

    Args:
        path: Of the file; it is replaced in one step.
        library: Compiled with the law.
        law: Its name; it adapts the links that were fitted as bodies.
        found: By `fit_robot`.

    Raises:
        LawError: if the law does not take these values: they are out of its bounds, or the file cannot be written.
    """
    configuration = Configuration(library, law=law)
    estimates = {ESTIMATE: found.bodies.ravel()}
    adapted = [entry.name for entry in configuration.law.state]
    if FRICTION in adapted:
        estimates[FRICTION] = np.concatenate([found.joints[:, 0], found.joints[:, 1]])
    if OFFSETS in adapted:
        estimates[OFFSETS] = found.offsets[0]
    if ROTORS in adapted and found.rotors is not None:
        estimates[ROTORS] = found.rotors[0]
    session = ControlSession(configuration, Options(), estimates=estimates)
    save_estimates(path, configuration, session.snapshot())
