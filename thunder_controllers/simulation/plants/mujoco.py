"""MujocoPlant: the true robot of a simulation, integrated by MuJoCo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from thunder_controllers.fields import FloatArray, per_joint
from thunder_controllers.simulation.faults.wrench import Push
from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.plants.mujoco_load import MujocoMechanics, step_on_bristles, step_under_load
from thunder_controllers.simulation.plants.mujoco_model import (
    add_spring,
    body_inertia,
    body_named,
    build_spec,
    compile_spec,
    gravity_effort,
    link_inertia,
    set_inertia,
    set_offsets,
)
from thunder_controllers.simulation.plants.plant import Plant
from thunder_controllers.simulation.plants.springs import Springs
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.joints import Elasticity
from thunder_dynamics.locking import Assembly


class MujocoPlant(Plant):
    """A robot with one torque motor per joint, gravity on; see `Plant`.

    Effort limits of the description saturate the motors.

    Args:
        assembly: The robot, in which the controller's joints move and no other.
        rotors: Reflected rotor inertias of the robot file, shape (n,) [kg·m² or kg]; 0 or NaN where it has none.
        elastic: Which of the robot file's joints are elastic, by name. `rotors` has Mm of their motors.

    Raises:
        ScenarioError: for springs that MuJoCo has not, see `add_spring`, and effort offsets of elastic joints.
    """

    def __init__(
        self,
        assembly: Assembly,
        joints: Sequence[str],
        period: float,
        options: PlantOptions | None = None,
        *,
        seed: int = 0,
        gravity_compensated: bool = False,
        rotors: ArrayLike = 0.0,
        elastic: Mapping[str, Elasticity] | None = None,
        where: str = "plant",
    ) -> None:
        options = options or PlantOptions()
        super().__init__(joints, period, options, seed=seed, gravity_compensated=gravity_compensated, where=where)
        self._parts = 1
        self.g0 = self.options.gravity or assembly.model.gravity
        self._spec = build_spec(assembly, self.joints, where, self.options.contacts)
        model = assembly.model
        self.ee_link = self.options.ee_link or model.link_names[model.ee_link]
        self._set_integration()
        self.offsets = self._effort_offsets(np.zeros(self.n))
        inertias = self._rotor_inertias(np.broadcast_to(rotors, self.n))
        self._add_springs(elastic or {}, inertias)
        for name, rotor in zip(self.joints, inertias, strict=True):
            self._spec.joint(name).armature = rotor
        set_offsets(self._spec, dict(zip(self.joints, self.offsets, strict=True)))
        self._described = self._compile_described() if gravity_compensated else None
        body_named(self._spec, self.ee_link, f"{where}: ee_link")
        for link, body in self.options.inertia.items():
            set_inertia(body_named(self._spec, link, f"{where}: inertia"), body.to_inertia())
        for payload in self.options.payloads:
            body_named(self._spec, payload.link, f"{where}: payloads")
        for index, fault in enumerate(self.options.faults):
            if isinstance(fault, Push):
                body_named(self._spec, fault.link, f"{where}: faults.{index}")
        self._bind(*compile_spec(self._spec, where))
        self.reset(np.zeros(self.n))

    def _add_springs(self, elastic: Mapping[str, Elasticity], inertias: FloatArray) -> None:
        """Give elastic joints motors; their `inertias` are zero from then on."""
        if not elastic:
            return
        for name in elastic:
            if self.offsets[self.joints.index(name)]:
                what = f"an effort offset of the elastic joint {name}"
                raise ScenarioError(what, where=self.where, valid="none, or engine: model")
        self.springs = Springs.of(self.joints, elastic, inertias, self._stiffness())
        inertias[self.springs.joints] = 0.0
        for name, one in self.springs.elastic:
            add_spring(self._spec, name, one, self.where)

    def _compile_described(self) -> tuple[Any, Any]:
        """The robot that its own compensation of gravity knows."""
        spec = self._spec.copy()
        spec.option.gravity = self.options.firmware.gravity or self.g0
        return compile_spec(spec, self.where)

    def _set_integration(self) -> None:
        option = self._spec.option
        option.timestep = self.timestep
        option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{self.options.integrator.upper()}")
        option.gravity = self.g0

    def _bind(self, model: Any, data: Any) -> None:
        """Take over a compiled model; keep views, as each attribute access of MuJoCo's objects makes a new array."""
        self.model, self.data = model, data
        self._order = np.array([model.joint(name).qposadr[0] for name in self.joints])
        springs = [] if self.springs is None else self.springs.elastic
        self._motor_order = np.array([model.joint(f"{name}_motor").qposadr[0] for name, _ in springs], dtype=np.intp)
        model.opt.timestep = self.timestep / self._parts
        if (friction := self.options.friction) is not None:
            dry = friction.coulomb if self.bristles is None else 0.0
            for target, value in ((model.dof_damping, friction.viscous), (model.dof_frictionloss, dry)):
                target[self._order] = per_joint(value, self.joints, f"{self.where}: friction")
        self._qpos, self._qvel, self._ctrl = data.qpos, data.qvel, data.ctrl
        self._kinematics = mujoco.MjData(model)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self.data.time)

    def _put(self, q: FloatArray, qd: FloatArray) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self._qpos[self._order] = q
        self._qvel[self._order] = qd

    def _stop(self) -> None:
        self._qvel[:] = 0.0

    def _settle(self) -> None:
        if self.springs is not None:
            joints, held = self.springs.joints, self._gravity()[self.springs.joints]
            self._qpos[self._motor_order] = self._qpos[self._order][joints] + self.springs.stiffness.inverse(held)
            self._qvel[self._motor_order] = self._qvel[self._order][joints]
        if self.springs is not None or self.bristles is not None:
            self._divide()

    def _divide(self) -> None:
        """Set the parts of an integration step to what the arm needs where it is, its springs at rest."""
        still = np.zeros(len(self._motor_order))
        damping = self.model.dof_damping[self._order]
        self._parts = self._count_parts(self._mechanics().inverse_inertia(), damping, still, still, still)
        self.model.opt.timestep = self.timestep / self._parts

    def _read_motors(self, x: FloatArray, xd: FloatArray) -> None:
        assert self.springs is not None
        x[self.springs.joints], xd[self.springs.joints] = self._qpos[self._motor_order], self._qvel[self._motor_order]

    def _body(self, link: str) -> Inertia:
        body_named(self._spec, link, f"{self.where}: payload")
        return body_inertia(self.model, self.model.body(link).id)

    def _set_bodies(self, inertias: Mapping[str, Inertia]) -> None:
        for link, inertia in inertias.items():
            set_inertia(self._spec.body(link), inertia)
        self._bind(*compile_spec(self._spec, self.where, (self.model, self.data)))

    def copy_spec(self) -> Any:
        """Copy what the plant is compiled from; friction of the options is in the compiled model alone."""
        return self._spec.copy()

    def true_inertia(self, link: str) -> Inertia:
        """Inertia of a link now, with all that is fixed to it, in the link frame."""
        body_named(self._spec, link, self.where)
        return link_inertia(self.model, self.model.body(link).id)

    def true_friction(self) -> FloatArray:
        """Viscous [N·m·s/rad or N·s/m] and Coulomb friction [N·m or N] of the joints, shape (2, n)."""
        friction = np.array([self.model.dof_damping[self._order], self.model.dof_frictionloss[self._order]])
        if self.bristles is not None:
            friction[1, self.bristles.joints] = self.bristles.coulomb
        return friction

    def read(self, q: FloatArray, qd: FloatArray) -> None:
        """Write the true state into `q` and `qd`, shape (n,) each."""
        self._qpos.take(self._order, out=q, mode="clip")  # clip: the default mode buffers `out`
        self._qvel.take(self._order, out=qd, mode="clip")

    def _integrate(self, effort: FloatArray, steps: int) -> None:
        self._ctrl[:] = effort  # the motors were added in the order of `joints`
        if self.bristles is None:
            self._step(steps * self._parts)
            return
        for _ in range(steps):
            self._divide()
            for _ in range(self._parts):
                step_on_bristles(self.model, self.data, self.bristles, self._order, partial(self._step, 1))

    def _step(self, steps: int) -> None:
        if self.faults.loads_joints:
            step_under_load(self.model, self.data, steps, self.faults, self._order)
        else:
            mujoco.mj_step(self.model, self.data, steps)

    def external_effort(self) -> FloatArray:
        """Effort of each joint from outside, (n,): of pushes, and forces applied in MuJoCo, not of contacts."""
        effort = np.array(self.data.qfrc_applied)
        for body in np.flatnonzero(self.data.xfrc_applied.any(axis=1)):
            force, torque = np.split(self.data.xfrc_applied[body], 2)
            mujoco.mj_applyFT(self.model, self.data, force, torque, self.data.xipos[body], body, effort)
        return np.asarray(super().external_effort() + effort[self._order])

    def _mechanics(self) -> MujocoMechanics:
        data = self._kinematics
        data.qpos[:], data.qvel[:], data.time = self._qpos, self._qvel, self.data.time
        mujoco.mj_forward(self.model, data)
        return MujocoMechanics(self.model, data, self._order)

    def _gravity(self) -> FloatArray:
        return np.asarray(gravity_effort(self.model, self._kinematics, self._qpos)[self._order])

    def _described_gravity(self) -> FloatArray:
        assert self._described is not None
        return np.asarray(gravity_effort(*self._described, self._qpos)[self._order])

    def jacobian(self, q: FloatArray) -> FloatArray:
        """J(q) of the end effector in the world frame, linear over angular, (6, n)."""
        data, jacobian = self._kinematics, np.empty((6, self.model.nv))
        data.qpos[self._order] = q
        mujoco.mj_kinematics(self.model, data)
        mujoco.mj_comPos(self.model, data)
        mujoco.mj_jacBody(self.model, data, jacobian[:3], jacobian[3:], self.model.body(self.ee_link).id)
        return jacobian[:, self._order]

    def gravity(self, q: FloatArray) -> FloatArray:
        """G(q) of the arm as it is, (n,) [N·m or N]."""
        qpos = np.empty(self.model.nq)
        qpos[self._order] = q
        return np.asarray(gravity_effort(self.model, self._kinematics, qpos)[self._order])

    def described_poses(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As `poses`, of the end effector where the description has it."""
        data = self._kinematics
        body = self.model.body(self.ee_link).id
        xpos, xmat, qpos, order = data.xpos[body], data.xmat[body], data.qpos, self._order
        positions, rotations = np.empty((len(q), 3)), np.empty((len(q), 9))
        for k, row in enumerate(q):
            qpos[order] = row
            mujoco.mj_kinematics(self.model, data)
            positions[k], rotations[k] = xpos, xmat
        return positions, rotations.reshape(-1, 3, 3)
