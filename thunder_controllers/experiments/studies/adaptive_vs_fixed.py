"""What adaptation is worth where every link of the arm is uncertain."""

from __future__ import annotations

from typing import Any

import numpy as np

from thunder_controllers.experiments.bad_day import PUBLISHED
from thunder_controllers.experiments.comparison.figure import draw
from thunder_controllers.experiments.draws import uncertain
from thunder_controllers.experiments.experiment import Case, Criterion, Experiment, Group, Settings
from thunder_controllers.experiments.measures import measure_run
from thunder_controllers.experiments.studies.demo import LAST_LINK, PERIOD, bodies, demo
from thunder_controllers.experiments.studies.gain_study import COMMON
from thunder_controllers.experiments.table import faults, spread, summary

UNCERTAINTY = 0.3
"""Of every parameter of every link [1]."""

DURATION = 20.0
FIXED, ADAPTIVE = "fixed", "adaptive"
ADAPTATION = {"gamma": 1.0, "gamma_inertia": 10.0}

TABLE = {
    "runs": len,
    "faults": faults,
    "steady-state error": summary("error", spread),
    "largest error": summary("largest_error", spread),
    "∫‖e‖ dt": summary("iae", spread),
    "effort, rms [N·m]": summary("effort", spread),
    "consistent": summary("consistent", spread),
}

SETUP = """\
Follows comparisons of an adaptive law with the same law without adaptation, equal gains, all seven links uncertain
by ±30 %.

Left open there, and chosen here: mass, each coordinate of the CoM, and the inertia about the CoM of each link of
the simulated arm are those of the robot file times factors of their own, uniform from 0.7 to 1.3 (one factor for
the six numbers of an inertia, so that every link is a possible body); both controllers believe in the robot file.
The path is the demo's; no friction, no noise, exact velocities. Γ: r = 1 for every
link, (r_m, r_c, r_I) = (1, 1, 10), a middle one of six tried over three seeds (r from 0.3 to 10, r_I from 1 to 100):
all end below 9e-4 with the published gains and below 2.4e-4 with the default ones.

Steady-state error: mean of ‖[p_d − p; θ]‖ over the last period of the path, 10 s of 20; mean ± standard deviation
over the seeds. The adaptation is the law's default. `consistent` is the share of steps at which the estimates of all
links were ones that bodies can have."""


def uncertain_arm(seed: int) -> dict[str, dict[str, Any]]:
    """Draw the true links, as `plant.inertia` of a scenario has them."""
    rng = np.random.default_rng([seed, *b"uncertain arm"])
    return {name: uncertain(body, UNCERTAINTY, rng) for name, body in bodies().items()}


def _group(title: str, gains: dict[str, Any], settings: Settings) -> Group:
    law = {
        "gains": {**gains, **ADAPTATION},
        "options": {"adapted_links": "all"},
        "initial_estimates": {LAST_LINK: bodies()[LAST_LINK]},
    }
    seeds = range(settings.seed, settings.seed + settings.cases)
    arms = [demo(law=law, plant={"inertia": uncertain_arm(seed)}, duration=DURATION, seed=seed) for seed in seeds]
    cases = tuple(
        Case(row, arm, PERIOD, adaptation, measure_run)
        for row, adaptation in ((FIXED, False), (ADAPTIVE, True))
        for arm in arms
    )
    better = Criterion("steady-state error", 0.1, rows=(ADAPTIVE,), times=FIXED)
    return Group(
        title, cases, (Criterion("faults", 0.0), better), TABLE, lambda results: {"error_over_time": draw(results)}
    )


def published(settings: Settings) -> Group:
    """Soft gains, as published."""
    return _group("Published gains, K_d 10 … 2", {**COMMON, "K_d": PUBLISHED["K_d 10 … 2"]}, settings)


def default(settings: Settings) -> Group:
    """The law's own."""
    return _group("Default gains", {}, settings)


def adaptive_vs_fixed() -> Experiment:
    """Name the groups."""
    return Experiment(
        "The same gains with and without adaptation, all seven links uncertain by a random ±30 %.",
        {"published": published, "default": default},
        SETUP,
        cases=8,
    )
