"""The robot side of protocol 5, a Panda of the first generation, seen through libfranka 0.9.2 of panda-python."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import numpy as np
import pytest
from franka_session import ADAPTIVE, FIGURE, HIDDEN, STEP, FrankaSession, compile_library
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from virtual_robot import VirtualRobot, newest

from thunder_controllers.franka.arm import HOME
from thunder_controllers.franka.protocol import PROTOCOLS
from thunder_controllers.host import Library

panda_py = pytest.importorskip("panda_py", reason="no wheel of panda-python for this machine")
libfranka = pytest.importorskip("panda_py.libfranka")

pytestmark = pytest.mark.xdist_group("franka")

FIVE = PROTOCOLS[5]
FIRST_PANDA = ("--protocol", 5, "--arm", "panda")
REST = [0.0] * 7

Torque = list[float] | NDArray[np.float64]
Program = Generator[Torque, tuple["libfranka.RobotState", float], None]
"""Yields a torque for each state, and the time since the one before [s]; the first torque is passed over."""


def control(robot: libfranka.Robot, program: Program) -> None:
    """Run a program of torques, without libfranka's rate limiter and filter, to its end."""
    next(program)

    def answer(state: libfranka.RobotState, duration: libfranka.Duration) -> libfranka.Torques:
        try:
            return libfranka.Torques(list(program.send((state, duration.to_sec()))))
        except StopIteration:
            last = libfranka.Torques(REST)
            last.motion_finished = True
            return last

    robot.control(answer, limit_rate=False, cutoff_frequency=1000.0)


def rest(steps: int, last: Torque = REST) -> Program:
    """No torque for so many steps, then this one."""
    for _ in range(steps + 1):
        yield REST
    yield last


@pytest.fixture(scope="module")
def virtual() -> Iterator[VirtualRobot]:
    with VirtualRobot(*FIRST_PANDA) as virtual:
        yield virtual


@pytest.fixture(scope="module")
def connection(virtual: VirtualRobot) -> libfranka.Robot:
    """One for all: a failed test keeps its own, and the robot has one client."""
    return libfranka.Robot(virtual.address)


@pytest.fixture
def robot(virtual: VirtualRobot, connection: libfranka.Robot) -> libfranka.Robot:
    """At HOME, with nothing set."""
    robot = connection
    virtual.bring_home(robot)
    return robot


def recovers(robot: libfranka.Robot, error: str) -> None:
    """The arm stands still by this reflex; after recovery torques are taken again."""
    state = newest(robot)
    assert state.robot_mode == libfranka.RobotMode.kReflex
    assert str(state.current_errors) == str(state.last_motion_errors) == f'["{error}"]'
    assert_allclose(state.dq, 0.0)
    with pytest.raises(RuntimeError, match="Move command rejected: command not possible in the current mode"):
        control(robot, rest(10))
    robot.automatic_error_recovery()
    control(robot, rest(10))
    state = newest(robot)
    assert state.robot_mode == libfranka.RobotMode.kIdle
    assert not state.current_errors
    assert not state.last_motion_errors


def test_sizes_are_those_of_the_headers() -> None:
    """Of libfranka-common at e6aa0fc, as a compiler counts them."""
    assert {command.name: fields.itemsize for command, fields in FIVE.requests.items()} == {
        "CONNECT": 4,
        "MOVE": 56,
        "GET_CARTESIAN_LIMIT": 4,
        "SET_COLLISION_BEHAVIOR": 416,
        "SET_JOINT_IMPEDANCE": 56,
        "SET_CARTESIAN_IMPEDANCE": 48,
        "SET_GUIDING_MODE": 7,
        "SET_EE_TO_K": 128,
        "SET_NE_TO_EE": 128,
        "SET_LOAD": 104,
        "SET_FILTERS": 40,
        "LOAD_MODEL_LIBRARY": 2,
    }
    assert (FIVE.state.itemsize, FIVE.command.itemsize) == (2373, 370)
    offsets = {name: FIVE.state.fields[name][1] for name in ("q", "O_ddP_O", "dtheta", "errors", "robot_mode")}  # type: ignore[index]
    assert offsets == {"q": 1184, "O_ddP_O": 1872, "dtheta": 2224, "errors": 2282, "robot_mode": 2364}


