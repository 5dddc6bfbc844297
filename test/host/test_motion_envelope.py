"""The motion envelope: no reference, speed, gap or missing limit takes an arm where it must not go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from evaluation import load_robot
from host_loop import REST, START, STEP, Loop
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from pendulum2 import compile_pendulum2, gravity

import thunder_dynamics
from thunder_controllers.host import (
    FAULTS,
    Controller,
    Guard,
    Library,
    Limits,
    MotionLimits,
    Options,
    TimedJoints,
    TimedPose,
)
from thunder_controllers.resources import share
from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_dynamics.errors import LawError
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import read_assembly

FloatArray = NDArray[np.float64]

UPPER, VELOCITY, EFFORT = 2.5, np.array([4.0, 5.0]), np.array([30.0, 15.0])
MARGIN = 0.025
HOME = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0])
READY = np.array([0.3, -1.2, 1.4, -1.0, -1.3, 0.2])


@pytest.fixture(scope="module")
def panda(build_cache: Path) -> Library:
    laws = ["cartesian_backstepping", "slotine_li"]
    return Library(thunder_dynamics.build(load_robot("panda"), laws=laws) / "libpanda.so")


class Arm:
    """A Panda in MuJoCo with a controller, active at rest at q."""

    def __init__(self, library: Library, law: str, q: FloatArray = HOME) -> None:
        self.library = library
        self.plant = MujocoPlant(read_assembly(share("urdf/panda.urdf.xacro"), {}), library.joint_names, STEP)
        self.plant.reset(q, np.zeros(7))
        self.controller = Controller()
        self.controller.configure(library, law=law)
        self.controller.activate(q, np.zeros(7), self.plant.holding_effort())
        self.t = 0.0
        self.q = [q]

    def run(self, seconds: float) -> Guard:
        """All guards that acted."""
        effort, acted = np.zeros(7), Guard(0)
        for _ in range(round(seconds / STEP)):
            self.t += STEP
            acted |= Guard(self.controller.update(self.t, self.plant.q, self.plant.qd, STEP, effort))
            self.plant.step(effort)
            self.q.append(self.plant.q)
        return acted

    def furthest(self) -> float:
        """Of all joints beyond their limits so far [rad]; negative inside."""
        q = np.array(self.q)
        return float(np.maximum(q - self.library.position_upper, self.library.position_lower - q).max())


# --- position --------------------------------------------------------------------------------------------------------


def test_a_joint_reference_is_cut_to_the_limits(library: Library) -> None:
    loop = Loop(library, approaches_jumps=False)
    loop.controller.set_reference([50.0, 0.2, 0.0, -50.0, 0.0, 0.0])
    assert Guard.REFERENCE_LIMITED in loop.update()
    assert loop.controller.reference_vector.tolist() == [UPPER - 2 * MARGIN, 0.2, 0.0, -5.0, 0.0, 0.0]
    loop.controller.set_reference([0.1, 0.2, 0.0, 0.0, 0.0, 0.0])
    assert Guard.REFERENCE_LIMITED not in loop.update()


def test_a_far_joint_reference_is_approached_below_the_velocity_limit(library: Library) -> None:
    loop = Loop(library)
    loop.controller.set_reference([1.1, -0.8, 0.0, 0.0, 0.0, 0.0])
    places = []
    for _ in range(1100):
        loop.update()
        places.append(loop.controller.reference("q"))
    steps = np.diff([START, *places], axis=0)
    assert (np.abs(steps) <= 0.5 * VELOCITY * STEP * (1 + 1e-9)).all()
    assert places[-1].tolist() == [1.1, -0.8]


def test_a_far_pose_is_approached_at_the_velocities_of_motions(panda: Library) -> None:
    arm = Arm(panda, "cartesian_backstepping")
    pose = panda.evaluate("T_0_ee", HOME)
    goal = pose[:3, 3] + [-0.1, 0.2, 0.1]
    sample = np.zeros(24)
    sample[:3], sample[3:12] = goal, pose[:3, :3].T.ravel()
    arm.controller.set_reference(sample)
    assert Guard.REFERENCE_LIMITED in arm.run(STEP)
    way = [arm.controller.reference("position")]
    acted = Guard(0)
    for _ in range(5000):
        acted |= arm.run(STEP)
        way.append(arm.controller.reference("position"))
    speed = np.linalg.norm(np.diff(way, axis=0), axis=1) / STEP
    assert 0.5 * MotionLimits().linear_velocity < speed.max() < MotionLimits().linear_velocity
    assert not acted & FAULTS and arm.controller.reference("position").tolist() == goal.tolist()
    np.testing.assert_allclose(panda.evaluate("T_0_ee", arm.plant.q)[:3, 3], goal, atol=1e-3)


def test_a_panda_asked_to_50_rad_stays_in_its_limits(panda: Library) -> None:
    arm = Arm(panda, "slotine_li")
    arm.controller.set_reference(np.concatenate([np.full(7, 50.0), np.zeros(14)]))
    acted = arm.run(10.0)
    assert Guard.REFERENCE_LIMITED in acted and not acted & FAULTS
    assert arm.furthest() < 0.0
    assert np.abs(arm.plant.qd).max() < 1e-2


@pytest.mark.parametrize(
    ("points", "wrong"),
    [
        ([TimedJoints(1e-6, [1.0, 1.0])], "the velocity of shoulder"),
        ([TimedJoints(1.0, [10.0, 0.2])], "the (velocity|position) of shoulder"),
        ([TimedJoints(20.0, [2.6, 0.2])], "the position of shoulder is 2.5"),
        ([TimedJoints(10.0, [0.2, 0.2]), TimedJoints(10.001, [0.3, 0.3])], "the velocity of"),
    ],
)
def test_joint_motions_beyond_the_limits_are_refused(library: Library, points: list[TimedJoints], wrong: str) -> None:
    loop = Loop(library)
    loop.update()
    with pytest.raises(LawError, match=f"follow: after .* s {wrong}"):
        loop.controller.follow(points)
    loop.update()
    assert loop.controller.reference_source == "hold"


def test_joint_motions_beyond_the_acceleration_limits_are_refused(panda: Library) -> None:
    controller = Controller()
    controller.configure(panda, law="slotine_li")
    controller.activate(HOME)
    there = HOME + [0.0, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0]
    controller.follow([TimedJoints(0.5, there)])
    with pytest.raises(LawError, match="the acceleration of panda_joint2 is .*; valid: .*7.5"):
        controller.follow([TimedJoints(0.3, there)])


def test_a_joint_beyond_its_limit_stops_the_arm(library: Library) -> None:
    loop = Loop(library)
    assert not loop.update(np.array([UPPER + 0.9 * MARGIN, 0.2])) & FAULTS
    assert loop.update(np.array([UPPER + 1.0, 0.2])) & FAULTS == Guard.POSITION_EXCEEDED
    assert loop.update() & ~(Guard.EFFORT_RATE_LIMITED | Guard.MOTION_LIMITED) == (
        Guard.POSITION_EXCEEDED | Guard.STOPPING
    )
    loop.controller.deactivate()
    loop.controller.activate(START)
    assert not loop.update() & FAULTS


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_joint_far_behind_its_stop_is_pushed_back_but_not_thrown(library: Library, side: float) -> None:
    """All of the effort at rest, none that adds to the speed of the return where that is at the velocity limit."""

    def effort(velocity: float) -> float:
        loop = Loop(library, effort_rate_limit=[1e9, 1e9])
        q, qd = np.array([side * (UPPER + 1.0), 0.2]), np.array([-side * velocity, 0.0])
        loop.updates(3, q, qd)
        return float(side * (loop.effort[0] - gravity(q)[0]))

    assert effort(0.0) < -0.5 * EFFORT[0]
    assert effort(0.5 * VELOCITY[0]) < 0.0
    assert effort(1.0 * VELOCITY[0]) > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("inside", [-0.0005, 0.0005, 0.025])
def test_an_arm_that_rests_near_a_limit_leaves_it_slowly(panda: Library, inside: float) -> None:
    for joint in range(7):
        for end in (panda.position_lower[joint] + inside, panda.position_upper[joint] - inside):
            q = HOME.copy()
            q[joint] = end
            arm = Arm(panda, "slotine_li", q)
            assert not arm.run(0.3) & FAULTS
            assert np.abs(np.diff(arm.q, axis=0)).max() < 0.05 * STEP


def test_a_soft_stop_is_continuous_bounded_and_pushes_back(library: Library) -> None:
    """Along a sweep of q into the stop, and of the velocity, with a law that asks for the whole effort towards it."""
    loop = Loop(library, effort_rate_limit=[1e9, 1e9], velocity_limit=[np.inf, np.inf])

    def effort(position: float, velocity: float) -> float:
        loop.controller.set_reference([UPPER, 0.2, 50.0, 0.0, 0.0, 0.0])
        loop.update(np.array([position, 0.2]), np.array([velocity, 0.0]))
        return float(loop.effort[0])

    sweep = np.linspace(UPPER - 4 * MARGIN, UPPER + 0.99 * MARGIN, 400)
    efforts = np.array([effort(position, 0.0) for position in sweep])
    assert (np.abs(efforts) <= EFFORT[0]).all()
    at_stop, at_limit = np.searchsorted(sweep, [UPPER - MARGIN, UPPER])
    # An eighth of the effort for 0.3 mrad, where the stop begins: the rate of the effort is not limited here.
    assert np.abs(np.diff(efforts[:at_limit])).max() < EFFORT[0] / 8.0
    hold = [gravity(np.array([position, 0.2]))[0] for position in sweep]
    assert efforts[at_limit] < hold[at_limit] - 1.0 < efforts[at_stop]
    assert efforts[-1] < efforts[at_limit]
    fast = np.array([effort(UPPER - 0.3, velocity) for velocity in np.linspace(0.0, 5.0, 200)])
    assert np.abs(np.diff(fast)).max() < 0.05 * EFFORT[0] * 2
    assert fast[-1] < 0.0 < fast[0]


def test_a_pose_out_of_reach_is_refused_before_it_is_moved_to(panda: Library) -> None:
    controller = Controller()
    controller.configure(panda, law="cartesian_backstepping")
    controller.activate(HOME)
    place = panda.evaluate("T_0_ee", HOME)
    turn = np.array([1.0, 0.0, 0.0, 0.0])
    controller.update(0.0, HOME, np.zeros(7), STEP, np.zeros(7))
    with pytest.raises(LawError, match="move_to_pose: after .* s the (pose is out of reach by|velocity of)"):
        controller.move_to_pose(place[:3, 3] + [1.0, 0.0, 0.0], turn)
    with pytest.raises(LawError, match="follow: after .* s the (pose is out of reach by|velocity of)"):
        controller.follow([TimedPose(0.01, place[:3, 3] + [0.2, 0.0, 0.0], turn)])
    controller.move_to_pose(place[:3, 3] + [0.05, 0.05, -0.05], turn)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    posture=arrays(float, 7, elements=st.floats(0.05, 0.95)),
    direction=arrays(float, 7, elements=st.floats(-1.0, 1.0)),
)
def test_an_arm_that_is_pushed_away_goes_on_holding_its_place(
    panda: Library, posture: FloatArray, direction: FloatArray
) -> None:
    """The place can be reached wherever J is regular, however long something keeps the arm from it."""
    start = panda.position_lower + posture * (panda.position_upper - panda.position_lower)
    pushed = start + 0.1 * direction
    assume(min(np.linalg.svd(panda.evaluate("J_ee", q), compute_uv=False)[-1] for q in (start, pushed)) > 0.1)
    controller, effort = Controller(), np.zeros(7)
    controller.configure(panda, law="cartesian_backstepping", options=Options(approach_patience=0.1))
    controller.activate(start)
    for step in range(500):
        assert Guard.REFERENCE_UNREACHED not in Guard(controller.update(step * STEP, pushed, np.zeros(7), STEP, effort))
    assert controller.reference_source == "hold"


def test_a_push_along_a_plane_of_symmetry_is_no_boundary(panda: Library) -> None:
    """No single joint of this Panda moves the end effector mostly along x, all of them together do."""
    start = HOME
    pushed = HOME + [0.0, 0.18, 0.0, 0.18, 0.0, 0.0, 0.0]
    controller, effort = Controller(), np.zeros(7)
    controller.configure(panda, law="cartesian_backstepping")
    controller.activate(start)
    acted = [Guard(controller.update(step * STEP, pushed, np.zeros(7), STEP, effort)) for step in range(1500)]
    assert not any(Guard.REFERENCE_UNREACHED in guards for guards in acted)


@pytest.mark.parametrize("direction", [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.8, 0.2]])
def test_a_streamed_pose_out_of_reach_ends_in_a_held_boundary_pose(panda: Library, direction: list[float]) -> None:
    arm = Arm(panda, "cartesian_backstepping")
    pose = panda.evaluate("T_0_ee", HOME)
    sample = np.zeros(24)
    sample[:3], sample[3:12] = pose[:3, 3] + 0.9 * np.array(direction), pose[:3, :3].T.ravel()
    arm.controller.set_reference(sample)
    acted = arm.run(10.0)
    assert arm.furthest() < MARGIN
    assert not acted & FAULTS
    assert Guard.REFERENCE_UNREACHED in acted and arm.controller.reference_source == "hold"
    assert np.abs(arm.plant.qd).max() < 0.02


PATIENCE = 0.3
"""Of the two tests below [s]: six periods of 1.5 times that without rest are a runaway."""


def _without_rest(panda: Library, way: Callable[[float], FloatArray]) -> bool:
    """Whether an arm whose reference rests, and that moves as `way` says, has run away after 5 s."""
    controller, effort = Controller(), np.zeros(7)
    options = Options(approach_patience=PATIENCE, velocity_limit_patience=np.inf)
    controller.configure(panda, law="slotine_li", options=options)
    controller.activate(HOME)
    for step in range(5000):
        q = HOME + way(step * STEP)
        qd = (way(step * STEP + 1e-6) - way(step * STEP - 1e-6)) / 2e-6
        if Guard.RUNAWAY in Guard(controller.update(step * STEP, q, qd, STEP, effort)):
            return True
    return False


def test_an_arm_that_a_hand_guides_has_not_run_away(panda: Library) -> None:
    """Its joints take in work, as its law damps what a hand moves."""
    assert not _without_rest(panda, lambda t: 0.1 * np.sin(2.0 * np.pi * t) * np.eye(7)[3])


@pytest.fixture(scope="module")
def narrow(build_cache: Path) -> tuple[RobotModel, Library]:
    """A UR5 whose elbow ends 0.15 rad beyond READY."""
    model = load_robot("ur5")
    links = list(model.links)
    limits = replace(links[2].joint.limits, upper=READY[2] + 0.15)
    links[2] = replace(links[2], joint=replace(links[2].joint, limits=limits))
    narrow = replace(model, links=tuple(links))
    return narrow, Library(thunder_dynamics.build(narrow, laws=["cartesian_backstepping"]))


@pytest.mark.slow
@pytest.mark.parametrize(("turned", "is_said"), [(0.1, False), (0.15, True), (0.3, True)])
def test_a_pose_behind_a_joint_limit_is_said_to_be_one(
    narrow: tuple[RobotModel, Library], turned: float, is_said: bool
) -> None:
    """Other joints could come nearer, so that it is not given up: it stays 10 or 80 mm away."""
    model, library = narrow
    plant, controller, effort = ModelPlant(model, library.joint_names, STEP, PlantOptions()), Controller(), np.zeros(6)
    plant.reset(READY)
    controller.configure(library, law="cartesian_backstepping")
    controller.activate(READY, np.zeros(6), plant.holding_effort())
    pose = library.evaluate("T_0_ee", READY + turned * np.eye(6)[2])
    controller.set_reference(np.concatenate([pose[:3, 3], pose[:3, :3].T.ravel(), np.zeros(12)]))
    acted = []
    for step in range(1, 4001):
        acted.append(Guard(controller.update(step * STEP, plant.q, plant.qd, STEP, effort)))
        plant.step(effort)
    left = np.linalg.norm(library.evaluate("T_0_ee", plant.q)[:3, 3] - pose[:3, 3])
    assert (Guard.REFERENCE_UNREACHED in acted[-1]) == is_said == (left > 5e-3)
    assert Guard.REFERENCE_UNREACHED not in acted[0] and controller.reference_source == "stream"


# --- speed -----------------------------------------------------------------------------------------------------------


def test_a_joint_beyond_its_limit_for_long_has_run_away(library: Library) -> None:
    loop = Loop(library)
    guards = loop.updates(5000, qd=np.array([2.9 * VELOCITY[0], 0.0]))
    first = next(k for k, guard in enumerate(guards) if Guard.RUNAWAY in guard)
    assert 499 <= first <= 502
    assert all(Guard.RUNAWAY in guard for guard in guards[first:])


def test_patience_counts_time_not_good_samples(library: Library) -> None:
    """Nine of ten measurements are repeated ones."""
    loop = Loop(library, velocity_limit_patience=0.1)
    fast = np.array([2.5 * VELOCITY[0], 0.0])
    for k in range(200):
        if Guard.RUNAWAY in loop.update(qd=fast, advance=10 * STEP if k % 10 == 0 else 0.0):
            break
    assert 100 <= k <= 120


@pytest.mark.parametrize(("fast", "in_all", "is_stopped"), [(1, 10, False), (1, 4, False), (1, 2, True), (9, 10, True)])
def test_a_speed_that_is_seldom_beyond_its_limit_does_not_stop_the_arm(
    library: Library, fast: int, in_all: int, is_stopped: bool
) -> None:
    """A joint that is held at its limit, measured with noise, is beyond it now and then; one that oscillates, often."""
    loop = Loop(library, velocity_limit_patience=0.1)
    speed = np.array([1.1 * VELOCITY[0], 0.0])
    acted = [loop.update(qd=speed if k % in_all < fast else REST) for k in range(1000)]
    assert any(Guard.RUNAWAY in guards for guards in acted) == is_stopped


# --- resuming --------------------------------------------------------------------------------------------------------

DISPLACED = START + [1.5, 0.8]


def test_an_arm_that_is_elsewhere_after_a_gap_stays_stopped(library: Library) -> None:
    loop = Loop(library)
    loop.updates(10)
    loop.update(DISPLACED, advance=5.0)
    guards = loop.updates(500, DISPLACED)
    assert all(guard & FAULTS == Guard.MEASUREMENT_LOST for guard in guards)
    np.testing.assert_allclose(loop.effort, gravity(DISPLACED), rtol=1e-9)


@pytest.mark.parametrize(("way", "is_lost"), [(0.02, False), (0.9, True)])
def test_resuming_after_a_short_gap_takes_an_arm_that_is_where_it_can_be(
    library: Library, way: float, is_lost: bool
) -> None:
    loop = Loop(library)
    loop.updates(10)
    loop.updates(50, np.full(2, np.nan))
    assert bool(loop.updates(2, START + way)[-1] & FAULTS) is is_lost


def test_resuming_far_from_the_reference_is_refused_like_an_activation(panda: Library) -> None:
    controller = Controller()
    controller.configure(panda, law="slotine_li", options=Options(velocity_limit=[100.0] * 7))
    controller.activate(HOME)
    effort = np.zeros(7)
    for k in range(150):
        q = HOME if k < 50 else np.full(7, np.nan)
        controller.update(k * STEP, q, np.zeros(7), STEP, effort)
    assert not Guard(controller.update(0.15, HOME + 0.4, np.zeros(7), STEP, effort)) & FAULTS
    for k in range(151, 250):
        controller.update(k * STEP, np.full(7, np.nan), np.zeros(7), STEP, effort)
    assert Guard.MEASUREMENT_LOST in Guard(controller.update(0.25, HOME - 0.6, np.zeros(7), STEP, effort))


def test_measurements_that_stay_away_are_a_fault(library: Library) -> None:
    loop = Loop(library)
    loop.updates(10)
    guards = loop.updates(1000, advance=0.0)
    first = next(k for k, guard in enumerate(guards) if Guard.MEASUREMENT_LOST in guard)
    assert 199 <= first <= 202
    assert all(Guard.MEASUREMENT_LOST in guard for guard in guards[first:])
    assert Guard.MEASUREMENT_LOST in loop.update()  # good again: still stopped, now with damping
    assert loop.controller.has_stopped


# --- limits that are not there ---------------------------------------------------------------------------------------


def test_an_effort_rate_limit_that_is_not_there_is_derived_and_said(tmp_path: Path) -> None:
    library = Library(compile_pendulum2(tmp_path, "WITHOUT_EFFORT_RATE_LIMIT"))
    limits = Limits(library, Options(nominal_dt=0.002))
    assert limits.effort_rate.tolist() == [1000.0, EFFORT[1] / 0.05]
    assert any("no effort rate limit" in note and note.endswith(": elbow") for note in limits.notes)
    loop = Loop(library, accepts_unstable_gains=True)
    loop.update()
    before = loop.effort.copy()
    loop.controller.set_reference([0.1, 0.3, 0.0, 0.0, 0.0, 0.0])
    loop.controller.set_gain("K_d", 100.0)
    loop.update(qd=np.array([0.0, -1.0]))
    np.testing.assert_allclose(loop.effort[1] - before[1], EFFORT[1] / 0.025 * STEP, rtol=1e-9)


def test_a_robot_without_effort_limit_is_refused_until_there_is_one(tmp_path: Path) -> None:
    library = Library(compile_pendulum2(tmp_path, "WITHOUT_EFFORT_LIMIT"))
    with pytest.raises(LawError, match="no effort limit: elbow; valid: thunder.limits.effort in the robot file"):
        Controller().configure(library, law="joint_adaptive")
    with pytest.raises(LawError, match="no effort limit"):
        Limits(library)
    Controller().configure(library, law="joint_adaptive", options=Options(effort_limit=[30.0, 15.0]))


@pytest.mark.parametrize("name", ["effort_limit", "effort_rate_limit"])
def test_a_limit_of_the_user_is_finite(name: str) -> None:
    with pytest.raises(LawError, match=rf"options\.{name}: is inf"):
        Options(**{name: [np.inf, 1.0]})


def test_limits_that_say_nothing_are_noted(tmp_path: Path) -> None:
    notes = Limits(Library(compile_pendulum2(tmp_path, "WITHOUT_POSITION_LIMITS"))).notes
    assert notes == ["no position limits are given, so no position is out of range: shoulder, elbow"]


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["panda", "ur5", "planar3r", "rpr", "sea2"])
def test_every_robot_of_ours_has_finite_efforts_and_rates(build_cache: Path, robot: str) -> None:
    library = Library(thunder_dynamics.build(load_robot(robot)) / f"lib{robot}.so")
    limits = Limits(library)
    assert np.isfinite(limits.effort).all() and np.isfinite(limits.effort_rate).all()


# --- life cycle ------------------------------------------------------------------------------------------------------


def test_an_activation_without_held_effort_goes_on_from_the_last_command(library: Library) -> None:
    loop = Loop(library, accepts_unstable_gains=True)
    loop.controller.set_gain("K_d", 100.0)
    loop.updates(20, qd=np.array([-0.2, 0.1]))
    last = loop.effort.copy()
    assert np.abs(last - gravity(START)).max() > 5.0
    rate = np.array([1000.0, 500.0]) * STEP
    loop.controller.deactivate()
    loop.controller.activate(START)
    loop.update()
    assert (np.abs(loop.effort - last) <= rate * (1 + 1e-9)).all()
    last = loop.effort.copy()
    loop.controller.deactivate()
    loop.controller.configure(library, law="cartesian_spring")
    loop.controller.activate(START)
    loop.update()
    assert (np.abs(loop.effort - last) <= rate * (1 + 1e-9)).all()


def test_a_reset_waits_for_the_updating_thread(library: Library) -> None:
    loop = Loop(library)
    loop.controller.set_reference([0.11, 0.21, 0.0, 0.0, 0.0, 0.0])
    loop.updates(50)
    first = [1.2, 0.8]
    assert loop.controller.state("pi_hat").tolist() != first
    loop.controller.deactivate()
    loop.controller.reset_state()
    assert loop.controller.state("pi_hat").tolist() != first
    loop.update()
    assert loop.controller.state("pi_hat").tolist() == first


def test_an_infinite_measurement_timeout_is_refused() -> None:
    with pytest.raises(LawError, match=r"options\.measurement_timeout: is inf"):
        Options(measurement_timeout=np.inf)


def test_bounds_that_cross_are_refused(panda: Library) -> None:
    controller = Controller()
    controller.configure(panda, law="slotine_li")
    before = controller.gain("pi_lower")
    controller.set_gain("pi_upper", np.r_[10.0, controller.gain("pi_upper")[1:]])
    with pytest.raises(LawError, match=r"slotine_li\.gains\.pi_lower: element 0 is 19; valid: at most 10, pi_upper"):
        controller.set_gain("pi_lower", np.r_[19.0, before[1:]])
    assert controller.gain("pi_lower").tolist() == before.tolist()
