"""Compile the comparison program, generated code and Pinocchio in one binary with one set of flags, and run it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from shutil import copy, copytree
from typing import Any

from robot_text import robot_text

from thunder_dynamics.build import build
from thunder_dynamics.codegen import toolchain
from thunder_dynamics.codegen.package import Package
from thunder_dynamics.errors import BuildError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.model import RobotModel

HERE = Path(__file__).resolve().parent
HOST = HERE.parent / "thunder_controllers" / "host"
ABI = HERE.parent / "thunder_dynamics" / "include"
HOST_FLAGS = ("-O2",)
"""As setup.py compiles the host."""

LAW = "cartesian_backstepping"
LAST, ALL = "last link adapted", "all links adapted"
ADAPTED: Mapping[str, Mapping[str, str]] = {LAST: {}, ALL: {"adapted_links": "all"}}
"""Options of the law, by label."""

PINOCCHIO_DEFINES = (
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)
"""What Pinocchio's headers need where its own CMake files are not used."""

RELEASE = "-DNDEBUG"
"""Without it Eigen and Pinocchio check sizes and ranges, which doubles Pinocchio's times; the C core has no checks."""


@dataclass(frozen=True)
class Program:
    """The compiled program, the robot's text and the libraries of the control laws."""

    binary: Path
    robot: Path
    libraries: Mapping[str, Path]

    def run(self, *words: str, core: int | None = None, prefix: Sequence[str] = ()) -> list[list[str]]:
        """Run it, pinned to a core on request; returns its output, lines split at tabs.

        Raises:
            BuildError: with its messages unless it exits with 0.
        """
        pairs = [] if words == ("check",) else [w for label, path in self.libraries.items() for w in (label, str(path))]
        pin = [] if core is None else ["taskset", "-c", str(core)]
        command = [*pin, *prefix, str(self.binary), str(self.robot), *words, *pairs]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            message = f"exit status {result.returncode}\n{result.stdout[-2000:]}{result.stderr[-2000:]}"
            raise BuildError(message, where=str(self.binary), valid="numbers that agree, exit status 0")
        return [line.split("\t") for line in result.stdout.splitlines()]

    def copied(self, folder: Path) -> Program:
        """The same, of copies in a folder: of other pages of memory."""
        libraries = {
            label: Path(copytree(path.parent, folder / label.split()[0])) / path.name
            for label, path in self.libraries.items()
        }
        return Program(Path(copy(self.binary, folder)), self.robot, libraries)


def make_program(model: RobotModel, folder: Path, *, portable: bool = False) -> Program:
    """Build the libraries and the program into a folder; what is there and has the same inputs is reused.

    Raises:
        BuildError: if a compiler fails or Pinocchio's headers are missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shared: dict[str, Any] = {"portable": portable, "functions": ["inverse_dynamics"]}
    built = {
        label: build(model, [(LAW, given)], folder=folder / label.split()[0], **shared)
        for label, given in ADAPTED.items()
    }
    robot = folder / "robot.txt"
    robot.write_text(robot_text(model), encoding="utf-8")
    generated = built[ALL]
    sources = [generated / file for file in (f"{model.name}_gen.c", f"{model.name}_library.c")]
    sources += [HERE / f"{stem}.cpp" for stem in ("robot", "compiled", "timing", "dynamics")]
    sources += sorted((HOST / "src").rglob("*.cpp"))
    binary = _with_peer(sources, generated, folder, toolchain.compile_flags(portable))
    return Program(binary, robot, {label: path / f"lib{model.name}.so" for label, path in built.items()})


def make_terms_program(model: RobotModel, functions: Sequence[str], folder: Path, name: str) -> Program:
    """Build the program that times some functions of a large robot, `terms`, from the C core of its library.

    What is generated is in a folder of that name; compiled files are shared by all of them.

    Raises:
        BuildError: if a compiler fails or Pinocchio's headers are missing.
    """
    generated = folder / name
    generated.mkdir(parents=True, exist_ok=True)
    package = Package(RobotExpressions(model), functions=functions)
    sources = {f"{model.name}_gen.c": package.core.source, f"{model.name}_gen.h": package.core.header}
    for file, text in {**sources, "robot.txt": robot_text(model)}.items():
        (generated / file).write_text(text, encoding="utf-8")
    parts = [generated / f"{model.name}_gen.c", *(HERE / f"{stem}.cpp" for stem in ("robot", "timing", "terms"))]
    binary = _with_peer(parts, generated, folder, toolchain.compile_flags(portable=False))
    return Program(binary, generated / "robot.txt", {})


def pinocchio_include() -> Path:
    """Folder of Pinocchio's, Boost's and Eigen's headers in the installed wheels.

    Raises:
        BuildError: if the package `pin` is not installed.
    """
    try:
        include = Path(str(metadata.distribution("libpinocchio").locate_file("cmeel.prefix/include")))
    except metadata.PackageNotFoundError:
        raise BuildError("Pinocchio's headers are missing", valid="pip install pin") from None
    if not (include / "pinocchio" / "multibody.hpp").is_file():
        raise BuildError("Pinocchio's headers are missing", where=str(include), valid="pip install pin")
    return include


def eigen_include() -> Path:
    """Folder of Eigen's headers: the package cmeel-eigen, or else where Debian has them."""
    try:
        return Path(str(metadata.distribution("cmeel-eigen").locate_file("cmeel.prefix/include/eigen3")))
    except metadata.PackageNotFoundError:
        return Path("/usr/include/eigen3")