def test_a_state_is_that_of_the_arm(robot: libfranka.Robot) -> None:
    state = newest(robot)
    assert robot.server_version() == 5
    assert state.robot_mode == libfranka.RobotMode.kIdle
    assert tuple(state.q) == HOME, "double precision"
    assert_allclose(np.reshape(state.O_T_EE, (4, 4))[:, 3], [0.0, 0.0, 0.0, 1.0])
    assert_allclose(state.tau_ext_hat_filtered, 0.0, atol=1e-12)
    assert len(state.tau_J) == 7
    assert np.abs(state.tau_J).max() > 10.0
    assert state.control_command_success_rate == 0.0
    assert newest(robot).time.to_sec() > state.time.to_sec()


def test_zero_torque_keeps_the_arm_where_it_is(robot: libfranka.Robot) -> None:
    def program() -> Program:
        yield REST
        for _ in range(500):
            state, elapsed = yield REST
        assert elapsed == pytest.approx(STEP)
        assert state.robot_mode == libfranka.RobotMode.kMove
        assert state.control_command_success_rate == 1.0
        assert_allclose(state.q, HOME, atol=1e-5)

    control(robot, program())
    assert newest(robot).robot_mode == libfranka.RobotMode.kIdle


def test_libfranka_s_own_limiter_and_filter_are_obeyed(robot: libfranka.Robot) -> None:
    """They start from `tau_J_d` of the state: a step of 5 N·m becomes continuous."""
    torques = iter(range(20))

    def answer(state: libfranka.RobotState, _: libfranka.Duration) -> libfranka.Torques:
        command = libfranka.Torques([5.0, *REST[1:]])
        command.motion_finished = next(torques) == 10
        return command

    robot.control(answer)


def test_settings_are_taken_in_idle_alone(robot: libfranka.Robot) -> None:
    robot.set_joint_impedance([3000.0] * 7)
    robot.set_cartesian_impedance([2000.0] * 3 + [100.0] * 3)
    robot.set_guiding_mode([True] * 6, False)
    before = newest(robot)
    lower = np.eye(4)
    lower[2, 3] = 0.1
    robot.set_ee(list(lower.T.ravel()))
    robot.set_k(list(lower.T.ravel()))
    robot.set_load(0.5, [0.0, 0.0, 0.1], list(np.diag([1e-3, 2e-3, 3e-3]).ravel()))
    state = newest(robot)
    assert state.F_T_EE == state.EE_T_K == list(lower.T.ravel())
    assert np.subtract(state.O_T_EE, before.O_T_EE)[14] == pytest.approx(-0.1)  # it points down
    assert (state.m_load, state.F_x_Cload, state.I_load[8]) == (0.5, [0.0, 0.0, 0.1], 3e-3)
    assert state.O_F_ext_hat_K[2] == pytest.approx(-0.5 * 9.81)
    robot.set_ee(list(np.eye(4).ravel()))
    with pytest.raises(RuntimeError, match="Set Load command rejected: invalid argument"):
        robot.set_load(-1.0, [0.0] * 3, [0.0] * 9)

    def program() -> Program:
        yield REST
        yield REST
        with pytest.raises(RuntimeError, match="Set Load command rejected: command not possible"):
            robot.set_load(1.0, [0.0] * 3, [0.0] * 9)

    control(robot, program())


@pytest.mark.slow
def test_there_is_no_model_library(robot: libfranka.Robot) -> None:
    with pytest.raises(RuntimeError, match="Server reports error when loading model library"):
        robot.load_model()
    assert newest(robot).robot_mode == libfranka.RobotMode.kIdle
    with VirtualRobot(*FIRST_PANDA) as another, pytest.raises(RuntimeError, match="error when loading model library"):
        panda_py.Panda(another.address)


