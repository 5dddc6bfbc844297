"""Numbers that say how well a run went, few and plain; docs/reference/scenario.md has the keys of metrics.json."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

from thunder_controllers.fields import FloatArray
from thunder_controllers.host import Guard, Library, fault_text
from thunder_controllers.identification.motion import Record
from thunder_controllers.identification.payload import FoundBody, gather, named, payload_of
from thunder_controllers.references.trajectories import POSITION, ROTATION
from thunder_controllers.simulation.scenario import Scenario
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_dynamics.errors import InertiaError
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.version import __version__

FINAL_SECONDS = 5.0
"""The final error is the mean over this long at the end."""


def pose_error(reference: FloatArray, position: FloatArray, rotation: FloatArray) -> FloatArray:
    """e = [p_d − p ; ½(n×n_d + s×s_d + a×a_d)], R = [n s a], of samples (N, 24) and poses (N, …), (N, 6).

    The second part is r sin θ, θ the angle about r from actual to desired (theory.md §5).
    """
    R_d = reference[:, ROTATION].reshape(-1, 3, 3).transpose(0, 2, 1)
    turn = 0.5 * np.cross(rotation, R_d, axisa=1, axisb=1, axisc=1).sum(axis=2)
    return np.hstack([reference[:, POSITION] - position, turn])


def compute_metrics(trace: Trace, timing: Timing) -> dict[str, Any]:
    """All metrics of one run; every number is finite or null.

    Those of a run that a fault ended are of the time until then; what is measured at the end of a run is null there.
    Whether limits were kept, and what the steps took, is of the whole run.
    """
    whole, trace = trace, trace.until_fault()
    fault = first_fault(trace)
    norm = np.linalg.norm(trace.error, axis=1)
    dt = whole.step
    rate = np.abs(np.diff(trace.effort, axis=0)) / dt
    return {
        "duration": len(whole.t) * dt,
        "final_error_norm": float(norm[-_final_steps(trace) :].mean()) if fault is None else None,
        "max_error_norm": float(norm.max()),
        "iae": float(norm.sum() * dt),
        "errors": error_metrics(trace),
        "fault": fault,
        "guards": {str(name): trace.guard_steps(str(name)) for name in trace.guard_names},
        "faults": {str(name): int(steps.sum()) for name, steps in zip(trace.fault_names, trace.faults.T, strict=True)},
        "max_effort": np.abs(trace.effort).max(axis=0).tolist(),
        "effort_limit": _finite(trace.effort_limit),
        "max_effort_rate": rate.max(axis=0).tolist() if len(rate) else None,
        "effort_rate_limit": _finite(trace.effort_rate_limit),
        "limits_kept": _limits_kept(whole),
        "joint_drift": joint_drift(trace) if fault is None else None,
        "estimates": estimate_errors(trace),
        "control_step_us": step_times(timing),
        "wall_per_simulated_second": timing.wall / (len(whole.t) * dt),
    }


def error_norms(trace: Trace) -> dict[str, tuple[str, FloatArray]]:
    """What an error consists of, by name, each with its unit and norm (N,).

    `position` [m] and `orientation` [rad], the angle up to π/2, of the end effector; or `revolute joints` [rad] and
    `prismatic joints` [m], those that there are.
    """
    if trace.is_cartesian:
        linear, angular = np.split(trace.error, 2, axis=1)
        angle = np.arcsin(np.minimum(np.linalg.norm(angular, axis=1), 1.0))
        return {"position": ("m", np.linalg.norm(linear, axis=1)), "orientation": ("rad", angle)}
    kinds = {"revolute joints": "rad", "prismatic joints": "m"}
    columns = {name: (unit, trace.error[:, trace.joint_units == unit]) for name, unit in kinds.items()}
    return {name: (unit, np.linalg.norm(e, axis=1)) for name, (unit, e) in columns.items() if e.shape[1]}


def error_metrics(trace: Trace) -> dict[str, dict[str, Any]]:
    """Unit, mean over the last `FINAL_SECONDS`, null if a fault ended the run, and maximum of each of `error_norms`."""
    went_on = trace.first_fault() is None
    return {
        name: {
            "unit": unit,
            "final": float(norm[-_final_steps(trace) :].mean()) if went_on else None,
            "max": float(norm.max()),
        }
        for name, (unit, norm) in error_norms(trace).items()
    }


def first_fault(trace: Trace) -> dict[str, Any] | None:
    """The guard that found the first fault, after which the host brings the arm to rest, and its time [s]; or None.

    `what` says it in words; `cause` is what `stop.explain` knows more of.
    """
    found = trace.first_fault()
    if found is None:
        return None
    step, name = found
    return {"guard": name, "time": float(trace.t[step]), "what": fault_text(Guard[name.upper()]), "cause": None}


def joint_drift(trace: Trace) -> float | None:
    """max_i |q_i(T) − q_i(T − period)| [rad or m]; None without a period, or if less than one was run."""
    period = float(trace.period)
    steps = round(period / trace.step) if np.isfinite(period) else 0
    if not 0 < steps < len(trace.t):
        return None
    return float(np.abs(trace.q[-1] - trace.q[-1 - steps]).max())


def estimate_errors(trace: Trace) -> dict[str, Any]:
    """Per adapted link, at the start and at the end: errors of mass [kg], CoM [m], inertia about the origin [kg·m²]."""
    result = {}
    for index, link in enumerate(trace.adapted_links):
        pairs = {"initial": (trace.estimates[0], trace.truth[0]), "final": (trace.estimates[-1], trace.truth[-1])}
        result[str(link)] = {when: _parameter_error(e[index], t[index]) for when, (e, t) in pairs.items()}
    return result


def record_metrics(trace: Trace, library: Library) -> dict[str, Any]:
    """What the record says since a true body last changed: `payload` of the last adapted link, `record` of them all.

    `record` holds, per adapted link, mass, CoM and inertia about the frame's origin by a fit to what was measured, with
    standard deviations, which are `known` to a tenth of the body, and of which of these the last estimate is as near
    as that (`settled`); of other links it takes the last estimates. After a fault nothing counts.
    """
    trace = trace.until_fault()
    since = trace.t >= trace.truth_time[-1]
    q, effort, rate = trace.q_measured[since], trace.effort[since], 1.0 / trace.step
    estimates = dict(zip(map(str, trace.adapted_links), trace.estimates[-1], strict=True))
    found = gather(library, estimates, Record.of_held(q, effort, rate))
    payload = payload_of(library, estimates, found)
    record = {}
    for name, evidence in found.items():
        body = FoundBody.about_origin(evidence.fit, evidence.covariance)
        last = FoundBody.about_origin(estimates[name], evidence.covariance)
        known = body.trusted()
        record[name] = {"fit": named(body.dyn), "std": named(body.std), "known": list(known)}
        record[name]["settled"] = [one for one in last.near(body) if one in known]
    return {"payload": None if payload is None else payload.document(), "record": record}


def _parameter_error(estimate: FloatArray, truth: FloatArray) -> dict[str, float | None]:
    return {
        "mass": float(abs(estimate[0] - truth[0])),
        "com": _com_distance(estimate, truth),
        "first_moment": float(np.linalg.norm(estimate[1:4] - truth[1:4])),
        "inertia": float(np.abs(estimate[4:] - truth[4:]).max()),
    }


def _com_distance(estimate: FloatArray, truth: FloatArray) -> float | None:
    """Distance of the centres of mass [m]; None where one of the bodies has no mass, and so no centre."""
    try:
        return float(np.linalg.norm(Inertia.from_pi(estimate).com - Inertia.from_pi(truth).com))
    except InertiaError:
        return None


def step_times(timing: Timing) -> dict[str, float]:
    """Median, 99th percentile and maximum of the control step inside the host [µs]."""
    median, p99, largest = np.percentile(timing.step_ns * 1e-3, [50, 99, 100])
    return {"median": float(median), "p99": float(p99), "max": float(largest)}


def summarise(
    scenario: Scenario, runs: Mapping[str, Mapping[str, Any]], library_hashes: Mapping[str, str]
) -> dict[str, Any]:
    """The document of metrics.json."""
    names = list(runs)
    first, last = (runs[names[k]]["final_error_norm"] for k in (0, -1))
    return {
        "scenario": scenario.name,
        "scenario_sha256": scenario.hash,
        "runs": {
            run.name: {
                "adaptation": run.adaptation,
                "seed": run.config.seed,
                "library_hash": library_hashes[run.name],
                **runs[run.name],
            }
            for run in scenario.runs
        },
        "final_error_ratio": first / last if len(names) > 1 and first is not None and last else None,
        "versions": {
            "thunder_controllers": __version__,
            "mujoco": mujoco.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }


def _final_steps(trace: Trace) -> int:
    return min(max(round(FINAL_SECONDS / trace.step), 1), len(trace.t))


def _limits_kept(trace: Trace) -> bool:
    """Whether no command was beyond the limits; one part in 10⁹ is the rounding of the differences taken here."""
    slack = 1.0 + 1e-9
    rate = np.abs(np.diff(trace.effort, axis=0)) / trace.step
    return bool(
        (np.abs(trace.effort) <= trace.effort_limit * slack).all() and (rate <= trace.effort_rate_limit * slack).all()
    )


def _finite(values: FloatArray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
