"""Fast motions of five point masses: variable inertia beside computed torque and PD+, and with a mass that adapts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
from thunder_controllers.experiments.measures import series
from thunder_controllers.experiments.table import faults, summary
from thunder_controllers.report.figures import COLOURS, LIMIT, STYLE, TRUTH
from thunder_controllers.resources import share
from thunder_controllers.simulation.scenario import RunConfig
from thunder_controllers.simulation.trace import Timing, Trace

PI = np.pi
RATE = 1e4
"""Of the law, and of the plant's integration [Hz]."""

START = np.array([-PI / 2, 2 * PI / 3, 5 * PI / 6, 0.0, 0.5])
END = np.array([PI / 2, 0.0, PI / 4, PI, -PI / 2])
TIMES = {1: 0.5, 3: 0.75}
"""t_r of the line (degree 1) and of the cubic polynomial (degree 3) [s]; each run lasts twice as long."""

FILTER = {"velocity": "differences", "velocity_cutoff": 1.0 / (2.0 * PI * 0.002)}
"""1/(0.002 s + 1)."""

LINK, MASS, BELIEVED, BOUNDS = "link5", 0.7, 0.5, (0.2, 0.8)
PLACE = (0.0, -0.3, 0.0)
"""The last point: its mass, what the law believes at first, the bounds of the estimate [kg]; in the link's frame."""

COMPUTED_TORQUE, PD_PLUS = "computed torque, 100 / 0.1", "PD+, 100 / 0.1"
SLOW, FAST = "variable inertia, 100 / 0.1", "variable inertia, 140 / 0.05"


def _inertia_gains(k: float, T: float) -> dict[str, float]:
    return {"R_0": k, "R_1": k * T, "mu_1": 10.0, "beta_lower": 1e-9}


LAWS: dict[str, dict[str, Any]] = {
    COMPUTED_TORQUE: {"name": "computed_torque", "gains": {"R_0": 100.0, "R_1": 10.0}},
    PD_PLUS: {"name": "pd_plus", "gains": {"K_p": 100.0, "K_d": 10.0}},
    SLOW: {"name": "variable_inertia", "gains": _inertia_gains(100.0, 0.1)},
    FAST: {"name": "variable_inertia", "gains": _inertia_gains(140.0, 0.05)},
}

TRUE, FIXED, PUBLISHED = "true mass, fixed", "not adapted", "γ 0.02, α 5"
ADAPTIVE = {PUBLISHED: (0.02, 5.0), "γ 0.02, α 15": (0.02, 15.0)}
ADAPTIVE |= {f"γ {gamma:g}, α 5": (gamma, 5.0) for gamma in (0.005, 0.08, 0.32)}
FILTERED = {"true mass, fixed, q̇ filtered": TRUE, "γ 0.02, α 5, q̇ filtered": PUBLISHED}

TABLE = {
    "faults": faults,
    "IAE [rad·s]": summary("iae_sum", max),
    "IAE until t_r [rad·s]": summary("iae_moving", max),
    "largest error [rad]": summary("largest", max),
    "largest effort [N·m]": summary("largest_effort", max),
}
ADAPTIVE_TABLE = {
    **TABLE,
    "mass error at t_r [g]": summary("mass_error_then", max),
    "mass error at the end [g]": summary("mass_error_end", max),
}

SETUP = """\
Follows the published comparison on five joints that move a point mass each (`config/robots/point_masses5.yaml`), from
q_0 = (−π/2, 2π/3, 5π/6, 0, 0.5) to q_f = (π/2, 0, π/4, π, −π/2). Line: constant velocity for t_r = 0.5 s, over the
full range, and over the half that begins at (q_0 + q_f)/2; gains k_R / T_R, R_0 = k_R and R_1 = k_R T_R, μ_1 = 10.
Cubic: rest to rest in t_r = 0.75 s, m_5 = 0.7 kg believed to be 0.5 kg, σ_0 = 1e-3, ν = 3, σ_1 t_r^ν = 1, bounds of 0.2
and 0.8 kg, Δ = 2 ms, Γ = 1/γ.

Left open there, and chosen here: the law runs at 10 kHz, the rate of the integration by RK4, and its effort is held in
between. On the line, the filter 1/(0.002 s + 1) is in the sensor: q̇, from differences of positions, is filtered, and
q̇_d is not; with exact velocities IAE changes by −9 to 3 %, and no order by it. On the cubic, velocities are exact, as
a filter is named with the line only; two rows have that filter. R_0 and R_1 mean what each law's equation makes of
them, by equal numbers: accelerations in computed torque, efforts in PD+ and variable inertia. The adapted law has the
gains of variable inertia, 100 / 0.1; β has no lower bound, and the adaptation is neither slowed down nor ended by rest.
IAE, ∫Σ|e_i| dt, is taken over 2 t_r, so that it holds what remains to be settled, and over t_r."""


Runs = Mapping[str, Mapping[str, list[Any]]]
"""Series by row."""


def measure_motion(case: Case, trace: Trace, _timing: Timing) -> Measured:
    """Measure IAE of all joints, extremes, and the estimated mass where there is one; keep them over time."""
    moving = round(0.5 * len(trace.t))
    total = np.abs(trace.error).sum(axis=1) / case.config.rate
    values: dict[str, float | None] = {
        "iae_sum": float(total.sum()),
        "iae_moving": float(total[:moving].sum()),
        "largest": float(np.abs(trace.error).max()),
        "largest_effort": float(np.abs(trace.effort).max()),
    }
    kept = {"t": series(trace.t), "error": series(trace.error)}
    if trace.estimates.size:
        mass = trace.estimates[:, 0, 0]
        wrong = 1e3 * np.abs(mass - MASS)
        values |= {"mass_error_then": float(wrong[moving]), "mass_error_end": float(wrong[-1])}
        kept["mass"] = series(mass)
    return Measured(values, kept)


