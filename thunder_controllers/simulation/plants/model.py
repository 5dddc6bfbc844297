"""ModelPlant: the true robot of a simulation, integrated from a model's own equations of motion."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from thunder_controllers.fields import FloatArray, per_joint
from thunder_controllers.host import Library
from thunder_controllers.simulation.faults.wrench import Wrench
from thunder_controllers.simulation.options import Friction, PlantOptions
from thunder_controllers.simulation.plants.plant import Plant
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.inertia import N_PARAMETERS, Inertia
from thunder_dynamics.model import Link, RobotModel

RK4 = ((0.0, 1.0), (0.5, 2.0), (0.5, 2.0), (1.0, 1.0))
"""Per stage: where in the step it looks, and its weight, in sixths."""

LARGEST_STEP = 2.0
"""Longest step, in times 1/λ of a damped joint's λ: the method is stable to 2.78 and far from it below 2."""


class ModelPlant(Plant):
    """A robot that moves as its model says: q̈ = M⁻¹(τ − C q̇ − G − τ_f − o), by Runge–Kutta of order four.

    M, C, G and τ_f come from the model's compiled library. A body may be a point without rotational inertia, as long as
    M is regular, which MuJoCo refuses. Nothing collides and joints have no stops; effort limits saturate the motors. o
    are the effort offsets. See `Plant`.

    Args:
        model: The true robot: rigid joints in the controller's order; gravity is that of the options, not of the model.

    Raises:
        BuildError: if the model's library cannot be compiled.
    """

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
        self.ee_link = self.options.ee_link or model.link_names[model.ee_link]
        named = [self.ee_link, *self.options.inertia, *(payload.link for payload in self.options.payloads)]
        named += [fault.link for fault in self.options.faults if isinstance(fault, Wrench)]
        for link in named:
            model.index_of(link)
        self._described = np.array(model.parameters("par_DYN"))
        self._dyn = self._described.copy()
        self._set_bodies({link: body.to_inertia() for link, body in self.options.inertia.items()})
        self._rotors = np.diag(self._rotor_inertias(model.rotor_inertias))
        self.offsets = self._effort_offsets(model.effort_offsets)
        self._compile()
        self._limit = np.array([link.joint.limits.effort for link in model.links])
        self._state_vector = np.zeros((2, self.n))
        self._steps = 0
        self.reset(np.zeros(self.n))

    def _check(self, model: RobotModel) -> None:
        offending = {
            f"joints {', '.join(model.joint_names)}": (model.joint_names != self.joints, ", ".join(self.joints)),
            "elastic joints": (bool(model.elastic_joints), "rigid joints"),
            f"integrator {self.options.integrator}": (self.options.integrator != "rk4", "rk4"),
            "contacts": (self.options.contacts, "engine: mujoco"),
        }
        for what, (found, valid) in offending.items():
            if found:
                raise ScenarioError(f"a plant of engine model with {what}", where=self.where, valid=valid)

    def _compile(self) -> None:
        """Bind the functions of the model's library, its inertial parameters as arguments where they act."""
        # only here: running a library needs no code generator
        from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY
        from thunder_dynamics.build import build

        self._library = Library(build(self.robot, python=False) / f"lib{self.robot.name}.so")
        self._M, self._C, self._G = (self._function(name) for name in ("M", "C", "G"))
        has_friction = "dl" in self._library.functions
        self._friction: Callable[[FloatArray], FloatArray] | None = (
            partial(self._library.evaluate, "dl") if has_friction else None
        )
        viscous, coulomb = joint_friction(self.robot)
        self._damping = viscous + coulomb / SMOOTHING_VELOCITY
        frame = f"T_0_{self.robot.index_of(self.ee_link) + 1}" if self.options.ee_link else "T_0_ee"
        self._ee = partial(self._library.evaluate, frame)

    def _function(self, name: str) -> Callable[..., FloatArray]:
        """The function of (q, …, DYN parameters of all links); one that does not depend on these takes none."""
        evaluate = partial(self._library.evaluate, name)
        if any(entry.name == "par_DYN" for entry in self._library.function(name).inputs):
            return evaluate
        return lambda *arguments: np.asarray(evaluate(*arguments[:-1]))

    def _dyn_of(self, link: str) -> FloatArray:
        index = self.robot.index_of(link)
        return self._dyn[N_PARAMETERS * index : N_PARAMETERS * (index + 1)]

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._steps * self.timestep

    def read(self, q: FloatArray, qd: FloatArray) -> None:
        """Write the true state into `q` and `qd`, shape (n,) each."""
        q[:], qd[:] = self._state_vector

    def _put(self, q: FloatArray, qd: FloatArray) -> None:
        self._state_vector[:] = q, qd
        self._steps = 0

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
        torque = effort - self._C(q, qd, self._dyn) @ qd - self._G(q, self._dyn) - self.offsets
        if self._friction is not None:
            torque -= self._friction(qd)
        return self._accelerated(q, torque)

    def _accelerated(self, q: FloatArray, torque: FloatArray) -> FloatArray:
        """M⁻¹ times a vector or a matrix."""
        try:
            return np.asarray(np.linalg.solve(self.mass_matrix(q), torque))
        except np.linalg.LinAlgError as error:
            what = f"the mass matrix is singular at q = {np.round(q, 4).tolist()}"
            raise ScenarioError(what, where=self.where, valid="mass that every joint moves") from error

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """M with rotors, shape (n, n), at any position."""
        return np.asarray(self._M(q, self._dyn) + self._rotors)

    def jacobian(self, link: str, q: FloatArray) -> FloatArray:
        """J of the origin of a link's frame, linear part first, world axes, shape (6, n), at any position."""
        return np.asarray(self._library.evaluate(f"J_{self.robot.index_of(link) + 1}", q))

    def _mechanics(self) -> _Mechanics:
        q, qd = self._state_vector.copy()
        return _Mechanics(self, self.time, q, qd, self.effort)

    def _integrate(self, effort: FloatArray, steps: int) -> None:
        h, state = self.timestep, self._state_vector
        effort = np.clip(effort, -self._limit, self._limit)
        for _ in range(steps):
            parts = self._stable_parts(state[0])
            for part in range(parts):
                self._step(self.time + h * part / parts, h / parts, effort)
            self._steps += 1

    def _stable_parts(self, q: FloatArray) -> int:
        """Steps of Runge–Kutta in a time step, stable at rest, where friction damps joints at M⁻¹(Dl + Fc/v_s) [1/s].

        A joint that sticks would oscillate otherwise, and be measured at speeds that it does not have.
        """
        if self._friction is None:
            return 1
        rates = np.linalg.eigvals(self._accelerated(q, np.diag(self._damping)))
        return max(1, math.ceil(self.timestep * float(np.abs(rates).max()) / LARGEST_STEP))

    def _step(self, time: float, h: float, effort: FloatArray) -> None:
        state = self._state_vector
        rate, change = np.zeros_like(state), np.zeros_like(state)
        for ahead, weight in RK4:
            q, qd = state + ahead * h * rate
            torque = effort
            if self.faults.loads_joints:
                torque = effort + self.faults.load(_Mechanics(self, time + ahead * h, q, qd, effort))
            rate = np.stack((qd, self.acceleration(q, qd, torque)))
            change += weight * rate
        state += h / 6.0 * change

    def _gravity(self) -> FloatArray:
        return np.array(self._G(self._state_vector[0], self._dyn))

    def _described_gravity(self) -> FloatArray:
        return np.array(self._G(self._state_vector[0], self._described))

    def poses(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """True poses at many q, shape (N, n): positions (N, 3) and rotations (N, 3, 3)."""
        T = np.array([self._ee(row) for row in q])
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
        return np.asarray(np.linalg.inv(self.plant.mass_matrix(self.q)))

    def effort_of(self, link: str, wrench: FloatArray) -> FloatArray:
        return np.asarray(self.plant.jacobian(link, self.q).T @ wrench)


def joint_friction(model: RobotModel) -> FloatArray:
    """Friction that a model states, linear viscous [N·m·s/rad or N·s/m] and Coulomb [N·m or N], shape (2, n)."""
    return np.array([[link.friction[0] if link.friction else 0.0, link.coulomb] for link in model.links]).T


def _true_model(model: RobotModel, options: PlantOptions, where: str) -> RobotModel:
    """The bodies, with gravity and friction of the options, inertia given at run time; without rotors and offsets."""
    links = model.links if options.friction is None else _rubbed(model, options.friction, where)
    links = tuple(replace(link, effort_offset=0.0) for link in links)
    symbolic = {"par_DYN": (True,) * (N_PARAMETERS * model.n)}
    bodies = replace(model, links=links, gravity=options.gravity, symbolic=symbolic)
    return bodies.with_rotor_inertias(dict.fromkeys(model.joint_names))


def _rubbed(model: RobotModel, friction: Friction, where: str) -> tuple[Link, ...]:
    viscous, coulomb = (
        per_joint(value, model.n, f"{where}: friction") for value in (friction.viscous, friction.coulomb)
    )
    return tuple(
        replace(link, friction=(float(v),), coulomb=float(c))
        for link, v, c in zip(model.links, viscous, coulomb, strict=True)
    )
