"""Write docs/ros-interface.md, and tables in docs/ros2-control.md and docs/simulation.md, from what programs read, too.

python docs/generate_interface.py            # writes the pages
python docs/generate_interface.py --check    # exit status 1 if a page is not what would be written
"""

from __future__ import annotations

import ast
import math
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from thunder_controllers.host import option_list
from thunder_controllers.ros.common import qos
from thunder_controllers.ros.common.declarations import Kind, Parameter, plugin_parameters
from thunder_controllers.ros.common.names import CONTROLLER
from thunder_controllers.ros.interfaces import NODES, NodeInterface, Service, Topic
from thunder_controllers.ros.simulation.faults import FAULTS
from thunder_controllers.ros.tools.launch_arguments import ROBOTS, read_arguments
from thunder_controllers.ros.tools.launcher import NEED_A_DISTRIBUTION
from thunder_dynamics import load_model
from thunder_dynamics.build import law_builders
from thunder_dynamics.entries import Entry
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Option, options_of

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "ros-interface.md"
PLUGIN_PAGE = ROOT / "docs" / "ros2-control.md"
SCENARIO_PAGE = ROOT / "docs" / "simulation.md"
EXAMPLE_ROBOT = ROOT / "config" / "robots" / "panda.yaml"

HEAD = """# Nodes, topics, services, parameters

This page is written by `python docs/generate_interface.py` from `thunder_controllers/ros/interfaces.yaml` and from the
`parameters.yaml` that each node declares its parameters from; do not edit it. Names are relative: a namespace moves
them all. `~` stands for the node's own name, a name in braces for the value of that parameter. SI units throughout.

A parameter that is *fixed* can be given when the node starts, by file or command line, and not changed afterwards.
The others can be changed with `ros2 param set` or rqt_reconfigure; their description says when that has an effect. A
value out of its bounds is refused, with the reason."""


