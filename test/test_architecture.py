"""Imports go one way and folders stay small, as docs/how-it-works.md has it; checked on the source text alone."""

from __future__ import annotations

import ast
import graphlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

LAYERS = (
    ("version", "errors"),
    ("storage",),
    ("spatial", "inertia", "entries"),
    ("joints",),
    ("model",),
    ("locking", "plausibility"),
    ("readers", "algorithms"),
    ("runtime",),
    ("expressions",),
    ("law",),
    ("codegen",),
    ("build",),
    ("cli",),
)
"""Modules and packages of thunder_dynamics, lowest first: each imports only from layers below its own, or itself."""

RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

LAWS = "laws"
"""Graph builders of thunder_controllers: the only ones that may import CasADi."""

CONTROLLERS: dict[str, set[str]] = {
    "__main__": set(),
    "resources": set(),
    "load": set(),
    "archive": set(),
    "bag": {"fields"},
    "description": {"fields", "identification", "simulation"},
    "fields": set(),
    "mesh": {"fields", "package_uri"},
    "package_uri": {"resources"},
    "laws": set(),
    "host": set(),
    "references": {"fields", "host"},
    "analysis": {"host"},
    "redundancy": set(),
    "identification": {"archive", "bag", "references", "fields", "host"},
    "simulation": {"archive", "mesh", "identification", "references", "fields", "host", "resources"},
    "arms": {"simulation", "fields", "host", "package_uri"},
    "view": {"mesh", "simulation", "references", "fields", "host"},
    "report": {"mesh", "view", "simulation", "identification", "fields", "host"},
    "experiments": {"report", "simulation", "references", "fields", "host", "resources"},
    "scripting": {"arms", "experiments", "report", "view", "simulation", "references", "fields", "host"},
    "commands": {
        "arms",
        "description",
        "fields",
        "experiments",
        "report",
        "view",
        "simulation",
        "identification",
        "analysis",
        "host",
        "resources",
    },
    "commissioning": {
        "commands",
        "simulation",
        "identification",
        "references",
        "analysis",
        "fields",
        "host",
        "resources",
    },
    "doctor": {"commands", "analysis", "fields", "host", "load", "ros"},
    "franka": {"commands", "fields", "host", "identification", "load", "simulation", "resources"},
    "gym": {"simulation", "references", "fields", "host"},
    "ros": {"references", "fields", "host", "load", "simulation", "package_uri", "resources"},
}
"""Parts of thunder_controllers, and what each imports beside itself."""

ROS: dict[str, set[str]] = {
    "common": set(),
    "controller": {"common"},
    "generator": {"common"},
    "model": {"common"},
    "simulation": {"common", "controller"},
    "reference": {"common", "controller", "simulation"},
    "client": {"common", "controller", "reference"},
    "bringup": {"common"},
    "interfaces": {"common", "controller", "generator", "reference", "simulation", "bringup"},
    "tools": {"common", "generator", "interfaces", "model", "reference", "simulation"},
}
"""Parts of thunder_controllers.ros: a folder per node, which knows no other but those it is listed with."""

HOST: dict[str, set[str]] = {
    "error": set(),
    "triple_buffer": set(),
    "priority_mutex": set(),
    "note": set(),
    "library": {"error"},
    "options": {"error", "library"},
    "motion": {"error", "library"},
    "measurement": {"options"},
    "safety": {"error", "library", "measurement", "note", "options"},
    "law": {"error", "library", "motion", "triple_buffer"},
    "reference": {"error", "law", "library", "measurement", "motion", "options", "safety", "triple_buffer"},
    "feedback_margin": {"error", "law", "library", "measurement", "note", "options", "reference", "safety"},
    "controller": {
        *("error", "feedback_margin", "law", "library", "measurement", "motion", "options", "reference", "safety"),
    },
    "fleet": {"controller", "error", "law", "library"},
    "plant": {"library"},
    "freshness": {"safety"},
    "snapshot": {"law", "motion", "safety"},
    "report": {"law", "library", "reference", "snapshot"},
    "session": {
        "controller",
        "error",
        "freshness",
        "law",
        "library",
        "motion",
        "priority_mutex",
        "reference",
        "snapshot",
        "triple_buffer",
    },
}
"""Folders of the host and the files beside them, lowest first, and what each includes beside itself."""

