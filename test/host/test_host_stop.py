"""How the host stops an arm: by damping, and of its own accord where the arm has run away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from evaluation import load_robot
from host_loop import REST, START, STEP, Loop
from numpy.typing import NDArray
from pendulum2 import compile_pendulum2, gravity

from thunder_controllers.host import BLOCKING_GUARDS, Controller, Guard, Library, Options, total_delay
from thunder_controllers.resources import share
from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_dynamics.build import build
from thunder_dynamics.errors import DimensionError, LawError
from thunder_dynamics.readers import read_assembly

FloatArray = NDArray[np.float64]

LIMIT, VELOCITY = np.array([30.0, 15.0]), np.array([4.0, 5.0])
HOLD_TIME = 3.0 * total_delay(Options())
TOO_FAST = np.array([0.0, -1.01 * 3.0 * VELOCITY[1]])
FAST = np.array([0.0, -0.99 * 3.0 * VELOCITY[1]])

PANDA_START = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0])


@pytest.fixture(scope="module")
def panda(panda_folder: Path) -> Library:
    return Library(panda_folder / "libpanda.so")


def holding(library: Library, **options: object) -> Loop:
    """The pendulum is held at START."""
    return Loop(library, "cartesian_spring", **options)


def runs_away(guards: list[Guard]) -> list[bool]:
    return [Guard.RUNAWAY in guard for guard in guards]


# --- what counts as a runaway ----------------------------------------------------------------------------------------


def test_a_joint_far_too_fast_stops_the_arm_at_once_until_the_next_activation(library: Library) -> None:
    loop = holding(library)
    assert runs_away(loop.updates(4, qd=TOO_FAST)) == [False] * 2 + [True, True]
    state = loop.controller.state_vector
    for guard in loop.updates(100):
        assert guard & ~Guard.EFFORT_RATE_LIMITED == Guard.RUNAWAY | Guard.STOPPING
    np.testing.assert_array_equal(loop.controller.state_vector, state)  # the law is not stepped
    # What holds the arm is the integral of no more than the effort limit, over the two steps in which it was fast.
    assert (np.abs(loop.effort - gravity(START)) <= 1.001 * LIMIT * 2 * STEP / HOLD_TIME).all()
    assert loop.controller.status.counters["runaway"] == 102
    assert "runaway" in loop.controller.status.guard_names
    assert Guard.RUNAWAY in BLOCKING_GUARDS
    loop.controller.deactivate()
    assert Guard.RUNAWAY | Guard.NOT_ACTIVE in loop.update()
    loop.controller.activate(START)
    assert loop.update() == 0


def test_speed_below_the_ratio_is_only_reported(library: Library) -> None:
    loop = holding(library)
    assert not any(guard & BLOCKING_GUARDS for guard in loop.updates(100, qd=FAST))
    assert loop.controller.status.counters["velocity_exceeded"] == 100


def test_ratio_and_limit_say_what_is_too_fast(library: Library) -> None:
    strict = holding(library, velocity_stop_ratio=1.0)
    assert any(runs_away(strict.updates(3, qd=FAST)))
    lower = holding(library, velocity_limit=[2.0, 2.0])
    assert any(runs_away(lower.updates(3, qd=FAST)))


def test_the_joints_may_take_turns(library: Library) -> None:
    loop = holding(library)
    other = np.array([-1.01 * 3.0 * VELOCITY[0], 0.0])
    acted = [loop.update(qd=other if k % 2 else TOO_FAST) for k in range(3)]
    assert any(runs_away(acted))


@pytest.mark.parametrize("wrong", [1, 2])
def test_measurements_that_are_wrong_now_and_then_do_not_stop_the_arm(library: Library, wrong: int) -> None:
    """One, or two in a row, of ten; and of ten that lie far apart."""
    loop = holding(library, velocity_limit_patience=np.inf)
    for period in (STEP, 9 * STEP):
        for _ in range(20):
            assert not any(runs_away(loop.updates(wrong, qd=100 * TOO_FAST, dt=period, advance=period)))
            assert not any(runs_away(loop.updates(10 - wrong, dt=period, advance=period)))


def test_a_joint_that_oscillates_is_too_fast_where_it_turns_back_too(library: Library) -> None:
    loop = holding(library)
    acted = [loop.update(qd=TOO_FAST if k % 2 else REST) for k in range(12)]
    assert runs_away(acted) == [False] * 9 + [True] * 3


def test_a_speed_is_forgotten_after_two_slow_measurements_for_each_fast_one(library: Library) -> None:
    loop = holding(library)
    for _ in range(5):
        assert not any(runs_away(loop.updates(2, qd=TOO_FAST)))
        assert not any(runs_away(loop.updates(4)))


def test_measurements_that_are_not_good_say_neither_yes_nor_no(library: Library) -> None:
    loop = holding(library)
    loop.updates(2, qd=TOO_FAST)
    assert not any(runs_away(loop.updates(50, qd=TOO_FAST, advance=0.0)))
    assert not any(runs_away(loop.updates(50, qd=np.array([np.nan, 0.0]))))
    # The first comes after a gap in the good ones, which makes it stale as well.
    assert runs_away(loop.updates(2, qd=TOO_FAST, advance=STEP))[-1]


def test_a_ratio_and_patience_that_no_arm_reaches_never_stop(library: Library) -> None:
    loop = holding(library, velocity_stop_ratio=1e6, velocity_limit_patience=np.inf)
    assert not any(runs_away(loop.updates(1000, qd=10 * TOO_FAST)))


def test_an_arm_moved_by_others_does_not_run_away(library: Library) -> None:
    loop = holding(library)
    loop.controller.deactivate()
    assert not any(runs_away(loop.updates(100, qd=TOO_FAST)))
    loop.controller.activate(START)
    assert not any(runs_away(loop.updates(2, qd=TOO_FAST)))


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("velocity_limit_patience", 0.0, "velocity_limit_patience: is 0; valid: above 0 [s]"),
        ("velocity_stop_ratio", 0.9, "options.velocity_stop_ratio: is 0.9; valid: at least 1, finite [1]"),
        ("stop_damping", [np.nan, 1.0], "options.stop_damping: is nan"),
    ],
)
def test_bad_options_are_refused(option: str, value: object, message: str) -> None:
    with pytest.raises(LawError) as caught:
        Options(**{option: value})
    assert message in str(caught.value)


def test_damping_needs_one_value_per_joint(library: Library) -> None:
    with pytest.raises(DimensionError, match=r"options\.stop_damping: has 3 values; valid: 2, one per joint"):
        holding(library, stop_damping=[1.0, 2.0, 3.0])


# --- the brake -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compensated", [False, True])
def test_stopping_takes_power_from_the_joints(library: Library, compensated: bool) -> None:
    loop = holding(library, gravity_compensated_by_robot=compensated)
    loop.controller.begin_stop()
    velocity = np.array([0.5, -0.4])
    own = np.zeros(2) if compensated else gravity(START)
    loop.updates(20, qd=velocity)
    early = loop.effort - own
    loop.updates(80, qd=velocity)
    late = loop.effort - own
    # Of both together: what turns one link turns the other one, too. More, while that does not stop them.
    assert late @ velocity < early @ velocity < 0.0
    assert (np.abs(loop.effort) <= LIMIT).all()


def test_damping_can_be_chosen_and_never_passes_the_effort_limit(library: Library) -> None:
    efforts = []
    for damping in (0.02, 0.2, 1000.0):
        loop = holding(library, stop_damping=[0.0, damping])
        loop.controller.begin_stop()
        loop.updates(100, qd=np.array([2.0, -2.0]))
        np.testing.assert_allclose(loop.effort[0], gravity(START)[0], rtol=1e-12)
        efforts.append(loop.effort[1])
    assert gravity(START)[1] < efforts[0] < efforts[1] < efforts[2] <= LIMIT[1]


def test_a_stop_lets_go_of_an_obstacle(library: Library) -> None:
    """An arm that presses and cannot move is held by what holds it without the obstacle."""
    loop = holding(library)
    away = START - 0.2
    loop.updates(500, q=away)
    assert (np.abs(loop.effort - gravity(away)) > 1.0).all()
    loop.controller.begin_stop()
    loop.updates(200, q=away)
    np.testing.assert_allclose(loop.effort, gravity(away), atol=1e-9)


def test_what_holds_an_arm_is_unlearnt_where_it_moves_the_other_way(library: Library) -> None:
    efforts = []
    for slow in (0, 1000):
        loop = holding(library)
        loop.controller.begin_stop()
        loop.updates(slow, qd=0.1 * VELOCITY)
        loop.updates(3000, qd=-0.8 * VELOCITY)
        efforts.append(loop.effort)
    np.testing.assert_allclose(efforts[0], efforts[1], rtol=1e-4)


@pytest.mark.parametrize("value", ["NAN", "-1.0"])
def test_an_arm_whose_inertia_cannot_be_computed_is_braked_with_the_last_one(tmp_path: Path, value: str) -> None:
    """M(q) is not positive definite, or no number, where joint 2 is beyond 1 rad."""
    library = Library(compile_pendulum2(tmp_path, f"BREAK_INERTIA={value}"))
    velocity = np.array([0.5, -0.4])
    for known in (True, False):
        q = np.array([0.1, 0.9 if known else 1.1])
        controller = Controller()
        controller.configure(library, law="cartesian_spring")
        controller.activate(q)
        controller.begin_stop()
        effort = np.zeros(2)
        for k in range(50):
            controller.update(k * STEP, q, velocity, STEP, effort)
            q[1] = 1.1
        own = gravity(q)
        if known:
            assert ((effort - own) * velocity < 0.0).all() and (np.abs(effort) <= LIMIT).all()
        else:  # nothing is known to brake with
            np.testing.assert_allclose(effort, own, rtol=1e-12)


def test_a_stop_is_done_once_the_effort_is_reached_and_the_arm_at_rest(library: Library) -> None:
    loop = holding(library)
    loop.update()
    assert not loop.controller.has_stopped
    loop.controller.begin_stop()
    moving = 0.051 * VELOCITY
    assert loop.updates(50, qd=moving)[-1] == Guard.STOPPING
    assert not loop.controller.has_stopped  # the effort is what it should be, the joints still move
    loop.updates(5, qd=0.049 * VELOCITY)
    assert loop.controller.has_stopped


def test_a_stop_without_measurements_is_done_once_the_undamped_effort_is_reached(library: Library) -> None:
    loop = holding(library)
    loop.controller.begin_stop()
    loop.updates(100, qd=VELOCITY)
    loop.update(qd=VELOCITY, advance=0.0)
    assert not loop.controller.has_stopped  # the effort is on its way back from the damped one
    loop.updates(100, qd=VELOCITY, advance=0.0)
    assert loop.controller.has_stopped
    np.testing.assert_allclose(loop.effort, gravity(START), rtol=1e-12)


def test_nothing_is_damped_after_a_deactivation(library: Library) -> None:
    """The last command may stay in force for ever: it must hold the arm, not push it."""
    loop = holding(library)
    loop.controller.deactivate()
    loop.updates(100, qd=VELOCITY)
    np.testing.assert_allclose(loop.effort, gravity(START), rtol=1e-12)


# --- a Panda in MuJoCo -----------------------------------------------------------------------------------------------


@dataclass
class Stop:
    """Kinetic energy before each step [J], largest speed in velocity limits, and steps of the stop."""

    energy: FloatArray
    speed: FloatArray
    latched: int | None
    done: int | None
    final_effort: FloatArray


class Arm:
    """A Panda at PANDA_START, or near it, and its controller, active."""

    def __init__(self, library: Library, q: FloatArray, qd: FloatArray, **arguments: object) -> None:
        self.library = library
        self.plant = MujocoPlant(read_assembly(share("urdf/panda.urdf.xacro"), {}), library.joint_names, STEP)
        self.plant.reset(q, qd)
        self.controller = Controller()
        self.controller.configure(library, law="cartesian_backstepping", **arguments)

    def activate(self) -> None:
        self.controller.activate(self.plant.q, self.plant.qd, self.plant.holding_effort())

    def run(self, steps: int) -> Stop:
        n = self.library.n_joints
        energy, speed, effort = np.zeros(steps), np.zeros(steps), np.zeros(n)
        latched = done = None
        for k in range(steps):
            q, qd = self.plant.q, self.plant.qd
            energy[k] = 0.5 * qd @ self.library.evaluate("M", q) @ qd
            speed[k] = (np.abs(qd) / self.library.velocity_limit).max()
            guards = Guard(self.controller.update(k * STEP, q, qd, STEP, effort))
            if latched is None and Guard.RUNAWAY in guards:
                latched = k
            if done is None and self.controller.has_stopped:
                done = k
            self.plant.step(effort)
        return Stop(energy, speed, latched, done, effort)


FASTEST = 7.0
"""Three times what a Panda's joints may do [rad/s]."""

