"""Why a run was stopped: which joint went beyond what, the likely cause, and what mends it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thunder_controllers.fields import in_order, numbers
from thunder_controllers.host import Limits
from thunder_controllers.simulation.preparation import Setup
from thunder_controllers.simulation.scenario import Run, RunConfig, law_text, value_text
from thunder_controllers.simulation.trace import Trace
from thunder_dynamics.errors import listed

SLOWER = "a larger gamma lets them grow more slowly, nearer bounds (pi_upper) less far"
"""What mends estimates that leave no margin."""

UNTOLD = ("plant_gravity", "plant_firmware", "plant_delay")
"""Codes of notes about what the law was not told and may run away from."""

LEADS = 0.5
"""How long before it was found a fault may have begun [s]: the default of `Options.velocity_limit_patience`."""


def stop_text(fault: Mapping[str, Any]) -> str:
    """Say in a line when and why a run was stopped, of the `fault` in its metrics."""
    cause = f"; likely cause: {fault['cause']}" if fault["cause"] else ""
    return f"t = {fault['time']:g} s: {fault['what']} ({fault['guard']}){cause}"


def explain(setup: Setup, run: Run, trace: Trace) -> dict[str, str | None]:
    """`what` went how far beyond which limit when the first fault of a trace was found, and the likely `cause`."""
    found = trace.first_fault()
    if found is None:
        return {}
    step, name = found
    limits = Limits(setup.library, setup.host.options)
    if name == "measurement_lost":
        what = _lost(trace, step, setup.host.doubt)
    else:
        what = {"runaway": _speed, "position_exceeded": _position}[name](trace, step, limits)
    return {"what": what, "cause": likely_cause(setup, run, float(trace.t[step]), name)}


def likely_cause(setup: Setup, run: Run, t: float, guard: str = "runaway") -> str | None:
    """Name what is known to stop arms and was there at a time [s], with its mend: a fault, a note, what is carried."""
    faults = [fault.label for fault in setup.plant.faults.faults if fault.start <= t <= (fault.end or t) + LEADS]
    if faults:
        return f"the scenario's {listed(faults)}"
    if guard == "measurement_lost":
        return None
    command = gains_command(run.config, setup.model.joint_names)
    for note in setup.notes:
        if note.code == "feedback_margin":
            return f"{note.partition(':')[0]}; `{command}` shows which gain is too high"
        if note.code == "bounds_margin" and run.adaptation:
            return f"{note.partition(':')[0]}; {SLOWER}"
        if note.code in UNTOLD:
            return note
    carried = [f"{p.mass:g} kg at {p.link}" for p in run.config.plant.payloads if p.time <= t < (p.until or np.inf)]
    if carried and not (run.adaptation and setup.adapted_links):
        return f"{listed(carried)} that no estimate follows: let the law adapt, or put it into the robot file"
    return f"not in the notes; `{command}` shows the margin of the gains"


def gains_command(config: RunConfig, joints: Sequence[str]) -> str:
    """The `thunder gains` of a run: its robot, law, options, gains, rate and delay."""
    reading = config.robot_options
    options = {
        "--gains": {name: in_order(value, joints, "law.gains") for name, value in config.law.gains.items()},
        "--lock": reading.get("locked_joints", {}),
        "--xacro-arg": reading.get("xacro_args", {}),
    }
    path = min(config.robot, os.path.relpath(config.robot), key=len)
    words = ["thunder gains", path, f"--law {law_text(config.law.name, config.law.options)}"]
    words += [f"--ee-link {config.ee_link}"] if config.ee_link else []
    words += [f"--rate {config.rate:g}"] if config.rate != 1000.0 else []
    words += [f"--delay {config.plant.torque_delay:g}"] if config.plant.torque_delay else []
    words += [f"--lag {numbers(config.plant.torque_lag).max():g}"] if numbers(config.plant.torque_lag).any() else []
    words += [f"{flag} {name}={value_text(value)}" for flag, some in options.items() for name, value in some.items()]
    return " ".join(words)


def _speed(trace: Trace, step: int, limits: Limits) -> str:
    """The fastest joint, by its limit, of the time in which the host lost its patience."""
    rows = slice(int(np.searchsorted(trace.t, trace.t[step] - LEADS)), step + 1)
    velocity, (lower, upper) = np.nan_to_num(trace.qd_measured[rows]), limits.velocity_at(trace.q_measured[rows])
    speed, limit = np.abs(velocity), np.where(velocity < 0.0, -lower, upper)
    row, joint = np.unravel_index(np.argmax((speed - limit) / limits.velocity), speed.shape)
    name, unit = trace.joint_names[joint], trace.joint_units[joint]
    fast = f"{name} at up to {speed[row, joint]:.3g} {unit}/s"
    if speed[row, joint] > limit[row, joint]:
        return f"the arm ran away: {fast}, its limit is {limit[row, joint]:.3g} {unit}/s"
    return f"the arm ran away: it never came to rest where it was held, {fast}"


def _position(trace: Trace, step: int, limits: Limits) -> str:
    q = trace.q_measured[step]
    joint = int(np.argmax(np.maximum(limits.position_lower - q, q - limits.position_upper)))
    ends = f"{limits.position_lower[joint]:.4g} to {limits.position_upper[joint]:.4g} {trace.joint_units[joint]}"
    return f"a joint has left its range: {trace.joint_names[joint]} at {q[joint]:.4g}, its range is {ends}"


def _lost(trace: Trace, step: int, doubt: str) -> str:
    """Since when measurements were missing, where they were; and the reading that is in doubt, where one is."""
    bad = (trace.acted("measurement_non_finite") | trace.acted("measurement_stale"))[: step + 1]
    begun = np.flatnonzero(np.diff(bad, prepend=False) & bad)
    missing = [f"measurements were missing from t = {trace.t[begun[-1]]:g} s on"] if bad[-2:].any() else []
    return ": ".join([*missing, *([doubt] if doubt else [])])
