"""Interactive plots of a scenario's traces: errors, guards, efforts, estimates with their uncertainty, step times.

Traces of runs that a fault ended are given as `Trace.until_fault` makes them: scales are those of what led there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from thunder_controllers.fields import FloatArray
from thunder_controllers.host import FAULTS, Guard
from thunder_controllers.report.figures import with_centre
from thunder_controllers.report.summary import HIDDEN, OPEN, UNITS, adapting
from thunder_controllers.simulation.metrics import error_norms
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_controllers.view.arm import COLOURS
from thunder_dynamics.inertia import DYN_NAMES

Traces = Mapping[str, Trace]
Runs = Mapping[str, Mapping[str, Any]]

MOST_POINTS = 1500
"""Of a line: more than a plot has pixels across; longer traces are drawn through every k-th sample."""

ERROR_FLOOR = 1e-9
"""Lowest error drawn on a logarithmic axis [mm or mrad]."""

QUIET_SHARE = 0.01
"""Share of samples that may lie below the drawn range: a start exactly on the path would squeeze everything else."""

SHORTEST_GAP = 1 / 500
"""Of the time of a run: bars with less between them are drawn as one."""

FAULT, LIMIT, CHOICE, PLANT = "#d1495b", "#edae49", "#b8c0c8", "#7b5ea7"
"""Of bars: a fault stopped the arm, the host cut something, somebody asked for it, the simulated robot has a fault."""


def errors(traces: Traces) -> go.Figure:
    """Norm of each part of the error over time, in mm and mrad, logarithmic; all runs."""
    parts = {run: error_norms(trace) for run, trace in traces.items()}
    names = list(next(iter(parts.values())))
    figure = make_subplots(len(names), 1, shared_xaxes=True, vertical_spacing=0.06)
    for row, name in enumerate(names, 1):
        drawn = {run: np.maximum(1e3 * part[name][1], ERROR_FLOOR) for run, part in parts.items()}
        for colour, (run, y) in zip(COLOURS, drawn.items(), strict=False):
            figure.add_trace(_line(traces[run], y, run, colour, row == 1), row, 1)
        ends = [min(np.quantile(y, QUIET_SHARE) for y in drawn.values()), max(y.max() for y in drawn.values())]
        axis = {
            "type": "log",
            "exponentformat": "power",
            "dtick": 1,
            "range": np.log10([0.5 * ends[0], 2.0 * ends[1]]).tolist(),
        }
        figure.update_yaxes(title=f"{name} [m{parts[run][name][0]}]", row=row, col=1, **axis)
    return _finish(figure, 190 * len(names) + 60, traces, len(names))


def components(traces: Traces) -> go.Figure:
    """The error axis by axis, in the world frame, or joint by joint, in mm and mrad; all runs.

    Axes in which no run has an error, those that the arm or its task lacks, are left out.
    """
    first = next(iter(traces.values()))
    if first.is_cartesian:
        names = [*(f"{a} [mm]" for a in "xyz"), *(f"about {a} [mrad]" for a in "xyz")]
    else:
        names = [f"{j} [m{u}]" for j, u in zip(first.joint_names, first.joint_units, strict=True)]
    largest = np.max([np.abs(trace.error).max(axis=0) for trace in traces.values()], axis=0)
    shown = np.flatnonzero(largest > 1e-3 * ERROR_FLOOR) if largest.any() else np.arange(len(names))
    drawn = {run: (trace, 1e3 * trace.error[:, shown]) for run, trace in traces.items()}
    return _curves([names[k] for k in shown], 3, drawn)


def timeline(traces: Traces, runs: Runs) -> go.Figure:
    """When which guard of the host acted, and which fault of the simulated robot was in force, as bars."""
    figure = make_subplots()
    shown: set[str] = set()
    for run, trace in traces.items():
        adapts = runs[run].get("adaptation", True)
        bars = [(str(name), _kind(str(name), adapts), trace.acted(str(name))) for name in trace.guard_names]
        plant = PLANT, "fault of the simulated robot"
        bars += [(str(name), plant, steps) for name, steps in zip(trace.fault_names, trace.faults.T, strict=True)]
        for name, (colour, legend), steps in bars:
            if not steps.any():
                continue
            start, length = _spans(trace, steps)
            label = escape(f"{name.replace('_', ' ')} · {run}")
            figure.add_trace(
                go.Bar(
                    y=[label] * len(start),
                    base=start,
                    x=length,
                    orientation="h",
                    marker={"color": colour, "line": {"color": colour, "width": 1}},
                    name=legend,
                    legendgroup=legend,
                    showlegend=legend not in shown,
                    hovertemplate=f"from %{{base:.3f}} s, %{{x:.3f}} s<extra>{label}: {int(steps.sum())} steps</extra>",
                )
            )
            shown.add(legend)
    figure.update_yaxes(autorange="reversed", automargin=True)
    figure.update_layout(barmode="overlay")
    end = max(float(trace.t[-1] + trace.step) for trace in traces.values())
    figure.update_xaxes(range=[0.0, end])
    return _finish(figure, 130 + 26 * len({bar.y[0] for bar in figure.data}), traces)


def efforts(traces: Traces) -> go.Figure:
    """Commanded effort of each joint with its limits; all runs."""
    first = next(iter(traces.values()))
    names = _effort_names(first)
    figure = _curves(names, 4, {run: (trace, trace.effort) for run, trace in traces.items()})
    for k in np.flatnonzero(np.isfinite(first.effort_limit)).tolist():
        for sign in (-1.0, 1.0):
            limit, style = sign * float(first.effort_limit[k]), {"color": "#888", "dash": "dot"}
            figure.add_hline(limit, line=style, row=k // 4 + 1, col=k % 4 + 1)
    return figure


def effort_differences(traces: Traces) -> go.Figure:
    """Commanded effort of each joint less that of the first run, while both go on; nothing of a single run."""
    base, *others = traces.values()
    if not others:
        return go.Figure()
    drawn = {}
    for run, trace in list(traces.items())[1:]:
        steps = min(len(base.effort), len(trace.effort))
        drawn[run] = (trace, trace.effort[:steps] - base.effort[:steps])
    return _curves(_effort_names(base), 4, drawn, COLOURS[1:])


def _effort_names(trace: Trace) -> list[str]:
    units = ["N" if unit == "m" else "N·m" for unit in trace.joint_units]
    return [f"{joint} [{unit}]" for joint, unit in zip(trace.joint_names, units, strict=True)]


def estimates(link: str, traces: Traces, runs: Runs) -> go.Figure:
    """Mass, CoM and inertia about the frame origin of an adapted link: estimates, truth, and what the motion tells.

    The band is what the last run's record says, twice its standard deviation to each side.
    """
    traces = adapting(link, traces)
    last = list(traces)[-1]
    record = runs[last].get("record", {}).get(link)
    known = DYN_NAMES if record is None else record["known"]
    settled = DYN_NAMES if record is None else record["settled"]
    doubts = {n: HIDDEN if n not in known else OPEN for n in DYN_NAMES if n not in settled}
    titles = [f"{n} [{u}]" + (f" — {doubts[n]}" if n in doubts else "") for n, u in UNITS.items()]
    figure = _grid(titles, 4)
    for k, name in enumerate(DYN_NAMES):
        place = {"row": k // 4 + 1, "col": k % 4 + 1}
        for colour, (run, trace) in zip(COLOURS, traces.items(), strict=False):
            index = trace.adapted_links.tolist().index(link)
            values = with_centre(trace.estimates[:, index])[:, k]
            line = _line(trace, values, run, colour if name in known else CHOICE, k == 0)
            figure.add_trace(line, **place)
        if record is not None and name in known:
            figure.add_trace(_band(traces[last], record["fit"][name], 2.0 * record["std"][name], k == 0), **place)
        figure.add_trace(_truth(traces[last], traces[last].adapted_links.tolist().index(link), k), **place)
    for title in figure.layout.annotations:
        title.font.color = "#8c959f" if HIDDEN in title.text else "#1b1f24"
    return _finish(figure, 660, traces)


def step_times(timings: Mapping[str, Timing]) -> go.Figure:
    """Distribution of the time of one control step inside the host, guards included."""
    figure = go.Figure()
    micro = {run: np.maximum(timing.step_ns, 1) * 1e-3 for run, timing in timings.items()}
    edges = np.geomspace(min(m.min() for m in micro.values()) * 0.9, max(m.max() for m in micro.values()) * 1.1, 80)
    for colour, (run, values) in zip(COLOURS, micro.items(), strict=False):
        count, _ = np.histogram(values, edges)
        line = {"shape": "hv", "color": colour}
        figure.add_trace(go.Scatter(x=edges[:-1], y=np.maximum(count, 0.1), line=line, name=escape(run)))
    figure.update_xaxes(type="log", title="time of one step [µs]")
    figure.update_yaxes(type="log", title="steps", range=[-0.3, None])
    return _finish(figure, 300)


def _curves(
    names: list[str], columns: int, drawn: Mapping[str, tuple[Trace, FloatArray]], colours: Sequence[str] = COLOURS
) -> go.Figure:
    """A panel per column of the values, (N, n), of each run."""
    figure = _grid(names, columns)
    for colour, (run, (trace, values)) in zip(colours, drawn.items(), strict=False):
        for k in range(len(names)):
            line = _line(trace, values[:, k], run, colour, k == 0)
            figure.add_trace(line, k // columns + 1, k % columns + 1)
    height = 200 * (-(-len(names) // columns)) + 60
    return _finish(figure, height, {run: trace for run, (trace, _) in drawn.items()})


def _grid(titles: list[str], columns: int) -> go.Figure:
    rows = -(-len(titles) // columns)
    titles = [escape(title) for title in titles]
    spacing = {"vertical_spacing": 0.28 / rows, "horizontal_spacing": 0.06}
    return make_subplots(rows, columns, shared_xaxes="all", subplot_titles=titles, **spacing)


def _line(trace: Trace, values: FloatArray, run: str, colour: str, legend: bool) -> go.Scatter:
    """A line through every k-th value, whose times are not listed."""
    every = -(-len(values) // MOST_POINTS)
    style = {"line": {"color": colour, "width": 1.4}, "legendgroup": run, "showlegend": legend}
    x = {"x0": float(trace.t[0]), "dx": trace.step * every}
    return go.Scatter(**x, y=values[::every].astype(np.float32), mode="lines", name=escape(run), **style)


def _band(trace: Trace, centre: float, half: float, legend: bool) -> go.Scatter:
    start, end = float(trace.truth_time[-1]), float(trace.t[-1])
    style = {"line": {"width": 0}, "fill": "toself", "fillcolor": "rgba(60, 122, 87, 0.3)", "hoverinfo": "skip"}
    x, y = [start, end, end, start], [centre - half, centre - half, centre + half, centre + half]
    return go.Scatter(
        x=x, y=y, mode="lines", name="least-squares fit", legendgroup="record", showlegend=legend, **style
    )


def _truth(trace: Trace, index: int, k: int) -> go.Scatter:
    values = with_centre(trace.truth[:, index])[:, k]
    style: dict[str, Any] = {"line": {"color": "black", "dash": "dash", "width": 1, "shape": "hv"}}
    x, y = np.append(trace.truth_time, trace.t[-1]), np.append(values, values[-1])
    return go.Scatter(x=x, y=y, mode="lines", name="truth", legendgroup="truth", showlegend=k == 0, **style)


def _kind(guard: str, adapts: bool) -> tuple[str, str]:
    """Colour and legend of a guard of that name."""
    if guard == "adaptation_frozen" and not adapts:
        return CHOICE, "as chosen: adaptation off"
    if guard in (str(one.name).lower() for one in Guard if one & FAULTS):
        return FAULT, "fault: the arm is stopped"
    return LIMIT, "the host limits or holds"


def _spans(trace: Trace, steps: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Start and length of what lasts, short gaps closed."""
    first, after = np.flatnonzero(np.diff(steps, prepend=False, append=False)).reshape(-1, 2).T
    apart = (first[1:] - after[:-1]) > SHORTEST_GAP * len(steps)
    first, after = first[np.append(True, apart)], after[np.append(apart, True)]
    return trace.t[first], (after - first) * trace.step


