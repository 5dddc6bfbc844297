"""One file of what was found: drives as readers of robots take them, measurement and gains as the host does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from thunder_controllers.analysis.gain_file import CONTROLLER
from thunder_controllers.analysis.margin import WANTED_MARGIN, find_margins
from thunder_controllers.analysis.sampled_loop import Timing
from thunder_controllers.commissioning.estimate import INTERVAL, Findings, Quantity
from thunder_controllers.fields import FloatArray
from thunder_controllers.host import Library, Options, margin_poses
from thunder_dynamics.build import build
from thunder_dynamics.errors import LawError
from thunder_dynamics.model import Drive, RobotModel
from thunder_dynamics.readers.source import DRIVES
from thunder_dynamics.storage.whole import write_text

POSES = 20
"""At which gains are judged, as `thunder gains` does."""

OF_A_READING = 6.0
"""Deviations that a reading may be off: one of 5·10⁸ is off by more."""

MEASURED = ("dead_time", "drive_lag", "velocity_cutoff", "velocity_by_differences", "position_noise")
"""Options of the host that the motion finds."""

DRIVE = ("rotor", "viscous", "coulomb", "offset", "gain")
"""Quantities of a joint in the file, those of `DriveEntry`."""

POSITIVE = DRIVE[:3]
"""Of these, what no drive has less than none of."""


def host_options(found: Findings, period: float) -> Options:
    """Options of the host that say how late and how noisy the arm is measured and driven.

    Lags of drives are a part of the dead time: below the waves' frequencies nothing tells one from the other.
    """
    noise = OF_A_READING * float(found.position_noise.value.max())
    return Options(
        nominal_dt=period,
        dead_time=float(np.fmax(found.delay.value, 0.0).max()),
        velocity_cutoff=float(found.velocity_cutoff.min()),
        velocity_by_differences=found.by_differences,
        position_noise=max(noise, Options().position_noise),
        measurement_timeout=max(Options().measurement_timeout, 2.0 * period),
    )


def drives_of(found: Findings, joints: tuple[str, ...]) -> dict[str, Drive]:
    """Drives of the joints by name, with what was told of each."""
    rows = {name: _positive(name, getattr(found, name).known()) for name in DRIVE[:4]}
    return {
        joint: Drive(**{name: None if np.isnan(row[k]) else float(row[k]) for name, row in rows.items()})
        for k, joint in enumerate(joints)
    }


def _positive(name: str, values: FloatArray) -> FloatArray:
    return np.asarray(np.fmax(values, 0.0)) if name in POSITIVE else values


def told_model(model: RobotModel, found: Findings) -> RobotModel:
    """The robot with the drives that were found, as its reader gives it with the file."""
    return model.with_drives(drives_of(found, model.joint_names))


def suggested_gains(
    model: RobotModel, law: str, options: Mapping[str, Any], found: Findings, rate: float
) -> tuple[dict[str, Any], float]:
    """K_d of a law, lowered where the loop needs it as `thunder gains` does, and the margin that it has then.

    Args:
        model: The robot with its drives, see `told_model`.
        law: Its name.
        options: It is built with.
        found: What was found of the measurement.
        rate: Of the control [Hz].

    Raises:
        LawError: if no K_d leaves the margin.
    """
    library = Library(build(model, [(law, options)]))
    measured = host_options(found, 1.0 / rate)
    timing = Timing(rate, delay=measured.dead_time, velocity_filter=measured.velocity_cutoff)
    poses = margin_poses(library, POSES, 0)
    margins = find_margins(library, law, {}, poses, timing)
    if margins.suggested is None:
        what = f"no K_d leaves a margin of {WANTED_MARGIN:g} with a dead time of {1e3 * measured.dead_time:.3g} ms"
        raise LawError(what, where=law, valid="a higher rate, or less delay")
    gains = {name: [float(f"{x:.4g}") for x in values] for name, values in margins.suggested.items()}
    return gains, find_margins(library, law, gains, poses, timing).margin


def write_commissioned(
    path: Path, found: Findings, joints: tuple[str, ...], period: float, gains: Mapping[str, Any], comment: str
) -> None:
    """Write the file: sections of ROS parameters of the controller and of the drives, below a comment.

    Each number of a drive has its standard deviation beside it; what is unknown is left out.

    Raises:
        LawError: if it cannot be written.
    """
    options = host_options(found, period)
    measured: dict[str, Any] = {name: _rounded(getattr(options, name)) for name in MEASURED}
    if gains:
        measured["gains"] = dict(gains)
    entries: dict[str, dict[str, float]] = {joint: {} for joint in joints}
    for name in DRIVE:
        quantity: Quantity = getattr(found, name)
        values = _positive(name, quantity.known())
        for joint, value, std in zip(joints, values, quantity.std, strict=True):
            if np.isfinite(value):
                entries[joint] |= {name: _rounded(value), f"{name}_std": float(f"{std:.2g}")}
    sections = {CONTROLLER: {"ros__parameters": measured}, DRIVES[0]: {DRIVES[1]: entries}}
    lines = "".join(f"# {line}\n" for line in comment.splitlines())
    text = yaml.safe_dump(sections, sort_keys=False, default_flow_style=None, width=120)
    try:
        write_text(path, lines + text)
    except OSError as error:
        raise LawError(f"cannot be written: {error.strerror}", where=str(path), valid="a file in a folder") from error


def _rounded(value: float | bool) -> float | bool:
    return value if isinstance(value, bool) else float(f"{value:.5g}")


def interval(value: float, std: float) -> str:
    """A number with its interval of 95 %, for people."""
    return f"{value:.4g} ± {INTERVAL * std:.2g}"
