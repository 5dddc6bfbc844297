"""The text of every file of a generated package."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from thunder_dynamics.codegen import cpp_class, library_metadata, python_module, toolchain
from thunder_dynamics.codegen.package import Package
from thunder_dynamics.codegen.text import comment_text, template
from thunder_dynamics.law import SIGNALS, Law
from thunder_dynamics.runtime.parameter_files import group_line
from thunder_dynamics.version import __version__


def interpreted_files(package: Package) -> dict[str, str]:
    """Text of the files of the package that need no compiler, by name."""
    name = package.name
    return {f"{name}_conf.yaml": conf_text(package), f"thunder_{name}.py": python_module.source(package)}


def package_files(package: Package) -> dict[str, str]:
    """Text of every file of the package, by name."""
    name = package.name
    header = files("thunder_dynamics").joinpath("include", "thunder", "thunder_abi.h").read_text(encoding="utf-8")
    kinds = {"lanes": package.has_lanes, "single": package.has_single_lanes}
    lanes = {f"{name}_{k}.c": template(f"{k}.c").substitute(robot=name) for k, is_there in kinds.items() if is_there}
    return {
        **lanes,
        f"{name}_gen.c": package.core.source,
        f"{name}_gen.h": package.core.header,
        f"{name}_library.c": library_metadata.library_source(package),
        "thunder/thunder_abi.h": header,
        f"thunder_{name}.h": cpp_class.header(package),
        f"test_{name}.cpp": cpp_class.self_test(package),
        **interpreted_files(package),
        "CMakeLists.txt": template("CMakeLists.txt").substitute(
            robot=name, flags=" ".join(package.flags), lanes=" ".join(lanes), single=toolchain.SINGLE[0]
        ),
        f"thunder_{name}Config.cmake": template("Config.cmake").substitute(
            robot=name, processor=" ".join(toolchain.processor_flags(package.flags))
        ),
        "eigen.cmake": template("eigen.cmake").template,
        "README.md": readme_text(package),
    }


def conf_text(package: Package) -> str:
    """<robot>_conf.yaml: the run-time parameters, one flow list a line, as load_conf and save_conf have them."""
    lines = [
        f"# Run-time parameters of {package.name}: the symbolic entries of each group, SI units.",
        f"robot: {package.name}",
    ]
    lines += [group_line(name, entry.default) for name, entry in package.groups.items()]
    return "\n".join(lines) + "\n"


def readme_text(package: Package) -> str:
    """README.md of the package: what it holds and how to use it."""
    rows = [
        f"| `get_{f.name}` | {', '.join(f.arguments)} | {f.rows}×{f.cols} | {comment_text(f.description)} |"
        for f in package.functions
    ]
    for group in package.function_groups:
        shapes = ", ".join(f"{f.rows}×{f.cols}" for f in group.results)
        rows.append(f"| `{group.symbol}` in C | {', '.join(group.arguments)} | {shapes} | {group.name}, together |")
    laws = [
        f"## Law `{law.name}`\n\n{comment_text(law.description)} Reference: {law.reference_kind.name.lower()}.\n\n"
        + _law_table(law)
        for law in package.laws
    ]
    groups = [f"| `{name}` | {entry.size} |" for name, entry in package.groups.items()]
    return template("README.md").substitute(
        robot=package.name,
        version=__version__,
        nq=package.model.nq,
        joints=", ".join(package.model.joint_names),
        hash=package.content_hash,
        functions="\n".join(rows),
        groups="\n".join(["| group | entries |", "|---|---|", *groups])
        if groups
        else "None: every parameter is numeric.",
        laws="\n".join(laws) or "No law was compiled in.",
    )


def _law_table(law: Law) -> str:
    rows = ["| signal | entry | shape | unit | default | meaning |", "|---|---|---|---|---|---|"]
    for kind in SIGNALS:
        for entry in getattr(law, kind):
            values = np.unique(entry.default)
            default = f"{values[0]:g}" if values.size == 1 else "per element"
            shape = "×".join(str(k) for k in entry.shape)
            rows.append(
                f"| {kind} | `{entry.name}` | {shape} | {entry.unit} | {default} | {comment_text(entry.description)} |"
            )
    return "\n".join(rows) + "\n"
