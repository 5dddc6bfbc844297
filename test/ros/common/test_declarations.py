"""Files of parameters: what they say is read, what they cannot mean is refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from thunder_controllers.ros.common.declarations import Kind, Parameter, read_parameters
from thunder_dynamics.errors import ScenarioError

GOOD = """
first:
  rate: { type: double, default_value: 9.0, description: "A rate. [Hz]",
    validation: { bounds<>: [0.0, 99.0], "thunder_controllers::positive": null } }
  time: { type: double, default_value: 9.0, description: "A time. [s]",
    validation: { bounds<>: [0.1, 99.0], "thunder_controllers::number": null } }
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
        Parameter("time", Kind.DOUBLE, 9.0, "A time.", "s", lower=0.1, upper=99.0),
        Parameter("noise", Kind.DOUBLES, (0.0,), "Noise [around zero].", lower=0.0, upper=math.inf, read_only=True),
        Parameter("group.type", Kind.STRING, "a", "A type.", choices=("a", "b")),
        Parameter("group.names", Kind.STRINGS, (), "Names."),
    )
    limits = Parameter("limits", Kind.DOUBLES, (1.0, 2.0), "Limits.", "m, m/s", 0.0, 9.0, positive=True, size=2)
    assert read(tmp_path, GOOD, "second") == (limits,)


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ("{ type: double, default_value: 1.0, description: A., unit: m }", "p.unit: unknown key .*default_value"),
        ("{ type: double, default_value: 1.0 }", "p: missing key .description"),
        ("{ type: float, default_value: 1.0, description: A. }", "p.type"),
        ("{ type: double, default_value: 1, description: A. }", "default_value 1; valid: a double"),
        ("{ type: int, default_value: true, description: A. }", "default_value True; valid: a int"),
        ("{ type: double_array, default_value: 1.0, description: A. }", "default_value 1.0; valid: a double_array"),
        ("{ type: string, default_value: a, description: A., validation: { one_off<>: [[a]] } }", "one_off<> for a"),
        ("{ type: string, default_value: a, description: A., validation: { bounds<>: [0, 1] } }", "valid: one_of<>"),
    ],
)
def test_a_bad_declaration_is_refused_with_the_reason(tmp_path: Path, declared: str, reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        read(tmp_path, f"first: {{ p: {declared} }}")