def host_program(source: Path, folder: Path, flags: Sequence[str] = HOST_FLAGS, others: Sequence[Path] = ()) -> Path:
    """Compile a C++ program, of a source and others, with the host; programs with the same flags share its objects."""
    headers = [f"-I{HOST / 'include'}", f"-I{ABI}", f"-I{source.parent}", "-isystem", str(eigen_include())]
    command = [*toolchain.compiler("c++"), "-std=c++17", "-Wall", "-Wextra", *flags]
    sources = [source, *others, *sorted((HOST / "src").rglob("*.cpp"))]
    return link([([*command, *headers], part) for part in sources], folder, [*command, "-pthread"])


def _with_peer(sources: Sequence[Path], generated: Path, folder: Path, flags: Sequence[str]) -> Path:
    """Compile Pinocchio's side and the sources, of which some are generated, to one program."""
    own = [f"-I{folder}" for folder in (HERE, HOST / "include", generated)]
    headers = ["-isystem", str(pinocchio_include()), "-isystem", str(eigen_include())]
    # GCC warns about Eigen's AVX-512 intrinsics, whose undefined operands are intended.
    # What serves straight-line C is nothing that whoever compiles the peer would ask for.
    chosen = [flag for flag in flags if flag != toolchain.NO_SLP]
    cpp = [*toolchain.compiler("c++"), "-std=c++17", "-w", *chosen, RELEASE, *headers]
    c = [*toolchain.compiler("c"), "-std=c99", *flags]
    release = f"-DPINOCCHIO_RELEASE={metadata.version('libpinocchio')}"  # another one is compiled anew
    parts = [([*cpp, *PINOCCHIO_DEFINES, release, f"-I{HERE}"], HERE / "peer.cpp")]
    parts += [([*(c if source.suffix == ".c" else cpp), *own], source) for source in sources]
    return link(parts, folder, toolchain.compiler("c++"))


def link(parts: Sequence[tuple[Sequence[str], Path]], folder: Path, linker: Sequence[str]) -> Path:
    """Compile each source by its command to an object named after all that it is made of, and link them.

    What is there is not made again; each file appears whole, whoever else makes the same one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    objects = [folder / f"{source.stem}_{_digest(tuple(command), source)}.o" for command, source in parts]
    _make_all({it: [*command, "-c", str(one)] for it, (command, one) in zip(objects, parts, strict=True)})
    name = hashlib.sha256(repr((linker, objects)).encode()).hexdigest()[:16]
    program = folder / f"{parts[0][1].stem}_{name}"
    _make_all({program: [*linker, *map(str, objects), "-ldl", "-lcrypto", "-lm"]})
    return program


def _make_all(commands: Mapping[Path, Sequence[str]]) -> None:
    parts = {it: it.with_name(f".{os.getpid()}_{it.name}") for it in commands if not it.is_file()}
    toolchain.run_all([[*commands[it], "-o", str(part)] for it, part in parts.items()], HERE)
    for it, part in parts.items():
        part.replace(it)


def _digest(command: tuple[str, ...], source: Path) -> str:
    return hashlib.sha256(_state(command) + source.read_bytes()).hexdigest()[:16]


@cache
def _state(command: tuple[str, ...]) -> bytes:
    """Hash of a command, its compiler and every header that it may include, but for those of libraries."""
    version = toolchain.run([command[0], "--version"])
    digest = hashlib.sha256(repr((command, version, toolchain.compiler_identity())).encode())
    folders = [Path(word[2:]) for word in command if word.startswith("-I")]
    for header in sorted(path for folder in folders for path in folder.rglob("*.h*") if path.is_file()):
        digest.update(header.read_bytes())
    return digest.digest()


def write_results(path: Path, results: Any) -> None:
    """Write numbers as JSON to a file of a folder that is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1), encoding="utf-8")


def cores() -> list[int]:
    """Cores this process may use."""
    return sorted(os.sched_getaffinity(0))
