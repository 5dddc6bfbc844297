"""SROS 2 policies: what every node may publish, subscribe to, offer and ask for, and nothing else.

python -m thunder_controllers.ros.tools.policies                       # the Panda: config/security/policies.xml
python -m thunder_controllers.ros.tools.policies --namespace left --link ur5_link6 --function G

DDS permissions name topics as they are: a namespace, other adapted links, other topics need policies of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from xml.etree import ElementTree

import click

from thunder_controllers.host import estimate_topics
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.runtime import ENCLAVES
from thunder_controllers.ros.interfaces import NODES, NodeInterface

OPERATOR = "operator"
"""Enclave, and name, of a person's node: it sees all that is published, asks any node, and gives references."""

MANAGER = "controller_manager"
"""Enclave of the process in which the plugin runs; the manager's own topics and services are ros2_control's."""

PLUGIN_ACTIONS = ("follow_joint_trajectory",)
"""What the plugin offers beyond the node of its name."""

TF = ("/tf", "/tf_static")
"""What controllers listen to where tf2_ros is, for targets in other frames."""

PARAMETER_SERVICES = (
    "describe_parameters",
    "get_parameter_types",
    "get_parameters",
    "list_parameters",
    "set_parameters",
    "set_parameters_atomically",
)
IN_ONE_PROCESS = {
    "simulation": (names.CONTROLLER, names.SIMULATION),
    "ros": (names.CONTROLLER, names.SIMULATION, names.REFERENCE, names.MODEL, names.MONITOR),
}
"""Nodes of the enclaves that have several: of `simulation`, and of `thunder ros`."""

TYPE_SERVICE = "get_type_description"
LIFECYCLE_SERVICES = (
    "change_state",
    "get_available_states",
    "get_available_transitions",
    "get_state",
    "get_transition_graph",
)
EVERY_NODE_PUBLISHES = ("/parameter_events", "/rosout")
EVERY_NODE_SUBSCRIBES = ("/clock", "/parameter_events")


WAYS = (
    ("action", "call"),
    ("action", "execute"),
    ("service", "reply"),
    ("service", "request"),
    ("topic", "publish"),
    ("topic", "subscribe"),
)
"""Kinds of names, and what a node does with them: elements and attributes of a policy."""


@dataclass
class Profile:
    """What a node may do; names are absolute."""

    node: str
    publish: set[str] = field(default_factory=set)
    subscribe: set[str] = field(default_factory=set)
    reply: set[str] = field(default_factory=set)
    request: set[str] = field(default_factory=set)
    execute: set[str] = field(default_factory=set)
    call: set[str] = field(default_factory=set)


class _Resolver:
    """Replaces what stands for other names by their defaults."""

    def __init__(self, namespace: str, links: Sequence[str], functions: Sequence[str]) -> None:
        self._prefix = f"/{namespace.strip('/')}".rstrip("/")
        self._several = {"estimates/<link>": estimate_topics(links), "<function>": functions}

    def all(self, node: NodeInterface, patterns: Iterable[str], owner: str) -> set[str]:
        defaults = {parameter.name: str(parameter.default) for parameter in node.parameters}
        found: set[str] = set()
        for pattern in patterns:
            name = re.sub(r"{(.*?)}", lambda match: defaults[match[1]], pattern)
            name = re.sub(r"^~", owner, name)
            key = next((key for key in self._several if key in name), None)
            found |= {name.replace(key, value) for value in self._several[key]} if key else {name}
        return {name if name.startswith("/") else f"{self._prefix}/{name}" for name in found}

    def own(self, owner: str, services: Iterable[str]) -> set[str]:
        return {f"{self._prefix}/{owner}/{service}" for service in services}


