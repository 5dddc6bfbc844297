"""Declares ROS parameters from data, with bounds, unit and description, and refuses bad values with the reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy import Parameter as RosParameter
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
)
from rclpy.node import Node

from thunder_controllers.ros.common.declarations import Kind, Parameter, Value
from thunder_dynamics.errors import ThunderError

_EMPTY = {Kind.DOUBLES: RosParameter.Type.DOUBLE_ARRAY, Kind.STRINGS: RosParameter.Type.STRING_ARRAY}

_WHOLE = {Kind.DOUBLE: RosParameter.Type.INTEGER, Kind.DOUBLES: RosParameter.Type.INTEGER_ARRAY}
"""What files and command lines give for a real number that they write without a point."""


class ParameterError(ThunderError):
    """A parameter has a value that is not valid."""


class DeclaredParameters:
    """The parameters of a node that were declared from data.

    Make one per node; values are read with `parameters["rate"]`, arrays as tuples.

    Args:
        node: On which they are declared.
        on_change: Called with the values that are about to be set, all of them valid by themselves; it may act on them,
            or raise `ThunderError` to refuse them all. Not called for first values.
    """

    def __init__(self, node: Node, on_change: Callable[[Mapping[str, Value]], None] | None = None) -> None:
        self._node = node
        self._on_change = on_change
        self._table: dict[str, Parameter] = {}
        self._declaring = False
        node.add_pre_set_parameters_callback(lambda given: [self._as_declared(one) for one in given])
        node.add_on_set_parameters_callback(self._check)

    def declare(self, table: Iterable[Parameter]) -> None:
        """Declare parameters; values given to the node by file or command line replace the defaults.

        Raises:
            ParameterError: if such a value is not valid.
        """
        self._declaring = True
        try:
            for parameter in table:
                self._table[parameter.name] = parameter
                self._declare(parameter)
        finally:
            self._declaring = False

    def undeclare(self, table: Iterable[Parameter]) -> None:
        """Take parameters back; those that are not declared are passed over."""
        for parameter in table:
            if self._table.pop(parameter.name, None) is not None and self._node.has_parameter(parameter.name):
                self._node.undeclare_parameter(parameter.name)

    def __getitem__(self, name: str) -> Any:
        """Value of a declared parameter, arrays as tuples."""
        return python_value(self._node.get_parameter(name).value)

    def _declare(self, parameter: Parameter) -> None:
        # An empty list has no type in rclpy: such a parameter is declared by its type, and gets its value then. Without
        # one, an answer to whoever asks for it and for others would be empty altogether.
        default: Any = list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default
        first = _EMPTY[parameter.kind] if default == [] else default
        meant = self._given_as_declared(parameter)
        value = first if meant is None else meant.type_ if meant.value == [] else meant.value
        try:
            descriptor = descriptor_of(parameter)
            descriptor.read_only &= default != []
            given = meant is not None
            declared = self._node.declare_parameter(parameter.name, value, descriptor, ignore_override=given)
            if declared.type_ == RosParameter.Type.NOT_SET:
                self._node.set_parameters([RosParameter(parameter.name, _EMPTY[parameter.kind], [])])
            if descriptor.read_only != parameter.read_only:
                descriptor = descriptor_of(parameter)
                descriptor.type = first.value
                self._node.set_descriptor(parameter.name, descriptor)
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            self._table.pop(parameter.name)
            valid = f"a {parameter.kind.value}" if isinstance(error, InvalidParameterTypeException) else ""
            what = " ".join(str(error).split())
            raise ParameterError(what, where=f"parameter {parameter.name}", valid=valid) from None

    def _given_as_declared(self, parameter: Parameter) -> RosParameter | None:
        """The first value that the node was given, where `_as_declared` makes another of it."""
        given = self._node._parameter_overrides.get(parameter.name)  # no public name tells it before a declaration
        meant = given and self._as_declared(given)
        return None if meant is given else meant

    def _as_declared(self, given: RosParameter) -> RosParameter:
        """A value, or the real numbers that whole ones stand for, or the empty list that rclpy takes for bytes."""
        declared = self._table.get(given.name)
        if declared is None:
            return given
        if given.type_ is RosParameter.Type.BYTE_ARRAY and not given.value and declared.kind in _EMPTY:
            return RosParameter(given.name, _EMPTY[declared.kind], [])
        if given.type_ is not _WHOLE.get(declared.kind):
            return given
        value = float(given.value) if declared.kind is Kind.DOUBLE else [float(number) for number in given.value]
        return RosParameter(given.name, value=value)

    def _check(self, candidates: list[RosParameter]) -> SetParametersResult:
        known = {c.name: c for c in candidates if c.name in self._table}
        for name, candidate in known.items():
            reason = reason_against(self._table[name], candidate.value)
            if reason is not None:
                return SetParametersResult(successful=False, reason=reason)
        if known and self._on_change is not None and not self._declaring:
            try:
                self._on_change({name: python_value(c.value) for name, c in known.items()})
            except ThunderError as error:
                return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)


def descriptor_of(parameter: Parameter) -> ParameterDescriptor:
    """Describe a parameter as ROS does; a scalar with two finite bounds gets a range, which tools show as a slider."""
    descriptor = ParameterDescriptor(description=parameter.text, read_only=parameter.read_only)
    if math.isfinite(parameter.lower) and math.isfinite(parameter.upper):
        if parameter.kind is Kind.DOUBLE:
            reals = FloatingPointRange(from_value=float(parameter.lower), to_value=float(parameter.upper))
            descriptor.floating_point_range = [reals]
        elif parameter.kind is Kind.INTEGER:
            integers = IntegerRange(from_value=int(parameter.lower), to_value=int(parameter.upper), step=1)
            descriptor.integer_range = [integers]
    else:
        descriptor.additional_constraints = _bounds(parameter)
    return descriptor


def reason_against(parameter: Parameter, value: Any) -> str | None:
    """Say why a value of the right type is not valid, or None if it is."""
    if value is None:  # an array without a value, see DeclaredParameters._declare
        return None
    if parameter.choices and value not in parameter.choices:
        return _reason(parameter, f"'{value}'", ", ".join(parameter.choices))
    if parameter.not_empty and not value:
        return _reason(parameter, "empty", "a name")
    if parameter.size is not None and len(value) != parameter.size:
        return _reason(parameter, f"{len(value)} values", str(parameter.size))
    if parameter.kind in (Kind.DOUBLE, Kind.DOUBLES, Kind.INTEGER):
        for number in value if parameter.kind is Kind.DOUBLES else (value,):
            above = number > parameter.lower if parameter.positive else number >= parameter.lower
            if not (above and number <= parameter.upper):  # NaN neither
                return _reason(parameter, f"{number:g}", _bounds(parameter) or "a number")
    return None


def python_value(value: Any) -> Any:
    """Turn a value as rclpy gives it into bool, int, float, str or a tuple."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return tuple(value)


def _bounds(parameter: Parameter) -> str:
    parts = []
    if math.isfinite(parameter.lower):
        parts.append(f"{'above' if parameter.positive else 'at least'} {parameter.lower:g}")
    if math.isfinite(parameter.upper):
        parts.append(f"at most {parameter.upper:g}")
    return ", ".join(parts)


def _reason(parameter: Parameter, what: str, valid: str) -> str:
    unit = f" [{parameter.unit}]" if parameter.unit else ""
    return f"{parameter.name}: {what}; valid: {valid}{unit}"
