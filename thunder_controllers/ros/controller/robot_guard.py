"""Which guard the controller has."""

from __future__ import annotations

from thunder_controllers.ros.common.robot_guard import GuardContext, RobotGuard


def make_guard(interface: str, context: GuardContext) -> RobotGuard:
    """Make the guard of a robot interface, a value of the parameter robot_interface.

    Raises:
        ThunderError: if what it needs is not installed.
    """
    if interface == "franka":
        from thunder_controllers.ros.franka.guard import FrankaGuard  # only here: its messages are optional

        return FrankaGuard(context)
    return RobotGuard()
