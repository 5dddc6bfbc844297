"""Real-time scheduling of a process where the system permits it; ros2_control_node does the same with its own thread.

Under normal scheduling a thread that wakes waits until others have used up their slice, some milliseconds, although it
would need only one tenth of one. All threads of the process are raised, not one alone: the control loop needs those of
the middleware, which hold the locks of its subscriptions, and those that hold the interpreter.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

THREADS = Path("/proc/self/task")


def raise_priority(priority: int) -> str:
    """Give all threads of this process, and those that they start, the policy SCHED_FIFO.

    Args:
        priority: 1 to 99, or 0 to leave everything as it is.

    Returns:
        How the process is scheduled now: `fifo 50`, or `normal`, with the reason where more was asked for.
    """
    if priority == 0:
        return "normal"
    if not THREADS.is_dir():
        return "normal: this system is no Linux"
    try:
        for thread in THREADS.iterdir():
            with suppress(ProcessLookupError):  # a thread that has ended meanwhile
                os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        return f"normal: {os.strerror(error.errno or 0)}"
    return f"fifo {priority}"
