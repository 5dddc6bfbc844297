"""libfranka schedules the thread that starts a motion as real-time, and never back."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def scheduling() -> Iterator[None]:
    """Leave the thread's scheduling as it was: other tests have several threads, which a real-time one starves."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    yield
    os.sched_setscheduler(0, policy, parameters)
