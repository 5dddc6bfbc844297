"""Real-time scheduling: what is asked for is what the system then says, or the reason why not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from thunder_controllers.ros.common.thread_priority import raise_priority

PROGRAM = """
import os, threading
from thunder_controllers.ros.common.thread_priority import raise_priority
end = threading.Event()
threads = [threading.Thread(target=end.wait) for _ in range(2)]
threads[0].start()
print(raise_priority({priority}))
threads[1].start()
for thread in (threading.main_thread(), *threads):
    print(os.sched_getscheduler(thread.native_id), os.sched_getparam(thread.native_id).sched_priority)
end.set()
"""


def _run(priority: int) -> list[str]:
    command = [sys.executable, "-c", PROGRAM.format(priority=priority)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_every_thread_is_raised_and_those_that_start_later_too() -> None:
    said, *threads = _run(7)
    if said.startswith("normal: "):
        assert threads == [f"{os.SCHED_OTHER} 0"] * 3
        pytest.skip(f"this system forbids it ({said}): checked that nothing has changed")
    assert said == "fifo 7"
    assert threads == [f"{os.SCHED_FIFO} 7"] * 3


def test_zero_leaves_everything_as_it_is() -> None:
    assert _run(0) == ["normal"] + [f"{os.SCHED_OTHER} 0"] * 3


def test_a_refusal_names_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "refused")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    assert raise_priority(50) == "normal: Operation not permitted"
