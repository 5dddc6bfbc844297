"""What is known of a payload at the flange over time, by the law's estimate and by a fit to the record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.experiments.experiment import Case, Measured
from thunder_controllers.experiments.measures import body_errors, measure_run, series
from thunder_controllers.experiments.runner import load_robot
from thunder_controllers.host import Library
from thunder_controllers.identification.payload import Payload, find_payload
from thunder_controllers.report.figures import with_centre
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_dynamics.inertia import Inertia, parallel_axis
from thunder_studies.panda import LAST_LINK, bodies

FloatArray = NDArray[np.float64]

BOUNDS = {"mass": 5.0, "com": 1.0, "inertia": 1.0}
"""What is asked for [g], [mm], [g·m²]."""

FOUND = ("mass", "com")
"""A payload is found that is within these bounds."""

BY_LAW, BY_RECORD = "", "record: "
"""Before the name of a number: of the law's estimate, and of the fit to the record."""

RECORD_EVERY = 1.0
"""Between the times at which the record is looked at [s]."""


def _dyn(pi: FloatArray) -> FloatArray:
    """DYN rows of REG rows (N, 10), NaN where there is no mass."""
    body = with_centre(pi)
    return np.hstack([body[:, :4], body[:, 4:] - np.transpose(parallel_axis(body[:, 0], body[:, 1:4].T))])


def within(t: FloatArray, errors: FloatArray, bound: float) -> float:
    """Time after which errors (N,) are within a bound for good; infinite if they are not in the end."""
    outside = np.flatnonzero(~(errors <= bound))
    if not outside.size:
        return float(t[0])
    return float(t[outside[-1] + 1]) if outside[-1] + 1 < len(t) else np.inf


def measure_payload(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure the run, and errors of the payload over time, by the law's estimate and by the record up to there."""
    values, kept = measure_run(case, trace, timing)
    library = load_robot(case.config).library
    nominal = bodies()[LAST_LINK]
    link = Inertia.from_dyn([nominal["mass"], *nominal["com"], *nominal["inertia"]]).pi
    truth = _dyn(trace.truth[-1:, -1] - link)
    numbers, curves = dict(values), dict(kept)
    by_law = trace.t, body_errors(_dyn(trace.estimates[:, -1] - link), truth)
    ends = np.arange(2.0 * RECORD_EVERY, case.config.duration + 1e-9, RECORD_EVERY)
    found = [_record(case, trace, library, end) for end in ends]
    by_record = ends, body_errors(np.array([one.fit.dyn for one in found]), truth)
    for by, (t, errors) in ((BY_LAW, by_law), (BY_RECORD, by_record)):
        for (name, bound), curve in zip(BOUNDS.items(), errors, strict=True):
            numbers[f"{by}{name}"] = float(curve[-1]) if np.isfinite(curve[-1]) else None
            numbers[f"{by}{name}_time"] = within(t, curve, bound)
            curves[f"{by}{name}"] = series(curve)
        kept_bounds = [curve[-1] <= BOUNDS[name] for name, curve in zip(BOUNDS, errors, strict=True) if name in FOUND]
        numbers[f"{by}within"] = float(all(kept_bounds))
        curves[f"{by}t"] = series(t)
    claimed = 1e3 * found[-1].fit.std
    numbers |= {
        "sigma_mass": float(claimed[0]),
        "sigma_com": float(np.linalg.norm(claimed[1:4])),
        "sigma_inertia": float(claimed[4:].max()),
    }
    return Measured(numbers, curves)


def _record(case: Case, trace: Trace, library: Library, end: float) -> Payload:
    """What the record up to a time says of the payload."""
    rows = trace.t < end
    found = find_payload(
        library, {LAST_LINK: trace.estimates[-1, -1]}, trace.q_measured[rows], trace.effort[rows], case.config.rate
    )
    assert found is not None
    return found
