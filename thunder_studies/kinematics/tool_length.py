"""A tool longer than the robot file says: where it is held, what moves it, and what is measured of its tip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from thunder_controllers.experiments import draws
from thunder_controllers.experiments.experiment import Case, Measured, Settings
from thunder_controllers.experiments.measures import series
from thunder_controllers.host import Library, Limits, PoseFollower
from thunder_controllers.references.sinusoids import Lissajous
from thunder_controllers.references.trajectories import POSITION, ROTATION
from thunder_controllers.resources import share
from thunder_controllers.simulation.scenario import merged
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_studies.arms import ARMS, described, library_of, robot_file

Keys = Mapping[str, Any]

LAW = "cartesian_backstepping"

OFFSET = 0.05
"""Of the true tip from that of the robot file [m], in any direction."""

TOOL = {"mass": 0.3, "com": (0.02, 0.0, 0.1), "inertia": (6e-4, 0.0, 0.0, 6e-4, 0.0, 3e-4)}
"""The body that comes with it, of which the law knows nothing."""

SPEED = 0.15
"""Largest joint speed of the path's positions, over 3 rad/s or the joint's limit."""

SWING = 0.2
"""Largest amplitude of the path's yaw, pitch and roll [rad]."""

SPACING, REACHED = 0.02, 1e-3
"""Between the poses of a path that are tried [s], and how near the arm comes to all of them [m, rad]."""

DURATION, SETTLED = 20.0, 10.0
"""Of a run, and from when on the error of the tip is one that should be small [s]."""


def draw_tools(arm: str, settings: Settings, _row: str) -> Iterator[Keys]:
    """Of each seed, a posture far from singular, the offset of the tip, and a path that the arm reaches with it."""
    file = robot_file(ARMS[arm])
    assert file is not None  # the project's own
    library = library_of(arm, LAW, file)
    for seed in settings.seeds:
        rng = np.random.default_rng([seed, *f"tool of {arm}".encode()])
        while True:
            q = _posture(rng, library)
            axis = rng.standard_normal(3)
            offset, path = OFFSET * axis / np.linalg.norm(axis), _path(rng, library, q)
            if is_reached(library, path["reference"], q, offset):
                break
        config = merged(described(ARMS[arm], file, LAW), path)
        carried = {"link": library.link_names[-1], **TOOL}
        plant = {"tool_offset": tuple(offset.tolist()), "payloads": [carried]}
        rotors = {"robot_options": {"without_rotors": True}}  # the plants have none, and the law may know that
        law = {"gains": {"q_home": tuple(q.tolist())}}
        yield merged(config, {"seed": seed, "plant": plant, "duration": DURATION, "law": law, **rotors})


def draw_panda_in_mujoco(settings: Settings, row: str) -> Iterator[Keys]:
    """The same of a Panda whose plant is MuJoCo's, of the URDF."""
    plant = {"engine": "mujoco", "urdf": str(share("urdf/panda.urdf.xacro"))}
    for drawn in draw_tools("panda", settings, row):
        yield merged(drawn, {"plant": plant})


draw_panda = partial(draw_tools, "panda")
draw_ur5 = partial(draw_tools, "ur5")


def _posture(rng: draws.Generator, library: Library, count: int = 50) -> draws.FloatArray:
    """The farthest from singular of random ones in the inner half of the joints' ranges: J with its rotations."""
    lower, upper = np.asarray(library.position_lower), np.asarray(library.position_upper)
    middle = 0.5 * (np.fmax(lower, -np.pi) + np.fmin(upper, np.pi))
    found = middle + 0.5 * (draws.postures(rng, library, count) - middle)
    smallest = np.linalg.svd(library.batch("J_ee", found), compute_uv=False)[:, -1]
    return np.asarray(found[int(np.argmax(smallest))])


def _path(rng: draws.Generator, library: Library, q: draws.FloatArray) -> Keys:
    (T,) = draws.poses(library, q[None])
    pose, frequency = draws.stated(T), rng.uniform(0.1, 0.3, 3)
    fastest = SPEED * np.minimum(np.asarray(library.velocity_limit), 3.0)
    speed = 1.0 / np.max(np.abs(np.linalg.pinv(library.evaluate("J_ee", q)[:3])).sum(axis=1) / fastest)
    reference = {
        "type": "lissajous",
        "centre": pose["position"],
        "ypr": pose["ypr"],
        "amplitude": tuple(np.minimum(0.1, speed / (2.0 * np.pi * frequency)).tolist()),
        "frequency": tuple(frequency.tolist()),
        "swing": tuple(rng.uniform(0.0, SWING, 3).tolist()),
        "swing_frequency": tuple(rng.uniform(0.1, 0.3, 3).tolist()),
    }
    return {"reference": reference, "start": {"q": tuple(q.tolist()), "on_reference": False}}


def is_reached(library: Library, reference: Keys, q: draws.FloatArray, offset: draws.FloatArray) -> bool:
    """Whether the arm comes from q to every pose of the path with a tip that is so far from the robot file's."""
    rows = Lissajous.model_validate(reference).sample(np.arange(0.0, DURATION, SPACING))
    rows[:, POSITION] -= rows[:, ROTATION].reshape(-1, 3, 3).transpose(0, 2, 1) @ offset
    left, *_ = PoseFollower(library.law(LAW), Limits(library)).follow(q, rows)
    return bool(np.abs(left).max() < REACHED)


def measure_tip(case: Case, trace: Trace, _timing: Timing) -> Measured:
    """Measure the true tip's error, rms and largest from `SETTLED` on [mm], and that of the estimated offset [mm]."""
    tip = 1e3 * np.linalg.norm(trace.error[:, :3], axis=1)
    late = trace.t >= SETTLED
    wanted = np.asarray(case.config.plant.tool_offset)
    found = trace.telemetry[:, trace.telemetry_names == "length_error"]
    estimated = np.zeros_like(trace.position) if found.shape[1] != 3 else found
    length = 1e3 * np.linalg.norm(estimated - wanted, axis=1)
    source = trace.telemetry[:, trace.telemetry_names == "ee_source"]
    values: dict[str, float | None] = {
        "tip": float(np.sqrt(np.mean(tip[late] ** 2))),
        "farthest": float(tip[late].max()),
        "length": float(length[-1]) if found.shape[1] in (0, 3) else None,  # of many lengths none is the offset
        "measured": float((source[late] > 0.5).mean()) if source.shape[1] else 0.0,
    }
    return Measured(
        values, {"t": series(trace.t, np.min), "tip": series(tip, np.max), "length": series(length, np.max)}
    )
