"""The Panda of the demo, which most studies have: its library, its links as the file has them or uncertain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from thunder_controllers.experiments.draws import FloatArray, poses, stated, uncertain
from thunder_controllers.experiments.experiment import Settings
from thunder_controllers.experiments.runner import choose_run, load_robot
from thunder_controllers.host import Library
from thunder_controllers.references.trajectories import PoseToPose
from thunder_controllers.simulation.scenario import load_scenario
from thunder_dynamics.inertia import N_PARAMETERS, Inertia

Keys = Mapping[str, Any]

SCENARIO = "panda_lissajous_wrong_last_link"
LAST_LINK = "panda_link7"

UNCERTAINTY = 0.3
"""Of every parameter of every link [1]."""


@cache
def library() -> Library:
    """The library that the demo runs."""
    return load_robot(choose_run(load_scenario(SCENARIO)).config).library


def bodies(names: Sequence[str] | None = None, pi: Any = None) -> dict[str, dict[str, Any]]:
    """Links with REG parameters (N, 10), the Panda's as its file has them by default, as a scenario says bodies."""
    names, pi = (library().link_names, library().pi) if names is None else (names, pi)
    dyn = [Inertia.from_pi(one).dyn.tolist() for one in np.reshape(pi, (-1, N_PARAMETERS))]
    parts = [{"mass": one[0], "com": tuple(one[1:4]), "inertia": tuple(one[4:])} for one in dyn]
    return dict(zip(names, parts, strict=True))


def believing(**changes: Any) -> Keys:
    """A first estimate of the last link that is right but for what is given."""
    return {"initial_estimates": {LAST_LINK: {**bodies()[LAST_LINK], **changes}}}


def resting(q: FloatArray) -> Keys:
    """From rest at a posture, with a right last link."""
    return {"start": {"q": tuple(q.tolist()), "on_reference": False}, "law": believing()}


def there_and_back(q: FloatArray, there: FloatArray, linear: Sequence[float], times: int, dwell: float) -> Keys:
    """Lines from the pose of a posture to another (4, 4) and back, from rest; a second more at the end.

    Args:
        q: The posture.
        there: The other pose.
        linear: Bounds of the lines [m/s, m/s², m/s³].
        times: How often.
        dwell: Rest at every place [s].
    """
    ends = [stated(pose) for pose in (*poses(library(), q[None]), there)]
    reference = {"type": "poses", "poses": [*(times * ends), ends[0]], "linear": linear, "dwell": dwell}
    duration = PoseToPose.model_validate(reference).duration + dwell + 1.0
    return {**resting(q), "reference": reference, "duration": duration}


def draw_right_link(settings: Settings, _row: str) -> Iterator[Keys]:
    """Seeds, and a right first estimate."""
    return ({"seed": seed, "law": believing()} for seed in settings.seeds)


def uncertain_arm(seed: int) -> dict[str, dict[str, Any]]:
    """Draw the true links, as `plant.inertia` of a scenario has them."""
    rng = np.random.default_rng([seed, *b"uncertain arm"])
    return {name: uncertain(body, UNCERTAINTY, rng) for name, body in bodies().items()}


def draw_uncertain_arm(settings: Settings, _row: str) -> Iterator[Keys]:
    """Draw an arm of each seed; the law believes in the robot file."""
    for seed in settings.seeds:
        yield {"seed": seed, "law": believing(), "plant": {"inertia": uncertain_arm(seed)}}