MOTIONS = [*(FASTEST * np.eye(7)), *np.random.default_rng(1).uniform(-FASTEST, FASTEST, (5, 7))]


@pytest.mark.slow
@pytest.mark.parametrize("qd", MOTIONS, ids=str)
def test_the_brake_stops_a_fast_panda_and_hardly_adds_energy(panda: Library, qd: FloatArray) -> None:
    arm = Arm(panda, PANDA_START, qd)
    arm.activate()
    arm.controller.begin_stop()
    stop = arm.run(2000)
    # What holds an arm against what gravity compensation leaves has to be unlearnt again: some thousandths.
    assert np.maximum(np.diff(stop.energy), 0.0).sum() < 5e-3 * stop.energy[0]
    assert stop.energy[500] < 1e-3 * stop.energy[0]
    assert stop.done is not None and stop.speed[-1] < 1e-4


# --- an arm with light wrists ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ur5(build_cache: Path) -> Library:
    return Library(build(load_robot("ur5"), [("slotine_li", {"adaptation": "none"})]) / "libur5.so")


def _braked(library: Library, plant: ModelPlant, factor: float) -> tuple[FloatArray, bool]:
    """A stop of 3 s from up to `factor` velocity limits: the largest speed in velocity limits, and how it ended."""
    limit = np.array(library.velocity_limit)
    plant.reset(np.array([0.0, -1.2, 1.4, -0.5, 0.8, 0.3]), factor * limit * np.random.default_rng(3).uniform(-1, 1, 6))
    controller = Controller()
    controller.configure(library, law="slotine_li")
    held = np.array(library.evaluate("G", plant.q)).ravel()
    controller.activate(plant.q, plant.qd, held)
    controller.begin_stop()
    q, qd, effort = np.empty(6), np.empty(6), held.copy()
    speed = np.empty(3000)
    for k in range(len(speed)):
        plant.measure(q, qd)
        speed[k] = (np.abs(plant.qd) / limit).max()
        controller.update(k * STEP, q, qd, STEP, effort)
        plant.step(effort)
    return speed, controller.has_stopped


