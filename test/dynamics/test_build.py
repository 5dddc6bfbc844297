"""build and load: the API, the cache, what makes a build current, processes that build at once, refusals."""

from __future__ import annotations

import fcntl
import importlib
import json
import multiprocessing
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot, robot_file
from watchdog import watched

import thunder_dynamics as td
from thunder_controllers.host import Library
from thunder_dynamics.errors import BuildError, ExpressionError, LawError, NameNotFoundError
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.model import Joint, JointKind, Link, RobotModel
from thunder_dynamics.storage.checksums import SUMS, write_checksums

pytestmark = pytest.mark.slow


def pendulum(mass: float = 1.0, name: str = "pendulum") -> RobotModel:
    """The smallest robot: one link about the horizontal x axis."""
    inertia = Inertia(mass, np.array([0.0, 0.0, -0.5]), np.diag([0.1, 0.1, 0.05]))
    joint = Joint("hinge", JointKind.REVOLUTE, axis=(1.0, 0.0, 0.0))
    return RobotModel(name, (Link("rod", -1, joint, inertia),))


def stamps(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


def visible(folder: Path) -> list[str]:
    """What lies in a folder, apart from the lock files of builds."""
    return sorted(p.name for p in folder.iterdir() if not p.name.endswith(".lock")) if folder.exists() else []


# --- the API -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["import thunder_dynamics.build", "import thunder_dynamics as td; td.load", "pass"])
def test_build_is_the_function_whatever_was_imported_first(first: str) -> None:
    code = f"{first}\nimport thunder_dynamics as td\nassert td.build.__name__ == 'build' and callable(td.build)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_default_folder_is_the_cache(build_cache: Path) -> None:
    folder = td.build(pendulum())
    assert folder.is_relative_to(build_cache) and folder.name == "pendulum_generatedFiles"
    assert td.build(pendulum()) == folder
    assert td.build(pendulum(2.0)) != folder


def test_a_given_folder_holds_the_package(tmp_path: Path) -> None:
    (tmp_path / "deep" / "down" / "pendulum_generatedFiles").mkdir(parents=True)  # an empty one is no obstacle
    folder = td.build(pendulum(), folder=tmp_path / "deep" / "down")
    assert folder == tmp_path / "deep" / "down" / "pendulum_generatedFiles"
    manifest = json.loads((folder / "manifest.json").read_text())
    files = {path.name for path in folder.rglob("*") if path.is_file()}
    assert {"libpendulum.so", "thunder_abi.h", "manifest.json", "SHA256SUMS", "README.md"} <= files
    library = Library(folder / manifest["library"])
    assert library.hash == manifest["hash"] and library.robot == "pendulum"
    np.testing.assert_array_equal(library.pi, pendulum().pi)


@pytest.mark.xdist_group("panda")
def test_a_second_build_touches_nothing_and_needs_no_casadi(panda_folder: Path) -> None:
    before = stamps(panda_folder)
    code = (
        "import sys, thunder_dynamics as td\n"
        f"folder = td.build(td.load_model({str(robot_file('panda'))!r}), laws=['cartesian_backstepping'])\n"
        "assert 'casadi' not in sys.modules\n"
        "td.load(folder)\n"
        "print(folder)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert Path(result.stdout.strip()) == panda_folder
    assert stamps(panda_folder) == before


def test_what_is_missing_damaged_or_writable_is_built_again(tmp_path: Path) -> None:
    folder = td.build(pendulum(), folder=tmp_path)
    whole = (folder / "libpendulum.so").read_bytes()
    (folder / "README.md").unlink()
    assert (td.build(pendulum(), folder=tmp_path) / "README.md").is_file()
    (folder / "libpendulum.so").write_bytes(whole[:1000])
    assert Library(td.build(pendulum(), folder=tmp_path)).pi[0] == 1.0
    (folder / SUMS).unlink()
    folder.chmod(0o777)
    assert Library(td.build(pendulum(), folder=tmp_path)).pi[0] == 1.0


def test_a_damaged_manifest_or_module_is_refused_and_written_again(tmp_path: Path) -> None:
    folder = td.build(pendulum(), folder=tmp_path)
    whole = (folder / "manifest.json").read_text()
    td.load(folder)
    for name in ("thunder_pendulum.py", "libpendulum.so"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content + b"more")
        with pytest.raises(BuildError, match=f"{name}: is not the file that was generated"):
            td.load(folder)
        (folder / name).write_bytes(content)
    for text in ("", "{", "[]", "3", "[" * 100_000, whole[:-9], whole.replace("pendulum", "arm"), whole + "\0", "{}"):
        (folder / "manifest.json").write_text(text)
        with pytest.raises(BuildError, match="manifest.json: is not the file that was generated"):
            td.load(folder)
    (folder / "manifest.json").write_text(whole.replace('"generator"', '"maker"'))
    td.build(pendulum(), folder=tmp_path)
    assert (folder / "manifest.json").read_text() == whole


def test_two_robots_of_one_name_live_in_one_process() -> None:
    light, heavy = (td.load(td.build(pendulum(mass))) for mass in (1.0, 3.0))
    for robot in (light, heavy):
        robot.set_q([0.3])
    assert heavy.get_G()[0] == pytest.approx(3 * light.get_G()[0], rel=1e-12)
    assert light.get_M().item() != heavy.get_M().item()


# --- processes that build at once ----------------------------------------------------------------------------------


def _build_rounds(folder: str, masses: list[float], results: multiprocessing.Queue[object]) -> None:
    try:
        for mass in masses:
            path = td.build(pendulum(mass), folder=folder)
            results.put(Library(path / "libpendulum.so").pi[0])
    except BaseException as error:
        results.put(error)
        raise


@pytest.mark.parametrize("masses", [([1.0], [1.0]), ([1.0, 2.0, 1.0], [2.0, 1.0, 3.0])], ids=["same", "different"])
def test_processes_that_build_at_once_do_not_disturb_each_other(
    tmp_path: Path, masses: tuple[list[float], list[float]]
) -> None:
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [context.Process(target=_build_rounds, args=(str(tmp_path), m, results)) for m in masses]
    for process in processes:
        process.start()
    seen = [results.get(timeout=600) for _ in range(sum(map(len, masses)))]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert all(mass in (1.0, 2.0, 3.0) for mass in seen)  # whole libraries, whoever's
    assert visible(tmp_path) == ["pendulum_generatedFiles"]
    folder = tmp_path / "pendulum_generatedFiles"
    manifest = json.loads((folder / "manifest.json").read_text())
    library = Library(folder / manifest["library"])
    assert library.hash == manifest["hash"] and library.pi[0] in (1.0, 2.0, 3.0)
    c_text = (folder / "pendulum_library.c").read_text()
    assert library.hash in c_text


# --- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["notes.txt", "manifest.json"])
def test_a_folder_that_was_not_generated_is_kept(tmp_path: Path, content: str) -> None:
    target = tmp_path / "pendulum_generatedFiles"
    target.mkdir()
    (target / content).write_text('{"name": "mine"}')
    with pytest.raises(BuildError, match="pendulum_generatedFiles: exists and was not generated; valid: another"):
        td.build(pendulum(), folder=tmp_path)
    assert visible(target) == [content]


@pytest.mark.parametrize("compiler", ["false", "failing"])
def test_a_failing_compiler_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    script = tmp_path / "failing"  # answers --version and then fails
    script.write_text('#!/bin/sh\ncase "$*" in *-c*) echo "no space" >&2; exit 1;; *) exec cc "$@";; esac\n')
    script.chmod(0o755)
    out = tmp_path / "out"
    old = td.build(pendulum(1.0), folder=out)
    before = stamps(old)
    monkeypatch.setenv("CC", compiler if compiler == "false" else str(script))
    with pytest.raises(BuildError, match="failed" if compiler == "false" else "failed:\nno space"):
        td.build(pendulum(2.0), folder=out)
    assert stamps(old) == before and visible(out) == ["pendulum_generatedFiles"]
    assert not [p for p in out.iterdir() if p.is_dir() and p != old]


def compiler_script(folder: Path, command: str, before_compiling: str) -> str:
    """A compiler that a shell does something before, when it is to compile."""
    script = folder / f"{command}-script"
    script.write_text(f'#!/bin/bash\ncase "$*" in *" -c "*) {before_compiling};; esac\nexec {command} "$@"\n')
    script.chmod(0o755)
    return str(script)


def generate(output: Path, **options: Any) -> subprocess.Popen[str]:
    """The command that generates planar3r, started."""
    command = [sys.executable, "-m", "thunder_dynamics.cli", "gen", str(robot_file("planar3r")), "-o", str(output)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True, **options)


def test_what_a_killed_build_left_is_removed_by_the_next(tmp_path: Path) -> None:
    output = tmp_path / "output"
    (output / ".planar3r_generatedFiles_mine").mkdir(parents=True)  # not as a build names its own
    sleeping = {**os.environ, "CC": compiler_script(tmp_path, "gcc", "sleep 600")}
    killed = generate(output, env=sleeping)
    while killed.poll() is None and len(visible(output)) < 2:
        time.sleep(0.05)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert len(visible(output)) == 2 and (output / ".planar3r_generatedFiles.lock").exists()
    done = generate(output)
    out, err = done.communicate()
    assert (done.returncode, out.strip(), err) == (0, str(output / "planar3r_generatedFiles"), "")
    assert visible(output) == [".planar3r_generatedFiles_mine", "planar3r_generatedFiles"]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("thunder_dynamics.storage.lock")
    monkeypatch.setattr(module, "LOCK_PATIENCE", 0.4)
    monkeypatch.setattr(module, "QUIET_WAIT", 0.1)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("act", ["build", "load"])
def test_a_lock_that_another_holds_is_waited_for_by_name_and_not_for_ever(tmp_path: Path, act: str) -> None:
    target, lock = tmp_path / "pendulum_generatedFiles", tmp_path / ".pendulum_generatedFiles.lock"
    handle = os.open(lock, os.O_RDONLY | os.O_CREAT, 0o644)  # as who may only read it could
    fcntl.flock(handle, fcntl.LOCK_EX)
    target.mkdir()
    (target / SUMS).touch()
    who = f"process {os.getpid()}"
    with (
        watched(),
        pytest.warns(RuntimeWarning, match=f"waiting for {who}, which holds {lock}"),
        pytest.raises(BuildError, match=rf"{lock}: {who} has held it for \d+ s; valid: wait for its end, or end it"),
    ):
        td.build(pendulum(), folder=tmp_path) if act == "build" else td.load(target)
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    os.close(handle)


def test_a_new_lock_is_closed_to_others_and_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/pendulum_generatedFiles").write_text("not generated: the build ends where it has the lock")
    with pytest.raises(BuildError, match="exists and was not generated"):
        td.build(pendulum(), folder=tmp_path / "other")
    assert stat.S_IMODE((tmp_path / "other/.pendulum_generatedFiles.lock").stat().st_mode) == 0o600
    (tmp_path / ".pendulum_generatedFiles.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BuildError, match=r"\.lock: the output cannot be written"):
        td.build(pendulum(), folder=tmp_path)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who may give files away")
def test_a_lock_that_another_user_has_laid_there_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / ".pendulum_generatedFiles.lock"
    lock.touch(0o666)
    os.chown(lock, 12345, 12345)
    with pytest.raises(BuildError, match="the lock is no file of this user; valid: another folder, or remove it"):
        td.build(pendulum(), folder=tmp_path)


@pytest.mark.parametrize("who", ["generator", "compiler"])
def test_a_limit_on_the_size_of_files_is_one_line(tmp_path: Path, who: str) -> None:
    output = tmp_path / "output"
    if who == "generator":
        options: dict[str, Any] = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))}
    else:
        names = {"CC": "gcc", "CXX": "g++"}
        scripts = {name: compiler_script(tmp_path, command, "ulimit -f 2") for name, command in names.items()}
        options = {"env": {**os.environ, **scripts}}
    process = generate(output, **options)
    out, err = process.communicate()
    assert (process.returncode, out, err.count("\n")) == (2, "", 1), err
    assert "the output cannot be written (" in err and err.endswith("; valid: a writable folder with space\n")
    assert "File too large" in err or "File size limit exceeded" in err
    assert visible(output) == []


