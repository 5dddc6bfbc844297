"""Every code block and command of the documentation runs as it stands, or a table says why it does not run here."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from documentation import PAGES, ROOT, Block, all_commands, blocks

from thunder_controllers.resources import share
from thunder_dynamics.readers.xacro import expand_xacro

ELSEWHERE = "changes the machine; test_user_law and test_packaging install elsewhere"

NOT_HERE = {
    r"ros2 |rosdep |export ROS_": "needs a ROS distribution; test_ros_docs checks the names in it",
    r"sudo apt|colcon |source |python3 -m (pip|venv)": ELSEWHERE,
    r"pip install (-e (examples|\")|--no-deps|\"|--requirement)": ELSEWHERE,
    r"\. \.?venv/bin/activate": "changes the shell",
    r".*thunder ros |make ros-demo|thunder_": "nodes that run until they are ended: test/ros/tools",
    r"thunder franka-server": "runs until it is ended: test/franka",
    r"thunder doctor": "judges the machine, whose status is its own: test/doctor",
    r"make (setup|check|test|stubs)|pre-commit install|.*-m pytest ": "sets up these tests, or is these tests",
    r"make (bench|soak)|.*benchmarks/": "measures for minutes on a quiet machine; test_benchmarks runs the parts",
    r"thunder run .* --video": "renders for a minute: test/view has short ones",
    r"thunder run panda_payload_noise": "30 s of the Panda twice, as the demo",
    r"thunder (compare config|experiment bad_day)": "hundreds of runs: test/experiments has small ones",
    r"plotjuggler |python3 -m thunder_controllers.ros.tools.rqt": "opens a window: test_layouts and test_rqt",
    r".*\[|thunder experiment NAME": "shows which options there are",
    r"eval |_THUNDER_COMPLETE": "lines of a shell's own file; test_cli completes",
    r"git clone|python panda_record|thunder \w+ .*(panda_1|tx40)\.csv": "a public record: test_replay makes its own",
    r"thunder load ": "needs estimates that a controller saved: test/franka/test_load.py",
    r".* run\.mcap ": "a record of one's own arm; test_identify reads bags",
    r"thunder gen .* spring_and_damper": "needs a package that is not installed: test_user_law",
    r"thunder .*(adaptation=drem|adaptation_schemes)": "needs a package: test_user_adaptations",
    r"make fuzz": "minutes to hours: continuous integration runs it, in a short form",
    r"cmake |build/example/": "test_use_from_code and test_packaging build and run it",
    r"thunder try z1": "needs example-robot-data: make test-collection",
    r"pip install --editable|python -m pytest$|thunder (\w+ |run src/)new_project": "test_packaging does that",
}
"""Beginnings of commands that are not run, and why."""

STATUS = {"thunder gains config/robots/planar3r.yaml --law slotine_li --gains K_d=100": 1}
"""Beginnings of commands that end with another status than 0, as the page says."""

FRAGMENTS = {
    "docs/gazebo-and-franka.md": ["import pylibfranka"],
    "docs/reference/batches.md": ["import jax", "import torch", "import cupy"],
    "docs/ros2.md": ["from geometry_msgs.msg import InertiaStamped", "import time"],
    "docs/your-law.md": ["(effort, next_state, telemetry) ="],
}
"""Beginnings of blocks that are no programs, by page; the last are a ROS node, which test_ros_docs runs, and programs
that need a robot, which test_client and test_franka_server run. What arrays need is not always installed:
test_array_targets.
"""

LONGEST = 900.0
"""Time after which a command is ended, and fails [s]: one that waits for somebody would keep all tests waiting."""

LANGUAGES = {"bash", "python", "pycon", "yaml", "toml", "text", "cmake", "cpp", "{toctree}"}


def reason(command: str) -> str | None:
    return next((why for start, why in NOT_HERE.items() if re.match(start, command)), None)


@pytest.fixture(scope="session")
def workplace(tmp_path_factory: pytest.TempPathFactory, build_cache: Path) -> Path:
    """A clone of the repository made of links, with an environment that is installed, and robot files of a user.

    What pip installs there goes to a folder of its own, `site`.
    """
    folder = tmp_path_factory.mktemp("workplace")
    for entry in ROOT.iterdir():
        if entry.name not in {".venv", ".git", "build", "results"}:
            (folder / entry.name).symlink_to(entry)
    (folder / ".venv").mkdir()
    for entry in Path(sys.prefix).iterdir():
        if not entry.name.startswith(".installed"):
            (folder / ".venv" / entry.name).symlink_to(entry)
    for stamp in ("", "-test", "-ros", "-docs"):
        (folder / f".venv/.installed{stamp}").write_text(f"{folder}\n")
    urdf = expand_xacro(share("urdf/panda.urdf.xacro"))
    for name in ("my_arm.urdf", "my_robot.urdf"):
        (folder / name).write_text(urdf)
    for name in ("my_arm.yaml", "panda.yaml", "my_robot.yaml"):
        (folder / name).write_bytes(share("config/robots/panda.yaml").read_bytes())
    (folder / "site").mkdir()  # Python reads its .pth files, as those of an environment: pip install -e leaves one
    text = "import site, pathlib\nsite.addsitedir(str(pathlib.Path(__file__).parent))\n"
    (folder / "site/sitecustomize.py").write_text(text)
    return folder


DONE: set[str] = set()
"""Commands that ran: one that several pages show runs once."""


def run_command(command: str, folder: Path) -> None:
    if command in DONE:
        return
    environment = {
        **os.environ,
        "PATH": f"{folder / '.venv/bin'}{os.pathsep}{os.environ['PATH']}",
        "PIP_TARGET": str(folder / "site"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # so pip spells it: no isolation, which would ask the index for setuptools
        "PIP_NO_DEPS": "1",
        "PYTHONPATH": str(folder / "site"),
    }
    how: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": LONGEST}
    result = subprocess.run(["bash", "-euc", command], cwd=folder, env=environment, **how)
    status = next((status for start, status in STATUS.items() if command.startswith(start)), 0)
    assert result.returncode == status, f"{command}\n{result.stdout[-2000:]}{result.stderr[-2000:]}"
    DONE.add(command)


def run_block(block: Block, names: dict[str, Any], folder: Path) -> None:
    where = f"{block.page.name}:{block.line}"
    if file := re.match(r"# file: (\S+)\n", block.text):
        (folder / file[1]).parent.mkdir(parents=True, exist_ok=True)
        (folder / file[1]).write_text(block.text, encoding="utf-8")
    elif block.language == "bash":
        for command in block.commands:
            if reason(command) is None:
                run_command(command, folder)
    elif block.language == "python":
        # Lines of the block have the numbers that they have on the page.
        exec(compile("\n" * block.line + block.text, str(block.page), "exec", dont_inherit=True), names)
    elif block.language == "pycon":
        test = doctest.DocTestParser().get_doctest(block.text, names, where, str(block.page), block.line)
        assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, clear_globs=False).failed == 0
        names.update(test.globs)
    elif block.language == "yaml":
        assert yaml.safe_load(block.text)


def is_fragment(block: Block) -> bool:
    beginnings = FRAGMENTS.get(block.page.relative_to(ROOT).as_posix(), [])
    return any(block.text.startswith(text) for text in beginnings)


@pytest.mark.slow
@pytest.mark.xdist_group("documentation")
@pytest.mark.parametrize("page", [page for page in PAGES if any(blocks(page))], ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workplace)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if not is_fragment(block):
            run_block(block, names, workplace)


def test_every_block_says_what_it_is() -> None:
    unknown = [f"{b.page.name}:{b.line} {b.language}" for page in PAGES for b in blocks(page)]
    assert [text for text in unknown if text.split()[1] not in LANGUAGES] == []


def test_every_reason_is_needed() -> None:
    commands = [command for _, command in all_commands()]
    assert [start for start in NOT_HERE if not any(re.match(start, command) for command in commands)] == []
    for page, beginnings in FRAGMENTS.items():
        texts = [block.text for block in blocks(ROOT / page)]
        assert [start for start in beginnings if not any(text.startswith(start) for text in texts)] == []


def test_most_commands_of_thunder_run() -> None:
    own = {command for _, command in all_commands() if re.match(r"thunder (?!ros)|make ", command)}
    assert len([command for command in own if reason(command) is None]) >= 10
