"""`colcon build` in a temporary workspace, with Debian's ament_cmake and colcon: what is installed and runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from test_packaging import MARKER, PACKAGES, ROOT, SHARE, SHARED, copy_tree, environment, requirements

from thunder_controllers.host import Library

DEBIAN = Path("/usr/lib/python3/dist-packages")
AMENT = ("ament_package", "catkin_pkg")
"""What ament_cmake runs in the interpreter of the build: pure Python, so Debian's serves any version."""

EXECUTABLES = {
    "generator",
    "model",
    "monitor",
    "reference",
    "set_load",
    "simulation",
    "thunder",
    "wait_for_library",
}


def why_not() -> str | None:
    """The reason why this machine cannot do it, if it cannot."""
    if shutil.which("colcon") is None:
        return "colcon is not installed"
    if shutil.which("cmake") is None or not Path("/usr/share/ament_cmake_python").is_dir():
        return "cmake or ament_cmake is not installed"
    if not all((DEBIAN / name).is_dir() for name in AMENT):
        return "python3-ament-package or python3-catkin-pkg is not installed"
    return None if find_spec("rclpy") else "rclpy is not installed: pip install -e '.[ros]'"


REASON = why_not()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("packaging"),
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace built in a virtual environment as docs/ros2.md says; the robot compiles in seconds."""
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "src").mkdir()
    copy_tree(folder / "src" / "thunder_controllers")
    ament = folder / "ament"
    ament.mkdir()
    for name in AMENT:
        (ament / name).symlink_to(DEBIAN / name)
    environment(folder / "venv", *requirements("all"), "pybind11", "setuptools", options=("--system-site-packages",))
    (folder / "venv" / "COLCON_IGNORE").touch()
    (folder / "log.txt").write_text(colcon_build(folder))
    return folder


def colcon_build(folder: Path, **variables: str) -> str:
    """What a build of the workspace says."""
    surroundings = {**os.environ, "PYTHONPATH": str(folder / "ament"), "VIRTUAL_ENV": str(folder / "venv")}
    for name in ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "COLCON_PREFIX_PATH"):
        surroundings.pop(name, None)
    surroundings |= {"PATH": f"{folder / 'venv' / 'bin'}:{os.environ['PATH']}", **variables}
    surroundings["MAKEFLAGS"] = "-j2"  # without colcon's own limit of the load, which other programs reach
    options = ["-DTHUNDER_ROBOTS=config/robots/planar3r.yaml", "-DTHUNDER_LAWS=slotine_li"]
    command = ["colcon", "build", "--event-handlers", "console_direct+", "--cmake-args", *options]
    result = subprocess.run(
        command, cwd=folder, env=surroundings, capture_output=True, text=True, timeout=600, check=False
    )
    assert result.returncode == 0, (result.stdout + result.stderr)[-6000:]
    return result.stdout + result.stderr


@pytest.fixture(scope="module")
def prefix(workspace: Path) -> Path:
    return workspace / "install" / "thunder_controllers"


def run_installed(workspace: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command as a user does who has sourced the workspace."""
    script = f". '{workspace}/install/local_setup.sh' && {command}"
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "AMENT_PREFIX_PATH")}
    environment |= {"XDG_CACHE_HOME": str(workspace / "cache"), "ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"}
    return subprocess.run(
        ["sh", "-c", script], cwd=workspace, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_every_executable_is_where_ros2_run_looks(prefix: Path) -> None:
    folder = prefix / "lib" / "thunder_controllers"
    assert {path.name for path in folder.iterdir()} == EXECUTABLES
    assert all(os.access(path, os.X_OK) for path in folder.iterdir())


def test_scripts_run_in_the_environment_of_the_build(workspace: Path, prefix: Path) -> None:
    """It sees what was installed into it, and what the system has beside it: nothing of the system was changed."""
    for script in (prefix / "lib" / "thunder_controllers").iterdir():
        interpreter = Path(script.read_text().partition("\n")[0].removeprefix("#!").strip())
        assert interpreter.parent == workspace / "venv" / "bin", script
    code = "import casadi, mujoco, pip; print(casadi.__file__, mujoco.__file__, pip.__file__)"
    result = run_installed(workspace, f"'{interpreter}' -c '{code}'")
    *ours, of_the_system = result.stdout.split()
    assert all(Path(file).is_relative_to(workspace / "venv") for file in ours), result.stderr
    assert Path(of_the_system).is_relative_to(sys.base_prefix)


def test_robots_are_generated_by_the_generator_node_while_building(workspace: Path, prefix: Path) -> None:
    assert "[thunder_generator]: building" in (workspace / "log.txt").read_text()
    assert (prefix / "lib" / "libplanar3r.so").is_file()
    assert Library(prefix / SHARE / "robots/planar3r_generatedFiles").laws == ("slotine_li",)


def test_packages_host_and_shared_files_are_installed(prefix: Path) -> None:
    typed = {path.parent.name for path in prefix.rglob("py.typed")}
    assert typed == set(PACKAGES)
    assert len(list(prefix.rglob("thunder_controllers/host/_host*.so"))) == 1
    assert len(list(prefix.rglob("thunder_dynamics/runtime/_calls*.so"))) == 1
    kinds = (".yaml", ".py", ".xacro")
    names = {path.relative_to(ROOT) for top in SHARED for path in (ROOT / top).rglob("*.*") if path.suffix in kinds}
    assert names and all((prefix / SHARE / name).is_file() for name in names)
    compiled_here = [path for path in (prefix / "lib").rglob("*.cpp") if path.parent.name != "templates"]
    assert not compiled_here  # templates are what the generator fills in
    assert (prefix / MARKER).is_file() and (prefix / SHARE / "package.xml").is_file()


def test_the_installed_generator_runs_and_finds_what_was_installed(workspace: Path, prefix: Path) -> None:
    generator = prefix / "lib/thunder_controllers/generator"
    robot = "package://thunder_controllers/config/robots/planar3r.yaml"
    result = run_installed(
        workspace, f"'{generator}' --once --ros-args -p robot:={robot} -p laws:='[slotine_li]' -p output:=here"
    )
    assert result.returncode == 0, result.stderr
    assert (workspace / "here/planar3r_generatedFiles/libplanar3r.so").is_file()
    assert str(prefix / SHARE / "config/robots/planar3r.yaml") in result.stdout + result.stderr


def test_ament_finds_the_package(workspace: Path, prefix: Path) -> None:
    code = "from ament_index_python import get_package_prefix as p; print(p('thunder_controllers'))"
    result = run_installed(workspace, f"'{sys.executable}' -c \"{code}\"")
    assert result.stdout.strip() == str(prefix), result.stderr


def test_a_build_looks_again_for_what_was_missing(workspace: Path, tmp_path: Path) -> None:
    """colcon configures once; a package of ros2_control may come later."""
    assert "No controller_interface" in (workspace / "log.txt").read_text()
    folder = tmp_path / "share/controller_interface"
    folder.mkdir(parents=True)
    (folder / "controller_interfaceConfig.cmake").touch()
    said = colcon_build(workspace, CMAKE_PREFIX_PATH=str(tmp_path))
    assert "AdaptiveController is left out, for lack of: " in said
