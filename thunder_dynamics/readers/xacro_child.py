"""Run by `xacro.expand_xacro` in an interpreter of its own: expands one file, which may compute and read its package.

xacro evaluates Python expressions. It forbids names with a double underscore and offers few functions, which does not
stop an expression from reaching the interpreter: `$(eval …)` sees all built-ins, and attributes of generators, types
and formats lead out of `${…}`. A robot description is data, so limits of the system bound what it takes, and an audit
hook, which nothing can take away, lets through what an expansion needs and no other event. Imports nothing of this
package, as that would take longer than the expansion.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import resource
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

MANIFEST = "package.xml"
"""What marks the folder of a ROS package."""

ENVIRONMENT = ("ROS_DISTRO", "ROS_VERSION", "ROS_NAMESPACE", "ROBOT_NAME")
"""Variables that `$(env …)` and `$(optenv …)` may read: what else a file needs is an xacro:arg."""

_HARMLESS = frozenset({"builtins.id", "glob.glob", "glob.glob/2"})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_FRAMES = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, types.FrameType, types.TracebackType)
_UNSAFE_ATTRIBUTES = {"format", "format_map", "mro"} | {n for kind in _FRAMES for n in dir(kind) if "_" in n}
_UNSAFE_FUNCTIONS = ("type", "vars")


def installed(package: str) -> Iterator[Path]:
    """Share folders of a package in the ament index, that of the first prefix first; opens no marker."""
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    for prefix in filter(None, prefixes if re.fullmatch(r"[A-Za-z0-9][\w-]*", package) else []):
        if Path(prefix, "share/ament_index/resource_index/packages", package).is_file():
            yield Path(prefix, "share", package).absolute()


def is_installed(folder: Path) -> bool:
    """Whether the ament index names this share folder: whoever set AMENT_PREFIX_PATH trusts what lies there."""
    return any(share.resolve() == folder.resolve() for share in installed(folder.name))


def package_folders(folder: Path) -> tuple[Path, ...]:
    """Where a package's files really lie: its folder, and its source behind `--symlink-install` if it is installed.

    Any other's `package.xml` may have come as a link, with the file that is read.
    """
    behind = ((folder / MANIFEST).resolve().parent,) if is_installed(folder) else ()
    return (folder.resolve(), *behind)


def packages_above(path: Path) -> Iterator[Path]:
    """Folders of packages that a path lies in, inner ones first."""
    return (folder for folder in path.parents if is_package(folder, path))


def is_package(folder: Path, path: Path) -> bool:
    """Whether a folder is a package for who reads a path; a manifest of another user marks none."""
    owners = {0, os.geteuid(), *((path.stat().st_uid,) if path.exists() else ())}
    manifest = folder / MANIFEST
    return manifest.is_file() and manifest.lstat().st_uid in owners


def own_folders(file: Path) -> Iterator[Path]:
    """Folders of the package that a file really lies in, without one its own; and of the installed one by its path."""
    for path in (file.absolute(), file.resolve()):
        package = next(packages_above(path), None)
        if package is not None and is_installed(package):
            yield from package_folders(package)
        elif path == file.resolve():
            yield package or path.parent


def is_inside(path: Path, folders: Iterable[Path]) -> bool:
    """Whether a path, behind its links, lies in one of these folders."""
    return any(path.resolve().is_relative_to(folder) for folder in folders)


class _RefusedError(Exception):
    """What is not allowed, what would be, and the line if it is known."""


def _refuse(what: str, valid: str, line: int | None = None) -> NoReturn:
    raise _RefusedError(" ".join(what.split())[:300], valid, line)


def _refusing(what: str, valid: str) -> Callable[..., NoReturn]:
    return lambda *_: _refuse(what, valid)


class _Arguments(dict[str, str]):
    """Values of xacro:arg that notes which names the file asked for."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.asked: set[object] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(name)
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


class _Guard:
    """The audit hook: reads of files in `folders`, expressions that compute, nothing else."""

    def __init__(self, folders: Iterable[Path], request: Mapping[str, Any]) -> None:
        self.folders = list(dict.fromkeys(folders))
        self.limits: Mapping[str, int] = request["limits"]
        self.packages: Mapping[str, str] = request["packages"]
        self.option = str(request["package_option"])

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self._check_file(arguments[0], arguments[2])
        elif event == "os.scandir":
            self._check_place(arguments[0])
        elif event == "compile" and arguments[1] == "<expression>":  # what xacro calls the text of ${…}
            _check_expression(str(arguments[0], "utf-8"))  # as text: bytes could name an encoding of their own
        elif not _is_harmless(event, arguments):
            _refuse(f"it may not cause the event '{event}' {arguments[:1]}", "computing, and reading its own package")

    def _check_place(self, name: Any) -> Path:
        path = Path(os.fsdecode(name))
        if not is_inside(path, self.folders):
            valid = f"files of its package, or of folders that are named: {', '.join(map(str, self.folders))}"
            _refuse(f"it may not read {path}", valid)
        return path

    def _check_file(self, name: Any, flags: int) -> None:
        if not isinstance(name, (str, bytes)) or flags & _WRITING:
            _refuse(f"it may not open {name} for writing", "reading")
        path = self._check_place(name)
        if path.exists() and not (path.is_file() and path.stat().st_size <= self.limits["bytes"]):
            _refuse(f"{path} is no file or too large", f"a file of at most {self.limits['bytes'] >> 10} KiB")

    def find(self, package: str) -> str:
        """The folder of a package, which counts as named then."""
        share = Path(self.packages[package]) if package in self.packages else next(installed(package), None)
        if share is None:
            valid = f"one that the file lies in, one of the ament index (AMENT_PREFIX_PATH), or {self.option}"
            _refuse(f"no package '{package}'", valid)
        self.folders += package_folders(share)
        return str(share)


