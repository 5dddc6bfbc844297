"""A turret, a slide and a wrist: what it is worth to adapt the links that are unknown, and only those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from thunder_controllers.experiments.comparison.figure import draw
from thunder_controllers.experiments.draws import uncertain
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
from thunder_controllers.experiments.measures import measure_run, series
from thunder_controllers.experiments.runner import load_robot
from thunder_controllers.experiments.studies.demo import bodies
from thunder_controllers.experiments.table import faults, spread, summary
from thunder_controllers.report.figures import COLOURS, STYLE, TRUTH
from thunder_controllers.resources import share
from thunder_controllers.simulation.scenario import RunConfig
from thunder_controllers.simulation.trace import Timing, Trace

FloatArray = NDArray[np.float64]

UNKNOWN, KNOWN = ("column", "boom"), ("hand",)
UNCERTAINTY = 0.3
"""Of every parameter of the unknown links [1]."""

PERIOD = 10.0
"""Of the reference [s]."""

REFERENCE = {
    "type": "joint_lissajous",
    "centre": (0.0, 0.2, 0.0),
    "amplitude": (0.8, 0.12, 1.0),
    "frequency": (0.3, 0.4, 0.5),
    "phase": (0.0, 1.0, 2.0),
}

GRADIENT = {"gamma": 1e-3}
GAINS = {"projected": GRADIENT, "consistent": GRADIENT, "natural": {"gamma": 1e-3}}

NONE = "none adapted"
ROWS: dict[str, tuple[str | Sequence[str], str]] = {
    NONE: (UNKNOWN, "consistent"),
    "first two, projected": (UNKNOWN, "projected"),
    "first two, consistent": (UNKNOWN, "consistent"),
    "first two, natural": (UNKNOWN, "natural"),
    "all, consistent": ("all", "consistent"),
    "all, natural": ("all", "natural"),
}
FIRST_TWO = tuple(row for row, (links, _) in ROWS.items() if links == UNKNOWN and row != NONE)
BODIES = tuple(row for row, (_, scheme) in ROWS.items() if scheme != "projected")
NATURAL = "first two, natural"

PANELS = ("mass of the boom [kg]", "moment along the slide [kg·m]", "moment across it [kg·m]", "inertia [kg·m²]")

TABLE = {
    "runs": len,
    "faults": faults,
    "steady-state error": summary("error", spread),
    "∫‖e‖ dt": summary("iae", spread),
    "mass error [g]": summary("base_mass", spread),
    "moment error [g·m]": summary("base_moment", spread),
    "inertia error [g·m²]": summary("base_inertia", spread),
    "consistent": summary("consistent", spread),
}

SETUP = """\
Follows the published RPR arm (revolute, prismatic, revolute) under the law of Slotine and Li, third link known, first
two adapted; the published gains are K_P and K_D, with which Λ = K_D⁻¹K_P.

Left open there, and chosen here: the arm is `config/robots/rpr.yaml`, all of it in a horizontal plane, by the equations
of its file under RK4 at 1 kHz, without friction, as the law has none, and without noise. Mass, each coordinate of the
CoM and the inertia about it of the first two links are those of the file times factors of their own, uniform from 0.7
to 1.3; the law starts from the file. All joints follow sinusoids of 0.3, 0.4 and 0.5 Hz (0.8 rad, 0.12 m, 1 rad), from
their velocity on. Λ and K_D are the law's defaults; Γ = 1e-3 (1, 1, 1) of the gradient schemes, γ = 1e-3 of the
natural one, the best of three. The composite schemes are left out: their prediction takes the friction of the file for
granted.

