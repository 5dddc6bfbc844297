"""Figures of an experiment: every case of every group at its error, and series of a group's cases over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from thunder_controllers.experiments.experiment import DONE, REFUSED, Draw, Outcome, Results, by_row
from thunder_controllers.experiments.table import Document
from thunder_controllers.report.figures import COLOURS, DASHES, ERROR_FLOOR, LIMIT, STYLE, parameters

ACROSS = 3
"""Panels in a row."""

STOPPED_AT = 10.0
"""Where a case is marked that has no error, as a fault stopped it or its plant diverged [m, rad]."""

SPREAD = 0.15
"""Half the height of a row's cloud of marks; before and now have one each."""

CURVES = 10
"""Rows that a panel shows at most, as many as can be told apart: those with the least error."""


Series = Mapping[str, Any]
"""What a case keeps for figures: lists of numbers, or of rows of numbers, by name."""


def draw_cases(document: Document, earlier: Document | None = None) -> Figure | None:
    """Draw dots for errors of cases that ran to their end, crosses for those stopped by a fault; None without cases."""
    groups = {key: group for key, group in document["groups"].items() if group["cases"]}
    shown = {"now": document} if earlier is None else {"before": earlier, "now": document}
    if not groups:
        return None
    heights = [1.0 + 0.28 * len(group["rows"]) for group in groups.values()]
    with matplotlib.style.context(STYLE):
        figure = Figure(figsize=(11.0, sum(heights) + 0.4), layout="constrained")
        axes = figure.subplots(len(groups), squeeze=False, height_ratios=heights).ravel()
        for axis, (key, group) in zip(axes, groups.items(), strict=True):
            for index, (name, one) in enumerate(shown.items()):
                cases = one["groups"].get(key, {"cases": {}})["cases"]
                offset = 2.4 * SPREAD * (index - 0.5 * (len(shown) - 1))
                _marks(axis, list(group["rows"]), cases, offset, COLOURS[0 if name == "before" else 1], name)
            axis.set(title=group["title"], xscale="log", ylim=(len(group["rows"]) - 0.5, -0.5))
            axis.set_yticks(range(len(group["rows"])), _labels(group), fontsize=8)
        axes[-1].set_xlabel("‖e‖ [m, rad]")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=len(labels))
    return figure


def _marks(axis: Axes, rows: list[str], cases: dict[str, Any], offset: float, colour: str, name: str) -> None:
    marks = {True: ("o", name), False: ("x", f"{name}, stopped by a fault")}
    for done, (marker, label) in marks.items():
        points = [
            (STOPPED_AT if error is None else max(error, ERROR_FLOOR), place + offset + SPREAD * shift)
            for place, row in enumerate(rows)
            for shift, (ended, error, _) in zip(_shifts(len(cases.get(row, []))), cases.get(row, []), strict=True)
            if ended != REFUSED and (ended == DONE) == done
        ]
        x, y = np.reshape(points, (-1, 2)).T
        axis.scatter(x, y, s=14, marker=marker, color=colour, alpha=0.7, linewidths=0.9, label=label)


def _labels(group: dict[str, Any]) -> list[str]:
    refused = {row: sum(ended == REFUSED for ended, *_ in cases) for row, cases in group["cases"].items()}
    return [f"{row}, {count} refused" if (count := refused.get(row)) else row for row in group["rows"]]


def _shifts(count: int) -> list[float]:
    return np.linspace(-1.0, 1.0, count).tolist() if count > 1 else [0.0] * count


class Panel(NamedTuple):
    """What of the series of a case is shown over time.

    Attributes:
        title: Of the panel.
        series: Name of the series; of one with several numbers a time, with `column`.
        column: Which of them.
        lines: Values that are marked by dotted lines.
        log: Whether the axis is logarithmic.
        t: Name of the series of times.
    """

    title: str
    series: str
    column: int | None = None
    lines: Sequence[float] = ()
    log: bool = False
    t: str = "t"


ERROR = Panel("‖e‖ [m, rad]", "error", log=True)
"""What `measures.measure_run` keeps of any run."""


def over_time(*panels: Panel) -> Draw:
    """Make what draws panels of the series of a group's cases."""

    def draw(results: Results) -> Figure | None:
        rows = by_row([(case, one) for case, one in results if one.series])
        best = sorted(rows, key=lambda row: _median_error(rows[row]))[:CURVES]
        return draw_panels(panels, {row: [one.series for one in rows[row]] for row in rows if row in best})

    return draw


def draw_panels(panels: Sequence[Panel], rows: Mapping[str, Sequence[Series]]) -> Figure | None:
    """Draw of each row the median of its cases, and the range about it; None without rows."""
    if not rows:
        return None
    across = min(len(panels), ACROSS)
    lines = -(-len(panels) // across)
    figure = Figure(figsize=(max(8.0, 4.0 * across), 3.2 * lines + 0.8), layout="constrained")
    axes = figure.subplots(lines, across, squeeze=False).ravel()
    for axis, panel in zip(axes, panels, strict=False):
        for place, (row, runs) in enumerate(rows.items()):
            dash = DASHES[place // len(COLOURS) % len(DASHES)]
            _curve(axis, panel, runs, COLOURS[place % len(COLOURS)], dash, row)
        for line in panel.lines:
            axis.axhline(line, **LIMIT)
        axis.set(title=panel.title, xlabel="t [s]", yscale="log" if panel.log else "linear")
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=min(len(rows), 4))
    return figure


def _median_error(outcomes: Sequence[Outcome]) -> float:
    return float(np.median([one.values.get("error") or 0.0 for one in outcomes]))


def _curve(axis: Axes, panel: Panel, runs: Sequence[Series], colour: str, dash: str, label: str) -> None:
    of = ... if panel.column is None else (..., panel.column)
    values = np.array([one[panel.series] for one in runs], dtype=float)[of]
    values = np.maximum(values, ERROR_FLOOR) if panel.log else values
    t = runs[0][panel.t]
    axis.plot(t, np.median(values, axis=0), dash, color=colour, label=label)
    axis.fill_between(t, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.15, linewidth=0.0)


def draw_estimates(results: Results) -> Figure | None:
    """Draw the parameters that `measures.measure_estimates` keeps, of the first adapted case of each row."""
    adapted = by_row([(case, one) for case, one in results if case.adaptation and one.series])
    runs = {row: own[0].series for row, own in adapted.items()}
    if not runs:
        return None
    curves = {row: (np.array(one["t"]), np.array(one["estimates"])) for row, one in runs.items()}
    first = next(iter(runs.values()))
    return parameters("Estimates of the last adapted link", curves, (np.array(first["t"]), np.array(first["truth"])))
