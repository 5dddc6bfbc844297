"""What is measured of a run beside its final error: transients, effort, estimates, cost of a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from thunder_controllers.experiments.experiment import Case, Measured
from thunder_controllers.references.trajectories import POSITION, ROTATION
from thunder_controllers.simulation.metrics import estimate_errors, step_times
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_dynamics.inertia import pseudo_inertia

FloatArray = NDArray[np.float64]

POINTS = 400
"""Of a series: what a figure resolves."""

RISEN = 0.9
"""Share of the way from the largest error to the steady state after which a rise is over."""


def measure_run(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure, whatever the law, IAE, largest error, rise time, effort, estimates if there are any, cost of a step."""
    norm = pose_distance(trace)
    values: dict[str, float | None] = {
        "iae": float(norm.mean() * case.config.duration),
        "largest_error": float(norm.max()),
        "rise_time": rise_time(trace.t, norm, case.window),
        "effort": float(np.sqrt((trace.effort**2).sum(axis=1).mean())),
        "step_us": step_times(timing)["median"],
        **final_estimates(trace),
    }
    return Measured(values, {"t": series(trace.t, np.min), "error": series(norm, np.max)})


def measure_estimates(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure the same, and keep estimates and truth of the last adapted link over time."""
    values, kept = measure_run(case, trace, timing)
    steps = np.searchsorted(trace.truth_time, trace.t, side="right") - 1
    both = {"estimates": series(trace.estimates[:, -1]), "truth": series(trace.truth[steps, -1])}
    return Measured(values, {**kept, **both})


def pose_distance(trace: Trace) -> FloatArray:
    """‖[p_d − p; θ]‖ [m, rad] of every row, or ‖q_d − q‖, (N,); θ is the angle, where `Trace.error` has its sine."""
    if not trace.is_cartesian:
        return np.asarray(np.linalg.norm(trace.error, axis=1))
    desired = trace.reference[:, ROTATION].reshape(-1, 3, 3)  # column-major, hence the transpose of R_d
    angle = Rotation.from_matrix(trace.rotation @ desired).magnitude()
    return np.asarray(np.hypot(np.linalg.norm(trace.reference[:, POSITION] - trace.position, axis=1), angle))


def rise_time(t: FloatArray, norm: FloatArray, window: float) -> float | None:
    """Time after which an error (N,) has gone, for good, 90 % of the way to the steady state [s].

    The way is from the largest error of all to the largest in the window at the end; None if that is the same.
    """
    largest, steady = norm.max(), norm[t >= t[-1] - window].max()
    above = np.flatnonzero(norm > largest - RISEN * (largest - steady))
    return float(t[above[-1] + 1]) if above.size else None


def final_estimates(trace: Trace) -> Mapping[str, float | None]:
    """Errors of the last estimates, the largest of all adapted links: mass [kg], CoM [m], inertia [kg·m²].

    `consistent` is the share of steps at which every link's estimate was one that a rigid body can have.
    """
    finals = [link["final"] for link in estimate_errors(trace).values()]
    if not finals:
        return {}
    largest = {
        f"{name}_error": max((one[name] for one in finals if one[name] is not None), default=None)
        for name in ("mass", "com", "inertia")
    }
    return {**largest, "consistent": float(is_consistent(trace.estimates).all(axis=1).mean())}


def body_errors(bodies: FloatArray, truth: FloatArray) -> FloatArray:
    """Errors of mass [g], CoM [mm] and inertia, the largest element [g·m²], of rows m, c, I (N, 10); shape (3, N)."""
    difference = 1e3 * (bodies - truth)
    parts = difference[:, 0], np.linalg.norm(difference[:, 1:4], axis=1), np.abs(difference[:, 4:]).max(axis=1)
    return np.abs(parts)


def is_consistent(estimates: FloatArray) -> NDArray[np.bool_]:
    """Whether the pseudo-inertia of each π̂ (…, 10) is positive definite, (…)."""
    return np.asarray(np.linalg.eigvalsh(pseudo_inertia(estimates))[..., 0] > 0.0)


def series(values: FloatArray, of: Any = None) -> list[Any]:
    """Thin rows to at most `POINTS`: the last row of each block, or what `of` makes of the block."""
    blocks = np.array_split(np.asarray(values), min(POINTS, len(values)))
    return [float(f"{of(block):.4g}") for block in blocks] if of else [block[-1].tolist() for block in blocks]
