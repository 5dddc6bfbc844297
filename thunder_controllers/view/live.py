"""Watching runs while they go, at the pace of real time, and again when they are done.

In MuJoCo's window where there is a display, else in a browser.
"""

from __future__ import annotations

import math
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import mujoco

from thunder_controllers.references.trajectories import POSITION
from thunder_controllers.simulation.experiment import find_frames
from thunder_controllers.simulation.preparation import Setup
from thunder_controllers.simulation.scenario import Run
from thunder_controllers.simulation.trace import Trace
from thunder_controllers.view.arm import COLOURS, PERIOD, Arm, Painted, caption
from thunder_controllers.view.browser import Browser
from thunder_controllers.view.scene import add_arm, look_at, make_world


class View:
    """A window or a page, opened at the first picture; who closes the window ends the view, not the run.

    Args:
        say: Told where to look.
    """

    def __init__(self, say: Callable[[str], object]) -> None:
        self._say = say
        self._screen: Window | Browser | None = None
        self._runs = 0
        self._going: tuple[Setup, Arm] | None = None
        self._start = self._left = self._t = 0.0  # wall time at t = 0 and at the last picture, and t there

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        if self._screen is not None:
            self._screen.close()

    def __call__(self, setup: Setup, run: Run, row: Trace) -> None:
        """Show the latest row of a run and the path that led to it, and wait until its time has come.

        A run that is slower than real time is not hurried; a display that is slower misses pictures.

        Raises:
            MissingLibraryError: if there is no display, and the library of the browser's viewer is not installed.
        """
        now = Arm.of(run.name, row, find_frames(setup.model, setup.library, row))
        screen, t = self._opened(now), float(row.t[-1])
        if self._going is not None and self._going[0] is setup:
            arm = self._going[1].followed_by(now)
        else:
            arm = replace(now, desired=setup.samples[:, POSITION] if row.is_cartesian else None)
            self._runs, self._left = self._runs + 1, -math.inf
        self._going = setup, arm
        if not screen.is_open:
            return
        came = time.monotonic()
        if came - self._left > t - self._t:
            self._start = came - t
        if came <= self._start + t + 1e-6:  # rounding
            screen.show([(arm, COLOURS[(self._runs - 1) % len(COLOURS)])], t)
            time.sleep(max(self._start + t - time.monotonic(), 0.0))
        self._left, self._t = time.monotonic(), t

    def replay(self, arms: Sequence[Arm]) -> None:
        """Play runs over one another again and again, until the window is closed or Ctrl-C is pressed."""
        try:
            self._opened(arms[-1]).replay(list(zip(arms, COLOURS, strict=False)))
        except KeyboardInterrupt:
            return

    def _opened(self, arm: Arm) -> Window | Browser:
        if self._screen is None:
            self._screen = Window(arm) if _has_display() else Browser(arm)
            if isinstance(self._screen, Browser):
                self._say(f"view: http://localhost:{self._screen.port} (the run begins when it is open; Ctrl-C ends)")
                self._screen.wait_for_reader()
        return self._screen


def _has_display() -> bool:
    """Whether a window can be opened: MuJoCo's viewer waits forever where it cannot, and macOS wants `mjpython`."""
    import glfw

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", glfw.GLFWError)
        return sys.platform != "darwin" and bool(glfw.init())


class Window:
    """MuJoCo's window.

    Args:
        arm: What the camera looks at.
    """

    def __init__(self, arm: Arm) -> None:
        import mujoco.viewer

        others = set(threading.enumerate())
        self._window: Any = mujoco.viewer.launch_passive(*make_world(), show_left_ui=False, show_right_ui=False)
        self._drawing = set(threading.enumerate()) - others
        look_at(self._window.cam, arm)

    @property
    def is_open(self) -> bool:
        """Whether nobody has closed it."""
        return bool(self._window.is_running())

    def show(self, arms: Sequence[Painted], t: float) -> None:
        """Draw arms at a time [s]; nothing if it is being closed."""
        try:
            with self._window.lock():
                self._window.user_scn.ngeom = 0
                for arm, colour in arms:
                    add_arm(self._window.user_scn, arm, arm.sample(t), colour)
            self._window.set_texts((None, None, caption(arms, t), None))
            self._window.sync()
        except mujoco.UnexpectedError:
            assert not self.is_open

    def replay(self, arms: Sequence[Painted]) -> None:
        """Play runs again and again until it is closed."""
        end, started = max(float(arm.frames.t[-1]) for arm, _ in arms), time.monotonic()
        while self.is_open:
            self.show(arms, (time.monotonic() - started) % max(end, PERIOD))
            time.sleep(PERIOD)

    def close(self) -> None:
        """Close it, and wait until it is gone: it is drawn in a thread, which GLFW must not be ended under at exit."""
        with suppress(mujoco.UnexpectedError):  # it is being closed
            self._window.close()
        for thread in self._drawing:
            thread.join()
