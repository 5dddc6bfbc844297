"""Who takes part in the DDS network of the nodes: by default the processes of this machine and nobody else."""

from __future__ import annotations

from collections.abc import Mapping

RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
"""Environment variable that ROS 2 reads when a process joins: LOCALHOST, SUBNET, OFF or SYSTEM_DEFAULT."""


def discovery_environment(discovery: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Variables to set before nodes start.

    Args:
        discovery: Value of the launch argument: `auto`, `localhost` or `subnet`. What is asked for by name counts;
            `auto` leaves a range that the user has set, and is this machine otherwise.
        environment: That the nodes would have.
    """
    if discovery == "auto":
        return {} if environment.get(RANGE) else {RANGE: "LOCALHOST"}
    return {RANGE: discovery.upper()}
