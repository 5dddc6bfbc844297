"""The generated C++ class, from Python: what the Python class is tested by, it is tested by too."""

from __future__ import annotations

import importlib.util
import os
import re
import sysconfig
from hashlib import sha256
from pathlib import Path
from typing import Any

import pybind11
from host_programs import eigen_include

from thunder_dynamics.codegen import toolchain

SOURCE = """\
#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include "thunder_ROBOT.h"

PYBIND11_MODULE(NAME, module) {
  using Robot = thunder_ROBOT;
  pybind11::class_<Robot>(module, "thunder_ROBOT", pybind11::module_local()).def(pybind11::init<>())METHODS;
}
"""


def cpp_robot(folder: Path, robot: str, cache: Path) -> Any:
    """An instance of the class of a generated folder; `cache` holds what was compiled once."""
    header = (folder / f"thunder_{robot}.h").read_text(encoding="utf-8")
    public = header.partition(" public:")[2].partition(" private:")[0]
    names = sorted({*re.findall(r"\b((?:get|set|load|save)_\w+|setArguments)\(", public)})
    name = f"cpp_{robot}_{sha256(f'{SOURCE}{folder}{header}'.encode()).hexdigest()[:16]}"
    binary = cache / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not binary.exists():
        methods = "".join(f'\n    .def("{method}", &Robot::{method})' for method in names)
        cache.mkdir(parents=True, exist_ok=True)
        part = cache / f".{os.getpid()}_{name}"  # the file appears whole: other processes load it
        source = part.with_suffix(".cpp")
        source.write_text(SOURCE.replace("ROBOT", robot).replace("NAME", name).replace("METHODS", methods))
        includes = [sysconfig.get_path("include"), pybind11.get_include(), str(folder)]
        flags = ["-O1", "-march=native", "-std=c++17", "-fPIC", "-fvisibility=hidden", "-isystem", str(eigen_include())]
        command = [*toolchain.compiler("c++"), *flags, *(f"-I{place}" for place in includes), "-shared", str(source)]
        toolchain.run([*command, str(folder / f"lib{robot}.so"), "-o", str(part)])
        part.replace(binary)
    spec = importlib.util.spec_from_file_location(name, binary)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, f"thunder_{robot}")()