@pytest.mark.slow
@pytest.mark.parametrize("has_rotors", [False, True], ids=["light", "rotors"])
@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("factor", [1.0, 5.0])
def test_the_brake_stops_light_wrists(ur5: Library, factor: float, delay: int, has_rotors: bool) -> None:
    """28 N·m turn wrists of down to 0.1 g·m²; rotors, where there are any, are 0.06 kg·m², as of geared motors."""
    model = load_robot("ur5")
    rotors = 2e-3 * np.array(ur5.effort_limit) * has_rotors
    options = PlantOptions(velocity="differences", torque_delay=delay * STEP, rotor_inertia=list(rotors))
    plant = ModelPlant(model, model.joint_names, STEP, options)
    speed, has_stopped = _braked(ur5, plant, factor)
    assert speed.max() < 5.0 * max(factor, 1.0)  # more while it is found that it spins; it was some 2000 for good
    assert speed[-500:].max() < 0.05 and has_stopped


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.7, 1.0, 1.3])
@pytest.mark.parametrize("delay", [0, 3])
def test_the_brake_stops_wrists_whose_rotors_are_known_to_30_percent(
    build_cache: Path, delay: int, share: float
) -> None:
    """At five times the velocity limits, to rest at once: the inertia is all that it goes by, none is added."""
    model = load_robot("ur5")
    rotors = 2e-3 * np.array([link.joint.limits.effort for link in model.links])
    known = model.with_rotor_inertias(dict(zip(model.joint_names, rotors, strict=True)))
    library = Library(build(known, [("slotine_li", {"adaptation": "none"})]) / "libur5.so")
    options = PlantOptions(velocity="differences", torque_delay=delay * STEP, rotors=list(share * rotors))
    speed, has_stopped = _braked(library, ModelPlant(model, model.joint_names, STEP, options), factor=5.0)
    assert speed.max() < 5.0  # never faster than at first
    assert speed[1000:].max() < 0.05 and has_stopped


