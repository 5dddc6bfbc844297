"""What an installation holds, and that the manifests of pip, ROS and CMake say the same."""

from __future__ import annotations

import configparser
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping
from email.message import Message
from email.parser import Parser
from importlib.metadata import EntryPoint, distribution, requires
from pathlib import Path

import pytest
import yaml
from lxml import etree
from packaging.requirements import Requirement
from pybind11 import get_cmake_dir
from setuptools.config.pyprojecttoml import load_file

from thunder_controllers.host import Library
from thunder_dynamics.version import __version__

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("thunder_dynamics", "thunder_controllers", "thunder_studies")
SHARED = ("config", "examples", "launch", "urdf")
SHARE = "share/thunder_controllers"
MARKER = "share/ament_index/resource_index/packages/thunder_controllers"
NOT_SOURCE = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info", "*_generatedFiles", "build", "*_cache")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("packaging")]  # one worker builds the wheel once


def run(*command: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    result = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=False
    )
    assert result.returncode == 0, f"{command}\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}"
    return result.stdout


def copy_tree(target: Path) -> Path:
    """The source tree without what was built in it."""
    for name in (*PACKAGES, *SHARED, "resource", "cmake", "test"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=NOT_SOURCE)
    for name in ("pyproject.toml", "setup.py", "package.xml", "CMakeLists.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, target / name)
    return target


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_tree(tmp_path_factory.mktemp("tree"))


@pytest.fixture(scope="module")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--no-build-isolation")
    run(*pip, "--wheel-dir", folder, tree, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    """Paths in the wheel; those for the installation prefix start with `data/`."""
    return {re.sub(r"^[^/]+\.data/", "", name) for name in zipfile.ZipFile(wheel).namelist()}


def written(wheel: Path, file: str) -> str:
    """A file of the wheel's .dist-info."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(f".dist-info/{file}"))
        return archive.read(name).decode()


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    return Parser().parsestr(written(wheel, "METADATA"))


def files_below(tree: Path, folder: str, pattern: str = "*") -> set[str]:
    return {path.relative_to(tree).as_posix() for path in (tree / folder).rglob(pattern) if path.is_file()}


# --- the wheel -------------------------------------------------------------------------------------------------------


def test_wheel_holds_what_the_tree_holds_and_nothing_else(tree: Path, names: set[str]) -> None:
    modules = {name for package in PACKAGES for name in files_below(tree, package, "*.py")}
    read = ("thunder_dynamics/include", "thunder_dynamics/codegen/templates", "thunder_controllers/host/include")
    files = [files_below(tree, folder) for folder in (*read, "thunder_studies")]
    assert modules and all(files) and modules.union(*files) <= names
    host = f"thunder_controllers/host/_host{sysconfig.get_config_var('EXT_SUFFIX')}"
    calls = host.replace("thunder_controllers/host/_host", "thunder_dynamics/runtime/_calls")
    interpreter = calls.replace("_calls", "_interpreter")
    stubs = {"thunder_controllers/host/_host.pyi", "thunder_dynamics/runtime/_calls.pyi"}
    assert {f"{package}/py.typed" for package in PACKAGES} | {host, calls, interpreter} | stubs <= names
    shared = {name for folder in SHARED for name in files_below(tree, folder)} | {"package.xml"}
    assert "config/robots/panda.yaml" in shared
    assert {f"data/{SHARE}/{name}" for name in shared} | {f"data/{MARKER}"} <= names
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {*PACKAGES, "data"}


def test_every_entry_point_resolves(wheel: Path) -> None:
    parser = configparser.ConfigParser(delimiters=("=",))
    parser.read_string(written(wheel, "entry_points.txt"))
    found = {
        (group, name): EntryPoint(name, it, group).load() for group in parser for name, it in parser[group].items()
    }
    assert {"console_scripts", "thunder.commands", "thunder.laws", "thunder.readers"} <= {group for group, _ in found}
    for (group, name), one in found.items():
        assert callable(one) or (group == "thunder.former_laws" and isinstance(one, str)), f"{group}: {name}"


FOR_SOME_PROCESSORS = {"add_by_eight", "add_by_four", "transpose_by_four", "stream_lines"}
"""Functions of the host that are compiled for what not every x86-64 has, and chosen when it is there."""


@pytest.mark.skipif(
    shutil.which("objdump") is None or platform.machine() != "x86_64", reason="no objdump, or no x86-64"
)
def test_the_wheel_runs_on_every_x86_64(wheel: Path, tmp_path: Path) -> None:
    """Instructions of AVX and later begin with a v; SSE2, which every x86-64 has, has none that do."""
    with zipfile.ZipFile(wheel) as archive:
        objects = [archive.extract(name, tmp_path) for name in archive.namelist() if name.endswith(".so")]
    assert len(objects) == 3
    found = set()
    for file in objects:
        function = ""
        for line in run("objdump", "-d", "-C", "--no-show-raw-insn", file).splitlines():
            if line.endswith(">:"):
                function = line
            elif re.search(r"\tv[a-z]", line):
                found.add(re.sub(r".*?(\w+)(<[^(]*)?\(.*", r"\1", function.partition("(anonymous namespace)::")[2]))
    assert found <= FOR_SOME_PROCESSORS


def repository_of(metadata: Message) -> str:
    return dict(url.split(", ") for url in metadata.get_all("Project-URL") or [])["Repository"]


def test_the_readme_has_no_link_that_only_the_repository_has(metadata: Message) -> None:
    text = str(metadata.get_payload())
    links = re.findall(r"\]\(([^)\s]+)", text)
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert len(links) > 10 and all(re.match(r"https?://|#", link) for link in links)
    repository = repository_of(metadata)
    assert f"{repository}/blob/v{__version__}/LICENSE" in links
    inside = [link.split(f"/v{__version__}/")[1].partition("#")[0] for link in links if link.startswith(repository)]
    assert [name for name in inside if not (ROOT / name).exists()] == []


# --- the wheel and nothing beside it ---------------------------------------------------------------------------------


def requirements(*extras: str) -> set[str]:
    """The distributions that the package asks for with some extras, and all that these ask for."""
    found: set[str] = set()
    queue = [("thunder-controllers", frozenset({"", *extras}))]
    seen = set(queue)
    while queue:
        name, wanted = queue.pop()
        for text in requires(name) or []:
            one = Requirement(text)
            if any(one.marker is None or one.marker.evaluate({"extra": extra}) for extra in wanted):
                entry = (one.name, frozenset({"", *one.extras}))
                found.add(one.name)
                queue += [entry] if entry not in seen else []
                seen.add(entry)
    return found - {"thunder-controllers"}


def environment(folder: Path, *names: str, options: tuple[str, ...] = ()) -> Path:
    """A virtual environment with these distributions of ours as links; the folder of its programs."""
    run(sys.executable, "-m", "venv", "--without-pip", *options, folder)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in names:
        found = distribution(name)
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(found.locate_file(top))))
    return folder / "bin"


def install(folder: Path, *what: str | Path) -> None:
    pip = ("-m", "pip", "--disable-pip-version-check", "--python", folder / "bin" / "python", "install", "--quiet")
    run(sys.executable, *pip, "--no-deps", "--no-build-isolation", "--no-compile", *what)


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of an environment for the generator alone."""
    folder = tmp_path_factory.mktemp("base") / "venv"
    programs = environment(folder, *requirements())
    install(folder, wheel)
    return programs


@pytest.fixture(scope="module")
def simulating(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of an environment that simulates, and runs and installs projects."""
    folder = tmp_path_factory.mktemp("sim") / "venv"
    names = {*requirements("sim"), "pytest", "pluggy", "iniconfig", "setuptools", "packaging"}
    programs = environment(folder, *names)
    install(folder, wheel)
    return programs


@pytest.fixture(scope="module", autouse=True)
def no_source_tree() -> Iterator[None]:
    """pip takes what PYTHONPATH holds as installed, and would leave the wheel out: before the first environment."""
    with pytest.MonkeyPatch.context() as environment_of_tests:
        environment_of_tests.delenv("PYTHONPATH", raising=False)
        yield


def thunder(programs: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [str(programs / "thunder"), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600, check=False)


def test_the_wheel_lists_what_it_brings(base: Path, tmp_path: Path) -> None:
    for what, name in {"laws": "slotine_li", "robots": "panda", "scenarios": "panda_payload_noise"}.items():
        listed = thunder(base, "list", what, cwd=tmp_path)
        assert listed.returncode == 0 and re.search(rf"^ ?{name} ", listed.stdout, re.MULTILINE), listed.stderr


def test_the_generator_needs_neither_simulator_nor_plots(base: Path, tmp_path: Path) -> None:
    present = "import importlib.util as u; print([m for m in ('mujoco', 'matplotlib', 'scipy') if u.find_spec(m)])"
    assert run(base / "python", "-c", present, cwd=tmp_path).strip() == "[]"
    assert thunder(base, "gen", "rpr", "--out", "here", cwd=tmp_path).returncode == 0
    assert (tmp_path / "here" / "rpr_generatedFiles" / "librpr.so").is_file()
    for words in (("info", "rpr"), ("check", "rpr"), ("--help",)):
        result = thunder(base, *words, cwd=tmp_path)
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["demo"], "sim"),
        (["run", "panda_payload_noise"], "sim"),
        (["gains", "rpr", "--law", "pd_plus"], "sim"),
        (["mjcf", "panda", "--out", "panda.xml"], "sim"),
        (["ros", "panda_adaptive"], "ros"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_what_is_missing_is_one_line_that_names_the_extra(
    base: Path, tmp_path: Path, words: list[str], extra: str
) -> None:
    result = thunder(base, *words, cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.stderr
    assert f"pip install 'thunder-controllers[{extra}]'" in result.stderr


def test_a_shipped_scenario_and_robot_are_found_by_name(simulating: Path, tmp_path: Path) -> None:
    result = thunder(simulating, "run", "panda_joint_slotine_li", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "results" / "panda_joint_slotine_li" / "report.html").is_file()
    assert thunder(simulating, "mjcf", "panda", "--out", "panda.xml", cwd=tmp_path).returncode == 0
    wrong = thunder(simulating, "run", "panda_payload", cwd=tmp_path)
    assert wrong.returncode == 2 and "did you mean panda_payload_noise?" in wrong.stderr


def test_without_a_compiler_a_robot_is_read_run_and_reported(simulating: Path, tmp_path: Path) -> None:
    """`.ci/wheel-to-report` does so of a new environment, with all that pip brings, timed."""
    alone = {"PATH": str(simulating), "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    command = [str(simulating / "thunder"), "try", "panda", "--out", "out"]
    result = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("warning: no compiler 'cc': robots are interpreted") == 1
    assert (tmp_path / "out" / "report.html").stat().st_size > 0


def test_a_new_project_passes_its_own_test(simulating: Path, tmp_path: Path) -> None:
    result = thunder(simulating, "new", "my_arm", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    project = tmp_path / "my_arm"
    files = [path for path in project.rglob("*") if path.is_file()]
    assert not [path for path in files if "new_project" in f"{path.relative_to(project)} {path.read_text()}"]
    install(simulating.parent, "--editable", project)
    run(simulating / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
    listed = thunder(simulating, "list", "robots", cwd=tmp_path)
    assert re.search(r"^ ?my_arm ", listed.stdout, re.MULTILINE)


# --- the manifests agree ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def manifest() -> etree._Element:
    return etree.parse(ROOT / "package.xml").getroot()


def test_manifest_names_a_maintainer_colcon_accepts(manifest: etree._Element) -> None:
    # catkin_pkg's own rule; colcon falls back to a plain Python build, without environment hooks, where it fails
    valid = re.compile(r"[-a-zA-Z0-9_%+]+(\.[-a-zA-Z0-9_%+]+)*@[-a-zA-Z0-9%]+(\.[-a-zA-Z0-9%]+)*\.[a-zA-Z]{2,}")
    emails = [element.get("email", "") for element in manifest.iter("maintainer")]
    assert emails
    assert all(valid.fullmatch(email) for email in emails)


def test_manifest_names_every_package_that_launch_files_start(manifest: etree._Element) -> None:
    """But franka_ros2's, which come from sources."""
    files = [*(ROOT / "launch").rglob("*.py"), ROOT / "thunder_controllers/ros/tools/launch_parts.py"]
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    started = set(re.findall(r'node\(given, "(\w+)"', text))
    run = {element.text for kind in ("depend", "exec_depend") for element in manifest.iter(kind)}
    assert started >= {"controller_manager", "ros_gz_sim"} and started <= run
    assert {"rqt_gui", "rqt_plot", "rqt_reconfigure", "rviz2", "ros2bag", "robot_state_publisher"} <= run


def test_versions_agree(manifest: etree._Element) -> None:
    cmake = re.search(r"project\(thunder_controllers VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    recipe = re.search(r'^  version: "(\S+)"$', (ROOT / "conda/recipe.yaml").read_text(), re.MULTILINE)
    changelog = re.search(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    found = [manifest.findtext("version"), *(match and match[1] for match in (cmake, citation, recipe, changelog))]
    assert found == [__version__] * 5


def test_wheel_agrees_with_the_manifest(metadata: Message, manifest: etree._Element) -> None:
    license = metadata.get("License-Expression", metadata["License"])
    assert (metadata["Version"], license) == (manifest.findtext("version"), manifest.findtext("license"))


CONDA = {"cmeel-eigen": "eigen", "matplotlib": "matplotlib-base", "mujoco": "mujoco-python", "xacro": "ros-jazzy-xacro"}
"""Names of what conda-forge and RoboStack call otherwise than PyPI."""


def needed_to_simulate(metadata: Message) -> set[str]:
    wanted = [Requirement(text) for text in metadata.get_all("Requires-Dist") or []]
    direct = {one.name for one in wanted if one.marker is None or one.marker.evaluate({"extra": "sim"})}
    return {CONDA.get(name, name) for name in direct}


def test_pixi_names_every_library_of_the_simulation(metadata: Message) -> None:
    assert needed_to_simulate(metadata) <= set(load_file(ROOT / "pixi.toml")["dependencies"])


def test_the_recipe_for_conda_names_every_library_of_the_simulation(metadata: Message) -> None:
    recipe = yaml.safe_load((ROOT / "conda/recipe.yaml").read_text())
    assert recipe["about"]["repository"] == recipe["about"]["homepage"] == repository_of(metadata)
    named = {text.split()[0] for text in recipe["requirements"]["run"]}
    assert needed_to_simulate(metadata) - {CONDA["xacro"]} | {"xacro"} <= named  # which is RoboStack's in pixi.toml


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_installs_nothing_twice(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(sys.executable)

    def plan(*targets: str) -> str:
        return run("make", "--no-print-directory", "--dry-run", "-C", ROOT, f"VENV={venv}", *targets)

    assert "--editable '.[sim]'" in plan("demo")
    (venv / ".installed").write_text(str(ROOT))  # as the recipe of `make setup` does
    assert "pip" not in plan("demo") and "--editable" not in plan("test")
    (stamps,) = re.findall(r"touch (.*)", plan(f"{venv}/.installed-test"))
    for stamp in stamps.split():
        Path(stamp).touch()
    assert "pip" not in plan("demo", "ros-demo", "test")


# --- CMake -----------------------------------------------------------------------------------------------------------

SYSTEM_PYTHON = "/usr/bin/python3"


def has_ament() -> bool:
    probe = "import ament_package, catkin_pkg, setuptools, sysconfig; open(sysconfig.get_path('include') + '/Python.h')"
    if not Path("/usr/share/ament_cmake_python").is_dir() or not Path(SYSTEM_PYTHON).exists():
        return False
    return subprocess.run([SYSTEM_PYTHON, "-c", probe], capture_output=True, check=False).returncode == 0


def cmake_install(tree: Path, folder: Path, *options: str) -> Path:
    prefix = folder / "prefix"
    run("cmake", "-S", tree, "-B", folder / "build", f"-DCMAKE_INSTALL_PREFIX={prefix}", *options)
    run("cmake", "--build", folder / "build", "--parallel", "2")
    run("cmake", "--install", folder / "build")
    return prefix


EIGEN = Path(str(distribution("cmeel-eigen").locate_file("cmeel.prefix")))
WITHOUT_DEBIANS_EIGEN = "-DCMAKE_IGNORE_PATH=/usr/share/eigen3/cmake;/usr/lib/cmake/eigen3"
needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")


@pytest.fixture(scope="module")
def prefix(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What plain CMake installs, with a robot and a law that compile in seconds."""
    options = ("-DTHUNDER_ROBOTS=config/robots/planar3r.yaml", "-DTHUNDER_LAWS=pd_plus")
    without = (f"-DPython3_EXECUTABLE={sys.executable}", WITHOUT_DEBIANS_EIGEN)
    before = os.umask(0o002)  # as users of Ubuntu have it
    try:
        return cmake_install(tree, tmp_path_factory.mktemp("cmake"), *options, *without)
    finally:
        os.umask(before)


@needs_cmake
def test_plain_cmake_compiles_a_robot_and_the_host(prefix: Path) -> None:
    robot = prefix / SHARE / "robots" / "planar3r_generatedFiles"
    assert (prefix / "lib" / "libplanar3r.so").is_file()
    assert Library(robot).robot == "planar3r"
    assert (robot / "thunder_planar3r.h").is_file()
    assert (prefix / "include" / "thunder" / "thunder_abi.h").is_file()
    assert (prefix / "include" / "thunder" / "host" / "controller.hpp").is_file()
    assert list(prefix.glob("lib/libthunder_host.*"))
    assert (prefix / MARKER).is_file()


def build_example(name: str, prefix: Path, folder: Path) -> Path:
    options = (f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release", WITHOUT_DEBIANS_EIGEN)
    run("cmake", "-S", prefix / SHARE / "examples" / name, "-B", folder, *options)
    run("cmake", "--build", folder)
    return folder


@needs_cmake
@pytest.mark.skipif(not (EIGEN / "share/eigen3/cmake").is_dir(), reason="Eigen's configuration is not installed")
def test_the_host_is_found_in_an_installed_prefix_and_moves_an_arm(prefix: Path, tmp_path: Path) -> None:
    program = build_example("host", prefix, tmp_path) / "closed_loop"
    positions = run(program, prefix / SHARE / "robots" / "planar3r_generatedFiles").split()
    assert [float(value) for value in positions] == pytest.approx([0.8, 0.1, -0.2], abs=1e-3)
    refused = subprocess.run([program, tmp_path], capture_output=True, text=True, check=False)
    assert refused.returncode == 2 and str(tmp_path) in refused.stderr


@needs_cmake
@pytest.mark.skipif(not (EIGEN / "share/eigen3/cmake").is_dir(), reason="Eigen's configuration is not installed")
def test_the_program_of_the_page_builds_and_runs(prefix: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs/cpp.md").read_text(encoding="utf-8")
    for name, start in (("CMakeLists.txt", "```cmake\ncmake_min"), ("main.cpp", "```cpp\n#include")):
        block = page[page.index(start) :].partition("\n")[2].partition("```")[0]
        (tmp_path / name).write_text(block, encoding="utf-8")
    options = (f"-DCMAKE_PREFIX_PATH={prefix}", WITHOUT_DEBIANS_EIGEN)
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", *options)
    run("cmake", "--build", tmp_path / "build")
    robot = prefix / SHARE / "robots" / "planar3r_generatedFiles"
    assert len(re.findall(r"N·m", run(tmp_path / "build" / "my_program", robot))) == 3


@needs_cmake
@pytest.mark.skipif(not (EIGEN / "share/eigen3/cmake").is_dir(), reason="Eigen's configuration is not installed")
def test_a_robot_is_found_in_an_installed_prefix(prefix: Path, tmp_path: Path) -> None:
    program = build_example("generated_robot", prefix, tmp_path) / "computed_torque"
    assert len(run(program).split()) == 3


@needs_cmake
def test_cmake_names_eigen_in_one_line_before_anything_is_compiled(tree: Path, prefix: Path, tmp_path: Path) -> None:
    robot = prefix / SHARE / "robots" / "planar3r_generatedFiles"
    example = (prefix / SHARE / "examples" / "host", f"-DCMAKE_PREFIX_PATH={prefix}")
    for source, *options in ((tree, f"-DPython3_EXECUTABLE={sys.executable}"), (robot,), example):
        hidden = "-DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON"
        command = ["cmake", "-S", source, "-B", tmp_path / source.name, hidden, *options]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 1
        lines = [line.strip() for line in result.stderr.splitlines() if "Eigen" in line]
        assert [line[line.index("Eigen") :] for line in lines] == [
            "Eigen is missing: install libeigen3-dev, or pip install cmeel-eigen."
        ]


@pytest.mark.skipif(
    shutil.which("cmake") is None or not has_ament(), reason="cmake, ament_cmake or Python.h is missing"
)
def test_ament_cmake_installs_packages_scripts_and_shared_files(tree: Path, tmp_path: Path) -> None:
    # Headers only: those of one interpreter serve another.
    headers = (f"-Dpybind11_DIR={get_cmake_dir()}", f"-DEigen3_DIR={EIGEN / 'share/eigen3/cmake'}")
    prefix = cmake_install(tree, tmp_path, f"-DPython3_EXECUTABLE={SYSTEM_PYTHON}", "-DTHUNDER_ROBOTS=", *headers)
    packages = {path.parent.name for path in prefix.rglob("py.typed")}
    assert packages == set(PACKAGES)
    assert (prefix / "lib" / "thunder_controllers" / "thunder").is_file()
    assert len(list(prefix.rglob("entry_points.txt"))) == 1
    assert len(list(prefix.rglob("thunder_controllers/host/_host*.so"))) == 1
    for name in ("_calls", "_interpreter"):
        assert len(list(prefix.rglob(f"thunder_dynamics/runtime/{name}*.so"))) == 1
    assert {path.parent.name for path in (prefix / "lib").rglob("*.c*") if path.suffix in (".c", ".cpp")} <= {
        "templates"
    }
    for name in ("package.xml", "config/robots/panda.yaml", "urdf/panda.urdf.xacro", "environment/pythonpath.sh"):
        assert (prefix / SHARE / name).is_file(), name
    assert (prefix / MARKER).is_file()


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_cmake_names_a_robot_file_that_is_missing(tree: Path, tmp_path: Path) -> None:
    options = (f"-DPython3_EXECUTABLE={sys.executable}", "-DCMAKE_DISABLE_FIND_PACKAGE_ament_cmake=ON")
    command = ["cmake", "-S", str(tree), "-B", str(tmp_path), "-DTHUNDER_ROBOTS=config/robots/none.yaml", *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert re.search(r"there is no\s+file\s+\S*config/robots/none\.yaml", result.stderr)
