"""The command `thunder`: what `gen` writes, and one line of error with nothing written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from command_line import pretend_package
from evaluation import ROOT, robot_file

from thunder_controllers.host import Library, estimated_links
from thunder_dynamics import cli
from thunder_dynamics.cli import main, parse_law
from thunder_dynamics.errors import LawError, MissingLibraryError
from thunder_dynamics.version import __version__

URDF = Path(__file__).parents[1] / "data" / "arm.urdf"


pytestmark = pytest.mark.slow


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of a call."""
    status = 0
    try:
        main([str(a) for a in arguments])
    except SystemExit as exit_:
        status = int(exit_.code or 0)
    output = capsys.readouterr()
    return status, output.out, output.err


def generated(capsys: pytest.CaptureFixture[str], *arguments: object) -> Path:
    status, out, err = run(capsys, "gen", *arguments)
    assert (status, err) == (0, "")
    return Path(out.strip())


def test_a_yaml_file_becomes_a_package_named_after_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = generated(capsys, robot_file("planar3r"), "-o", tmp_path)
    assert folder == tmp_path / "planar3r_generatedFiles"
    assert Library(folder / "libplanar3r.so").robot == "planar3r"


def test_the_name_and_the_processor_are_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = generated(capsys, robot_file("planar3r"), "-n", "arm", "-o", tmp_path, "--portable")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert folder.name == "arm_generatedFiles" and manifest["robot"] == "arm"
    assert (folder / "thunder_arm.py").is_file() and "-march=native" not in manifest["flags"]