def _is_harmless(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "compile":
        return bool(arguments[1] == "<unknown>")  # what ast.parse calls a text, which does not run then
    return event in _HARMLESS or (event == "exec" and arguments[0].co_filename == "<expression>")


def _check_expression(expression: str) -> None:
    for node in ast.walk(ast.parse(expression, mode="eval")):
        attribute = node.attr if isinstance(node, ast.Attribute) else ""
        name = attribute or (node.id if isinstance(node, ast.Name) else "")
        if name.startswith("__") or attribute.startswith("_") or attribute in _UNSAFE_ATTRIBUTES:
            _refuse(f"'{name}' is not allowed in ${{{expression}}}", "arithmetic")


def _variable(name: str) -> str:
    if name not in ENVIRONMENT:
        _refuse(f"the environment variable '{name}' is not allowed", f"{', '.join(ENVIRONMENT)}, or an xacro:arg")
    value = os.environ.get(name)
    return _refuse(f"the environment variable '{name}' is not set", "$(optenv …)") if value is None else value


def _optional_variable(name: str, default: str = "") -> str:
    return _variable(name) if name in os.environ else default


def _refuse_doctype(builder: Any, *_: object) -> None:
    _refuse("a DOCTYPE is not allowed", "XML without DTD and entities", builder.getParser().CurrentLineNumber)


def _restrict(guard: _Guard) -> None:
    """Take from xacro what reaches too far, from the process what it needs not; nothing gives it back."""
    import xml.dom.expatbuilder

    import xacro
    import xacro.substitution_args as substitution
    import yaml  # noqa: F401 - by load_yaml, too late for the hook

    builder: Any = xml.dom.expatbuilder.ExpatBuilder
    builder.start_doctype_decl_handler = _refuse_doctype
    xacro.open = partial(open, mode="rb")  # in the encoding that a file declares
    unsafe = {name: _refusing(f"'{name}' is not allowed in ${{…}}", "arithmetic") for name in _UNSAFE_FUNCTIONS}
    dict.update(xacro._global_symbols["python"], unsafe)
    substitution._eval_env, substitution._eval_optenv = _variable, _optional_variable
    substitution._eval_find = guard.find
    substitution._eval = _refusing("$(eval …) is not allowed", "${…}, $(arg …), $(find …), $(env …)")
    limits = guard.limits
    limit_process(limits["memory"], limits["seconds"], 4 * limits["bytes"], limits["open_files"])
    sys.addaudithook(guard)


def limit_process(memory: int, seconds: int, file_bytes: int, open_files: int | None = None) -> None:
    """Bound what this process may take from now on, for good: bytes, processor time, no process and no core dump."""
    bounds = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: file_bytes,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_CORE: 0,
    }
    if open_files is not None:
        bounds[resource.RLIMIT_NOFILE] = open_files
    for kind, value in bounds.items():
        hard = resource.getrlimit(kind)[1]
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (least, least + (kind == resource.RLIMIT_CPU and least != hard)))  # SIGXCPU first


def out_of_memory(limit: int) -> str:
    """What is said of an expansion that takes more than so many bytes."""
    return f"it takes more than {limit >> 20} MiB of memory"


def _complaint(error: BaseException | None, request: Mapping[str, Any]) -> tuple[str, str, int | None]:
    """What is wrong, what would be valid, and the line: xacro wraps what an expression raises, often several times."""
    from xacro.substitution_args import ArgException

    what = " ".join(str(error).split())[:300] or type(error).__name__
    while error is not None:
        if isinstance(error, _RefusedError):
            return error.args[0], error.args[1], error.args[2]
        if isinstance(error, ArgException):
            return f"the argument '{error}' has no value", request["argument_option"], None
        if isinstance(error, (MemoryError, SystemError)):  # the latter where there is no memory for the former
            what = out_of_memory(request["limits"]["memory"])
        if isinstance(error, RecursionError):
            what = "it is nested too deeply, or contains itself"
        if isinstance(error, OSError):
            what = f"{error.filename} cannot be read ({error.strerror})"
        error = getattr(error, "exc", None)
    return f"xacro cannot expand it ({what})", "a xacro file", None


def expand(request: Mapping[str, Any]) -> dict[str, Any]:
    """Expand a file: its text and the names of arguments it asks for, or an error and its place."""
    import xacro

    path, largest = str(request["path"]), int(request["limits"]["bytes"])
    folders = (*own_folders(Path(path)), *(Path(folder).resolve() for folder in request["folders"]))
    guard = _Guard(folders, request)
    _restrict(guard)
    values = _Arguments(request["arguments"])
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # warnings, which nobody reads and memory bounds
            text = xacro.process_file(path, mappings=values, verbosity=0).toprettyxml(indent="  ")
        if len(text.encode()) > largest:
            _refuse(f"it expands to more than {largest >> 10} KiB", "a smaller robot")
    except Exception as error:  # noqa: BLE001 - xacro lets whatever an expression raises pass
        what, valid, line = _complaint(error, request)
        place = next((name for name in reversed(xacro.filestack) if is_inside(Path(name), guard.folders)), path)
        return {"what": what, "where": place if line is None else f"{place}:{line}", "valid": valid}
    return {"text": text, "asked": sorted(map(str, values.asked))}


if __name__ == "__main__":
    given = json.load(sys.stdin)
    sys.path[:] = given["sys_path"]
    sys.stdout.write("\n" + json.dumps(expand(given)))  # the last line, whatever has been said before it