def test_an_arm_shaken_by_its_law_is_stopped_and_held(panda: Library) -> None:
    """Feedback that is unstable at 1 kHz makes the last joints oscillate at the torque rate limit, beyond 0.3 rad/s."""
    stops = []
    for patience in (np.inf, 0.1):
        limits = {"velocity_limit": [0.3] * 7, "velocity_limit_patience": patience, "velocity_stop_ratio": 1e6}
        options = Options(**limits, accepts_unstable_gains=True)
        arm = Arm(panda, PANDA_START + 0.01, np.zeros(7), gains={"K_d": 100.0}, options=options)
        arm.controller.set_reference(_at(panda, PANDA_START))
        arm.activate()
        stops.append(arm.run(2000))
    forever, stopped = stops
    assert forever.latched is None and forever.speed[-500:].max() > 0.3
    assert stopped.latched is not None and stopped.done is not None
    assert stopped.done - stopped.latched < 500
    assert stopped.speed[-500:].max() < 0.01
    # At rest the effort is the gravity torque of the description: the one that holds the arm.
    np.testing.assert_allclose(stopped.final_effort, arm.plant.holding_effort(), atol=1e-2)


def test_the_way_from_afar_is_no_runaway(panda: Library) -> None:
    """A reference 0.3 m and 40° away, given at once: joints pass their limits, but not for as long."""
    arm = Arm(panda, PANDA_START, np.zeros(7))
    reference = _at(panda, PANDA_START)
    angle = np.deg2rad(40.0)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    reference[:3] += [-0.1, 0.25, -0.1]
    reference[3:12] = (turn @ reference[3:12].reshape(3, 3, order="F")).ravel(order="F")
    arm.controller.set_reference(reference)
    arm.activate()
    stop = arm.run(4000)
    assert stop.speed.max() > 1.0 and stop.latched is None
    distance = panda.evaluate("T_0_ee", arm.plant.q)[:3, 3] - reference[:3]
    assert np.linalg.norm(distance) < 5e-3


def _at(library: Library, q: FloatArray) -> FloatArray:
    T = library.evaluate("T_0_ee", q)
    return np.concatenate([T[:3, 3], T[:3, :3].ravel(order="F"), np.zeros(12)])


def test_a_stop_ends_though_what_holds_the_arm_is_at_its_limit(panda_folder: Path) -> None:
    """A joint that is said to be fast for a second, and does not move, fills its hold and those of others."""
    controller, effort = Controller(), np.zeros(7)
    options = Options(position_noise=1e3)
    controller.configure(Library(panda_folder / "libpanda.so"), law="cartesian_backstepping", options=options)
    q, qd = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.7]), np.zeros(7)
    controller.activate(q)
    for step in range(1200):
        qd[0] = 8.0 if step < 1000 else 0.0
        q[1] = -0.5 + 1e-9 * (step % 2)
        guards = Guard(controller.update((step + 1) * STEP, q, qd, STEP, effort))
        if step == 999:
            assert effort[0] == pytest.approx(-87.0) and not controller.has_stopped
    assert Guard.RUNAWAY in guards and controller.has_stopped