def test_urdf_and_xacro_files_are_robots(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = generated(capsys, URDF, "-n", "arm", "-o", tmp_path)
    assert Library(folder / "libarm.so").n_joints > 0
    xacro = ROOT / "urdf" / "panda.urdf.xacro"
    options = ["--xacro-arg", "prefix=left_", "--lock", "left_joint7=0.5"]
    folder = generated(capsys, xacro, "-o", tmp_path, *options)
    library = Library(folder / "libpanda.so")
    assert library.joint_names == tuple(f"left_joint{i}" for i in range(1, 7))


def test_trees_and_floating_bases_are_robots(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    biped = ROOT / "test" / "data" / "biped.urdf"
    joints = ("left_hip", "left_knee", "right_hip", "neck", "string")
    held = [part for joint in ("left_knee", "right_hip") for part in ("--lock", f"{joint}=0.1")]
    ends = ["--ee-link", "left-foot", "--ee-link", "head"]
    folder = generated(capsys, biped, "-o", tmp_path, "--base", "floating", *ends, *held)
    library = Library(folder / "libbiped.so")
    assert library.joint_names == ("root_joint", *(joint for joint in joints if f"{joint}=0.1" not in held))
    assert {"J_left_foot", "T_0_head", "N"} <= set(library.functions)
    status, _, err = run(capsys, "gen", biped, "-o", tmp_path, "--ee-link", "left-foot")
    assert status == 2 and "movable joints off the chain" in err


@pytest.mark.parametrize(
    ("place", "option", "refusal"),
    [
        ("../part.xacro", ["--xacro-folder", "FOLDER"], "it may not read FOLDER/in/../part.xacro"),
        ("$(find parts)/part.xacro", ["--package", "parts=FOLDER"], "no package 'parts'"),
    ],
)
def test_a_xacro_file_reads_the_folders_and_packages_that_the_command_names(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    place: str,
    option: list[str],
    refusal: str,
) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    file = tmp_path / "in" / "arm.xacro"
    file.parent.mkdir()
    (tmp_path / "part.xacro").write_text(URDF.read_text())
    xmlns = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    file.write_text(f'<robot name="arm" {xmlns}><xacro:include filename="{place}"/></robot>')
    status, _, err = run(capsys, "gen", file, "-o", tmp_path)
    assert status == 2 and refusal.replace("FOLDER", str(tmp_path)) in err and err.count("\n") == 1
    given = [word.replace("FOLDER", str(tmp_path)) for word in option]
    assert Library(generated(capsys, file, "-o", tmp_path, *given) / "libarm.so").n_joints > 0


def test_laws_take_options(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    law = "cartesian_backstepping:task=position,adapted_links=link2+link3"
    folder = generated(capsys, robot_file("planar3r"), "-o", tmp_path, "--law", law)
    described = Library(folder / "libplanar3r.so").law("cartesian_backstepping")
    assert {entry.name: entry.size for entry in described.state}["pi_hat"] == 20


def test_links_may_have_names_that_are_no_c_identifiers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "my-arm.urdf"
    text = URDF.read_text().replace('"upper"', '"upper-arm"').replace('"rod"', '"rod_1.0"')
    file.write_text(text.replace('<robot name="arm">', '<robot name="2dof-arm">'))
    law = "slotine_li:adapted_links=upper-arm+rod_1.0"
    library = Library(generated(capsys, file, "-o", tmp_path, "--law", law) / "librobot_2dof_arm.so")
    assert library.robot == "robot_2dof_arm"
    assert estimated_links(library, "slotine_li") == ("upper-arm", "rod_1.0")


def test_user_functions_are_compiled_in(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "def add_functions(robot):\n    robot.add_function('twice', 2 * robot.symbol('q'), ['q'], 'Twice q.')\n"
    )
    folder = generated(capsys, robot_file("planar3r"), "-o", tmp_path, "--user-functions", file)
    assert Library(folder / "libplanar3r.so").evaluate("twice", [1.0, 2.0, 3.0]).tolist() == [2.0, 4.0, 6.0]


def test_functions_on_request_are_compiled_in(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = generated(capsys, robot_file("planar3r"), "-o", tmp_path, "--function", "M_inv", "--function", "J_com")
    functions = set(Library(folder / "libplanar3r.so").functions)
    assert {"M_inv", "J_com", "M"} <= functions and "C_ddot" not in functions


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.yaml"], "none.yaml"),
        (["robot.stl"], "no reader for the suffix '.stl'"),
        (["PLANAR", "-n", "for"], "robot name 'for' is not a C identifier"),
        (["PLANAR", "--law", "pid"], "no law 'pid'; valid: "),
        (["PLANAR", "--law", "cartesian_backstepping:task"], "'task' is no option; valid: NAME=VALUE"),
        (["PLANAR", "--law", "cartesian_backstepping:task=pose"], "a pose task needs 6 joints"),
        (["PLANAR", "--law", "cartesian_backstepping:speed=1"], "no option 'speed'"),
        (["PLANAR", "--law", "cartesian_backstepping:task=position,adapted_links=x+y"], "no link 'x'"),
        (["PLANAR", "--user-functions", "none.py"], "none.py: no such file"),
        (["PLANAR", "--function", "M_inverse"], "planar3r: no function 'M_inverse'; valid: "),
        (["PLANAR", "--base-link", "base"], "no option '--base-link'; valid: --name, --allow-inconsistent"),
        (["PLANAR", "-n", "7dof"], "(set another with --name)"),
        (["URDF", "--ee-link", "none"], "--ee-link: no link 'none'"),
        (
            ["URDF", "--ee-link", "rod"],
            "valid: --tree, another --ee-link or --base-link, or hold them: --arm, or --lock JOINT=VALUE",
        ),
        (["URDF", "--lock", "j=x"], "'x' is no number"),
        (["URDF", "--lock", "j"], "'j' is no option"),
        (["PLANAR", "--xacro-arg", "=3"], "'=3' is no option"),
        (["PLANAR", "--no-such-option"], "--no-such-option"),
        ([], "ROBOT"),
    ],
)
def test_an_error_is_one_message_with_status_2_and_writes_nothing(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    places = {"PLANAR": str(robot_file("planar3r")), "URDF": str(URDF)}
    status, out, err = run(capsys, "gen", *(places.get(a, a) for a in arguments))
    assert status == 2 and out == "" and message in err
    if err.startswith("thunder: error:"):
        assert err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir() if not p.name.endswith(".lock")] == []


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("file", "File exists"),
        ("file/below", "Not a directory"),
        ("/proc/nothing", "No such file or directory"),
        ("n" * 300, "File name too long"),
    ],
)
def test_an_output_that_cannot_be_written_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, place: str, why: str
) -> None:
    (tmp_path / "file").touch()
    status, out, err = run(capsys, "gen", robot_file("planar3r"), "-o", tmp_path / place)
    expected = f"{tmp_path / place}: the output cannot be written ({why}); valid: a writable folder with space"
    assert (status, out, err) == (2, "", f"thunder: error: {expected}\n")
    assert [p.name for p in tmp_path.iterdir()] == ["file"] and (tmp_path / "file").read_text() == ""


MOUNT = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
"""Runs a script in a name space of its own, where it may mount."""


