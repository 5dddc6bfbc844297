"""What the studies share: the demo's arm, plant and path under the Cartesian law."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from thunder_controllers.experiments.comparison.plan import choose_run
from thunder_controllers.experiments.runner import load_robot
from thunder_controllers.host import Library
from thunder_controllers.resources import share
from thunder_controllers.simulation.scenario import RunConfig, load_scenario, merged
from thunder_dynamics.inertia import N_PARAMETERS, Inertia

SCENARIO = "config/scenarios/panda_lissajous_wrong_last_link.yaml"

LAST_LINK = "panda_link7"

PERIOD = 10.0
"""Of the path [s]; errors are taken over the last one."""

FRICTION = {"viscous": 0.5, "coulomb": 0.3}
"""In every joint, where a study has friction [N·m·s/rad], [N·m]."""


@cache
def _common() -> Mapping[str, Any]:
    config = choose_run(load_scenario(share(SCENARIO)), None).config
    return config.model_dump(exclude={"law": {"gains"}}, exclude_defaults=True)


def demo(**changes: Any) -> RunConfig:
    """The demo with default gains, and `changes` laid over it, keys as in a scenario."""
    return RunConfig.model_validate(merged(_common(), changes))


def library() -> Library:
    """The library that the demo runs."""
    return load_robot(demo()).library


def bodies(found: Library | None = None) -> dict[str, dict[str, Any]]:
    """What the robot file says of each link, the demo's by default, as a scenario says it of a body."""
    found = found or library()
    dyn = {
        name: Inertia.from_pi(pi).dyn.tolist()
        for name, pi in zip(found.link_names, np.reshape(found.pi, (-1, N_PARAMETERS)), strict=True)
    }
    return {name: {"mass": one[0], "com": tuple(one[1:4]), "inertia": tuple(one[4:])} for name, one in dyn.items()}
