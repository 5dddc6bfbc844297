"""Robot descriptions with the bodies and drives that were identified, standard deviations beside each number.

Bodies go into a copy of the description, deviations as comments; drives into the file that readers take beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from lxml import etree

from thunder_controllers.fields import FloatArray
from thunder_controllers.identification.robot_fit import ROTOR_TOLD, TERMS, RobotFit
from thunder_dynamics.errors import LawError
from thunder_dynamics.inertia import DYN_NAMES, REG_NAMES, Inertia
from thunder_dynamics.locking import Assembly
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model
from thunder_dynamics.readers.source import DRIVES
from thunder_dynamics.readers.urdf import urdf_text
from thunder_dynamics.readers.urdf_elements import inertial_element, parse_xml
from thunder_dynamics.storage.door import read_text
from thunder_dynamics.storage.whole import write_text

YAML, URDF, MJCF = (".yaml", ".yml"), ".urdf", ".xml"

SAME = 1e-6
"""Relative difference of inertial parameters between those that are written and those that are read again."""

INERTIAL = re.compile(r"\binertial:\s*\{(?P<entries>[^{}]*)\}")
DYNAMICS = re.compile(r"^dynamics:.*?(?=^[^\s#]|\Z)", re.MULTILINE | re.DOTALL)
MASK = re.compile(r"\bsymb:\s*\[[^\]]*\]")

MUJOCO = {"viscous": "damping", "coulomb": "frictionloss", "rotor": "armature"}
"""Attributes of a joint of MuJoCo by quantities of a drive."""


@dataclass(frozen=True)
class Found:
    """Numbers and their standard deviations.

    Attributes:
        bodies: Of links by name: π of the body and its deviations, (10,) each, in the order of `REG_NAMES`.
        drives: Of joints by name: quantities of `Drive` and their deviations.
    """

    bodies: Mapping[str, tuple[FloatArray, FloatArray]]
    drives: Mapping[str, Mapping[str, tuple[float, float]]]

    def comment(self, link: str) -> str:
        """Deviations of a link's parameters."""
        pairs = zip(REG_NAMES, self.bodies[link][1], strict=True)
        stds = ", ".join(f"{name} {std:.2g}" for name, std in pairs)
        return f"standard deviations, inertia about the link's origin: {stds}"


def found_by(fit: RobotFit, links: Sequence[str], joints: Sequence[str]) -> Found:
    """Collect what a fit found of links and joints with these names; of rotors, those that the motion tells."""
    bodies = zip(fit.links, fit.bodies, fit.bodies_std, strict=True)
    drives = {
        joint: {
            term: (float(value), float(std))
            for term, value, std in zip(TERMS, values, stds, strict=False)
            if term != "rotor" or std <= ROTOR_TOLD * value
        }
        for joint, values, stds in zip(joints, fit.joints, fit.joints_std, strict=True)
    }
    return Found({links[place]: (pi, std) for place, pi, std in bodies}, drives)


def write_description(path: Path, model: RobotModel, found: Found, reading: Mapping[str, Any]) -> tuple[Path, ...]:
    """Write the description of a robot with other bodies, and a file of its drives beside it.

    A YAML file becomes one, a URDF or xacro file a .urdf file, or an .xml file of MuJoCo, which has the drives too. A
    link's URDF inertia is that of all that is fixed to it; what is fixed has none then.

    Args:
        path: Of the description; it is replaced.
        model: The robot, read from the file `model.source`.
        found: Other links keep the bodies that they have.
        reading: Options that it was read with.

    Returns:
        The files that were written.

    Raises:
        LawError: if the description is of another kind or cannot be written, or would not be read as it is meant.
    """
    source = Path(model.source.removesuffix(" (expanded)"))
    is_yaml = source.suffix in YAML
    suffixes = (*YAML, MJCF) if is_yaml else (URDF, MJCF)
    if path.suffix not in suffixes:
        what = f"suffix '{path.suffix}' for a robot of {source.name}"
        raise LawError(what, where=str(path), valid=" or ".join(suffixes))
    try:
        if path.suffix == MJCF:
            write_text(path, _mjcf_text(model, found))
            return (path,)
        write_text(path, _yaml_text(source, model, found) if is_yaml else _urdf_text(source, found, reading))
        drives = path.with_name(f"{path.stem}.drives.yaml")
        write_text(drives, _drives_text(found))
    except OSError as error:
        raise LawError(f"cannot be written: {error.strerror}", where=str(path), valid="a file in a folder") from error
    kept = ("name", "base_link", "ee_link", "tree", "base", "gravity", "zero_limits", "allow_inconsistent")
    again = load_model(path, **{key: value for key, value in reading.items() if key in kept})
    for link, (pi, _) in found.bodies.items():
        if not np.allclose(again.links[again.index_of(link)].inertia.pi, pi, rtol=SAME, atol=SAME * np.abs(pi).max()):
            raise LawError(f"{link} would be read with another body", where=str(path), valid="inertia in link frames")
    return path, drives