def test_unknown_laws_and_options_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(NameNotFoundError, match="no law 'pid'; valid: .*cartesian_backstepping"):
        td.build(load_robot("panda"), ["pid"], folder=tmp_path)
    with pytest.raises(BuildError, match="law 'cartesian_backstepping' is asked for twice; valid: each law once"):
        td.build(load_robot("panda"), ["cartesian_backstepping"] * 2, folder=tmp_path)
    with pytest.raises(NameNotFoundError, match="no option 'links'"):
        td.build(load_robot("panda"), [("cartesian_backstepping", {"links": "all"})], folder=tmp_path)
    with pytest.raises(LawError, match="a pose task needs 6 joints"):
        td.build(pendulum(), ["cartesian_backstepping"], folder=tmp_path)
    assert visible(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "no function add_functions; valid: def add_functions"),
        ("def add_functions(robot): return 1 / 0", "ZeroDivisionError: division by zero"),
        ("def add_functions(robot: ", "SyntaxError"),
        (
            "def add_functions(robot):\n    robot.add_function('M', robot.symbol('q'), ['q'])",
            "function 'M' exists already",
        ),
    ],
)
def test_bad_user_functions_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(ExpressionError, match=message):
        td.build(pendulum(), folder=tmp_path / "out", user_functions=file)
    assert visible(tmp_path / "out") == []