Only four numbers of the twenty of these two links act on a motion in the plane: the mass of the boom, its first
moments along the slide (m c_z) and across it (m c_x), and the sum of the inertias about the vertical, Izz of the column
and Iyy of the boom about its frame's origin. Their errors are those of the last estimates after 20 s; of the moments,
the norm. Steady-state error: mean of ‖q_d − q‖ over the last period, 10 s; mean ± standard deviation over the seeds."""


def base_parameters(pi: FloatArray) -> FloatArray:
    """Mass of the boom, m c_z and m c_x of it, and the inertia about the vertical, (…, 4) of (…, links, 10) in REG."""
    column, boom = pi[..., 0, :], pi[..., 1, :]
    return np.stack([boom[..., 0], boom[..., 3], boom[..., 1], column[..., 9] + boom[..., 7]], axis=-1)


def measure_base(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure the run and the errors of what is identifiable, and keep that over time."""
    values, kept = measure_run(case, trace, timing)
    estimates, truth = base_parameters(trace.estimates), base_parameters(trace.truth[-1])
    mass, along, across, inertia = 1e3 * np.abs(estimates[-1] - truth)
    errors = {"base_mass": mass, "base_moment": np.hypot(along, across), "base_inertia": inertia}
    found = {name: float(error) for name, error in errors.items()}
    return Measured({**values, **found}, {**kept, "base": series(estimates), "truth": truth.tolist()})


def _config(seed: int, links: str | Sequence[str], scheme: str) -> RunConfig:
    robot = str(share("config/robots/rpr.yaml"))
    config: dict[str, Any] = {
        "robot": robot,
        "plant": {"engine": "model", "urdf": robot, "velocity": "exact", "friction": {}},
        "law": {
            "name": "slotine_li",
            "options": {**({"known": KNOWN} if links == UNKNOWN else {"adapted_links": links}), "adaptation": scheme},
            "gains": GAINS[scheme],
        },
        "reference": REFERENCE,
        "start": {"q": REFERENCE["centre"], "velocity": "reference"},
        "duration": 2.0 * PERIOD,
        "seed": seed,
    }
    nominal = bodies(load_robot(RunConfig.model_validate(config)).library)
    rng = np.random.default_rng([seed, *b"unknown links"])
    config["plant"]["inertia"] = {name: uncertain(nominal[name], UNCERTAINTY, rng) for name in UNKNOWN}
    return RunConfig.model_validate(config)


def unknown_links(settings: Settings) -> Group:
    """The first two links as the file does not have them, the third as it has it."""
    seeds = range(settings.seed, settings.seed + settings.cases)
    cases = tuple(
        Case(row, _config(seed, links, scheme), PERIOD, row != NONE, measure_base)
        for row, (links, scheme) in ROWS.items()
        for seed in seeds
    )
    criteria = (
        Criterion("faults", 0.0),
        Criterion("steady-state error", 0.2, rows=FIRST_TWO, times=NONE),
        Criterion("mass error [g]", 0.2, rows=(NATURAL,), times=NONE),
        Criterion("consistent", 1.0, at_least=True, rows=BODIES),
    )
    return Group("First two links unknown", cases, criteria, TABLE, _draw)


def _draw(results: Sequence[tuple[Case, Outcome]]) -> Figures:
    ran: dict[str, Mapping[str, list[Any]]] = {}
    for case, outcome in results:  # of each row, the first seed
        if case.adaptation and outcome.series:
            ran.setdefault(case.row, outcome.series)
    with matplotlib.style.context(STYLE):
        return {"error_over_time": draw(results), **({"identifiable": _identifiable(ran)} if ran else {})}


def _identifiable(runs: Mapping[str, Mapping[str, list[Any]]]) -> Figure:
    """What of the first two links acts, a panel each: estimates of one seed, and dashed the truth."""
    figure = Figure(figsize=(10.0, 5.0), layout="constrained")
    axes = list(figure.subplots(2, 2, sharex=True).ravel())
    for colour, (row, one) in zip(COLOURS, runs.items(), strict=False):
        for axis, values in zip(axes, np.transpose(one["base"]), strict=True):
            axis.plot(one["t"], values, color=colour, label=row)
    for axis, title, truth in zip(axes, PANELS, next(iter(runs.values()))["truth"], strict=True):
        axis.axhline(truth, **TRUTH)
        axis.set_title(title)
    for axis in axes[2:]:
        axis.set_xlabel("t [s]")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return figure


def rpr_partially_known() -> Experiment:
    """Name the groups."""
    return Experiment(
        "A planar RPR arm, third link known: its first two links adapted, none, or all.",
        {"unknown_links": unknown_links},
        SETUP,
        cases=5,
    )
