"""What figures share: their style, and the parameters of a body over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from thunder_controllers.fields import FloatArray
from thunder_controllers.view.arm import COLOURS as COLOURS
from thunder_dynamics.inertia import REG_NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRUTH: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.0}
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

ERROR_FLOOR = 1e-12
"""Lowest error drawn on a logarithmic axis."""

DASHES = ("-", "--", ":")
"""Of lines beyond the number of colours, in turn."""

PLACES = (0, 3, 4, 5, 6, 7, 8, 9, 10, 11)
"""Panels of a body's parameters: the mass above the CoM above the inertia."""

Curve = tuple[FloatArray, FloatArray]
"""Times (N,) and parameters in REG order (N, 10)."""


def parameters(title: str, curves: Mapping[str, Curve], truth: Curve, alike: int = 1, known: str = "truth") -> Figure:
    """Mass, CoM and inertia of one body over time, a panel each: estimates by name, and dashed the truth, in steps.

    `known` is what is said of the truth.

    As many curves in a row as are `alike` share a colour.
    """
    from matplotlib.figure import Figure  # here: a run that draws none need not wait for it

    figure = Figure(figsize=(10.0, 7.3), layout="constrained")  # no state of pyplot is touched
    axes = list(figure.subplots(4, 3).ravel())
    panels = [("mass", "m [kg]"), *((f"CoM {a}", f"c{a} [m]") for a in "xyz")]
    panels += [(name, "[kg·m²]") for name in REG_NAMES[4:]]
    for number, (name, (t, pi)) in enumerate(curves.items()):
        colour, dash = divmod(number, alike) if alike > 1 else (number, number // len(COLOURS))
        style: dict[str, Any] = {"color": COLOURS[colour % len(COLOURS)], "linestyle": DASHES[dash % len(DASHES)]}
        for place, column in zip(PLACES, with_centre(pi).T, strict=True):
            axes[place].plot(t, column, label=name, **style)
    ends, pi = truth
    for place, (name, unit), column in zip(PLACES, panels, with_centre(pi).T, strict=True):
        axes[place].step(ends, column, where="post", label=known, **TRUTH)
        axes[place].set(title=name, xlabel="t [s]", ylabel=unit)
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
