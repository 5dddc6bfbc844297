"""Generate, compile, cache and load the library of a robot."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from platformdirs import user_cache_path

from thunder_dynamics.codegen import toolchain
from thunder_dynamics.errors import BuildError, ExpressionError, NameNotFoundError, ThunderError, loaded, nearest
from thunder_dynamics.readers import load_model
from thunder_dynamics.storage.checksums import SUMS, read_verified, verify_folder, write_checksums
from thunder_dynamics.storage.door import GENERATED, read_bytes, read_json
from thunder_dynamics.storage.lock import locked
from thunder_dynamics.storage.whole import write_text
from thunder_dynamics.version import __version__

if TYPE_CHECKING:
    import thunder_dynamics.law
    from thunder_dynamics.codegen.package import Package
    from thunder_dynamics.expressions import RobotExpressions
    from thunder_dynamics.model import RobotModel
    from thunder_dynamics.runtime.robot import Robot

LawRequest = str | tuple[str, Mapping[str, Any]]
"""A law by name, or with options: `("cartesian_backstepping", {"adapted_links": ["link7"]})`."""

MANIFEST = "manifest.json"

_classes: dict[bytes, type[Robot]] = {}
"""Of the folders that were loaded, by their content."""

PART_GROUPS = ("thunder.adaptations", "thunder.kinematic_loops")
"""Entry points of what laws are composed of by option."""


def build(
    model: RobotModel | str | PathLike[str],
    laws: Sequence[LawRequest] = (),
    *,
    folder: str | Path | None = None,
    portable: bool = False,
    user_functions: str | Path | None = None,
    functions: Sequence[str] = (),
    lanes: bool = False,
    single: bool = False,
    check: Callable[[Sequence[thunder_dynamics.law.Law]], None] | None = None,
) -> Path:
    """Generate and compile the library of a robot, unless the folder already holds exactly that.

    Without a compiler, or where the environment has THUNDER_COMPILER=none, the library interprets the instructions that
    are compiled elsewhere: the same functions and laws behind the same ABI, equal to rounding, but slower, as one
    warning says. It has no lanes, and its folder neither C nor C++. Where there is a compiler again, it is compiled.

    Args:
        model: The robot, or what `load_model` takes: the path of its file, or a name.
        laws: Control laws to compile in, found by entry points of the group `thunder.laws`.
        folder: Where to put `<robot>_generatedFiles`; default: the user's cache, one place per content hash.
        portable: Compile for any x86-64 processor since about 2009, -march=x86-64-v2, and not for this one alone.
        user_functions: Python file whose `add_functions(robot)` adds expressions of one's own.
        functions: Functions beside those of every library, by name (docs/reference/functions.md); `all` means all.
            Names joined by + are computed together, `M+C+G`: one function of that name, for `Library`, with a result
            of each, which shares what they have in common.
        lanes: Compile every function and step a second time, for as many states at once as a register holds: what
            `thunder_controllers.host.Library.batch` then uses. Takes as long again.
        single: The same in single precision, twice as many states at once, for `Library.batch(…, dtype="float32")`.
        check: Is given the laws before anything is compiled, if anything is, and may raise.

    Returns:
        The generated folder, which holds lib<robot>.so.

    Raises:
        BuildError: if a compiler fails, the folder cannot be written, it holds something else, or another process
            works on it for longer than `storage.lock.LOCK_PATIENCE`.
        ThunderError: for an unknown law, option, function or expression.
    """
    model = load_model(model) if isinstance(model, (str, PathLike)) else model
    request = _Request(
        model,
        _law_requests(laws),
        toolchain.compile_flags(portable),
        None if user_functions is None else Path(user_functions),
        tuple(sorted(set(functions))),
        lanes,
        single,
        toolchain.what_is_missing(),
    )
    if request.missing is not None:
        warn_interpreted(request.missing)
    digest = request.digest()
    target = generated_folder(model.name, cache_place(model.name, digest) if folder is None else Path(folder))
    with _written(target), locked(target, exclusive=True):
        _remove_leftovers(target)
        if not _is_current(target, digest):
            _check_replaceable(target)
            _generate(request, digest, target, check)
    return target


Backend = Literal["auto", "compiled", "casadi"]


def robot(
    model: RobotModel | str | PathLike[str],
    *,
    backend: Backend = "auto",
    user_functions: str | Path | None = None,
    functions: Sequence[str] = (),
) -> Any:
    """Return a robot to calculate with: an instance of the class thunder_<robot>, as from `load`.

    Args:
        model: The robot, or what `load_model` takes.
        backend: `compiled` builds into the user's cache and loads from there. `casadi` has the same methods on CasADi's
            virtual machine: it starts at once and is slower. `auto` is `compiled`, which does without a compiler
            where there is none: see `build`.
        user_functions: Python file whose `add_functions(robot)` adds expressions of one's own.
        functions: Functions on request, as for `build`.

    Raises:
        BuildError: for an unknown backend, or as `build`.
    """
    if backend not in get_args(Backend):
        raise BuildError(f"no backend '{backend}'", valid=", ".join(get_args(Backend)))
    model = load_model(model) if isinstance(model, (str, PathLike)) else model
    if backend != "casadi":
        return load(build(model, user_functions=user_functions, functions=functions))
    from thunder_dynamics.codegen.interpreted import interpreted_robot

    return interpreted_robot(_expressions(model, user_functions), functions)


def generated_folder(robot: str, parent: Path) -> Path:
    """Folder in `parent` that `build` generates."""
    return Path(os.path.realpath(parent)) / f"{robot}_generatedFiles"


def cache_place(robot: str, digest: str, root: Path | None = None) -> Path:
    """Parent of the folder that is generated for a content hash in a cache, the user's own if none is given."""
    return (root or user_cache_path("thunder")) / f"{robot}_{digest[:16]}"


