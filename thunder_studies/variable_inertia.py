"""Errors of fast motions of five point masses, and the mass of one that is estimated."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.experiments.experiment import Case, Measured
from thunder_controllers.experiments.measures import series
from thunder_controllers.experiments.runner import load_robot
from thunder_controllers.references.trajectories import JointPolynomial
from thunder_controllers.simulation.trace import Timing, Trace

MASS = 0.7
"""Of the last point [kg]."""


def _least_damping(case: Case, trace: Trace, beta: NDArray[np.float64]) -> float:
    """Least eigenvalue of R_1 + ½ Ṁ − ½ β̇ on the way [N·m·s]: V falls where it is positive (no joint has friction)."""
    library, (n, dt) = load_robot(case.config).library, (trace.q.shape[1], 1.0 / case.config.rate)
    M_dot = np.asarray(library.batch("M_dot", trace.q, trace.qd)).reshape(-1, n, n)
    R_1 = np.asarray(case.config.law.gains["R_1"], dtype=float)
    damping = R_1 * np.eye(n) + 0.5 * M_dot - 0.5 * np.gradient(beta, dt)[:, None, None] * np.eye(n)
    return float(np.linalg.eigvalsh(damping[:-1]).min())


def measure_motion(case: Case, trace: Trace, _timing: Timing) -> Measured:
    """Measure IAE of all joints, extremes, and the estimated mass if there is one; keep them, q, τ and β over time."""
    moving = round(cast(JointPolynomial, case.config.reference).time * case.config.rate)
    moving = min(moving, len(trace.t) - 1)  # where a run is cut short
    sums = np.abs(trace.error).sum(axis=1)
    total = sums / case.config.rate
    values: dict[str, float | None] = {
        "iae_sum": float(total.sum()),
        "iae_moving": float(total[:moving].sum()),
        "largest": float(np.abs(trace.error).max()),
        "largest_effort": float(np.abs(trace.effort).max()),
    }
    inertia = trace.telemetry[:, trace.telemetry_names == "inertia"]
    beta = inertia[:, 0] if inertia.size else np.full(len(trace.t), np.nan)  # of the other laws
    if inertia.size:
        values["least_damping"] = _least_damping(case, trace, beta)
    kept = {"error": trace.error, "sum": sums, "q": trace.q, "effort": trace.effort, "beta": beta}
    kept = {name: series(rows) for name, rows in {"t": trace.t, **kept}.items()}
    if trace.estimates.size:
        mass = trace.estimates[:, 0, 0]
        wrong = 1e3 * np.abs(mass - MASS)
        values |= {"mass_error_then": float(wrong[moving]), "mass_error_end": float(wrong[-1])}
        kept["mass"] = series(mass)
    return Measured(values, kept)
