"""What a run leaves behind: one row per control step, bit for bit the same for the same seed; timing is kept apart."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass
class Trace:
    """Rows k = 0 … N−1 at times t_k; the effort of row k acts from t_k to t_{k+1}.

    Attributes:
        t: [s], (N,).
        q: True joint positions [rad or m], (N, n).
        qd: True joint velocities, (N, n).
        q_measured: As the controller saw them, (N, n).
        qd_measured: As the controller saw them, (N, n).
        reference: Samples as in `trajectories`, (N, 24) or (N, 3·n).
        effort: Commanded [N·m or N], (N, n).
        position: True position of the end effector [m], world frame, (N, 3).
        rotation: True rotation of the end effector, (N, 3, 3).
        error: [p_d − p ; ½ Σ n×n_d], (N, 6), or q_d − q, (N, n), of the true plant.
        state: Of the law, after the step, (N, states).
        telemetry: Of the law's last step, (N, values).
        telemetry_names: Name of the entry that each column of it belongs to, (values,).
        estimates: Adapted parameters π̂ after the step, REG order, (N, links, 10).
        truth: True parameters from the time of the same row of `truth_time` on, (E, links, 10).
        truth_time: [s], (E,).
        guards: Bits of the guards that acted, (N,).
        guard_names: Name of each bit.
        faults: Which faults of the plant were in force, (N, F).
        fault_names: What each one is, and when, (F,).
        adapted_links: Names of the links of `estimates`.
        joint_names: In order.
        effort_limit: [N·m or N], (n,).
        effort_rate_limit: Per second, (n,).
        period: Of the reference [s]; NaN if it has none.
    """

    t: FloatArray
    q: FloatArray
    qd: FloatArray
    q_measured: FloatArray
    qd_measured: FloatArray
    reference: FloatArray
    effort: FloatArray
    position: FloatArray
    rotation: FloatArray
    error: FloatArray
    state: FloatArray
    telemetry: FloatArray
    telemetry_names: NDArray[np.str_]
    estimates: FloatArray
    truth: FloatArray
    truth_time: FloatArray
    guards: NDArray[np.uint32]
    guard_names: NDArray[np.str_]
    faults: NDArray[np.bool_]
    fault_names: NDArray[np.str_]
    adapted_links: NDArray[np.str_]
    joint_names: NDArray[np.str_]
    effort_limit: FloatArray
    effort_rate_limit: FloatArray
    period: FloatArray

    @property
    def is_cartesian(self) -> bool:
        """Whether the error is of the end effector's pose; else it is of the joints."""
        n = self.q.shape[1]
        return not (self.reference.shape[1] == 3 * n and self.error.shape[1] == n)

    def save(self, path: Path) -> None:
        """Write as .npz, whole or not at all."""
        save_arrays(path, {field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def load(cls, path: Path) -> Trace:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as archive:
            return cls(**{field.name: archive[field.name] for field in fields(cls)})

    def guard_steps(self, name: str) -> int:
        """Number of steps in which a guard acted; 0 for a name that the host does not have."""
        return int(self._acted(name).sum())

    def first_step(self, name: str) -> int | None:
        """First step in which a guard acted; None if it never did."""
        acted = self._acted(name)
        return int(np.argmax(acted)) if acted.any() else None

    def _acted(self, name: str) -> NDArray[np.bool_]:
        bits = np.flatnonzero(self.guard_names == name)
        return (self.guards >> bits[0]) & 1 > 0 if bits.size else np.zeros(len(self.guards), dtype=bool)


@dataclass(frozen=True)
class Timing:
    """Wall time: of each control step inside the host [ns], (N,), and of the whole loop [s]."""

    step_ns: NDArray[np.int64]
    wall: float

    def save(self, path: Path) -> None:
        """Write as .npz, whole or not at all."""
        save_arrays(path, {"step_ns": self.step_ns, "wall": np.array(self.wall)})

    @classmethod
    def load(cls, path: Path) -> Timing:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as archive:
            return cls(archive["step_ns"], float(archive["wall"]))


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays as .npz, whole or not at all."""
    write_atomically(path, lambda file: np.savez(file, **arrays))


def write_atomically(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a new file next to `path`, then put it in its place in one step."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
