"""The study of the schemes: what is known of a payload at the end, and how soon for good."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from thunder_controllers.experiments.experiment import Case, Experiment, Measured, Settings
from thunder_controllers.experiments.measures import measure_run, series
from thunder_controllers.experiments.study import load_study
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_studies import payload
from thunder_studies.panda import Keys

WITHIN = {"mass": 10.0, "com": 1.0}
"""What counts as found [g], [mm]."""


def study() -> Experiment:
    """Read the file beside this one."""
    return load_study(Path(__file__).with_suffix(".yaml"))


def draw_arms(settings: Settings, row: str) -> Iterator[Keys]:
    """An arm by the name of the row, with a payload of 1 kg, as the study payload has it."""
    return payload.draw_arms(settings, f"{row.partition(', ')[0]}, 1 kg")


def measure_found(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure the run, errors of the payload at the end, and from when on both are small for good."""
    return _measured(case, trace, timing, 0.0, case.config.duration)


def measure_carried(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure the same while a body is carried, and the error of the mass at the end, when it is not."""
    (carried,) = case.config.plant.payloads
    assert carried.until is not None
    found = _measured(case, trace, timing, carried.time, carried.until)
    end = 1e3 * abs(float(trace.estimates[-1, -1, 0] - trace.truth[-1, -1, 0]))
    return Measured({**found.values, "final": end}, found.series)


def _measured(case: Case, trace: Trace, timing: Timing, begin: float, end: float) -> Measured:
    values, kept = measure_run(case, trace, timing)
    (carried,) = case.config.plant.payloads
    span = slice(int(np.searchsorted(trace.t, begin)), int(np.searchsorted(trace.t, end)) - 1)
    steps = np.searchsorted(trace.truth_time, trace.t, side="right") - 1
    truth, estimates = trace.truth[steps, -1], trace.estimates[:, -1]
    error = estimates[:, :4] - truth[:, :4]  # of the payload: the link's own part is in both
    mass = error[:, 0] + carried.mass
    com = (error[:, 1:] + carried.mass * np.array(carried.com)) / np.maximum(mass, 1e-3)[:, None] - carried.com
    errors = {"mass": 1e3 * np.abs(error[:, 0]), "com": 1e3 * np.linalg.norm(com, axis=1)}
    apart = np.any([errors[name][span] > bound for name, bound in WITHIN.items()], axis=0)
    last = float(trace.t[span][apart].max(initial=begin)) - begin
    found: dict[str, float | None] = {name: float(one[span][-1]) for name, one in errors.items()}
    found |= {"within": float(not apart[-1]), "after": None if apart[-1] else last}
    return Measured({**values, **found}, {**kept, **{name: series(one) for name, one in errors.items()}})
