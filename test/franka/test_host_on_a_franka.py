"""The host's session in torque control of the virtual Franka: what holds for it there, in lock-step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import thunder
from franka_session import ADAPTIVE, FIGURE, HIDDEN, STEP, STIFF, FrankaSession, compile_library
from numpy.typing import NDArray
from torque_control import Motion, connect, pylibfranka
from virtual_robot import VirtualRobot

from thunder_controllers.host import Figure, Guard, Library
from thunder_controllers.laws.adaptation.least_squares.recursion import NONE

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("franka")]


@pytest.fixture(scope="module")
def library(build_cache: Path) -> Library:
    return compile_library()


class Driver(FrankaSession):
    """A session that answers the states of a motion."""

    def __init__(self, library: Library, law: str, motion: Motion, **options: object) -> None:
        super().__init__(library, law, motion.state, **options)
        self.motion = motion

    def step(self) -> None:
        self.motion.write(self.answer(self.motion.state, self.motion.elapsed))
        self.motion.read()

    def run(self, seconds: float) -> NDArray[np.float64]:
        """Distance of the end effector from its reference after each step [m]."""
        distances = []
        for _ in range(round(seconds / STEP)):
            self.step()
            distances.append(self.distance)
        return np.array(distances)


@pytest.mark.parametrize(
    ("arm", "network"),
    [("panda", []), ("fr3", []), ("fr3", ["--lose-states", 0.005, "--lose-commands", 0.005])],
    ids=["panda", "fr3", "fr3, 1 % of packets lost"],
)
def test_a_hidden_payload_is_found_and_tracked(library: Library, arm: str, network: list[object]) -> None:
    with VirtualRobot("--arm", arm, *HIDDEN, *network) as virtual, Motion(connect(virtual)) as motion:
        driver = Driver(library, ADAPTIVE[0], motion)
        driver.session.trace(FIGURE)
        driver.run(4.0)
        assert driver.run(2.0).max() < 1e-4
        driver.check_payload()
        motion.finish()


@pytest.mark.parametrize(
    ("friction", "most"),
    [
        (["--viscous", 2.0], 1e-4),
        (["--coulomb", 0.3], 3e-4),
        (["--viscous", 2.0, "--coulomb", 0.3, "--compensation", 0.5], 1e-3),
    ],
    ids=["viscous", "Coulomb", "half of both"],
)
def test_an_observer_takes_up_friction_that_is_not_compensated(
    library: Library, friction: list[object], most: float
) -> None:
    """Coulomb friction is compensated by the velocity: where the arm turns, it sticks, which is no other body."""
    with VirtualRobot(*HIDDEN, *friction) as virtual, Motion(connect(virtual)) as motion:
        driver = Driver(library, ADAPTIVE[0], motion)
        driver.session.trace(FIGURE)
        driver.run(4.0)
        assert driver.run(2.0).max() < most
        driver.check_payload(centre=0.02)
        driver.run(4.0)
        driver.check_payload()
        assert driver.session.snapshot().telemetry("change") == NONE
        motion.finish()


def test_efforts_at_their_rate_limit_are_continuous_after_lost_states(library: Library) -> None:
    """Where a state is lost the robot has the torque of the last command still, and two periods have gone."""
    with VirtualRobot("--lose-states", 0.3) as virtual, Motion(connect(virtual)) as motion:
        driver = Driver(library, ADAPTIVE[0], motion, approaches_jumps=False)
        driver.step()
        sample = driver.session.snapshot().reference_vector
        late = 0
        for k in range(500):
            jump = 0.02 if k // 20 % 2 else -0.02
            driver.session.stream(sample + np.eye(24)[1] * jump)
            before, is_late, driver.guards = driver.effort.copy(), motion.elapsed > 1.5 * STEP, Guard(0)
            driver.step()
            assert (np.abs(driver.effort - before) <= 0.9 + 1e-9).all()
            late += is_late and Guard.EFFORT_RATE_LIMITED in driver.guards
        assert late > 5
        motion.finish()


def test_a_session_starts_from_zero_or_not_at_all(library: Library) -> None:
    with VirtualRobot("--payload-mass", 2.0) as virtual:
        robot = connect(virtual)
        robot.set_collision_behavior([90.0] * 7, [90.0] * 7, [90.0] * 6, [90.0] * 6)
        with Motion(robot) as motion:
            driver = Driver(library, ADAPTIVE[0], motion)
            driver.run(0.5)
            held = driver.effort.copy()
            motion.finish()
        assert np.abs(held).max() > 1.0, "it holds the payload"
        with Motion(robot) as motion, pytest.raises(pylibfranka.ControlException, match="torque_discontinuity"):
            motion.run(STEP, held)
        robot.automatic_error_recovery()
        with Motion(robot) as motion:
            Driver(library, ADAPTIVE[0], motion).run(0.5)
            motion.finish()


def test_a_record_of_the_measured_torques_identifies_and_one_of_the_commands_does_not(
    library: Library, tmp_path: Path
) -> None:
    rows = []
    middle = "0 -0.4 0 -2.2 0 1.8 0.8"
    with VirtualRobot("--q-start", middle) as virtual, Motion(connect(virtual)) as motion:
        driver = Driver(library, STIFF[0], motion)
        harmonics = np.arange(1, 5)
        phase = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, (len(harmonics), 7))
        driver.session.trace(Figure(np.repeat(0.3 / harmonics, 7), np.repeat(0.1 * harmonics, 7), phase.ravel()))
        for _ in range(20_000):
            driver.step()
            rows.append([motion.time, *motion.state.q, *motion.state.tau_J, *motion.state.tau_J_d])
        motion.finish()
    table, noise = np.array(rows), np.random.default_rng(1).normal(0.0, 0.02, (len(rows), 7))
    names = [f"panda_joint{k}.{what}" for what in ("position", "effort") for k in range(1, 8)]
    for file, efforts in (("measured", table[:, 8:15]), ("commanded", table[:, 15:])):
        record = np.column_stack([table[:, :8], efforts + noise])
        np.savetxt(tmp_path / f"{file}.csv", record, delimiter=",", header=",".join(["t", *names]), comments="")
    assert thunder("identify", "panda", tmp_path / "measured.csv").exit_code == 0
    assert thunder("identify", "panda", tmp_path / "commanded.csv").exit_code == 2
