"""Child processes that are started, watched and ended together, and of which none survives."""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
        ends_first: It is ended before the others, which go on meanwhile.
    """

    name: str
    command: tuple[str, ...]
    required: bool = True
    ends_first: bool = False


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

    @contextmanager
    def waking_on(self, *signals: signal.Signals) -> Iterator[None]:
        """Call `wake` on signals, for as long as the context lasts; none raises KeyboardInterrupt."""
        previous = {number: signal.signal(number, lambda *_: self.wake()) for number in signals}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

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
            return self._watch(None if duration is None else time.monotonic() + duration)
        finally:
            self._end_all()
            self._selector.close()
            os.close(self._wake_reader)
            os.close(self._wake_writer)

    def _start(self, description: ProcessDescription) -> None:
        try:
            child = subprocess.Popen(
                description.command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise ProcessError(f"cannot be started: {reason}", where=description.command[0]) from None
        handle = os.pidfd_open(child.pid)
        self._children[handle] = (description, child)
        self._selector.register(handle, selectors.EVENT_READ)

    def _watch(self, deadline: float | None) -> int:
        while True:
            ready = self._wait(deadline)
            if not ready or self._wake_reader in ready:
                return 0
            for description, status in map(self._reap, ready):
                if description.required or status != 0:
                    self._report(f"{description.name} ended with status {status}: ending the others")
                    return 1

    def _wait(self, deadline: float | None) -> list[int]:
        """Wait for the ends of children and for `wake`: what is ready, nothing once the deadline has passed."""
        left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
        return [key.fd for key, _ in self._selector.select(left)]

    def _reap(self, handle: int) -> tuple[ProcessDescription, int]:
        description, child = self._children.pop(handle)
        self._selector.unregister(handle)
        os.close(handle)
        return description, child.wait()

    def _end_all(self) -> None:
        start = time.monotonic()
        first = [handle for handle, (description, _) in self._children.items() if description.ends_first]
        self._end(first, start + FIRST_LIMIT)
        self._end(self._children, start + TOTAL_LIMIT)
        for handle, (description, child) in list(self._children.items()):
            self._report(f"{description.name} does not end: killing it")
            _signal_session(child, signal.SIGKILL)
            self._reap(handle)

    def _end(self, chosen: Iterable[int], deadline: float) -> None:
        """Signal some children and wait until they have ended or the deadline has passed.

        SIGTERM, not SIGINT: a Python program that is still importing would answer the latter with a traceback.
        """
        handles = set(chosen)
        for handle in handles:
            _signal_session(self._children[handle][1], signal.SIGTERM)
        while handles & self._children.keys() and (ready := self._wait(deadline)):
            for handle in ready:
                if handle == self._wake_reader:  # a second Ctrl-C does not make the ramp shorter
                    os.read(self._wake_reader, 1)
                else:
                    self._reap(handle)


def _signal_session(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal a child and what it has started; its process group has its id."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)


def _die_with_parent() -> None:
    """Ask the kernel, in the child, for SIGTERM when the parent dies; harmless where the C library has no prctl."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
