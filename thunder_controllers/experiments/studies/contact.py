"""Somebody pushes the arm while it learns: what the momentum observer sees, and what freezing saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from thunder_controllers.experiments.experiment import (
    Case,
    Criterion,
    Experiment,
    Figures,
    Group,
    Measured,
    Outcome,
    Settings,
)
from thunder_controllers.experiments.measures import pose_distance
from thunder_controllers.experiments.studies.demo import FRICTION, LAST_LINK, bodies, demo
from thunder_controllers.experiments.table import faults, spread, summary
from thunder_controllers.report.figures import COLOURS, ERROR_FLOOR, STYLE
from thunder_controllers.simulation.faults.wrench import Wrench
from thunder_controllers.simulation.trace import Timing, Trace

DURATION, WINDOW = 14.0, 2.0
"""Of a run, and of its end, where the error is taken [s]."""

STARTS, LENGTHS, FORCES = (1.0, 8.0), (0.1, 2.0), (10.0, 40.0)
"""Of the push, uniform [s], [s], [N]."""

AFTER = 1.0
"""How long after a push it still shows [s]."""

SHOWN = np.linspace(-0.5, 3.5, 200)
"""Times about the start of a push that figures show [s]."""

NOISE = {"q_std": 1e-5, "qd_std": 3e-3}

LEARNS, FREEZES = "adapts on", "freezes"
NO_PUSH = "no push, freezes"


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
    return Measured(values, {"mass": mass[shown].tolist(), "error": error[shown].tolist()})


def measure_payload(case: Case, trace: Trace, _timing: Timing) -> Measured:
    """Measure how long a body that is fixed to the last link is taken for a contact, and what becomes of its mass."""
    flag = _contact(trace)
    (payload,) = case.config.plant.payloads
    mass = 1e3 * np.abs(trace.estimates[:, 0, 0] - trace.truth[-1, 0, 0])
    kept = float(flag[trace.t >= payload.time].sum() / case.config.rate)
    return Measured({"kept": kept, "last_mass": float(mass[-1])})


TABLE = {
    "runs": len,
    "faults": faults,
    "detected": summary("detected", fmean),
    "delay [ms]": summary("delay", median),
    "largest delay [ms]": summary("delay", max),
    "kept during the push": summary("covered", fmean),
    "kept for nothing": summary("false", fmean),
    "mass error [g]": summary("mass", spread),
    "last mass error [g]": summary("last_mass", spread),
    "error in the push": summary("during", spread),
    "error in the second after": summary("after", spread),
    "steady-state error": summary("error", spread),
}

PAYLOAD_TABLE = {
    "runs": len,
    "faults": TABLE["faults"],
    "kept after it [s]": summary("kept", spread),
    "last mass error [g]": TABLE["last mass error [g]"],
    "steady-state error": TABLE["steady-state error"],
}

SETUP = """\
Follows no published experiment. Momentum observers are mostly shown with an exact model; here the model is what is to
be learnt, and its error must be told from a push.

Chosen here: the demo's path for 14 s with default gains; of the last link the controller believes half to three times
the mass and a CoM up to 0.1 m off along each axis. From 1 to 8 s on, while the estimate still converges in some runs,
a force of 10 to 40 N and any direction acts on that link for 0.1 to 2 s, all uniform. Positions have noise of 1e-5 rad,
velocities of 3e-3 rad/s. Friction, where there is any, is 0.5 N·m·s/rad and 0.3 N·m in every joint; the law knows
nothing of it, or adapts it from zero.

The observer: K_o = 50 1/s, T = 3 s, θ = 0.6 N·m and 0.03 of the effort limit (3.2 and 1 N·m), χ = 1, hold 0.2 s,
which are the defaults, chosen over five to eight of the pushes, with the gradient in bounds. With θ of 0.04 of the
limit alone, friction that reverses is taken for a contact (a third of the time); with θ a third higher the estimates
are kept for a twentieth less of the pushes, with T of 2 s as well. χ counts where friction is adapted: with 0.5 a
fiftieth of the time is kept for nothing, and where χ does not apply to it, a fifth.

