"""Which guard the controller has: most robots say nothing of themselves."""

from __future__ import annotations

from collections.abc import Mapping

from thunder_controllers.ros.common.robot_guard import GuardContext, RobotGuard


class NoGuard:
    """A robot that only takes efforts and gives joint states."""

    gravity_compensated: bool | None = None
    contact: bool = False
    fault: str | None = None

    def before_activation(self) -> None:
        """Do nothing."""

    def check_activation(self) -> str | None:
        """Nothing speaks against activation."""
        return None

    def after_deactivation(self) -> None:
        """Do nothing."""

    def diagnostics(self) -> Mapping[str, str]:
        """Report nothing."""
        return {}

    def close(self) -> None:
        """Nothing was opened."""


def make_guard(interface: str, context: GuardContext) -> RobotGuard:
    """Make the guard of a robot interface, a value of the parameter robot_interface.

    Raises:
        ThunderError: if what it needs is not installed.
    """
    if interface == "franka":
        from thunder_controllers.ros.franka.guard import FrankaGuard  # only here: its messages are optional

        return FrankaGuard(context)
    return NoGuard()
