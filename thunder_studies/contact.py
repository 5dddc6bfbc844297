"""Somebody pushes the arm while it learns: what the momentum observer sees of it, and what is believed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.experiments.experiment import Case, Measured, Settings
from thunder_controllers.experiments.measures import pose_distance
from thunder_controllers.simulation.faults.wrench import Wrench
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_studies.panda import LAST_LINK, Keys, believing, bodies

STARTS, LENGTHS, FORCES = (1.0, 8.0), (0.1, 2.0), (10.0, 40.0)
"""Of the push, uniform [s], [s], [N]."""

AFTER = 1.0
"""How long after a push it still shows [s]."""

SHOWN = np.linspace(-0.5, 3.5, 200)
"""Times about the start of a push that figures show [s]."""


def first_estimate(rng: np.random.Generator) -> dict[str, Any]:
    """Draw what the controller believes of the last link: half to three times its mass, its CoM up to 0.1 m off."""
    body = bodies()[LAST_LINK]
    com = np.array(body["com"]) + rng.uniform(-0.1, 0.1, 3)
    return {**body, "mass": float(body["mass"] * rng.uniform(0.5, 3.0)), "com": tuple(com.tolist())}


def push(rng: np.random.Generator) -> dict[str, Any]:
    """Draw a force on the last link, of any direction, as a fault of a scenario."""
    start, length, size = (float(rng.uniform(*bounds)) for bounds in (STARTS, LENGTHS, FORCES))
    direction = rng.normal(size=3)
    force = size * direction / np.linalg.norm(direction)
    return {
        "type": "wrench",
        "link": LAST_LINK,
        "start": round(start, 3),
        "end": round(start + length, 3),
        "force": tuple(force.tolist()),
    }


def draw_push(settings: Settings, _row: str) -> Iterator[Keys]:
    """Draw a first estimate and a push of each seed."""
    for seed in settings.seeds:
        rng = np.random.default_rng([seed, *b"contact"])
        law = {"initial_estimates": {LAST_LINK: first_estimate(rng)}}
        yield {"seed": seed, "law": law, "plant": {"faults": (push(rng),)}}


def draw_payload(settings: Settings, _row: str) -> Iterator[Keys]:
    """Draw when a body of 1 kg comes, to be learnt."""
    body = {"link": LAST_LINK, "mass": 1.0, "com": (0.0, 0.0, 0.15), "inertia": (0.001, 0.0, 0.0, 0.001, 0.0, 0.001)}
    for seed in settings.seeds:
        time = round(float(np.random.default_rng([seed, *b"payload"]).uniform(*STARTS)), 3)
        yield {"seed": seed, "law": believing(), "plant": {"payloads": ({**body, "time": time},)}}


def _contact(trace: Trace) -> NDArray[np.bool_]:
    return np.asarray(trace.telemetry[:, trace.telemetry_names == "contact"].any(axis=1))


def measure_contact(case: Case, trace: Trace, _timing: Timing) -> Measured:
    """Measure what was seen of the push, what mass was believed meanwhile, and the error; of no push, false alarms."""
    flag = _contact(trace)
    pushes = [fault for fault in case.config.plant.faults if isinstance(fault, Wrench)]
    if not pushes:
        return Measured({"false": float(flag.mean())})
    start, end = pushes[0].start, pushes[0].end or np.inf
    during, around = (trace.t >= start) & (trace.t < end), (trace.t >= start) & (trace.t < end + AFTER)
    error, seen = pose_distance(trace), flag & during
    mass = 1e3 * np.abs(trace.estimates[:, 0, 0] - trace.truth[-1, 0, 0])
    values: dict[str, float | None] = {
        "mass": float(mass[around].max()),
        "last_mass": float(mass[-1]),
        "during": float(error[during].mean()),
        "after": float(error[around & ~during].mean()),
    }
    if "contact" in trace.telemetry_names:
        values |= {
            "detected": float(seen.any()),
            "delay": 1e3 * float(trace.t[np.argmax(seen)] - start) if seen.any() else None,
            "covered": float(seen.sum() / during.sum()),
            "false": float(flag[~around].mean()),
        }
    shown = [min(int(np.searchsorted(trace.t, t)), len(trace.t) - 1) for t in start + SHOWN]
    return Measured(values, {"t": SHOWN.tolist(), "mass": mass[shown].tolist(), "error": error[shown].tolist()})


def measure_payload(case: Case, trace: Trace, _timing: Timing) -> Measured:
    """Measure how long a body that is fixed to the last link is taken for a contact, and what becomes of its mass."""
    flag = _contact(trace)
    (payload,) = case.config.plant.payloads
    mass = 1e3 * np.abs(trace.estimates[:, 0, 0] - trace.truth[-1, 0, 0])
    kept = float(flag[trace.t >= payload.time].sum() / case.config.rate)
    return Measured({"kept": kept, "last_mass": float(mass[-1])})
