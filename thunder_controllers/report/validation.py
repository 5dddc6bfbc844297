"""The figure of an identification: efforts that were not fitted, and what is predicted of them."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.style
import numpy as np
from matplotlib.figure import Figure

from thunder_controllers.identification.robot_fit import RobotFit
from thunder_controllers.report.figures import COLOURS, STYLE


def draw_validation(found: RobotFit, joints: Sequence[str]) -> Figure:
    """Draw a panel per joint: the effort held out, the prediction by the bodies, and what that leaves."""
    motion, residual = found.held_out, found.residual(found.predicted_by_bodies)
    t = motion.period * np.arange(len(motion.q))
    with matplotlib.style.context(STYLE):
        figure = Figure(figsize=(9.0, 1.7 * len(joints)), layout="constrained")
        axes = figure.subplots(len(joints), 1, sharex=True, squeeze=False)[:, 0]
        for k, (axis, joint) in enumerate(zip(axes, joints, strict=True)):
            axis.plot(t, motion.effort[:, k], color=COLOURS[1], label="measured")
            axis.plot(t, found.predicted_by_bodies[:, k], color=COLOURS[0], linestyle="--", label="predicted")
            axis.plot(t, motion.effort[:, k] - found.predicted_by_bodies[:, k], color=COLOURS[6], label="difference")
            axis.set_title(f"{joint}: {residual[k]:.3g} left, noise {found.noise[k]:.3g}", loc="left")
            axis.set_ylabel("N·m or N")
        axes[0].legend(ncols=3, loc="upper right")
        axes[-1].set_xlabel("time held out [s]")
    return figure