def profiles(namespace: str, links: Sequence[str], functions: Sequence[str]) -> dict[str, tuple[Profile, ...]]:
    """Collect what may be done, by enclave and node.

    Args:
        namespace: Of all nodes; empty: none.
        links: Adapted links: the controller publishes an estimate of each.
        functions: That the model node publishes.
    """
    resolver = _Resolver(namespace, links, functions)
    found = {name: _profile(node, resolver) for name, node in NODES.items()}
    controller, plugin = found[names.CONTROLLER], _profile(NODES[names.CONTROLLER], resolver)
    plugin.subscribe -= resolver.all(NODES[names.CONTROLLER], ("{library_topic}",), names.CONTROLLER)
    plugin.execute |= resolver.own(names.CONTROLLER, PLUGIN_ACTIONS)
    operator = Profile(OPERATOR, set(EVERY_NODE_PUBLISHES), set(EVERY_NODE_SUBSCRIBES))
    operator.reply |= resolver.own(OPERATOR, (*PARAMETER_SERVICES, TYPE_SERVICE))
    operator.publish |= {topic for topic in controller.subscribe if f"/{names.CONTROLLER}/" in topic}
    operator.call |= plugin.execute
    for profile in found.values():
        operator.subscribe |= profile.publish
        operator.request |= profile.reply
    alone = {node.executable: (found[name],) for name, node in NODES.items()}
    together = {enclave: tuple(found[name] for name in nodes) for enclave, nodes in IN_ONE_PROCESS.items()}
    return alone | together | {MANAGER: (plugin,), OPERATOR: (operator,)}


def _profile(node: NodeInterface, resolver: _Resolver) -> Profile:
    owner = node.name
    ways = {way: [t.name for t in node.topics if t.direction == way] for way in ("publishes", "subscribes")}
    profile = Profile(owner, set(EVERY_NODE_PUBLISHES), set(EVERY_NODE_SUBSCRIBES))
    profile.publish |= resolver.all(node, ways["publishes"], owner)
    profile.subscribe |= resolver.all(node, ways["subscribes"], owner)
    profile.reply |= resolver.all(node, (service.name for service in node.services), owner)
    profile.request |= resolver.all(node, (service.name for service in node.calls), owner)
    profile.reply |= resolver.own(owner, (*PARAMETER_SERVICES, TYPE_SERVICE))
    if owner == names.CONTROLLER:
        profile.subscribe |= set(TF)
        profile.reply |= resolver.own(owner, LIFECYCLE_SERVICES)
        profile.publish |= resolver.own(owner, ("transition_event",))
    return profile


def policies(
    namespace: str = "", links: Sequence[str] = ("panda_link7",), functions: Sequence[str] = ("M", "C", "G")
) -> str:
    """Write an SROS 2 policy file, as `ros2 security generate_artifacts` reads it; see `profiles`."""
    root = ElementTree.Element("policy", version="0.2.0")
    enclaves = ElementTree.SubElement(root, "enclaves")
    for executable, nodes in sorted(profiles(namespace, links, functions).items()):
        enclave = ElementTree.SubElement(enclaves, "enclave", path=f"{ENCLAVES}/{executable}")
        where = ElementTree.SubElement(enclave, "profiles")
        for profile in nodes:
            element = ElementTree.SubElement(where, "profile", ns=f"/{namespace.strip('/')}", node=profile.node)
            _write(profile, element)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _write(profile: Profile, element: ElementTree.Element) -> None:
    for kind, way in WAYS:
        allowed: set[str] = getattr(profile, way)
        group = ElementTree.SubElement(element, f"{kind}s", {way: "ALLOW"}) if allowed else None
        for name in sorted(allowed):
            ElementTree.SubElement(group, kind).text = name  # type: ignore[arg-type]


@click.command()
@click.option("--namespace", default="", help="Of all nodes.")
@click.option("--link", "links", multiple=True, default=["panda_link7"], help="Adapted link; may be given again.")
@click.option("--function", "functions", multiple=True, default=["M", "C", "G"], help="Of the model node; the same.")
def main(namespace: str, links: tuple[str, ...], functions: tuple[str, ...]) -> None:
    """Write SROS 2 policies to standard output."""
    click.echo(policies(namespace, links, functions), nl=False)


if __name__ == "__main__":
    main()
