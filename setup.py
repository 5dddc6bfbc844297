"""What pyproject.toml cannot say: extension modules, files that ROS tools look for under share/, and PyPI's README.

Everything else, metadata included, stands in pyproject.toml.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension, build_ext
from setuptools import Extension, setup
from setuptools.config.pyprojecttoml import load_file

ROOT = Path(__file__).parent
HOST = Path("thunder_controllers/host")
OPERATIONS = "thunder_dynamics/codegen/templates"
"""Folder of the interpreter's operations."""

UNITED = 2
"""Sources that those of the binding are joined to, as CMakeLists.txt does: each compiles all of pybind11 that it uses,
which takes longer than what is its own.
"""

BUILT = {"__pycache__", "build"}
"""Folders that a source tree may hold and an installation must not."""

SHARE = "share/thunder_controllers"
INDEX = "share/ament_index/resource_index/packages"


def readme() -> str:
    """README.md as PyPI shows it: links into the repository lead to it at the tag of this version."""
    repository = load_file(ROOT / "pyproject.toml")["project"]["urls"]["Repository"]
    version = re.search(r'__version__ = "(.*)"', (ROOT / "thunder_dynamics/version.py").read_text(encoding="utf-8"))
    assert version is not None
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    inside = r"\]\((?![a-z]+:|#)([^)\s]+)\)"
    text = re.sub(rf"(!\[[^\]]*){inside}", rf"\1]({repository}/raw/v{version[1]}/\2)", text)
    return re.sub(inside, rf"]({repository}/blob/v{version[1]}/\1)", text)


def eigen_include() -> str:
    """Folder of Eigen's headers: the package cmeel-eigen, or else where conda or Debian has them."""
    try:
        return str(metadata.distribution("cmeel-eigen").locate_file("cmeel.prefix/include/eigen3"))
    except metadata.PackageNotFoundError:
        conda = Path(sys.prefix, "include/eigen3")
        return str(conda) if conda.is_dir() else "/usr/include/eigen3"


def calls_extension() -> Pybind11Extension:
    """Describe `thunder_dynamics.runtime._calls`: what calls the functions of every generated library from Python."""
    return Pybind11Extension(
        "thunder_dynamics.runtime._calls",
        sources=["thunder_dynamics/runtime/calls.cpp"],
        depends=["thunder_dynamics/include/thunder/thunder_abi.h"],
        include_dirs=["thunder_dynamics/include"],
        libraries=["dl"],
        cxx_std=17,
        extra_compile_args=["-O2", "-g0", "-Wall", "-Wextra"],
    )


def interpreter() -> Extension:
    """Describe the shared object that libraries are made of where there is no compiler; Python never imports it."""
    return Extension(
        "thunder_dynamics.runtime._interpreter",
        sources=["thunder_dynamics/runtime/interpreter.c"],
        depends=["thunder_dynamics/include/thunder/thunder_abi.h", f"{OPERATIONS}/operations.h"],
        include_dirs=["thunder_dynamics/include", OPERATIONS],
        libraries=["dl", "m"],
        extra_compile_args=["-std=gnu99", "-O2", "-g0", "-fno-math-errno", "-fvisibility=hidden", "-Wall", "-Wextra"],
    )


def host_extension() -> Pybind11Extension:
    """Describe `thunder_controllers.host._host`: the C++ host and its binding in one module."""
    return Pybind11Extension(
        "thunder_controllers.host._host",
        sources=[str(path.relative_to(ROOT)) for path in sorted((ROOT / HOST).rglob("*.cpp"))],
        depends=[str(path.relative_to(ROOT)) for path in sorted((ROOT / HOST).rglob("*.?pp"))],
        include_dirs=[str(HOST / "include"), "thunder_dynamics/include"],
        libraries=["crypto"],
        cxx_std=17,
        extra_compile_args=["-O2", "-g0", "-pthread", "-Wall", "-Wextra", "-isystem", eigen_include()],
        extra_link_args=["-pthread"],
    )


class BuildHost(build_ext):
    """Builds extensions at the same time, those of the host's binding from joined sources."""

    def initialize_options(self) -> None:
        """Set what no command line said yet."""
        super().initialize_options()
        self.parallel = True

    def build_extension(self, ext: Extension) -> None:
        """Build one."""
        joined = [source for source in ext.sources if Path(source).parent == HOST / "bindings"]
        others = [source for source in ext.sources if source not in joined]
        Path(self.build_temp).mkdir(parents=True, exist_ok=True)
        for k in range(UNITED if joined else 0):
            part = joined[k * len(joined) // UNITED : (k + 1) * len(joined) // UNITED]
            text = "".join(f'#include "{ROOT / source}"\n' for source in part)
            united = Path(self.build_temp) / f"bindings_{k}.cpp"
            if not united.exists() or united.read_text(encoding="utf-8") != text:
                united.write_text(text, encoding="utf-8")
            others.insert(0, str(united))
        ext.sources = others
        super().build_extension(ext)


def share_files() -> Iterator[tuple[str, list[str]]]:
    """Yield (target folder, files) below the installation prefix: what ament and ROS launch files look up."""
    yield SHARE, ["package.xml"]
    yield INDEX, ["resource/thunder_controllers"]
    for top in ("config", "examples", "launch", "urdf"):
        folders = {path.parent for path in (ROOT / top).rglob("*") if path.is_file()}
        for folder in sorted(folder for folder in folders if not BUILT & {*folder.relative_to(ROOT).parts}):
            relative = folder.relative_to(ROOT)
            files = sorted(str(relative / path.name) for path in folder.iterdir() if path.is_file())
            yield f"{SHARE}/{relative.as_posix()}", files


ParallelCompile("THUNDER_BUILD_JOBS").install()
setup(
    long_description=readme(),
    long_description_content_type="text/markdown",
    ext_modules=[host_extension(), calls_extension(), interpreter()],
    cmdclass={"build_ext": BuildHost},
    data_files=list(share_files()),
)
