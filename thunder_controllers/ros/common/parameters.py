"""Declares ROS parameters from data, with bounds, unit and description, and refuses bad values with the reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy import Parameter as RosParameter
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)
from rclpy.node import Node

from thunder_controllers.ros.common.declarations import Kind, Parameter, Value
from thunder_dynamics.errors import ThunderError

if TYPE_CHECKING:  # the generator declares parameters where the host is not compiled yet: while the package is built
    from thunder_controllers.host import Entry

_TYPES = {
    Kind.BOOL: RosParameter.Type.BOOL,
    Kind.INTEGER: RosParameter.Type.INTEGER,
    Kind.DOUBLE: RosParameter.Type.DOUBLE,
    Kind.STRING: RosParameter.Type.STRING,
    Kind.DOUBLES: RosParameter.Type.DOUBLE_ARRAY,
    Kind.STRINGS: RosParameter.Type.STRING_ARRAY,
}


class ParameterError(ThunderError):
    """A parameter has a value that is not valid."""


Change = Callable[[Mapping[str, Value]], None]


class DeclaredParameters:
    """The parameters of a node that were declared from data.

    Make one per node; values are read with `parameters["rate"]`, arrays as tuples.

    Args:
        node: On which they are declared.
        on_change: Called with the values that are about to be set, all of them valid by themselves; it may act on them,
            or raise `ThunderError` to refuse them all. Not called for first values.
    """

    def __init__(self, node: Node, on_change: Change | None = None) -> None:
        self._node = node
        self._on_change = on_change
        self._table: dict[str, Parameter] = {}
        self._declaring = False
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
        try:
            return python_value(self._node.get_parameter(name).value)
        except ParameterUninitializedException:  # declared with an empty array, see _declare
            return ()

    def _declare(self, parameter: Parameter) -> None:
        # An empty list has no type in rclpy: such a parameter is declared by its type, without a value.
        default = _ros_value(parameter.default)
        first = _TYPES[parameter.kind] if default == [] else default
        try:
            self._node.declare_parameter(parameter.name, first, descriptor_of(parameter))
        except InvalidParameterTypeException as error:
            self._table.pop(parameter.name)
            raise ParameterError(
                " ".join(str(error).split()), where=f"parameter {parameter.name}", valid=f"a {parameter.kind.value}"
            ) from None
        except InvalidParameterValueException as error:
            self._table.pop(parameter.name)
            raise ParameterError(" ".join(str(error).split()), where=f"parameter {parameter.name}") from None

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
            bounds = FloatingPointRange(from_value=float(parameter.lower), to_value=float(parameter.upper))
            descriptor.floating_point_range = [bounds]
        elif parameter.kind is Kind.INTEGER:
            descriptor.integer_range = [
                IntegerRange(from_value=int(parameter.lower), to_value=int(parameter.upper), step=1)
            ]
    elif parameter.kind in (Kind.DOUBLE, Kind.INTEGER, Kind.DOUBLES) and _bounds(parameter):
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
            if not _is_inside(parameter, number):
                return _reason(parameter, f"{number:g}", _bounds(parameter) or "a number")
    return None


def python_value(value: Any) -> Any:
    """Turn a value as rclpy gives it into bool, int, float, str or a tuple."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return tuple(value)


def gain_parameter(prefix: str, entry: Entry) -> Parameter:
    """Describe a gain of a law as a parameter; an array's elements may have narrower bounds than the widest ones."""
    scalar = entry.size == 1
    values = tuple(float(v) for v in entry.defaults.ravel(order="F"))
    return Parameter(
        prefix + entry.name,
        Kind.DOUBLE if scalar else Kind.DOUBLES,
        values[0] if scalar else values,
        entry.description,
        unit=entry.unit,
        lower=float(entry.lower.min()),
        upper=float(entry.upper.max()),
        size=None if scalar else entry.size,
    )


def _ros_value(value: Value) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _is_inside(parameter: Parameter, number: float) -> bool:
    above = number > parameter.lower if parameter.positive else number >= parameter.lower
    return above and number <= parameter.upper and not math.isnan(number)


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
