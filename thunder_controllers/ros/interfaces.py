"""Topics, services and parameters of all nodes, as data: what the documentation and the tests of the interface read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import Parameter, controller_parameters, node_parameters
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.storage.door import read_text


class Topic(NamedTuple):
    """A topic of a node; `qos` names a profile of qos.py. A parameter in braces stands for its value."""

    name: str
    direction: Literal["publishes", "subscribes"]
    type: str
    qos: str
    description: str


class Service(NamedTuple):
    """A service that a node offers or calls."""

    name: str
    type: str
    description: str


class NodeInterface(NamedTuple):
    """Everything that a node shows to others."""

    name: str
    executable: str
    description: str
    topics: tuple[Topic, ...]
    services: tuple[Service, ...]
    calls: tuple[Service, ...]
    parameters: tuple[Parameter, ...]


_PARAMETERS = {
    names.GENERATOR: node_parameters("generator", names.GENERATOR),
    names.CONTROLLER: controller_parameters(),
    names.SIMULATION: node_parameters("simulation", names.SIMULATION),
    names.REFERENCE: node_parameters("reference", names.REFERENCE),
    names.MODEL: node_parameters("model", names.MODEL),
    names.WAIT_FOR_LIBRARY: node_parameters("bringup", names.WAIT_FOR_LIBRARY),
    names.SET_LOAD: node_parameters("bringup", names.SET_LOAD),
    names.MONITOR: node_parameters("bringup", names.MONITOR),
}


def _read(name: str, entry: dict[str, Any]) -> NodeInterface:
    directions: tuple[Literal["subscribes"], Literal["publishes"]] = ("subscribes", "publishes")
    topics = [Topic(topic, way, *rest) for way in directions for topic, rest in entry.get(way, {}).items()]
    services, calls = (
        tuple(Service(service, *rest) for service, rest in entry.get(key, {}).items()) for key in ("services", "calls")
    )
    about = (name, entry["executable"], entry["description"])
    return NodeInterface(*about, tuple(topics), services, calls, _PARAMETERS[name])


NODES = {
    name: _read(name, entry)
    for name, entry in yaml.safe_load(read_text(Path(__file__).with_suffix(".yaml"), ScenarioError)).items()
}
"""Every node by its default name."""
