"""Write what pages say of what programs read: each part stands between its marks on a page.

python docs/generate.py            # writes the pages
python docs/generate.py --check    # exit status 1 if a page is not what would be written
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import click
import numpy as np
from pydantic.fields import FieldInfo

from thunder_controllers.doctor.command import CHECKS
from thunder_controllers.experiments.study import load_study
from thunder_controllers.host import option_list
from thunder_controllers.references.trajectories import Stated
from thunder_controllers.ros.common import qos
from thunder_controllers.ros.common.declarations import Kind, Parameter, plugin_parameters
from thunder_controllers.ros.common.names import CONTROLLER
from thunder_controllers.ros.interfaces import NODES, NodeInterface, Service
from thunder_controllers.ros.simulation.faults import FAULTS
from thunder_controllers.ros.tools.launch_arguments import ROBOTS, read_arguments
from thunder_controllers.simulation.reference_options import KINDS
from thunder_dynamics import load_model
from thunder_dynamics.build import law_builders
from thunder_dynamics.entries import Entry
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Option, options_of
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers.command_options import READING

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
EXAMPLES = ("panda", "sea2")
"""Each function is counted on the first of these that has it; the rigid joints of the second have rotors here."""

FEATHERSTONE, CRAIG = "Featherstone 2008", "Craig 2005"
SLOTINE, ECHEANDIA = "Slotine & Li 1987", "Echeandia & Wensing 2021"
GAROFALO = "Garofalo, Ott & Albu-Schäffer 2013"
AD = "automatic differentiation"

ABOUT = {
    "T_0_i": ("1, m", f"{CRAIG}, ch. 3"),
    "T_i": ("1, m", f"{CRAIG}, ch. 3"),
    "T_0_ee": ("1, m", f"{CRAIG}, ch. 3"),
    "J_i": ("m, 1", f"{CRAIG}, ch. 5"),
    "J_cm_i": ("m, 1", f"{CRAIG}, ch. 5"),
    "J_ee": ("m, 1", f"{CRAIG}, ch. 5"),
    "J_ee_dot": ("m/s, 1/s", "derivative of the columns by hand"),
    "J_i_dot": ("m/s, 1/s", "derivative of the columns by hand"),
    "J_ee_wrt_q": ("m, 1", "cross products of the columns"),
    "J_ee_ddot": ("m/s², 1/s²", AD),
    "J_ee_pinv": ("1/m, 1", "Nakamura & Hanafusa 1986"),
    "M": ("kg·m²", f"{FEATHERSTONE}, ch. 6, composite bodies"),
    "M_dot": ("kg·m²/s", AD),
    "M_ddot": ("kg·m²/s²", AD),
    "M_inv": ("1/(kg·m²)", f"{FEATHERSTONE}, ch. 7, per unit torque"),
    "C": ("N·m·s", f"{ECHEANDIA}, alg. 1"),
    "C_dot": ("N·m", f"product rule, after {GAROFALO}"),
    "C_ddot": ("N·m/s", AD),
    "G": ("N·m", f"{FEATHERSTONE}, ch. 6, composite bodies"),
    "G_dot": ("N·m/s", f"product rule, after {GAROFALO}"),
    "G_ddot": ("N·m/s²", AD),
    "inverse_dynamics": ("N·m", f"{FEATHERSTONE}, ch. 5"),
    "forward_dynamics": ("rad/s²", f"{FEATHERSTONE}, ch. 7"),
    "momentum": ("N·m·s", f"{FEATHERSTONE}, ch. 5, with dq for ddq"),
    "kinetic_energy": ("J", "by its regressor"),
    "potential_energy": ("J", "by its regressor"),
    "com": ("m", "composite bodies"),
    "J_com": ("m", "momentum of the moved subtree"),
    "J_com_dot": ("m/s", AD),
    "M_wrt_q": ("kg·m²", f"{ECHEANDIA}, alg. 2"),
    "C_wrt_q": ("N·m·s", AD),
    "C_wrt_dq": ("kg·m²", f"{ECHEANDIA}, alg. 2"),
    "G_wrt_q": ("N·m", AD),
    "inverse_dynamics_wrt_q": ("N·m", AD),
    "inverse_dynamics_wrt_dq": ("N·m·s", "C is linear in dq, and symmetric"),
    "forward_dynamics_wrt_q": ("1/s²", "−M⁻¹·∂τ/∂q [Carpentier & Mansard 2018]"),
    "forward_dynamics_wrt_dq": ("1/s", "−M⁻¹·∂τ/∂dq [Carpentier & Mansard 2018]"),
    "Yr": ("N·m per π", SLOTINE),
    "Y": ("N·m per π", SLOTINE),
    "reg_M": ("N·m per π", SLOTINE),
    "reg_C": ("N·m per π", SLOTINE),
    "reg_G": ("N·m per π", SLOTINE),
    "Yr_symb": ("N·m per π", SLOTINE),
    "Yr_known": ("N·m", f"{FEATHERSTONE}, ch. 5"),
    "Y_symb": ("N·m per π", SLOTINE),
    "Y_known": ("N·m", f"{FEATHERSTONE}, ch. 5"),
    "reg_momentum": ("N·m·s per π", SLOTINE),
    "reg_kinetic_energy": ("J per π", "Gautier & Khalil 1988"),
    "reg_potential_energy": ("J per π", "Gautier & Khalil 1988"),
    "Yr_pi": ("N·m", f"{FEATHERSTONE}, ch. 5"),
    "Y_pi": ("N·m", f"{FEATHERSTONE}, ch. 5"),
    "reg_momentum_pi": ("N·m·s", f"{FEATHERSTONE}, ch. 5"),
    "YrT_s": ("N·m per π", "the row of a link's twist at s"),
    "YT_s": ("N·m per π", "the row of a link's twist at s"),
    "reg_momentumT_s": ("N·m·s per π", "the row of a link's twist at s"),
    "Yr_packed": ("N·m per π", SLOTINE),
    "Yr_places": ("1", "structure of Yr"),
    "Y_packed": ("N·m per π", SLOTINE),
    "Y_places": ("1", "structure of Y"),
    "Yb_packed": ("N·m per π_b", "Gautier 1991"),
    "Yb_places": ("1", "structure of Yb"),
    "Yb": ("N·m per π_b", "Gautier 1991"),
    "Kb": ("SI", "Gautier 1991"),
    "pi_b": ("SI", "Gautier 1991"),
    "reg_Jdq": ("1/s, rad/s per 1", "Cheah, Liu & Slotine 2006"),
    "reg_JTw": ("N, N·m per 1", "Cheah, Liu & Slotine 2006"),
    "dl": ("N·m", "polynomial, Coulomb smoothed by tanh"),
    "reg_dl": ("rad/s, …", "polynomial"),
    "Dli": ("N·m·s/rad, …", "of the robot file"),
    "Ki": ("N·m/rad, …", "of the robot file"),
    "Di": ("N·m·s/rad, …", "of the robot file"),
    "Dmi": ("N·m·s/rad, …", "of the robot file"),
    "k": ("N·m", "Spong 1987, odd powers"),
    "d": ("N·m", "Spong 1987, powers"),
    "dm": ("N·m", "Spong 1987, powers"),
    "Mm": ("kg·m²", "Spong 1987"),
    "M_rigid": ("kg·m²", "Spong 1987, K → ∞"),
    "reg_k": ("rad, …", "polynomial"),
    "reg_d": ("rad/s, …", "polynomial"),
    "reg_dm": ("rad/s, …", "polynomial"),
    "reg_Mm": ("rad/s²", "Spong 1987"),
    "reg_Ia": ("rad/s²", "diagonal"),
    "par_REG": ("kg, kg·m, kg·m²", "of the robot file"),
    "par_REG_from_DYN": ("SI", "parallel axes"),
    "par_DYN_from_REG": ("SI", "parallel axes"),
    "pi_from_DYN": ("SI", "parallel axes"),
}
"""Unit for revolute joints, and source, of every function."""


USERS = (
    "a name of the entry points `thunder.references`",
    "those of its class",
    "[a reference of your own](../your-law.md#schemes-loops-functions-references)",
)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a Markdown table; bars in cells are escaped, and what would be read as HTML."""
    lines = [list(header), ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_escaped(cell) for cell in line) + " |" for line in lines)