def page() -> str:
    """Compose the whole page."""
    parts = [HEAD, _contents(), *map(_node_section, NODES.values()), _fault_section()]
    parts += [_gain_section(), _launch_section(), _qos_section()]
    return "\n\n".join(parts) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a Markdown table; bars in cells are escaped, and what would be read as HTML."""
    lines = [list(header), ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines)


def _escaped(cell: str) -> str:
    """Escape bars everywhere, and angle brackets outside of code."""
    return re.sub(r"(`[^`]*`)|<", lambda found: found[1] or r"\<", cell).replace("|", r"\|")


def _contents() -> str:
    links = [f"[{name}](#{name})" for name in NODES]
    others = ["Faults of the simulation", "Gains of the laws", "Launch arguments", "Quality of service"]
    links += [f"[{title}](#{title.lower().replace(' ', '-')})" for title in others]
    return " · ".join(links)


def _node_section(node: NodeInterface) -> str:
    started = f"Executable `{node.executable}` (`ros2 run thunder_controllers {node.executable}`)."
    parts = [f"## {node.name}", f"{node.description} {started}", _topics(node.topics)]
    if node.services:
        parts.append(_services(node.services))
    if node.calls:
        parts.append(_services(node.calls, "service of others"))
    parts.append(_parameters(node.parameters))
    if node.name == CONTROLLER:
        parts.append("On top of these come the [gains of its law](#gains-of-the-laws), as `gains.<name>`.")
    return "\n\n".join(parts)


def _fault_section() -> str:
    rows = [(f"`{name}`", text) for name, text in FAULTS.items()]
    return "\n\n".join(
        ["## Faults of the simulation", "Values of `fault.kind`.", table(("kind", "what it does"), rows)]
    )


def _topics(topics: Iterable[Topic]) -> str:
    rows = [(f"`{t.name}`", t.direction, f"`{t.type}`", t.qos, t.description) for t in topics]
    return table(("topic", "", "type", "QoS", "meaning"), rows)


def _services(services: Iterable[Service], whose: str = "service") -> str:
    return table((whose, "type", "what it does"), [(f"`{s.name}`", f"`{s.type}`", s.description) for s in services])


def _parameters(parameters: Iterable[Parameter]) -> str:
    rows = [(f"`{p.name}`", p.kind.value, _default(p), p.unit, _valid(p), _meaning(p)) for p in parameters]
    return table(("parameter", "type", "default", "unit", "valid", "meaning"), rows)


def _meaning(parameter: Parameter) -> str:
    return parameter.description + (" Fixed." if parameter.read_only else "")


def _default(parameter: Parameter) -> str:
    value = parameter.default
    if parameter.kind is Kind.BOOL:
        return str(value).lower()
    if isinstance(value, tuple):
        return _numbers(value) if parameter.kind is Kind.DOUBLES else f"[{', '.join(map(str, value))}]"
    if isinstance(value, str):
        return f"`{value}`" if value else "empty"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _valid(parameter: Parameter) -> str:
    parts = [", ".join(parameter.choices)] if parameter.choices else []
    if parameter.size is not None:
        parts.append(f"{parameter.size} values")
    if parameter.not_empty:
        parts.append("not empty")
    return ", ".join([*parts, *_bounds(parameter.lower, parameter.upper, parameter.positive)])


def _bounds(lower: float, upper: float, positive: bool = False) -> list[str]:
    bounds = [f"{'>' if positive else '≥'} {lower:g}"] if math.isfinite(lower) else []
    return bounds + ([f"≤ {upper:g}"] if math.isfinite(upper) else [])


def _numbers(values: Iterable[object]) -> str:
    return f"[{', '.join(f'{value:.4g}' for value in values)}]"


def _gain_section() -> str:
    robot = RobotExpressions(load_model(EXAMPLE_ROBOT))
    text = (
        "Every gain of the law is a parameter `gains.<name>` of the controller while it is configured, declared from "
        "the library's own metadata. It may be changed while the law runs; the effort then changes no faster than its "
        "limit. Sizes and defaults below are those of the Panda with its last link adapted; `ros2 param describe` says "
        "what holds for your robot."
    )
    parts = ["## Gains of the laws", text]
    for name, entry in sorted(law_builders().items()):
        if entry.module.startswith("thunder_controllers."):
            law = entry.load()(robot, {})
            options = [_option(option) for option in options_of(entry.load())]
            parts += [
                f"### {name}",
                _law_text(law),
                *([table(("option", "values", "meaning"), options)] if options else []),
                table(("gain", "size", "default", "unit", "bounds", "meaning"), map(_gain, law.gains)),
            ]
    return "\n\n".join(parts)


def _law_text(law: Law) -> str:
    reference = law.reference_kind.name.lower()
    return f"{law.description} Its reference is of the kind *{reference}*."


def _option(option: Option) -> tuple[str, ...]:
    return f"`{option.name}`", ", ".join(f"`{value}`" for value in option.choices) or "–", option.doc


def _gain(entry: Entry) -> tuple[str, ...]:
    bounds = _bounds(float(np.min(entry.lower)), float(np.max(entry.upper)))
    size = str(entry.size) if entry.size > 1 else "1"
    return (f"`gains.{entry.name}`", size, _gain_default(entry), entry.unit, ", ".join(bounds), entry.description)


def _gain_default(entry: Entry) -> str:
    values = entry.default.ravel()
    if np.ptp(values) == 0.0:
        return f"{values[0]:.4g}" + (" each" if entry.size > 1 else "")
    return _numbers(values)


def _launch_section() -> str:
    names = ", ".join(f"`{name}`" for name in NEED_A_DISTRIBUTION)
    text = (
        "`ros2 launch thunder_controllers <name>.launch.py ARGUMENT:=VALUE…`, or without a distribution `thunder ros "
        "<name> ARGUMENT:=VALUE…` for all but `generator`: one process, in which the library is built before its nodes "
        f"start; the arguments {names} keep their defaults there."
    )
    return "\n\n".join(["## Launch arguments", text, *map(_system_section, (*ROBOTS, "generator"))])


def _system_section(name: str) -> str:
    rows = [
        (f"`{a.name}`", f"`{a.default}`" if a.default else "empty", ", ".join(a.choices), a.description)
        for a in read_arguments(name).values()
    ]
    header = ("argument", "default", "choices", "meaning")
    text = ast.get_docstring(ast.parse((ROOT / "launch" / f"{name}.launch.py").read_text(encoding="utf-8"))) or ""
    return "\n\n".join([f"### {name}", text.partition("\n")[0], table(header, rows)])


def _qos_section() -> str:
    rows = [
        (
            name,
            profile.reliability.name.lower().replace("_", " "),
            profile.durability.name.lower().replace("_", " "),
            str(profile.depth),
        )
        for name, profile in qos.PROFILES.items()
    ]
    return "## Quality of service\n\n" + table(("profile", "reliability", "durability", "depth"), rows)


def option_table() -> str:
    """Tabulate the options of the host, as scenarios have them."""
    rows = []
    for option in option_list():
        default = {(): "", math.inf: "null"}.get(option.default, str(option.default).lower())
        rows.append((f"`{option.name}`", default, f"{option.text} [{option.unit}]" if option.unit else option.text))
    return table(("key", "default", "meaning"), rows)


def between_marks(page: Path, what: str, text: str) -> str:
    """Put a text between its marks in a page."""
    begin, end = f"<!-- {what}, by docs/generate_interface.py -->", f"<!-- end of {what} -->"
    head, _, rest = page.read_text(encoding="utf-8").partition(begin)
    return "\n\n".join([head + begin, text, end + rest.partition(end)[2]])


def pages() -> dict[Path, str]:
    """What each page says."""
    return {
        PAGE: page(),
        PLUGIN_PAGE: between_marks(PLUGIN_PAGE, "parameters", _parameters(plugin_parameters())),
        SCENARIO_PAGE: between_marks(SCENARIO_PAGE, "options", option_table()),
    }


def main() -> int:
    """Write the pages, or check them; the exit status."""
    if "--check" in sys.argv[1:]:
        return int(any(file.read_text(encoding="utf-8") != text for file, text in pages().items()))
    for file, text in pages().items():
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
