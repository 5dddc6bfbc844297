"""The adaptation schemes beside each other: the same arm, tool, path, first estimates and feedback gains."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.style
import numpy as np

from thunder_controllers.experiments.comparison.figure import draw
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
from thunder_controllers.experiments.measures import measure_estimates, measure_run
from thunder_controllers.experiments.studies.demo import FRICTION, LAST_LINK, PERIOD, demo
from thunder_controllers.experiments.studies.unknown_tool import SWING, TOOL
from thunder_controllers.experiments.table import faults, spread, summary
from thunder_controllers.report.figures import STYLE, parameters
from thunder_controllers.simulation.trace import Timing, Trace

DURATION = 20.0
NOT_ADAPTED = "not adapted"

DIAGONAL = {"gamma": 0.3, "gamma_inertia": 10.0}
METRIC = {"gamma": 0.01}
SCHEMES: dict[str, Mapping[str, float]] = {
    "gradient": DIAGONAL,
    "consistent": {"gamma": 0.3},
    "natural": METRIC,
    "composite": DIAGONAL,
    "consistent_composite": METRIC,
    "natural_composite": METRIC,
}
"""Gains of each."""

CHOSEN = "consistent"
"""What laws have by default."""

CONSISTENT = ("consistent", "natural", "consistent_composite", "natural_composite")
"""Those whose estimates are bodies by construction."""

STARTS, START_DURATION = 100, 1.0
"""Random first estimates of each consistent scheme, and how long each moves [s]."""

EAGER = {"gamma": 1e-3}
"""Gains of these starts: adaptation as fast as its limit lets it be."""

REST = 600.0
"""Of holding a pose with noise [s]."""

NOISE = {"q_std": 1e-5, "qd_std": 2e-3}
"""Of the joints at rest [rad], [rad/s]."""

RESOLUTION = 1e-9
"""Of estimates: what scatters less stands still [kg, kg·m, kg·m²]."""

UNITS = {"mass": slice(0, 1), "first moment": slice(1, 4), "inertia": slice(4, 10)}
"""Of the parameters of a link those that have a unit in common."""

TABLE = {
    "runs": len,
    "faults": faults,
    "steady-state error": summary("error", spread),
    "∫‖e‖ dt": summary("iae", spread),
    "mass error [kg]": summary("mass_error", spread),
    "CoM error [m]": summary("com_error", spread),
    "consistent": summary("consistent", min),
    "step [µs]": summary("step_us", statistics.median),
}


def first_estimate(seed: int) -> dict[str, Any]:
    """Draw a body that a controller may believe its last link to be: a box of random sides, near the wrist."""
    rng = np.random.default_rng([seed, *b"first estimate"])
    mass, sides = float(np.exp(rng.uniform(np.log(0.2), np.log(4.0)))), rng.uniform(0.02, 0.3, 3)
    xx, yy, zz = (mass * (np.sum(sides**2) - sides**2) / 12.0).tolist()
    return {"mass": mass, "com": tuple(rng.uniform(-0.15, 0.15, 3).tolist()), "inertia": (xx, 0.0, 0.0, yy, 0.0, zz)}


def _law(scheme: str, gains: Mapping[str, float], seed: int, **options: str) -> dict[str, Any]:
    return {
        "gains": gains,
        "options": {"adapted_links": [LAST_LINK], "adaptation": scheme, **options},
        "initial_estimates": {LAST_LINK: first_estimate(seed)},
    }


TOOLED = {"payloads": ({"link": LAST_LINK, **TOOL},)}


def _seeds(settings: Settings) -> range:
    return range(settings.seed, settings.seed + settings.cases)


def _group(title: str, settings: Settings, friction: bool, reference: Mapping[str, Any]) -> Group:
    """Every scheme from the same first estimates."""
    plant = TOOLED | ({"friction": FRICTION} if friction else {})

    def case(row: str, scheme: str, gains: Mapping[str, float], seed: int) -> Case:
        law = _law(scheme, gains, seed, friction="adapted" if friction else "none")
        config = demo(law=law, plant=plant, reference=reference, duration=DURATION, seed=seed)
        return Case(row, config, PERIOD, row != NOT_ADAPTED, measure_estimates)

    rows = {NOT_ADAPTED: (CHOSEN, {}), **{name: (name, gains) for name, gains in SCHEMES.items()}}
    cases = tuple(case(row, *one, seed) for row, one in rows.items() for seed in _seeds(settings))
    criteria = (Criterion("faults", 0.0), Criterion("consistent", 1.0, at_least=True, rows=CONSISTENT))
    return Group(title, cases, criteria, TABLE, _draw)


def constant(settings: Settings) -> Group:
    """The demo's path: the flange points down."""
    return _group("Constant orientation", settings, False, {})


def swinging(settings: Settings) -> Group:
    """With orientation motion."""
    return _group("Orientation motion", settings, False, SWING)


def constant_with_friction(settings: Settings) -> Group:
    """Constant orientation, joint friction that the law estimates."""
    return _group("Constant orientation, friction", settings, True, {})


