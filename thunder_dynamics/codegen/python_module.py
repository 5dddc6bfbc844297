"""thunder_<robot>_py.cpp and .pyi: the Python module that mirrors the C++ class."""

from __future__ import annotations

from thunder_dynamics.codegen.cpp_class import (
    constants,
    established_names,
    has_conversions,
    numeric_groups,
    stored_arguments,
    visible_functions,
)
from thunder_dynamics.codegen.package import Package
from thunder_dynamics.codegen.text import c_string, comment_text, template


def source(package: Package) -> str:
    """Text of thunder_<robot>_py.cpp."""
    name = f"thunder_{package.name}"
    rows = []
    for argument in stored_arguments(package):
        entry = package.arguments[argument]
        doc = c_string(f"{entry.description} {entry.size} values [{entry.unit}].")
        rows.append(f'    .def("set_{argument}", writing(&{name}::set_{argument}), {doc})')
        if argument in package.groups:
            rows.append(f'    .def("get_{argument}", reading(&{name}::get_{argument}))')
    rows += [f'    .def("get_{group}", reading(&{name}::get_{group}))' for group in numeric_groups(package)]
    for established, argument in established_names(package).items():
        rows.append(f'    .def("set_{established}", writing(&{name}::set_{argument}), "The same as set_{argument}.")')
    if has_conversions(package):
        rows.append(f'    .def("set_par_REG", writing(&{name}::set_par_REG), "Set par_DYN from its REG form.")')
        rows.append(f'    .def("get_par_REG", reading(&{name}::get_par_REG), "REG form of par_DYN.")')
    for f in visible_functions(package):
        doc = c_string(f"{f.description} Function of {', '.join(f.arguments) or 'nothing'}.")
        reader = "reading" if f.is_vector else "reading_matrix"
        rows.append(f'    .def("get_{f.name}", {reader}(&{name}::get_{f.name}), {doc})')
    values = [f'  robot.attr("{key}") = {_python_object(value)};' for key, value in constants(package).items()]
    return template("module.cpp").substitute(robot=package.name, constants="\n".join(values), methods="\n".join(rows))


def stub(package: Package) -> str:
    """Text of thunder_<robot>.pyi."""
    lines = []
    for argument in stored_arguments(package):
        entry = package.arguments[argument]
        lines += [f"    def set_{argument}(self, value: ArrayLike) -> None:"]
        lines += [f'        """{comment_text(entry.description)} {entry.size} values [{comment_text(entry.unit)}]."""']
    for established in established_names(package):
        lines += [f"    def set_{established}(self, value: ArrayLike) -> None: ..."]
    groups = [*package.groups, *numeric_groups(package), *(["par_REG"] if has_conversions(package) else [])]
    for group in groups:
        lines += [f"    def get_{group}(self) -> NDArray[np.float64]: ..."]
    if has_conversions(package):
        lines += ["    def set_par_REG(self, value: ArrayLike) -> None: ..."]
    for f in visible_functions(package):
        shape = f"({f.rows},)" if f.is_vector else f"({f.rows}, {f.cols})"
        lines += [f"    def get_{f.name}(self) -> NDArray[np.float64]:"]
        lines += [f'        """{comment_text(f.description)} Shape {shape}."""']
    values = [f"    {key}: {_annotation(value)}" for key, value in constants(package).items()]
    return template("module_pyi.txt").substitute(
        robot=package.name, constants="\n".join(values), methods="\n".join(lines)
    )


def _python_object(value: int | bool | str | tuple[int, ...]) -> str:
    """C++ that makes a Python object of a constant."""
    if isinstance(value, tuple):
        return f"py::make_tuple({', '.join(map(str, value))})"
    return c_string(value) if isinstance(value, str) else str(value).lower()


def _annotation(value: int | bool | str | tuple[int, ...]) -> str:
    return "tuple[int, ...]" if isinstance(value, tuple) else f"{type(value).__name__} = {value!r}"
