"""Flash, memory and stack of the C core on a Cortex-M, by cross-compiling it: a Markdown table.

`.venv/bin/python benchmarks/microcontroller.py`; needs Debian's gcc-arm-none-eabi and libnewlib-arm-none-eabi.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import builds

from thunder_dynamics.codegen import toolchain
from thunder_dynamics.codegen.package import Package
from thunder_dynamics.errors import BuildError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.readers import load_model

PREFIX = "arm-none-eabi-"
JOINTS = (3, 4, 7)
FUNCTIONS = ("T_0_ee", "J_ee", "J_ee_dot", "M", "C", "G", "Yr")
COMMON = ("-mthumb", "-mfloat-abi=hard", "-std=c99", "-O2", "-ffreestanding", "-ffunction-sections", "-fdata-sections")
TARGETS = {
    "Cortex-M7, double": ("-mcpu=cortex-m7", "-mfpu=fpv5-d16"),
    "Cortex-M4, single": (
        "-mcpu=cortex-m4",
        "-mfpu=fpv4-sp-d16",
        "-DTHUNDER_SINGLE",
        "-fsingle-precision-constant",
        "-Wdouble-promotion",
    ),
}
"""Compiler flags by target."""


@dataclass(frozen=True)
class Footprint:
    """Bytes of a program that calls `FUNCTIONS`, and what its core wants from elsewhere."""

    flash: int
    memory: int
    stack: int
    undefined: frozenset[str]


def is_available() -> bool:
    """Whether the cross-compiler is installed."""
    return shutil.which(f"{PREFIX}gcc") is not None


def write_sources(folder: Path, joints: int) -> str:
    """Write the C core of a chain of Panda's first joints and a program that calls it; returns the robot's name.

    `flash` of the program counts code and constants with those of libm, `memory` arguments, results and work vector.
    """
    name = f"chain{joints}"
    builds.write_chain(folder / f"{name}.yaml", joints)
    package = Package(RobotExpressions(load_model(folder / f"{name}.yaml")))
    (folder / f"{name}_gen.c").write_text(package.core.source, encoding="utf-8")
    (folder / f"{name}_gen.h").write_text(package.core.header, encoding="utf-8")
    work = max(1, *package.core.work_sizes.values())
    calls = "".join(f"  {name}_{function}(arg, &res, 0, work, 0);\n" for function in FUNCTIONS)
    (folder / "main.c").write_text(
        f'#include "{name}_gen.h"\n\n'
        f"static thunder_real signals[4][{joints}], result[{10 * joints * joints}], work[{work}];\n\n"
        "int main(void) {\n"
        "  const thunder_real* arg[] = {signals[0], signals[1], signals[2], signals[3]};\n"
        f"  thunder_real* res = result;\n{calls}"
        "  return (int)result[0];\n}\n",
        encoding="utf-8",
    )
    return name


def measure(folder: Path, name: str, target: str) -> Footprint:
    """Cross-compile the core and the program.

    Raises:
        BuildError: if the compiler refuses something.
    """
    flags = [*COMMON, *TARGETS[target]]
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-fstack-usage"]
    toolchain.run([f"{PREFIX}gcc", *flags, *warnings, "-c", f"{name}_gen.c"], folder)
    toolchain.run([f"{PREFIX}gcc", *flags, "-c", "main.c"], folder)
    link = ["-nostartfiles", "-Wl,--gc-sections", "-Wl,-e,main", "--specs=nosys.specs"]
    toolchain.run([f"{PREFIX}gcc", *flags, *link, f"{name}_gen.o", "main.o", "-lm", "-o", "program.elf"], folder)
    undefined = toolchain.run([f"{PREFIX}nm", "-u", f"{name}_gen.o"], folder).split()
    sizes = toolchain.run([f"{PREFIX}size", "program.elf"], folder).splitlines()[1].split()
    lines = (folder / f"{name}_gen.su").read_text(encoding="utf-8").splitlines()
    stack = max(int(line.split("\t")[1]) for line in lines)
    return Footprint(int(sizes[0]) + int(sizes[1]), int(sizes[1]) + int(sizes[2]), stack, frozenset(undefined) - {"U"})


def main() -> int:
    """Print the table; returns the exit status."""
    if not is_available():
        print(f"{PREFIX}gcc is missing; valid: Debian's gcc-arm-none-eabi, libnewlib-arm-none-eabi", file=sys.stderr)
        return 2
    print("| joints | target | flash [KB] | memory [KB] | stack of the deepest function [bytes] |")
    print("| ---: | --- | ---: | ---: | ---: |")
    for joints in JOINTS:
        with tempfile.TemporaryDirectory(prefix="thunder_mcu_") as place:
            name = write_sources(Path(place), joints)
            for target in TARGETS:
                try:
                    found = measure(Path(place), name, target)
                except BuildError as error:
                    print(error, file=sys.stderr)
                    return 1
                print(f"| {joints} | {target} | {found.flash / 1e3:.1f} | {found.memory / 1e3:.1f} | {found.stack} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
