"""Child processes that are started, watched and ended together, and of which none survives."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from thunder_dynamics.errors import ThunderError

FIRST_LIMIT = 2.2
"""Time for processes that must end before the others [s]: a controller ramps its effort down while the robot runs."""

TOTAL_LIMIT = 2.7
"""Time from the first signal to SIGKILL for what is left [s]."""

PR_SET_PDEATHSIG = 1
"""Linux prctl: the signal that a process gets when its parent dies."""


class ProcessError(ThunderError):
    """A process cannot be started, or ended when it should not have."""


@dataclass(frozen=True)
class ProcessDescription:
    """What to run.

    Attributes:
        name: For messages.
        command: Program and arguments.
        required: Its end is the end of all; otherwise it may end with status 0.
        ends_first: It is ended before the others, which go on meanwhile.
        environment: Variables beside those that all have.
    """

    name: str
    command: tuple[str, ...]
    required: bool = True
    ends_first: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


class ProcessGroup:
    """Runs processes until one that is required ends, a time has passed, or `wake` is called.

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
        self._descriptions = tuple(descriptions)
        self._environment = dict(environment)
        self._report = report
        self._children: dict[int, tuple[ProcessDescription, subprocess.Popen[bytes]]] = {}
        self._selector = selectors.DefaultSelector()
        self._wake_reader, self._wake_writer = os.pipe()
        self._selector.register(self._wake_reader, selectors.EVENT_READ)

    def wake(self) -> None:
        """End `run`; may be called from any thread."""
        os.write(self._wake_writer, b"x")

    def run(self, duration: float | None = None) -> int:
        """Start everything, wait, and end everything.

        Args:
            duration: Longest time to run [s]; None: no limit.

        Returns:
            0 after `duration` or `wake`, 1 if a process ended that should not have.

        Raises:
            ProcessError: if a process cannot be started; the others are ended.
        """
        try:
            for description in self._descriptions:
                self._start(description)
            return self._watch(duration)
        finally:
            self._end_all()
            self._selector.close()
            os.close(self._wake_reader)
            os.close(self._wake_writer)

    def _start(self, description: ProcessDescription) -> None:
        try:
            child = subprocess.Popen(
                description.command,
                env={**self._environment, **description.environment},
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise ProcessError(f"cannot be started: {reason}", where=description.command[0]) from None
        handle = os.pidfd_open(child.pid)
        self._children[handle] = (description, child)
        self._selector.register(handle, selectors.EVENT_READ)

    def _watch(self, duration: float | None) -> int:
        end = None if duration is None else time.monotonic() + duration
        while True:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0.0:
                return 0
            for key, _ in self._selector.select(left):
                if key.fd == self._wake_reader:
                    return 0
                description, status = self._reap(key.fd)
                if description.required or status != 0:
                    self._report(f"{description.name} ended with status {status}: ending the others")
                    return 1

    def _reap(self, handle: int) -> tuple[ProcessDescription, int]:
        description, child = self._children.pop(handle)
        self._selector.unregister(handle)
        os.close(handle)
        return description, child.wait()

    def _end_all(self) -> None:
        start = time.monotonic()
        self._end(lambda description: description.ends_first, start + FIRST_LIMIT)
        self._end(lambda description: True, start + TOTAL_LIMIT)
        for description, child in list(self._children.values()):
            self._report(f"{description.name} does not end: killing it")
            _signal_session(child, signal.SIGKILL)
        for handle in list(self._children):
            self._reap(handle)

    def _end(self, chosen: Callable[[ProcessDescription], bool], deadline: float) -> None:
        """Signal the chosen ones and wait until they have ended or the deadline has passed.

        SIGTERM, not SIGINT: a Python program that is still importing would answer the latter with a traceback.
        """
        handles = {handle for handle, (description, _) in self._children.items() if chosen(description)}
        for handle in handles:
            _signal_session(self._children[handle][1], signal.SIGTERM)
        while handles & self._children.keys():
            left = deadline - time.monotonic()
            if left <= 0.0:
                return
            for key, _ in self._selector.select(left):
                if key.fd == self._wake_reader:  # a second Ctrl-C does not make the ramp shorter
                    os.read(self._wake_reader, 1)
                else:
                    self._reap(key.fd)


def _signal_session(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal a child and what it has started; its process group has its id."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)


def die_with_parent() -> None:
    """Ask the kernel, in the child, for SIGTERM when the parent dies; harmless where the C library has no prctl."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
