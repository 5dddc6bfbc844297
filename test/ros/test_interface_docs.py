"""The page of the interface is what the nodes' own declarations say."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from thunder_controllers.ros.interfaces import NODES


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
def test_every_type_that_is_named_exists(node: object) -> None:
    types = [t.type for t in (*node.topics, *node.services)]  # type: ignore[attr-defined]
    for name in {name for text in types for name in text.split(" or ")}:
        package, kind, message = name.split("/")
        if package != "control_msgs":  # not among the wheels
            assert hasattr(import_module(f"{package}.{kind}"), message), name


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
def test_every_parameter_in_a_topic_name_is_one_of_the_node(node: object) -> None:
    declared = {parameter.name for parameter in node.parameters}  # type: ignore[attr-defined]
    named = {name for topic in node.topics for name in re.findall(r"{(.*?)}", topic.name)}  # type: ignore[attr-defined]
    assert named <= declared
