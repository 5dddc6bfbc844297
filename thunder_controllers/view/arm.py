"""What is drawn of an arm: its look, or links between the origins of their frames; what they carry, and the path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.fields import FloatArray
from thunder_controllers.host import Note
from thunder_controllers.references.trajectories import POSITION
from thunder_controllers.simulation.experiment import ScenarioResult
from thunder_controllers.simulation.metrics import error_norms
from thunder_controllers.simulation.trace import Frames, Trace
from thunder_controllers.view.look import NO_LOOK, Look, look_of
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.inertia import ball_radius

COLOURS = ("#d1495b", "#1f6f8b", "#edae49", "#3c7a57", "#7b5ea7", "#8c6d46", "#555555")
"""One per run or joint; told apart by lightness as well as by hue."""

GREY, GOLD, BLACK = (64, 69, 77), (237, 174, 73), (20, 20, 20)
"""Of joints, of what is carried, and of desired paths."""

THICKNESS = 0.045
"""Radius of a link over the reach of the arm."""

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
    look: Look = NO_LOOK  #: Of its frames; those without have capsules.

    @classmethod
    def of(cls, name: str, trace: Trace, frames: Frames, look: Look = NO_LOOK) -> Arm:
        """Take what is drawn from the trace of a run.

        Raises:
            ScenarioError: for a look of other frames.
        """
        if look.frame.size and not 0 <= look.frame.min() <= look.frame.max() < len(frames.names):
            raise ScenarioError("a look of other frames", where=name, valid=f"of {len(frames.names)} frames")
        steps = np.minimum(np.searchsorted(trace.t, frames.t), len(trace.t) - 1)
        errors = {what: (f"m{unit}", 1e3 * norm[steps]) for what, (unit, norm) in error_norms(trace).items()}
        desired = trace.reference[:, POSITION] if trace.is_cartesian else None
        reach = max(float(np.linalg.norm(np.ptp(frames.position.reshape(-1, 3), axis=0))), 0.01)
        return cls(name, frames, _carried(trace, frames), trace.position, desired, trace.t, errors, reach, look)

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

    @cached_property
    def is_seen(self) -> NDArray[np.bool_]:
        """Whether each frame has a look, (F,)."""
        return np.isin(np.arange(len(self.frames.names)), self.look.frame)

    def bones(self, bare: bool = True) -> NDArray[np.int64]:
        """Indices of the frames that a link joins, (L, 2); of those alone whose look is not known, or of all."""
        parents = self.frames.parents
        children = np.flatnonzero((parents >= 0) & ~(bare & self.is_seen[parents]))
        return np.stack([parents[children], children], axis=1)

    def links(self, k: int, bare: bool = True) -> FloatArray:
        """Both ends of the `bones` that have a length at sample `k` of the frames, (L, 2, 3)."""
        ends = self.frames.position[k, self.bones(bare)]
        return np.asarray(ends[np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) > 1e-4], dtype=np.float64)

    def joints(self, k: int) -> FloatArray:
        """Origins of the frames of links whose look is not known at sample `k`, (n, 3)."""
        return np.asarray(self.frames.position[k, 1:-1][~self.is_seen[1:-1]], dtype=np.float64)

    def body(self, k: int) -> FloatArray:
        """Where the vertices of the look are at sample `k`, (V, 3)."""
        return self.look.places(self.frames.position[k], self.frames.rotation[k])

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


def arms_of(result: ScenarioResult, names: Mapping[str, str] = MappingProxyType({})) -> list[Arm]:
    """The arms of runs that are written, as they look; `names` are what to call runs that have another name there.

    Raises:
        ScenarioError: if what is kept of a look is damaged.
        OSError: if a look cannot be kept.
    """
    runs = ((run, look_of(run, result.folder)) for run in result.runs)
    return [Arm.of(names.get(run.name, run.name), run.trace, run.frames, look) for run, look in runs]


def notes_of(arms: Iterable[Arm]) -> list[Note]:
    """What is not drawn of arms as they look, and why, each once."""
    return list(dict.fromkeys(note for arm in arms for note in arm.look.notes))


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
                radius = ball_radius(float(grown[0]))
                frame = names.index(str(link))
                found.append(Carried(frame, float(start), float(end), grown[1:4] / grown[0], radius))
    return tuple(found)
