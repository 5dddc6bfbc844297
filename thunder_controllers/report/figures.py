"""Figures of a scenario's traces: error, effort, estimates against truth, time of the control step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from thunder_controllers.simulation.trace import Timing, Trace
from thunder_dynamics.inertia import REG_NAMES

FloatArray = NDArray[np.float64]

COLOURS = ("#d1495b", "#1f6f8b", "#edae49", "#3c7a57", "#7b5ea7", "#8c6d46", "#555555")
"""One per run or joint; told apart by lightness as well as by hue."""

TRUTH: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.0, "label": "truth"}
LIMIT: dict[str, Any] = {"color": "#888888", "linestyle": ":", "linewidth": 1.0}

STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.1,
    "figure.dpi": 110,
}

MAX_POINTS = 4000
"""Points per line: more than a figure has pixels across; longer traces are drawn through every k-th sample."""

ERROR_FLOOR = 1e-12
"""Lowest error drawn on a logarithmic axis."""

QUIET_SHARE = 0.01
"""Share of samples that may lie below the drawn range: a start exactly on the path would squeeze everything else."""

DASHES = ("-", "--", ":")
"""Of lines beyond the number of colours, in turn."""

PLACES = (0, 3, 4, 5, 6, 7, 8, 9, 10, 11)
"""Panels of a body's parameters: the mass above the CoM above the inertia."""

Traces = Mapping[str, Trace]
Curve = tuple[FloatArray, FloatArray]
"""Times (N,) and parameters in REG order (N, 10)."""


def make_figures(traces: Traces, timings: Mapping[str, Timing]) -> dict[str, Figure]:
    """Draw all figures of a scenario, by name; the runs are compared inside each."""
    with matplotlib.style.context(STYLE):
        figures = {"error_norm": error_norm(traces), "error_axes": error_axes(traces)}
        for name, trace in traces.items():
            figures[f"effort_{name}"] = efforts(name, trace)
            if trace.fault_names.size:
                figures[f"faults_{name}"] = faults(name, trace)
        for index, link in enumerate(next(iter(traces.values())).adapted_links):
            if all(len(trace.adapted_links) > index for trace in traces.values()):
                figures[f"estimates_{str(link).replace('/', '_')}"] = estimates(str(link), index, traces)
        figures["step_time"] = step_time(timings)
    return figures


def error_norm(traces: Traces) -> Figure:
    """‖e‖ over time, logarithmic, all runs."""
    figure, axes = _grid(1, 1, height=3.4)
    lowest = np.inf
    for colour, (name, trace) in zip(_colours(traces), traces.items(), strict=True):
        norm = np.maximum(np.linalg.norm(trace.error, axis=1), ERROR_FLOOR)
        axes[0].semilogy(_thin(trace.t), _thin(norm), color=colour, label=name)
        lowest = min(lowest, float(np.quantile(norm, QUIET_SHARE)))
    axes[0].set_ylim(bottom=0.3 * lowest)
    _label(axes[0], "Error norm", "‖e‖ [m, rad]")
    figure.legend(loc="outside upper right", ncols=len(traces))
    return figure


def error_axes(traces: Traces) -> Figure:
    """Components of the error, one panel per axis or joint, all runs."""
    first = next(iter(traces.values()))
    cartesian = first.is_cartesian
    names = ["x", "y", "z", "about x", "about y", "about z"] if cartesian else [str(j) for j in first.joint_names]
    figure, axes = _grid((len(names) + 2) // 3, 3, height=2.1)
    for k, (axis, name) in enumerate(zip(axes, names, strict=False)):
        for colour, (run, trace) in zip(_colours(traces), traces.items(), strict=True):
            axis.plot(_thin(trace.t), _thin(trace.error[:, k]) * 1e3, color=colour, label=run)
        _label(axis, name, ("e [mm]" if k < 3 else "e [mrad]") if cartesian else "e [mrad, mm]")
    _hide(axes[len(names) :])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=len(traces))
    return figure


