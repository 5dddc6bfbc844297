"""The robot side of libfranka's protocol over loopback: one client, one thread, a state per period."""

from __future__ import annotations

import ipaddress
import os
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.fields import FloatArray
from thunder_controllers.franka.arm import FrankaArm, FrankaServerError
from thunder_controllers.franka.protocol import (
    CARTESIAN_LIMIT,
    HEADER,
    JOINTS,
    PERIOD,
    PORT,
    Command,
    Controller,
    Error,
    Mode,
    Status,
)
from thunder_controllers.franka.reflexes import CollisionBehavior, Communication, Cycle, find_reflexes
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.inertia import Inertia

REPETITION = 0.05
"""Time between states that wait for the first command of a motion in lock-step [s]: a client reads two before it."""

TIMEOUT = 1.0
"""Of an answer over TCP that nobody takes [s]."""

SILENCE = 10.0
"""Time that a client has for its first message [s]; libfranka sends it at once."""

MOST_WAITING = 16
"""Clients whose first message is waited for at a time."""

RANGES = {
    Command.SET_JOINT_IMPEDANCE: (0.0, 14250.0),
    Command.SET_CARTESIAN_IMPEDANCE: (np.repeat([10.0, 1.0], 3), np.repeat([3000.0, 300.0], 3)),
    Command.SET_FILTERS: (1.0, 1000.0),
}
"""What a client may set, in the units of the request: include/franka/robot.h."""


class _ClientError(Exception):
    """A client has gone, or sent what is no message of the protocol."""


class Losses(NamedTuple):
    """What the network does: shares of states and commands that are lost; a late command is lost, too."""

    states: float = 0.0
    commands: float = 0.0
    seed: int = 0


class _Motion:
    """A running motion, begun by the request with this id."""

    def __init__(self, request: int) -> None:
        self.request = request
        self.torque = np.zeros(JOINTS)
        self.has_begun = False  # by its first command
        self.answered = 0  # message_id of the state that the last command was for
        self.communication = Communication()


