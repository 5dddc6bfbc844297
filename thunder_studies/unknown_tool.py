"""How wrong the estimate of the last link is about a tool on the flange."""

from __future__ import annotations

import numpy as np

from thunder_controllers.experiments.experiment import Case, Measured
from thunder_controllers.experiments.measures import body_errors, measure_estimates
from thunder_controllers.report.figures import with_centre
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_studies.panda import LAST_LINK


def measure_tool(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure the run, and how wrong the estimate of the last link is about the tool, at worst in the window."""
    values, series = measure_estimates(case, trace, timing)
    link = case.config.law.initial_estimates[LAST_LINK].to_inertia().pi
    last = slice(-round(case.window * case.config.rate), None)
    estimate, truth = trace.estimates[last, 0], trace.truth[-1:, 0]
    tool = body_errors(with_centre(estimate - link), with_centre(truth - link)).max(axis=1)
    com = body_errors(with_centre(estimate), with_centre(truth))[1].max()
    errors = dict(zip(("tool_mass", "tool_com", "tool_inertia", "com"), (*tool, com), strict=True))
    finite = {name: float(value) if np.isfinite(value) else None for name, value in errors.items()}
    return Measured({**values, **finite}, series)
