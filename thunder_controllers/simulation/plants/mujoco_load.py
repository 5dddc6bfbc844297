"""MuJoCo steps under loads that follow the motion: they are computed anew wherever the integrator looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.fields import FloatArray
from thunder_controllers.simulation.faults.faults import Faults
from thunder_controllers.simulation.faults.wrench import Motion
from thunder_controllers.simulation.plants.bristles import Bristles


class MujocoMechanics:
    """The state at which MuJoCo evaluates its dynamics, as `faults.load.Mechanics`.

    Args:
        model: Of MuJoCo.
        data: Of MuJoCo, positions and velocities evaluated.
        order: Place of each joint in MuJoCo's vectors.
    """

    def __init__(self, model: Any, data: Any, order: NDArray[np.intp]) -> None:
        self._model, self._data, self._order = model, data, order
        self.qd: FloatArray = data.qvel[order]

    @property
    def time(self) -> float:
        """[s]."""
        return float(self._data.time)

    def acceleration(self, load: FloatArray) -> FloatArray:
        """q̈ under the motors' efforts and `load`, with what friction, contacts and joint limits answer."""
        self._data.qfrc_applied[self._order] = load
        mujoco.mj_fwdActuation(self._model, self._data)
        mujoco.mj_fwdAcceleration(self._model, self._data)
        mujoco.mj_fwdConstraint(self._model, self._data)
        return np.array(self._data.qacc[self._order])

    def inverse_inertia(self) -> FloatArray:
        """M⁻¹, rotors included."""
        inverse = np.empty((self._model.nv, self._model.nv))
        mujoco.mj_solveM(self._model, self._data, inverse, np.eye(self._model.nv))
        return inverse[np.ix_(self._order, self._order)]

    def motion_of(self, link: str) -> Motion:
        """Motion of the frame of a link."""
        body, jacobian = self._data.body(link), np.empty((6, self._model.nv))
        mujoco.mj_jacBody(self._model, self._data, jacobian[:3], jacobian[3:], body.id)
        return Motion(body.xpos.copy(), body.xmat.reshape(3, 3).copy(), jacobian @ self._data.qvel)

    def effort_of(self, link: str, wrench: FloatArray) -> FloatArray:
        """Jᵀ w."""
        effort, body = np.zeros(self._model.nv), self._data.body(link)
        mujoco.mj_applyFT(self._model, self._data, wrench[:3], wrench[3:], body.xpos, body.id, effort)
        return effort[self._order]


def step_on_bristles(
    model: Any, data: Any, bristles: Bristles, order: NDArray[np.intp], step: Callable[[], None]
) -> None:
    """Call `step`, which makes one integration step, with the friction of bristles among the passive efforts."""
    start, time = data.qpos[order], data.time

    def rub(model: Any, at: Any) -> None:
        if at is data:  # MuJoCo asks for every arm, those that other threads move too
            qd = at.qvel[order]
            at.qfrc_passive[order] -= bristles.effort(at.qpos[order] - start, at.time - time, qd)

    mujoco.set_mjcb_passive(rub)
    try:
        step()
    finally:
        mujoco.set_mjcb_passive(None)
    bristles.follow(data.qpos[order] - start, model.opt.timestep)


def step_under_load(model: Any, data: Any, steps: int, faults: Faults, order: NDArray[np.intp]) -> None:
    """Advance by `steps` integration steps under the loads of `faults`.

    A blocked joint has no dry friction of its own meanwhile: its block holds it whatever the friction.
    """
    blocked = order[faults.blocked]
    friction = model.dof_frictionloss[blocked]

    def load(model: Any, data: Any) -> None:
        data.qfrc_applied[order] = faults.load(MujocoMechanics(model, data, order))

    model.dof_frictionloss[blocked] = 0.0
    mujoco.set_mjcb_control(load)
    try:
        mujoco.mj_step(model, data, steps)
    finally:
        mujoco.set_mjcb_control(None)
        model.dof_frictionloss[blocked] = friction
        data.qfrc_applied[:] = 0.0