class FrankaServer:
    """The robot; `serve` runs it until it is interrupted.

    In lock-step a period of a motion ends when the command for its state has arrived, however long that takes; the arm
    waits for the first one. In real time it ends after 1 ms, and a command that has not arrived is lost. Between
    motions states come once in 1 ms of real time.

    Args:
        arm: Its state is sent.
        address: Of the loopback network.
        is_real_time: Otherwise lock-step.
        losses: Of the network.
        silence: Time that a client has for its first message [s].
        operator: Lines of somebody who stands beside the robot: see `OPERATOR`.
        tell: Is told, in a line each, of clients, motions and reflexes.

    Raises:
        FrankaServerError: if the address is another than loopback, or cannot be had.
    """

    def __init__(
        self,
        arm: FrankaArm,
        address: str = "127.0.0.1",
        *,
        is_real_time: bool = False,
        losses: Losses | None = None,
        silence: float = SILENCE,
        operator: IO[str] | None = None,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        if not ipaddress.ip_address(address).is_loopback:
            raise FrankaServerError("nobody else is trusted", where=address, valid="an address of 127.0.0.0/8")
        self.arm = arm
        self._protocol = arm.protocol
        self._address = address
        self._is_real_time = is_real_time
        self._losses = losses or Losses()
        self._silence = silence
        self._waiting: dict[socket.socket, float] = {}  # clients that have said nothing, and until when they may
        self._random = np.random.default_rng(self._losses.seed)
        self._operator, self._unfinished = operator, ""
        self._tell = tell
        self._behavior = CollisionBehavior()
        self._motion: _Motion | None = None
        self._states_to_lose = 0
        self._mode = Mode.IDLE
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._listener.bind((address, PORT))
        except OSError as error:
            self._listener.close()
            where = f"{address}:{PORT}"
            raise FrankaServerError(str(error.strerror), where=where, valid="an address that is free") from error
        self._listener.listen(MOST_WAITING)
        self._show_mode()

    def serve(self) -> None:
        """Serve one client after the other: of those who wait the first that says something."""
        with closing(self._listener):
            while True:
                self._tell(f"waiting for a client on {self._address}:{PORT}")
                client, until = self._next_client()
                with client, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as states:
                    client.settimeout(TIMEOUT)
                    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    states.bind((self._address, 0))
                    states.setblocking(False)
                    self._client, self._states, self._port = client, states, 0
                    self._buffer = b""
                    try:
                        self._host = client.getpeername()[0]
                        self._run(until)
                    except (_ClientError, OSError) as error:
                        self._tell(f"client gone: {error}")
                if self._motion is not None:
                    self._end_motion(Mode.IDLE)

    def _next_client(self) -> tuple[socket.socket, float]:
        """The first client that says something, and until when it has said all of its first message."""
        while True:
            now = time.monotonic()
            sources = [*self._waiting, *([self._listener] if len(self._waiting) < MOST_WAITING else [])]
            left = min(self._waiting.values(), default=np.inf) - now
            ready, _, _ = select.select(sources, [], [], None if left == np.inf else max(left, 0.0))
            if self._listener in ready:
                self._waiting[self._listener.accept()[0]] = time.monotonic() + self._silence
            for client in ready:
                if client in self._waiting:
                    return client, self._waiting.pop(client)
            for client in [one for one, until in self._waiting.items() if until <= now]:
                del self._waiting[client]
                client.close()
                self._tell(f"client gone: silent for {self._silence:g} s")

    def _run(self, until: float) -> None:
        """Send states until the client has gone, which has connected by this time."""
        due = time.monotonic()
        while True:
            now = time.monotonic()
            if not self._port and now > until:
                raise _ClientError(f"silent for {self._silence:g} s")
            due = (due if 0.0 <= now - due < PERIOD else now) + PERIOD  # a longer delay is not made up for
            arrived = self._pass_period(due)
            if self._motion is not None and self._motion.has_begun:
                self._control(arrived)

    # --- one period ------------------------------------------------------------------------------------------------

    def _pass_period(self, due: float) -> NDArray[np.void] | None:
        """Send a state, and take the command for it, if one arrives by then."""
        state = self.arm.state
        state["message_id"] += 1
        self._show_contacts()
        motion = self._motion
        begun = motion is not None and motion.has_begun
        state["control_command_success_rate"] = motion.communication.success_rate if motion else 0.0
        is_lost = begun and (self._states_to_lose > 0 or self._random.random() < self._losses.states)
        self._states_to_lose -= is_lost and self._states_to_lose > 0
        if self._port and not is_lost:
            with suppress(BlockingIOError):  # nobody reads them
                self._states.sendto(state.tobytes(), (self._host, self._port))
        if is_lost and not self._is_real_time:
            return None
        if motion is not None and not self._is_real_time:
            due = np.inf if begun else time.monotonic() + REPETITION
        command = self._wait(due)
        return None if begun and self._random.random() < self._losses.commands else command

    def _wait(self, due: float) -> NDArray[np.void] | None:
        """Answer requests until a command ends the period, the motion ends, or the time is over."""
        motion, newest = self._motion, None
        while True:
            left = due - time.monotonic()
            sources: list[Any] = [self._client, self._states, *filter(None, [self._operator])]
            ready, _, _ = select.select(sources, [], [], None if left == np.inf else max(left, 0.0))
            if self._operator is not None and self._operator in ready:
                self._hear()
            if self._client in ready:
                self._answer_requests()
            if self._states in ready:
                newest = self._take_command() or newest
            if motion is not None and self._motion is not motion:
                return None
            if left <= 0.0 or (newest is not None and not (self._is_real_time and motion and motion.has_begun)):
                return newest

    def _take_command(self) -> NDArray[np.void] | None:
        """Take the command that answers the newest state, or any where the motion has not begun.

        In lock-step the next one in order: a slow client may answer several of the states that wait for its first
        command, and each answer goes a period further than the one before.
        """
        found = None
        for datagram in self._datagrams():
            command = np.frombuffer(datagram, self._protocol.command)[0]
            motion = self._motion
            if motion is None or not np.isfinite(command["tau_J_d"]).all():
                continue
            newest = int(self.arm.state["message_id"])
            answered = int(command["message_id"])
            in_order = motion.answered < answered <= newest and not (self._is_real_time and motion.has_begun)
            if answered == newest or in_order:
                motion.has_begun, motion.answered, found = True, answered, command
                if not self._is_real_time:
                    break
        return found

    def _datagrams(self) -> Iterator[bytes]:
        """What the client has sent that is as long as a command."""
        size = self._protocol.command.itemsize
        while True:
            try:
                datagram, sender = self._states.recvfrom(size + 1)
            except BlockingIOError:
                return
            if sender == (self._host, self._port) and len(datagram) == size:
                yield datagram

    def _control(self, command: NDArray[np.void] | None) -> None:
        """Move the arm for a period, unless a reflex stops it."""
        motion = self._motion
        assert motion is not None
        motion.communication.record(command is not None)
        if command is not None and command[self._protocol.finished]:
            self._end_motion(Mode.IDLE, Status.SUCCESS)
            return
        torque = motion.torque if command is None else np.array(command["tau_J_d"])
        found = find_reflexes(Cycle(self.arm, torque, self._behavior, motion.communication))
        if found:
            for text in found.values():
                self._tell(f"reflex: {text}")
            self._trip(list(found))
            return
        motion.torque = torque
        self.arm.step(torque)

    # --- modes -----------------------------------------------------------------------------------------------------

    def _show_mode(self) -> None:
        """Renew what the state says of the mode."""
        moves = self._motion is not None
        state = self.arm.state
        state["robot_mode"] = self._mode
        state["motion_generator_mode"] = self._protocol.torque_control + 1 if moves else 0
        state["controller_mode"] = Controller.EXTERNAL if moves else Controller.OTHER

    def _show_contacts(self) -> None:
        """Contacts last while they do, collisions until recovery."""
        arm, behavior = self.arm, self._behavior
        for kind, value, contact, collision in (
            ("joint", arm.external, behavior.contact_torque, behavior.collision_torque),
            ("cartesian", arm.wrench, behavior.contact_force, behavior.collision_force),
        ):
            arm.state[f"{kind}_contact"] = np.abs(value) > contact
            np.maximum(arm.state[f"{kind}_collision"], np.abs(value) > collision, out=arm.state[f"{kind}_collision"])

    def _end_motion(self, mode: Mode, status: Status | None = None) -> None:
        """Hold the arm, and answer the request that began the motion."""
        motion, self._motion, self._mode = self._motion, None, mode
        self.arm.hold()
        self._show_mode()
        if motion is not None and status is not None:
            self._reply(Command.MOVE, motion.request, status)

    def _trip(self, errors: list[Error]) -> None:
        """Stop by reflexes."""
        self.arm.state["errors"][errors] = True
        self.arm.state["reflex_reason"][errors] = True
        self._end_motion(Mode.REFLEX, Status.REFLEX_ABORTED)

    # --- requests --------------------------------------------------------------------------------------------------

    def _answer_requests(self) -> None:
        """Answer all that has arrived whole."""
        received = self._client.recv(4096)
        if not received:
            raise _ClientError("closed")
        self._buffer += received
        while len(self._buffer) >= HEADER.itemsize:
            header = np.frombuffer(self._buffer, HEADER, 1)[0]
            command = self._command_of(header)
            if len(self._buffer) < header["size"]:
                return
            body, self._buffer = self._buffer[HEADER.itemsize : header["size"]], self._buffer[header["size"] :]
            fields = self._protocol.requests.get(command)
            request = None if fields is None else np.frombuffer(body, fields)[0]
            self._answer(command, int(header["id"]), request)

    def _command_of(self, header: NDArray[np.void]) -> Command:
        """What a header announces.

        Raises:
            _ClientError: unless its size is that of a request of the protocol.
        """
        commands, requests = self._protocol.commands, self._protocol.requests
        if header["command"] >= len(commands):
            raise _ClientError(f"command {header['command']}")
        command = commands[header["command"]]
        size = HEADER.itemsize + (requests[command].itemsize if command in requests else 0)
        if header["size"] != size:
            raise _ClientError(f"{command.name.lower()} of {header['size']} bytes instead of {size}")
        return command

    def _answer(self, command: Command, request_id: int, request: Any) -> None:
        """Answer one request; anything before `CONNECT` is none of the protocol."""
        if (command is Command.CONNECT) == bool(self._port):
            raise _ClientError(f"{command.name.lower()} {'twice' if self._port else 'before connect'}")
        if command is Command.CONNECT:
            self._connect(request_id, request)
        elif command is Command.GET_ROBOT_MODEL:
            self._reply(command, request_id, Status.SUCCESS, self.arm.urdf.encode())
        elif command is Command.LOAD_MODEL_LIBRARY:
            self._reply(command, request_id, Status.ERROR)
        elif command is Command.GET_CARTESIAN_LIMIT:
            self._reply(command, request_id, Status.INVALID_ARGUMENT, bytes(CARTESIAN_LIMIT.itemsize))
        elif command is Command.MOVE:
            self._move(request_id, request)
        elif command is Command.STOP_MOVE:
            if self._motion is not None:
                self._end_motion(Mode.IDLE, Status.PREEMPTED)
            self._reply(command, request_id, Status.SUCCESS)
        elif command is Command.AUTOMATIC_ERROR_RECOVERY:
            self._reply(command, request_id, self._recover())
        elif self._mode is not Mode.IDLE:
            self._reply(command, request_id, Status.NOT_POSSIBLE)
        else:
            self._reply(command, request_id, self._set(command, request))

    def _reply(self, command: Command, request_id: int, status: Status, more: bytes = b"") -> None:
        size = HEADER.itemsize + 1 + len(more)
        header = np.array((self._protocol.commands.index(command), request_id, size), HEADER).tobytes()
        self._client.sendall(header + bytes([self._protocol.statuses[command].index(status)]) + more)

    def _connect(self, request_id: int, request: NDArray[np.void]) -> None:
        version = self._protocol.version
        is_ours = request["version"] == version
        self._tell(f"client with protocol {request['version']}{'' if is_ours else ', refused'}")
        status = Status.SUCCESS if is_ours else Status.INCOMPATIBLE_VERSION
        self._reply(Command.CONNECT, request_id, status, np.uint16(version).tobytes())
        if not is_ours:
            raise _ClientError(f"protocol {version} is needed")
        self._port = int(request["udp_port"])

    def _move(self, request_id: int, request: NDArray[np.void]) -> None:
        """Begin a motion; motion generators are not there."""
        is_external = request["controller_mode"] == Controller.EXTERNAL
        is_torque = is_external and request["motion_generator_mode"] == self._protocol.torque_control
        if self._mode is not Mode.IDLE or not is_torque:
            self._reply(Command.MOVE, request_id, Status.NOT_POSSIBLE)
            return
        self.arm.state["reflex_reason"] = False
        self._motion, self._mode = _Motion(request_id), Mode.MOVE
        self._show_mode()
        self._reply(Command.MOVE, request_id, Status.MOTION_STARTED)

    def _recover(self) -> Status:
        if self._mode is Mode.USER_STOPPED:
            return Status.EMERGENCY_ABORTED
        if self._mode is Mode.MOVE:
            return Status.NOT_POSSIBLE
        limits, q = self.arm.limits, self.arm.q
        if (q < limits.position_lower).any() or (q > limits.position_upper).any():
            return Status.MANUAL_RECOVERY_REQUIRED
        self._clear_errors()
        return Status.SUCCESS

    def _clear_errors(self) -> None:
        for name in ("errors", "joint_collision", "cartesian_collision"):
            self.arm.state[name] = 0
        self._mode = Mode.IDLE
        self._show_mode()

    def _set(self, command: Command, request: NDArray[np.void]) -> Status:
        """Take a setting, if it can be."""
        values = np.concatenate([np.ravel(request[name]) for name in request.dtype.names or ()])
        lower, upper = RANGES.get(command, (-np.inf, np.inf))
        if not (np.isfinite(values) & (values >= lower) & (values <= upper)).all():
            return Status.INVALID_ARGUMENT
        if command is Command.SET_COLLISION_BEHAVIOR:
            self._behavior = CollisionBehavior(request)
        elif command in (Command.SET_EE_TO_K, Command.SET_NE_TO_EE):
            (name,) = request.dtype.names or ()
            if not _is_pose(request[name]):
                return Status.INVALID_ARGUMENT
            self.arm.set_frame(name, request[name])
        elif command is Command.SET_LOAD:
            inertia = request["I_load"].reshape(3, 3)
            try:
                load = Inertia(float(request["m_load"]), request["F_x_Cload"], inertia)
                load.check_consistent("load")
            except ThunderError:
                return Status.INVALID_ARGUMENT
            self.arm.set_load(load)
        return Status.SUCCESS

    # --- who stands beside the robot -------------------------------------------------------------------------------

    def _hear(self) -> None:
        """Do what the operator says; the end of the lines ends nothing else."""
        assert self._operator is not None
        words = os.read(self._operator.fileno(), 4096)
        *lines, self._unfinished = (self._unfinished + words.decode(errors="replace")).split("\n")
        for line in lines:
            self._obey(line)
        if not words:
            self._operator = None

    def _obey(self, line: str) -> None:
        """Do what a line of the operator asks for."""
        word, *rest = line.split() or [""]
        action = OPERATOR.get(word)
        try:
            if action is None:
                raise FrankaServerError(f"no word {word!r}", where="operator", valid=", ".join(OPERATOR))
            action(self, np.array([float(number) for number in rest]))
        except (ThunderError, ValueError) as error:
            self._tell(f"operator: {error}")
        else:
            self._tell(f"operator: {line.strip()}")

    def _press(self, _: FloatArray) -> None:
        self._end_motion(Mode.USER_STOPPED, Status.EMERGENCY_ABORTED)

    def _release(self, _: FloatArray) -> None:
        if self._mode is Mode.USER_STOPPED:
            self._clear_errors()

    def _push(self, force: FloatArray) -> None:
        self.arm.push[:] = force

    def _lose(self, count: FloatArray) -> None:
        (self._states_to_lose,) = map(int, count)

    def _place(self, q: FloatArray) -> None:
        if self._motion is not None or q.shape != (JOINTS,):
            raise FrankaServerError("the arm cannot be moved by hand", valid="seven positions, while it is held")
        self.arm.place(q)


OPERATOR: dict[str, Callable[[FrankaServer, FloatArray], None]] = {
    "stop": FrankaServer._press,
    "release": FrankaServer._release,
    "push": FrankaServer._push,
    "lose": FrankaServer._lose,
    "place": FrankaServer._place,
}
"""Words of an operator: the user stop pressed and released; a force on the flange, base frame, three numbers [N], until
the next; the next so many states of a motion lost; the arm moved by hand to seven joint positions [rad]."""


def _is_pose(values: FloatArray) -> bool:
    """Whether a column-major matrix, (16,), is homogeneous; as exactly as libfranka's own check is."""
    matrix = values.reshape(4, 4).T
    rotation = matrix[:3, :3]
    is_rotation = np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-5) and np.linalg.det(rotation) > 0.0
    return bool(is_rotation and np.allclose(matrix[3], (0.0, 0.0, 0.0, 1.0), atol=1e-5))
