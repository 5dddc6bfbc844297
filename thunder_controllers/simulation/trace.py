"""What a run leaves behind: one row per control step, bit for bit the same for the same seed; timing is kept apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.archive import read_arrays
from thunder_controllers.fields import FloatArray
from thunder_controllers.host import FAULTS, Guard
from thunder_controllers.references.trajectories import POSITION
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.inertia import REG_NAMES
from thunder_dynamics.storage.whole import write_whole

Stored = TypeVar("Stored", bound="Archive")

BY_STEP = (
    *("t", "q", "qd", "q_measured", "qd_measured", "reference", "effort", "position", "rotation", "error"),
    *("state", "telemetry", "estimates", "guards", "faults"),
)
"""Arrays of a trace that have a row per control step."""


class Archive:
    """Arrays by the names of the fields, kept as .npz."""

    def save(self, path: Path) -> None:
        """Write as .npz, whole or not at all; not compressed, which takes longer than the run and saves a third."""
        write_whole(path, lambda file: np.savez(file, **vars(self)))

    @classmethod
    def load(cls: type[Stored], path: Path) -> Stored:
        """Read what `save` wrote.

        Raises:
            ScenarioError: if the file is not there, is damaged, or lacks an array.
        """
        arrays = read_arrays(path, cls.__annotations__, ScenarioError, "what `thunder run` writes")
        return cls(**{name: array[()] for name, array in arrays.items()})


@dataclass
class Trace(Archive):
    """Rows k = 0 … N−1 at times t_k; the effort of row k acts from t_k to t_{k+1}."""

    t: FloatArray  #: [s], (N,).
    q: FloatArray  #: True joint positions [rad or m], (N, n).
    qd: FloatArray  #: True joint velocities, (N, n).
    q_measured: FloatArray  #: As the controller saw them, joints on a circle unwrapped, (N, n).
    qd_measured: FloatArray  #: As the controller saw them, (N, n).
    reference: FloatArray  #: Samples as in `trajectories`, (N, 24) or (N, 3·n).
    effort: FloatArray  #: Commanded [N·m or N], (N, n).
    position: FloatArray  #: True position of the end effector [m], world frame, (N, 3).
    rotation: FloatArray  #: True rotation of the end effector, (N, 3, 3).
    error: FloatArray  #: [p_d − p ; ½ Σ n×n_d], (N, 6), or q_d − q, (N, n), of the true plant.
    state: FloatArray  #: Of the law, after the step, (N, states).
    telemetry: FloatArray  #: Of the law's last step, (N, values).
    telemetry_names: NDArray[np.str_]  #: Name of the entry that each column of it belongs to, (values,).
    estimates: FloatArray  #: Adapted parameters π̂ after the step, REG order, (N, links, 10).
    truth: FloatArray  #: True parameters from the time of the same row of `truth_time` on, (E, links, 10).
    truth_time: FloatArray  #: [s], (E,).
    guards: NDArray[np.uint32]  #: Bits of the guards that acted, (N,).
    guard_names: NDArray[np.str_]  #: Name of each bit.
    faults: NDArray[np.bool_]  #: Which faults of the plant were in force, (N, F).
    fault_names: NDArray[np.str_]  #: What each one is, and when, (F,).
    adapted_links: NDArray[np.str_]  #: Names of the links of `estimates`.
    joint_names: NDArray[np.str_]  #: In order.
    joint_units: NDArray[np.str_]  #: Of their positions, rad or m, (n,).
    effort_limit: FloatArray  #: [N·m or N], (n,).
    effort_rate_limit: FloatArray  #: Per second, (n,).
    period: FloatArray  #: Of the reference [s]; NaN if it has none.

    @property
    def step(self) -> float:
        """Time between two rows [s]; 1 if there is one alone."""
        return float(self.t[1] - self.t[0]) if len(self.t) > 1 else 1.0

    @property
    def is_cartesian(self) -> bool:
        """Whether the error is of the end effector's pose; else it is of the joints."""
        n = self.q.shape[1]
        return not (self.reference.shape[1] == 3 * n and self.error.shape[1] == n)

    def held_effort(self) -> FloatArray:
        """Efforts at the times of the samples, the mean of those before and after, (N, n)."""
        return 0.5 * (self.effort + np.vstack([self.effort[:1], self.effort[:-1]]))

    def columns(self) -> dict[str, FloatArray]:
        """The trace as a table in SI units: names of columns and their values, (N,) each, `t` [s] first.

        `<joint>.position` and `.velocity` are what was measured, `.true_position` and `.true_velocity` what was true;
        `.effort` is `held_effort`, `.command` what is commanded from then on. `ee.x` … is the true position of the end
        effector, `ee_desired.x` … what a law that follows a pose is asked for. `error.<axis or joint>`,
        `telemetry.<entry>` and `<link>.estimate.<parameter>` are of the law. `guard.<name>`, of each guard that acted,
        is 0 or 1.
        """
        joints, axes = [str(name) for name in self.joint_names], ["x", "y", "z"]
        pose = [*axes, "about_x", "about_y", "about_z"]
        table: dict[str, FloatArray] = {"t": self.t}
        parts = {
            "position": self.q_measured,
            "velocity": self.qd_measured,
            "true_position": self.q,
            "true_velocity": self.qd,
            "effort": self.held_effort(),
            "command": self.effort,
        }
        table |= {f"{joint}.{what}": rows[:, k] for k, joint in enumerate(joints) for what, rows in parts.items()}
        groups: list[tuple[str, Sequence[str], FloatArray]] = [
            ("ee.", axes, self.position),
            ("error.", pose if self.is_cartesian else joints, self.error),
        ]
        if self.is_cartesian:
            groups.append(("ee_desired.", axes, self.reference[:, POSITION]))
        groups.append(("telemetry.", _numbered(self.telemetry_names), self.telemetry))
        groups += [(f"{k}.estimate.", REG_NAMES, self.estimates[:, i]) for i, k in enumerate(self.adapted_links)]
        table |= {f"{of}{name}": rows[:, k] for of, names, rows in groups for k, name in enumerate(names)}
        acted = {str(name): self.acted(str(name)) for name in self.guard_names}
        return table | {f"guard.{name}": steps.astype(float) for name, steps in acted.items() if steps.any()}

    def first_fault(self) -> tuple[int, str] | None:
        """Step and name of the guard that found the first fault; None if the run went to its end."""
        names = (str(guard.name).lower() for guard in Guard if guard & FAULTS)
        return min(((step, name) for name in names if (step := self.first_step(name)) is not None), default=None)

    def until_fault(self) -> Trace:
        """The trace to the step that found the first fault; the whole of it if there is none.

        What comes after shows how the host brings an arm to rest, and says nothing of the law.
        """
        fault = self.first_fault()
        if fault is None:
            return self
        rows, changes = slice(fault[0] + 1), self.truth_time <= self.t[fault[0]]
        truth = {"truth": self.truth[changes], "truth_time": self.truth_time[changes]}
        return replace(self, **{name: getattr(self, name)[rows] for name in BY_STEP}, **truth)

    def guard_steps(self, name: str) -> int:
        """Number of steps in which a guard acted; 0 for a name that the host does not have."""
        return int(self.acted(name).sum())

    def first_step(self, name: str) -> int | None:
        """First step in which a guard acted; None if it never did."""
        acted = self.acted(name)
        return int(np.argmax(acted)) if acted.any() else None

    def acted(self, name: str) -> NDArray[np.bool_]:
        """In which steps a guard acted, (N,); in none for a name that the host does not have."""
        bits = np.flatnonzero(self.guard_names == name)
        return (self.guards >> bits[0]) & 1 > 0 if bits.size else np.zeros(len(self.guards), dtype=bool)


def _numbered(names: NDArray[np.str_]) -> list[str]:
    """Names of values: an entry with several numbers them from 0."""
    texts = [str(name) for name in names]
    return [f"{name}.{texts[:k].count(name)}" if texts.count(name) > 1 else name for k, name in enumerate(texts)]


@dataclass(frozen=True)
class Frames(Archive):
    """Where the frames of the controller's robot are at the true joint positions, at some of the steps of a trace."""

    t: FloatArray  #: [s], (K,).
    names: NDArray[np.str_]  #: `base`, the links, and `ee`, (F,).
    parents: NDArray[np.int64]  #: Index of the frame that each one is joined to; −1 for the base, (F,).
    position: NDArray[np.float32]  #: Of their origins [m], world frame, (K, F, 3).
    rotation: NDArray[np.float32]  #: World frame, (K, F, 3, 3).


@dataclass(frozen=True)
class Timing(Archive):
    """Wall time: of each control step inside the host [ns], (N,), and of the whole loop [s]."""

    step_ns: NDArray[np.int64]
    wall: float
