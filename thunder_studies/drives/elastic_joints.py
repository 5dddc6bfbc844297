"""Fast motions of arms with elastic joints, from starts away from them, and what is learnt of springs and motors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thunder_controllers.experiments.experiment import Case, Measured, Settings
from thunder_controllers.experiments.measures import measure_run
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_studies.panda import Keys

CENTRE = {"panda": (0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8), "sea2": (-0.5, 0.6)}
"""About which the joints move [rad]; every motion has its own, up to 0.2 rad away."""

AMPLITUDE, FREQUENCY = (0.2, 0.35), (0.5, 0.9)
"""Of every joint [rad, Hz]: up to 2 rad/s and 11 rad/s²."""

AWAY = 0.02
"""Of the start from the motion, of every joint, either way [rad]."""


def _motions(arm: str, settings: Settings) -> Iterator[Keys]:
    for seed in settings.seeds:
        rng = np.random.default_rng([seed, *b"elastic"])
        centre = np.array(CENTRE[arm]) + rng.uniform(-0.2, 0.2, len(CENTRE[arm]))
        amplitude, frequency, phase = (rng.uniform(*of, len(centre)) for of in (AMPLITUDE, FREQUENCY, (0.0, 6.28)))
        start = centre + amplitude * np.sin(phase) + rng.uniform(-AWAY, AWAY, len(centre))
        waves = {"amplitude": amplitude, "frequency": frequency.round(2), "phase": phase, "centre": centre}
        reference = {"type": "joint_lissajous", **{name: tuple(of.tolist()) for name, of in waves.items()}}
        place = {"q": tuple(start.tolist()), "on_reference": False, "velocity": "reference"}
        yield {"seed": seed, "reference": reference, "start": place}


def draw_panda(settings: Settings, _row: str) -> Iterator[Keys]:
    """Draw a motion of a Panda and a start of each seed."""
    yield from _motions("panda", settings)


def draw_sea2(settings: Settings, _row: str) -> Iterator[Keys]:
    """Draw a motion of the arm with one elastic joint and a start of each seed."""
    yield from _motions("sea2", settings)


def measure_springs(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure the run, and the largest |z| of the motors in its second half, where the law has motors [rad]."""
    values, kept = measure_run(case, trace, timing)
    z = np.abs(trace.telemetry[len(trace.t) // 2 :, trace.telemetry_names == "z"])
    return Measured({**values, "z": float(z.max()) if z.size else None}, kept)
