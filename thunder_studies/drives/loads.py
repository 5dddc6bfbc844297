"""What is known of a load while drives, friction and the load itself are not as the law has them (theory.md §8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.experiments.experiment import Case, Measured, Settings
from thunder_controllers.simulation.scenario import merged
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_studies.arms import ARMS, library_of, robot_file
from thunder_studies.panda import Keys
from thunder_studies.payload import (
    COULOMB,
    LAW,
    VISCOUS,
    arm_with_payload,
    changes,
    measure_payload,
    payload,
    telemetry,
)

FloatArray = NDArray[np.float64]

TUNED = ("panda", "ur5", "ur10", "xarm7", "z1")
"""Arms on which the estimator was made."""

UNSEEN = ("ur3", "j2s6s200", "baxter", "tiago", "tiago_pro")
"""Others."""

GAIN, OFFSET = 0.02, 0.005
"""Errors of drives that nobody declares, either way: of gains [1], and of offsets over the effort limit [1]."""

LOAD, STATIC = 0.03, 1.3
"""Share of the motor's effort that friction rises by [1], and friction that holds over Coulomb friction [1]."""

EFFORT_NOISE = 1e-3
"""Standard deviation of measured efforts over the effort limit [1]."""

BEGIN, OVER = 8.0, 6.0
"""When a load begins to change [s], and for how long it does [s]."""

TOLD, SURE = 2.0, 3.0
"""Time within which a change is to be told [s], and deviations that cover what is not told."""


def draw_tuned(settings: Settings, row: str) -> Iterator[Keys]:
    """Draw every arm of TUNED, under the condition that the row names."""
    return _draw(settings, TUNED, row)


def draw_unseen(settings: Settings, row: str) -> Iterator[Keys]:
    """Draw every arm of UNSEEN, under the condition that the row names."""
    return _draw(settings, UNSEEN, row)


def _draw(settings: Settings, arms: tuple[str, ...], row: str) -> Iterator[Keys]:
    for name in arms:
        file = robot_file(ARMS[name])
        if file is None:
            continue
        library = library_of(name, LAW, file)
        limit, link = np.minimum(np.asarray(library.effort_limit), 300.0), library.link_names[-1]
        for seed in settings.seeds:
            rng = np.random.default_rng([seed, *name.encode(), *row.encode()])
            signs = rng.choice([-1.0, 1.0], len(limit))
            config = merged(arm_with_payload(seed, name, file, 1.0), {"plant": {"integrator": "rk4"}})
            yield merged({**config, "seed": seed}, _condition(row, limit, signs, link))


def _condition(row: str, limit: FloatArray, signs: FloatArray, link: str) -> dict[str, Any]:
    """What differs from what the law knows, by the name of a row."""
    if row.startswith("drive gains"):
        noise = {"effort_std": tuple((EFFORT_NOISE * limit).tolist())}
        return {"plant": {"drive_gain": tuple((1.0 + GAIN * signs).tolist()), "noise": noise}}
    if row.startswith("effort offsets"):
        return {"plant": {"offsets": tuple((OFFSET * limit * signs).tolist())}}
    if row.startswith("friction by load"):
        friction = {
            "viscous": tuple((VISCOUS * limit).tolist()),
            "coulomb": tuple((COULOMB * limit).tolist()),
            "static": tuple((STATIC * COULOMB * limit).tolist()),
            "stribeck_velocity": 0.05,
            "load": LOAD,
        }
        return {"plant": {"friction": friction}}
    held = payload(link, 0.5)
    loads = {
        "handed over": [{**payload(link, 1.5, time=BEGIN), "over": OVER}],
        "poured out": [held, {**payload(link, 0.5, until=BEGIN), "over": OVER}],
        "0.2 kg more": [held, payload(link, 0.2, time=BEGIN)],
        "0.1 kg more": [held, payload(link, 0.1, time=BEGIN)],
    }
    found = [changed for name, changed in loads.items() if row.startswith(name)]
    return {"plant": {"payloads": found[0]}, "duration": BEGIN + OVER + 4.0} if found else {}


def measure_load(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure as `measure_payload`, and whether the error of the mass is within `SURE` deviations at the end."""
    values, kept = measure_payload(case, trace, timing)
    return Measured({**values, "within": float((values["mass_z"] or 0.0) <= SURE)}, kept)


def measure_slow(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure as `measure_load`, and whether the change is told or covered by deviations until `TOLD` after it began.

    `invented` counts changes that are told before.
    """
    values, kept = measure_load(case, trace, timing)
    told, begin = changes(trace), BEGIN
    at = int(np.searchsorted(trace.t, begin + TOLD))
    mass, std = (telemetry(trace, name)[at, -N_PARAMETERS] for name in ("pi_told", "pi_std"))
    now = int(np.searchsorted(trace.truth_time, trace.t[at], side="right")) - 1
    covered = abs(mass - trace.truth[now, -1, 0]) <= SURE * std
    is_told = bool(((told >= begin) & (told <= begin + TOLD)).any())
    own = {
        "told": float(is_told),
        "told_or_covered": float(is_told or covered),
        "invented": float((told < begin).sum()),
    }
    return Measured({**values, **own}, kept)
