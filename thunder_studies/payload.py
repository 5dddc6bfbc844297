"""What is known of a payload at the flange over time, by the law's estimate and by a fit to the record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.experiments import draws
from thunder_controllers.experiments.experiment import Case, Measured, Settings
from thunder_controllers.experiments.measures import body_errors, measure_estimates, measure_run, series
from thunder_controllers.experiments.runner import load_robot
from thunder_controllers.host import Library
from thunder_controllers.identification.information import columns_of
from thunder_controllers.identification.payload import FoundBody, find_payload
from thunder_controllers.report.figures import with_centre
from thunder_controllers.simulation.faults.wrench import Wrench
from thunder_controllers.simulation.scenario import merged
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_dynamics.inertia import parallel_axis
from thunder_studies.arms import ARMS, ROTOR, described, library_of, robot_file
from thunder_studies.contact import push
from thunder_studies.panda import LAST_LINK, Keys, believing, bodies

FloatArray = NDArray[np.float64]

FOUND = {"mass": 3.0, "com": 0.5}
"""What is asked for [g], [mm]."""

AS_RECORD = 1.5
"""Or so many times what 95 % of errors of least squares on the whole record are within."""

NORMAL, NORM = 1.96, 1.61
"""Standard deviations that 95 % of errors are within: of a number, and of the norm of three over the norm of theirs."""

COM, RADII = (0.03, -0.02, 0.157), (2.0e-3, 1.0e-4, -1.0e-4, 1.8e-3, 1.0e-4, 1.0e-3)
"""Of payloads in the frame of the last link [m], and their inertia about the CoM per mass [m²]."""

VISCOUS, COULOMB = 0.005, 0.0035
"""Friction of arms other than the Panda, over the effort limit of each joint [s/rad], [1]."""

NOISE: Keys = {
    "velocity": "differences",
    "noise": {"q_std": 1.0e-5},
    "faults": [{"type": "effort_noise", "share": 0.05}],
    "torque_delay": 0.002,
    "torque_lag": 0.002,
}
"""Of all plants."""

CERTAIN: Keys = {"gains": {"drive_gain_std": 0.0, "effort_offset_std": 0.0}}
"""Section of a law that is told that drives give what they are told, and that offsets are none."""

LAW = "cartesian_backstepping"

POSTURES = 50
"""Among which that of an arm is sought."""

BODY, LET_GO = 2.0, 4.0
"""Values of the telemetry `change`: another body is carried, and a contact that has passed."""


def payload(link: str, mass: float, **when: float) -> dict[str, Any]:
    """A payload of a scenario."""
    return {"link": link, "mass": mass, "com": COM, "inertia": tuple(mass * r for r in RADII), **when}


def draw_arms(settings: Settings, row: str) -> Iterator[Keys]:
    """An arm and a mass by the name of the row: an identifying motion about a dexterous posture, another for each seed.

    Nothing where the arm's file is not installed.
    """
    name, mass = row.removesuffix(" kg").split(", ")
    file = robot_file(ARMS[name])
    if file is not None:
        for seed in settings.seeds:
            yield merged(arm_with_payload(seed, name, file, float(mass)), {"law": CERTAIN, "seed": seed})


def arm_with_payload(seed: int, name: str, file: Path, mass: float) -> Keys:
    """Return an arm that carries a payload [kg] in an identifying motion about a dexterous posture."""
    library = library_of(name, LAW, file)
    limit = np.minimum(np.asarray(library.effort_limit), 300.0)
    q = posture(np.random.default_rng([seed, *name.encode()]), library, mass)
    plant = {
        **NOISE,
        "payloads": [payload(library.link_names[-1], mass)],
        "friction": {"viscous": tuple((VISCOUS * limit).tolist()), "coulomb": tuple((COULOMB * limit).tolist())},
        "rotor_inertia": tuple((ROTOR * limit).tolist()),
    }
    motion = {
        "reference": {"type": "identify", "q": q, "workspace": None, "load": mass},
        "start": {"q": q, "on_reference": False},
    }
    config = merged(described(ARMS[name], file, LAW), {"plant": plant, **motion, "duration": 15.0})
    return merged(config, {"law": {"gains": {"q_home": q}}})


def posture(rng: draws.Generator, library: Library, mass: float) -> tuple[float, ...]:
    """The farthest from singular of random ones in the inner half of the joints' limits that half of the efforts hold.

    J with its rotations: the motion is one of poses.
    """
    lower, upper = np.asarray(library.position_lower), np.asarray(library.position_upper)
    middle = 0.5 * (np.fmax(lower, -np.pi) + np.fmin(upper, np.pi))
    weight = np.array([0.0, 0.0, 9.81 * mass, 0.0, 0.0, 0.0])
    found: dict[float, FloatArray] = {}
    while not found:
        for q in middle + 0.5 * (draws.postures(rng, library, POSTURES) - middle):
            J = library.evaluate("J_ee", q)
            held = library.evaluate("G", q).ravel() + J.T @ weight
            if (np.abs(held) < 0.5 * np.asarray(library.effort_limit)).all():
                found[np.linalg.svd(J, compute_uv=False)[-1]] = q
    return tuple(found[max(found)].tolist())


def draw_priors(settings: Settings, row: str) -> Iterator[Keys]:
    """What is believed of a Panda, or its base, is wrong, as the name of the row says."""
    for seed in settings.seeds:
        yield {"seed": seed, **merged({"law": believing()}, _prior(row, bodies(), seed))}


def draw_arm_priors(settings: Settings, row: str) -> Iterator[Keys]:
    """An arm by the name of the row, each of PRIORS for every seed; nothing where it is not installed."""
    file = robot_file(ARMS[row])
    if file is None:
        return
    library = library_of(row, LAW, file)
    believed = bodies(library.link_names, library.pi)
    mass = min(1.0, LIGHT * sum(body["mass"] for body in believed.values()))
    for seed in settings.seeds:
        config = arm_with_payload(seed, row, file, mass)
        yield from ({**merged(config, _prior(prior, believed, seed)), "seed": seed} for prior in PRIORS)


LIGHT = 0.1
"""Of an arm's mass: no arm has to carry more in `draw_arm_priors`."""

