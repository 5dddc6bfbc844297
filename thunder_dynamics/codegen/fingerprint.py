"""The content hash of a build: everything that can change what comes out, and nothing else.

What a law imports is followed by our own walk over the source text: `modulefinder` follows the standard library and
installed packages as well, whose versions stand in the hash anyway.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import importlib.util
import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from thunder_dynamics.errors import BuildError, LawError
from thunder_dynamics.model import Joint, JointKind, RobotModel
from thunder_dynamics.storage.door import TEXT, read_bytes, read_text
from thunder_dynamics.version import __version__


def canonical(value: Any) -> Any:
    """A JSON value that is equal for equal content: dataclasses by field, floats exactly."""
    if isinstance(value, JointKind):
        return value.name
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        content = {f.name: canonical(getattr(value, f.name)) for f in dataclasses.fields(value) if f.name != "source"}
        if isinstance(value, Joint) and not value.kind.is_built_in:
            content["computes"] = _what_it_computes(value)
        return content
    if isinstance(value, Mapping):
        return {str(k): canonical(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [canonical(v) for v in value]
    if isinstance(value, np.ndarray):
        return canonical(value.tolist())
    if isinstance(value, float):
        return value.hex()
    return value


def content_hash(
    model: RobotModel,
    laws: Iterable[tuple[str, Mapping[str, Any]]],
    law_modules: Iterable[str],
    user_functions: Path | None,
    settings: Mapping[str, Any],
) -> str:
    """SHA-256 over model, laws with their options and source code, user functions, generator and settings."""
    parts = {
        "model": canonical(model),
        "laws": canonical([list(law) for law in laws]),
        "law_sources": {name: digest for module in law_modules for name, digest in source_closure(module).items()},
        "user_functions": hashlib.sha256(read_bytes(user_functions, TEXT, BuildError)).hexdigest()
        if user_functions
        else None,
        "generator": _generator_sources(),
        "versions": {"casadi": metadata.version("casadi"), "thunder": __version__},
        "settings": canonical(dict(settings)),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _what_it_computes(joint: Joint) -> str:
    """Of a joint whose kind is not one of ours; only this needs CasADi here."""
    from thunder_dynamics.algorithms.joint_motion import joint_content

    return joint_content(joint)


def source_closure(module: str) -> dict[str, str]:
    """Digest of the source of a module and of all it imports, directly or not, from its own top-level package.

    Modules are found as files, not imported: a build that turns out to be current needs no CasADi.
    """
    package = module.split(".")[0]
    spec = importlib.util.find_spec(package)
    roots = [Path(p) for p in (spec.submodule_search_locations or ())] if spec else []
    found: dict[str, str] = {}
    if spec and spec.origin and not roots:  # a law in a single file of its own
        return {module: hashlib.sha256(read_bytes(Path(spec.origin), TEXT, LawError)).hexdigest()}
    open_names = [module]
    while open_names:
        name = open_names.pop()
        path = _source_file(name, roots) if name not in found else None
        if path is None:
            continue
        status = path.stat()
        own_package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        found[name], imported = _digested(path, own_package, status.st_mtime_ns, status.st_size)
        open_names += [n for n in imported if n.split(".")[0] == package]
    return found


@cache
def _digested(path: Path, own_package: str, modified: int, size: int) -> tuple[str, tuple[str, ...]]:
    """Digest of a source file and the modules that it imports; a process asks for the same ones at every build."""
    text = read_text(path, LawError)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        where = f"{path}:{error.lineno}"
        raise LawError(f"is no Python ({error.msg})", where=where, valid="a module that can be imported") from error
    return hashlib.sha256(text.encode()).hexdigest(), tuple(_imported(tree, own_package))


def _source_file(name: str, roots: Iterable[Path]) -> Path | None:
    """File of a module of the package that lives in `roots`; None for anything else, such as a name inside a module."""
    for root in roots:
        base = root.joinpath(*name.split(".")[1:])
        for candidate in (base.with_suffix(".py"), base / "__init__.py"):
            if candidate.is_file():
                return candidate
    return None


def _imported(tree: ast.Module, own_package: str) -> list[str]:
    names = []
    parents = own_package.split(".")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = parents[: len(parents) - node.level + 1] if node.level else []
            base = ".".join([*start, *filter(None, [node.module])])
            names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return names


def _generator_sources() -> str:
    """Digest of this package, but for what makes models and requests, which stand in the hash, and what runs robots."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    suffixes = {".py", ".h", ".c", ".cpp", ".txt", ".md", ".pyi", ".cmake", ".cu"}
    others = {root / "cli.py", *(root / "readers").rglob("*"), *(root / "runtime").rglob("*")}
    for path in sorted(p for p in root.rglob("*") if p.is_file() and p.suffix in suffixes and p not in others):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(read_bytes(path, TEXT, BuildError))
    return digest.hexdigest()
