"""First estimates of the adaptation schemes, and where estimates go at rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from thunder_controllers.experiments.experiment import Case, Measured, Settings
from thunder_controllers.experiments.measures import measure_estimates
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_studies.panda import LAST_LINK, Keys

RESOLUTION = 1e-9
"""Of estimates: what scatters less stands still [kg, kg·m, kg·m²]."""

UNITS = {"mass": slice(0, 1), "first moment": slice(1, 4), "inertia": slice(4, 10)}
"""Of the parameters of a link those that have a unit in common."""


def first_estimate(seed: int) -> dict[str, Any]:
    """Draw a body that a controller may believe its last link to be: a box of random sides, near the wrist."""
    rng = np.random.default_rng([seed, *b"first estimate"])
    mass, sides = float(np.exp(rng.uniform(np.log(0.2), np.log(4.0)))), rng.uniform(0.02, 0.3, 3)
    xx, yy, zz = (mass * (np.sum(sides**2) - sides**2) / 12.0).tolist()
    return {"mass": mass, "com": tuple(rng.uniform(-0.15, 0.15, 3).tolist()), "inertia": (xx, 0.0, 0.0, yy, 0.0, zz)}


def draw_first_estimates(settings: Settings, _row: str) -> Iterator[Keys]:
    """Draw a first estimate of each seed."""
    for seed in settings.seeds:
        yield {"seed": seed, "law": {"initial_estimates": {LAST_LINK: first_estimate(seed)}}}


def measure_rest(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure how far estimates go in the second half, along a straight line, and how they scatter about that line."""
    values, series = measure_estimates(case, trace, timing)
    half = slice(len(trace.t) // 2, None)
    t, pi = trace.t[half] - trace.t[half].mean(), trace.estimates[half, 0]
    slope, mean = np.polyfit(t, pi, 1)
    drift, noise = np.abs(slope) * np.ptp(t), (pi - np.outer(t, slope) - mean).std(axis=0)
    found: dict[str, float] = {}
    for name, members in UNITS.items():
        gone, scatter = float(np.linalg.norm(drift[members])), float(np.linalg.norm(noise[members]))
        found |= {f"drift of {name}": gone, f"drift of {name} / noise": gone / (scatter + RESOLUTION)}
    return Measured({**values, **found}, series)