PRIORS = ("known links 5 % wrong", "base tilted by 3°", "mass of the last link × 0.2", "mass of the last link × 5")
"""What may be wrong at first."""


def _prior(prior: str, believed: Mapping[str, Mapping[str, Any]], seed: int) -> Keys:
    rng, last = np.random.default_rng([seed, *prior.encode()]), list(believed)[-1]
    if prior.startswith("known"):
        wrong = {name: draws.uncertain(body, 0.05, rng) for name, body in believed.items() if name != last}
        return {"plant": {"inertia": wrong}}
    if prior.startswith("base"):
        turn, tilt = rng.uniform(0.0, 2.0 * np.pi), np.deg2rad(3.0)
        down = (np.cos(turn) * np.sin(tilt), np.sin(turn) * np.sin(tilt), -np.cos(tilt))
        return {"plant": {"gravity": tuple(9.81 * part for part in down)}}
    share, body = float(prior.split("× ")[1]), believed[last]
    first = {**body, "mass": share * body["mass"], "inertia": tuple(share * entry for entry in body["inertia"])}
    return {"law": {"initial_estimates": {last: first}}}


def draw_changes(settings: Settings, _row: str) -> Iterator[Keys]:
    """A body that is picked up and put down at random times."""
    for seed in settings.seeds:
        rng = np.random.default_rng([seed, *b"changes"])
        times = {"time": float(rng.uniform(6.0, 8.0)), "until": float(rng.uniform(13.0, 15.0))}
        yield {"seed": seed, "law": believing(), "plant": {"payloads": [payload(LAST_LINK, 1.0, **times)]}}


def _dyn(pi: FloatArray) -> FloatArray:
    """DYN rows of REG rows (N, 10), NaN where there is no mass."""
    body = with_centre(pi)
    return np.hstack([body[:, :4], body[:, 4:] - np.transpose(parallel_axis(body[:, 0], body[:, 1:4].T))])


