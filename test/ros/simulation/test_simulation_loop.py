"""The loop of the simulation and its sensors, without nodes: pace, brakes, payload, what each fault shows."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from watchdog import PATIENCE

from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.simulation import loop
from thunder_controllers.ros.simulation.faults import FAULTS, FaultInjector
from thunder_controllers.ros.simulation.loop import SimulationLoop
from thunder_controllers.ros.simulation.options import payload_of, robot_options
from thunder_controllers.ros.simulation.sensors import Sensors
from thunder_controllers.simulation.robot import SimulatedRobot

URDF = str(Path(__file__).parents[3] / "urdf/panda.urdf.xacro")
Q_START = (0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0)
PERIOD_NS = 1_000_000


class Clock:
    """A clock of the loop that stands still unless it waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: self.now))

    def wait(self, left: float | None = None) -> bool:
        self.now += left or 0.0
        return False


class Recorder:
    """Stands for the node: keeps what is published."""

    def __init__(self) -> None:
        self.messages: dict[str, list[Any]] = {}

    def create_publisher(self, kind: Any, topic: str, qos: Any) -> Any:
        self.messages[topic] = []
        publisher = copy.copy(self)
        publisher.publish = lambda message: self.messages[topic].append(copy.deepcopy(message))  # type: ignore[attr-defined]
        return publisher


class Simulation:
    """A robot with sensors, a loop that is stepped by hand, and what was seen."""

    def __init__(self, **parameters: Any) -> None:
        defaults = {p.name: p.default for p in node_parameters("simulation", "mujoco_simulation")}
        self.values = {**defaults, "urdf": URDF, "q_start": Q_START, "mode": "lockstep", **parameters}
        self.robot, self.faults, self._node = SimulatedRobot(robot_options(self.values)), FaultInjector(), Recorder()
        self.sensors = Sensors(self._node, self.robot, self.faults)  # type: ignore[arg-type]
        self.loop = SimulationLoop(self.robot, self.sensors, self.values)
        self.seen: list[tuple[int, np.ndarray, np.ndarray]] = []
        """Stamp, positions and velocities that the controller was shown."""
        self.effort: np.ndarray | None = None
        self.loop.control = self._control

    def _control(self, stamp: int, q: Any, qd: Any, held: Any, *, in_lockstep: bool) -> np.ndarray | None:
        self.seen.append((stamp, q.copy(), qd.copy()))
        return self.effort

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.loop.step()

    @property
    def states(self) -> list[JointState]:
        return self._node.messages["joint_states"]

    @property
    def stamps(self) -> np.ndarray:
        return np.array([m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in self.states])

    def inject(self, kind: str, duration: float = 0.0, offset: float = 10.0) -> None:
        self.faults.start(kind, duration, offset, self.robot.time_ns)


def test_states_are_complete_and_stamped_with_every_period_and_the_clock_agrees() -> None:
    simulation = Simulation()
    simulation.steps(20)
    first = simulation.states[0]
    assert list(first.name) == [f"panda_joint{i}" for i in range(1, 8)]
    np.testing.assert_allclose(first.position, Q_START, atol=1e-15)
    np.testing.assert_array_equal(first.velocity, np.zeros(7))
    assert set(np.diff(simulation.stamps)) == {PERIOD_NS}
    clock = [m.clock.sec * 10**9 + m.clock.nanosec for m in simulation._node.messages["/clock"]]
    assert clock == simulation.stamps.tolist() == [stamp for stamp, *_ in simulation.seen]


def test_the_brakes_hold_until_somebody_commands_and_engage_when_nobody_does_any_more() -> None:
    simulation = Simulation()
    simulation.steps(20)
    np.testing.assert_allclose(simulation.states[-1].position, Q_START, atol=1e-15)
    assert np.abs(simulation.states[-1].effort).max() > 10.0  # what holding takes: a controller can start from it
    simulation.effort = np.zeros(7)
    simulation.steps(50)
    assert abs(simulation.states[-1].position[1] - Q_START[1]) > 1e-3  # it falls
    simulation.effort = None
    simulation.steps(3)
    assert not np.any(simulation.states[-1].velocity) and simulation.robot.is_held
    assert simulation.loop.counters.brakes_engaged == 1


def test_a_robot_without_brakes_starts_with_no_effort_and_keeps_the_last() -> None:
    simulation = Simulation(hold_until_command=False)
    simulation.steps(20)
    assert abs(simulation.states[-1].position[1] - Q_START[1]) > 1e-5
    simulation.effort = np.full(7, 2.0)
    simulation.steps(2)
    simulation.effort = None
    simulation.steps(2)
    np.testing.assert_array_equal(simulation.states[-1].effort, np.full(7, 2.0))


def test_lock_step_is_the_same_bit_for_bit_in_every_run() -> None:
    runs = []
    for _ in range(2):
        simulation = Simulation(**{"noise.q_std": (1e-4,)})
        for k in range(50):
            simulation.effort = np.array([np.sin(k), 2.0, 3.0, 4.0, 0.5, 0.5, 0.5])
            simulation.steps(1)
        runs.append(np.array([message.position for message in simulation.states]))
    np.testing.assert_array_equal(runs[0], runs[1])


