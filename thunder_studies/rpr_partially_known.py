"""True first links of a planar turret, slide and wrist, and what of them a motion can tell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.experiments.draws import uncertain
from thunder_controllers.experiments.experiment import Case, Measured, Settings
from thunder_controllers.experiments.measures import measure_run, series
from thunder_controllers.resources import share
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_dynamics.readers import load_model
from thunder_studies.panda import Keys, bodies

FloatArray = NDArray[np.float64]

UNKNOWN = ("column", "boom")
UNCERTAINTY = 0.3
"""Of every parameter of the unknown links [1]."""


def draw_links(settings: Settings, _row: str) -> Iterator[Keys]:
    """Draw the first two links of each seed."""
    links = load_model(share("config/robots/rpr.yaml")).links
    nominal = bodies([link.name for link in links], [link.inertia.pi for link in links])
    for seed in settings.seeds:
        rng = np.random.default_rng([seed, *b"unknown links"])
        inertia = {name: uncertain(nominal[name], UNCERTAINTY, rng) for name in UNKNOWN}
        yield {"seed": seed, "plant": {"inertia": inertia}}


def base_parameters(pi: FloatArray) -> FloatArray:
    """Mass of the boom, m c_z and m c_x of it, and the inertia about the vertical, (…, 4) of (…, links, 10) in REG."""
    column, boom = pi[..., 0, :], pi[..., 1, :]
    return np.stack([boom[..., 0], boom[..., 3], boom[..., 1], column[..., 9] + boom[..., 7]], axis=-1)


def measure_base(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure the run and the errors of what is identifiable, and keep these over time."""
    values, kept = measure_run(case, trace, timing)
    base = base_parameters(trace.estimates) - base_parameters(trace.truth[-1])
    mass, along, across, inertia = 1e3 * np.abs(base[-1])
    errors = {"base_mass": mass, "base_moment": np.hypot(along, across), "base_inertia": inertia}
    return Measured(
        {**values, **{name: float(error) for name, error in errors.items()}}, {**kept, "base": series(base)}
    )
