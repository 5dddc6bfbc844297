"""Random motions that the rehearsal accepts, on the virtual FR3 in lock-step: none may end in a reflex.

    python benchmarks/franka_motions.py [--motions 10000] [--first 0] [--seed 46] [--out results/soak]

Joint motions through random points, motions to poses, through timed poses, and figures in joints and in space, from
random postures anywhere within the limits, under three laws. What is refused is asked for again in the time that the
refusal names, which must be accepted. What is accepted runs on `FrankaArm`, a state and a command in each period, and
is judged by `find_reflexes`, as `thunder franka-server` does. Motion k depends on seed and k alone.

Writes a JSON file with every refusal and reflex, and prints their counts; the exit status is 1 if a reflex stopped an
arm, or a motion was refused in the time that was named.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from thunder_controllers.fields import FloatArray
from thunder_controllers.franka.arm import HOME, FrankaArm
from thunder_controllers.franka.arms import FLANGE, robot_urdf
from thunder_controllers.franka.protocol import PROTOCOLS
from thunder_controllers.franka.reflexes import CollisionBehavior, Communication, Cycle, find_reflexes
from thunder_controllers.host import (
    Configuration,
    ControlSession,
    Figure,
    Library,
    MotionLimits,
    Options,
    TimedJoints,
    TimedPose,
)
from thunder_controllers.simulation.options import PlantOptions
from thunder_dynamics.build import LawRequest, build
from thunder_dynamics.errors import LawError, RefusedMotionError
from thunder_dynamics.readers import load_model

STEP = 1e-3
LAWS: dict[str, LawRequest] = {
    "joint": ("slotine_li", {"adapted_links": ["link7"]}),
    "backstepping": ("cartesian_backstepping", {"adapted_links": ["link7"], "adaptation": "least_squares"}),
    "impedance": ("cartesian_impedance", {}),
}
ON_A_FRANKA = Options(gravity_compensated_by_robot=True, effort_rate_limit=[900.0] * 7)
"""Options of docs/gazebo-and-franka.md."""

SETTLING = 0.1
"""Time after a motion in which a reflex still counts [s]."""

SHOWN = 100
"""Motions between two times at which the file is written."""

LOOK = 10
"""Periods between looks at whether a motion is over."""


@dataclass(frozen=True)
class Asked:
    """A motion: how to ask for it in `slower` times its time, and how long it takes then [s]; None: until over."""

    kind: str
    ask: Callable[[ControlSession, float], None]
    duration: float | None = None


def draw_posture(rng: np.random.Generator, library: Library) -> FloatArray:
    """Anywhere within the limits but for the soft stops."""
    lower, upper = library.position_lower + 0.05, library.position_upper - 0.05
    return np.asarray(rng.uniform(lower, upper))


def draw_joints(rng: np.random.Generator, library: Library, q: FloatArray) -> Asked:
    """Through one to three random postures."""
    count = int(rng.integers(1, 4))
    reach = 10.0 ** rng.uniform(-1.3, 0.0)
    lower, upper = library.position_lower + 0.05, library.position_upper - 0.05
    places = [np.clip(q + reach * rng.uniform(-1.0, 1.0, 7), lower, upper) for _ in range(count)]
    times = np.cumsum(rng.uniform(0.1, 0.6, count))

    def ask(session: ControlSession, slower: float) -> None:
        session.follow([TimedJoints(float(t) * slower, there.tolist()) for t, there in zip(times, places, strict=True)])

    return Asked("joints", ask)


def _poses(
    rng: np.random.Generator, library: Library, q: FloatArray, count: int
) -> list[tuple[FloatArray, FloatArray]]:
    """Poses of postures about q: position and quaternion x y z w of each."""
    reach = 10.0 ** rng.uniform(-1.5, -0.2)
    lower, upper = library.position_lower + 0.05, library.position_upper - 0.05
    found = []
    for _ in range(count):
        pose = library.evaluate("T_0_ee", np.clip(q + reach * rng.uniform(-1.0, 1.0, 7), lower, upper))
        found.append((pose[:3, 3], Rotation.from_matrix(pose[:3, :3]).as_quat()))
    return found


def draw_pose(rng: np.random.Generator, library: Library, q: FloatArray) -> Asked:
    """To a pose, within random motion limits."""
    ((position, orientation),) = _poses(rng, library, q, 1)
    fast = 10.0 ** rng.uniform(0.0, 0.9)
    default = MotionLimits()

    def ask(session: ControlSession, slower: float) -> None:
        rate = fast / slower
        session.set_motion_limits(
            MotionLimits(
                linear_velocity=default.linear_velocity * rate,
                linear_acceleration=default.linear_acceleration * fast**2 / slower**2,
                linear_jerk=default.linear_jerk * fast**3 / slower**3,
                angular_velocity=default.angular_velocity * rate,
                angular_acceleration=default.angular_acceleration * fast**2 / slower**2,
                angular_jerk=default.angular_jerk * fast**3 / slower**3,
            )
        )
        session.move_to_pose(position, orientation)

    return Asked("pose", ask)


def draw_poses(rng: np.random.Generator, library: Library, q: FloatArray) -> Asked:
    """Through one to three timed poses."""
    places = _poses(rng, library, q, int(rng.integers(1, 4)))
    times = np.cumsum(rng.uniform(0.15, 0.8, len(places)))

    def ask(session: ControlSession, slower: float) -> None:
        points = zip(times, places, strict=True)
        session.follow([TimedPose(float(t) * slower, p.tolist(), o.tolist()) for t, (p, o) in points])

    return Asked("poses", ask)


def _figure(rng: np.random.Generator, size: int, largest: float) -> Asked:
    amplitude = largest * 10.0 ** rng.uniform(-1.0, 0.0) * rng.uniform(-1.0, 1.0, size)
    base = rng.uniform(1.0, 3.0)
    frequency = base * rng.integers(1, 3, size)
    phase = rng.uniform(0.0, 2.0 * np.pi, size)
    ramp = float(rng.uniform(0.2, 0.5))

    def ask(session: ControlSession, slower: float) -> None:
        session.trace(Figure(amplitude, frequency / slower, phase, ramp * slower))

    return Asked("figure", ask, ramp + 1.0 / base)


def draw_joint_figure(rng: np.random.Generator, library: Library, q: FloatArray) -> Asked:
    """Sinusoids of all joints."""
    return replace(_figure(rng, 7, 0.1), kind="joint figure")


def draw_figure(rng: np.random.Generator, library: Library, q: FloatArray) -> Asked:
    """Sinusoids of the position."""
    return _figure(rng, 3, 0.03)


KINDS: tuple[tuple[tuple[str, ...], Callable[[np.random.Generator, Library, FloatArray], Asked]], ...] = (
    (("joint",), draw_joints),
    (("joint",), draw_joint_figure),
    (("backstepping", "impedance"), draw_pose),
    (("backstepping", "impedance"), draw_poses),
    (("backstepping", "impedance"), draw_figure),
)
"""Laws of each kind of motion, one of which is drawn."""


@dataclass
class Tally:
    """Counts, and a line for each refusal that names no time and for each reflex."""

    counts: Counter[str] = field(default_factory=Counter)
    lines: list[dict[str, Any]] = field(default_factory=list)
    steps: int = 0


class Arm(FrankaArm):
    """The arm of the server, with what reflexes look at; nobody reads the rest of its state."""

    def _show(self) -> None:
        self._view["tau_J_d"][...] = self.torque
        self.wrench, _ = self._external_wrench(self._known.pose())  # no frame beyond the flange is set


class Bench:
    """The virtual FR3, and the configuration of each law."""

    def __init__(self, folder: Path) -> None:
        file = folder / "fr3.urdf"
        file.write_text(robot_urdf("fr3"))
        model = load_model(file, ee_link=FLANGE)
        self.library = Library(build(model, laws=list(LAWS.values())) / f"lib{model.name}.so")
        self.configurations = {name: Configuration(self.library, law=law) for name, (law, _) in LAWS.items()}
        self.arm = Arm("fr3", PlantOptions(), np.array(HOME), PROTOCOLS[10])
        self.behavior = CollisionBehavior()

    def run(self, k: int, seed: int, tally: Tally) -> None:
        """Draw motion k, ask for it, and run it if it is accepted."""
        rng = np.random.default_rng([seed, k])
        laws, draw = KINDS[k % len(KINDS)]
        name = laws[int(rng.integers(len(laws)))]
        q = draw_posture(rng, self.library)
        asked = draw(rng, self.library, q)
        # A session of its own, for one that has just seen the arm elsewhere would take its counters for lost.
        session, communication = ControlSession(self.configurations[name], ON_A_FRANKA), Communication()
        tally.counts["drawn"] += 1
        self.arm.place(q)
        session.activate(self.arm.q.copy(), self.arm.qd.copy(), np.zeros(7))
        self._time, effort = 0.0, np.zeros(7)
        try:
            if self._step(session, communication, effort):
                tally.counts["reflex before the motion"] += 1
                return
            slower = self._ask(session, asked, k, tally)
            if slower is not None:
                tally.counts[f"run: {name} {asked.kind}"] += 1
                self._follow(session, communication, effort, asked, slower, (k, name), tally)
        finally:
            session.deactivate()

    def _ask(self, session: ControlSession, asked: Asked, k: int, tally: Tally) -> float | None:
        """Ask for a motion, and once more in the time that the refusal names; by how much it is slower then."""
        line: dict[str, Any] = {"motion": k, "kind": asked.kind}
        try:
            asked.ask(session, 1.0)
        except RefusedMotionError as error:
            line |= {"refused": str(error), "limit": error.limit}
            tally.counts[f"refused: {error.limit}"] += 1
            if error.slower is None:
                tally.counts["refused for good"] += 1
                tally.lines.append(line)
                return None
            try:
                asked.ask(session, error.slower)
            except LawError as again:
                tally.counts["refused in the time that was named"] += 1
                tally.lines.append(line | {"again": str(again)})
                return None
            tally.counts["accepted in the time that was named"] += 1
            return error.slower
        except LawError as error:
            tally.counts["refused before the rehearsal"] += 1
            tally.lines.append(line | {"refused": str(error)})
            return None
        tally.counts["accepted as asked"] += 1
        return 1.0

    def _follow(
        self,
        session: ControlSession,
        communication: Communication,
        effort: FloatArray,
        asked: Asked,
        slower: float,
        which: tuple[int, str],
        tally: Tally,
    ) -> None:
        end = np.inf if asked.duration is None else self._time + asked.duration * slower
        settled, looks = 0.0, 0
        while settled < SETTLING:
            found = self._step(session, communication, effort)
            tally.steps += 1
            looks += 1
            if found:
                tally.counts["reflexes"] += 1
                for error in found:
                    tally.counts[f"reflex: {error.name.lower()}"] += 1
                k, law = which
                line = {"motion": k, "law": law, "kind": asked.kind, "slower": slower, "time": round(self._time, 3)}
                tally.lines.append(line | {"reflex": list(found.values()), "q": np.round(self.arm.q, 4).tolist()})
                return
            if self._time >= end:
                session.stop_motion()
                end = np.inf
            if settled > 0.0 or (looks % LOOK == 0 and session.snapshot().reference_source == "hold"):
                settled += STEP

    def _step(self, session: ControlSession, communication: Communication, effort: FloatArray) -> dict[Any, str]:
        """One period: what the host makes of a state, and what the robot makes of that."""
        arm = self.arm
        self._time += STEP
        session.update(round(self._time * 1e9), self._time, arm.q, arm.qd, STEP, effort)
        communication.record(True)
        found = find_reflexes(Cycle(arm, effort, self.behavior, communication))
        if not found:
            arm.step(effort.copy())
        return found


def run_motions(
    motions: int, seed: int, folder: Path, first: int = 0, show: Callable[[Tally], None] = lambda _: None
) -> Tally:
    """Run so many motions, those from the first one on; what is refused for good counts as none of them.

    `show` is called now and then.
    """
    bench, tally = Bench(folder), Tally()
    k = first
    while sum(n for name, n in tally.counts.items() if name.startswith("run: ")) < motions:
        bench.run(k, seed, tally)
        k += 1
        if k % SHOWN == 0:
            show(tally)
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, write, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--motions", type=int, default=10_000, help="that run")
    parser.add_argument("--first", type=int, default=0, help="index of the first one")
    parser.add_argument("--seed", type=int, default=46)
    parser.add_argument("--out", type=Path, default=Path("results/soak"))
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()

    def write(tally: Tally) -> None:
        document = {"seed": given.seed, "first": given.first, **vars(tally)}
        (given.out / f"franka_motions_{given.first}.json").write_text(json.dumps(document, indent=1) + "\n")

    tally = run_motions(given.motions, given.seed, given.out, given.first, write)
    write(tally)
    for name, count in sorted(tally.counts.items()):
        sys.stdout.write(f"{count:8}  {name}\n")
    sys.stdout.write(f"{tally.steps:8}  periods, {time.monotonic() - begun:.0f} s\n")
    return int(any(tally.counts[name] for name in ("reflexes", "refused in the time that was named")))


if __name__ == "__main__":
    sys.exit(main())