def efforts(name: str, trace: Trace) -> Figure:
    """Commanded effort of each joint with its limits; one run."""
    n = trace.effort.shape[1]
    figure, axes = _grid((n + 3) // 4, 4, height=2.0)
    for joint, axis in enumerate(axes[:n]):
        axis.plot(_thin(trace.t), _thin(trace.effort[:, joint]), color=COLOURS[1])
        limit = trace.effort_limit[joint]
        if np.isfinite(limit):
            for sign in (-1.0, 1.0):
                axis.axhline(sign * limit, **LIMIT)
        _label(axis, str(trace.joint_names[joint]), "[N·m, N]")
    _hide(axes[n:])
    figure.suptitle(f"Effort, run {name} (dotted: limits)", fontsize=10)
    return figure


def faults(name: str, trace: Trace) -> Figure:
    """When which fault of the plant was in force; one run."""
    figure, axes = _grid(1, 1, height=0.6 + 0.3 * len(trace.fault_names))
    ends = np.append(trace.t, trace.t[-1])
    for row, steps in enumerate(trace.faults.T):
        first, after = np.flatnonzero(np.diff(steps, prepend=False, append=False)).reshape(-1, 2).T
        spans = np.column_stack((ends[first], ends[after] - ends[first])).tolist()
        axes[0].broken_barh(spans, (row - 0.3, 0.6), color=COLOURS[0])
    axes[0].set_yticks(range(len(trace.fault_names)), [str(label) for label in trace.fault_names])
    axes[0].set(title=f"Faults, run {name}", xlabel="t [s]", xlim=(trace.t[0], trace.t[-1]))
    axes[0].invert_yaxis()
    return figure


def estimates(link: str, index: int, traces: Traces) -> Figure:
    """Estimated mass, CoM and inertia about the frame origin against the truth; one adapted link, all runs."""
    curves = {run: (_thin(trace.t), _thin(trace.estimates[:, index])) for run, trace in traces.items()}
    last = next(iter(traces.values()))
    truth = np.append(last.truth_time, last.t[-1]), np.vstack([last.truth[:, index], last.truth[-1:, index]])
    return parameters(f"Estimates of {link}, inertia about the frame origin", curves, truth)


def parameters(title: str, curves: Mapping[str, Curve], truth: Curve, alike: int = 1) -> Figure:
    """Mass, CoM and inertia of one body over time, a panel each: estimates by name, and dashed the truth, in steps.

    As many curves in a row as are `alike` share a colour.
    """
    figure, axes = _grid(4, 3, height=1.75)
    panels = [("mass", "m [kg]"), *((f"CoM {a}", f"c{a} [m]") for a in "xyz")]
    panels += [(name, "[kg·m²]") for name in REG_NAMES[4:]]
    for number, (name, (t, pi)) in enumerate(curves.items()):
        colour, dash = divmod(number, alike) if alike > 1 else (number, number // len(COLOURS))
        style: dict[str, Any] = {"color": COLOURS[colour % len(COLOURS)], "linestyle": DASHES[dash % len(DASHES)]}
        for place, column in zip(PLACES, with_centre(pi).T, strict=True):
            axes[place].plot(t, column, label=name, **style)
    ends, pi = truth
    for place, (name, unit), column in zip(PLACES, panels, with_centre(pi).T, strict=True):
        axes[place].step(ends, column, where="post", **TRUTH)
        _label(axes[place], name, unit)
    handles, labels = axes[0].get_legend_handles_labels()
    axes[1].legend(handles, labels, loc="center", ncols=1 + len(labels) // 6)
    for axis in axes[1:3]:
        axis.axis("off")
    figure.suptitle(title, fontsize=10)
    return figure


def with_centre(pi: FloatArray) -> FloatArray:
    """REG rows (N, 10) with the first moment divided by the mass; NaN where there is none and so no centre."""
    mass = np.where(pi[:, :1] == 0.0, np.nan, pi[:, :1])
    return np.hstack([pi[:, :1], pi[:, 1:4] / mass, pi[:, 4:]])


def step_time(timings: Mapping[str, Timing]) -> Figure:
    """Distribution of the time of one control step inside the host: histogram, and share of steps that take longer."""
    figure, axes = _grid(1, 2, height=3.0)
    micro = {name: np.maximum(timing.step_ns, 1) * 1e-3 for name, timing in timings.items()}
    low, high = min(m.min() for m in micro.values()), max(m.max() for m in micro.values())
    bins = np.geomspace(low * 0.9, high * 1.1, 80).tolist()
    for colour, (name, values) in zip(_colours(timings), micro.items(), strict=True):
        axes[0].hist(values, bins=bins, histtype="step", color=colour, label=name)
        share = 1.0 - np.arange(len(values)) / len(values)
        axes[1].loglog(np.sort(values), share, color=colour, label=name)
    axes[0].set_xscale("log")
    axes[0].set_yscale("log")
    for axis, title, unit in zip(
        axes, ("Control step", "Share of steps that take longer"), ("steps", "share"), strict=True
    ):
        axis.set(title=title, xlabel="time of one step [µs]", ylabel=unit)
    axes[0].legend(loc="upper right")
    return figure


def _grid(rows: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """A figure of panels, 10 inches wide, each row `height` inches high; no state of pyplot is touched."""
    figure = Figure(figsize=(10.0, height * rows + 0.3), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(rows, columns, squeeze=False).ravel())


def _label(axis: Axes, title: str, unit: str) -> None:
    axis.set(title=title, xlabel="t [s]", ylabel=unit)


def _hide(axes: list[Axes]) -> None:
    for axis in axes:
        axis.set_visible(False)


def _thin(values: FloatArray) -> FloatArray:
    return values[:: max(1, -(-len(values) // MAX_POINTS))]


def _colours(items: Mapping[str, object]) -> list[str]:
    return [COLOURS[k % len(COLOURS)] for k in range(len(items))]