@pytest.mark.parametrize(("mode", "is_slow"), [("realtime", True), ("lockstep", False)])
def test_real_time_keeps_pace_and_lock_step_does_not_wait(
    mode: str, is_slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    simulation = Simulation(mode=mode, rate=100.0, realtime_factor=0.5)
    simulation.loop._ending.wait = clock.wait  # type: ignore[method-assign]
    simulation.effort = np.zeros(7)
    simulation.steps(10)
    assert clock.now == pytest.approx(0.2 if is_slow else 0.0)


def test_a_loop_that_is_late_gives_the_time_up_instead_of_running_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    simulation = Simulation(mode="realtime")
    clock.now = 1.0
    simulation.steps(1)
    counters = simulation.loop.counters
    assert counters.late_steps == 1 and counters.given_up == pytest.approx(1.0 - PERIOD_NS * 1e-9)


def test_the_thread_pauses_goes_on_ends_and_keeps_its_error() -> None:
    simulation = Simulation(rate=1000.0)
    simulation.loop.start()
    while simulation.loop.counters.steps < 5:
        time.sleep(1e-3)
    waiting, wait = threading.Event(), simulation.loop._running.wait
    simulation.loop._running.wait = lambda: (waiting.set(), wait())[1]  # type: ignore[method-assign, assignment]
    simulation.loop.pause(True)
    assert waiting.wait(PATIENCE)
    steps = simulation.loop.counters.steps
    assert simulation.loop.is_paused
    simulation.effort = np.zeros(6)  # a defect, which the first step finds
    simulation.loop.pause(False)
    simulation.loop.join(PATIENCE)
    assert simulation.loop.counters.steps == steps
    assert "6 efforts" in str(simulation.loop.error)
    simulation.loop.end()


def test_a_payload_changes_what_holding_takes() -> None:
    simulation = Simulation(**{"payload.mass": 2.0, "payload.com": (0.0, 0.0, 0.1)})
    simulation.steps(2)
    simulation.robot.attach(payload_of(simulation.values, simulation.robot.plant.ee_link))
    simulation.steps(2)
    before, after = (np.array(simulation.states[k].effort) for k in (1, -1))
    assert np.abs(after - before).max() > 5.0  # 2 kg at some 0.5 m
    np.testing.assert_array_equal(simulation.states[-1].position, Q_START)


CONTENT: dict[str, Callable[[JointState], bool]] = {
    "nan_joint_states": lambda message: bool(np.isnan(message.position[0])),
    "inf_velocity": lambda message: bool(np.isinf(message.velocity[0])),
    "wrong_names": lambda message: message.name[0] == "other_panda_joint1",
    "wrong_size": lambda message: len(message.position) == 6 and len(message.name) == 7,
    "missing_joint": lambda message: len(message.name) == 6,
    "empty": lambda message: not message.name,
}
ARRIVES = ("nan_joint_states", "inf_velocity")
"""What a controller can read; of the others it keeps the last state that it could."""


@pytest.mark.parametrize("kind", CONTENT)
def test_faults_of_content_show_and_end(kind: str) -> None:
    simulation = Simulation()
    simulation.effort = np.zeros(7)
    simulation.steps(3)
    simulation.inject(kind)
    simulation.steps(5)
    assert [CONTENT[kind](message) for message in simulation.states] == [False] * 3 + [True] * 5
    assert simulation.seen[-1][0] == simulation.stamps[-1 if kind in ARRIVES else 2]
    assert np.isfinite(simulation.seen[-1][1:]).all() != (kind in ARRIVES)
    simulation.faults.stop()
    simulation.steps(2)
    assert not CONTENT[kind](simulation.states[-1]) and simulation.seen[-1][0] == simulation.stamps[-1]


TIMES: dict[str, tuple[list[float], list[float]]] = {
    "freeze": ([1, 1, 0, 0, 0], [1, 1, 0, 0, 0]),
    "drop_joint_states": ([1], [1, 0, 0, 0, 0]),
    "drop_every_second": ([1, 2, 2], [1, 0, 2, 0, 2]),
    "duplicate": ([1, 1, 0, 1, 0, 1, 0, 1, 0], [1] * 5),
    "reorder": ([1, 1, 1, -1, 2, -1, 2, -1], [1] * 5),
    "stuck_sensors": ([1] * 5, [1] * 5),
    "clock_jump": ([1, 10001, 1, 1, 1], [1, 10001, 1, 1, 1]),
    "clock_restart": ([1, -1, 1, 1, 1], [1, -1, 1, 1, 1]),
}
"""Steps of the stamps of joint_states, and of what the controller was shown [ms]."""


@pytest.mark.parametrize("kind", TIMES)
def test_faults_of_time_show_in_the_topic_and_to_the_controller(kind: str) -> None:
    simulation = Simulation()
    simulation.effort = np.zeros(7)
    simulation.steps(2)
    simulation.inject(kind)
    simulation.steps(4)
    published, read = TIMES[kind]
    np.testing.assert_allclose(np.diff(simulation.stamps) * 1e-6, published)
    np.testing.assert_allclose(np.diff([stamp for stamp, *_ in simulation.seen]) * 1e-6, read)
    q = np.array([q for _, q, _ in simulation.seen])
    if kind == "stuck_sensors":
        np.testing.assert_array_equal(q[2:], np.broadcast_to(q[2], q[2:].shape))
        assert simulation.robot.plant.q[1] != q[2, 1], "it falls, unseen"


def test_a_fault_ends_by_itself_after_its_duration() -> None:
    simulation = Simulation()
    simulation.inject("drop_joint_states", duration=0.05)
    simulation.steps(60)
    assert len(simulation.states) == 10 and simulation.faults.kind == "none"


def test_every_fault_is_tried_here() -> None:
    assert {*CONTENT, *TIMES, "none"} == set(FAULTS)
