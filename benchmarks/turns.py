"""An arm whose joints turn without end, by readings that wrap at ±π as those of its driver, and by ones that never do.

    python benchmarks/turns.py [--minutes 60] [--robot test/data/gen3.urdf] [--law slotine_li] [--out results/turns]

In lock-step, as the nodes run it: the arm is simulated, its velocities are differences through a low-pass. For 100 s
positions are streamed at 50 Hz, wrapped like the readings, in which joints on a circle swing over more than a turn to
each side; then come two goals at random turns, the second where the stream begins anew. Writes turns.json and prints
it; the exit status is 1 for a fault, a jump, or tracking that is worse than with readings that never wrap.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from thunder_controllers.gym.arm import StreamedArm
from thunder_controllers.host import FAULTS, TimedJoints
from thunder_controllers.simulation.preparation import prepare
from thunder_controllers.simulation.scenario import load_scenario
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model

ROOT = Path(__file__).resolve().parent.parent
TURN = 2.0 * np.pi
STREAM, EPISODE = 20, 120_000
"""Control steps, of 1 ms: between two samples, and after which all begins again."""
STOP, GOAL, HOME, GOAL_TIME = 100_000, 102_000, 111_000, 8.0
"""When in an episode the stream ends and the goals are asked for; for how long each is gone to [s]."""
FIRST, SWING, SPEED = 3.0, 7.0, 0.4
"""Of joints on a circle: where they start and how far they swing [rad]; of all, the share of the velocity limit."""
JUMP = 0.1
"""Between two samples, of which the fastest joint makes 0.03 [rad]."""
WORSE = 1.02
"""Largest ratio of tracking errors with readings that wrap to those without."""


class Course:
    """What is asked of an arm: the same whatever turns it is told by."""

    def __init__(self, model: RobotModel) -> None:
        lower, upper, speed = (np.array(model.limits(name)) for name in ("lower", "upper", "velocity"))
        self.circles = model.circles
        middle = 0.5 * (np.where(self.circles, 0.0, lower) + np.where(self.circles, 0.0, upper))
        self.start = np.where(self.circles, FIRST, np.nan_to_num(middle))
        self.swing = np.where(self.circles, SWING, 0.3 * np.nan_to_num(upper - lower, posinf=1.0))
        self._rate = SPEED * np.nan_to_num(speed, posinf=1.0) * np.linspace(0.8, 1.0, model.n) / self.swing
        self._random = np.random.default_rng(1)

    def place(self, time: float) -> np.ndarray:
        """Return positions (n,) at a time of an episode [s], at rest at its start."""
        return np.asarray(self.start + self.swing * np.sin(self._rate * (time - 1.0 + np.exp(-time))))

    def goal(self) -> np.ndarray:
        """Draw a place (n,)."""
        return np.asarray(self.start + self.swing * self._random.uniform(-1.0, 1.0, len(self.start)))

    def told(self, q: np.ndarray, wraps: bool) -> np.ndarray:
        """Return positions as they are told."""
        return np.where(self.circles, (q + np.pi) % TURN - np.pi, q) if wraps else q


def make_arm(robot: Path, law: str, course: Course, wrapped: list[str]) -> tuple[StreamedArm, Any]:
    """Return an arm at rest at the start, and its plant."""
    document = {
        "name": "turns",
        "rate": 1000.0,
        "duration": 1.0,
        "robot": str(robot.resolve()),
        "plant": {"urdf": str(robot.resolve()), "velocity": "differences", "wrapped": wrapped},
        "law": {"name": law},
        "reference": {"type": "joint_steps", "steps": [{"time": 0.0, "q": course.start.tolist()}]},
        "start": {"q": course.start.tolist()},
        "runs": [{"name": "run"}],
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_text(json.dumps(document), encoding="utf-8")
        scenario = load_scenario(file)
        setup = prepare(scenario, scenario.runs[0])
    return StreamedArm(setup, scenario.runs[0]), setup.plant


def ask(arm: StreamedArm, course: Course, k: int, wraps: bool) -> int:
    """Ask of the arm what the episode has at step k; returns how many goals that are."""
    session, n = arm.session, len(course.start)
    if k < STOP:
        session.stream(np.concatenate([course.told(course.place(1e-3 * k), wraps), np.zeros(2 * n)]))
    elif k == STOP:
        session.stop_motion()
    elif k in (GOAL, HOME):
        goal = course.goal() if k == GOAL else course.start
        session.follow([TimedJoints(GOAL_TIME, course.told(goal, wraps))])
        return 1
    return 0


def run(robot: Path, law: str, minutes: float, *, wraps: bool) -> dict[str, Any]:
    """Let the arm go, and return what was seen of it."""
    model = load_model(robot)
    course = Course(model)
    on_circle = [name for name, is_on in zip(model.joint_names, model.circles, strict=True) if is_on]
    arm, plant = make_arm(robot, law, course, on_circle if wraps else [])
    first = arm.session.snapshot()
    seen = np.concatenate([first.reference_vector[: model.n], first.q])
    crossings = goals = steps = 0
    largest_step = worst = squares = furthest = 0.0
    reading = arm.q.copy()
    while steps < round(60_000 * minutes) and not arm.guards & FAULTS:
        goals += ask(arm, course, steps % EPISODE, wraps)
        arm.advance(STREAM)
        steps += STREAM
        crossings += int((np.abs(arm.q - reading) > np.pi).sum())
        np.copyto(reading, arm.q)
        snapshot = arm.session.snapshot()
        now = np.concatenate([snapshot.reference_vector[: model.n], snapshot.q])
        error = np.abs(now[: model.n] - now[model.n :])
        largest_step = max(largest_step, float(np.abs(now - seen).max()))
        worst, squares = max(worst, float(error.max())), squares + float((error**2).sum())
        furthest = max(furthest, float(np.abs(plant.q - course.start)[model.circles].max()))
        seen = now
    return {
        "simulated": f"{steps / 60_000:g} min",
        "fault": arm.session.fault if arm.guards & FAULTS else None,
        "guards": {name: count for name, count in arm.session.snapshot().counters.items() if count},
        "readings that cross ±π": crossings,
        "goals": goals,
        "furthest from the start [rad]": furthest,
        "largest step in 20 ms [rad]": largest_step,
        "tracking error, rms [rad]": float(np.sqrt(squares * STREAM / (steps * model.n))),
        "tracking error, largest [rad]": worst,
    }


def wrong(found: dict[str, dict[str, Any]]) -> list[str]:
    """Say what is wrong with what was found by `run`, by whether readings wrap."""
    said = [f"{name}: {one['fault']}" for name, one in found.items() if one["fault"]]
    said += [f"{name}: a jump" for name, one in found.items() if one["largest step in 20 ms [rad]"] > JUMP]
    wrapped, whole = found["wrapped"], found["whole"]
    if wrapped["readings that cross ±π"] == 0:
        said.append("no reading has crossed ±π")
    for error in ("tracking error, rms [rad]", "tracking error, largest [rad]"):
        if wrapped[error] > WORSE * whole[error]:
            said.append(f"{error}: {wrapped[error]:.3g} with readings that wrap, {whole[error]:.3g} without")
    return said


def main(words: list[str] | None = None) -> int:
    """Run both, write and print what was found; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--robot", type=Path, default=ROOT / "test/data/gen3.urdf")
    parser.add_argument("--law", default="slotine_li")
    parser.add_argument("--out", type=Path, default=Path("results/turns"))
    given = parser.parse_args(words)
    found = {name: run(given.robot, given.law, given.minutes, wraps=name == "wrapped") for name in ("wrapped", "whole")}
    said = wrong(found)
    given.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**found, "wrong": said}, indent=2, ensure_ascii=False)
    (given.out / "turns.json").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
