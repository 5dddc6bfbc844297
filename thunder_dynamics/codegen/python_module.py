"""thunder_<robot>.py: the class of the established interface, its names, texts and numbers; `runtime` has the rest."""

from __future__ import annotations

import numpy as np

from thunder_dynamics.codegen.cpp_class import (
    constants,
    established_names,
    has_conversions,
    numeric_groups,
    stored_arguments,
    visible_functions,
)
from thunder_dynamics.codegen.package import Package
from thunder_dynamics.codegen.text import comment_text, template

_READS = "NDArray[np.float64]"


def source(package: Package) -> str:
    """Text of thunder_<robot>.py."""
    lines = []
    for argument in stored_arguments(package):
        entry = package.arguments[argument]
        doc = f"{comment_text(entry.description)} {entry.size} values [{comment_text(entry.unit)}]."
        lines += _method(f"set_{argument}", doc, f'self._set("{argument}", value)')
    lines += [f"    set_{name} = set_{argument}\n" for name, argument in established_names(package).items()]
    for group in package.groups:
        lines += _method(f"get_{group}", f"Symbolic entries of {group}.", f'return self._get("{group}")')
    for group in numeric_groups(package):
        lines += _method(f"get_{group}", "Numbers of the robot file.", f'return np.array(self._numbers["{group}"])')
    if has_conversions(package):
        lines += _method("set_par_REG", "Set par_DYN from its REG form.", "self._set_par_REG(value)")
        lines += _method("get_par_REG", "REG form of par_DYN.", "return self._par_REG()")
    for f in visible_functions(package):
        kind, shape = ("vector", f"({f.rows},)") if f.is_vector else ("matrix", f"({f.rows}, {f.cols})")
        doc = f"{comment_text(f.description)} Function of {', '.join(f.arguments) or 'nothing'}. Shape {shape}."
        lines += _method(f"get_{f.name}", doc, f'return self._{kind}("{f.name}")')
    return template("module_py.txt").substitute(
        robot=package.name, constants="\n".join(_constants(package)), methods="\n".join(lines).rstrip()
    )


def _method(name: str, doc: str, body: str) -> list[str]:
    given, result = (", value: ArrayLike", "None") if name.startswith("set_") else ("", _READS)
    return [f"    def {name}(self{given}) -> {result}:", f'        """{doc}"""', f"        {body}\n"]


def _constants(package: Package) -> list[str]:
    """Those of the established interface, and what `runtime.robot.Robot` asks of a robot."""
    model = package.model
    lines = [f"    {key}: {_annotation(value)} = {value!r}" for key, value in constants(package).items()]
    numbers = {group: tuple(map(float, model.parameters(group))) for group in model.parameter_groups}
    symbolic = {group: tuple(np.flatnonzero(model.symbolic[group]).tolist()) for group in package.groups}
    taken = {argument for function in package.functions for argument in function.arguments} | {*package.groups}
    others = {name: package.arguments[name].size for name in stored_arguments(package) if name not in taken}
    return [
        *lines,
        "    _file = __file__",
        f"    _hash = {package.content_hash!r}",
        f"    _links = {model.link_names!r}",
        "    _numbers = {",
        *(f"        {group!r}: {values!r}," for group, values in numbers.items()),
        "    }",
        f"    _symbolic = {symbolic!r}",
        f"    _others = {others!r}",
    ]


def _annotation(value: int | bool | str | tuple[int, ...]) -> str:
    return "tuple[int, ...]" if isinstance(value, tuple) else type(value).__name__
