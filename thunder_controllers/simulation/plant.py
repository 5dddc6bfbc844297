"""MujocoPlant: the true robot of a simulation, driven by joint torques at the rate of its controller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from thunder_controllers.simulation.mujoco_model import (
    INTEGRATORS,
    body_inertia,
    body_named,
    build_spec,
    compile_spec,
    link_inertia,
    set_inertia,
)
from thunder_controllers.simulation.options import Payload, PlantOptions
from thunder_dynamics.errors import DimensionError, ScenarioError
from thunder_dynamics.inertia import Inertia

FloatArray = NDArray[np.float64]

NOISE_BLOCK = 1024
"""Steps for which noise is drawn at once: one call of the generator costs as much as a thousand numbers."""

DELAY_TOLERANCE = 1e-6
"""How far a delay may be from a whole number of integration steps, in steps."""


class MujocoPlant:
    """A robot from URDF text with one torque motor per joint, gravity on.

    Positions [rad or m], velocities and efforts [N·m or N] are in the order of `joints`. The effort of a step acts,
    constant, for one control period, after the torque delay. Effort limits of the description saturate the motors.

    Args:
        urdf: The description (expand xacro first).
        joints: Names of the joints in the controller's order; the description has these and no other.
        period: Of the controller [s].
        options: Departures from the description.
        seed: Of the measurement noise.
        gravity_compensated: The robot adds the gravity torque of its description to every command, as a Franka does.
        where: Named in errors.

    Raises:
        ScenarioError: if the description cannot be built, or an option does not fit it.
        NameNotFoundError: if an option names a link that is not there.
    """

    def __init__(
        self,
        urdf: str,
        joints: Sequence[str],
        period: float,
        options: PlantOptions | None = None,
        *,
        seed: int = 0,
        gravity_compensated: bool = False,
        where: str = "plant",
    ) -> None:
        self.options = options or PlantOptions()
        self.joints = tuple(joints)
        self.n = len(self.joints)
        self.period = period
        self.where = where
        self._spec = build_spec(urdf, self.joints, where, self.options.contacts)
        self._set_integration()
        self._firmware = _Firmware(self._spec, self.joints, where) if gravity_compensated else None
        self.ee_link: str = self.options.ee_link or self._spec.bodies[-1].name
        body_named(self._spec, self.ee_link, f"{where}: ee_link")
        for link, body in self.options.inertia.items():
            set_inertia(body_named(self._spec, link, f"{where}: inertia"), body.to_inertia())
        for payload in self.options.payloads:
            body_named(self._spec, payload.link, f"{where}: payloads")
        self._bind(*compile_spec(self._spec, where))
        whole, self._late = divmod(self._delay_steps(), self.options.substeps)
        self._delay = np.zeros((whole, self.n))
        self._seed = seed
        self._sensors = _Sensors(self.options, self.n, period, seed, where)
        self._own_inertia: dict[str, Inertia] = {}
        self.effort = np.zeros(self.n)
        """Command that acts, (n,): a delay ago's, without what the robot itself adds."""
        self.payload_changes = 0
        """Times that a payload was attached: what a recorder of true parameters watches."""
        self.reset(np.zeros(self.n))

    def _set_integration(self) -> None:
        option = self._spec.option
        option.timestep = self.period / self.options.substeps
        option.integrator = INTEGRATORS[self.options.integrator]
        option.gravity = self.options.gravity

    def _bind(self, model: Any, data: Any) -> None:
        """Take over a compiled model; keep views, as each attribute access of MuJoCo's objects makes a new array."""
        self.model, self.data = model, data
        self._order = np.array([model.joint(name).qposadr[0] for name in self.joints])
        if self.options.friction is not None:
            for target, value in (
                (model.dof_damping, self.options.friction.viscous),
                (model.dof_frictionloss, self.options.friction.coulomb),
            ):
                target[self._order] = per_joint(value, self.n, f"{self.where}: friction")
        self._qpos, self._qvel, self._ctrl = data.qpos, data.qvel, data.ctrl
        self._kinematics = mujoco.MjData(model)

    def _delay_steps(self) -> int:
        step = self.period / self.options.substeps
        steps = self.options.torque_delay / step
        if abs(steps - round(steps)) > DELAY_TOLERANCE:
            raise ScenarioError(
                f"{self.options.torque_delay:g} s is not a whole number of integration steps",
                where=f"{self.where}: torque_delay",
                valid=f"a multiple of {step:g} s",
            )
        return round(steps)

    @property
    def q(self) -> FloatArray:
        """True joint positions, a copy, shape (n,)."""
        return np.array(self._qpos[self._order])

    @property
    def qd(self) -> FloatArray:
        """True joint velocities, a copy, shape (n,)."""
        return np.array(self._qvel[self._order])

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self.data.time)

    def reset(self, q: ArrayLike, qd: ArrayLike | None = None) -> None:
        """Put the plant at (q, qd), time 0, payloads of later times detached, delayed efforts holding the arm still.

        Raises:
            DimensionError: if an array has another shape than (n,) or is not finite.
        """
        q, qd = self._checked(q, "q"), self._checked(np.zeros(self.n) if qd is None else qd, "qd")
        self._pending = sorted(self.options.payloads, key=lambda payload: payload.time)
        self.detach()
        mujoco.mj_resetData(self.model, self.data)
        self._qpos[self._order] = q
        self._qvel[self._order] = qd
        self._slot = 0
        self._sensors = _Sensors(self.options, self.n, self.period, self._seed, self.where)
        self._attach_due(0.0)
        self._delay[:] = self.effort = self.holding_effort()

    def brake(self) -> None:
        """Stop the joints where they are, delayed efforts holding the arm still from then on."""
        self._qvel[:] = 0.0
        self._sensors.restart()
        self._delay[:] = self.effort = self.holding_effort()

    def detach(self) -> None:
        """Take all payloads off, keeping the state: the links that carried them get their own inertia back."""
        if self._own_inertia:
            for link, inertia in self._own_inertia.items():
                set_inertia(self._spec.body(link), inertia)
            self._bind(*compile_spec(self._spec, self.where, (self.model, self.data)))
            self._own_inertia = {}

    def attach(self, payload: Payload) -> None:
        """Fix a payload to its link now, keeping the state; `detach` and `reset` take it off again."""
        body = body_named(self._spec, payload.link, f"{self.where}: payload")
        carried = body_inertia(self.model, self.model.body(payload.link).id)
        self._own_inertia.setdefault(payload.link, carried)
        set_inertia(body, carried + payload.to_inertia())
        self.payload_changes += 1
        self._bind(*compile_spec(self._spec, self.where, (self.model, self.data)))

    @property
    def own_inertias(self) -> dict[str, Inertia]:
        """Inertia without payload of each link that carries one, in the frame of the link."""
        return dict(self._own_inertia)

    def copy_spec(self) -> Any:
        """Copy what the plant is compiled from; friction of the options is in the compiled model alone."""
        return self._spec.copy()

    def _attach_due(self, time: float) -> None:
        while self._pending and self._pending[0].time <= time:
            self.attach(self._pending.pop(0))

    def true_inertia(self, link: str) -> Inertia:
        """Inertia of a link now, with all that is fixed to it, in the link frame."""
        body_named(self._spec, link, self.where)
        return link_inertia(self.model, self.model.body(link).id)

    def read(self, q: FloatArray, qd: FloatArray) -> None:
        """Write the true state into `q` and `qd`, shape (n,) each."""
        self._qpos.take(self._order, out=q, mode="clip")  # clip: the default mode buffers `out`
        self._qvel.take(self._order, out=qd, mode="clip")

    def measure(self, q: FloatArray, qd: FloatArray) -> None:
        """Write what the sensors say into `q` and `qd`, shape (n,) each; once per step, as each call draws noise."""
        self.read(q, qd)
        if self._sensors.act:
            self._sensors.corrupt(q, qd)

    def step(self, effort: FloatArray) -> None:
        """Advance by one control period under `effort`, shape (n,), or under the one commanded a delay ago."""
        if self._pending:
            self._attach_due(self.data.time + 0.5 * self.model.opt.timestep)
        if len(self._delay):
            effort, self._delay[self._slot] = self._delay[self._slot].copy(), effort
            self._slot = (self._slot + 1) % len(self._delay)
        if self._late:
            self._integrate(self.effort, self._late)
        self.effort[:] = effort
        self._integrate(effort, self.options.substeps - self._late)

    def _integrate(self, effort: FloatArray, steps: int) -> None:
        if self._firmware is not None:
            effort = effort + self._firmware.gravity_effort(self._qpos[self._order])
        self._ctrl[:] = effort  # the motors were added in the order of `joints`
        mujoco.mj_step(self.model, self.data, steps)

    def external_effort(self) -> FloatArray:
        """Effort of each joint from outside, (n,): of forces applied to joints and bodies, not of contacts."""
        effort = np.array(self.data.qfrc_applied)
        for body in np.flatnonzero(self.data.xfrc_applied.any(axis=1)):
            force, torque = np.split(self.data.xfrc_applied[body], 2)
            mujoco.mj_applyFT(self.model, self.data, force, torque, self.data.xipos[body], body, effort)
        return np.array(effort[self._order])

    def holding_effort(self) -> FloatArray:
        """Command that holds the arm still where it is, (n,): gravity torque, less what the robot itself adds."""
        data = self._kinematics
        data.qpos[:], data.qvel[:] = self._qpos, 0.0
        mujoco.mj_forward(self.model, data)
        effort = np.array(data.qfrc_bias[self._order])
        return effort if self._firmware is None else effort - self._firmware.gravity_effort(self.q)

    def pose(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """True pose of the end effector at q (n,): position (3,) [m] and rotation (3, 3), world frame."""
        data = self._kinematics
        data.qpos[self._order] = q
        mujoco.mj_kinematics(self.model, data)
        body = data.body(self.ee_link)
        return np.array(body.xpos), np.array(body.xmat).reshape(3, 3)

    def poses(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """True poses at many q, shape (N, n): positions (N, 3) and rotations (N, 3, 3)."""
        data = self._kinematics
        body = self.model.body(self.ee_link).id
        xpos, xmat, qpos, order = data.xpos[body], data.xmat[body], data.qpos, self._order
        positions, rotations = np.empty((len(q), 3)), np.empty((len(q), 9))
        for k, row in enumerate(q):
            qpos[order] = row
            mujoco.mj_kinematics(self.model, data)
            positions[k], rotations[k] = xpos, xmat
        return positions, rotations.reshape(-1, 3, 3)

    def _checked(self, value: ArrayLike, name: str) -> FloatArray:
        array = np.array(value, dtype=float)
        if array.shape != (self.n,) or not np.isfinite(array).all():
            raise DimensionError(
                f"{name} has shape {array.shape} or is not finite", where=self.where, valid=f"finite, ({self.n},)"
            )
        return array


class _Sensors:
    """White noise, then rounding to the encoder's resolution, of q and q̇; or q̇ from the differences of such q.

    v_k = v_{k−1} + (1 − e^{−2πfΔ})((q_k − q_{k−1})/Δ − v_{k−1}), one call per control period Δ; f is the cut-off.
    """

    def __init__(self, options: PlantOptions, n: int, period: float, seed: int, where: str) -> None:
        noise = options.noise
        self._differences = options.velocity == "differences"
        self.act = noise.acts or self._differences
        self._n = n
        self._period = period
        self._weight = -np.expm1(-2.0 * np.pi * options.velocity_cutoff * period)
        pairs = ((noise.q_std, noise.qd_std), (noise.q_resolution, noise.qd_resolution))
        self._std, self._resolution = (
            np.concatenate([per_joint(value, n, f"{where}: noise") for value in pair]) for pair in pairs
        )
        self._rounded = self._resolution > 0.0
        self._rng = np.random.default_rng(seed)
        self._block = np.empty((NOISE_BLOCK, 2 * n))
        self._row = NOISE_BLOCK
        self.restart()

    def restart(self) -> None:
        """Forget the filtered velocity: the next one is the true one, as of a filter that has long settled."""
        self._last: tuple[FloatArray, FloatArray] | None = None

    def corrupt(self, q: FloatArray, qd: FloatArray) -> None:
        """Turn true q and q̇ into measured ones, in place."""
        if self._row == NOISE_BLOCK:
            self._rng.standard_normal(out=self._block)
            self._row = 0
        both = np.concatenate((q, qd)) + self._std * self._block[self._row]
        self._row += 1
        if self._rounded.any():
            steps = self._resolution[self._rounded]
            both[self._rounded] = np.round(both[self._rounded] / steps) * steps
        q[:], qd[:] = both[: self._n], both[self._n :]
        if self._differences:
            if self._last is not None:
                last_q, last_qd = self._last
                qd[:] = last_qd + self._weight * ((q - last_q) / self._period - last_qd)
            self._last = q.copy(), qd.copy()


class _Firmware:
    """Gravity torque that the robot's own controller adds: of its description, not of what it really carries."""

    def __init__(self, spec: Any, joints: Sequence[str], where: str) -> None:
        self._model, self._data = compile_spec(spec.copy(), where)
        self._order = np.array([self._model.joint(name).qposadr[0] for name in joints])
        self._bias = np.empty(len(joints))

    def gravity_effort(self, q: FloatArray) -> FloatArray:
        """G(q), shape (n,)."""
        self._data.qpos[self._order] = q
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_rne(self._model, self._data, 0, self._bias)
        return np.array(self._bias[self._order])


def per_joint(value: float | tuple[float, ...], n: int, where: str) -> FloatArray:
    """Expand one number or n numbers to shape (n,).

    Raises:
        ScenarioError: if there are neither one nor n.
    """
    array = np.atleast_1d(np.asarray(value, dtype=float))
    if array.shape not in ((1,), (n,)):
        raise ScenarioError(f"{len(array)} values", where=where, valid=f"one, or one per joint ({n})")
    return np.broadcast_to(array, (n,)).copy()