def load(folder: str | Path) -> Any:
    """Return a new instance of the class thunder_<robot> of a generated folder.

    Raises:
        BuildError: if the folder is no generated package, is not as it was generated (see `checksums.read_verified`),
            or its library cannot be loaded.
    """
    from thunder_dynamics.runtime.loading import class_of, open_library

    path = (Path(folder) / SUMS).resolve().parent  # colcon's --symlink-install links every file
    with locked(path, exclusive=False):
        manifest = json.loads(read_verified(path, MANIFEST))
        name, library = f"thunder_{manifest['robot']}", manifest["library"]
        text, content = read_verified(path, f"{name}.py"), read_verified(path, library)
    key = hashlib.sha256(text + content).digest()  # a rebuilt library is another class
    if key not in _classes:
        kind = class_of(text, name, str(path / f"{name}.py"))
        kind._library = open_library(content, path / library, kind._hash)
        _classes[key] = kind
    return _classes[key]()


def save_functions(
    model: RobotModel,
    folder: str | Path,
    *,
    user_functions: str | Path | None = None,
    functions: Sequence[str] = (),
) -> dict[str, Path]:
    """Save every function that a library has as a file <robot>_<function>.casadi, for `casadi.Function.load`.

    Inputs have the names of the function's arguments; parameters that the robot file makes symbolic are inputs too.
    Arguments are those of `build`.

    Returns:
        The files, by function.

    Raises:
        BuildError: if a file cannot be written.
    """
    from thunder_dynamics.codegen.package import Package

    place, symbolic = Path(folder), _expressions(model, user_functions)
    names = Package(symbolic, functions=functions).selected
    files = {name: place / f"{model.name}_{name}.casadi" for name in names}
    with _written(place / model.name):
        for name, file in files.items():
            file.touch()  # CasADi's own error names neither the file nor the reason
            symbolic.function(name).save(str(file))
    return files


Target = Literal["jax", "torch", "cuda"]


def save_target(
    model: RobotModel | str | PathLike[str],
    target: Target,
    folder: str | Path,
    laws: Sequence[LawRequest] = (),
    *,
    user_functions: str | Path | None = None,
    functions: Sequence[str] = (),
) -> Path:
    """Save the functions that a library has, and laws, in one file for many states at once: docs/reference/batches.md.

    Args:
        model: The robot, or what `load_model` takes.
        target: `jax` and `torch` for Python with these libraries, differentiable; `cuda` for kernels.
        folder: Where <robot>_jax.py, <robot>_torch.py or <robot>.cu appears, whole or not at all.
        laws: Their steps, and the rest, as for `build`.

    Raises:
        BuildError: for an unknown target, an operation that it lacks, or a file that cannot be written.
    """
    if target not in get_args(Target):
        raise BuildError(f"no target '{target}'", valid=", ".join(get_args(Target)))
    from thunder_dynamics.codegen.package import Package
    from thunder_dynamics.codegen.targets.arrays import array_source
    from thunder_dynamics.codegen.targets.cuda import cuda_source

    model = load_model(model) if isinstance(model, (str, PathLike)) else model
    user_functions = None if user_functions is None else Path(user_functions)
    request = _Request(model, _law_requests(laws), (), user_functions, tuple(sorted(set(functions))))
    robot = _expressions(model, user_functions)
    settings = {"target": target, "functions": request.functions}
    digest = request.hash_with(settings)
    package = Package(robot, request.built_laws(robot), digest, functions=request.functions)
    for group in package.function_groups:
        raise BuildError(f"no group of functions, {group.name}", where=f"target {target}", valid="the functions alone")
    name = f"{model.name}.cu" if target == "cuda" else f"{model.name}_{target}.py"
    text = cuda_source(package, digest) if target == "cuda" else array_source(package, target, digest)
    file = Path(folder) / name
    with _written(file):
        write_text(file, text, durable=False)
    return file