def _escaped(cell: str) -> str:
    """Escape bars everywhere, and angle brackets outside of code."""
    return re.sub(r"(`[^`]*`)|<", lambda found: found[1] or r"\<", cell).replace("|", r"\|")


def nodes() -> str:
    """Each node with its topics, services and parameters."""
    return "\n\n".join(map(_node, NODES.values()))


def _node(node: NodeInterface) -> str:
    started = f"Executable `{node.executable}` (`ros2 run thunder_controllers {node.executable}`)."
    topics = [(f"`{t.name}`", t.direction, f"`{t.type}`", t.qos, t.description) for t in node.topics]
    parts = [f"## {node.name}", f"{node.description} {started}"]
    parts.append(table(("topic", "", "type", "QoS", "meaning"), topics))
    parts += [
        _services(whose, own) for whose, own in (("service", node.services), ("service of others", node.calls)) if own
    ]
    parts.append(_parameters(node.parameters))
    if node.name == CONTROLLER:
        parts.append("On top of these come the [gains of its law](laws.md#gains-of-the-laws), as `gains.<name>`.")
    return "\n\n".join(parts)


def _services(whose: str, services: Iterable[Service]) -> str:
    return table((whose, "type", "what it does"), [(f"`{s.name}`", f"`{s.type}`", s.description) for s in services])


