"""A robot's library, for commands that look at it."""

from __future__ import annotations

from collections.abc import Sequence

from thunder_controllers.host import Library
from thunder_dynamics.build import LawRequest, build
from thunder_dynamics.errors import ModelError
from thunder_dynamics.model import RobotModel


def single_joint_library(model: RobotModel, laws: Sequence[LawRequest] = ()) -> Library:
    """Compile and load a robot whose joints have one position and its rate each, of their own.

    Raises:
        ModelError: for any other robot: what is compared or recorded there is not q, q̇ and q̈ of joints.
    """
    if not model.has_single_joints:
        what = "a planar, spherical, floating or coupled joint, or one of a user's own kind"
        valid = "joints with one position and its rate, of their own; lock or leave out the others"
        raise ModelError(what, where=model.name, valid=valid)
    return Library(build(model, laws, python=False))
