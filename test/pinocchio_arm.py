"""An arm that Pinocchio moves: a plant with nothing of ours in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class PinocchioArm:
    """The arm of a URDF, with rotors [kg·m²] and a load in its hand [kg]; joints [rad], continuous ones unwrapped."""

    def __init__(self, file: Path, joints: FloatArray, rotors: FloatArray | None = None, load: float = 0.0) -> None:
        self.model = pinocchio.buildModelFromUrdf(str(file))
        if rotors is not None:
            self.model.armature = rotors
        if load:
            held = pinocchio.Inertia.FromSphere(load, 0.03)
            self.model.appendBodyToJoint(self.model.njoints - 1, held, pinocchio.SE3.Identity())
        self._data = self.model.createData()
        self.joints, self.velocity = np.asarray(joints, float), np.zeros(len(joints))

    @property
    def _q(self) -> FloatArray:
        """Pinocchio's q, in which a continuous joint is a point of a circle."""
        return np.asarray(pinocchio.integrate(self.model, pinocchio.neutral(self.model), self.joints))

    def gravity(self) -> FloatArray:
        """G(q) [N·m], (n,)."""
        return np.array(pinocchio.computeGeneralizedGravity(self.model, self._data, self._q))

    def pose(self, joints: FloatArray, frame: str) -> pinocchio.SE3:
        """Of a frame at other joints."""
        q = pinocchio.integrate(self.model, pinocchio.neutral(self.model), np.asarray(joints))
        pinocchio.framesForwardKinematics(self.model, self._data, q)
        return self._data.oMf[self.model.getFrameId(frame)].copy()

    def move(self, effort: FloatArray, step: float) -> None:
        """Let a step [s] pass under constant efforts [N·m]: q̈ is that of its beginning."""
        change = pinocchio.aba(self.model, self._data, self._q, self.velocity, effort)
        self.joints = self.joints + step * (self.velocity + 0.5 * step * change)
        self.velocity = self.velocity + step * change
