"""The figure of an experiment: a panel per group, a mark per case at its error; before and now where both are given."""

from __future__ import annotations

from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from thunder_controllers.experiments.experiment import DONE, REFUSED
from thunder_controllers.experiments.table import Document
from thunder_controllers.report.figures import COLOURS, ERROR_FLOOR, STYLE

ACROSS = 2
"""Panels in a row."""

STOPPED_AT = 10.0
"""Where a case is marked that has no error, as a fault stopped it or its plant diverged [m, rad]."""

SPREAD = 0.15
"""Half the width of a row's cloud of marks; before and now have one each."""


def draw_cases(document: Document, earlier: Document | None = None) -> Figure | None:
    """Draw dots for errors of cases that ran to their end, crosses for those stopped by a fault; None without cases."""
    groups = {key: group for key, group in document["groups"].items() if group["cases"]}
    shown = {"now": document} if earlier is None else {"before": earlier, "now": document}
    if not groups:
        return None
    with matplotlib.style.context(STYLE):
        lines = -(-len(groups) // ACROSS)
        figure = Figure(figsize=(11.0, 3.0 * lines), layout="constrained")
        axes = figure.subplots(lines, ACROSS, squeeze=False).ravel()
        for axis, (key, group) in zip(axes, groups.items(), strict=False):
            for index, (name, one) in enumerate(shown.items()):
                cases = one["groups"].get(key, {"cases": {}})["cases"]
                offset = 2.4 * SPREAD * (index - 0.5 * (len(shown) - 1))
                _panel(axis, list(group["rows"]), cases, offset, COLOURS[0 if name == "before" else 1], name)
            axis.set_title(group["title"])
            axis.set_xticks(range(len(group["rows"])), _labels(group), rotation=20, ha="right", fontsize=7)
        for axis in axes[len(groups) :]:
            axis.set_visible(False)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=len(labels))
    return figure


def _panel(axis: Axes, rows: list[str], cases: dict[str, Any], offset: float, colour: str, name: str) -> None:
    marks = {True: ("o", name), False: ("x", f"{name}, stopped by a fault")}
    for done, (marker, label) in marks.items():
        points = [
            (place + offset + SPREAD * shift, STOPPED_AT if error is None else max(error, ERROR_FLOOR))
            for place, row in enumerate(rows)
            for shift, (ended, error, _) in zip(_shifts(len(cases.get(row, []))), cases.get(row, []), strict=True)
            if ended != REFUSED and (ended == DONE) == done
        ]
        x, y = np.reshape(points, (-1, 2)).T
        axis.scatter(x, y, s=14, marker=marker, color=colour, alpha=0.7, linewidths=0.9, label=label)
    axis.set_yscale("log")
    axis.set_ylabel("‖e‖ [m, rad]")
    axis.set_xlim(-0.5, len(rows) - 0.5)


def _labels(group: dict[str, Any]) -> list[str]:
    refused = {row: sum(ended == REFUSED for ended, *_ in cases) for row, cases in group["cases"].items()}
    return [f"{row}, {count} refused" if (count := refused.get(row)) else row for row in group["rows"]]


def _shifts(count: int) -> list[float]:
    return np.linspace(-1.0, 1.0, count).tolist() if count > 1 else [0.0] * count
