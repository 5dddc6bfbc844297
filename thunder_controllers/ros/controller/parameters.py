"""Parameters of the controller node; the gains of the law come on top, from the library's own metadata."""

from __future__ import annotations

from thunder_controllers.ros.common.declarations import Parameter, node_parameters, plugin_parameters
from thunder_controllers.ros.common.names import CONTROLLER

GAIN_PREFIX = "gains."
PATH_PREFIX = "path."
"""Gain K_d of the law is the parameter gains.K_d, declared when the node is configured."""


def controller_parameters() -> tuple[Parameter, ...]:
    """What plugin and node share, then what only the node has."""
    return (*plugin_parameters(), *node_parameters("controller", CONTROLLER))
