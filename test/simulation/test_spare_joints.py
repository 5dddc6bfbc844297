"""A load at the elbow that no model has: a Panda that holds a pose keeps its posture, under every Cartesian law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from evaluation import evaluate, load_robot, robot_file
from scipy.spatial.transform import Rotation

from thunder_controllers.resources import share
from thunder_controllers.scripting import Result, simulate
from thunder_dynamics.expressions import RobotExpressions

pytestmark = pytest.mark.slow

START = np.array([0.103, -0.386, 0.118, -2.192, 0.052, 1.806, 0.2])
"""Elbow beside the line from shoulder to wrist, so that the load turns it."""

MOST = 0.05
"""Of any joint, at any time [rad]."""


POSE = evaluate(RobotExpressions(load_robot("panda")), "T_0_ee", {"q": START})
YPR = Rotation.from_matrix(POSE[:3, :3]).as_euler("ZYX").tolist()
HOLD = {"type": "hold", "position": POSE[:3, 3].tolist(), "ypr": YPR}
CIRCLE = {
    "type": "lissajous",
    "centre": (POSE[:3, 3] - [0.0, 0.1, 0.0]).tolist(),
    "amplitude": [0.1, 0.1, 0.0],
    "frequency": [2.0, 2.0, 2.0],
    "phase": [0.0, np.pi / 2.0, 0.0],
    "ypr": YPR,
}


def held(law: str, reference: Mapping[str, Any], duration: float, mass: float, gains: Mapping[str, Any]) -> Result:
    """A run from START, with a mass at the elbow."""
    load = {"link": "panda_link4", "mass": mass, "com": [0.0, 0.05, 0.05]}
    return simulate(
        robot_file("panda"),
        reference=dict(reference),
        law=law,
        gains=dict(gains),
        start={"q": START.tolist()},
        duration=duration,
        plant={
            "urdf": str(share("urdf/panda.urdf.xacro")),
            "payloads": [load] if mass else [],
            "friction": {"viscous": 0.2, "coulomb": 0.0},
        },
    )


@pytest.mark.parametrize(
    ("law", "goes_home"),
    [
        ("cartesian_impedance", False),
        ("cartesian_impedance:redundancy=posture", True),
        ("cartesian_impedance:task=position", False),
        ("cartesian_computed_torque", True),
        ("cartesian_computed_torque:redundancy=acceleration_bounds", True),
        ("cartesian_computed_torque:task=position", True),
        ("cartesian_backstepping", True),
        ("cartesian_backstepping:redundancy=joint_limits", False),
        ("cartesian_backstepping:redundancy=none", False),
        ("cartesian_backstepping:task=position", True),
    ],
)
def test_no_joint_moves_far(law: str, goes_home: bool) -> None:
    """Where the law goes home, home is the posture of the start: what is left is the load's."""
    result = held(law, HOLD, 20.0, 1.0, {"q_home": START.tolist()} if goes_home else {})
    assert result.fault is None
    assert np.abs(result.trace.q - START).max() < MOST


def test_the_end_effector_follows_no_worse_than_without_the_hold() -> None:
    """Their postures differ, and with them its inertia: a twentieth of the error is left to that."""
    with_it, without = (
        np.linalg.norm(held("cartesian_impedance", CIRCLE, 4.0, 0.0, gains).trace.error[:, :3], axis=1).max()
        for gains in ({}, {"k_sigma": 0.0})
    )
    assert 1e-4 < with_it < 1.05 * without
