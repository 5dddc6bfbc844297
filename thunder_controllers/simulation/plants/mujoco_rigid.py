"""What a robot knows of itself: gravity, dynamics and Jacobian of its description and of a load it is told of."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from thunder_controllers.fields import FloatArray
from thunder_controllers.simulation.plants.mujoco_model import (
    body_inertia,
    body_named,
    build_spec,
    compile_spec,
    set_inertia,
)
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.locking import Assembly


class RigidModel:
    """A serial arm of rigid links, evaluated at one state at a time.

    Args:
        assembly: The robot, in which these joints move and no other.
        joints: From the base to the tip.
        tip: Link that carries the load, and whose frame is the tip's.
        where: Named in errors.

    Attributes:
        gravity: G(q), (n,) [N·m or N].
        bias: C(q, q̇) q̇ + G(q), (n,) [N·m or N].

    Raises:
        ScenarioError, NameNotFoundError: if it cannot be made of the description.
    """

    def __init__(self, assembly: Assembly, joints: Sequence[str], tip: str, where: str) -> None:
        self._where = where
        self._spec = build_spec(assembly, joints, where, contacts=False)
        self._spec.option.gravity = assembly.model.gravity
        self._tip = tip
        body_named(self._spec, tip, where)
        self._compile()
        self._own = body_inertia(self._model, self._body)
        self.gravity, self.bias = np.zeros(len(joints)), np.zeros(len(joints))

    def _compile(self) -> None:
        self._model, self._data = compile_spec(self._spec, self._where)
        self._body = self._model.body(self._tip).id

    def set_load(self, load: Inertia) -> None:
        """Fix this body, in the frame of the tip, to it instead of the one before."""
        set_inertia(self._spec.body(self._tip), self._own + load)
        self._compile()

    def update(self, q: FloatArray, qd: FloatArray) -> None:
        """Evaluate at a state, shape (n,) each."""
        self._data.qpos[:], self._data.qvel[:] = q, 0.0
        mujoco.mj_fwdPosition(self._model, self._data)
        mujoco.mj_fwdVelocity(self._model, self._data)
        self.gravity[:] = self._data.qfrc_bias
        self._data.qvel[:] = qd
        mujoco.mj_fwdVelocity(self._model, self._data)
        self.bias[:] = self._data.qfrc_bias

    def effort(self, qdd: FloatArray) -> FloatArray:
        """M(q) q̈ + C(q, q̇) q̇ + G(q), (n,) [N·m or N]."""
        effort = np.empty(len(qdd))
        mujoco.mj_mulM(self._model, self._data, effort, qdd)
        return effort + self.bias

    def pose(self) -> FloatArray:
        """Pose of the tip in the base frame, homogeneous, (4, 4)."""
        pose = np.eye(4)
        pose[:3, :3] = self._data.xmat[self._body].reshape(3, 3)
        pose[:3, 3] = self._data.xpos[self._body]
        return pose

    def jacobian(self, point: FloatArray) -> FloatArray:
        """Linear velocity of a point of the tip, (3,) [m] in the base frame, over angular velocity, (6, n)."""
        jacobian = np.empty((6, self._model.nv))
        mujoco.mj_jac(self._model, self._data, jacobian[:3], jacobian[3:], point, self._body)
        return jacobian