ONLY_IN = {
    "rclpy": ("thunder_controllers.ros",),
    "mujoco": (
        "thunder_controllers.simulation",
        "thunder_controllers.view",
        "thunder_controllers.ros.simulation",
        "thunder_controllers.commands",
    ),
}
"""Where alone a library may be imported."""

INCLUDE = re.compile(r'^#include "thunder/host/(\S+)"', re.MULTILINE)

STUDIES = {
    "arms",
    "commissioning",
    "experiments",
    "report",
    "simulation",
    "identification",
    "references",
    "redundancy",
    "host",
    "resources",
}
"""Parts of thunder_controllers that thunder_studies imports; none of them imports a study."""

PACKAGES = ("thunder_dynamics", "thunder_controllers", "thunder_studies")
SOURCES = {".py", ".cpp", ".hpp", ".h", ".c"}
LARGEST_FOLDER = 12
"""Source files beside `__init__.py`: what a reader takes in at a glance."""


def source_files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def walk(node: ast.AST, into_functions: bool) -> Iterator[ast.AST]:
    """Every node that may run; with `into_functions` false, only what runs when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if is_type_checking(child):
            continue
        if not into_functions and isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        yield child
        yield from walk(child, into_functions)


def file_of(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split("."))
    return next((file for file in (base.with_suffix(".py"), base / "__init__.py") if file.is_file()), None)


@cache
def imports(file: Path, into_functions: bool = True) -> frozenset[str]:
    """Dotted names of all modules that `file` imports."""
    found: set[str] = set()
    for node in walk(ast.parse(file.read_text(encoding="utf-8")), into_functions):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module_name(file).split(".")
                package = package if file.name == "__init__.py" else package[:-1]
                base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
            members = {f"{base}.{alias.name}" for alias in node.names}
            found |= {base} | {member for member in members if file_of(member)}
    return frozenset(found)


def top(module: str) -> str:
    return module.split(".")[0]


def part(module: str) -> str:
    """The module or subpackage right below the package: `readers` of thunder_dynamics.readers.urdf."""
    return (module.split(".") + [""])[1]


@pytest.mark.parametrize("file", source_files("thunder_dynamics"), ids=module_name)
def test_the_compiler_imports_only_from_layers_below(file: Path) -> None:
    own = part(module_name(file))
    if not own:  # the facade of the package re-exports from every layer, lazily
        assert imports(file, into_functions=False) <= {
            *sys.stdlib_module_names,
            "collections.abc",
            "thunder_dynamics.errors",
            "thunder_dynamics.version",
        }
        return
    assert own in RANK, f"{own} has no layer: give it one in LAYERS and in docs/how-it-works.md"
    used = {part(name) for name in imports(file) if top(name) == "thunder_dynamics"} - {"", own}
    assert {name for name in used if RANK[name] >= RANK[own]} == set()


@pytest.mark.parametrize("file", source_files("thunder_dynamics"), ids=module_name)
def test_the_compiler_knows_no_controller_no_simulator_and_no_ros(file: Path) -> None:
    assert {top(name) for name in imports(file)} & {
        "thunder_controllers",
        "mujoco",
        "rclpy",
        "ament_index_python",
    } == set()


def test_only_build_and_the_command_line_use_readers() -> None:
    users = {part(module_name(f)) for f in source_files("thunder_dynamics") if "thunder_dynamics.readers" in imports(f)}
    assert users <= {"readers", "build", "cli"}


@pytest.mark.parametrize(
    "file", [f for f in source_files("thunder_controllers") if part(module_name(f)) == LAWS], ids=module_name
)
def test_laws_import_only_the_compiler(file: Path) -> None:
    used = imports(file)
    own = {part(name) for name in used if top(name) == "thunder_controllers"} - {""}
    assert own <= {LAWS}
    foreign = {top(name) for name in used} - {*sys.stdlib_module_names, "thunder_controllers", "thunder_dynamics"}
    assert foreign <= {"casadi", "numpy"}
    assert {top(name) for name in used} & {"os", "io", "pathlib", "socket", "subprocess"} == set()


def reached_on_import(file: Path) -> dict[str, str]:
    """What importing `file` imports, directly or through our own modules: name → the module that asks for it."""
    reached: dict[str, str] = {}
    queue = [file]
    while queue:
        current = queue.pop()
        for name in sorted(imports(current, into_functions=False)):
            if name in reached:
                continue
            reached[name] = module_name(current)
            parents = [".".join(name.split(".")[:i]) for i in range(1, name.count(".") + 2)]
            queue += [found for parent in parents if (found := file_of(parent)) is not None]
    return reached


RUNTIME = [f for f in source_files("thunder_controllers") if part(module_name(f)) != LAWS]


@pytest.mark.parametrize("file", RUNTIME, ids=module_name)
def test_what_runs_laws_needs_no_casadi(file: Path) -> None:
    assert "casadi" not in {top(name) for name in imports(file)}
    reached = reached_on_import(file)
    assert "casadi" not in reached, f"through {reached.get('casadi')}"


def parts_used(file: Path, package: str) -> set[str]:
    """Parts of `package`, modules or folders right below it, that `file` imports, its own left out."""
    depth = package.count(".") + 1
    used = {name.split(".")[depth] for name in imports(file) if name.startswith(f"{package}.")}
    return used - {module_name(file).split(".")[depth]}


@pytest.mark.parametrize(
    ("package", "table"), [("thunder_controllers", CONTROLLERS), ("thunder_controllers.ros", ROS)], ids=["all", "ros"]
)
def test_the_controllers_import_as_the_table_says(package: str, table: dict[str, set[str]]) -> None:
    folder = ROOT.joinpath(*package.split("."))
    wrong = []
    for file in sorted(folder.rglob("*.py")):
        if file.parent == folder and file.name == "__init__.py":
            continue
        own = file.relative_to(folder).with_suffix("").parts[0]
        assert own in table, f"{own} has no place: give it one in the table and in docs/how-it-works.md"
        wrong += [f"{module_name(file)} imports {name}" for name in sorted(parts_used(file, package) - table[own])]
    assert wrong == []


def test_studies_stand_above_the_controllers() -> None:
    used = {name for file in source_files("thunder_studies") for name in imports(file)}
    assert {part(name) for name in used if top(name) == "thunder_controllers"} - {""} <= STUDIES
    below = [file for package in PACKAGES[:2] for file in source_files(package)]
    assert [file for file in below if "thunder_studies" in {top(name) for name in imports(file)}] == []


def test_the_host_includes_as_the_table_says() -> None:
    wrong, seen = [], set()
    folder = ROOT / "thunder_controllers" / "host"
    for root in (folder / "include" / "thunder" / "host", folder / "src"):
        for file in sorted(file for file in root.rglob("*.?pp")):
            own = file.relative_to(root).with_suffix("").parts[0]
            used = {
                name.split("/")[0].removesuffix(".hpp") for name in INCLUDE.findall(file.read_text(encoding="utf-8"))
            }
            seen.add(own)
            wrong += [f"{file.relative_to(folder)} includes {name}" for name in sorted(used - {own} - HOST[own])]
    assert wrong == []
    assert seen == set(HOST)
    assert list(graphlib.TopologicalSorter(HOST).static_order()), "a circle raises"


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_is_imported_only_where_it_belongs(library: str) -> None:
    users = {module_name(f) for p in PACKAGES for f in source_files(p) if library in {top(n) for n in imports(f)}}
    assert users, "nobody imports it: the test looks in the wrong place"
    assert [name for name in sorted(users) if not name.startswith(ONLY_IN[library])] == []


OPENERS = re.compile(
    r"(io\.|os\.fd|os\.|gzip\.|bz2\.|lzma\.|tarfile\.)?open|(path|file|partial|.*\))\.open|.+\.(read_text|read_bytes)"
    r"|(np|numpy)\.(load|loadtxt|genfromtxt|fromfile|memmap)|(json|pickle)\.load|sqlite3\.connect|zipfile\.ZipFile"
    r"|(etree|ElementTree)\.parse"
)
"""Functions that read what lies under a name."""

WRITERS = re.compile(r".+\.(write_text|write_bytes)")
"""Methods that write under a name."""

OPENS_ITSELF = {
    "thunder_dynamics.storage.door": "it is the door",
    "thunder_dynamics.storage.whole": "it writes",
    "thunder_dynamics.storage.lock": "locks, and /proc",
    "thunder_dynamics.storage.apart": "a file in memory",
    "thunder_dynamics.runtime.loading": "a file in memory",
    "thunder_dynamics.readers.xacro_child": "the standard input; files are bounded by its audit hook",
    "thunder_dynamics.cli": "the null device",
    "thunder_dynamics.codegen.text": "templates of this package",
    "thunder_dynamics.codegen.package_files": "the header of this package",
    "thunder_dynamics.codegen.targets.interpreter": "the header of this package",
    "thunder_controllers.archive": "a file that the door opened",
    "thunder_controllers.doctor.check": "files of the kernel",
}
"""Modules that open files by another way than the door, and which."""

WRITES_ITSELF = {
    "thunder_dynamics.build": "a folder that is put in its place as a whole, and can be made again",
    "thunder_dynamics.storage.checksums": "the same",
    "thunder_controllers.ros.generator.node": "a temporary folder",
    "thunder_controllers.ros.tools.launcher": "a temporary folder",
    "thunder_controllers.ros.tools.rqt": "a temporary folder",
    "thunder_studies.bad_day": "a temporary folder",
    "thunder_studies.faults.isolation": "a temporary folder",
}
"""Modules that write files by another way than `storage.whole`, and which."""


def callers(functions: re.Pattern[str]) -> dict[str, list[str]]:
    """Calls of these functions by the name of the module."""
    found: dict[str, list[str]] = {}
    for file in (file for package in PACKAGES for file in source_files(package)):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and functions.fullmatch(ast.unparse(node.func)):
                found.setdefault(module_name(file), []).append(ast.unparse(node))
    return found


@pytest.mark.parametrize(("functions", "others"), [(OPENERS, OPENS_ITSELF), (WRITERS, WRITES_ITSELF)])
def test_files_are_read_and_written_at_one_place_alone(functions: re.Pattern[str], others: dict[str, str]) -> None:
    """`storage.door` looks at what lies there before a byte is read; `storage.whole` writes what is meant to last."""
    found = callers(functions)
    assert {name: calls for name, calls in found.items() if name not in others} == {}
    assert set(others) <= set(found), "an exception that is none any more"


def test_the_host_opens_files_at_one_place_alone() -> None:
    folders = [ROOT / "thunder_controllers" / name for name in ("host", "ros2_control")]
    calls = re.compile(r"\b[io]?fstream\b|\bfopen\(|::open(at)?\(|\bmkstemp\(")
    users = {f.name for folder in folders for f in folder.rglob("*.?pp") if calls.search(f.read_text(encoding="utf-8"))}
    assert users == {"file.cpp"}


def test_no_import_goes_round() -> None:
    """Imports inside functions count: they only postpone what a circle breaks."""
    files = [file for package in PACKAGES for file in source_files(package)]
    names = {module_name(file) for file in files}
    graph = {module_name(file): (imports(file) & names) - {module_name(file)} for file in files}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_folders_are_small() -> None:
    counts: dict[str, int] = {}
    for file in (file for package in PACKAGES for file in (ROOT / package).rglob("*")):
        if file.suffix in SOURCES and file.name != "__init__.py":
            folder = file.parent.relative_to(ROOT).as_posix()
            counts[folder] = counts.get(folder, 0) + 1
    assert {folder: count for folder, count in counts.items() if count > LARGEST_FOLDER} == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import casadi as ca", {"casadi"}),
        ("from thunder_dynamics import errors", {"thunder_dynamics", "thunder_dynamics.errors"}),
        ("from . import errors", {"thunder_dynamics", "thunder_dynamics.errors"}),
        ("from .readers import urdf", {"thunder_dynamics.readers", "thunder_dynamics.readers.urdf"}),
        ("try:\n    import casadi\nexcept ImportError:\n    pass", {"casadi"}),
        ("if TYPE_CHECKING:\n    import casadi", set()),
        ("def f():\n    import casadi", set()),
    ],
)
def test_the_reader_of_imports_sees_every_form(
    text: str, expected: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("__init__.py", "errors.py", "readers/__init__.py", "readers/urdf.py", "probe.py"):
        file = tmp_path / "thunder_dynamics" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text if name == "probe.py" else "")
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    assert imports(tmp_path / "thunder_dynamics" / "probe.py", into_functions=False) == expected
