"""What the controller asks of a particular robot, such as its mode and contact; most robots say nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # names and parameters of nodes are read where the host is not compiled: while it is built
    from rclpy.node import Node

    from thunder_controllers.host import Library
    from thunder_controllers.host.inertia_estimate import LinkEstimate
    from thunder_controllers.ros.common.parameters import DeclaredParameters


@dataclass(frozen=True)
class GuardContext:
    """What a guard may use.

    Attributes:
        node: The controller node, for subscriptions, clients, services and its logger.
        parameters: Through which the guard declares parameters of its own.
        library: The compiled robot.
        estimates: Gives the current estimates of the adapted links.
    """

    node: Node
    parameters: DeclaredParameters
    library: Library
    estimates: Callable[[], tuple[LinkEstimate, ...]]


class RobotGuard(Protocol):
    """A robot with a mind of its own. Every method returns at once: none may wait for an answer.

    Order of the calls: made while the node is configured; `before_activation`, `check_activation`, …,
    `after_deactivation` for every activation; `close` at clean-up.
    """

    @property
    def gravity_compensated(self) -> bool | None:
        """Whether the robot adds its own gravity torque; None: the parameter says."""
        ...

    def before_activation(self) -> None:
        """Start what must be done before activation, such as service requests; `check_activation` tells of answers.

        Raises:
            ThunderError: if it cannot be done.
        """
        ...

    def check_activation(self) -> str | None:
        """Say why the robot must not be activated now, answers that are still awaited included; None: it may."""
        ...

    @property
    def contact(self) -> bool:
        """Whether the robot touches something it should not learn from; adaptation is frozen while it does."""
        ...

    @property
    def fault(self) -> str | None:
        """Why the controller must stop now; None: no reason."""
        ...

    def after_deactivation(self) -> None:
        """Called once no more commands are sent."""
        ...

    def diagnostics(self) -> Mapping[str, str]:
        """Report key and value pairs for /diagnostics."""
        ...

    def close(self) -> None:
        """Destroy subscriptions, clients and services, and undeclare parameters."""
        ...


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


INTERFACES = ("generic", "franka")
"""Values of the parameter robot_interface."""


def make_guard(interface: str, context: GuardContext) -> RobotGuard:
    """Make the guard of a robot interface, one of `INTERFACES`.

    Raises:
        ThunderError: if what it needs is not installed.
    """
    if interface == "franka":
        from thunder_controllers.ros.franka.guard import FrankaGuard  # only here: its messages are optional

        guard: RobotGuard = FrankaGuard(context)
        return guard
    return NoGuard()