def _finish(figure: go.Figure, height: int, traces: Traces | None = None, labelled_row: int | None = None) -> go.Figure:
    """The common look; with traces the axes are of time, labelled in the last row alone, and events are marked."""
    figure.update_layout(
        template="plotly_white",
        height=height,
        margin={"l": 60, "r": 15, "t": 40, "b": 40},
        legend={"orientation": "h", "y": 1.0, "yanchor": "top", "yref": "container", "x": 0},
        hovermode="x unified" if labelled_row else "closest",
        font={"size": 11},
    )
    figure.update_annotations(font_size=11)
    if traces is not None:
        figure.update_xaxes(title="t [s]", **({"row": labelled_row, "col": 1} if labelled_row else {}))
        figure.update_layout(meta="time")
        for t, text in sorted({change for trace in traces.values() for change in _changes(trace)}):
            _mark(figure, t, text, "#57606a")
        ended = [one for one in zip(COLOURS, traces.values(), strict=False) if one[1].first_fault() is not None]
        for number, (t, colour) in enumerate(sorted((float(trace.t[-1]), colour) for colour, trace in ended)):
            is_early = t < 0.5 * max(float(trace.t[-1]) for trace in traces.values())
            inside = {"yanchor": "top", "xanchor": "left" if is_early else "right"}
            _mark(figure, t, "" if number else "stopped", colour, **inside)
    return figure


def _mark(figure: go.Figure, t: float, text: str, colour: str, **anchors: str) -> None:
    """A vertical line in every panel, its text in the first: above, on the right of it, unless the anchors say else."""
    first = len(figure.layout.shapes)
    figure.add_vline(t, line={"color": colour, "dash": "dashdot", "width": 1}, row="all", col="all")
    label = {"text": text, "textposition": "end", "textangle": 0, "xanchor": "left", "yanchor": "bottom", **anchors}
    for shape in figure.layout.shapes[first : first + 1]:
        shape.label = label


def _changes(trace: Trace) -> list[tuple[float, str]]:
    """When the plant picked something up or dropped it, and how much if an adapted link carries it."""
    grown = np.diff(trace.truth[:, :, 0].sum(axis=1))
    texts = [f"{'+' if mass > 0.0 else '−'}{abs(mass):.3g} kg" if mass else "payload" for mass in grown]
    return list(zip(trace.truth_time[1:].tolist(), texts, strict=True))
