"""A trace with known errors, for the tests of metrics and report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from thunder_controllers.simulation.trace import Frames, Timing, Trace
from thunder_dynamics.inertia import Inertia

TRUE_BODY = Inertia(2.0, np.array([0.1, 0.0, 0.2]), np.diag([0.02, 0.03, 0.025]))
GUARD_NAMES = ("measurement_non_finite", "effort_rate_limited", "effort_limited")


def make_trace(
    steps: int = 1000, amplitude: float = 0.1, period: float = 0.5, n: int = 2, faults: tuple[str, ...] = ()
) -> Trace:
    """Error amplitude·exp(−t) along x, an estimate that starts 1 kg too heavy, a motion of the given period.

    Each of the `faults` is in force for the first three steps.
    """
    t = np.arange(steps) * 1e-2
    error = np.zeros((steps, 6))
    error[:, 0] = amplitude * np.exp(-t)
    estimates = np.tile(TRUE_BODY.pi, (steps, 1, 1))
    estimates[:, 0, 0] += np.exp(-t)
    guards = np.zeros(steps, dtype=np.uint32)
    guards[:3] = 0b010
    guards[5] = 0b110
    q = np.sin(2 * np.pi * np.outer(t / period, np.ones(n)))
    rotation = np.tile(np.eye(3), (steps, 1, 1))
    return Trace(
        t=t,
        q=q,
        qd=np.zeros_like(q),
        q_measured=q,
        qd_measured=np.zeros_like(q),
        reference=np.zeros((steps, 24)),
        effort=10.0 * q,
        position=np.zeros((steps, 3)),
        rotation=rotation,
        error=error,
        state=estimates.reshape(steps, 10),
        telemetry=error[:, :1],
        telemetry_names=np.array(["error"]),
        estimates=estimates,
        truth=TRUE_BODY.pi[None, None, :],
        truth_time=np.zeros(1),
        guards=guards,
        guard_names=np.array(GUARD_NAMES),
        faults=np.repeat(np.arange(steps)[:, None] < 3, len(faults), axis=1),
        fault_names=np.array(faults, dtype=np.str_),
        adapted_links=np.array(["tool"]),
        joint_names=np.array([f"joint{k}" for k in range(n)]),
        joint_units=np.full(n, "rad"),
        effort_limit=np.array([20.0, np.inf][:n]),
        effort_rate_limit=np.full(n, 1000.0),
        period=np.array(period),
    )


def make_timing(steps: int = 1000) -> Timing:
    """Steps of 1, 2, …, N times 10 ns."""
    return Timing(np.arange(1, steps + 1) * 10, wall=0.5)


def make_frames(trace: Trace) -> Frames:
    """An arm of two links of 0.5 m and a tool of 0.2 m in a plane, 1 m above the floor; its last link is `tool`."""
    q = np.cumsum(trace.q[::3, :2], axis=1)
    steps = np.array([0.5, 0.5, 0.2])[:, None]
    angles = np.concatenate([q, q[:, 1:]], axis=1)
    points = np.cumsum(steps * np.stack([np.cos(angles), np.zeros_like(angles), np.sin(angles)], axis=2), axis=1)
    position = np.concatenate([np.zeros((len(q), 2, 3)), points], axis=1) + [0.0, 0.0, 1.0]
    rotation = np.tile(np.eye(3), (len(q), 5, 1, 1))
    names = np.array(["base", "upper", "lower", "tool", "ee"])
    return Frames(trace.t[::3], names, np.arange(-1, 4), position.astype(np.float32), rotation.astype(np.float32))


def write_run(folder: Path, metrics: Mapping[str, Any], **traces: Trace) -> None:
    """Write the folder that `thunder run` writes of runs, by name."""
    for name, trace in traces.items():
        trace.save(folder / f"{name}.npz")
        make_timing().save(folder / f"{name}_timing.npz")
        make_frames(trace).save(folder / f"{name}_frames.npz")
    (folder / "metrics.json").write_text(json.dumps(metrics))
    (folder / "scenario.yaml").write_text("name: demo  # <script>alert(1)</script>\n")
