"""Robot YAML (established schema, versions 0.1 to 0.3) → RobotModel. Modified (Craig) DH.

T(i−1, i) = Trans_x(a) Rot_x(alpha) Trans_z(d) Rot_z(theta); a prismatic joint adds q to d, a revolute one to theta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from thunder_dynamics.errors import ModelError, RobotFileError, nearest
from thunder_dynamics.inertia import DYN_NAMES, Inertia
from thunder_dynamics.joints import FROM_ZERO, reflected_inertia
from thunder_dynamics.model import (
    CustomParameters,
    Elasticity,
    Frame,
    Joint,
    JointKind,
    Limits,
    Link,
    Pose,
    RobotModel,
    Topology,
)
from thunder_dynamics.readers.dh_schema import (
    Entry,
    LimitsEntry,
    RobotEntry,
    UrdfLinkEntry,
    UrdfRobotEntry,
    as_schema_0_2,
)
from thunder_dynamics.readers.fields import UNKNOWN_KEY, beyond_a_turn, by_names, complaint
from thunder_dynamics.readers.source import (
    ReaderOptions,
    check_bodies,
    check_entity_name,
    dh_placement,
    note_placeholders,
    relocated,
    robot_identifier,
    take_options,
)
from thunder_dynamics.readers.yaml_text import KeyPath, YamlDocument, parse_yaml
from thunder_dynamics.storage.door import read_text

Schema = TypeVar("Schema", bound=Entry)


def read_dh_yaml(path: Path, options: Mapping[str, Any]) -> RobotModel:
    """Read a robot YAML; the robot is named after the file's stem.

    Options: those of `ReaderOptions`.

    Raises:
        RobotFileError: with file, line and key path, for anything the schema does not allow.
        InertiaError: for inertias that no rigid body has, unless `allow_inconsistent`; placeholders are warned of.
        NameNotFoundError: for a joint to lock that there is not.
        ModelError: for a robot name that is no C identifier.
    """
    chosen = take_options(ReaderOptions, options, where=str(path))
    document = as_schema_0_2(parse_yaml(read_text(path, RobotFileError), str(path)))
    name = robot_identifier(path.stem) if chosen.name is None else chosen.name
    if _names_urdf(document):
        whole = _UrdfRobot(document, path, validate(document, UrdfRobotEntry)).model(name, chosen.allow_inconsistent)
        places = {link: link for link in document.data.get("dynamics", {})}
    else:
        builder = _Builder(document, validate(document, RobotEntry))
        whole = builder.model(name)
        places = dict(zip(whole.link_names, builder.links, strict=True))
    model = chosen.reduced(whole, chosen.locked_joints, str(path))
    # What the model holds is judged, as in other files: a link together with what is locked to it.
    judged = [link for link in model.links if link.name in places]
    bodies = [(x.name, document.where(("dynamics", places[x.name], "inertial")), x.inertia) for x in judged]
    measured = [body for body in bodies if not is_placeholder(body[2])]
    check_bodies(measured, chosen.allow_inconsistent)
    note_placeholders([(name, where) for name, where, inertia in bodies if is_placeholder(inertia)])
    return model


def named_urdf(path: Path) -> tuple[Path, dict[str, Any], Pose] | None:
    """The URDF that a robot YAML names, options that it is read with, and its world in that of the robot; or None.

    Raises:
        RobotFileError: as `read_dh_yaml`.
    """
    document = as_schema_0_2(parse_yaml(read_text(path, RobotFileError), str(path)))
    if not _names_urdf(document):
        return None
    entry = validate(document, UrdfRobotEntry)
    base = Frame(entry.Base_to_L0.tr, entry.Base_to_L0.ypr)
    return path.parent / entry.kinematics.urdf_path, _urdf_options(entry), base.pose


def _names_urdf(document: YamlDocument) -> bool:
    kinematics = document.data.get("kinematics")
    return isinstance(kinematics, dict) and kinematics.get("type", "DH") != "DH"


def _urdf_options(entry: UrdfRobotEntry) -> dict[str, Any]:
    options = {"base_link": entry.kinematics.base_link, "ee_link": entry.kinematics.ee_link}
    return {key: value for key, value in options.items() if value is not None}


def is_placeholder(inertia: Inertia) -> bool:
    """Whether all six entries of an inertia about the CoM are one number, as in files that nobody has measured for."""
    entries = set(inertia.dyn[4:].tolist())
    return len(entries) == 1 and entries.pop() > 0.0


def validate(document: YamlDocument, kind: type[Schema]) -> Schema:
    """Check a document's keys and values against a schema.

    Raises:
        RobotFileError: for the first violation, with file, line and key path.
    """
    known = set(kind.model_fields)
    data = {key: value for key, value in document.data.items() if key in known or key not in document.anchored}
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        what, valid = complaint(first)
        path = (*first["loc"], *([first["ctx"]["key"]] if first["type"] == UNKNOWN_KEY else []))
        raise RobotFileError(what, where=document.where(path), valid=valid) from error


class _Document:
    """What refuses a key of a document."""

    document: YamlDocument

    def _fail(self, path: KeyPath, what: str, valid: str) -> None:
        raise RobotFileError(what, where=self.document.where(path), valid=valid)


class _Builder(_Document):
    """A validated document → RobotModel; what depends on the number of joints is checked here."""

    def __init__(self, document: YamlDocument, entry: RobotEntry) -> None:
        self.document = document
        self.entry = entry
        self.n = entry.num_joints
        self.links = by_names(entry.dynamics, entry.thunder.link_names or (), "link", document.where(("dynamics",)))
        self.symbolic: dict[str, tuple[bool, ...]] = {}

    def model(self, name: str) -> RobotModel:
        entry = self.entry
        self._check_lengths()
        if entry.kinematics.convention == "classical":
            self._check_classical()
        self._mark("par_DHtable", self._rows(entry.kinematics.symb or [0] * 4 * self.n))
        self._mark("par_gravity", entry.gravity.symb)
        self._mark("par_world2L0", entry.Base_to_L0.symb)
        self._mark("par_Ln2EE", entry.Ln_to_EE.symb)
        names, elastic = self._names(), self._elasticities()
        links = tuple(self._link(i, names[i][0], names[i][1], elastic[i]) for i in range(self.n))
        self._mark_links()
        return RobotModel(
            name=name,
            links=links,
            base=Frame(entry.Base_to_L0.tr, entry.Base_to_L0.ypr),
            ee=self._end_effector(),
            gravity=entry.gravity.value,
            symbolic=self.symbolic,
            source=self.document.source,
            custom_parameters=tuple(map(self._custom_parameters, entry.thunder.parameters)),
        )

    def _rows(self, table: Sequence[Any]) -> list[Any]:
        """A table of the file by rows of modified DH, whose a and alpha are those of the classical row before."""
        if self.entry.kinematics.convention == "modified":
            return list(table)
        before: list[Any] = [type(table[0])(0)] * 2
        rows: list[Any] = []
        for i in range(self.n):
            a, alpha, d, theta = table[4 * i : 4 * i + 4]
            rows += [*before, d, theta]
            before = [a, alpha]
        return rows

    def _distal(self, i: int) -> Pose:
        """The frame of link i that the file's numbers are in, in the frame of the model."""
        if self.entry.kinematics.convention == "modified":
            return Pose()
        a, alpha = self.entry.kinematics.DH[4 * i : 4 * i + 2]
        return dh_placement(a, alpha, 0.0, 0.0)

    def _end_effector(self) -> Frame:
        behind = Frame.of(self._distal(self.n - 1))
        return _composed(behind, Frame(self.entry.Ln_to_EE.tr, self.entry.Ln_to_EE.ypr))

    def _check_classical(self) -> None:
        """What has no place in modified DH: parts of an inertia, and of the end effector's frame, at run time."""
        last, symb = self.entry.kinematics.DH[-4:-2], self.entry.kinematics.symb or [0] * 4 * self.n
        if any(symb[-4:-2]):
            self._fail(("kinematics", "symb"), "a or alpha of the last row of classical DH at run time", "Ln_to_EE")
        if any(last) and any(self.entry.Ln_to_EE.symb or []):
            what = "run-time parameters behind a last row of classical DH with a or alpha"
            self._fail(("Ln_to_EE", "symb"), what, "a = alpha = 0 in the last row")
        for (key, link), i in zip(self.links.items(), range(self.n), strict=True):
            if any(self.entry.kinematics.DH[4 * i : 4 * i + 2]) and any(link.inertial.symb or []):
                what = "run-time parameters of an inertia in a frame of classical DH"
                valid = "modified DH, or a = alpha = 0 in the row"
                self._fail(("dynamics", key, "inertial", "symb"), what, valid)

    def _custom_parameters(self, name: str) -> CustomParameters:
        entry = self.entry.thunder.parameters[name]
        try:
            return CustomParameters(name, tuple(entry.value), entry.unit, entry.description)
        except ModelError as error:
            where = self.document.where(("thunder", "parameters", name))
            raise RobotFileError(error.what, where=where, valid=error.valid) from error

    def _expect(self, path: KeyPath, values: Sequence[Any] | None, count: int, reason: str) -> None:
        if values is not None and len(values) != count:
            self._fail(path, f"{len(values)} entries", f"{count} entries, {reason}")

    def _check_lengths(self) -> None:
        entry, n = self.entry, self.n
        self._expect(("type_joints",), entry.type_joints, n, "one per joint")
        self._expect(("kinematics", "DH"), entry.kinematics.DH, 4 * n, "a, alpha, d, theta per joint")
        for k, value in enumerate(entry.kinematics.DH):
            if k % 2 and (wrong := beyond_a_turn([value])):  # alpha and theta
                self._fail(("kinematics", "DH", k), *wrong)
        self._expect(("kinematics", "symb"), entry.kinematics.symb, 4 * n, "one per entry of DH")
        if len(entry.dynamics) != n:
            absent = [f"link{k}" for k in range(1, n + 1) if f"link{k}" not in entry.dynamics]
            hint = f" (missing: {', '.join(absent[:5])})" if absent and len(entry.dynamics) < n else ""
            self._fail(("dynamics",), f"{len(entry.dynamics)} links for {n} joints{hint}", f"{n} links, one per joint")
        for key in ("coulomb", "offset", "joint_names", "link_names", "topology"):
            self._expect(("thunder", key), getattr(entry.thunder, key), n, "one per joint")
        for key in LimitsEntry.model_fields:
            self._expect(("thunder", "limits", key), getattr(entry.thunder.limits, key), n, "one per joint")

    def _joint_names(self) -> list[str]:
        return self.entry.thunder.joint_names or [f"joint{i + 1}" for i in range(self.n)]

    def _names(self) -> list[tuple[str, str]]:
        keys = list(self.links)
        links = self.entry.thunder.link_names or keys
        joints = self._joint_names()
        for kind, names in (("link", links), ("joint", joints)):
            for i, name in enumerate(names):
                path: KeyPath = ("dynamics", name) if names is keys else ("thunder", f"{kind}_names", i)
                check_entity_name(name, kind, self.document.where(path))
                if name in names[:i]:
                    self._fail(path, f"two {kind}s are called '{name}'", "unique names")
        return list(zip(links, joints, strict=True))

    def _link(self, i: int, link_name: str, joint_name: str, elastic: Elasticity | None) -> Link:
        a, alpha, d, theta = self._rows(self.entry.kinematics.DH)[4 * i : 4 * i + 4]
        key, link = list(self.links.items())[i]
        inertia = Inertia.from_dyn([getattr(link.inertial, name) for name in DYN_NAMES])
        if self.entry.kinematics.convention == "classical":
            distal = self._distal(i)
            inertia = inertia.transformed(distal.rotation, distal.translation)
        revolute = self.entry.type_joints[i].startswith("R")
        joint = Joint(
            name=joint_name,
            kind=JointKind.REVOLUTE if revolute else JointKind.PRISMATIC,
            placement=dh_placement(a, alpha, d, theta),
            limits=self._limits(i),
            dh=(a, alpha, d, theta),
            elastic=elastic,
            rotor_inertia=self._rotor(key, elastic),
        )
        topology = self.entry.thunder.topology
        if topology is not None:
            try:
                joint = replace(joint, topology=Topology[topology[i].upper()])
            except ModelError as error:
                raise relocated(error, self.document.where(("thunder", "topology", i))) from error
        coulomb, offset = self.entry.thunder.coulomb, self.entry.thunder.offset
        return Link(
            name=link_name,
            parent=i - 1,
            joint=joint,
            inertia=inertia,
            friction=self._friction(key),
            coulomb=0.0 if coulomb is None else coulomb[i],
            effort_offset=0.0 if offset is None else offset[i],
        )

    def _limits(self, i: int) -> Limits:
        given = {}
        for key, values in self.entry.thunder.limits:
            if values is not None and values[i] is not None:
                given[key.removeprefix("position_")] = values[i]
                if not (key.startswith("position") or key in FROM_ZERO or values[i] > 0.0):
                    self._fail(("thunder", "limits", key, i), f"the limit is {values[i]:g}", "greater than zero")
        try:
            return Limits(**given)
        except ModelError as error:
            raise relocated(error, self.document.where(("thunder", "limits", "position_lower", i))) from error

    def _friction(self, link: str) -> tuple[float, ...]:
        order, friction = self.entry.Dl_order, self.entry.dynamics[link].friction
        if friction is None:
            return (0.0,) * order
        return self._terms(("dynamics", link, "friction", "Dl"), friction.Dl, order, "Dl_order")

    def _rotor(self, link: str, elastic: Elasticity | None) -> float | None:
        rotor = self.entry.dynamics[link].rotor
        if rotor is not None and elastic is not None:
            self._fail(("dynamics", link, "rotor"), "the rotor of an elastic joint", "its motor inertia Mm")
        return None if rotor is None else reflected_inertia(rotor.inertia, rotor.gear_ratio)

    def _terms(self, path: KeyPath, values: list[float], order: int, order_key: str) -> tuple[float, ...]:
        # Files in use list more coefficients than their order uses; the leading ones count.
        if len(values) < order:
            self._fail(path, f"{len(values)} entries", f"at least {order}, as {order_key} says")
        return tuple(values[:order])

    def _mark(self, group: str, symb: Sequence[int] | None) -> None:
        if symb is not None and any(symb):
            self.symbolic[group] = tuple(bool(s) for s in symb)

    def _mark_links(self) -> None:
        inertial: list[int] = []
        friction: list[int] = []
        for key, link in self.links.items():
            inertial += link.inertial.symb or [0] * len(DYN_NAMES)
            own = link.friction
            path: KeyPath = ("dynamics", key, "friction", "symb")
            count = 0 if own is None else len(own.Dl)
            friction += self._flags(path, None if own is None else own.symb, count, self.entry.Dl_order)
        self._mark("par_DYN", inertial)
        self._mark("par_Dl", friction)
        self._mark("par_Ia", [link.rotor.symb for link in self.links.values() if link.rotor])

    def _flags(self, path: KeyPath, symb: list[int] | None, count: int, order: int) -> list[int]:
        if symb is None:
            return [0] * order
        if len(symb) not in (count, order):
            self._fail(path, f"{len(symb)} entries", f"{count} entries, one per coefficient")
        return (symb + [0] * order)[:order]

    def _elasticities(self) -> list[Elasticity | None]:
        """Elasticity of each joint: entries are named as the elastic joints, numbered, or in their order."""
        result: list[Elasticity | None] = [None] * self.n
        if not self.entry.ELASTIC_MODEL:
            return result
        indices = [i for i, kind in enumerate(self.entry.type_joints) if kind.endswith("_SEA")]
        elastic = self.entry.elastic
        if elastic is None:
            if indices:
                self._fail(("elastic",), "the key 'elastic' is missing", "an entry, as ELASTIC_MODEL is true")
            return result
        reason = "one per joint of type R_SEA or P_SEA"
        self._expect(("elastic", "joints"), list(elastic.joints), len(indices), reason)
        flags: dict[str, list[int]] = {group: [] for group in ("K", "D", "Dm", "Mm")}
        names, where = [self._joint_names()[i] for i in indices], self.document.where(("elastic", "joints"))
        entries = by_names(elastic.joints, names, "joint", where)
        for index, (key, joint) in zip(indices, entries.items(), strict=True):
            path, terms = ("elastic", "joints", key), {}
            for group in ("K", "D", "Dm"):
                values, order = getattr(joint, group), getattr(elastic, f"{group}_order")
                terms[group] = self._terms((*path, group), values, order, f"{group}_order")
                symb = getattr(joint, f"{group}_symb")
                flags[group] += self._flags((*path, f"{group}_symb"), symb, len(values), order)
            flags["Mm"].append(joint.Mm_symb)
            result[index] = Elasticity(**terms, Mm=joint.Mm)
        for group, marked in flags.items():
            self._mark(f"par_{group}", marked)
        return result