`kept`: share of the push, and of all other times but the second after, in which the estimates were kept. Mass error:
the largest from the push to a second after it. Errors are means of ‖[p_d − p; θ]‖, the steady state's over the last
2 s; mean ± standard deviation over the seeds. The payload of 1 kg comes at a random time, as the push does, and
stays."""


def _group(title: str, options: Mapping[str, Any], plant: Mapping[str, Any], settings: Settings) -> Group:
    cases = []
    for row, contact in ((LEARNS, "observe"), (FREEZES, "freeze"), (NO_PUSH, "freeze")):
        for seed in range(settings.seed, settings.seed + settings.cases):
            rng = np.random.default_rng([seed, *b"contact"])
            first, fault = first_estimate(rng), push(rng)
            config = demo(
                law={"options": {"contact": contact, **options}, "initial_estimates": {LAST_LINK: first}},
                plant={"noise": NOISE, "faults": () if row == NO_PUSH else (fault,), **plant},
                duration=DURATION,
                seed=seed,
            )
            cases.append(Case(row, config, WINDOW, True, measure_contact))
    criteria = (
        Criterion("faults", 0.0),
        Criterion("detected", 0.95, at_least=True, rows=(FREEZES,)),
        Criterion("kept for nothing", 0.02, rows=(FREEZES, NO_PUSH)),
        Criterion("mass error [g]", 0.5, rows=(FREEZES,), times=LEARNS),
    )
    return Group(title, tuple(cases), criteria, TABLE, _draw)


def plain(settings: Settings) -> Group:
    """No friction."""
    return _group("No friction", {}, {}, settings)


def friction(settings: Settings) -> Group:
    """Friction that the law knows nothing of."""
    return _group("Friction not modelled", {}, {"friction": FRICTION}, settings)


def adapted(settings: Settings) -> Group:
    """The same friction, adapted."""
    return _group("Friction adapted", {"friction": "adapted"}, {"friction": FRICTION}, settings)


def payload(settings: Settings) -> Group:
    """A body of 1 kg instead of a push: to be learnt."""
    body = {"link": LAST_LINK, "mass": 1.0, "com": (0.0, 0.0, 0.15), "inertia": (0.001, 0.0, 0.0, 0.001, 0.0, 0.001)}
    cases = []
    for row, choice in ((LEARNS, "observe"), (FREEZES, "freeze")):
        for seed in range(settings.seed, settings.seed + settings.cases):
            time = round(float(np.random.default_rng([seed, *b"payload"]).uniform(*STARTS)), 3)
            config = demo(
                law={"options": {"contact": choice}, "initial_estimates": {LAST_LINK: bodies()[LAST_LINK]}},
                plant={"noise": NOISE, "payloads": ({**body, "time": time},)},
                duration=DURATION,
                seed=seed,
            )
            cases.append(Case(row, config, WINDOW, True, measure_payload))
    learnt = Criterion("last mass error [g]", 10.0)
    return Group("A payload", tuple(cases), (Criterion("faults", 0.0), learnt), PAYLOAD_TABLE)


def _draw(results: Sequence[tuple[Case, Outcome]]) -> Figures:
    """Mass error and error about the start of the push: median and range of the seeds, both ways."""
    with matplotlib.style.context(STYLE):
        figure = Figure(figsize=(12.0, 4.0), layout="constrained")
        axes = figure.subplots(1, 2)
        for axis, name, unit in zip(axes, ("mass", "error"), ("mass error [g]", "‖e‖ [m, rad]"), strict=True):
            for row, colour in zip((LEARNS, FREEZES), COLOURS, strict=False):
                values = np.array([one.series[name] for case, one in results if case.row == row and one.series])
                if values.size:
                    values = np.maximum(values, ERROR_FLOOR)
                    axis.plot(SHOWN, np.median(values, axis=0), color=colour, label=row)
                    axis.fill_between(SHOWN, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.15, lw=0.0)
            axis.set(xlabel="time since the push began [s]", ylabel=unit, yscale="log")
            axis.legend()
    return {"around_the_push": figure}


def contact() -> Experiment:
    """Name the groups."""
    return Experiment(
        "Pushes during adaptation: what the momentum observer detects, and what freezing the estimates saves.",
        {"plain": plain, "friction": friction, "adapted": adapted, "payload": payload},
        SETUP,
        cases=12,
    )
