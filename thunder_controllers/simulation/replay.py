"""A compiled law and its adaptation over the record of a motion: nothing is simulated, nothing commanded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thunder_controllers.fields import FloatArray
from thunder_controllers.host import Entry, FreeLaw, Law, Library, estimated_links
from thunder_controllers.host.inertia_estimate import ESTIMATE, FRICTION, OFFSETS, ROTORS
from thunder_controllers.identification.fourier import pose_samples
from thunder_controllers.identification.information import columns_of, regressor
from thunder_controllers.identification.motion import Motion, Record, smoothed_states
from thunder_controllers.identification.robot_fit import SLOW
from thunder_controllers.references.circles import Circles, circles_of
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.storage.whole import write_whole

QUARTER = 0.25
"""Share of the record, at its start and its end, over which the innovation is told."""

POSTURE, POSTURE_BANDWIDTH = "q_home", "k_n"
"""Gains of laws that resolve redundancy by a posture."""

CLAIMED = "pi_std"
"""Telemetry of laws that know them: standard deviations of `pi_hat`."""


@dataclass(frozen=True, eq=False)
class Replay:
    """What a law made of a record, but for its ends, where the filter has not settled; N samples, n joints.

    Attributes:
        t: [s] since the start of the record (N,).
        applied: Measured efforts (N, n) [N·m or N].
        asked: What the law would have commanded (N, n) [N·m or N].
        estimates: Adapted entries of the state after each step, by name, (N, size) each.
        telemetry: By name, (N, size) each.
        links: Names of the adapted links.
        motion: The filtered samples at which the innovation was looked at.
        t_motion: Their times [s], (M,).
        innovation: What the estimates in use leave of the efforts of `motion` (M, n) [N·m or N].
        unexplained: The same of the estimates at the end: small all along only if they have settled.
    """

    t: FloatArray
    applied: FloatArray
    asked: FloatArray
    estimates: Mapping[str, FloatArray]
    telemetry: Mapping[str, FloatArray]
    links: tuple[str, ...]
    motion: Motion
    t_motion: FloatArray
    innovation: FloatArray
    unexplained: FloatArray

    @property
    def quarters(self) -> tuple[FloatArray, FloatArray]:
        """Root mean squares of the innovation over the first and the last quarter, where joints move, (n,) each."""
        rows, part = self.innovation, round(QUARTER * len(self.innovation))
        return self._rms(rows, slice(0, part)), self._rms(rows, slice(len(rows) - part, None))

    @property
    def left_by_last(self) -> FloatArray:
        """Root mean square of what the estimates at the end leave of the whole record, where joints move, (n,)."""
        return self._rms(self.unexplained, slice(None))

    @property
    def bodies(self) -> FloatArray:
        """Inertial parameters of the adapted links at the end (links, 10), REG order."""
        last = self.estimates[ESTIMATE][-1] if self.links else np.zeros(0)
        return np.reshape(last, (-1, N_PARAMETERS))

    @property
    def claimed(self) -> FloatArray | None:
        """Standard deviations of `bodies` that the law claims at the end (links, 10); None if it claims none."""
        rows = self.telemetry.get(CLAIMED)
        return None if rows is None or rows.shape[1] != self.bodies.size else rows[-1].reshape(self.bodies.shape)

    def save(self, path: Path) -> None:
        """Write all arrays as .npz: `estimates.<name>` and `telemetry.<name>` beside those of the attributes."""
        plain = ("t", "applied", "asked", "t_motion", "innovation", "unexplained")
        arrays: dict[str, Any] = {
            **{name: getattr(self, name) for name in plain},
            **{f"estimates.{name}": rows for name, rows in self.estimates.items()},
            **{f"telemetry.{name}": rows for name, rows in self.telemetry.items()},
        }
        write_whole(path, lambda file: np.savez_compressed(file, links=np.array(self.links, np.str_), **arrays))

    def _rms(self, rows: FloatArray, part: slice) -> FloatArray:
        used = self.motion.used[part]
        return np.asarray(np.sqrt((rows[part] ** 2 * used).sum(axis=0) / np.fmax(used.sum(axis=0), 1)))


def replay_law(
    library: Library,
    name: str,
    record: Record,
    gains: Mapping[str, Any],
    estimates: Mapping[str, FloatArray],
    friction: FloatArray,
) -> Replay:
    """Step a law with the states and the efforts of a record, and with the recorded motion itself as the reference.

    The law sees measured positions, smoothed velocities, and the mean of the measured efforts of both ends of a period
    as the effort that was applied. The posture of a redundant arm is the one that asks for the recorded motion, unless
    gains say another. So the tracking error is that of the smoothing: what a law learns, it learns from the efforts.

    Args:
        library: Of the robot, with the law.
        name: Of the law.
        record: Of the motion.
        gains: By name; others have their defaults.
        estimates: First values of adapted entries of the state, by name; others have their defaults.
        friction: Viscous and Coulomb friction and effort offsets of the robot file (n, 3), where they are not adapted.

    Raises:
        UnsoundError: the `flaw` of the record.
        LawError: for a law that measures more than joints, or whose step is not finite.
    """
    if record.flaw:
        raise record.flaw
    law = library.law(name)
    further = [entry.name for entry in law.reference]
    law.check_feeds(measurements=[], references=further, where="a record")
    inside = record.settled
    states = _States(*(rows[inside] for rows in (record.q, *smoothed_states(record))))
    applied = 0.5 * (record.effort[1:] + record.effort[:-1])[inside.start - 1 : inside.stop - 1]
    runner = FreeLaw(library, law=name, gains=gains, initial_state=estimates)
    posture = _posture(law, gains, states, circles_of(library))
    asked, kept, told = _step(runner, law, states.reference(library, law), states, applied, posture, 1.0 / record.rate)
    motion, looked_at = Motion.of(record, SLOW), slice(0, None, record.every)
    in_use = {entry: np.vstack([rows[:1], rows[:-1]])[looked_at] for entry, rows in kept.items()}
    last = {entry: np.tile(rows[-1], (len(motion.q), 1)) for entry, rows in kept.items()}
    links = tuple(link for link in estimated_links(library, name) if link in library.link_names)
    Y = regressor(library, motion.q, motion.qd, motion.qdd)
    left = [motion.effort - _explained(library, motion, Y, links, values, friction) for values in (in_use, last)]
    t = np.arange(inside.start, inside.stop) / record.rate
    return Replay(t, record.effort[inside], asked, kept, told, links, motion, t[looked_at], *left)


@dataclass(frozen=True)
class _States:
    """Measured positions, and smoothed ones with velocities and accelerations, (N, n) each."""

    measured: FloatArray
    q: FloatArray
    qd: FloatArray
    qdd: FloatArray

    def reference(self, library: Library, law: Law) -> FloatArray:
        """Samples of the motion as a law follows it (N, 24) or (N, 3·n)."""
        if law.reference_kind == "cartesian":
            return pose_samples(library, self.q, self.qd, self.qdd)
        return np.hstack([self.q, self.qd, self.qdd])


def _step(
    runner: FreeLaw,
    law: Law,
    reference: FloatArray,
    states: _States,
    applied: FloatArray,
    posture: FloatArray | None,
    dt: float,
) -> tuple[FloatArray, dict[str, FloatArray], dict[str, FloatArray]]:
    """Efforts that the law asks for, its adapted states and its telemetry, of every sample."""
    adapted = [entry for entry in law.state if entry.is_adapted]
    asked, kept, told = np.empty_like(applied), _rows(adapted, len(applied)), _rows(law.telemetry, len(applied))
    for k, sample in enumerate(zip(states.measured, states.qd, applied, reference, strict=True)):
        if posture is not None:
            runner.set_gain(POSTURE, posture[k])
        asked[k] = runner.step(*sample, dt)
        for rows, entries, vector in (
            (kept, adapted, runner.state_vector),
            (told, law.telemetry, runner.telemetry_vector),
        ):
            for entry in entries:
                rows[entry.name][k] = vector[entry.offset : entry.offset + entry.size]
    return asked, kept, told


def _posture(law: Law, gains: Mapping[str, Any], states: _States, circles: Circles) -> FloatArray | None:
    """Gain q_home of each sample with which k_n (q_home − q) is the recorded velocity, (N, n), of a law that has both.

    Of a joint on a circle it is k_n sin(q_home − q), k_n at most.

    A redundant arm does not answer what the law asks of its null space, and the law must not learn from that. None
    where nothing adapts, where there is no such gain, or it is given.
    """
    names = {entry.name: entry for entry in law.gains}
    adapts = any(entry.is_adapted for entry in law.state)
    if not adapts or POSTURE in gains or not {POSTURE, POSTURE_BANDWIDTH} <= {*names}:
        return None
    k_n = float(np.squeeze(gains.get(POSTURE_BANDWIDTH, names[POSTURE_BANDWIDTH].defaults)))
    if not k_n > 0.0:
        return None
    way = states.qd / k_n
    return states.measured + np.where(circles, np.arcsin(np.clip(way, -1.0, 1.0)), way)


def _rows(entries: Sequence[Entry], count: int) -> dict[str, FloatArray]:
    return {entry.name: np.empty((count, entry.size)) for entry in entries}


def _explained(
    library: Library,
    motion: Motion,
    Y: FloatArray,
    links: tuple[str, ...],
    estimates: Mapping[str, FloatArray],
    friction: FloatArray,
) -> FloatArray:
    """Efforts by estimates (M, size) of each sample of a motion, and by the robot file where there are none, (M, n)."""
    count, n = motion.q.shape
    pi = np.tile(library.pi, (count, 1))
    for k, link in enumerate(links):
        pi[:, columns_of(library.link_names.index(link))] = estimates[ESTIMATE][:, columns_of(k)]
    viscous, coulomb = estimates.get(FRICTION, friction[:, :2].T.reshape(1, -1)).reshape(-1, 2, n).transpose(1, 0, 2)
    rotors = estimates.get(ROTORS, np.nan_to_num(library.rotor_inertia))
    bodies = np.einsum("tjk,tk->tj", Y, pi)
    offsets = estimates.get(OFFSETS, friction[:, 2])
    return np.asarray(bodies + viscous * motion.qd + coulomb * motion.sign + rotors * motion.qdd + offsets)