class _UrdfRobot(_Document):
    """A validated document that names a URDF → RobotModel: the URDF's, with what the document says instead."""

    def __init__(self, document: YamlDocument, path: Path, entry: UrdfRobotEntry) -> None:
        self.document = document
        self.path = path
        self.entry = entry

    def model(self, name: str, allow_inconsistent: bool) -> RobotModel:
        from thunder_dynamics.readers.urdf import read_urdf  # and lxml, which most files need not

        entry = self.entry
        file, given = self.path.parent / entry.kinematics.urdf_path, _urdf_options(entry)
        # A file that says how the base is turned, or gravity itself, replaces the mounting of the URDF.
        if "value" in entry.gravity.model_fields_set or any(entry.Base_to_L0.ypr):
            given["gravity"] = entry.gravity.value
        model = read_urdf(file, {**given, "name": name, "allow_inconsistent": allow_inconsistent})
        self._check(model)
        order = model.friction_order if entry.Dl_order is None else entry.Dl_order
        entries = [entry.dynamics.get(link) or UrdfLinkEntry() for link in model.link_names]
        links = tuple(self._link(*each, order) for each in zip(model.links, entries, strict=True))
        return replace(
            model,
            links=links,
            base=_composed(Frame(entry.Base_to_L0.tr, entry.Base_to_L0.ypr), model.base),
            ee=_composed(model.ee, Frame(entry.Ln_to_EE.tr, entry.Ln_to_EE.ypr)),
            source=self.document.source,
            symbolic={group: tuple(map(bool, flags)) for group, flags in self._flags(entries, links, order).items()},
        )

    def _flags(self, entries: Sequence[UrdfLinkEntry], links: Sequence[Link], order: int) -> dict[str, list[int]]:
        """The masks of run-time parameters, by group."""
        marked = [(e.friction.symb if e.friction else None) or [] for e in entries]
        rotors = [e.rotor for e, link in zip(entries, links, strict=True) if link.joint.rotor_inertia is not None]
        return {
            "par_gravity": self.entry.gravity.symb or [],
            "par_world2L0": self.entry.Base_to_L0.symb or [],
            "par_Ln2EE": self.entry.Ln_to_EE.symb or [],
            "par_DYN": [flag for e in entries for flag in e.inertial.symb or [0] * len(DYN_NAMES)],
            "par_Dl": [flag for flags in marked for flag in (flags + [0] * order)[:order]],
            "par_Ia": [rotor.symb if rotor else 0 for rotor in rotors],
        }

    def _check(self, model: RobotModel) -> None:
        entry, file = self.entry, self.entry.kinematics.urdf_path
        kinds = {JointKind.REVOLUTE: "R", JointKind.PRISMATIC: "P"}
        found = [kinds.get(link.joint.kind, link.joint.kind.name) for link in model.links]
        if entry.num_joints not in (None, model.n):
            self._fail(("num_joints",), f"{entry.num_joints} joints", f"{model.n}, those of {file}")
        if entry.type_joints not in (None, found):
            self._fail(("type_joints",), f"{entry.type_joints}", f"{found}, those of {file}")
        for link in entry.dynamics:
            if link not in model.link_names:
                self._fail(("dynamics", link), f"no link '{link}' that moves", nearest(link, model.link_names))

    def _link(self, link: Link, entry: UrdfLinkEntry, order: int) -> Link:
        given = {key: value for key in DYN_NAMES if (value := getattr(entry.inertial, key)) is not None}
        if given and len(given) < len(DYN_NAMES):
            absent = next(key for key in DYN_NAMES if key not in given)
            self._fail(("dynamics", link.name, "inertial"), f"missing key '{absent}'", "all ten numbers, or none")
        joint, friction = link.joint, (*link.friction, *(0.0,) * order)[:order]
        if entry.friction is not None:
            friction = tuple(entry.friction.Dl[:order])
            if len(friction) < order:
                path = ("dynamics", link.name, "friction", "Dl")
                self._fail(path, f"{len(friction)} entries", f"at least {order}, the order of friction")
        if entry.rotor is not None:
            joint = replace(joint, rotor_inertia=reflected_inertia(entry.rotor.inertia, entry.rotor.gear_ratio))
        inertia = Inertia.from_dyn([given[key] for key in DYN_NAMES]) if given else link.inertia
        return replace(link, inertia=inertia, friction=friction, joint=joint)


def _composed(first: Frame, second: Frame) -> Frame:
    """The frame `second` in `first`; where one of them is the identity, the other as it is written."""
    if Frame() in (first, second):
        return second if first == Frame() else first
    return Frame.of(first.pose @ second.pose)