def _parameters(parameters: Iterable[Parameter]) -> str:
    rows = [
        (
            f"`{p.name}`",
            p.kind.value,
            _default(p),
            p.unit,
            _valid(p),
            p.description + (" Fixed." if p.read_only else ""),
        )
        for p in parameters
    ]
    return table(("parameter", "type", "default", "unit", "valid", "meaning"), rows)


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


def gains() -> str:
    """Options and gains of each law, for the Panda with its last link adapted."""
    robot, parts = RobotExpressions(_robot("panda")), []
    for name, entry in sorted(law_builders().items()):
        if entry.module.startswith("thunder_controllers."):
            law = entry.load()(robot, {})
            reference = law.reference_kind.name.lower()
            parts += [f"### {name}", f"{law.description} Its reference is of the kind *{reference}*."]
            if options := options_of(entry.load()):
                parts.append(table(("option", "values", "meaning"), map(_option, options)))
            parts.append(table(("gain", "size", "default", "unit", "bounds", "meaning"), map(_gain, law.gains)))
    return "\n\n".join(parts)


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


def reading() -> str:
    """Return the options of robot files under the names that each door has for them."""
    rows = [
        (
            f"`{o.name}`",
            f"`{o.flag}{'' if o.metavar is None else f' {o.metavar}'}`",
            f"`{o.ros_name}`",
            o.of,
            f"{o.text.removeprefix('URDF: ').capitalize() if o.of == 'URDF' else o.text}"
            + (f" [{o.unit}]" * bool(o.unit)),
        )
        for o in READING
    ]
    return table(("Python, scenario", "command", "launch, node", "readers", "meaning"), rows)


def launch_arguments() -> str:
    """The arguments of each launch file."""
    return "\n\n".join(map(_system, (*ROBOTS, "generator")))


def _system(name: str) -> str:
    rows = [
        (f"`{a.name}`", f"`{a.default}`" if a.default else "empty", ", ".join(a.choices), a.description)
        for a in read_arguments(name).values()
    ]
    text = ast.get_docstring(ast.parse((ROOT / "launch" / f"{name}.launch.py").read_text(encoding="utf-8"))) or ""
    return "\n\n".join(
        [f"### {name}", text.partition("\n")[0], table(("argument", "default", "choices", "meaning"), rows)]
    )


def qualities() -> str:
    """Profiles of quality of service."""
    rows = [
        (name, *(policy.name.lower().replace("_", " ") for policy in (one.reliability, one.durability)), str(one.depth))
        for name, one in qos.PROFILES.items()
    ]
    return table(("profile", "reliability", "durability", "depth"), rows)


def host_options() -> str:
    """Options of the host, as scenarios have them."""
    rows = []
    for option in option_list():
        default = {(): "", math.inf: "null"}.get(option.default, str(option.default).lower())
        rows.append((f"`{option.name}`", default, f"{option.text} [{option.unit}]" if option.unit else option.text))
    return table(("key", "default", "meaning"), rows)


def _robot(name: str) -> RobotModel:
    return load_model(ROOT / f"config/robots/{name}.yaml")


def functions() -> str:
    """One table of what every library has, one of what is compiled on request."""
    found: dict[str, tuple[RobotExpressions, str]] = {}
    models = list(map(_robot, EXAMPLES))
    rigid = (link.joint.name for link in models[1].links if not link.joint.elastic)
    models[1] = models[1].with_rotor_inertias(dict.fromkeys(rigid, 0.1))
    for robot in map(RobotExpressions, models):
        for name in (*robot.functions, *robot.functions_on_request):
            key = re.sub(r"^(Dl|Dm|D|K)\d+$", r"\1i", re.sub(r"^(T_0|J_cm|T|J)_\d+(_dot)?$", r"\1_i\2", name))
            if found.get(key, (robot, ""))[0] is robot:  # of T_0_i, J_i and so on, the last
                found[key] = (robot, name)
    parts = []
    for title, on_request in (("In every library", False), ("On request", True)):
        rows = [_function(key, *it) for key, it in found.items() if it[0].spec(it[1]).on_request is on_request]
        header = ("`get_…`", "of", "what it is", "shape", "unit", "source", "operations")
        parts += [f"### {title}", table(header, rows)]
    return "\n\n".join(parts)


