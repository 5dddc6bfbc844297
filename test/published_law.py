"""A step to publish, of a Cartesian law with adapted friction or of one that tells no cosine of its error."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot
from numpy.typing import NDArray
from pendulum2 import REPOSITORY
from scipy.spatial.transform import Rotation

import thunder_dynamics
from thunder_controllers.host import Configuration, Library

BUILD = sys.modules[thunder_dynamics.build.__module__]

FAR = [Rotation.from_rotvec(angle * np.array([2.0, -3.0, 6.0]) / 7.0) for angle in (0.0, 1e-6, 0.4, 1.5, 2.5, 3.1)]
"""From the pose to the reference."""

COEFFICIENTS = {
    "joint1": {"viscous": 0.5, "coulomb": 1.25},
    "joint2": {"viscous": 0.25, "coulomb": 1.5},
    "joint3": {"viscous": 0.125, "coulomb": 1.75},
}
"""Estimated friction."""


def build_published(knows_cosine: bool) -> Library:
    """The planar arm with the one law or the other."""
    laws: list[Any] = [("cartesian_backstepping", {"task": "position", "friction": "adapted"})]
    with pytest.MonkeyPatch.context() as patch:
        if not knows_cosine:
            patch.syspath_prepend(REPOSITORY / "examples/user_law")
            point = EntryPoint("spring", "my_laws.spring_and_damper:spring_and_damper", "thunder.laws")
            patch.setattr(BUILD, "law_builders", lambda: {"spring": point})
            laws = ["spring"]
        return Library(thunder_dynamics.build(load_robot("planar3r"), laws=laws) / "libplanar3r.so")


def snapshot_of(configuration: Configuration, turn: Rotation, knows_cosine: bool) -> tuple[Any, Rotation]:
    """A step with that error of the orientation and p_d − p = (0.1, 0.2, 0.3) m, and the rotation that is known."""
    law, Q = configuration.law, turn.as_matrix()
    sine = 0.5 * np.array([Q[2, 1] - Q[1, 2], Q[0, 2] - Q[2, 0], Q[1, 0] - Q[0, 1]])
    friction = np.array([[one[name] for one in COEFFICIENTS.values()] for name in ("viscous", "coulomb")])
    known = {
        "pose_error": np.array([0.1, 0.2, 0.3, *sine]),
        "orientation_cosine": np.array([0.5 * (np.trace(Q) - 1.0)]),
        "friction_hat": friction.ravel(),
    }
    state, telemetry, reference = (
        {entry.name: known.get(entry.name, np.ravel(entry.defaults)) for entry in entries}
        for entries in (law.state, law.telemetry, law.reference)
    )
    n = len(configuration.joints)
    snapshot = SimpleNamespace(
        stamp=1_500_000_000,
        is_active=True,
        **{name: np.zeros(n) for name in ("q", "qd", "effort")},
        state=state.__getitem__,
        state_vector=_flat(state),
        telemetry=telemetry.__getitem__,
        telemetry_vector=_flat(telemetry),
        reference_vector=_flat(reference),
    )
    if not knows_cosine and turn.magnitude() > np.pi / 2:
        turn = Rotation.from_rotvec(turn.as_rotvec() * (np.pi / turn.magnitude() - 1.0))
    return snapshot, turn


def _flat(entries: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.concatenate([np.zeros(0), *entries.values()])
