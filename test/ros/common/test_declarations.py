"""Files of parameters: what they say is read, what they cannot mean is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from thunder_controllers.ros.common.declarations import DeclarationError, Kind, Parameter, read_parameters

GOOD = """
first:
  rate: { type: double, default_value: 9.0, validation: { gt<>: [0.0], lt_eq<>: [99.0] }, description: "A rate. [Hz]" }
  noise: { type: double_array, default_value: [0.0], read_only: true, validation: { lower_element_bounds<>: [0.0] },
    description: "Noise [around zero]." }
  group:
    type: { type: string, default_value: a, validation: { one_of<>: [[a, b]] }, description: "A type." }
    names: { type: string_array, default_value: [], description: "Names." }
second:
  limits: { type: double_array, default_value: [1.0, 2.0], description: "Limits. [m, m/s]",
    validation: { fixed_size<>: [2], "thunder_controllers::positive": null, upper_element_bounds<>: [9.0] } }
"""


def read(folder: Path, text: str, root: str = "first") -> tuple[Parameter, ...]:
    (folder / "parameters.yaml").write_text(text)
    return read_parameters(folder / "parameters.yaml", root)


def test_a_table_is_read_with_groups_units_and_bounds(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD) == (
        Parameter("rate", Kind.DOUBLE, 9.0, "A rate.", "Hz", lower=0.0, upper=99.0, positive=True),
        Parameter("noise", Kind.DOUBLES, (0.0,), "Noise [around zero].", lower=0.0, upper=math.inf, read_only=True),
        Parameter("group.type", Kind.STRING, "a", "A type.", choices=("a", "b")),
        Parameter("group.names", Kind.STRINGS, (), "Names."),
    )
    limits = Parameter("limits", Kind.DOUBLES, (1.0, 2.0), "Limits.", "m, m/s", 0.0, 9.0, positive=True, size=2)
    assert read(tmp_path, GOOD, "second") == (limits,)


@pytest.mark.parametrize("text", ["", "[]", "other: {}", "first: []"])
def test_a_file_without_the_table_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DeclarationError, match="no table 'first'"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ("3", "p: no mapping; valid: a declaration"),
        ("{ type: double, default_value: 1.0, description: A., unit: m }", "unknown key unit; valid: default_value"),
        ("{ type: double, description: A. }", "default_value is missing"),
        ("{ type: double, default_value: 1.0 }", "description is missing"),
        ("{ type: float, default_value: 1.0, description: A. }", "unknown type float; valid: bool, int"),
        ("{ type: double, default_value: 1, description: A. }", "default_value 1; valid: a double"),
        ("{ type: int, default_value: true, description: A. }", "default_value True; valid: a int"),
        ("{ type: double_array, default_value: 1.0, description: A. }", "default_value 1.0; valid: a double_array"),
        ("{ type: string, default_value: [a], description: A. }", "valid: a string"),
        ("{ type: string, default_value: a, description: A., validation: { one_off<>: [[a]] } }", "one_off<> for a"),
        ("{ type: string, default_value: a, description: A., validation: { bounds<>: [0, 1] } }", "valid: one_of<>"),
        ("{ type: int, default_value: 1, description: A., validation: { bounds<>: [0] } }", "the arguments of that"),
    ],
)
def test_a_bad_declaration_is_refused_with_the_reason(tmp_path: Path, declared: str, reason: str) -> None:
    with pytest.raises(DeclarationError, match=reason):
        read(tmp_path, f"first: {{ p: {declared} }}")
