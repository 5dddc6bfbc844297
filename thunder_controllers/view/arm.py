"""What is drawn of an arm: links between the origins of their frames, what they carry, and the path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from thunder_controllers.fields import FloatArray
from thunder_controllers.references.trajectories import POSITION
from thunder_controllers.simulation.experiment import RunResult
from thunder_controllers.simulation.metrics import error_norms
from thunder_controllers.simulation.trace import Frames, Trace

COLOURS = ("#d1495b", "#1f6f8b", "#edae49", "#3c7a57", "#7b5ea7", "#8c6d46", "#555555")
"""One per run or joint; told apart by lightness as well as by hue."""

GREY, GOLD, BLACK = (64, 69, 77), (237, 174, 73), (20, 20, 20)
"""Of joints, of what is carried, and of desired paths."""

THICKNESS = 0.045
"""Radius of a link over the reach of the arm."""

DENSITY = 2700.0
"""Of the ball that stands for a body of unknown shape, that of aluminium [kg/m³]."""

LEAST_MASS = 1e-3
"""Of a body that is drawn [kg]."""

PERIOD = 1.0 / 30.0
"""Of pictures [s]."""


@dataclass(frozen=True)
class Carried:
    """A body that a link carries for a while, drawn as a ball about its centre of mass."""

    frame: int  #: Index of the link's frame.
    start: float  #: [s].
    end: float  #: [s].
    com: FloatArray  #: In the link's frame [m], (3,).
    radius: float  #: [m].


@dataclass(frozen=True)
class Arm:
    """The arm of one run over time."""

    name: str  #: Of the run.
    frames: Frames  #: Where its frames are.
    carried: tuple[Carried, ...]  #: What it picks up.
    path: FloatArray  #: Of the end effector [m], (N, 3), at `times`.
    desired: FloatArray | None  #: The same of the reference; none for laws that follow joints.
    times: FloatArray  #: [s], (N,).
    #: What `error_norms` says in mm and mrad, by name, at the times of the frames.
    errors: dict[str, tuple[str, FloatArray]]
    reach: float  #: Largest distance between origins of frames [m], or a centimetre.

    @classmethod
    def of(cls, name: str, trace: Trace, frames: Frames) -> Arm:
        """Take what is drawn from the trace of a run."""
        steps = np.minimum(np.searchsorted(trace.t, frames.t), len(trace.t) - 1)
        errors = {what: (f"m{unit}", 1e3 * norm[steps]) for what, (unit, norm) in error_norms(trace).items()}
        desired = trace.reference[:, POSITION] if trace.is_cartesian else None
        reach = max(float(np.linalg.norm(np.ptp(frames.position.reshape(-1, 3), axis=0))), 0.01)
        return cls(name, frames, _carried(trace, frames), trace.position, desired, trace.t, errors, reach)

    def followed_by(self, now: Arm) -> Arm:
        """The arm as it is `now`, of the path that it has gone since, and as large as before: for runs that go on."""
        path, times = np.vstack([self.path, now.path]), np.append(self.times, now.times)
        return replace(now, path=path, times=times, desired=self.desired, reach=self.reach)

    @property
    def radius(self) -> float:
        """Of the links [m]."""
        return THICKNESS * self.reach

    def sample(self, t: float) -> int:
        """Index of the last sample that is not later than `t`; times off by rounding count as equal."""
        return max(int(np.searchsorted(self.frames.t, t + 1e-9)) - 1, 0)

    def path_until(self, k: int) -> FloatArray:
        """The path to sample `k` of the frames, (P, 3)."""
        return self.path[: np.searchsorted(self.times, self.frames.t[k]) + 1]

    def links(self, k: int) -> FloatArray:
        """Both ends of every link that has a length at sample `k` of the frames, (L, 2, 3)."""
        children = np.flatnonzero(self.frames.parents >= 0)
        ends = np.stack([self.frames.position[k, self.frames.parents[children]], self.frames.position[k, children]], 1)
        return np.asarray(ends[np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) > 1e-4], dtype=np.float64)

    def joints(self, k: int) -> FloatArray:
        """Origins of the links' frames at sample `k`, (n, 3)."""
        return np.asarray(self.frames.position[k, 1:-1], dtype=np.float64)

    def centre(self, body: Carried, k: int) -> FloatArray | None:
        """Where a body is at sample `k` [m], (3,); None if it is not carried then."""
        if not body.start <= self.frames.t[k] < body.end:
            return None
        position, rotation = self.frames.position[k, body.frame], self.frames.rotation[k, body.frame]
        return np.asarray(position + rotation @ body.com, dtype=np.float64)

    def balls(self, k: int) -> list[tuple[FloatArray, float]]:
        """Centre and radius of every body that is carried at sample `k`."""
        places = [(self.centre(body, k), body.radius) for body in self.carried]
        return [(centre, radius) for centre, radius in places if centre is not None]

    def caption(self, k: int) -> str:
        """Name of the run and its errors at sample `k`."""
        errors = (f"{norm[k]:.{3 if norm[k] < 10.0 else 0}f} {unit}" for unit, norm in self.errors.values())
        return ", ".join([self.name, *errors])


def arms_of(runs: Iterable[RunResult]) -> list[Arm]:
    """The arms of runs that are done."""
    return [Arm.of(run.name, run.trace, run.frames) for run in runs]


def rgb(colour: str) -> tuple[int, ...]:
    """Red, green and blue of a colour #rrggbb, each to 255."""
    return tuple(bytes.fromhex(colour[1:]))


def thinned(path: FloatArray, most: int) -> FloatArray:
    """A path of at most so many points and its last one."""
    return np.vstack([path[:: -(-len(path) // most)], path[-1:]])


def _carried(trace: Trace, frames: Frames) -> tuple[Carried, ...]:
    """Bodies that were not there at the start: what the true parameters of an adapted link have grown by."""
    names = frames.names.tolist()
    ends = [*trace.truth_time[1:], np.inf]
    found = []
    for start, end, truth in zip(trace.truth_time, ends, trace.truth, strict=True):
        for link, grown in zip(trace.adapted_links, truth - trace.truth[0], strict=True):
            if grown[0] > LEAST_MASS:
                radius = float((grown[0] / DENSITY * 0.75 / np.pi) ** (1 / 3))
                frame = names.index(str(link))
                found.append(Carried(frame, float(start), float(end), grown[1:4] / grown[0], radius))
    return tuple(found)