def law_builders() -> dict[str, EntryPoint]:
    """Entry points of the installed control laws, by name."""
    return {entry.name: entry for entry in entry_points(group="thunder.laws")}


def law_entry(name: str) -> EntryPoint:
    """Entry point of an installed control law.

    Raises:
        NameNotFoundError: with the laws there are, or with what replaces a law of a former release, as its package has
            it in the group `thunder.former_laws`.
    """
    known = law_builders()
    if name not in known:
        former = {entry.name: entry for entry in entry_points(group="thunder.former_laws")}
        valid = loaded(former[name]) if name in former else nearest(name, sorted(known))
        raise NameNotFoundError(f"no law '{name}'", valid=valid)
    return known[name]


def law_modules(laws: Iterable[EntryPoint]) -> list[str]:
    """Modules whose source determines laws: their own, and every part that a law finds by its name."""
    found = [entry.module for entry in laws]
    parts = (entry for group in PART_GROUPS for entry in entry_points(group=group))
    return found and [*found, *(entry.module for entry in parts)]


@cache
def warn_interpreted(missing: str) -> None:
    """Warn of a build without a compiler, once in a process: a demonstration builds several times."""
    what = f"{missing}: robots are interpreted, with the same numbers, six times slower and without C++"
    warnings.warn(f"{what}; valid: {toolchain.TO_INSTALL}", RuntimeWarning, stacklevel=3)


def _law_requests(laws: Sequence[LawRequest]) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    return tuple((law, {}) if isinstance(law, str) else (law[0], dict(law[1])) for law in laws)


@dataclass(frozen=True)
class _Request:
    """Everything that determines a build."""

    model: RobotModel
    laws: tuple[tuple[str, Mapping[str, Any]], ...]
    flags: tuple[str, ...]
    user_functions: Path | None
    functions: tuple[str, ...]
    lanes: bool = False
    single: bool = False
    missing: str | None = None  # of what compiles; the library then interprets

    def law_entries(self) -> list[EntryPoint]:
        names = [name for name, _ in self.laws]
        for name in names:
            if names.count(name) > 1:
                raise BuildError(f"law '{name}' is asked for twice", valid="each law once")
        return [law_entry(name) for name in names]

    def digest(self) -> str:
        if self.user_functions is not None:
            _check_user_functions(self.user_functions)
        if self.missing is not None:
            return self.hash_with({"compiler": toolchain.interpreter_identity(), "functions": self.functions})
        settings = {
            "flags": self.flags,
            "compiler": toolchain.compiler_identity(),
            "functions": self.functions,
            "lanes": self.lanes,
            "single": self.single,
        }
        return self.hash_with(settings)

    def hash_with(self, settings: Mapping[str, Any]) -> str:
        from thunder_dynamics.codegen.fingerprint import content_hash  # and NumPy, which `thunder --help` needs not

        return content_hash(self.model, self.laws, law_modules(self.law_entries()), self.user_functions, settings)

    def built_laws(self, robot: RobotExpressions) -> list[thunder_dynamics.law.Law]:
        from thunder_dynamics.law import build_law

        requests = zip(self.law_entries(), self.laws, strict=True)
        return [build_law(entry, robot, options) for entry, (_, options) in requests]


