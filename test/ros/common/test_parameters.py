"""Parameters declared from data, on a real node: descriptors, bounds, reasons."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
import rclpy
from rcl_interfaces.msg import ParameterType
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import Kind, Parameter
from thunder_controllers.ros.common.parameters import DeclaredParameters, ParameterError
from thunder_controllers.ros.interfaces import NODES, NodeInterface
from thunder_dynamics.errors import LawError

ROS_TYPES = {
    Kind.BOOL: ParameterType.PARAMETER_BOOL,
    Kind.INTEGER: ParameterType.PARAMETER_INTEGER,
    Kind.DOUBLE: ParameterType.PARAMETER_DOUBLE,
    Kind.STRING: ParameterType.PARAMETER_STRING,
    Kind.DOUBLES: ParameterType.PARAMETER_DOUBLE_ARRAY,
    Kind.STRINGS: ParameterType.PARAMETER_STRING_ARRAY,
}

TABLE = (
    Parameter("rate", Kind.DOUBLE, 10.0, "A rate.", unit="Hz", lower=0.0, upper=100.0, positive=True),
    Parameter("limit", Kind.DOUBLE, 1.0, "A limit.", unit="m", lower=0.0),
    Parameter("count", Kind.INTEGER, 3, "A count.", lower=1, upper=9),
    Parameter("mode", Kind.STRING, "slow", "A mode.", choices=("slow", "fast")),
    Parameter("gains", Kind.DOUBLES, (1.0, 2.0), "Gains.", unit="1/s", lower=0.0, upper=5.0, size=2),
    Parameter("names", Kind.STRINGS, (), "Names."),
    Parameter("frame", Kind.STRING, "world", "A frame.", not_empty=True),
    Parameter("fixed", Kind.BOOL, True, "Fixed.", read_only=True),
    Parameter("folders", Kind.STRINGS, (), "Folders, fixed.", read_only=True),
)


@pytest.fixture
def context(domain: int) -> Iterator[rclpy.Context]:
    context = rclpy.Context()
    rclpy.init(args=[], context=context, domain_id=domain)
    yield context
    rclpy.try_shutdown(context=context)


def make_node(context: rclpy.Context, **overrides: Any) -> Node:
    values = [RosParameter(name, value=value) for name, value in overrides.items()]
    return Node("parameters_under_test", context=context, parameter_overrides=values, use_global_arguments=False)


@pytest.fixture
def node(context: rclpy.Context) -> Iterator[Node]:
    node = make_node(context)
    yield node
    node.destroy_node()


def set_one(node: Node, name: str, value: Any) -> Any:
    return node.set_parameters([RosParameter(name, value=value)])[0]


def test_defaults_are_read_back_as_python_values(node: Node) -> None:
    parameters = DeclaredParameters(node)
    parameters.declare(TABLE)
    assert {p.name: parameters[p.name] for p in TABLE} == {p.name: p.default for p in TABLE}


def test_descriptors_carry_description_unit_range_and_read_only(node: Node) -> None:
    DeclaredParameters(node).declare(TABLE)
    rate = node.describe_parameter("rate")
    assert rate.description == "A rate. [Hz]" and not rate.read_only
    assert (rate.floating_point_range[0].from_value, rate.floating_point_range[0].to_value) == (0.0, 100.0)
    limit = node.describe_parameter("limit")
    assert not limit.floating_point_range and limit.additional_constraints == "at least 0"
    assert node.describe_parameter("mode").description == "A mode. (slow, fast)"
    assert node.describe_parameter("fixed").read_only


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("rate", 101.0, "out of range"),
        ("rate", 0.0, "rate: 0; valid: above 0, at most 100 [Hz]"),
        ("rate", float("nan"), "out of range"),
        ("limit", -1.0, "limit: -1; valid: at least 0 [m]"),
        ("limit", float("nan"), "limit: nan"),
        ("count", 10, "out of range"),
        ("mode", "medium", "mode: 'medium'; valid: slow, fast"),
        ("gains", [1.0], "gains: 1 values; valid: 2"),
        ("gains", [1.0, 6.0], "gains: 6; valid: at least 0, at most 5 [1/s]"),
        ("frame", "", "frame: empty; valid: a name"),
        ("fixed", False, "read-only"),
        ("count", 1.5, "Wrong parameter type"),
        ("rate", True, "Wrong parameter type"),
        ("gains", [1, 6], "gains: 6; valid: at least 0, at most 5 [1/s]"),
    ],
)
def test_a_bad_value_is_refused_with_the_reason(node: Node, name: str, value: Any, reason: str) -> None:
    parameters = DeclaredParameters(node)
    parameters.declare(TABLE)
    before = parameters[name]
    result = set_one(node, name, value)
    assert not result.successful and reason in result.reason
    assert parameters[name] == before


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"mode": "medium"}, "slow, fast"),
        ({"rate": "1"}, "a double"),
        ({"rate": True}, "a double"),
        ({"rate": 101}, "out of range"),
        ({"gains": [9.0, 1.0]}, "at most 5"),
    ],
)
def test_a_bad_first_value_is_refused_with_the_reason(
    context: rclpy.Context, overrides: dict[str, Any], reason: str
) -> None:
    node = make_node(context, **overrides)
    with pytest.raises(ParameterError, match=reason):
        DeclaredParameters(node).declare(TABLE)
    node.destroy_node()


def test_all_parameters_have_values_so_that_all_can_be_asked_for_at_once(node: Node) -> None:
    """An empty array too: one without a value makes rclpy answer with nothing for all, and rqt show no gains."""
    DeclaredParameters(node).declare(TABLE)
    values = node.get_parameters([parameter.name for parameter in TABLE])
    assert [value.name for value in values] == [parameter.name for parameter in TABLE]
    assert not set_one(node, "folders", ["a"]).successful


def test_an_empty_array_may_be_given_values(context: rclpy.Context) -> None:
    node = make_node(context, names=["a", "b"])
    parameters = DeclaredParameters(node)
    parameters.declare(TABLE)
    assert parameters["names"] == ("a", "b")
    node.destroy_node()


def test_an_empty_list_has_the_declared_type(context: rclpy.Context) -> None:
    """rclpy takes one for bytes."""
    node = make_node(context, names=[], folders=[])
    parameters = DeclaredParameters(node)
    parameters.declare(TABLE)
    assert parameters["names"] == () and parameters["folders"] == ()
    assert set_one(node, "names", ["a"]).successful and set_one(node, "names", []).successful
    assert parameters["names"] == () and node.get_parameter("names").type_ is RosParameter.Type.STRING_ARRAY
    assert set_one(node, "gains", []).reason == "gains: 0 values; valid: 2 [1/s]"
    node.destroy_node()


def test_whole_numbers_stand_for_real_ones(context: rclpy.Context) -> None:
    """`-p rate:=1` and `gains: [1, 2]` have no point; what is read and described is a double."""
    node, seen = make_node(context, rate=1, gains=[3, 4]), []
    parameters = DeclaredParameters(node, lambda values: seen.append(dict(values)))
    parameters.declare(TABLE)
    assert parameters["rate"] == 1.0 and parameters["gains"] == (3.0, 4.0)
    assert set_one(node, "rate", 2).successful and set_one(node, "gains", [1, 2]).successful
    assert node.set_parameters_atomically([RosParameter("limit", value=5)]).successful
    assert seen == [{"rate": 2.0}, {"gains": (1.0, 2.0)}, {"limit": 5.0}]
    for name, value in (("rate", 2.0), ("gains", (1.0, 2.0)), ("limit", 5.0)):
        assert parameters[name] == value and node.describe_parameter(name).type == node.get_parameter(name).type_.value
        assert node.get_parameter(name).type_ in (RosParameter.Type.DOUBLE, RosParameter.Type.DOUBLE_ARRAY)
    node.destroy_node()


def test_a_change_is_announced_once_and_can_be_refused(node: Node) -> None:
    seen = []

    def on_change(values: Any) -> None:
        seen.append(dict(values))
        if values.get("rate") == 13.0:
            raise LawError("an unlucky rate", where="rate", valid="another")

    parameters = DeclaredParameters(node, on_change)
    parameters.declare(TABLE)
    assert seen == []
    assert set_one(node, "rate", 12.0).successful
    result = set_one(node, "rate", 13.0)
    assert not result.successful and result.reason == "rate: an unlucky rate; valid: another"
    assert parameters["rate"] == 12.0 and seen == [{"rate": 12.0}, {"rate": 13.0}]


def test_undeclared_parameters_can_be_declared_again(node: Node) -> None:
    parameters = DeclaredParameters(node)
    parameters.declare(TABLE[:1])
    parameters.undeclare(TABLE)
    assert not node.has_parameter("rate")
    parameters.declare(TABLE[:1])
    assert parameters["rate"] == 10.0


@pytest.mark.parametrize("interface", NODES.values(), ids=lambda interface: interface.name)
def test_a_node_declares_every_parameter_with_type_default_and_bounds(node: Node, interface: NodeInterface) -> None:
    parameters = DeclaredParameters(node)
    parameters.declare(interface.parameters)
    for declared in interface.parameters:
        assert parameters[declared.name] == declared.default
        descriptor = node.describe_parameter(declared.name)
        assert (descriptor.type, descriptor.read_only) == (ROS_TYPES[declared.kind], declared.read_only)
        for value in (declared.lower - 1.0, declared.upper + 1.0):
            if declared.kind is Kind.DOUBLE and math.isfinite(value) and not declared.read_only:
                assert not set_one(node, declared.name, value).successful, declared.name


@pytest.mark.parametrize("name", NODES)
def test_every_parameter_of_every_node_has_a_description_and_numbers_a_unit(name: str) -> None:
    for parameter in NODES[name].parameters:
        assert parameter.description, parameter.name
        if parameter.kind in (Kind.DOUBLE, Kind.DOUBLES):
            assert parameter.unit, parameter.name


CHOOSES = {
    "library",
    "library_folders",
    "library_topic",
    "robot",
    "estimates_file",
    "saved_estimates_file",
    "file",
    "urdf",
}
"""Parameters that choose code to run or files to read and write."""


@pytest.mark.parametrize("name", NODES)
def test_what_chooses_code_or_files_is_fixed(name: str) -> None:
    """That a fixed parameter is refused over the network is shown above; the generator has no other ones."""
    fixed = {parameter.name for parameter in NODES[name].parameters if parameter.read_only}
    everything = {parameter.name for parameter in NODES[name].parameters}
    assert (everything if name == names.GENERATOR else CHOOSES & everything) <= fixed
