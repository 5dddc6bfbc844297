"""The robot side of libfranka's protocol, seen through libfranka itself."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import pytest
from command_line import thunder
from documentation import ROOT, blocks
from numpy.testing import assert_allclose
from torque_control import Motion, connect, pylibfranka
from virtual_robot import VirtualRobot, newest
from watchdog import PATIENCE, watched

from thunder_controllers.franka.arm import HOME
from thunder_controllers.franka.arms import ARMS
from thunder_controllers.franka.protocol import HEADER, PORT, PROTOCOLS, Command, Error, Mode, Protocol, Status

pytestmark = pytest.mark.xdist_group("franka")

FIVE, TEN = PROTOCOLS[5], PROTOCOLS[10]
REST = [0.0] * 7
ULP = 2e-6
"""Numbers of a state have single precision."""


@pytest.fixture(scope="module")
def virtual() -> Iterator[VirtualRobot]:
    with VirtualRobot("--arm", "fr3") as virtual:
        yield virtual


@pytest.fixture
def robot(virtual: VirtualRobot) -> pylibfranka.Robot:
    """Connected, at HOME, with nothing set."""
    robot = connect(virtual)
    virtual.bring_home(robot)
    return robot


def is_set(errors: pylibfranka.Errors) -> list[str]:
    return [name for name in dir(errors) if not name.startswith("_") and getattr(errors, name) is True]


def stopped(robot: pylibfranka.Robot, name: str) -> None:
    """The arm stands still by this reflex; after recovery torques are taken again."""
    state = newest(robot)
    assert state.robot_mode == pylibfranka.RobotMode.Reflex
    assert is_set(state.current_errors) == is_set(state.last_motion_errors) == [name]
    assert_allclose(state.dq, 0.0)
    with pytest.raises(pylibfranka.CommandException, match="command not possible"):
        robot.start_torque_control()
    robot.automatic_error_recovery()
    recovers(robot)


def recovers(robot: pylibfranka.Robot) -> None:
    state = newest(robot)
    assert state.robot_mode == pylibfranka.RobotMode.Idle
    assert is_set(state.current_errors) == []
    with Motion(robot) as motion:
        motion.run(0.01, REST)
        motion.finish()
    assert is_set(newest(robot).last_motion_errors) == []


def test_a_state_is_that_of_the_arm(robot: pylibfranka.Robot) -> None:
    state = newest(robot)
    assert state.robot_mode == pylibfranka.RobotMode.Idle
    assert_allclose(state.q, HOME, atol=ULP)
    assert_allclose(state.tau_J_d, 0.0)
    assert_allclose(state.tau_ext_hat_filtered, 0.0, atol=1e-5)
    assert state.control_command_success_rate == 0.0
    assert newest(robot).time.to_sec() > state.time.to_sec()


def test_libfranka_s_model_of_the_description_agrees_with_the_arm(robot: pylibfranka.Robot) -> None:
    state = newest(robot)
    model = robot.load_model()
    assert_allclose(model.gravity(state), state.tau_J, atol=1e-5)  # libfranka has 9.81 m/s², too
    robot.set_load(1.5, [0.02, -0.01, 0.1], list(np.diag([2e-3, 3e-3, 4e-3]).ravel()))
    loaded = newest(robot)
    assert_allclose(np.subtract(model.gravity(loaded), state.tau_J), -np.array(loaded.tau_ext_hat_filtered), atol=1e-5)


def test_another_protocol_is_refused(virtual: VirtualRobot) -> None:
    with Client(virtual, FIVE) as client:
        assert client.answer(Command.CONNECT) == (Status.INCOMPATIBLE_VERSION, struct.pack("<H", 10))
    virtual.wait("client gone: protocol 10 is needed")


def test_an_fr3_does_not_speak_protocol_5() -> None:
    result = thunder("franka-server", "--arm", "fr3", "--protocol", "5")
    assert result.exit_code == 2
    assert "'fr3' does not speak protocol 5; valid: panda" in result.output


@pytest.mark.slow
def test_filters_and_limits_of_protocol_5() -> None:
    """Which libfranka 0.9 has, and its Python interface lacks."""
    with VirtualRobot("--protocol", 5, "--arm", "panda") as virtual, Client(virtual, FIVE) as client:
        client.answer(Command.CONNECT)
        for frequencies, status in (
            ([100.0] * 5, Status.SUCCESS),
            ([0.5] * 5, Status.INVALID_ARGUMENT),
            ([np.nan] * 5, Status.INVALID_ARGUMENT),
        ):
            client.ask(Command.SET_FILTERS, (frequencies,))
            assert client.answer(Command.SET_FILTERS) == (status, b"")
        client.ask(Command.GET_CARTESIAN_LIMIT, (0,))
        status, limit = client.answer(Command.GET_CARTESIAN_LIMIT)
        assert (status, len(limit)) == (Status.INVALID_ARGUMENT, 153)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (struct.pack("<III", 77, 0, 12), "command 77"),
        (struct.pack("<III", 1, 0, 0xFFFFFFFF), "move of 4294967295 bytes instead of 125"),
        (struct.pack("<III", 11, 0, 0), "get_robot_model of 0 bytes instead of 12"),
        (struct.pack("<IIIHH", 0, 0, 16, 10, 1234), "connect twice"),
    ],
)
def test_what_is_no_message_ends_the_connection(virtual: VirtualRobot, message: bytes, reason: str) -> None:
    with Client(virtual) as client:
        client.answer(Command.CONNECT)
        client.tcp.sendall(message)
        virtual.wait(f"client gone: {reason}")
    virtual.wait("waiting for a client")
    connect(virtual).read_once()


@pytest.mark.parametrize("said", [b"", struct.pack("<II", 0, 0)], ids=["nothing", "half"])
def test_a_client_that_says_no_whole_message_is_dropped(said: bytes) -> None:
    with watched(), VirtualRobot("--arm", "fr3", "--silence", 0.1) as virtual:
        silent = socket.create_connection((virtual.address, PORT))
        silent.sendall(said)
        virtual.wait("client gone: silent for 0.1 s")
        assert silent.recv(1) == b""


def test_silent_clients_keep_nobody_waiting() -> None:
    """Each of them may be silent for days; the one that speaks is served."""
    with VirtualRobot("--arm", "fr3", "--silence", 1e6) as virtual, ExitStack() as clients:
        for _ in range(3):
            clients.enter_context(socket.create_connection((virtual.address, PORT)))
        with watched():
            for _ in range(2):
                with Client(virtual) as client:
                    assert client.answer(Command.CONNECT)[0] is Status.SUCCESS
                    client.state()
                virtual.wait("client gone: closed")


def test_zero_torque_keeps_the_arm_where_it_is(robot: pylibfranka.Robot) -> None:
    with Motion(robot) as motion:
        motion.run(0.5, REST)
        assert motion.elapsed == pytest.approx(1e-3)
        assert motion.state.robot_mode == pylibfranka.RobotMode.Move
        assert motion.state.control_command_success_rate == 1.0
        assert_allclose(motion.state.q, HOME, atol=1e-5)
        motion.finish()
    assert newest(robot).robot_mode == pylibfranka.RobotMode.Idle


def test_settings_are_taken_in_idle_alone(robot: pylibfranka.Robot) -> None:
    robot.set_joint_impedance([3000.0] * 7)
    robot.set_cartesian_impedance([2000.0] * 3 + [100.0] * 3)
    frame = np.eye(4)
    frame[2, 3] = 0.1
    robot.set_EE(list(frame.T.ravel()))
    robot.set_K(list(frame.T.ravel()))
    before = newest(robot)
    assert before.F_T_EE == before.NE_T_EE == before.EE_T_K == [float(np.float32(x)) for x in frame.T.ravel()]
    robot.set_EE(list(np.eye(4).ravel()))
    assert np.subtract(newest(robot).O_T_EE, before.O_T_EE)[14] == pytest.approx(0.1, abs=ULP)  # it points down
    for refused in (
        lambda: robot.set_joint_impedance([20000.0] * 7),
        lambda: robot.set_cartesian_impedance([2000.0] * 6),
        lambda: robot.set_EE([1.0] * 16),
        lambda: robot.set_load(-1.0, [0.0] * 3, [0.0] * 9),
    ):
        with pytest.raises(pylibfranka.CommandException, match="invalid argument"):
            refused()
    with Motion(robot) as motion:
        with pytest.raises(pylibfranka.CommandException, match="command not possible"):
            robot.set_load(1.0, [0.0] * 3, [0.0] * 9)
        motion.run(0.01, REST)
        motion.finish()


def test_a_load_that_is_not_there_is_held_up_all_the_same(robot: pylibfranka.Robot) -> None:
    robot.set_load(0.5, [0.0] * 3, [0.0] * 9)
    state = newest(robot)
    assert state.m_load == 0.5
    assert_allclose(state.O_F_ext_hat_K, [0.0, 0.0, -0.5 * 9.81, 0.0, 0.0, 0.0], atol=1e-4)
    with Motion(robot) as motion:
        motion.run(0.1, REST)
        assert motion.state.O_T_EE[14] > state.O_T_EE[14] + 5e-3
        motion.finish()


def test_motion_generators_are_refused(robot: pylibfranka.Robot) -> None:
    for start in (robot.start_joint_position_control, robot.start_cartesian_velocity_control):
        with pytest.raises(pylibfranka.CommandException, match="command not possible in the current mode"):
            start(pylibfranka.ControllerMode.JointImpedance)


@pytest.mark.parametrize("first", [1.01, -1.01])
def test_torque_discontinuity(robot: pylibfranka.Robot, first: float) -> None:
    with Motion(robot) as motion, pytest.raises(pylibfranka.ControlException, match="controller_torque_discontinuity"):
        motion.run(0.002, [0.0, 0.0, first, 0.0, 0.0, 0.0, 0.0])
    stopped(robot, "controller_torque_discontinuity")


def test_torques_that_are_just_continuous_are_taken(robot: pylibfranka.Robot) -> None:
    with Motion(robot) as motion:
        motion.ramp(0.02, [0.0, 999.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        assert motion.state.tau_J_d[1] == pytest.approx(19 * 0.999)


def test_joint_velocity(robot: pylibfranka.Robot) -> None:
    with Motion(robot) as motion:
        with pytest.raises(pylibfranka.ControlException, match="joint_velocity_violation"):
            motion.ramp(2.0, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        assert motion.state.dq[6] > 3.0
    stopped(robot, "joint_velocity_violation")


def test_a_joint_beyond_its_limit_must_be_moved_by_hand(virtual: VirtualRobot, robot: pylibfranka.Robot) -> None:
    virtual.say("place " + " ".join(map(str, [*HOME[:6], ARMS["fr3"][6].upper + 1e-3])))
    with Motion(robot) as motion, pytest.raises(pylibfranka.ControlException, match="joint_position_limits_violation"):
        motion.run(0.002, REST)
    with pytest.raises(pylibfranka.CommandException, match="manual error recovery required"):
        robot.automatic_error_recovery()
    virtual.say("place " + " ".join(map(str, HOME)))
    stopped(robot, "joint_position_limits_violation")


def test_a_torque_at_its_limit(robot: pylibfranka.Robot) -> None:
    robot.set_collision_behavior([1e3] * 7, [1e3] * 7, [1e3] * 6, [1e3] * 6)
    robot.set_load(30.0, [0.0] * 3, [0.0] * 9)  # more than joint 4 can hold up
    with Motion(robot) as motion, pytest.raises(pylibfranka.ControlException, match="tau_[jJ]_range_violation"):
        motion.run(0.01, REST)
    robot.automatic_error_recovery()
    robot.set_load(0.0, [0.0] * 3, [0.0] * 9)
    recovers(robot)


def test_collisions(virtual: VirtualRobot, robot: pylibfranka.Robot) -> None:
    for name, behavior in (
        ("joint_reflex", ([2.0] * 7, [4.0] * 7, [100.0] * 6, [100.0] * 6)),
        ("cartesian_reflex", ([100.0] * 7, [100.0] * 7, [5.0] * 6, [10.0] * 6)),
    ):
        robot.set_collision_behavior(*behavior)
        with Motion(robot) as motion:
            virtual.say("push 0 0 -15")
            with pytest.raises(pylibfranka.ControlException, match=name):
                motion.run(1.0, REST)
        state = newest(robot)
        assert any(state.joint_collision) == (name == "joint_reflex")
        assert any(state.cartesian_collision) == (name == "cartesian_reflex")
        virtual.say("push 0 0 0")
        stopped(robot, name)
        assert not any(newest(robot).joint_collision)


def test_a_push_between_the_thresholds_is_a_contact(virtual: VirtualRobot, robot: pylibfranka.Robot) -> None:
    robot.set_collision_behavior([100.0] * 7, [100.0] * 7, [5.0] * 6, [30.0] * 6)
    with Motion(robot) as motion:
        virtual.say("push 0 0 -15")
        motion.run(0.1, REST)
        # What the robot pushes with, which is up; the stiffness frame points down.
        assert motion.state.O_F_ext_hat_K[2] == pytest.approx(15.0, rel=0.1)
        assert motion.state.K_F_ext_hat_K[2] == pytest.approx(-15.0, rel=0.1)
        assert motion.state.cartesian_contact == [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        virtual.say("push 0 0 0")
        motion.run(0.1, REST)
        assert not any(motion.state.cartesian_contact)
        motion.finish()


def test_user_stop(virtual: VirtualRobot, robot: pylibfranka.Robot) -> None:
    with Motion(robot) as motion:
        motion.run(0.01, REST)
        virtual.say("stop")
        with pytest.raises(pylibfranka.ControlException, match="User Stop pressed"):
            motion.run(0.01, REST)
    assert newest(robot).robot_mode == pylibfranka.RobotMode.UserStopped
    with pytest.raises(pylibfranka.CommandException, match="User Stop pressed"):
        robot.automatic_error_recovery()
    with pytest.raises(pylibfranka.CommandException, match="command not possible"):
        robot.start_torque_control()
    virtual.say("release")
    recovers(robot)


def test_lost_states(virtual: VirtualRobot, robot: pylibfranka.Robot) -> None:
    with Motion(robot) as motion:
        motion.run(0.1, REST)
        virtual.say("lose 19")
        motion.run(0.001, REST)
        assert motion.elapsed == pytest.approx(0.020)
        assert motion.state.control_command_success_rate == pytest.approx(0.81)
        virtual.say("lose 20")
        with pytest.raises(pylibfranka.ControlException, match="communication_constraints_violation"):
            motion.run(0.002, REST)
    stopped(robot, "communication_constraints_violation")


def test_a_motion_that_is_stopped_ends(robot: pylibfranka.Robot) -> None:
    with Motion(robot) as motion:
        motion.run(0.01, REST)
        robot.stop()
    assert newest(robot).robot_mode == pylibfranka.RobotMode.Idle


def test_in_lock_step_time_goes_on_with_the_command_for_the_last_state_alone(virtual: VirtualRobot) -> None:
    with Client(virtual) as client, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        due = client.begin()
        while client.state()["message_id"] < due:
            pass
        size = TEN.command.itemsize
        stranger.sendto(bytes(size), client.server)
        for wrong in (
            {"message_id": client.newest - 1},
            {"message_id": client.newest + 1},
            {"message_id": client.newest, "torque": np.nan},
            {"message_id": client.newest, "size": size - 1},
            {"message_id": client.newest, "size": size + 1},
        ):
            client.send(**wrong)
        client.udp.settimeout(0.1)
        with pytest.raises(TimeoutError):
            client.state()
        client.udp.settimeout(PATIENCE)
        before = client.newest
        client.send(before)
        assert client.state()["message_id"] == before + 1
    virtual.wait("waiting for a client")


@pytest.mark.slow
def test_in_real_time_a_late_command_is_lost() -> None:
    with VirtualRobot("--real-time") as virtual, Client(virtual) as client:
        client.begin()
        while client.state()["robot_mode"] == Mode.MOVE:
            client.send(client.newest - 1)
        assert client.state()["errors"].nonzero()[0] == Error.COMMUNICATION_CONSTRAINTS_VIOLATION
        assert client.answer(Command.MOVE)[0] is Status.REFLEX_ABORTED
        virtual.wait("reflex: communication_constraints_violation")


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["states", "commands"])
def test_one_percent_that_is_lost_stops_nothing(lost: str) -> None:
    with VirtualRobot(f"--lose-{lost}", 0.01) as virtual:
        robot = connect(virtual)
        with Motion(robot) as motion:
            rates = []
            for _ in range(2000):
                motion.write([0.0, 0.5 * np.sin(9.0 * motion.time), *REST[2:]])
                motion.read()
                rates.append(motion.state.control_command_success_rate)
            motion.finish()
        assert 0.94 < min(rates[100:]) < np.mean(rates[100:]) == pytest.approx(0.99, abs=0.005)
        recovers(robot)


class Client:
    """A client without libfranka, which sends what libfranka would not."""

    def __init__(self, virtual: VirtualRobot, protocol: Protocol = TEN) -> None:
        self.protocol = protocol
        self.tcp = socket.create_connection((virtual.address, PORT), timeout=PATIENCE)
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.settimeout(PATIENCE)
        self.udp.bind(("127.0.0.1", 0))
        self.ask(Command.CONNECT, (protocol.version, self.udp.getsockname()[1]))

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.tcp.close()
        self.udp.close()

    def ask(self, command: Command, values: tuple[object, ...] = ()) -> None:
        body = np.array(values, self.protocol.requests[command]).tobytes() if values else b""
        number = self.protocol.commands.index(command)
        self.tcp.sendall(struct.pack("<III", number, 0, HEADER.itemsize + len(body)) + body)

    def answer(self, command: Command) -> tuple[Status, bytes]:
        """Its status, and what follows."""
        header = np.frombuffer(self.tcp.recv(HEADER.itemsize, socket.MSG_WAITALL), HEADER)[0]
        assert header["command"] == self.protocol.commands.index(command)
        status, *more = self.tcp.recv(header["size"] - HEADER.itemsize, socket.MSG_WAITALL)
        return self.protocol.statuses[command][status], bytes(more)

    def begin(self) -> int:
        """Begin a motion, answer its first state; the id of the next one."""
        self.answer(Command.CONNECT)
        self.ask(Command.MOVE, (2, self.protocol.torque_control, (0,) * 3, (0,) * 3, False, (0,) * 7))
        assert self.answer(Command.MOVE)[0] is Status.MOTION_STARTED
        while self.state()["robot_mode"] != Mode.MOVE:
            pass
        self.send(self.newest)
        return self.newest + 1

    def state(self) -> np.void:
        datagram, self.server = self.udp.recvfrom(10_000)
        state = np.frombuffer(datagram, self.protocol.state)[0]
        self.newest = int(state["message_id"])
        return state

    def send(self, message_id: int, torque: float = 0.0, size: int = TEN.command.itemsize) -> None:
        command = np.zeros((), self.protocol.command)
        command["message_id"], command["tau_J_d"] = message_id, torque
        self.udp.sendto(command.tobytes()[:size].ljust(size, b"\0"), self.server)


@pytest.mark.slow
def test_the_program_of_the_page_runs() -> None:
    (program,) = (block.text for block in blocks(ROOT / "docs/gazebo-and-franka.md") if block.language == "python")
    with VirtualRobot() as virtual:
        names: dict[str, object] = {}
        exec(program.replace("127.0.0.1", virtual.address), names)
        assert names["state"].time.to_sec() > 0.9  # type: ignore[attr-defined]  # of pylibfranka
