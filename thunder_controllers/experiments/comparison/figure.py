"""The figure of a comparison: the error over time, and where every run ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from thunder_controllers.experiments.experiment import DONE, Case, Outcome
from thunder_controllers.report.figures import COLOURS, DASHES, ERROR_FLOOR, STYLE

CURVES = 10
"""As many as can be told apart; of more combinations the best are drawn over time."""


def draw(results: Sequence[tuple[Case, Outcome]]) -> Figure:
    """Draw, of each row, the median error of its cases over time with their range, and where each case ended.

    Rows are ordered by error, the best on top, and are the legend of the curves; a cross is a run that was stopped.
    """
    members: dict[str, list[Outcome]] = {case.row: [] for case, _ in results}
    for case, outcome in results:
        members[case.row].append(outcome)
    names = sorted(members, key=lambda name: _median_error(members[name]))
    with matplotlib.style.context(STYLE):
        figure = Figure(figsize=(12.0, max(4.0, 1.2 + 0.28 * len(names))), layout="constrained")
        over_time, ends = figure.subplots(1, 2)
        for place, name in enumerate(names):
            colour, dash = COLOURS[place % len(COLOURS)], DASHES[place // len(COLOURS) % len(DASHES)]
            drawn = place < CURVES
            if drawn:
                _curve(over_time, members[name], colour, dash)
            _dots(ends, place, members[name], colour if drawn else "#888888", dash)
        title = "Error" if len(names) <= CURVES else f"Error of the best {CURVES}"
        over_time.set(title=f"{title} over time: median and range of the seeds", xlabel="t [s]", ylabel="‖e‖ [m, rad]")
        over_time.set_yscale("log")
        ends.set(title="Mean error at the end, every run", xlabel="‖e‖ [m, rad]", xscale="log")
        ends.set_yticks(range(len(names)), names, fontsize=8)
        ends.set_ylim(len(names) - 0.5, -0.5)
        ends.yaxis.tick_right()
    return figure


def _median_error(outcomes: Sequence[Outcome]) -> float:
    errors = [one.error for one in outcomes if one.error is not None and one.ended == DONE]
    return float(np.median(errors)) if len(errors) == len(outcomes) else np.inf


def _curve(axis: Axes, outcomes: Sequence[Outcome], colour: str, dash: str) -> None:
    found: list[Mapping[str, list[float]]] = [one.series for one in outcomes if one.series]
    if not found:
        return
    errors = np.maximum([one["error"] for one in found], ERROR_FLOOR)
    t = found[0]["t"]
    axis.plot(t, np.median(errors, axis=0), dash, color=colour)
    axis.fill_between(t, errors.min(axis=0), errors.max(axis=0), color=colour, alpha=0.15, linewidth=0.0)


def _dots(axis: Axes, place: int, outcomes: Sequence[Outcome], colour: str, dash: str) -> None:
    """A row: a bar of the style of its curve across the range of its seeds, and a mark for each."""
    for done, marker in ((True, "o"), (False, "x")):
        errors = [max(one.error or 1.0, ERROR_FLOOR) for one in outcomes if (one.ended == DONE) == done]
        axis.plot(errors, [place] * len(errors), dash if done else "", color=colour, marker=marker, ms=4.5, alpha=0.8)
