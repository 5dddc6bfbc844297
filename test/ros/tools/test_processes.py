"""The supervision of the processes of `thunder ros`: order of ending, nothing left behind."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from thunder_controllers.ros.tools.processes import TOTAL_LIMIT, ProcessDescription, ProcessError, ProcessGroup

PYTHON = sys.executable


def python(code: str, **options: Any) -> ProcessDescription:
    return ProcessDescription(options.pop("name", "child"), (PYTHON, "-c", code), **options)


SLEEPER = "import time; time.sleep(600)"
STUBBORN = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "open(sys.argv[1], 'w').close(); time.sleep(600)"
)


def run_group(descriptions: list[ProcessDescription], **options: Any) -> tuple[int, list[str]]:
    lines: list[str] = []
    status = ProcessGroup(descriptions, os.environ, lines.append).run(**options)
    return status, lines


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_end_of_a_required_process_ends_the_others(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    sleeper = python(f"import os; open({str(note)!r}, 'w').write(str(os.getpid())); {SLEEPER}")
    # it ends only when the other one has told its id
    waiter = python(
        f"import os, sys, time\nwhile not (os.path.exists({str(note)!r}) and open({str(note)!r}).read()):"
        " time.sleep(0.01)\nsys.exit(3)",
        name="waiter",
    )
    status, lines = run_group([sleeper, waiter])
    assert status == 1
    assert lines == ["waiter ended with status 3: ending the others"]
    assert not is_alive(int(note.read_text()))


def test_an_optional_process_may_end_well_but_not_badly() -> None:
    assert run_group([python(SLEEPER), python("", required=False)], duration=1.0)[0] == 0
    assert run_group([python(SLEEPER), python("raise SystemExit(1)", required=False)])[0] == 1


def test_a_process_that_may_fail_ends_nothing_else_and_its_end_is_told() -> None:
    failing = python("raise SystemExit(1)", required=False, may_fail=True, name="stream")
    status, lines = run_group([python(SLEEPER), failing], duration=1.0)
    assert status == 0 and lines == ["stream ended with status 1: the others go on"]


def test_a_process_that_does_not_end_is_killed_in_time(tmp_path: Path) -> None:
    note = tmp_path / "ready"
    group = ProcessGroup(
        [ProcessDescription("deaf", (PYTHON, "-c", STUBBORN, str(note)))], os.environ, lambda line: None
    )

    def wake() -> None:
        while not note.exists():
            time.sleep(0.01)
        wake.start = time.monotonic()  # type: ignore[attr-defined]
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=wake)
    thread.start()
    assert group.run() == 0
    thread.join()
    assert time.monotonic() - wake.start < TOTAL_LIMIT + 1.0  # type: ignore[attr-defined]


def test_some_processes_end_before_the_others(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = (
        "import signal, sys, time\n"
        "def end(*_): time.sleep({pause}); open({log!r}, 'a').write({name!r}); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end); open({log!r}, 'a').write('+'); time.sleep(600)"
    )

    def child(name: str, pause: float, first: bool) -> ProcessDescription:
        return python(code.format(pause=pause, log=str(log), name=name), name=name, ends_first=first)

    group = ProcessGroup([child("robot", 0.0, False), child("controller", 0.3, True)], os.environ, lambda line: None)

    def wake() -> None:
        while not log.exists() or len(log.read_text()) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=wake)
    thread.start()
    group.run()
    thread.join()
    assert log.read_text() == "++controllerrobot"


def test_children_end_with_a_launcher_that_was_killed(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    child = f"import os; open({str(note)!r}, 'w').write(str(os.getpid())); {SLEEPER}"
    code = (
        "import os\nfrom thunder_controllers.ros.tools.processes import *\n"
        f"ProcessGroup([ProcessDescription('child', ({PYTHON!r}, '-c', {child!r}))], os.environ, print).run()"
    )
    launcher = os.posix_spawn(PYTHON, [PYTHON, "-c", code], os.environ)
    deadline = time.monotonic() + 20.0
    while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    pid = int(note.read_text())
    os.kill(launcher, signal.SIGKILL)
    os.waitpid(launcher, 0)
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(pid)


def test_a_program_that_cannot_be_started_is_named_and_the_others_end() -> None:
    with pytest.raises(ProcessError, match="/no/such/program: cannot be started"):
        run_group([python(SLEEPER), ProcessDescription("none", ("/no/such/program",))])
