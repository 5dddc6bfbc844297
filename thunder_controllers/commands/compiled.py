"""A robot's library, for commands that look at it."""

from __future__ import annotations

from collections.abc import Sequence

from thunder_controllers.host import Library
from thunder_dynamics.build import LawRequest, build
from thunder_dynamics.errors import ModelError, listed
from thunder_dynamics.model import SINGLE_JOINTS, RobotModel


def single_joint_library(model: RobotModel, laws: Sequence[LawRequest] = ()) -> Library:
    """Compile and load a robot whose joints have one position and its rate each, of their own.

    Raises:
        ModelError: for any other robot: what is compared or recorded there is not q, q̇ and q̈ of joints.
    """
    if others := model.other_joints:
        raise ModelError(f"the joints {listed(others)}", where=model.name, valid=SINGLE_JOINTS)
    return Library(build(model, laws, python=False))