def _yaml_text(source: Path, model: RobotModel, found: Found) -> str:
    text = read_text(source, LawError)
    block = DYNAMICS.search(text)
    entries = list(INERTIAL.finditer(block[0])) if block else []
    if block is None or len(entries) != len(model.links):
        what = f"{len(entries)} entries inertial: {{…}} for {len(model.links)} links"
        raise LawError(what, where=f"{source}: dynamics", valid="one of each link, in braces")
    parts, end = list[str](), 0
    for entry, link in zip(entries, model.link_names, strict=True):
        if link in found.bodies:
            values = zip(DYN_NAMES, Inertia.from_pi(found.bodies[link][0]).dyn, strict=True)
            lines = [f"# {found.comment(link)}", ", ".join(f"{name}: {_number(x)}" for name, x in values)]
            lines[-1] += "".join(f", {mask}" for mask in MASK.findall(entry["entries"]))
            parts += [block[0][end : entry.start()], "inertial: {" + "".join(f"\n      {line}" for line in lines) + "}"]
            end = entry.end()
    return text[: block.start()] + "".join(parts) + block[0][end:] + text[block.end() :]


def _urdf_text(source: Path, found: Found, reading: Mapping[str, Any]) -> str:
    root: Any = parse_xml(urdf_text(source, reading), str(source))
    links = {link.get("name"): link for link in root.iterfind("link")}
    joints = [joint for joint in root.iterfind("joint") if joint.get("type") == "fixed"]
    fixed = [(joint.find("parent").get("link"), joint.find("child").get("link")) for joint in joints]
    for name, (pi, _) in found.bodies.items():
        rigid = [name]
        for link in rigid:
            rigid += [child for parent, child in fixed if parent == link]
            for old in links[link].findall("inertial"):
                links[link].remove(old)
        inertial = inertial_element(Inertia.from_pi(pi), _number)
        inertial.insert(0, etree.Comment(f" {found.comment(name)} "))
        links[name].append(inertial)
    etree.indent(root)
    return str(etree.tostring(root, encoding="unicode"))


def _mjcf_text(model: RobotModel, found: Found) -> str:
    from thunder_controllers.simulation.plants.mujoco_model import build_spec, compile_spec  # MuJoCo for this alone

    for name, (pi, _) in found.bodies.items():
        model = model.with_inertia(name, Inertia.from_pi(pi))
    spec = build_spec(Assembly(model), model.joint_names, model.source, contacts=False)
    compile_spec(spec, model.source)
    root: Any = parse_xml(spec.to_xml(), model.source)
    for joint in root.iter("joint"):
        drive = {name: pair for name, pair in found.drives.get(joint.get("name"), {}).items() if name in MUJOCO}
        for name, (value, _) in drive.items():
            joint.set(MUJOCO[name], _number(value))
        if drive:
            stds = ", ".join(f"{MUJOCO[name]} {std:.2g}" for name, (_, std) in drive.items())
            joint.addprevious(etree.Comment(f" standard deviations: {stds} "))
    for body in root.iter("body"):
        if body.get("name") in found.bodies:
            body.insert(0, etree.Comment(f" {found.comment(body.get('name'))} "))
    return str(etree.tostring(root, encoding="unicode"))


def _drives_text(found: Found) -> str:
    rows = {
        joint: {key: number for name, pair in drive.items() for key, number in _with_std(name, *pair)}
        for joint, drive in found.drives.items()
    }
    return yaml.safe_dump({DRIVES[0]: {DRIVES[1]: rows}}, sort_keys=False, default_flow_style=None, width=120)


def _with_std(name: str, value: float, std: float) -> tuple[tuple[str, float], ...]:
    return (name, float(f"{value:.5g}")), (f"{name}_std", float(f"{std:.2g}"))


def _number(value: float) -> str:
    return f"{value:.9g}"
