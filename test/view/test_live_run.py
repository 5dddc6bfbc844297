"""A run that is watched gives what it gives unwatched, is shown at the pace of real time, and may be left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scenario_files import document_of, written
from watchdog import PATIENCE

from thunder_controllers import simulate
from thunder_controllers.simulation.experiment import run_scenario
from thunder_controllers.simulation.preparation import Setup
from thunder_controllers.simulation.scenario import Run, Scenario
from thunder_controllers.simulation.trace import Trace
from thunder_controllers.view import browser
from thunder_controllers.view.arm import Arm
from thunder_controllers.view.browser import Painted, View

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BODY = {"link": "panda_flange", "time": 0.2, "mass": 1.5, "com": [0, 0, 0.06]}


class Clock:
    """Time that passes only where somebody sleeps, or draws for so long [s]."""

    def __init__(self, drawing: float = 0.0) -> None:
        self.now, self.drawing, self.slept = 100.0, drawing, 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += seconds


def _scenario(folder: Path) -> Scenario:
    """Half a second of the demo, in which the arm picks up a body."""
    return written(folder, document_of(plant={"payloads": [BODY]}, duration=0.5, check_reference=False))


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Clock], tuple[View, list[tuple[Arm, float]]]]]:
    """Make a view on a page that need not be opened, at the time of a clock, and the list of what it shows."""
    views = []

    def make(clock: Clock) -> tuple[View, list[tuple[Arm, float]]]:
        shown: list[tuple[Arm, float]] = []
        show = View.show

        def note(view: View, arms: list[Painted], t: float) -> None:
            show(view, arms, t)
            shown.append((arms[0][0], t))
            clock.now += clock.drawing

        monkeypatch.setattr(browser, "time", clock)
        monkeypatch.setattr(View, "show", note)
        monkeypatch.setattr(View, "wait_for_reader", lambda self: None)
        views.append(View(lambda _: None))
        return views[-1], shown

    yield make
    for view in views:
        view.__exit__()


def test_a_run_that_is_watched_is_the_same_bit_for_bit_and_goes_at_the_pace_of_real_time(
    tmp_path: Path, page: Any
) -> None:
    scenario, clock = _scenario(tmp_path), Clock()
    view, shown = page(clock)
    run_scenario(scenario, tmp_path / "unseen")
    watched = run_scenario(scenario, tmp_path / "seen", watch=view)
    for file in ("no_adaptation", "adaptation", "no_adaptation_frames", "adaptation_frames"):
        assert (tmp_path / f"seen/{file}.npz").read_bytes() == (tmp_path / f"unseen/{file}.npz").read_bytes()
    assert len(shown) == 30
    assert clock.slept == pytest.approx(2 * 14 / 30, abs=2e-3)  # the first picture of each run is shown at once
    assert sum(run.timing.wall for run in watched.runs) < watched.runs[0].trace.t[-1]
    arm, t = shown[-1]
    trace = watched.runs[1].trace
    assert t == trace.t[-1] and len(arm.balls(0)) == 1 and len(shown[4][0].balls(0)) == 0
    np.testing.assert_array_equal(arm.path, trace.position[np.searchsorted(trace.t, arm.times)])
    np.testing.assert_allclose(arm.frames.position[0, -1], trace.position[-1], atol=1e-6)
    assert arm.errors["position"][1][0] == pytest.approx(1e3 * np.linalg.norm(trace.error[-1, :3]))
    assert arm.desired is not None and len(arm.desired) == len(trace.t)


def test_a_slow_run_does_not_wait_and_a_slow_display_misses_pictures(tmp_path: Path, page: Any) -> None:
    scenario, clock = _scenario(tmp_path), Clock()
    view, shown = page(clock)

    def slow(setup: Setup, run: Run, row: Trace) -> None:
        clock.now += 1.0  # a step of the run takes longer than what it simulates
        view(setup, run, row)

    run_scenario(scenario, tmp_path / "out", watch=slow)
    assert len(shown) == 30 and clock.slept == 0.0
    clock = Clock(drawing=0.09)  # as long as almost three pictures are shown
    view, shown = page(clock)
    run_scenario(scenario, tmp_path / "out", watch=view)
    assert [round(t, 3) for _, t in shown] == 2 * [0.032, 0.132, 0.232, 0.332, 0.399, 0.499]
    assert clock.now - 100.0 < 2 * (0.5 + clock.drawing)


def test_one_run_from_python_is_shown(page: Any) -> None:
    _, shown = page(Clock())
    hold = {"type": "joint_lissajous", "centre": [0.3, 0.6, -0.4], "amplitude": 0.1, "frequency": 0.5}
    robot = ROOT / "config/robots/planar3r.yaml"
    result = simulate(robot, law="slotine_li", reference=hold, duration=0.2, rate=500.0, view=True)
    assert [t for _, t in shown] == pytest.approx(np.arange(1, 7) / 30, abs=4e-3)  # two periods
    np.testing.assert_allclose(shown[-1][0].frames.position[0, -1], result.trace.position[-1], atol=1e-6)


def test_an_interrupted_run_leaves_the_results_of_before(tmp_path: Path) -> None:
    scenario = _scenario(tmp_path)
    run_scenario(scenario, tmp_path / "out")
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}

    def interrupt(setup: Setup, run: Run, row: Trace) -> None:
        if run is scenario.runs[1]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_scenario(scenario, tmp_path / "out", watch=interrupt)
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before


def _interrupted(process: subprocess.Popen[str]) -> str:
    """Errors of a process after Ctrl-C. Python drops one that comes while a finalizer runs: a user presses again."""
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=PATIENCE)[1]
    raise AssertionError("three interrupts ended nothing")


def test_ctrl_c_ends_the_command_with_one_line(tmp_path: Path) -> None:
    _scenario(tmp_path)
    command = [sys.executable, "-m", "thunder_dynamics.cli", "run", "scenario.yaml", "--out", "out", "--view"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = ["env", "--default-signal=INT", *command]  # a shell ignores it for what it runs in the background
    with subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "PYTHONUNBUFFERED": "1"}, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("view: http://localhost:")
        try:
            errors = _interrupted(process)
        finally:
            process.kill()
    assert process.returncode == 130 and errors.splitlines()[-1] == "thunder: interrupted"
    assert "Traceback" not in errors and list((tmp_path / "out").iterdir()) == []
