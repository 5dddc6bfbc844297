"""Errors of fast motions of five point masses, and the mass of one that is estimated."""

from __future__ import annotations

from typing import cast

import numpy as np

from thunder_controllers.experiments.experiment import Case, Measured
from thunder_controllers.experiments.measures import series
from thunder_controllers.references.trajectories import JointPolynomial
from thunder_controllers.simulation.trace import Timing, Trace

MASS = 0.7
"""Of the last point [kg]."""


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
    kept = {"error": trace.error, "sum": sums, "q": trace.q, "effort": trace.effort, "beta": beta}
    kept = {name: series(rows) for name, rows in {"t": trace.t, **kept}.items()}
    if trace.estimates.size:
        mass = trace.estimates[:, 0, 0]
        wrong = 1e3 * np.abs(mass - MASS)
        values |= {"mass_error_then": float(wrong[moving]), "mass_error_end": float(wrong[-1])}
        kept["mass"] = series(mass)
    return Measured(values, kept)
