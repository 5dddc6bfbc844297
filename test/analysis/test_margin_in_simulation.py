"""The margin that is computed is the one that a simulation of the same arm shows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot
from numpy.typing import NDArray
from plant_arms import assembled, urdf_of

from thunder_controllers.analysis.margin import find_margins, largest_factor
from thunder_controllers.analysis.sampled_loop import Timing
from thunder_controllers.host import Controller, Guard, Library, Options, margin_poses
from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_dynamics.build import build

FloatArray = NDArray[np.float64]

AGREEMENT = 0.01
"""Of a factor, relative: ten times closer than what users are promised."""

PERTURBATION = 1e-6
"""Of the velocities at the start [rad/s]."""

RUNAWAY = 1e-2
"""[rad/s] Ten thousand times the perturbation; still far from what the host limits."""

SECONDS = 1.5
LAWS = ("cartesian_backstepping", "slotine_li")


@cache
def library_of(robot: str, disturbance: str) -> Library:
    laws = [(law, {"disturbance": disturbance}) for law in LAWS]
    return Library(build(load_robot(robot), laws=laws) / f"lib{robot}.so")


class Simulation:
    """A rigid arm in MuJoCo that holds a pose, in a loop with delay and a filter of the velocity."""

    def __init__(
        self, library: Library, robot: str, law: str, gains: Mapping[str, Any], q: FloatArray, timing: Timing
    ) -> None:
        self.library, self.law, self.q, self.timing = library, law, q, timing
        posture = {"q_home": q} if law == "cartesian_backstepping" else {}
        self.gains = dict(gains) | posture
        self.period = 1.0 / timing.rate
        self.plant = MujocoPlant(
            assembled(urdf_of(load_robot(robot))),
            self.library.joint_names,
            self.period,
            PlantOptions(torque_delay=timing.delay, torque_lag=timing.lag),
        )

    def is_stable(self, K_d: FloatArray) -> bool:
        """Whether small velocities at the start have died away, or at least do not grow any more."""
        controller = Controller()
        period = {"nominal_dt": self.period, "measurement_timeout": 2.0 * self.period, "handover_time": 0.0}
        options = Options(**period, accepts_unstable_gains=True)
        controller.configure(self.library, law=self.law, gains=self.gains | {"K_d": K_d}, options=options)
        controller.freeze_adaptation(True)
        qd = PERTURBATION * np.random.default_rng(1).uniform(-1, 1, len(self.q))
        self.plant.reset(self.q, qd)
        controller.activate(self.q, np.zeros(len(self.q)), self.plant.holding_effort())
        q, filtered, effort = self.q.copy(), np.zeros(len(self.q)), np.zeros(len(self.q))
        share = 1.0 - np.exp(-2.0 * np.pi * self.timing.velocity_filter * self.period)
        speeds = []
        for k in range(round(SECONDS * self.timing.rate)):
            self.plant.measure(q, qd)
            filtered += share * (qd - filtered)
            guards = controller.update((k + 1) * self.period, q, filtered, self.period, effort)
            assert Guard(guards) in (Guard.ADAPTATION_FROZEN, Guard(0))
            self.plant.step(effort)
            speeds.append(float(np.abs(qd).max()))
            if speeds[-1] > RUNAWAY:
                return False
        parts = np.array_split(speeds, 5)
        return max(parts[-1]) < max(parts[2])


WEAK = {"K_p": [50.0, 50.0, 50.0, 0.5, 0.5, 0.5]}
CASES: list[tuple[str, str, Timing, Mapping[str, Any]]] = [
    ("panda", "slotine_li", Timing(delay=0.001), {}),
    ("panda", "cartesian_backstepping", Timing(delay=0.002), {}),
    ("ur5", "slotine_li", Timing(delay=0.003), {}),
    ("ur5", "cartesian_backstepping", Timing(), WEAK),
    ("panda", "cartesian_backstepping", Timing(rate=250.0), {}),
    ("panda", "cartesian_backstepping", Timing(rate=500.0, delay=0.002), {}),
    ("panda", "slotine_li", Timing(lag=0.005), {}),
    ("panda", "slotine_li", Timing(delay=0.002, lag=0.005), {}),
    ("panda", "slotine_li", Timing(delay=0.001, velocity_filter=20.0), {}),
    ("panda", "slotine_li", Timing(delay=0.001, velocity_filter=100.0), {}),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", range(len(CASES)))
def test_it_is(case: int) -> None:
    robot, law, timing, gains = CASES[case]
    assert_agreement(library_of(robot, "none"), robot, law, timing, gains, case)


def assert_agreement(
    library: Library, robot: str, law: str, timing: Timing, gains: Mapping[str, Any], case: int
) -> None:
    poses = margin_poses(library, 1, first=20 + case)
    gains = {"K_d": np.geomspace(30.0, 2.0, library.n_joints), **gains}
    margins = find_margins(library, law, gains, poses, timing)
    simulation = Simulation(library, robot, law, gains, poses[0], timing)
    border = largest_factor(lambda factor: simulation.is_stable(factor * margins.gains["K_d"]), 1024.0)
    assert 0.0 < border < 1024.0
    assert margins.margin == pytest.approx(border, rel=AGREEMENT)


@pytest.mark.slow
@pytest.mark.parametrize("disturbance", ["observed", "integral"])
@pytest.mark.parametrize(
    ("robot", "law", "timing"),
    [
        ("panda", "slotine_li", Timing(delay=0.002, velocity_filter=100.0)),
        ("panda", "cartesian_backstepping", Timing(delay=0.001)),
        ("ur5", "slotine_li", Timing(lag=0.005)),
    ],
)
def test_it_is_beside_what_takes_up_a_disturbance(robot: str, law: str, timing: Timing, disturbance: str) -> None:
    """Its states are in the loop, too."""
    assert_agreement(library_of(robot, disturbance), robot, law, timing, {}, 0)
