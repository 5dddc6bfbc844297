"""Compile the comparison program, generated code and Pinocchio in one binary with one set of flags, and run it."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from robot_text import robot_text

from thunder_dynamics.build import build
from thunder_dynamics.codegen import toolchain
from thunder_dynamics.codegen.package import Package
from thunder_dynamics.errors import BuildError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.model import RobotModel

HERE = Path(__file__).resolve().parent
HOST = HERE.parent / "thunder_controllers" / "host"
LAW = "cartesian_backstepping"
LAST, ALL = "last link adapted", "all links adapted"

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


def make_program(model: RobotModel, folder: Path, *, portable: bool = False) -> Program:
    """Build the libraries and the program into a folder; what is there and has the same inputs is reused.

    Raises:
        BuildError: if a compiler fails or Pinocchio's headers are missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    options: dict[str, dict[str, str]] = {LAST: {}, ALL: {"adapted_links": "all"}}
    built = {
        label: build(model, [(LAW, given)], folder=folder / label.split()[0], python=False, portable=portable)
        for label, given in options.items()
    }
    robot = folder / "robot.txt"
    robot.write_text(robot_text(model), encoding="utf-8")
    binary = _compile(model.name, built[ALL], folder, toolchain.compile_flags(portable))
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
    return Program(
        _link(parts, generated, folder, toolchain.compile_flags(portable=False)), generated / "robot.txt", {}
    )


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


def _compile(name: str, generated: Path, folder: Path, flags: Sequence[str]) -> Path:
    """Compile the generated sources, the host's and those of the comparison; returns the program."""
    sources = [generated / file for file in (f"{name}_gen.c", f"{name}_library.c", f"thunder_{name}.cpp")]
    sources += [HERE / f"{stem}.cpp" for stem in ("robot", "compiled", "timing", "dynamics")]
    return _link([*sources, *sorted((HOST / "src").rglob("*.cpp"))], generated, folder, flags)


def _link(sources: Sequence[Path], generated: Path, folder: Path, flags: Sequence[str]) -> Path:
    """Compile Pinocchio's side and every source to an object named after its inputs, then link."""
    include, cc, cxx = pinocchio_include(), toolchain.compiler("c"), toolchain.compiler("c++")
    own = [f"-I{HERE}", f"-I{HOST / 'include'}"]
    headers = ["-isystem", str(include), "-isystem", str(toolchain.eigen_include())]
    # GCC warns about Eigen's AVX-512 intrinsics, whose undefined operands are intended.
    cpp = [*cxx, "-std=c++17", "-w", *flags, RELEASE, *own, *headers]
    plain_c = [*cc, "-std=c99", *flags, *own]
    table = [([*cpp, *PINOCCHIO_DEFINES], HERE / "peer.cpp")]
    table += [([*(plain_c if source.suffix == ".c" else cpp), f"-I{generated}"], source) for source in sources]
    objects = [folder / f"{source.stem}_{_digest(command, source)}.o" for command, source in table]
    missing = {
        target: [*command, "-c", str(source)]
        for (command, source), target in zip(table, objects, strict=True)
        if not target.is_file()
    }
    _make_all(missing)
    binary = folder / f"program_{hashlib.sha256(repr(objects).encode()).hexdigest()[:16]}"
    if not binary.is_file():
        _make_all({binary: [*cxx, *map(str, objects), "-ldl", "-lcrypto", "-lm"]})
    return binary


def _make_all(commands: Mapping[Path, Sequence[str]]) -> None:
    """Run compilers; each file appears whole, whoever else makes the same one."""
    parts = {target: target.with_name(f".{os.getpid()}_{target.name}") for target in commands}
    toolchain.run_all([[*command, "-o", str(parts[target])] for target, command in commands.items()], HERE)
    for target, part in parts.items():
        part.replace(target)


def _digest(command: Sequence[str], source: Path) -> str:
    """Hash of a command, its compiler, its source and every header of this project it may include."""
    digest = hashlib.sha256(repr((command, toolchain.compiler_identity())).encode())
    digest.update(metadata.version("libpinocchio").encode() + metadata.version("cmeel-eigen").encode())
    headers = [*HERE.glob("*.hpp"), *(HOST / "include").rglob("*.hpp"), *source.parent.glob("*.h")]
    for path in [source, *sorted(headers)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cores() -> list[int]:
    """Cores this process may use."""
    return sorted(os.sched_getaffinity(0))
