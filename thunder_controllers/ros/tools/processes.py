"""Child processes that are started, watched and ended together, and of which none survives."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from thunder_dynamics.errors import ThunderError

FIRST_LIMIT = 2.2
"""Time for processes that must end before the others [s]: a controller ramps its effort down while the robot runs."""

TOTAL_LIMIT = 2.7
"""Time from the first signal to SIGKILL for what is left [s]."""

PR_SET_PDEATHSIG = 1
"""Linux prctl: the signal that a process gets when its parent dies."""


class ProcessError(ThunderError):
    """A process cannot be started."""


@dataclass(frozen=True)
class ProcessDescription:
    """What to run.

    Attributes:
        name: For messages.
        command: Program and arguments.
        required: Its end is the end of all; otherwise it may end with status 0.
        may_fail: It may end with any.
        ends_first: It is ended before the others, which go on meanwhile.
    """

    name: str
    command: tuple[str, ...]
    required: bool = True
    may_fail: bool = False
    ends_first: bool = False


class ProcessGroup:
    """Runs processes until one that is required ends, a time has passed, or SIGINT, SIGTERM or SIGHUP.

    Every child has a session of its own, so Ctrl-C in a terminal reaches this process only, which ends the children in
    order. If this process dies, the kernel ends them.

    Args:
        descriptions: What to run, in the order of the start.
        environment: Of the children.
        report: Takes a line about what happens.
    """

    def __init__(
        self, descriptions: Sequence[ProcessDescription], environment: Mapping[str, str], report: Callable[[str], None]
    ) -> None:
        self._descriptions, self._environment, self._report = descriptions, environment, report
        self._children: dict[asyncio.Task[int], tuple[ProcessDescription, Process]] = {}

    def run(self, duration: float | None = None) -> int:
        """Start everything, wait, and end everything; in the main thread.

        Args:
            duration: Longest time to run [s]; None: no limit.

        Returns:
            0 after `duration` or a signal, 1 if a process ended that should not have.

        Raises:
            ProcessError: if a process cannot be started; the others are ended.
        """
        return asyncio.run(self._run(duration))

    async def _run(self, duration: float | None) -> int:
        stop = asyncio.Event()
        stopped = asyncio.create_task(stop.wait())
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        try:
            for description in self._descriptions:
                await self._start(description)
            return await self._watch(stopped, None if duration is None else time.monotonic() + duration)
        finally:
            stopped.cancel()
            await self._end_all()

    async def _start(self, description: ProcessDescription) -> None:
        try:
            child = await asyncio.create_subprocess_exec(
                *description.command,
                env=self._environment,
                stdin=DEVNULL,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise ProcessError(f"cannot be started: {reason}", where=description.command[0]) from None
        self._children[asyncio.create_task(child.wait())] = (description, child)

    async def _watch(self, stopped: asyncio.Task[bool], deadline: float | None) -> int:
        while True:
            ended = await _wait({stopped, *self._children}, deadline)
            if not ended or stopped in ended:
                return 0
            for task in ended & self._children.keys():
                description, child = self._children.pop(task)
                if description.may_fail:
                    self._report(f"{description.name} ended with status {child.returncode}: the others go on")
                elif description.required or child.returncode != 0:
                    self._report(f"{description.name} ended with status {child.returncode}: ending the others")
                    return 1

    async def _end_all(self) -> None:
        start = time.monotonic()
        await self._end([task for task in self._children if self._children[task][0].ends_first], start + FIRST_LIMIT)
        await self._end(self._children, start + TOTAL_LIMIT)
        for task, (description, child) in self._children.items():
            if not task.done():
                self._report(f"{description.name} does not end: killing it")
                _signal_session(child, signal.SIGKILL)
                await task

    async def _end(self, chosen: Iterable[asyncio.Task[int]], deadline: float) -> None:
        """Signal some children and wait until they have ended or the deadline has passed.

        SIGTERM, not SIGINT: a Python program that is still importing would answer the latter with a traceback.
        """
        running = {task for task in chosen if not task.done()}
        for task in running:
            _signal_session(self._children[task][1], signal.SIGTERM)
        while running and (ended := await _wait(running, deadline)):
            running -= ended


async def _wait(tasks: set[asyncio.Task[int] | asyncio.Task[bool]], deadline: float | None) -> set[asyncio.Task[int]]:
    """Wait for the first ends among the tasks: those that have ended, none once the deadline has passed."""
    left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
    ended, _ = await asyncio.wait(tasks, timeout=left, return_when=asyncio.FIRST_COMPLETED)
    return ended


def _signal_session(child: Process, number: signal.Signals) -> None:
    """Signal a child and what it has started; its process group has its id."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)


def _die_with_parent() -> None:
    """Ask the kernel, in the child, for SIGTERM when the parent dies; harmless where the C library has no prctl."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
