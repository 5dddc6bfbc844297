"""Coverage-guided fuzzing of everything that Python reads: `python test/fuzz/readers.py TARGET INPUTS FOLDER [SEED]`.

Atheris (libFuzzer) chooses the inputs by the branches that they reach; `mutations` keeps the form of the files. Data trees
go around the YAML parser, which is slow and is a target of its own, but for one in `WHOLE`.

An input is taken, or refused with one `ThunderError` that says what is wrong, where, and what would be valid, in a line of
printable text. Anything else is a finding: another exception, more than `SECONDS` of processor time, more memory than
`MEMORY`, or an attempt to write, to connect or to start a process. Findings go to FOLDER/TARGET, the first of each
kind, and do not end the run; FOLDER/TARGET.json says what was tried.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import signal
import sys
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import atheris
import mutations
import numpy as np

with atheris.instrument_imports(include=["thunder_dynamics", "thunder_controllers", "xacro"]):
    import xacro

    from thunder_controllers import archive
    from thunder_controllers import bag as bag_module
    from thunder_controllers.analysis import gain_file
    from thunder_controllers.experiments import study
    from thunder_controllers.experiments.experiment import Findings, Settings
    from thunder_controllers.identification import records
    from thunder_controllers.references import columns, table_file, users
    from thunder_controllers.references.trajectories import Follower
    from thunder_controllers.simulation import scenario
    from thunder_dynamics import readers
    from thunder_dynamics.errors import ThunderError
    from thunder_dynamics.joints import Topology
    from thunder_dynamics.readers import dh_yaml, load_model, urdf, xacro_child
    from thunder_dynamics.readers import source as source_module
    from thunder_dynamics.readers.yaml_text import YamlDocument, _integer, parse_yaml
    from thunder_dynamics.runtime import robot as runtime_robot

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 1.0
"""Of processor time for one input."""
MEMORY = 3 << 30
"""Of the process [byte]."""
LONGEST_MESSAGE = 2000
WHOLE = 40
"""One input in so many is read as the text that a file would have."""
LARGEST = {"csv": 4000, "npz": 20_000, "bag": 60_000}
"""Of an input [byte], where that is not the default."""
JOINTS, CIRCLES = ("a", "b"), np.array([True, False])
"""Joints of the tables, and which of them are on a circle."""
CALM = frozenset({"os.listdir", "os.scandir", "glob.glob", "glob.glob/2", "import", "compile", "exec", "open"})
SERIOUS = ("os.", "shutil.", "socket.", "subprocess.", "tempfile.", "ctypes.", "pty.", "webbrowser.")

WRITING = 3 | 64 | 512  # O_WRONLY | O_RDWR, O_CREAT, O_TRUNC


class Broken(Exception):  # noqa: N818 - what is broken is a promise
    """A promise of the readers."""


class TooSlow(BaseException):  # noqa: N818
    """Raised by a timer: nothing that reads catches it."""


@dataclass(frozen=True)
class Target:
    """What is fuzzed: valid files, how they are changed, and what reads one."""

    seeds: Sequence[bytes]
    mutate: mutations.Mutator
    read: Callable[[bytes], Any]


# --- what is promised -------------------------------------------------------------------------------------------------


def check_error(error: ThunderError) -> None:
    """Raise `Broken` unless an error says what, where and what would be valid, in one line of printable text."""
    missing = [name for name in ("what", "where", "valid") if not getattr(error, name)]
    if missing == ["valid"] and "; valid: " in error.what:  # as what it was made of has it
        missing = []
    if missing:
        raise Broken(f"no {', '.join(missing)}") from error
    text = str(error)
    if len(text) > LONGEST_MESSAGE:
        raise Broken("a message of more than 2000 characters") from error
    if not text.isprintable():
        raise Broken("a message that is not one line of printable text") from error


def check_finite(model: Any) -> None:
    """Raise `Broken` unless all numbers of a model are finite."""
    groups = [
        model.pi,
        model.parameters("par_gravity"),
        model.parameters("par_world2L0"),
        model.parameters("par_Ln2EE"),
    ]
    groups += [model.effort_offsets, *(link.joint.placement.rotation for link in model.links)]
    groups += [link.joint.placement.translation for link in model.links]
    if not all(np.isfinite(np.asarray(group, dtype=float)).all() for group in groups):
        raise Broken("a model with numbers that are not finite")


class Watch:
    """An audit hook that notes what a reader may not do, while an input is read."""

    def __init__(self) -> None:
        self.is_reading = False
        self.seen: list[str] = []
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_reading:
            return
        if event == "subprocess.Popen" and "xacro_child.py" in str(arguments[1]):
            return  # the process that expands a xacro
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
        if writes or (event not in CALM and event.startswith(SERIOUS)):
            self.seen.append(f"{event} {str(arguments[:2])[:200]}")

    @contextmanager
    def looking_away(self) -> Iterator[None]:
        """While an input is put where it is read from."""
        before, self.is_reading = self.is_reading, False
        yield
        self.is_reading = before


def _too_slow(*_: object) -> NoReturn:
    raise TooSlow


def signature(error: BaseException) -> str:
    """What tells kinds of findings apart: the types of an exception and its causes, and where each came from."""
    parts: list[str] = []
    found: BaseException | None = error
    while found is not None:
        frames = [
            f for f in traceback.extract_tb(found.__traceback__) if "thunder_" in f.filename or "fuzz" in f.filename
        ]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        parts.append(f"{type(found).__name__} {str(found)[:80] if isinstance(found, Broken) else ''} {place}")
        found = found.__cause__
    return " < ".join(parts[:2])


# --- readers ----------------------------------------------------------------------------------------------------------


class Text:
    """Stands for the file that a reader opens: its text, and its data where that is known without parsing."""

    def __init__(self) -> None:
        self.text = ""
        self.tree: Any = None

    def read(self, *_: object) -> str:
        return self.text

    def parse(self, text: str, source: str) -> YamlDocument:
        if self.tree is None:
            return parse_yaml(text, source)
        lines: dict[tuple[Any, ...], int] = {(): 1}
        _number(self.tree, (), lines)
        return YamlDocument(self.tree, lines, frozenset(), source)

    def take(self, data: bytes) -> None:
        """Take JSON; as a tree where the YAML parser would make the same of it."""
        self.text, self.tree = data.decode(errors="replace"), None
        if zlib.crc32(data) % WHOLE:
            tree = json.loads(data, parse_int=_integer)
            if not isinstance(tree, dict):
                raise ValueError
            self.tree = tree

    def into(self, *modules: Any) -> None:
        """Let modules read this text."""
        for module in modules:
            module.read_text = self.read
            if hasattr(module, "parse_yaml"):
                module.parse_yaml = self.parse


def _number(tree: Any, path: tuple[Any, ...], lines: dict[tuple[Any, ...], int]) -> None:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        lines[(*path, key)] = len(lines)
        _number(value, (*path, key), lines)


TEXT = Text()


def tree(path: Path) -> bytes:
    """A YAML file as JSON."""
    document = parse_yaml(path.read_text(encoding="utf-8"), str(path))
    return json.dumps({key: value for key, value in document.data.items() if key not in document.anchored}).encode()


def of_trees(files: Sequence[Path], read: Callable[[], Any], *modules: Any, more: Sequence[bytes] = ()) -> Target:
    """A reader of YAML, as a target."""
    seeds = [*map(tree, files), *more]
    TEXT.into(*modules)

    def take(data: bytes) -> None:
        try:
            TEXT.take(data)
        except (ValueError, RecursionError):
            return
        read()

    return Target(seeds, mutations.of_trees(seeds), take)


def robot_yaml() -> Target:
    """`load_model` of a robot YAML."""
    options = ({}, {"allow_inconsistent": True}, {"without_rotors": True}, {"locked_joints": {"joint2": 0.3}})

    def read() -> None:
        which = options[zlib.crc32(TEXT.text.encode()) % len(options)]
        check_finite(dh_yaml.read_dh_yaml(Path("robot.yaml"), which))

    files = [ROOT / f"config/robots/{name}.yaml" for name in ("planar3r", "rpr", "sea2", "point_masses5", "panda")]
    return of_trees(files, read, dh_yaml)


def read_scenario() -> Target:
    """`load_scenario`."""
    folder = ROOT / "config/scenarios"
    file = folder / "panda_targets.yaml"
    readers.entry_points = cache(readers.entry_points)  # half of the time, and always the same
    users.entry_points = cache(users.entry_points)
    return of_trees(sorted(folder.glob("*.yaml")), lambda: scenario.load_scenario(file), scenario)


def read_study() -> Target:
    """`load_study`, and all groups built; what it names as functions is code, and is not run."""

    class Computed(Findings):
        """What any of them may give: that of a group, or of a row, whose cases are then drawn."""

        def __iter__(self) -> Iterator[Any]:
            return iter(study.seeds(Settings(0, 2), ""))

    def function(_name: str, _where: str) -> Any:
        return lambda *_: Computed("computed", {})

    study._function = function
    study.load_scenario = cache(study.load_scenario)
    path = ROOT / "thunder_studies/study.yaml"

    def read() -> None:
        if re.search(r'"cases": ?[0-9.]*[0-9]{2}', TEXT.text):
            return  # as many as are asked for are made
        for build in study.load_study(path).groups.values():
            build(Settings(0, 2))

    names = ("adaptive_vs_fixed", "gain_study", "redundancy", "sns", "unknown_tool")
    texts = scenario.read_text, scenario.parse_yaml
    target = of_trees([ROOT / f"thunder_studies/{name}.yaml" for name in names], read, study)
    scenario.read_text, scenario.parse_yaml = texts  # the scenarios that it names are files
    return target


def read_gains() -> Target:
    """Gains in a ROS parameter file."""
    more = [
        b'{"/**/adaptive_controller": {"ros__parameters": {"gains": {"K_d": [1, 2.5], "gamma": 3}, "gains.Lambda": 2}}}'
    ]
    files = [ROOT / "config/ros/panda.yaml"]
    return of_trees(files, lambda: gain_file.read_gains(Path("gains.yaml")), gain_file, more=more)


def read_parameters() -> Target:
    """Files of run-time parameters, of inertial parameters, and saved estimates, as a robot reads them."""
    from thunder_dynamics.codegen.interpreted import interpreted_robot
    from thunder_dynamics.expressions import RobotExpressions

    model = load_model(ROOT / "config/robots/planar3r.yaml")
    arm = interpreted_robot(RobotExpressions(model.with_symbolic("par_DYN", True).with_symbolic("par_gravity", True)))
    begin = arm.__getstate__()
    links = ", ".join(f'"{name}"' for name in model.link_names)
    estimates = f'{{"robot": "planar3r", "law": "slotine_li", "links": [{links}], "pi_hat": {[1.0] * 30}}}'.encode()
    conf = json.dumps(
        {"robot": "planar3r", "par_DYN": arm._get("par_DYN").tolist(), "par_gravity": arm._get("par_gravity").tolist()}
    )
    reg = {name: {"inertial": dict.fromkeys(runtime_robot.REG_KEYS, 1.0)} for name in model.link_names}

    def read() -> None:
        load = arm.load_par_REG if "dynamics" in TEXT.text else arm.load_conf
        before = arm.__getstate__()
        try:
            load("parameters.yaml")
        except RuntimeError as error:  # the established interface
            if not np.array_equal(before, arm.__getstate__()):
                raise Broken("set something of a file that it refused") from error
            if not isinstance(error.__cause__, ThunderError):
                raise
            refusal = error.__cause__
        else:
            refusal = None
        finally:
            is_finite = np.isfinite(arm.__getstate__()).all()
            arm._evaluates.values = begin
        if refusal is not None:
            raise refusal
        if not is_finite:
            raise Broken("took parameters that are not finite")

    return of_trees([], read, runtime_robot, more=[estimates, conf.encode(), json.dumps({"dynamics": reg}).encode()])


def yaml_text() -> Target:
    """The YAML parser alone."""
    files = [*(ROOT / "config/robots").glob("[!pu]*.yaml"), ROOT / "config/scenarios/panda_targets.yaml"]
    seeds = [b"\n".join(file.read_bytes().split(b"\n")[:12]) for file in files]
    seeds += [b"a: &x [1, 2]\nb: *x\n", b"- a\n- {b: 1e-3, c: .inf}\n", b"a: |\n  text\nb: >-\n  more\n? k\n: v\n"]
    tokens = (
        *(
            ": ",
            "- ",
            "[",
            "]",
            "{",
            "}",
            ", ",
            "&a ",
            "*a",
            "!!python/object:os.system ",
            "!!int ",
            "!!binary ",
            "<<: ",
            "? ",
        ),
        *(
            "|",
            ">",
            "---\n",
            "...\n",
            "%YAML 1.1\n",
            "#",
            "'",
            '"',
            "\\u0000",
            "\t",
            "\n",
            "  ",
            "@",
            "`",
            "~",
            "null",
            "1:30",
        ),
        *(
            '"\\ud800"',
            '"\\x1b[2J"',
            "0x1F",
            "0o17",
            "1e400",
            ".nan",
            "\ufeff",
            "\x85",
            "&a [*a]",
            "[" * 30,
            "=",
            "!!set ",
            "!!timestamp ",
            "2001-01-01",
        ),
    )

    def read(data: bytes) -> None:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return
        document = parse_yaml(text, "text.yaml")
        json.dumps(document.data)  # plain data

    return Target(seeds, mutations.of_texts(seeds, tokens), read)


NAMES = (
    *(
        "name",
        "type",
        "link",
        "joint",
        "xyz",
        "rpy",
        "value",
        "ixx",
        "lower",
        "upper",
        "velocity",
        "effort",
        "multiplier",
    ),
    *(
        "offset",
        "damping",
        "friction",
        "inertia",
        "gear_ratio",
        "effort_rate",
        "acceleration",
        "revolute",
        "continuous",
    ),
    *("prismatic", "planar", "floating", "fixed", "swing", "slide", "spin", "world", "base", "wrist", "tool"),
)
TAGS = (
    *("robot", "link", "joint", "parent", "child", "origin", "axis", "limit", "dynamics", "mimic", "inertial", "mass"),
    *("inertia", "transmission", "actuator", "thunder", "rotor", "{http://drake.mit.edu}rotor_inertia", "gazebo"),
)
URDF_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"base": "floating"},
    {"allow_inconsistent": True, "tree": True},
    {"locked_joints": {"swing": 0.2}},
    {"zero_limits": "refused", "ee_link": "tool"},
    {"base_link": "upper", "ee_link": ("tool", "camera")},
)


def read_urdf() -> Target:
    """`load_model` of a URDF."""
    texts = [(ROOT / f"test/data/{name}.urdf").read_bytes() for name in ("arm", "biped")]
    small = (
        b'<robot name="r"><link name="base"/><link name="a"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" '
        b'iyy="1" iyz="0" izz="1"/></inertial></link><joint name="swing" type="%s"><parent link="base"/><child link="a"/>'
        b'<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="3" velocity="2"/>%s</joint>%s</robot>'
    )
    rotor = (
        b'<thunder><rotor joint="swing" inertia="0.1" gear_ratio="3"/><limit joint="swing" acceleration="3"/></thunder>'
    )
    second = (
        b'<link name="tool"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
        b'</link><joint name="spin" type="continuous"><parent link="a"/><child link="tool"/><mimic joint="swing" offset="1" '
        b'multiplier="2"/></joint>'
    )
    drive = b'<transmission name="t"><joint name="swing"/><actuator name="m"/></transmission>'
    seeds = [*texts, small % (b"revolute", b"", second), small % (b"prismatic", b"<dynamics damping='1'/>", rotor)]
    seeds += [small % (kind, b"", drive) for kind in (b"planar", b"floating", b"continuous")]

    def read(data: bytes) -> None:
        text = data.decode(errors="replace")
        check_finite(urdf.read_urdf_text(text, "arm.urdf", **URDF_OPTIONS[zlib.crc32(data) % len(URDF_OPTIONS)]))

    return Target(seeds, mutations.of_xml(seeds, TAGS, NAMES), read)


def read_xacro() -> Target:
    """What the process that expands xacro does, in this one, and the URDF reader; its limits are this process's.

    A large power or a long text is stopped by the limits of that process, which tests of their own hold: here it is none
    of the findings.
    """
    space = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    body = (
        '<xacro:arg name="side" default="left"/><xacro:property name="m" value="${2*pi}"/><xacro:property name="d" '
        'value="${dict(a=1,b=[1,2])}"/><xacro:macro name="arm" params="name mass:=1 *origin **more"><link name="${name}">'
        '<inertial><mass value="${mass*m}"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        '<joint name="${name}_j" type="revolute"><xacro:insert_block name="origin"/><parent link="base"/><child '
        'link="${name}"/></joint></xacro:macro><link name="base"/><xacro:arm name="$(arg side)_arm"><origin xyz="0 0 ${m}"/>'
        '<a/></xacro:arm><xacro:if value="${m &gt; 2}"><link name="x"/></xacro:if><xacro:unless value="$(optenv ROBOT_NAME 1)"/>'
    )
    seeds = [f'<robot name="r" {space}>{body}</robot>'.encode()]
    seeds += [f'<robot name="r" {space}><xacro:property name="p" value="1"/><link name="${{p}}"/></robot>'.encode()]
    seeds += [
        f'<robot name="r" {space}><xacro:include filename="$(find arm)/x.xacro"/><link name="base"/></robot>'.encode()
    ]
    uri = "{http://www.ros.org/wiki/xacro}"
    words = "property macro arg include insert_block if unless call element attribute arm"
    tags = (*(uri + word for word in words.split()), *TAGS)
    names = (
        *("name", "value", "params", "default", "filename", "scope", "remove_first_joint", "ns", "lazy_eval", "macro"),
        *(
            "${m}",
            "${name}",
            "$(arg side)",
            "${1/0}",
            "${d['a']}",
            "${[x for x in range(3)]}",
            "${xacro.arg('side')}",
            "**x",
        ),
        *(
            "$(find arm)",
            "${len(d)}",
            "${m",
            "$$",
            "$(cwd)",
            "$(dirname)",
            "$(env HOME)",
            "$(eval 1)",
            "${().__class__}",
            "a:=^",
        ),
        *(
            "${radians(m)}",
            "${list(d)}",
            "${'%s' % m}",
            "${lambda: 1}",
            "${m if m else 1}",
            "*b",
            "a:=1 b:='x y'",
            "true",
            "1",
        ),
    )
    path = ROOT / "test/fuzz/robot.xacro"
    request = {
        "limits": {"bytes": 1 << 20},
        "packages": {},
        "package_option": "packages={name: folder}",
        "argument_option": "xacro_args={name: value}",
    }
    guard = xacro_child._Guard([path.parent.resolve()], {**request, "limits": {**request["limits"], "memory": MEMORY}})
    limits, resource.setrlimit = resource.setrlimit, lambda *_: None
    hook, sys.addaudithook = sys.addaudithook, lambda _: None  # type: ignore[assignment]
    xacro_child._restrict({"limits": {}} and _NoLimits(guard))  # type: ignore[arg-type]
    resource.setrlimit, sys.addaudithook = limits, hook

    def check(event: str, arguments: tuple[Any, ...]) -> None:
        if WATCH.is_reading and event in ("open", "os.scandir", "compile", "exec", "import"):
            if event == "open" and arguments[0] == str(path):
                return
            guard(event, arguments)

    sys.addaudithook(check)
    parse, xacro.warning = xacro.parse, lambda *_, **__: None
    sys.setrecursionlimit(250)  # a macro that calls itself ends sooner

    def read(data: bytes) -> None:
        if data.count(b"**") > 3:
            return
        values = xacro_child._Arguments({})
        read_files = chain([data], repeat(seeds[1]))  # what is included is none that includes itself without end
        xacro.parse = lambda text, name=None: parse(
            next(read_files).decode(errors="replace") if text is None else text, name
        )
        try:
            text = xacro.process_file(str(path), mappings=values, verbosity=0).toprettyxml(indent="  ")
        except Exception as error:  # noqa: BLE001 - as xacro_child does
            what, valid, _ = xacro_child._complaint(error, {**request, "limits": {"memory": MEMORY}})
            check_error(ThunderError(what, where=str(path), valid=valid))
            return
        finally:
            xacro.parse = parse
        urdf.read_urdf_text(text, "robot.xacro (expanded)")

    return Target(seeds, mutations.of_xml(seeds, tags, names), read)


class _NoLimits:
    """The guard of xacro, with no limits for this process."""

    limits = dict.fromkeys(("memory", "seconds", "bytes", "open_files"), 0)

    def __init__(self, guard: xacro_child._Guard) -> None:
        self.find = guard.find


def read_csv() -> Target:
    """Records of motions and references from CSV."""
    record = b"t,a.position,b.position,a.effort,b.effort\n" + b"".join(
        b"%g,0.1,%g,1,-2\n" % (k * 1e-3, k * 0.01) for k in range(6)
    )
    joints = b"t,q1,q2\n" + b"".join(b"%g,0.1,%g\n" % (k * 0.1, k * 0.01) for k in range(6))
    rates = b"t,q1,q2,qd1,qd2,qdd1,qdd2\n" + b"".join(b"%g,0.1,%g,0,0.1,0,0\n" % (k * 0.1, k * 0.01) for k in range(4))
    poses = b"t,x,y,z,yaw,pitch,roll\n" + b"".join(
        b"%g,0.1,%g,0,0.1,0,%g\n" % (k * 0.1, k * 0.01, k * 0.1) for k in range(4)
    )
    turns = b"t,x,y,z,qx,qy,qz,qw\n" + b"".join(b"%g,0.1,%g,0,0,0,0,1\n" % (k * 0.1, k * 0.01) for k in range(4))
    seeds = [record, joints, rates, poses, turns]
    content = b""
    columns.read_bytes = lambda *_: content
    records.exists = lambda _: True
    robot: Any = SimpleNamespace(joint_names=JOINTS, joint_topology=np.where(CIRCLES, Topology.CIRCLE, Topology.LINE))
    times = np.linspace(0.0, 0.3, 7)

    def read(data: bytes) -> None:
        nonlocal content
        content, path = data, Path("table.csv")
        if b"effort" in data:
            record = records.read_record(path, JOINTS, circles=CIRCLES)
            if not 0.0 < record.rate < np.inf:
                raise Broken("a record without a rate")
            return
        follower = Follower(robot, cartesian=b"q1" not in data, folder=Path())
        reference = table_file.Csv(file=path.name).build_for(follower)
        if not np.isfinite(_sampled(reference, times)).all():
            raise Broken("a reference with numbers that are not finite")

    return Target(seeds, mutations.of_tables(seeds), read)


def _sampled(reference: Any, times: Any) -> Any:
    try:
        return reference.sample(times)
    except ThunderError as error:
        raise type(error)(error.what, where="table.csv", valid=error.valid) from error


def read_npz() -> Target:
    """Traces as records of motions."""
    records.exists = lambda _: True
    names, rows = np.array(["a", "b"]), np.linspace(0.0, 1.0, 10).reshape(5, 2)
    seeds = []
    for save in (np.savez, np.savez_compressed):
        file = BytesIO()
        save(file, t=np.arange(5) * 1e-3, q_measured=rows, effort=rows, joint_names=names)
        seeds.append(file.getvalue())

    def read(data: bytes) -> None:
        with WATCH.looking_away():
            file = os.fdopen(os.memfd_create("npz"), "w+b")
            file.write(data)
            file.seek(0)
        archive.open_file = lambda *_: file
        records.read_record(Path("trace.npz"), JOINTS, circles=CIRCLES)

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        """Bytes of the archive, or the header of an array, with checksums that fit."""
        if seed % 3 == 0:
            return bytes(atheris.Mutate(data or seeds[0], largest))
        import zipfile
        from random import Random

        random, file = Random(seed), BytesIO()
        try:
            with zipfile.ZipFile(BytesIO(data or seeds[0])) as archive:
                parts = [(info.filename, archive.read(info)) for info in archive.infolist()]
        except Exception:  # noqa: BLE001 - whatever it is, it is not valid
            return random.choice(seeds)
        with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, part in parts:
                if random.random() < 0.4:
                    part = bytes(atheris.Mutate(part, len(part) + 20))
                if random.random() < 0.3:
                    swap = random.choice(
                        [
                            (b"<f8", b"<f4"),
                            (b"<f8", b"<i8"),
                            (b"<f8", b"|O8"),
                            (b"(5,", b"(1,"),
                            (b"(5, 2)", b"(5, 3)"),
                            (b"<f8", b"<c16"),
                            (b"(5, 2)", b"(10,) "),
                            (b"<U1", b"<U9"),
                            (b"False", b"True "),
                            (b"(5,", b"(0,"),
                            (b"<f8", b"<M8"),
                        ]
                    )
                    part = part.replace(*swap)
                archive.writestr(name, part)
        return file.getvalue()[:largest]

    return Target(seeds, mutate, read)


def read_bag() -> Target:
    """Bags as records of motions, as the process of its own reads them, without its bounds."""
    from tempfile import mkdtemp

    sys.path += [str(ROOT / "test"), str(ROOT / "test/identification")]
    with atheris.instrument_imports(include=["rosbags"]):
        from rosbags.rosbag2 import StoragePlugin
    from test_records import write_bag

    folder, seeds = Path(mkdtemp()), list[bytes]()
    for plugin in StoragePlugin:
        made = write_bag(folder / plugin.name, plugin, samples=3)
        seeds += [file.read_bytes() for file in made.iterdir() if file.suffix in bag_module.FILES]
    files = {suffix: (folder / f"a{suffix}").open("w+b", buffering=0) for suffix in bag_module.FILES}

    def read(data: bytes) -> None:
        suffix = ".db3" if data.startswith(b"SQLite") else ".mcap"
        with WATCH.looking_away():
            os.ftruncate(files[suffix].fileno(), 0)
            os.pwrite(files[suffix].fileno(), data, 0)
        request = {"path": files[suffix].name, "joints": ["joint1", "joint2"], "topic": "/joint_states"}
        try:
            rows = list(bag_module.rows_of(request))
        except bag_module.RefusedError as error:
            what, where, valid = error.args
            raise records.RecordError(what, where=where, valid=valid) from error
        if any(len(row) != 5 for row in rows):
            raise Broken("a row of another length")

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        """Bytes of the bag, or a length of eight of them."""
        if seed % 2 or len(data) < 200:
            return bytes(atheris.Mutate(data or seeds[0], largest))
        place, length = seed // 2 % (len(data) - 8), [0, 1, 1 << 20, 1 << 40, 1 << 62, 1 << 63][seed // 7 % 6]
        return data[:place] + length.to_bytes(8, "little") + data[place + 8 :]

    return Target(seeds, mutate, read)


TARGETS: dict[str, Callable[[], Target]] = {
    "robot_yaml": robot_yaml,
    "urdf": read_urdf,
    "xacro": read_xacro,
    "scenario": read_scenario,
    "study": read_study,
    "gains": read_gains,
    "parameters": read_parameters,
    "yaml": yaml_text,
    "csv": read_csv,
    "npz": read_npz,
    "bag": read_bag,
}


# --- the program ------------------------------------------------------------------------------------------------------


WATCH = Watch()


class Campaign:
    """Inputs of one target, and what was found."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.target = TARGETS[name]()
        self.count = self.taken = self.slowest = 0.0
        self.refused: dict[str, int] = {}
        self.findings: dict[str, int] = {}
        self.started = time.monotonic()

    def once(self, data: bytes) -> None:
        """Read one input and note what came of it."""
        self.count += 1
        begin = time.process_time()
        WATCH.seen.clear()
        signal.setitimer(signal.ITIMER_PROF, 4 * SECONDS)
        WATCH.is_reading = True
        try:
            try:
                self.target.read(data)
                self.taken += 1
            except ThunderError as error:
                self.refused[type(error).__name__] = self.refused.get(type(error).__name__, 0) + 1
                check_error(error)
            finally:
                WATCH.is_reading = False
                signal.setitimer(signal.ITIMER_PROF, 0)
            if WATCH.seen:
                raise Broken(f"does what a reader may not: {WATCH.seen[0]}")
        except TooSlow:
            self.note("took too long", data, None)
        except Exception as error:  # noqa: BLE001 - which is what is looked for
            self.note(signature(error), data, error)
        spent = time.process_time() - begin
        if spent > SECONDS:
            self.note("took more than a second", data, None)
        self.slowest = max(self.slowest, spent)

    def note(self, kind: str, data: bytes, error: BaseException | None) -> None:
        """Keep the shortest input of a kind of finding."""
        self.findings[kind] = self.findings.get(kind, 0) + 1
        name = hashlib.sha256(kind.encode()).hexdigest()[:10]
        file = self.folder / self.name / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or len(data) < file.stat().st_size:
            file.write_bytes(data)
            text = "".join(traceback.format_exception(error)) if error else ""
            file.with_suffix(".txt").write_text(f"{kind}\n{text}", encoding="utf-8", errors="backslashreplace")

    def write(self) -> None:
        """Say what was tried."""
        found = {
            "inputs": int(self.count),
            "taken": int(self.taken),
            "refused": self.refused,
            "slowest_s": round(self.slowest, 3),
            "seconds": round(time.monotonic() - self.started, 1),
            "findings": self.findings,
        }
        (self.folder / f"{self.name}.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """Run one target."""
    name, inputs, folder = sys.argv[1], int(float(sys.argv[2])), Path(sys.argv[3])
    seed = sys.argv[4] if len(sys.argv) > 4 else "1"
    warnings.simplefilter("ignore")
    source_module.warnings.warn = lambda *_, **__: None  # type: ignore[assignment]
    campaign = Campaign(name, folder)
    corpus = folder / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    for data in campaign.target.seeds:
        (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _too_slow)
    left = inputs

    def once(data: bytes) -> None:
        nonlocal left
        campaign.once(data)
        left -= 1
        if left % 20_000 == 0 or left == 0:
            campaign.write()

    options = [
        f"-runs={inputs}",
        f"-max_len={LARGEST.get(name, 6000)}",
        f"-seed={seed}",
        "-timeout=30",
        "-print_final_stats=1",
    ]
    options += [f"-artifact_prefix={folder}/{name}-", "-rss_limit_mb=3000"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], once, custom_mutator=campaign.target.mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