@pytest.mark.skipif(
    not which("unshare") or subprocess.run([*MOUNT, "mount -t tmpfs none /mnt"], capture_output=True).returncode != 0,
    reason="mounting is not allowed here",
)
@pytest.mark.parametrize(
    ("options", "why"), [("size=60k", "No space left on device"), ("size=60k,ro", "Read-only file system")]
)
def test_a_full_or_read_only_file_system_is_one_line(tmp_path: Path, options: str, why: str) -> None:
    mount = f'mount -t tmpfs -o {options} none "$1"'
    script = mount + ' && { "$2" -m thunder_dynamics.cli gen "$3" -o "$1"; echo $?; ls "$1"; }'
    arguments = ["sh", str(tmp_path), sys.executable, str(robot_file("planar3r"))]
    done = subprocess.run([*MOUNT, script, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout == "2\n"  # and the folder is empty
    assert done.stderr.startswith(f"thunder: error: {tmp_path}") and done.stderr.count("\n") == 1
    assert f"the output cannot be written ({why}); valid: a writable folder with space" in done.stderr


def test_impossible_inertias_are_one_line_whether_refused_or_allowed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "arm.urdf"
    text = URDF.read_text()
    file.write_text(text.replace('iyy="0.03"', 'iyy="0.3"'))
    first, wrist = (text[: text.index(f'<link name="{name}"')].count("\n") + 1 for name in ("upper", "wrist"))
    turns = (
        f"thunder: warning: {file}:{first}: <link upper>: the inertia of upper, rod is no rigid body's; only its moment"
    )
    broken = f"{file}:{wrist}: <link wrist>: the inertia about the CoM breaks the triangle inequality: "
    for allowed, kind, ended in (((), "error", 2), (("--allow-inconsistent",), "warning", 0)):
        status, _, err = run(capsys, "gen", file, "-o", tmp_path, *allowed)
        one, two = err.splitlines()
        assert status == ended and one.startswith(turns) and two.startswith(f"thunder: {kind}: {broken}")
        assert ("or --allow-inconsistent" in two) == (kind == "error")


@pytest.mark.slow
@pytest.mark.parametrize("words", ["--help", "list robots"])
def test_a_list_waits_for_no_library_that_it_does_not_need(words: str) -> None:
    program = f"import sys; from thunder_dynamics.cli import main; main({words.split()}); print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    heavy = {f"'{name}'" for name in ("casadi", "mujoco", "numpy", "pydantic", "scipy", "matplotlib")}
    assert not heavy & set(loaded.split(", "))


def test_help_lists_the_sub_commands_of_other_packages(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--help")
    assert status == 0 and "gen " in out and "run " in out
    assert "Run a simulation SCENARIO" in out and "name of `thunder list robots`." in out
    assert run(capsys, "run", "--help")[0] == 0
    assert "no command 'fly'" in run(capsys, "fly")[2]


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version")[1] == f"thunder, version {__version__}\n"


def test_law_requests_are_parsed() -> None:
    assert parse_law("pd") == ("pd", {})
    assert parse_law("pd:a=1,b=x+y") == ("pd", {"a": "1", "b": ["x", "y"]})
    for text in ("pd:a", "pd:=1", "pd:a="):
        with pytest.raises(LawError, match="is no option; valid: NAME=VALUE"):
            parse_law(text)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rnu", "panda_payload_noise"], "no command 'rnu'; valid: run"),
        (["expriment"], "(did you mean experiment?)"),
        (["info", "planar3"], "no robot 'planar3'; valid: a file, or one of panda, panda_elastic, planar3r, "),
        (["run", "panda_payload"], "no scenario 'panda_payload'; valid: a file, or one of "),
        (["info", "panda.yml"], "no file 'panda.yml'; valid: panda, the name of a robot, or a file of "),
        (
            ["run", "mine/panda_payload_noise.yaml"],
            "valid: panda_payload_noise, the name of a scenario, or a file; there is no folder mine",
        ),
        (["info", str(ROOT / "config/robots/planar4r.yaml")], "(did you mean planar3r.yaml?)"),
        (["run", str(ROOT / "config/scenarios/panda_excitaton.yaml")], "(did you mean panda_excitation.yaml?)"),
        (["gen", "planar3r", "--law", "slotine_li:frition=adapted"], "(did you mean friction?)"),
        (["gen", "planar3r", "--law", "slotine_li:friction=adaptive"], "valid: none, adapted"),
        (["gen", "planar3r", "--law", "slotine_li:adaptation=compositee"], "(did you mean composite?)"),
        (["gains", "planar3r", "--law", "pd_plus", "--gain", "K_dd"], "(did you mean K_d?)"),
        (["mjcf", "pandas", "--out", "x.xml"], "(did you mean panda?)"),
        (["gen", "planar3r", "--law", "slotine_lee"], "(did you mean slotine_li?)"),
        (["gen", "planar3r", "--output", "x"], "No such option '--output'. Did you mean '--out'?"),
        (["info"], "Missing argument 'ROBOT'; see thunder info --help"),
        (["run", "x.yaml", "--sed", "5"], "see thunder run --help"),
        (["compare", "no_such.yaml"], "no file no_such.yaml"),
        (["experiment", "bad_dya"], "no experiment 'bad_dya'"),
        (["ros", "panda_adaptive", "lew:=pd_plus"], "lew"),
        (["experiment", "sns", "--out", "/proc/x"], "/proc/x: No such file or directory"),
        (["new", "/proc/x"], "/proc/x: No such file or directory"),
        (["gains", "planar3r", "--law", "pd_plus", "--gains", "K_d=fast"], "'fast' is no number"),
        (["gains", "planar3r", "--law", "pd_plus", "--gains", "none.yaml"], "none.yaml"),
    ],
)
def test_a_name_that_nothing_has_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, *words)
    assert (status, out, err.count("\n")) == (2, "", 1) and message in err
    assert err.startswith("thunder: error: ")