def _function(key: str, robot: RobotExpressions, name: str) -> tuple[str, ...]:
    spec, function, (unit, source) = robot.spec(name), robot.function(name), ABOUT[key]
    shape = "×".join(map(str, function.size_out(0) if spec.is_matrix else function.size_out(0)[:1]))
    shape += "" if robot.model.name == EXAMPLES[0] else f" ({robot.model.name})"
    operations = f"{robot.operations(name):,}"
    return f"`{key}`", " ".join(spec.arguments), spec.description, shape, unit, source, operations


def references() -> str:
    """Types of references, and the keys of each."""
    rows = [*(_reference(*each) for each in KINDS.items()), USERS]
    return table(("type", "keys", "what it is"), rows)


def _reference(name: str, kind: type[Stated]) -> tuple[str, ...]:
    own = [(key, field) for key, field in kind.model_fields.items() if key not in Stated.model_fields]
    keys = [_key(*each) for each in sorted(own, key=lambda each: not each[1].is_required())]
    (what, *_) = (kind.__doc__ or "").split("\n\n")
    return f"`{name}`", ", ".join(keys), " ".join(what.split())


def _key(name: str, field: FieldInfo) -> str:
    default = "" if field.is_required() or field.default is None else f": {_text(field.default)}"
    return f"`{name}{default}` {field.description or ''}".rstrip()


def _text(value: object) -> str:
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def checks() -> str:
    """Checks of `thunder doctor`."""
    rows = [(f"`{c.name}`", c.looks_at, c.valid, _else(c.is_warning, c.is_real_time), c.mend) for c in CHECKS]
    return table(("check", "looks at", "valid", "else", "mend"), rows)


def _else(is_warning: bool, is_real_time: bool) -> str:
    return "warn" if is_warning else "fail; simulated: warn" if is_real_time else "fail"


def studies() -> str:
    """Experiments that come with the package, and where their results are."""
    rows = [(f"[`{name}`]({page})", _described(study)) for name, (page, study) in STUDIES.items()]
    return table(("experiment", "what it shows"), rows)


def _described(file: Path) -> str:
    return load_study(file).description


def set_up(file: Path) -> str:
    """What a study says of itself: what it shows, then what is published, left open and chosen."""
    study = load_study(file)
    return f"{study.description}\n\n{study.setup}".strip()


STUDIES = {
    file.stem: (f"results/{file.stem.replace('_', '-')}.md", file)
    for file in sorted((ROOT / "thunder_studies").glob("*.yaml"))
}
"""By name: the page of its results below docs, and its file."""

PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "compare.md": {"studies": studies},
    "reference/doctor.md": {"checks": checks},
    "reference/functions.md": {"functions": functions},
    "reference/laws.md": {"gains": gains},
    "reference/ros-interface.md": {
        "nodes": nodes,
        "parameters": lambda: _parameters(plugin_parameters()),
        "faults": lambda: table(("kind", "what it does"), [(f"`{name}`", text) for name, text in FAULTS.items()]),
        "launch arguments": launch_arguments,
        "quality of service": qualities,
    },
    "reference/robot-file.md": {"options": reading},
    "reference/scenario.md": {"references": references, "options": host_options},
    **{page: {"set-up": partial(set_up, file)} for page, file in STUDIES.values()},
}
"""What makes each part of a page."""


def written(page: str) -> str:
    """A page with its parts made anew."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for name, make in PARTS[page].items():
        begin, end = f"<!-- {name}, by docs/generate.py -->", f"<!-- end of {name} -->"
        head, _, rest = text.partition(begin)
        text = "\n\n".join([head + begin, make(), end + rest.partition(end)[2]])
    return text


@click.command()
@click.option("--check", is_flag=True, help="Exit with 1 if a page is not what would be written.")
def main(check: bool) -> None:
    """Write the pages."""
    pages = {DOCS / page: written(page) for page in PARTS}
    if not check:
        for file, text in pages.items():
            file.write_text(text, encoding="utf-8")
    elif stale := [file.name for file, text in pages.items() if text != file.read_text(encoding="utf-8")]:
        raise click.ClickException(f"not what docs/generate.py writes: {', '.join(stale)}; run it without --check")


if __name__ == "__main__":
    main()