def _generate(
    request: _Request,
    digest: str,
    target: Path,
    check: Callable[[Sequence[thunder_dynamics.law.Law]], None] | None = None,
) -> None:
    """Make the whole folder under a temporary name, then put it in place."""
    from thunder_dynamics.codegen.package import Package
    from thunder_dynamics.codegen.package_files import interpreted_files, package_files

    robot = _expressions(request.model, request.user_functions)
    laws = request.built_laws(robot)
    if check is not None:
        check(laws)
    if request.missing is None:
        package = Package(robot, laws, digest, request.flags, request.functions, request.lanes, request.single)
        texts = package_files(package)
    else:
        package = Package(robot, laws, digest, functions=request.functions, has_loops=False)
        texts = interpreted_files(package)
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}_", dir=target.parent))
    partial.chmod(0o755)
    try:
        for name, text in texts.items():
            (partial / name).parent.mkdir(exist_ok=True)
            (partial / name).write_text(text, encoding="utf-8")
        if request.missing is None:
            _compile(request, partial)
        else:
            _write_interpreted(package, partial)
        manifest = {
            "robot": package.name,
            "hash": digest,
            "generator": __version__,
            "flags": list(package.flags),
            "library": f"lib{package.name}.so",
            "functions": package.table,
            "laws": [law.name for law in package.laws],
        }
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        write_checksums(partial)
        _replace(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _compile(request: _Request, folder: Path) -> None:
    """Compile the library of the folder, on all cores."""
    from thunder_dynamics.codegen.c_core import PARTS

    name, flags = request.model.name, [*request.flags, "-fPIC", "-I."]
    cc, processor = toolchain.compiler("c"), toolchain.processor_flags(request.flags)
    sources: dict[str, Sequence[str]] = {f"{name}_gen.c": ()}
    sources |= {f"{name}_lanes.c": ()} if request.lanes else {}
    sources |= {f"{name}_single.c": toolchain.SINGLE} if request.single else {}
    commands = [
        [*cc, *flags, *own, "-std=c99", f"-DTHUNDER_PART={part}", "-c", source, "-o", f"{Path(source).stem}_{part}.o"]
        for source, own in sources.items()
        for part in range(1, PARTS + 1)
    ]
    library = [*cc, "-O1", *processor, "-fPIC", "-I.", "-std=c99", "-c", f"{name}_library.c", "-o", f"{name}_library.o"]
    commands.append(library)
    toolchain.run_all(commands, folder)
    toolchain.run([*cc, "-shared", "-o", f"lib{name}.so", *(command[-1] for command in commands), "-lm"], folder)
    for path in folder.glob("*.o"):
        path.unlink()


def _write_interpreted(package: Package, folder: Path) -> None:
    """Put the library of the folder together, without a compiler."""
    from thunder_dynamics.codegen.targets.interpreter import library_image

    (folder / f"lib{package.name}.so").write_bytes(
        read_bytes(toolchain.interpreter(), GENERATED, BuildError) + library_image(package)
    )


def _expressions(model: RobotModel, user_functions: str | Path | None) -> RobotExpressions:
    from thunder_dynamics.expressions import RobotExpressions

    robot = RobotExpressions(model)
    if user_functions is not None:
        _check_user_functions(Path(user_functions))
        _apply_user_functions(Path(user_functions), robot)
    return robot


def _check_user_functions(file: Path) -> None:
    if not file.is_file():
        raise BuildError("no such file", where=str(file), valid="a Python file with add_functions(robot)")


def _apply_user_functions(file: Path, robot: RobotExpressions) -> None:
    """Run the user's file and its `add_functions(robot)`; it is the user's own code and trusted as such."""
    spec = importlib.util.spec_from_file_location("thunder_user_functions", file)
    if spec is None or spec.loader is None:
        raise ExpressionError("not a Python file", where=str(file), valid="a file ending in .py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        add: Callable[[RobotExpressions], None] | None = getattr(module, "add_functions", None)
        if add is None:
            raise ExpressionError("no function add_functions", where=str(file), valid="def add_functions(robot): ...")
        add(robot)
    except ThunderError:
        raise
    except Exception as error:
        raise ExpressionError(f"{type(error).__name__}: {error}", where=str(file)) from error


@contextmanager
def _written(target: Path) -> Iterator[None]:
    """Make the parent of a generated folder; say in one line what the file system refuses there."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        where, what = str(error.filename or target.parent), f"the output cannot be written ({error.strerror or error})"
        raise BuildError(what, where=where, valid="a writable folder with space") from error


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    try:
        manifest = read_json(folder / MANIFEST, BuildError)
    except BuildError:
        return None
    return manifest if isinstance(manifest, dict) and {"robot", "hash", "library"} <= manifest.keys() else None


def _is_current(folder: Path, digest: str) -> bool:
    """Whether the folder is of that content hash and as it was generated; what is damaged is generated again."""
    manifest = _read_manifest(folder)
    if manifest is None or manifest["hash"] != digest:
        return False
    try:
        verify_folder(folder)
    except BuildError:
        return False
    return True


def _remove_leftovers(target: Path) -> None:
    """Remove what builds of this folder left that were killed: who holds the lock makes the only one."""
    unfinished = re.compile(rf"\.{re.escape(target.name)}_[a-z0-9_]{{8}}(_old)?")  # names of mkdtemp, as in _generate
    for path in target.parent.iterdir():
        if unfinished.fullmatch(path.name):
            shutil.rmtree(path)


def _check_replaceable(target: Path) -> None:
    if target.exists() and _read_manifest(target) is None and (not target.is_dir() or any(target.iterdir())):
        raise BuildError("exists and was not generated", where=str(target), valid="another folder, or remove it first")


def _replace(partial: Path, target: Path) -> None:
    """Swap the new folder in; a library that is loaded keeps its old file."""
    if target.exists():
        old = partial.with_name(partial.name + "_old")
        target.rename(old)
        partial.rename(target)
        shutil.rmtree(old)
    else:
        partial.rename(target)
