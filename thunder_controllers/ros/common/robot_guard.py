"""What the controller asks of a particular robot, such as its mode and contact; most robots say nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from thunder_controllers.host.inertia_estimate import LinkEstimate

Estimates = Callable[[], tuple[LinkEstimate, ...]]
"""Gives the current estimates of the adapted links."""


class RobotGuard:
    """A robot that only takes efforts and gives joint states; one with a mind of its own overrides what it has to say.

    Every method returns at once: none may wait for an answer. Order of the calls: made while the controller is
    configured; `before_activation`, `check_activation` for every activation; `close` at the clean-up.
    """

    gravity_compensated: bool | None = None
    """Whether the robot adds its own gravity torque; None: the parameter says."""

    def before_activation(self) -> None:
        """Start what must be done before activation, such as service requests; `check_activation` tells of answers.

        Raises:
            ThunderError: if it cannot be done.
        """

    def check_activation(self) -> str | None:
        """Say why the robot must not be activated now, answers that are still awaited included; None: it may."""
        return None

    @property
    def contact(self) -> bool:
        """Whether the robot touches something it should not learn from; adaptation is frozen while it does."""
        return False

    @property
    def fault(self) -> str | None:
        """Why the controller must stop now; None: no reason."""
        return None

    def diagnostics(self) -> Mapping[str, str]:
        """Report key and value pairs for /diagnostics."""
        return {}

    def close(self) -> None:
        """Destroy subscriptions, clients and services, and undeclare parameters."""