def swinging_with_friction(settings: Settings) -> Group:
    """Orientation motion, joint friction that the law estimates."""
    return _group("Orientation motion, friction", settings, True, SWING)


def starts(settings: Settings) -> Group:
    """Random first estimates under an adaptation that is far too eager: no estimate may leave the set of bodies."""
    seeds = range(settings.seed, settings.seed + STARTS)
    cases = tuple(
        Case(
            scheme,
            demo(law=_law(scheme, EAGER, seed), plant=TOOLED, reference=SWING, duration=START_DURATION, seed=seed),
            START_DURATION,
            measure=measure_run,
        )
        for scheme in CONSISTENT
        for seed in seeds
    )
    table = {
        "runs": len,
        "least consistent": summary("consistent", min),
        "largest error": summary("largest_error", max),
    }
    criterion = Criterion("least consistent", 1.0, at_least=True)
    return Group("Eager starts", cases, (criterion,), table, lambda results: {"error_over_time": draw(results)})


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


def rest(settings: Settings) -> Group:
    """Ten minutes of rest with noisy sensors: nothing to learn from but noise; of all schemes where it may be long."""
    still = {"amplitude": (0.0, 0.0, 0.0)}

    def case(scheme: str, gains: Mapping[str, float]) -> Case:
        law, plant = _law(scheme, gains, settings.seed), TOOLED | {"noise": NOISE}
        config = demo(law=law, plant=plant, reference=still, duration=REST, seed=settings.seed)
        return Case(scheme, config, PERIOD, measure=measure_rest)

    names = [f"drift of {name}{over}" for name in UNITS for over in ("", " / noise")]
    table = {
        "faults": faults,
        "steady-state error": summary("error", max),
        "largest error": summary("largest_error", max),
        **{name: summary(name, max) for name in names},
    }
    schemes = SCHEMES if settings.long else ("gradient", CHOSEN)
    cases = tuple(case(scheme, SCHEMES[scheme]) for scheme in schemes)
    criteria = (Criterion(f"drift of {name} / noise", 1.0, rows=(CHOSEN,)) for name in UNITS)
    return Group("Ten minutes of rest", cases, (Criterion("faults", 0.0), *criteria), table, _draw)


def _draw(results: Sequence[tuple[Case, Outcome]]) -> Figures:
    """Errors of all, and the estimates of the first seed."""
    first = {case.row: one.series for case, one in reversed(results) if case.adaptation and one.series}
    if not first:
        return {"error_over_time": draw(results)}
    curves = {row: (np.array(first[row]["t"]), np.array(first[row]["estimates"])) for row in reversed(first)}
    any_run = next(iter(first.values()))
    truth = np.array(any_run["t"]), np.array(any_run["truth"])
    with matplotlib.style.context(STYLE):
        estimates = parameters(f"Estimates of {LAST_LINK} with its tool, one first estimate", curves, truth)
    return {"error_over_time": draw(results), "estimates": estimates}


SETUP = """\
Follows the comparisons of the papers on natural and composite adaptation: one arm, one path, equal feedback gains, the
adaptation exchanged.

Left open there, and chosen here: the arm carries the tool of 0.83 kg of the experiment unknown_tool; path, and
orientation motion where there is some, are those of it too. The controller first believes that its last link is a box
of 0.2 to 4 kg (log-uniform) with sides of 0.02 to 0.3 m, its centre within 0.15 m of the link's frame along each axis;
every scheme starts from the same boxes. Default feedback gains, exact velocities; friction, where there is any, is 0.5
N·m·s/rad and 0.3 N·m in every joint, and the law estimates it. Γ = 0.3 diag(1, 1, 10) of gradient and composite is
the best of six tried with gradient over three other boxes, γ = 0.3 of consistent of two, γ = 0.01 of the natural
schemes of six: below it the limit of adaptation takes over, and nothing changes.

Steady-state error: mean of ‖[p_d − p; θ]‖ over the last period of the path, 10 s of 20. Errors of mass and CoM are
those of the last estimate; constant orientation does not excite the CoM along the vertical. Mean ± standard deviation
over the boxes; `consistent`: the least share of steps of any of them at which the estimate was one that a body can
have; `step`: the median time of a control step in the host, which alone differs from run to run.

Eager starts: a hundred boxes for each scheme that promises bodies, Γ and γ = 0.001. Ten minutes of rest: the path's
centre is held, velocities have noise of 2 mrad/s and positions of 0.01 mrad; drift is how far the estimates go in the
second five minutes along the straight line that fits them best, noise how they scatter about it."""


def adaptation_shootout() -> Experiment:
    """Name the groups."""
    return Experiment(
        "Adaptation schemes from the same wrong estimates, without and with joint friction and orientation motion.",
        {
            "constant": constant,
            "swinging": swinging,
            "constant_with_friction": constant_with_friction,
            "swinging_with_friction": swinging_with_friction,
            "starts": starts,
            "rest": rest,
        },
        SETUP,
        cases=2,
    )
