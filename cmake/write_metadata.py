"""Write the package's entry points, as pyproject.toml declares them, in the two forms that a CMake build needs.

    python write_metadata.py PYPROJECT VERSION FOLDER

FOLDER/setup.cfg is what `ament_python_install_package` installs from; FOLDER/thunder_controllers.egg-info lets the
generator find laws and readers while the package is not installed yet, with FOLDER on PYTHONPATH.

Console scripts are named thunder_<name> in bin/, which all packages share, but <name> in lib/<package>/, where
`ros2 run <package> <name>` looks: setup.cfg has the latter names.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from setuptools.config.pyprojecttoml import load_file


def read_entry_points(pyproject: Path) -> dict[str, Mapping[str, str]]:
    """Read every group of entry points, console scripts included, these without prefix: group → name → reference."""
    project = load_file(pyproject)["project"]
    scripts = {name.removeprefix("thunder_"): reference for name, reference in project["scripts"].items()}
    return {"console_scripts": scripts, **project["entry-points"]}


def write_metadata(pyproject: Path, version: str, folder: Path) -> None:
    """Write both forms into `folder`."""
    groups = read_entry_points(pyproject)
    egg_info = folder / "thunder_controllers.egg-info"
    egg_info.mkdir(parents=True, exist_ok=True)
    sections, options = [], ["[options.entry_points]"]
    for group, entries in groups.items():
        lines = [f"{name} = {reference}" for name, reference in entries.items()]
        sections.append("\n".join([f"[{group}]", *lines]))
        options.append("\n    ".join([f"{group} =", *lines]))
    (egg_info / "entry_points.txt").write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    header = f"Metadata-Version: 2.1\nName: thunder_controllers\nVersion: {version}\n"
    (egg_info / "PKG-INFO").write_text(header, encoding="utf-8")
    (folder / "setup.cfg").write_text("\n".join(options) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_metadata(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
