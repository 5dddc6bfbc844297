"""A robot by name or file, with the arm in it: how `load_model` reads that, and what was chosen in words."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from thunder_controllers.arms.descriptions import Description, find_description
from thunder_controllers.simulation.scenario import DESCRIPTIONS
from thunder_dynamics.errors import listed
from thunder_dynamics.readers.command_options import located
from thunder_dynamics.readers.urdf import select_arm
from thunder_dynamics.readers.urdf_tree import Selection

LISTED = 4
"""Held joints of a kind that are shown with their positions."""


@dataclass(frozen=True)
class Choice:
    """A robot's file, and how the arm in it is read.

    Attributes:
        description: Of the robot.
        reading: Options of `load_model`.
        selection: The arm; None where the file is no URDF, and all that moves is the arm.
    """

    description: Description
    reading: Mapping[str, Any]
    selection: Selection | None

    @property
    def facts(self) -> tuple[str, ...]:
        """What was found and chosen, a line each, with the options that choose otherwise."""
        file, origin = self.description.file, self.description.origin
        seen = min(os.path.relpath(file), str(file), key=len)
        facts = [f"Robot: {file.name}, of {origin}" if origin else f"Robot: {seen}"]
        if self.selection is None:
            return tuple(facts)
        joints, held = self.selection.joints, self.selection.held
        way = f"{joints[0]} to {joints[-1]}" if len(joints) > 1 else joints[0]
        facts.append(f"Arm: {way}, {len(joints)} joints; end effector {self.selection.ee_link} (--ee LINK)")
        if self.selection.others:
            facts.append(f"Not this one: another arm as long, --ee {listed(self.selection.others)}")
        beyond = {name: name in self.selection.gripper for name in held}
        for what, is_beyond in (("of the gripper", True), ("of no part of the arm", False)):
            given = [
                f"--lock {name}={','.join(f'{at:g}' for at in held[name])}"
                for name in held
                if beyond[name] is is_beyond
            ]
            if given:
                more = f" and {len(given) - LISTED} more" if len(given) > LISTED else ""
                facts.append(f"Held, joints {what}: {' '.join(given[:LISTED])}{more}")
        return tuple(facts)


def choose_arm(
    robot: str | PathLike[str], reading: Mapping[str, Any] | None = None, ee_link: str | None = None
) -> Choice:
    """Find a robot, and select the arm in it.

    Args:
        robot: A name, file or package:// URI, see `find_description`.
        reading: Options of its reader; `locked_joints` are held in any case.
        ee_link: The end effector; `UrdfTree.select_arm` says which it is by default.

    Raises:
        ThunderError: as `find_description` and `select_arm` raise.
    """
    description = find_description(robot)
    options = located({**description.reading, **(reading or {})})
    if description.file.suffix not in DESCRIPTIONS:
        return Choice(description, options, None)
    selection = select_arm(description.file, {**options, "ee_link": ee_link})
    held = {"locked_joints": dict(selection.held)} if selection.held else {}
    return Choice(description, {**options, **held, "ee_link": selection.ee_link}, selection)
