"""What the spare degree of freedom is worth: how near joints come to their limits, by option `redundancy`."""

from __future__ import annotations

from statistics import fmean, median

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.experiments import draws
from thunder_controllers.experiments.experiment import Case, Criterion, Experiment, Group, Measured, Settings
from thunder_controllers.experiments.measures import pose_distance
from thunder_controllers.experiments.studies.demo import LAST_LINK, bodies, demo, library
from thunder_controllers.experiments.table import faults, summary
from thunder_controllers.references.trajectories import PoseToPose
from thunder_controllers.simulation.trace import Timing, Trace

FloatArray = NDArray[np.float64]

NEAR, STEP = (0.06, 0.3), 0.4
"""Of a line's ends: distance of one joint to a limit, and how far any joint is from the other end's, at most [rad]."""

SPEED = (0.25, 1.0, 10.0)
"""Bounds of lines [m/s, m/s², m/s³]."""

TIMES = 2
"""That each line is gone there and back."""

CLOSE = 0.05
"""Distance of a joint to its limit that is too small [rad]."""

LOST = 0.01
"""Error of a path that is left [m, rad]."""

TABLE = {
    "runs": len,
    "faults": faults,
    f"within {CLOSE:g} rad of a limit": summary("close", fmean),
    "least distance, median [rad]": summary("distance", median),
    f"error above {LOST:g}": summary("lost", fmean),
    "mean error, median": summary("mean_error", median),
}

SETUP = f"""\
Follows comparisons of secondary tasks in the null space, which are mostly shown on one path.

Chosen here: a random posture of the Panda, one joint of which is then put 0.06 to 0.3 rad from one of its limits, and
another posture that differs by at most 0.4 rad in every joint and has the same one as near; the line between their
poses is gone {TIMES} times there and back at up to 0.25 m/s. Default gains, right estimates, no friction, no noise. The
distance is that of the joint which is nearest to a limit at any time."""


def measure_joints(case: Case, trace: Trace, _timing: Timing) -> Measured:
    """Measure how near joints come to their limits, and whether the path is kept."""
    limits = library()
    distance = np.minimum(trace.q - limits.position_lower, limits.position_upper - trace.q).min()
    error = pose_distance(trace)
    values: dict[str, float | None] = {
        "close": float(distance < CLOSE),
        "distance": float(distance),
        "lost": float(error.max() > LOST),
        "mean_error": float(error.mean()),
    }
    return Measured(values)


def ends(rng: draws.Generator) -> FloatArray:
    """Draw two postures near each other and near the same limit of the same joint, (2, n)."""
    limits = library()
    (q,) = draws.postures(rng, limits, 1)
    joint, side = rng.integers(len(q)), rng.choice([-1.0, 1.0])
    other = np.clip(q + rng.uniform(-STEP, STEP, len(q)), limits.position_lower, limits.position_upper)
    both = np.array([q, other])
    limit = (limits.position_upper if side > 0.0 else limits.position_lower)[joint]
    both[:, joint] = limit - side * rng.uniform(*NEAR, 2)
    return both


def lines(settings: Settings) -> Group:
    """Lines between poses of postures near limits."""
    rng = np.random.default_rng([settings.seed, *b"lines"])
    pairs = [ends(rng) for _ in range(settings.cases)]
    cases = []
    for redundancy in ("posture", "joint_limits", "none"):
        for pair in pairs:
            here, there = draws.poses(library(), pair)
            ways = [draws.stated(pose) for pose in TIMES * [here, there] + [here]]
            line = PoseToPose.model_validate({"poses": ways[:2], "linear": SPEED})
            config = demo(
                law={"options": {"redundancy": redundancy}, "initial_estimates": {LAST_LINK: bodies()[LAST_LINK]}},
                reference={"type": "poses", "poses": ways, "linear": SPEED},
                start={"q": tuple(pair[0].tolist()), "on_reference": False},
                duration=2 * TIMES * line.duration + 1.0,
            )
            cases.append(Case(redundancy, config, 0.5, True, measure_joints))
    close = f"within {CLOSE:g} rad of a limit"
    better = Criterion(close, 1.0, rows=("joint_limits",), times="none")
    return Group("Lines near limits", tuple(cases), (Criterion("faults", 0.0), better), TABLE)


def redundancy() -> Experiment:
    """Name the groups."""
    description = "How near joints come to their limits, with a posture, their avoidance, or nothing in the null space."
    return Experiment(description, {"lines": lines}, SETUP, cases=40)
