"""Ends a test that waits for ever: no verdict depends on how long anything takes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE = 300
"""Time after which a wait is endless [s], a hundred times what any takes on a machine that is busy."""


@contextmanager
def watched(patience: int = PATIENCE) -> Iterator[None]:
    """Raise TimeoutError in what waits for ever; in the main thread."""

    def bark(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"nothing happened for {patience} s")

    before = signal.signal(signal.SIGALRM, bark)
    signal.alarm(patience)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