def measure_payload(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure the run, and errors of the payload over time, by the law's estimate, and by the whole record."""
    values, kept = measure_run(case, trace, timing)
    library = load_robot(case.config).library
    link = str(trace.adapted_links[-1])
    nominal = np.asarray(library.pi)[columns_of(library.link_names.index(link))]
    truth = trace.truth[-1:, -1]
    numbers, curves = dict(values), dict(kept)
    errors = body_errors(_dyn(trace.estimates[:, -1] - nominal), _dyn(truth - nominal))
    record = _record(link, trace, library, case.config.rate)
    by_record = body_errors(record.dyn[None], _dyn(truth - nominal))
    claimed = 1e3 * NORMAL * record.std[0], 1e3 * NORM * float(np.linalg.norm(record.std[1:4]))
    for name, curve, (other,) in zip(("mass", "com", "inertia"), errors, by_record, strict=True):
        numbers |= {name: _finite(curve[-1]), f"record: {name}": _finite(other)}
        curves[name] = series(curve)
    guarded = np.flatnonzero(trace.guards)
    numbers |= {
        "guarded": len(guarded) / len(trace.t),
        "last_guarded": float(trace.t[guarded[-1]]) if guarded.size else 0.0,
    }
    ends = zip(errors[:2, -1], FOUND.values(), claimed, strict=True)
    numbers["found"] = float(all(error <= max(bound, AS_RECORD * other) for error, bound, other in ends))
    if "pi_std" in trace.telemetry_names:
        numbers["invented"] = float(len(changes(trace)))
        told, std = (telemetry(trace, name)[-1, -len(nominal) :] for name in ("pi_told", "pi_std"))
        off = np.abs(told - truth[0]) / std
        numbers |= {"chi2": float((off**2).mean()), "covered": float((off <= NORMAL).mean())}
        numbers |= {"mass_z": float(off[0]), "mass_std": 1e3 * float(std[0])}
    return Measured(numbers, curves)


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


def measure_changes(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure when changes of a body are found, which are invented, and what is known of the body then."""
    values, kept = measure_run(case, trace, timing)
    (carried,) = case.config.plant.payloads
    seen = changes(trace)
    assert carried.until is not None
    happened = np.array([carried.time, carried.until])
    delays = [np.min(seen[seen >= time] - time, initial=np.inf) for time in happened]
    before = int(np.searchsorted(trace.t, carried.until)) - 1
    body = telemetry(trace, "picked_up")[before]
    truth = trace.truth[-1:, -1]
    estimate = trace.estimates[before, -1] - truth[0]
    numbers = {
        "missed": float(sum(delay > 1.0 for delay in delays)),
        "invented": float(len(seen) - sum(delay <= 1.0 for delay in delays)),
        "delay": _finite(max(delays)),
        "body": float((telemetry(trace, "change")[[before, -1], 0] == BODY).mean()),
        "picked_up": 1e3 * abs(float(body[0]) - carried.mass),
        "carried": 1e3 * float(np.linalg.norm(estimate[1:4] / estimate[0] - carried.com)),
        "mass": 1e3 * abs(float(trace.estimates[-1, -1, 0] - truth[0, 0])),
    }
    return Measured({**values, **numbers}, kept)


def draw_pushes(settings: Settings, _row: str) -> Iterator[Keys]:
    """A push as in `contact`, while the body is known."""
    for seed in settings.seeds:
        noise, force = NOISE["faults"], push(np.random.default_rng([seed, *b"pushes"]))
        late = {"start": force["start"] + WARM, "end": force["end"] + WARM}
        yield {"seed": seed, "law": believing(), "plant": {"payloads": [], "faults": [*noise, {**force, **late}]}}


WARM = 4.0
"""What pushes come later than in `contact` [s]: after the body is known."""


def measure_pushes(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure whether a push is told as a contact that passes, how long after its end, and what is believed then."""
    values, kept = measure_run(case, trace, timing)
    (push_,) = (fault for fault in case.config.plant.faults if isinstance(fault, Wrench))
    assert push_.end is not None
    change = telemetry(trace, "change")[:, 0]
    passed = trace.t[(change == LET_GO) & (trace.t > push_.end)]
    mass = 1e3 * np.abs(trace.estimates[:, -1, 0] - trace.truth[-1, -1, 0])
    begun = int(np.searchsorted(trace.t, push_.start))
    numbers = {
        "contact": float(change[-1] == LET_GO),
        "over": _finite(passed.min(initial=np.inf) - push_.end),
        "before": float(mass[begun - 1]),
        "largest": float(mass[begun:].max()),
        "mass": float(mass[-1]),
    }
    return Measured({**values, **numbers}, kept)


def changes(trace: Trace) -> FloatArray:
    """Return when a body is said to have changed [s]."""
    age = telemetry(trace, "change_age")[:, 0]
    return np.asarray(trace.t[1:][(age[1:] >= 0.0) & ((age[:-1] < 0.0) | (age[1:] < age[:-1]))])


def telemetry(trace: Trace, name: str) -> FloatArray:
    """Return the columns of a telemetry entry, (N, size)."""
    return np.asarray(trace.telemetry[:, trace.telemetry_names == name])


def _record(link: str, trace: Trace, library: Library, rate: float) -> FoundBody:
    """The payload by least squares on the whole record."""
    found = find_payload(library, {link: trace.estimates[-1, -1]}, trace.q_measured, trace.effort, rate)
    assert found is not None
    return found.fit


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