def test_user_functions_must_be_a_python_file(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="nothing.py: no such file; valid: a Python file with add_functions"):
        td.build(pendulum(), folder=tmp_path, user_functions=tmp_path / "nothing.py")
    (tmp_path / "mine.txt").write_text("x = 1")
    with pytest.raises(ExpressionError, match="mine.txt: not a Python file; valid: a file ending in .py"):
        td.build(pendulum(), folder=tmp_path / "out", user_functions=tmp_path / "mine.txt")


def test_only_generated_folders_load(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no generated library: there is no SHA256SUMS; valid: a folder that build"):
        td.load(tmp_path / "nothing")
    assert os.listdir(tmp_path) == []


def test_a_library_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    folder = td.build(pendulum(), folder=tmp_path)
    (folder / "libpendulum.so").write_text("not an object file")
    write_checksums(folder)
    with pytest.raises(BuildError, match=r"libpendulum\.so: cannot be loaded: .*; valid: rebuild it"):
        td.load(folder)


USES_THE_FOLDER = """
import sys
import thunder_dynamics.errors
sys.path.insert(0, sys.argv[1])
import thunder_pendulum
if "rebuilt" in sys.argv: input("imported")
try:
    robot = thunder_pendulum.thunder_pendulum()
    print(robot.get_M().item(), "casadi" in sys.modules)
except thunder_dynamics.errors.BuildError as error:
    print(error)
"""


def imported(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", USES_THE_FOLDER, str(folder), *words]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_the_module_of_a_folder_on_the_path_uses_the_library_beside_it(tmp_path: Path) -> None:
    folder = td.build(pendulum(), folder=tmp_path)
    expected = td.load(folder).get_M().item()
    assert imported(folder).communicate()[0] == f"{expected} False\n"
    waiting = imported(folder, "rebuilt")
    assert waiting.stdout and waiting.stdout.read(8) == "imported"
    td.build(pendulum(2.0), folder=tmp_path)
    answer = waiting.communicate("\n")[0]
    assert "libpendulum.so: is not the library of this module; valid: import the module anew" in answer
    with (folder / "libpendulum.so").open("ab") as file:
        file.write(b"more")
    assert "libpendulum.so: is not the file that was generated" in imported(folder).communicate()[0]