def test_without_a_command_the_commands_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys)
    assert status == 2 and "Compile robots and control laws" in out + err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("thunder exp", ["experiment", "export"]),
        ("thunder info planar", ["planar3r"]),
        ("thunder run panda_payload", ["panda_payload_noise"]),
        ("thunder gen panda --law slot", ["slotine_li", "slotine_li_elastic"]),
        ("thunder experiment bad", ["bad_day"]),
        ("thunder mjcf pan", ["panda"]),
        ("thunder gains --vel", ["--velocity-filter"]),
    ],
)
def test_a_shell_completes_names(words: str, expected: list[str]) -> None:
    count = str(len(words.split()) - 1)
    completing = {**os.environ, "_THUNDER_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": count}
    command = [sys.executable, "-c", "from thunder_dynamics.cli import main; main()"]
    done = subprocess.run(command, env=completing, capture_output=True, text=True, check=False)
    found = [line.partition(",")[2] for line in done.stdout.split() if line.startswith("plain,")]
    assert found == expected, done.stderr


def test_a_command_that_cannot_be_loaded_spoils_no_other(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend_package(tmp_path, "[thunder.commands]\nbroken = thunder_dynamics.cli:nothing\nodd = sys:path\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run(capsys, "--help")[0] == 0
    for name, why in (("broken", "cannot be loaded"), ("odd", "is no click command")):
        status, out, err = run(capsys, name, "--option", "word")
        assert (status, out, err.count("\n")) == (2, "", 1) and f"entry point {name} = " in err and why in err


@pytest.mark.parametrize(
    ("module", "install"),
    [
        ("mujoco.viewer", "'thunder-controllers[sim]'"),
        ("rosbags", "'thunder-controllers[bags]'"),
        ("rclpy", "'thunder-controllers[ros]'"),
        ("geometry_msgs.msg", "'thunder-controllers[ros]'"),
        ("no_such", "no_such"),
    ],
)
def test_a_missing_library_names_its_extra(module: str, install: str) -> None:
    assert str(MissingLibraryError(module)).endswith(f" is not installed; valid: pip install {install}")


def test_ctrl_c_that_cuts_an_import_short_is_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiled module raises ImportError then, whose context is what happened."""

    def interrupted(*_: Any, **__: Any) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None

    monkeypatch.setattr(cli.thunder, "main", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == 130


def test_a_folder_that_is_called_as_a_robot_is_no_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "planar3r").mkdir()
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "list", "functions", "planar3r")[0] == 0


def test_help_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    longest = max(map(len, run(capsys, "--help")[1].splitlines()))
    assert 100 < longest <= cli.WIDEST


def test_a_reader_that_has_read_enough_is_no_fault() -> None:
    command = f"'{sys.executable}' -m thunder_dynamics.cli list functions panda | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
