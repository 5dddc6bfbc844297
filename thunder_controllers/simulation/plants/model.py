"""ModelPlant: the true robot of a simulation, integrated from a model's own equations of motion."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from thunder_controllers.fields import FloatArray, per_joint
from thunder_controllers.host import Library, RigidArms
from thunder_controllers.simulation.faults.wrench import Motion, Push
from thunder_controllers.simulation.options import Friction, PlantOptions
from thunder_controllers.simulation.plants.plant import Plant
from thunder_controllers.simulation.plants.springs import LARGEST_STEP, Springs
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.inertia import N_PARAMETERS, Inertia
from thunder_dynamics.model import Link, RobotModel

RK4 = ((0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0))
"""Per stage: where in the step it looks, and its weight, in sixths."""


class ModelPlant(Plant):
    """A robot that moves as its model says: q̈ = M⁻¹(τ − C q̇ − G − τ_f − o), by Runge–Kutta of order four.

    Where a joint is elastic, τ is k + d of its spring, and the motor moves by Mm ẍ = τ_m − dm − k − d: `Springs`.
    Friction, offsets, pushes and blocks act on the link. A time step has as many parts as friction and springs need.
    Where joints stick, τ_f is viscous friction and that of `Bristles`.

    The dynamics are those of the model's compiled library, articulated bodies, with inertial parameters and rotors as
    arguments: a library serves all robots that differ in these and in friction. A body may be a point without
    rotational inertia, as long as M is regular, which MuJoCo refuses. Nothing collides and joints have no stops; effort
    limits saturate the motors. o are the effort offsets. See `Plant`.

    Args:
        model: The true robot: joints in the controller's order.

    Raises:
        BuildError: if the model's library cannot be compiled.
    """

    _lanes = False

    def __init__(
        self,
        model: RobotModel,
        joints: Sequence[str],
        period: float,
        options: PlantOptions | None = None,
        *,
        seed: int = 0,
        gravity_compensated: bool = False,
        where: str = "plant",
    ) -> None:
        options = options or PlantOptions()
        super().__init__(joints, period, options, seed=seed, gravity_compensated=gravity_compensated, where=where)
        self._check(model)
        self.robot = _true_model(model, self.options, where)
        self.g0 = self.robot.gravity
        self.ee_link = self.options.ee_link or model.link_names[model.ee_link]
        named = [self.ee_link, *self.options.inertia, *(payload.link for payload in self.options.payloads)]
        named += [fault.link for fault in self.options.faults if isinstance(fault, Push)]
        for link in named:
            model.index_of(link)
        self._described = np.array(model.parameters("par_DYN"))
        self._dyn = self._described.copy()
        self._set_bodies({link: body.to_inertia() for link, body in self.options.inertia.items()})
        self._rotors = self._rotor_inertias(model.drive_inertias)
        self.springs = self._springs(model)
        self.offsets = self._effort_offsets(model.effort_offsets)
        orders = zip(*(link.friction for link in self.robot.links), strict=True)
        self._viscous = np.array(list(orders)).reshape(-1, self.n)
        sticks = self.bristles is not None  # Coulomb friction is the bristles' then
        self._coulomb = np.array([0.0 if sticks else link.coulomb for link in self.robot.links])
        self._compile()
        self._limit = np.array([link.joint.limits.effort for link in model.links])
        self._state_vector = np.zeros((2, self.n + len(model.elastic_joints)))  # of the joints, then of the motors
        self._steps = 0
        self.reset(np.zeros(self.n))

    def twin(self, seed: int) -> ModelPlant:
        """The same robot, here the start, with the noise of another seed."""
        other = deepcopy(self, {id(one): one for one in (self._library, self._arms, self.robot, self.options)})
        other._seed = seed
        other._bind()
        other.reset(self.q, self.qd)
        return other

    def _check(self, model: RobotModel) -> None:
        offending = {
            f"joints {', '.join(model.joint_names)}": (model.joint_names != self.joints, ", ".join(self.joints)),
            f"integrator {self.options.integrator}": (self.options.integrator != "rk4", "rk4"),
            "contacts": (self.options.contacts, "engine: mujoco"),
        }
        for what, (found, valid) in offending.items():
            if found:
                raise ScenarioError(f"a plant of engine model with {what}", where=self.where, valid=valid)

    def _springs(self, model: RobotModel) -> Springs | None:
        """Those of the elastic joints, whose rotors are the motors' inertia and turn no link."""
        elastic = {link.joint.name: link.joint.elastic for link in model.links if link.joint.elastic}
        if not elastic:
            return None
        springs = Springs.of(self.joints, elastic, self._rotors, self._stiffness())
        self._rotors[springs.joints] = 0.0
        return springs

    def _compile(self) -> None:
        """Build the library of the bodies and rotors, and bind its functions."""
        # only here: running a library needs no code generator
        from thunder_dynamics.build import build

        bodies = _bodies(self.robot)
        folder = build(bodies, functions=("forward_dynamics", "M_inv"), lanes=self._lanes)
        self._library = Library(folder / f"lib{bodies.name}.so")
        self._bind()

    def _bind(self) -> None:
        """Take functions of the library with the properties of this plant."""
        from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY

        self._smoothing = SMOOTHING_VELOCITY
        self._arms = RigidArms(
            self._library,
            bodies=np.atleast_2d(self._dyn),
            rotors=np.atleast_2d(self._rotors),
            offsets=np.atleast_2d(self.offsets),
            coulomb=np.atleast_2d(self._coulomb),
            viscous=[np.atleast_2d(order) for order in self._viscous],
            smoothing=self._smoothing,
            longest=LARGEST_STEP,
        )
        self._M_inv, self._M, self._G = (self._function(name, self._dyn) for name in ("M_inv", "M", "G"))
        self._described_G = self._function("G", self._described)
        if (told := self.options.firmware.gravity) is not None and self.gravity_compensated:
            self._described_G = partial(_gravity_library(self.robot, told).evaluate, "G", par_DYN=self._described)
        frame = f"T_0_{self.robot.index_of(self.ee_link) + 1}" if self.options.ee_link else "T_0_ee"
        self._ee = partial(self._library.batch, frame)

    def _function(self, name: str, dyn: FloatArray) -> Callable[..., FloatArray]:
        """The function of that name with the parameters of bodies and rotors on which it depends."""
        given = {"par_DYN": dyn, "par_Ia": self._rotors}
        taken = {entry.name for entry in self._library.function(name).inputs}
        evaluate: Any = self._library.batch if self._lanes else self._library.evaluate
        return partial(evaluate, name, **{key: value for key, value in given.items() if key in taken})

    def _dyn_of(self, link: str) -> FloatArray:
        index = self.robot.index_of(link)
        return self._dyn[N_PARAMETERS * index : N_PARAMETERS * (index + 1)]

    @property
    def library_hash(self) -> str:
        """Content hash of the library of its bodies."""
        return self._library.hash

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._steps * self.timestep

    def read(self, q: FloatArray, qd: FloatArray) -> None:
        """Write the true state into `q` and `qd`, shape (n,) each."""
        q[:], qd[:] = self._state_vector[..., : self.n]

    def _put(self, q: FloatArray, qd: FloatArray) -> None:
        self._state_vector[..., : self.n] = q, qd
        self._steps = 0

    def _settle(self) -> None:
        if self.springs is not None:
            joints, state = self.springs.joints, self._state_vector
            held = (self._gravity() + self.offsets)[joints]
            state[0, self.n :] = state[0, joints] + self.springs.stiffness.inverse(held)
            state[1, self.n :] = state[1, joints]

    def _read_motors(self, x: FloatArray, xd: FloatArray) -> None:
        assert self.springs is not None
        x[self.springs.joints], xd[self.springs.joints] = self._state_vector[:, self.n :]

    def _stop(self) -> None:
        self._state_vector[1] = 0.0

    def _body(self, link: str) -> Inertia:
        return Inertia.from_dyn(self._dyn_of(link))

    def _set_bodies(self, inertias: Mapping[str, Inertia]) -> None:
        for link, inertia in inertias.items():
            self._dyn_of(link)[:] = inertia.dyn

    def true_inertia(self, link: str) -> Inertia:
        """Inertia of a link now, with all that is fixed to it, in the link frame."""
        return self._body(link)

    def true_friction(self) -> FloatArray:
        """Viscous [N·m·s/rad or N·s/m] and Coulomb friction [N·m or N] of the joints, shape (2, n)."""
        return joint_friction(self.robot)

    def acceleration(self, q: FloatArray, qd: FloatArray, effort: FloatArray) -> FloatArray:
        """q̈ under joint torques, shape (n,), at any state.

        Raises:
            ScenarioError: if M is singular: a joint moves no mass there.
        """
        qdd = np.asarray(self._arms.accelerate(q[None], qd[None], effort[None])[0])
        if not math.isfinite(qdd.sum()):
            self._check_regular(q)
        return qdd

    def _inverse_inertia(self, q: FloatArray) -> FloatArray:
        inverse = self._M_inv(q)
        if not math.isfinite(inverse.sum()):
            self._check_regular(q)
        return inverse

    def _check_regular(self, q: FloatArray) -> None:
        """Raise if what is not finite is so because of M, and not of the state."""
        try:
            np.linalg.inv(self.mass_matrix(q))
        except np.linalg.LinAlgError as error:
            what = f"the mass matrix is singular at q = {np.round(q, 4).tolist()}"
            raise ScenarioError(what, where=self.where, valid="mass that every joint moves") from error

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """M with rotors, shape (n, n), at any position."""
        return self._M(q)

    def jacobian(self, link: str, q: FloatArray) -> FloatArray:
        """J of the origin of a link's frame, linear part first, world axes, shape (6, n), at any position."""
        return np.asarray(self._library.evaluate(f"J_{self.robot.index_of(link) + 1}", q))

    def frame(self, link: str, q: FloatArray) -> FloatArray:
        """Pose of a link's frame in the world, (4, 4), at any position."""
        return np.asarray(self._library.evaluate(f"T_0_{self.robot.index_of(link) + 1}", q))

    def _mechanics(self) -> _Mechanics:
        state = self._state_vector.copy()
        q, qd = state[:, : self.n]
        return _Mechanics(self, self.time, q, qd, self._joint_torque(state, self.effort))

    def _joint_torque(self, state: FloatArray, effort: FloatArray) -> FloatArray:
        """What acts on the links, (n,): of the motors where a joint is rigid, else of its spring."""
        if self.springs is None:
            return effort
        joints, torque = self.springs.joints, effort.copy()
        torque[joints] = self.springs.torque(*(state[:, self.n :] - state[:, joints]))
        return torque

    def energy(self) -> float:
        """½ q̇ᵀM q̇ + ½ ẋᵀMm ẋ and what springs and bristles store, without gravity's potential [J]."""
        (q, x), (qd, xd) = (np.split(row, [self.n]) for row in self._state_vector)
        kinetic = 0.5 * float(qd @ self.mass_matrix(q) @ qd)
        if self.bristles is not None:
            kinetic += self.bristles.energy()
        if self.springs is None:
            return kinetic
        stored = self.springs.stiffness.energy(x - q[self.springs.joints])
        return kinetic + 0.5 * float(self.springs.inertia @ xd**2) + stored

    def _integrate(self, effort: FloatArray, steps: int) -> None:
        effort = np.clip(effort, -self._limit, self._limit)
        simple = self.springs is None and self.bristles is None
        if simple and not self.faults.loads_joints:
            self._advance(effort, steps)
            return
        h, state = self.timestep, self._state_vector
        for _ in range(steps):
            parts = self._rigid_parts(state[0]) if simple else self._parts()
            for part in range(parts):
                self._step(self.time + h * part / parts, h / parts, effort)
            self._steps += 1

    def _advance(self, effort: FloatArray, steps: int) -> None:
        """Integrate where nothing but motors, friction and offsets acts on rigid joints."""
        q, qd = self._state_vector
        before = q.copy()
        self._arms.advance(np.atleast_2d(q), np.atleast_2d(qd), np.atleast_2d(effort), self.timestep, steps)
        self._steps += steps
        if not math.isfinite(self._state_vector.sum()):
            self._check_regular(before)

    def _rigid_parts(self, q: FloatArray) -> int:
        return int(self._arms.count_parts(q[None], self.timestep)[0])

    def _damping(self) -> FloatArray:
        """Of friction at rest, by joint."""
        return np.asarray(self._coulomb / self._smoothing + self._viscous[:1].sum(axis=0))

    def _parts(self) -> int:
        """The same where joints are elastic or stick: fine enough for their fastest oscillation, too."""
        (q, x), (qd, xd) = (np.split(row, [self.n]) for row in self._state_vector)
        at = slice(0) if self.springs is None else self.springs.joints
        return self._count_parts(self._inverse_inertia(q), self._damping(), x - q[at], xd - qd[at], xd)

    def _step(self, time: float, h: float, effort: FloatArray) -> None:
        """As `RigidArms` does, with springs and what depends on the motion."""
        state, n = self._state_vector, self.n
        rate, change = np.zeros_like(state), np.zeros_like(state)
        for ahead, weight in RK4:
            at = state + ahead * h * rate
            q, qd = at[:, :n]
            torque = pull = self._joint_torque(at, effort)
            if self.bristles is not None:
                torque = pull - self.bristles.effort(q - state[0, :n], ahead * h, qd)
            if self.faults.loads_joints:
                torque = torque + self.faults.load(_Mechanics(self, time + ahead * h, q, qd, torque))
            rate[0] = at[1]
            rate[1, :n] = self.acceleration(q, qd, torque)
            if self.springs is not None:
                joints = self.springs.joints
                rate[1, n:] = self.springs.acceleration(effort[joints], pull[joints], at[1, n:])
            change += weight * rate
        change *= h / 6.0
        if self.bristles is not None:
            self.bristles.follow(change[0, :n], h)
        state += change

    def _gravity(self) -> FloatArray:
        return self._G(self._state_vector[0, ..., : self.n])

    def _described_gravity(self) -> FloatArray:
        return self._described_G(self._state_vector[0, ..., : self.n])

    def described_poses(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As `poses`, of the end effector where the description has it."""
        T = self._ee(q)
        return T[:, :3, 3], T[:, :3, :3]


@dataclass(frozen=True)
class _Mechanics:
    """The state at which the plant evaluates its dynamics, as `faults.load.Mechanics`."""

    plant: ModelPlant
    time: float
    q: FloatArray
    qd: FloatArray
    effort: FloatArray

    def acceleration(self, load: FloatArray) -> FloatArray:
        return self.plant.acceleration(self.q, self.qd, self.effort + load)

    def inverse_inertia(self) -> FloatArray:
        return self.plant._inverse_inertia(self.q)

    def motion_of(self, link: str) -> Motion:
        T = self.plant.frame(link, self.q)
        return Motion(T[:3, 3], T[:3, :3], self.plant.jacobian(link, self.q) @ self.qd)

    def effort_of(self, link: str, wrench: FloatArray) -> FloatArray:
        return np.asarray(self.plant.jacobian(link, self.q).T @ wrench)


def joint_friction(model: RobotModel) -> FloatArray:
    """Friction that a model states, linear viscous [N·m·s/rad or N·s/m] and Coulomb [N·m or N], shape (2, n)."""
    return np.array([[link.friction[0] if link.friction else 0.0, link.coulomb] for link in model.links]).T


def _true_model(model: RobotModel, options: PlantOptions, where: str) -> RobotModel:
    """The robot with gravity and friction of the options, of numbers."""
    links = model.links if options.friction is None else _rubbed(model, options.friction, where)
    return replace(model, links=links, gravity=options.gravity or model.gravity, symbolic={})


def _bodies(robot: RobotModel) -> RobotModel:
    """The robot without friction and offsets, inertial parameters and rotors of all links given at run time."""
    links = tuple(
        replace(link, friction=(), coulomb=0.0, effort_offset=0.0) for link in robot.with_rigid_joints().links
    )
    bodies = replace(robot, links=links, symbolic={"par_DYN": (True,) * (N_PARAMETERS * robot.n)})
    return bodies.with_rotor_inertias(dict.fromkeys(robot.joint_names, 0.0)).with_symbolic("par_Ia", True)


def _gravity_library(robot: RobotModel, gravity: tuple[float, float, float]) -> Library:
    """The library of the robot's bodies under another gravity."""
    from thunder_dynamics.build import build

    bodies = replace(_bodies(robot), gravity=gravity)
    return Library(build(bodies, functions=("G",)) / f"lib{bodies.name}.so")


def _rubbed(model: RobotModel, friction: Friction, where: str) -> tuple[Link, ...]:
    viscous, coulomb = (
        per_joint(value, model.joint_names, f"{where}: friction") for value in (friction.viscous, friction.coulomb)
    )
    return tuple(
        replace(link, friction=(float(v),), coulomb=float(c))
        for link, v, c in zip(model.links, viscous, coulomb, strict=True)
    )
