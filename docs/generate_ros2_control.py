"""Write the table of parameters in docs/ros2-control.md from the file that the plugin's declaration is made of.

python docs/generate_ros2_control.py            # writes the page
python docs/generate_ros2_control.py --check    # exit status 1 if the page is not what would be written
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "ros2-control.md"
SOURCE = ROOT / "thunder_controllers" / "ros2_control" / "plugin" / "parameters.yaml"

BEGIN, END = "<!-- parameters, by docs/generate_ros2_control.py -->", "<!-- end of parameters -->"


def parameters(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield name and description of every parameter of a file of generate_parameter_library."""
    for name, value in table.items():
        if "type" in value:
            yield prefix + name, value
        else:
            yield from parameters(value, f"{prefix}{name}.")


def page(text: str) -> str:
    """Put the table between its marks in the text of the page."""
    (declared,) = yaml.safe_load(SOURCE.read_text(encoding="utf-8")).values()
    lines = ["| parameter | type | default | unit | valid | meaning |", "| --- | --- | --- | --- | --- | --- |"]
    lines += [_row(name, value) for name, value in parameters(declared)]
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return "\n".join([head + BEGIN, "", *lines, "", END + tail])


def _row(name: str, value: Mapping[str, Any]) -> str:
    meaning, unit = value["description"], ""
    found = re.fullmatch(r"(.*) \[([^]]*)\]", meaning)
    if found:
        meaning, unit = found.groups()
    if value.get("read_only"):
        meaning += " Fixed."
    meaning = meaning.replace("<", r"\<")  # it would be read as HTML
    cells = [f"`{name}`", value["type"], _default(value["default_value"]), unit, _valid(value), meaning]
    return "| " + " | ".join(cells) + " |"


def _default(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"`{value}`" if value else "empty"
    if isinstance(value, list):
        return f"[{', '.join(f'{v:g}' for v in value)}]"
    return f"{value:g}"


def _valid(value: Mapping[str, Any]) -> str:
    rules = value.get("validation", {})
    parts = []
    if "fixed_size<>" in rules:
        parts.append(f"{rules['fixed_size<>'][0]} values")
    lower, upper = rules.get("bounds<>", (0.0, None))
    if lower > 0.0:
        parts.append(f"≥ {lower:g}")
    elif "thunder_controllers::positive" in rules:
        parts.append("> 0")
    if upper is not None:
        parts.append(f"≤ {upper:g}")
    if "not_empty<>" in rules:
        parts.append("not empty")
    return ", ".join(parts)


def main() -> int:
    """Write the page, or check it."""
    before = PAGE.read_text(encoding="utf-8")
    after = page(before)
    if "--check" in sys.argv[1:]:
        return int(before != after)
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