@pytest.mark.slow
def test_a_client_of_another_protocol_is_told() -> None:
    with VirtualRobot() as another, pytest.raises(RuntimeError, match="speaks protocol version 10"):
        libfranka.Robot(another.address)


def test_motion_generators_are_refused(robot: libfranka.Robot) -> None:
    with pytest.raises(RuntimeError, match="Move command rejected: command not possible in the current mode"):
        robot.control_joint_velocity(lambda state, elapsed: libfranka.JointVelocities(REST))


def test_torque_discontinuity(robot: libfranka.Robot) -> None:
    control(robot, rest(10, [0.0, 0.99, *REST[2:]]))
    with pytest.raises(RuntimeError, match=r'aborted by reflex! \["controller_torque_discontinuity"\]'):
        control(robot, rest(10, [0.0, 1.01, *REST[2:]]))
    recovers(robot, "controller_torque_discontinuity")


def test_collision(virtual: VirtualRobot, robot: libfranka.Robot) -> None:
    robot.set_collision_behavior([100.0] * 7, [100.0] * 7, [5.0] * 6, [10.0] * 6)

    def program() -> Program:
        yield from rest(10)
        virtual.say("push 0 0 -15")
        yield from rest(1000)

    with pytest.raises(RuntimeError, match="cartesian_reflex"):
        control(robot, program())
    assert newest(robot).cartesian_collision[2] == 1.0
    virtual.say("push 0 0 0")
    recovers(robot, "cartesian_reflex")


def test_user_stop(virtual: VirtualRobot, robot: libfranka.Robot) -> None:
    def program() -> Program:
        yield from rest(10)
        virtual.say("stop")
        yield from rest(10)

    with pytest.raises(RuntimeError, match="User Stop pressed"):
        control(robot, program())
    assert newest(robot).robot_mode == libfranka.RobotMode.kUserStopped
    with pytest.raises(RuntimeError, match="User Stop pressed"):
        robot.automatic_error_recovery()
    virtual.say("release")
    control(robot, rest(10))


def test_lost_states(virtual: VirtualRobot, robot: libfranka.Robot) -> None:
    def program() -> Program:
        yield from rest(100)
        virtual.say("lose 19")
        state, elapsed = yield REST
        assert elapsed == pytest.approx(0.020)
        assert state.control_command_success_rate == pytest.approx(0.81)
        virtual.say("lose 20")
        yield from rest(2)

    with pytest.raises(RuntimeError, match="communication_constraints_violation"):
        control(robot, program())
    recovers(robot, "communication_constraints_violation")


def test_an_exception_in_the_program_stops_the_motion(robot: libfranka.Robot) -> None:
    def program() -> Program:
        yield from rest(10)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        control(robot, program())
    assert newest(robot).robot_mode == libfranka.RobotMode.kIdle


@pytest.fixture(scope="module")
def library(build_cache: Path) -> Library:
    return compile_library()


@pytest.mark.slow
@pytest.mark.parametrize("network", [[], ["--lose-states", 0.005, "--lose-commands", 0.005]], ids=["", "1 % lost"])
def test_a_hidden_payload_is_found_and_tracked(library: Library, network: list[object]) -> None:
    def program() -> Program:
        state, elapsed = yield REST
        session = FrankaSession(library, ADAPTIVE[0], state)
        session.session.trace(FIGURE)
        for _ in range(4000):
            state, elapsed = yield session.answer(state, elapsed)
        distances = []
        for _ in range(2000):
            state, elapsed = yield session.answer(state, elapsed)
            distances.append(session.distance)
        assert max(distances) < 1e-4
        session.check_payload()

    with VirtualRobot(*FIRST_PANDA, *HIDDEN, *network) as virtual:
        control(libfranka.Robot(virtual.address), program())
