"""Plant: what the true robot of a simulation does whatever integrates it: sensors, delay, payloads of later times."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy

import numpy as np
from numpy.typing import ArrayLike

from thunder_controllers.fields import FloatArray, per_joint
from thunder_controllers.simulation.faults.faults import Faults
from thunder_controllers.simulation.faults.load import Mechanics, compute_push
from thunder_controllers.simulation.options import Firmware, Payload, PlantOptions
from thunder_controllers.simulation.plants.bristles import Bristles
from thunder_controllers.simulation.plants.sensors import PositionSampler, Sample, Sensors
from thunder_controllers.simulation.plants.springs import Springs, count_parts
from thunder_dynamics.errors import DimensionError, NameNotFoundError, ScenarioError, nearest
from thunder_dynamics.inertia import Inertia

TURN = 2.0 * np.pi

SLICE = 0.1
"""Time between the slices of a body that comes over some time [s]."""

DELAY_TOLERANCE = 1e-6
"""How far a delay may be from a whole number of integration steps, in steps."""


class Plant(ABC):
    """A robot driven by joint torques at the rate of its controller.

    Positions [rad or m], velocities and efforts [N·m or N] are in the order of `joints`. The effort of a step acts,
    constant, for one control period, after the torque delay and through the lag of the drives.

    Args:
        joints: Names of the joints in the controller's order.
        period: Of the controller [s].
        options: Departures from the description.
        seed: Of the measurement noise.
        gravity_compensated: The robot adds the gravity torque of its description to every command, as a Franka does.
        where: Named in errors.

    Raises:
        ScenarioError: if the robot cannot be made of its description, or an option does not fit it.
        NameNotFoundError: if an option names a link that is not there.
    """

    ee_link: str
    """Link whose frame is the end effector."""

    g0: tuple[float, float, float]
    """Gravity in the world frame, (3,) [m/s²]."""

    drive_gain: FloatArray
    """What drives give of what they are told, (n,) [1]."""

    offsets: FloatArray
    """True effort that each joint needs beside its dynamics and friction, (n,) [N·m or N]."""

    springs: Springs | None = None
    """Between the motors and links of elastic joints, if there are any."""

    def __init__(
        self,
        joints: Sequence[str],
        period: float,
        options: PlantOptions,
        *,
        seed: int,
        gravity_compensated: bool,
        where: str,
    ) -> None:
        self.options = options
        self.joints = tuple(joints)
        self.n = len(self.joints)
        self.period = period
        self.where = where
        whole, self._late = divmod(self._delay_steps(), options.substeps)
        self._delay = np.zeros((whole, self.n))
        self.drive_gain = per_joint(options.drive_gain, self.joints, f"{where}: drive_gain")
        self._effort_std = per_joint(options.noise.effort_std, self.joints, f"{where}: noise")
        self._lag = _Lag(per_joint(options.torque_lag, self.joints, f"{where}: torque_lag"), self.timestep)
        self._seed = seed
        self.bristles = Bristles.of(options.friction, joints, where)
        """Friction of joints that stick, if there are any; else friction is that of the law's model."""
        self._restart_sensors()
        for name in options.wrapped:
            if name not in self.joints:
                raise NameNotFoundError(f"no joint '{name}'", where=f"{where}: wrapped", valid=nearest(name, joints))
        self._wrapped = [self.joints.index(name) for name in options.wrapped]
        self.faults = Faults(options.faults, joints, self.timestep, seed, where)
        self._pending: list[tuple[float, bool, Payload]] = []
        self._carried: list[Payload] = []
        self._own: dict[str, Inertia] = {}
        self.gravity_compensated = gravity_compensated
        if options.firmware != Firmware() and not gravity_compensated:
            valid = "host: {gravity_compensated_by_robot: true} beside it"
            raise ScenarioError("firmware of a robot that compensates no gravity", where=where, valid=valid)
        self.effort = np.zeros(self.n)
        """Command that acts, (n,): a delay ago's, without what the robot itself adds."""
        self.payload_changes = 0
        """Times that a payload was attached or taken off: what a recorder of true parameters watches."""

    def _restart_sensors(self) -> None:
        """Those of the joints; of the motors, alike, with noise of their own; and that of the end effector."""
        common = self.options, self.joints, self.period
        self._sensors = Sensors(*common, self._seed, self.where)
        self._motor_sensors = Sensors(*common, (self._seed, *b"motors"), self.where)
        self._measured: tuple[FloatArray, FloatArray] = np.zeros(self.n), np.zeros(self.n)
        self._motors = np.zeros((2, self.n))
        self._effort_noise = np.random.default_rng([self._seed, *b"efforts"])
        sensor = self.options.position_sensor
        self._position = None if sensor is None else PositionSampler(sensor, self._seed)

    def _rotor_inertias(self, described: ArrayLike) -> FloatArray:
        """True reflected rotor inertias (n,): those described, zero where that is NaN, as the options change them."""
        options, where = self.options, f"{self.where}: rotor"
        own = (
            np.nan_to_num(described) if options.rotors is None else per_joint(options.rotors, self.joints, f"{where}s")
        )
        return np.asarray(own + per_joint(options.rotor_inertia, self.joints, f"{where}_inertia"))

    def _stiffness(self) -> FloatArray:
        """True stiffness of the springs over the described one, (n,)."""
        return per_joint(self.options.stiffness, self.joints, f"{self.where}: stiffness")

    def _count_parts(self, inverse: FloatArray, damping: FloatArray, *motors: FloatArray) -> int:
        """Parts that an integration step needs where joints are elastic or stick, see `count_parts`.

        Args:
            inverse: M⁻¹, (n, n).
            damping: Of friction but the bristles', (n,).
            motors: `stretch`, `rate` and `velocity` of `Springs.linearized`.
        """
        stiffness = np.zeros(self.n)
        if self.bristles is not None:
            at, damping = self.bristles.joints, damping.copy()
            stiffness[at] += self.bristles.stiffness
            damping[at] += 2.0 * self.bristles.damping  # ∂F/∂v at v = 0 of bristles stretched against the motion
        arm = inverse, np.diag(stiffness), np.diag(damping)
        return count_parts(self.timestep, *(arm if self.springs is None else self.springs.linearized(arm, *motors)))

    def _effort_offsets(self, described: ArrayLike) -> FloatArray:
        """True effort offsets (n,): those described, unless the options say otherwise."""
        offsets = self.options.offsets
        where = f"{self.where}: offsets"
        return np.array(described, float) if offsets is None else per_joint(offsets, self.joints, where)

    @property
    def timestep(self) -> float:
        """Of the integration [s]."""
        return self.period / self.options.substeps

    def _delay_steps(self) -> int:
        steps = self.options.torque_delay / self.timestep
        if abs(steps - round(steps)) > DELAY_TOLERANCE:
            raise ScenarioError(
                f"{self.options.torque_delay:g} s is not a whole number of integration steps",
                where=f"{self.where}: torque_delay",
                valid=f"a multiple of {self.timestep:g} s",
            )
        return round(steps)

    @property
    def q(self) -> FloatArray:
        """True joint positions, a copy, shape (n,)."""
        return self._state()[0]

    @property
    def qd(self) -> FloatArray:
        """True joint velocities, a copy, shape (n,)."""
        return self._state()[1]

    def _state(self) -> tuple[FloatArray, FloatArray]:
        q, qd = np.empty_like(self.effort), np.empty_like(self.effort)
        self.read(q, qd)
        return q, qd

    def reset(self, q: ArrayLike, qd: ArrayLike | None = None) -> None:
        """Put the plant at (q, qd), time 0, payloads of later times detached, delayed efforts holding the arm still.

        Raises:
            DimensionError: if an array has another shape than (n,) or is not finite.
        """
        q, qd = self.checked(q, "q"), self.checked(np.zeros(self.n) if qd is None else qd, "qd")
        self._pending, self._carried = _payload_changes(self.options.payloads), []
        self.detach()
        self._put(q, qd)
        self._slot = 0
        self._restart_sensors()
        self._change_payloads(0.0)
        self._hold()
        self._measured = self._state()
        if self.springs is not None:
            self._motors = np.array(self._measured)
            self._read_motors(*self._motors)
        self.faults.restart(self._lag.effort)

    def brake(self) -> None:
        """Stop the joints where they are, delayed efforts holding the arm still from then on."""
        self._stop()
        self._sensors.restart()
        self._motor_sensors.restart()
        self._hold()

    def _hold(self) -> None:
        """Let commands on their way, drives and springs give what holds the arm still."""
        if self.bristles is not None:
            self.bristles.relax()
        self._settle()
        self._delay[:] = self.effort = self.holding_effort()
        self._given = self._lag.effort = self._motor_effort(self.effort).copy()

    def measure(self, q: FloatArray, qd: FloatArray) -> int:
        """Write what the sensors report into `q` and `qd`, shape (n,) each, and return how many steps old that is.

        Once per step, as each call draws noise. `motor_position` and `motor_velocity` are of the same instant; the
        faults of sensors are those of joints.
        """
        self.read(q, qd)
        if self._sensors.act:
            self._sensors.corrupt(q, qd)
        if self._wrapped:
            q[..., self._wrapped] = np.remainder(q[..., self._wrapped] + np.pi, TURN) - np.pi
        self._measured = q, qd
        if self.springs is not None:
            self.read(*self._motors)
            self._read_motors(*self._motors)
            if self._motor_sensors.act:
                self._motor_sensors.corrupt(*self._motors)
            if self.options.joint_sensors == "motor":
                q[self.springs.joints], qd[self.springs.joints] = self._motors[:, self.springs.joints]
        return self.faults.report(self.time, q, qd) if self.options.faults else 0

    @property
    def motor_position(self) -> FloatArray:
        """Motor positions as they were measured last, (n,); of a rigid joint, its own. True ones after `reset`."""
        return self._motors_or_joints(0)

    @property
    def motor_velocity(self) -> FloatArray:
        """The same of their velocities, (n,)."""
        return self._motors_or_joints(1)

    def _motors_or_joints(self, row: int) -> FloatArray:
        if self.springs is None:
            return self._measured[row]
        found = self._measured[row].copy()
        found[self.springs.joints] = self._motors[row][self.springs.joints]
        return found

    def external_effort(self) -> FloatArray:
        """Effort of each joint from outside, (n,): of the pushes among the faults."""
        pushes = self.faults.pushes(self.time)
        return compute_push(self._mechanics(), pushes) if pushes else np.zeros(self.n)

    def measured_effort(self) -> FloatArray:
        """Efforts of the motors that acted last, with the noise of their sensors, (n,). Once per step."""
        noise = self._effort_noise.standard_normal(self._given.shape)
        return np.asarray(self._given + self._effort_std * noise)

    def measured_position(self) -> Sample | None:
        """What the position sensor tells in this step, if there is one, and it does. Once per step."""
        if self._position is None:
            return None
        return self._position.sample(self.time, lambda: self.pose(self.q)[0])

    def step(self, effort: FloatArray) -> None:
        """Advance by one control period under `effort`, shape (n,), or under the one commanded a delay ago."""
        self._change_payloads(self.time + 0.5 * self.timestep)
        if len(self._delay):
            effort, self._delay[self._slot] = self._delay[self._slot].copy(), effort
            self._slot = (self._slot + 1) % len(self._delay)
        if self._late:
            self._drive(self.effort, self._late)
        self.effort[:] = effort
        self._drive(effort, self.options.substeps - self._late)

    def _drive(self, effort: FloatArray, steps: int) -> None:
        """Integrate under what the motors make of a command."""
        if not self._lag.acts:
            self._move(self._motor_effort(effort), steps)
            return
        for _ in range(steps):
            self._move(self._lag.follow(self._motor_effort(effort)), 1)

    def _move(self, motor: FloatArray, steps: int) -> None:
        """Integrate under a constant effort of the motors, and what faults make of it."""
        given = self.faults.act(self.time, motor) if self.options.faults else motor
        self._given = given
        if self.bristles is not None:
            self.bristles.press(given)
        self._integrate(given, steps)

    def _motor_effort(self, effort: FloatArray) -> FloatArray:
        """What the motors are to give: by their gain of the command, and of what the robot itself adds, shape (n,)."""
        return self.drive_gain * (effort + self._gravity_by_robot() if self.gravity_compensated else effort)

    def holding_effort(self) -> FloatArray:
        """Command that holds the arm still, (n,): gravity torque and offsets, less what the robot itself adds."""
        held = (self._gravity() + self.offsets) / self.drive_gain
        return held - self._gravity_by_robot() if self.gravity_compensated else held

    def _gravity_by_robot(self) -> FloatArray:
        """What the robot adds to commands, (n,): gravity of its description and of the load that it was told of."""
        added, load = self._described_gravity(), self.options.firmware.load
        if load is None:
            return added
        mechanics, gravity = self._mechanics(), self.options.firmware.gravity or self.g0
        weight = load.mass * np.array(gravity)
        arm = mechanics.motion_of(load.link).rotation @ np.array(load.com)
        return added - mechanics.effort_of(load.link, np.concatenate([weight, np.cross(arm, weight)]))

    def attach(self, payload: Payload) -> None:
        """Fix a payload to its link now, keeping the state; `detach` and `reset` take it off again."""
        carrier = self._body(payload.link)
        self._own.setdefault(payload.link, carrier)
        self._set_bodies({payload.link: carrier + payload.to_inertia()})
        self.payload_changes += 1

    def detach(self) -> None:
        """Take all payloads off, keeping the state: the links that carried them get their own inertia back."""
        if self._own:
            self._set_bodies(self._own)
            self._own = {}

    @property
    def own_inertias(self) -> dict[str, Inertia]:
        """Inertia without payload of each link that carries one, in the frame of the link."""
        return dict(self._own)

    def pose(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """True pose of the end effector at q (n,): position (3,) [m] and rotation (3, 3), world frame."""
        positions, rotations = self.poses(q[None])
        return positions[0], rotations[0]

    def poses(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """True poses at many q, shape (N, n): positions (N, 3) and rotations (N, 3, 3)."""
        positions, rotations = self.described_poses(q)
        return positions + rotations @ np.array(self.options.tool_offset), rotations

    def _change_payloads(self, time: float) -> None:
        """Attach and take off what is due, keeping the others."""
        while self._pending and self._pending[0][0] <= time:
            _, attaches, payload = self._pending.pop(0)
            if attaches:
                self._carried.append(payload)
                self.attach(payload)
            else:
                self._carried.remove(payload)
                self.payload_changes += 1
                self.detach()
                for other in self._carried:
                    self.attach(other)

    def checked(self, value: ArrayLike, name: str) -> FloatArray:
        """A number for each joint, shape (n,).

        Raises:
            DimensionError: if it has another shape or is not finite.
        """
        array = np.array(value, dtype=float)
        if array.shape != (self.n,) or not np.isfinite(array).all():
            raise DimensionError(
                f"{name} has shape {array.shape} or is not finite", where=self.where, valid=f"finite, ({self.n},)"
            )
        return array

    # --- what integrates the robot ----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def time(self) -> float:
        """Simulated time [s]."""

    @abstractmethod
    def read(self, q: FloatArray, qd: FloatArray) -> None:
        """Write the true state into `q` and `qd`, shape (n,) each."""

    @abstractmethod
    def _put(self, q: FloatArray, qd: FloatArray) -> None:
        """Put the robot at (q, qd), time 0."""

    @abstractmethod
    def _stop(self) -> None:
        """Set all velocities to zero."""

    @abstractmethod
    def _settle(self) -> None:
        """Put the motors of elastic joints, if there are any, where their springs hold the links."""

    def _read_motors(self, x: FloatArray, xd: FloatArray) -> None:
        """Write the true motor states of elastic joints into `x` and `xd`, shape (n,) each; only with `springs`."""
        raise NotImplementedError

    @abstractmethod
    def _integrate(self, effort: FloatArray, steps: int) -> None:
        """Advance by `steps` integration steps under a constant effort, shape (n,), and the load of `faults`."""

    @abstractmethod
    def _mechanics(self) -> Mechanics:
        """The dynamics at the present state."""

    @abstractmethod
    def _gravity(self) -> FloatArray:
        """Gravity torque of the true robot where it is, (n,)."""

    @abstractmethod
    def _described_gravity(self) -> FloatArray:
        """That of its description, which knows of no payload, by the gravity that its firmware was told of, (n,)."""

    @abstractmethod
    def _body(self, link: str) -> Inertia:
        """Inertia of the body of a link alone, in the link frame."""

    @abstractmethod
    def _set_bodies(self, inertias: Mapping[str, Inertia]) -> None:
        """Give bodies of links other inertias, keeping the state."""

    @abstractmethod
    def true_inertia(self, link: str) -> Inertia:
        """Inertia of a link now, with all that is fixed to it, in the link frame."""

    @abstractmethod
    def true_friction(self) -> FloatArray:
        """Viscous [N·m·s/rad or N·s/m] and Coulomb friction [N·m or N] of the joints, shape (2, n)."""

    @abstractmethod
    def described_poses(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As `poses`, of the end effector where the description has it."""


class _Lag:
    """Drives of first order, T dτ/dt = u − τ, exact for a command u that is constant over an integration step h.

    What acts in a step is the mean of τ over it, u + (τ − u)(T/h)(1 − e^{−h/T}): the arm gets the exact impulse.

    Args:
        time_constant: T of each joint, shape (n,) [s]; 0: u acts at once.
        step: h [s].

    Attributes:
        acts: Whether any joint has a lag.
        effort: τ at the end of the last step, shape (n,).
    """

    def __init__(self, time_constant: FloatArray, step: float) -> None:
        self.acts = bool(np.any(time_constant))
        self.effort = np.zeros(len(time_constant))
        decay = np.divide(step, time_constant, out=np.full(len(time_constant), np.inf), where=time_constant > 0.0)
        self._left = np.exp(-decay)
        self._mean = -np.expm1(-decay) / decay

    def together(self, members: Sequence[_Lag]) -> _Lag:
        """The drives of several plants: rows of efforts, shape (N, n)."""
        all_of = copy(self)
        all_of.acts = any(one.acts for one in members)
        for name in ("effort", "_left", "_mean"):
            setattr(all_of, name, np.stack([getattr(one, name) for one in members]))
        return all_of

    def follow(self, command: FloatArray) -> FloatArray:
        """Advance by a step under a command, and return the mean effort over it, shape (n,) each."""
        behind = self.effort - command
        self.effort = command + self._left * behind
        return np.asarray(command + self._mean * behind)


def _payload_changes(payloads: Sequence[Payload]) -> list[tuple[float, bool, Payload]]:
    """When which payload comes (true) or goes, in order; those that go before those that come at the same time."""
    slices = [part for payload in payloads for part in _slices(payload)]
    changes = [(payload.time, True, payload) for payload in slices]
    changes += [(payload.until, False, payload) for payload in slices if payload.until is not None]
    return sorted(changes, key=lambda change: change[:2])


def _slices(payload: Payload) -> list[Payload]:
    """The bodies that come one after the other over `over`, together the payload."""
    count = round(payload.over / SLICE)
    if count < 2:
        return [payload]
    later = payload.over * (np.arange(count) + 0.5) / count
    body = {"mass": payload.mass / count, "inertia": tuple(one / count for one in payload.inertia), "over": 0.0}
    times = [
        {"time": payload.time and payload.time + t, "until": payload.until and payload.until + t}
        for t in later.tolist()
    ]
    return [payload.model_copy(update=body | time) for time in times]