def _case(row: str, law: Mapping[str, Any], start: Any, degree: int, plant: Mapping[str, Any], adapts: bool) -> Case:
    robot, q = str(share("config/robots/point_masses5.yaml")), tuple(start.tolist())
    time = TIMES[degree]
    reference = {"type": "joint_polynomial", "start": q, "end": tuple(END.tolist()), "time": time, "degree": degree}
    config = RunConfig.model_validate(
        {
            "robot": robot,
            "plant": {"engine": "model", "urdf": robot, **plant},
            "law": law,
            "reference": reference,
            "start": {"q": q},
            "duration": 2.0 * time,
            "rate": RATE,
            "host": {"approaches_jumps": False, "effort_rate_limit": 1e9},
        }
    )
    return Case(row, config, time, adapts, measure_motion)


def _line(title: str, start: Any) -> Group:
    cases = tuple(_case(row, law, start, 1, FILTER, False) for row, law in LAWS.items())
    better = Criterion("IAE [rad·s]", 1.0, rows=(PD_PLUS, SLOW, FAST), times=COMPUTED_TORQUE)
    return Group(title, cases, (Criterion("faults", 0.0), better), TABLE, _draw)


def full(_settings: Settings) -> Group:
    """The line over the full range."""
    return _line("Line, full range", START)


def half(_settings: Settings) -> Group:
    """The line over its second half."""
    return _line("Line, half range", 0.5 * (START + END))


def _adaptive_law(gamma: float, alpha: float, first: float) -> dict[str, Any]:
    gains = {"sigma_0": 1e-3, "sigma_1": TIMES[3] ** -3, "nu": 3.0, "gamma": 1.0 / gamma, "alpha": alpha}
    gains |= {"mass_lower": BOUNDS[0], "mass_upper": BOUNDS[1], "scan_period": 2e-3}
    gains |= {"adaptation_limit": 1e9, "rest_speed": 0.0}
    return {
        "name": "variable_inertia_adaptive",
        "gains": {**_inertia_gains(100.0, 0.1), **gains},
        "initial_estimates": {LINK: {"mass": first, "com": PLACE}},
    }


def cubic(_settings: Settings) -> Group:
    """The cubic polynomial, the last mass believed too small."""

    def case(row: str, what: str, plant: Mapping[str, Any]) -> Case:
        law = _adaptive_law(*ADAPTIVE.get(what, ADAPTIVE[PUBLISHED]), MASS if what == TRUE else BELIEVED)
        return _case(row, law, START, 3, plant, what in ADAPTIVE)

    cases = [case(row, what, FILTER) for row, what in FILTERED.items()]
    cases += [case(row, row, {"velocity": "exact"}) for row in (TRUE, FIXED, *ADAPTIVE)]
    better = Criterion("IAE [rad·s]", 0.3, rows=tuple(ADAPTIVE), times=FIXED)
    near = Criterion("mass error at the end [g]", 20.0, rows=tuple(ADAPTIVE))
    return Group("Cubic, a mass unknown", tuple(cases), (Criterion("faults", 0.0), better, near), ADAPTIVE_TABLE, _draw)


def _draw(results: Sequence[tuple[Case, Outcome]]) -> Figures:
    ran = {case.row: outcome.series for case, outcome in results if outcome.series}
    if not ran:
        return {}
    adapted = {case.row: outcome.series for case, outcome in results if case.adaptation and outcome.series}
    with matplotlib.style.context(STYLE):
        drawn = {row: one for row, one in ran.items() if row not in FILTERED}
        figures = {"error_over_time": _errors(drawn, results[0][0].window)}
        if adapted:
            figures["mass"] = _masses(adapted)
    return figures


def _style(place: int) -> dict[str, Any]:
    return {"color": COLOURS[place % len(COLOURS)]}


def _errors(runs: Runs, end: float) -> Figure:
    """A panel for each joint, and one for the sum of their magnitudes; a dotted line where the reference ends."""
    figure = Figure(figsize=(11.0, 5.2), layout="constrained")
    axes: list[Axes] = list(figure.subplots(2, 3).ravel())
    for place, (row, one) in enumerate(runs.items()):
        t, error = np.array(one["t"]), np.array(one["error"])
        for axis, values in zip(axes, (*error.T, np.abs(error).sum(axis=1)), strict=True):
            axis.plot(t, values, label=row, **_style(place))
    for number, axis in enumerate(axes, start=1):
        axis.axvline(end, **LIMIT)
        axis.set(title=f"joint {number}" if number <= len(START) else "Σ|e_i|", xlabel="t [s]")
    for axis in axes[::3]:
        axis.set_ylabel("e [rad]")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def _masses(runs: Runs) -> Figure:
    """The estimated mass over time, with the true one, and bounds and the end of the reference dotted."""
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    axis = figure.subplots()
    for place, (row, one) in enumerate(runs.items()):
        axis.plot(one["t"], one["mass"], "--" if row in FILTERED else "-", label=row, **_style(place))
    axis.axhline(MASS, **TRUTH)
    for bound in BOUNDS:
        axis.axhline(bound, **LIMIT)
    axis.axvline(TIMES[3], **LIMIT)
    axis.set(xlabel="t [s]", ylabel="m_5 [kg]", title="Estimated mass")
    figure.legend(loc="outside right center")
    return figure


def variable_inertia() -> Experiment:
    """Name the groups."""
    return Experiment(
        "Fast motions of five point masses: variable inertia, computed torque and PD+, and a mass that adapts.",
        {"full": full, "half": half, "cubic": cubic},
        SETUP,
    )
