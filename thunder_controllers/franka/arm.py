"""The arm behind the protocol: MuJoCo moves it; the robot compensates what it knows of and estimates the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.fields import FloatArray
from thunder_controllers.franka.arms import ARMS, FLANGE, FLIP, JOINT_NAMES, robot_rotors, robot_urdf
from thunder_controllers.franka.protocol import JOINTS, PERIOD, Protocol
from thunder_controllers.host import Limits
from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_controllers.simulation.plants.mujoco_rigid import RigidModel
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.readers.urdf import read_assembly_text

HOME = (0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4)
"""Where libfranka's examples begin [rad]."""

ESTIMATE_TIME = 0.02
"""Time constant of the estimated external torque [s]; a real robot's is not published."""

SLIDING = 0.01
"""Velocity at which compensated Coulomb friction is nearly whole [rad/s]."""

SINGULAR = 1e-6
"""det(J Jᵀ) at the stiffness frame below which no external wrench is estimated [m⁶]."""

GRAVITY = (0.0, 0.0, -9.81)
"""Base acceleration that a robot at rest reports [m/s²]: include/franka/robot_state.h."""


class FrankaServerError(ThunderError):
    """The server cannot be started, or its operator has asked for what is not there."""


class FrankaArm:
    """An arm and its state as a client sees it.

    Its brakes hold it unless `step` moves it.

    Args:
        kind: A key of `ARMS`.
        options: What the arm is that the robot does not know, such as payloads on `FLANGE`; friction.
        q: Where it starts, (7,) [rad].
        protocol: What its client speaks.
        compensation: Share of the friction that the robot compensates.
        inertial: Description whose inertial parameters and rotors it has; none: the former of `robot_urdf`, no rotors.

    Raises:
        ThunderError: if an option or the protocol does not fit the arm.
    """

    def __init__(
        self,
        kind: str,
        options: PlantOptions,
        q: FloatArray,
        protocol: Protocol,
        compensation: float = 1.0,
        inertial: Path | None = None,
    ) -> None:
        if kind not in protocol.arms:
            what = f"{kind!r} does not speak protocol {protocol.version}"
            raise FrankaServerError(what, where="arm", valid=" or ".join(protocol.arms))
        self.protocol = protocol
        self.urdf = robot_urdf(kind, inertial)
        self.limits = Limits(ARMS[kind])  # of the host: the formula of libfranka stands there
        described = read_assembly_text(self.urdf, kind)
        self._plant = MujocoPlant(described, JOINT_NAMES, PERIOD, options, rotors=robot_rotors(inertial), where=kind)
        self._known = RigidModel(described, JOINT_NAMES, FLANGE, kind)
        self._viscous, self._coulomb = compensation * self._plant.true_friction()
        self._flange = self._plant.model.body(FLANGE).id
        self.state: NDArray[np.void] = np.zeros((), protocol.state)
        self._view = {name: self.state[name] for name in protocol.state.names or ()}
        self.push = np.zeros(3)
        """Force on the flange from outside, base frame, (3,) [N]."""
        for name in ("F_T_EE", "F_T_NE", "NE_T_EE", "EE_T_K"):
            self._view[name][...] = np.eye(4).ravel()
        self._view["O_ddP_O"][...] = GRAVITY
        self.place(q)

    def place(self, q: FloatArray) -> None:
        """Put the arm at rest at q, (7,) [rad]."""
        self._plant.reset(q)
        self.hold()

    def hold(self) -> None:
        """Stop the arm where it is and hold it with the brakes."""
        self._plant.brake()
        self.torque = np.zeros(JOINTS)
        self.measured = self._plant.holding_effort()
        """What the torque sensors say, at the side of the links, (7,) [N·m]."""
        self._rate = np.zeros(JOINTS)
        self._find()
        self.external = self.measured - self._known.gravity
        """Estimated torque by which the links push at what is not known, (7,) [N·m]."""
        self._show()

    def set_load(self, load: Inertia) -> None:
        """Tell the robot of a body at the flange, in its frame; it is not attached by that."""
        self._known.set_load(load)
        self._view["m_load"][...], self._view["F_x_Cload"][...] = load.mass, load.com
        self._view["I_load"][...] = load.inertia_com.ravel()
        self.hold()

    def set_frame(self, name: str, pose: FloatArray) -> None:
        """Set NE_T_EE or EE_T_K, column-major, (16,)."""
        self._view[name][...] = pose
        self._view["F_T_EE"][...] = self._view["NE_T_EE"]  # there is no hand: F_T_NE is the identity
        self._show()

    def step(self, torque: FloatArray) -> None:
        """Move the arm for a period under a torque, (7,) [N·m]; gravity and friction are compensated beside it.

        τ_c = τ_d + τ_f + τ_g [libfranka, docs/overview.rst].
        """
        self.torque = torque
        friction = self._viscous * self.qd + self._coulomb * np.tanh(self.qd / SLIDING)
        self._plant.data.xfrc_applied[self._flange, :3] = self.push
        self._plant.step(torque + self._known.gravity + friction)
        data = self._plant.data
        rotors = self._plant.model.dof_armature * data.qacc  # what turns the motors does not reach the links
        measured = data.qfrc_actuator + data.qfrc_passive + data.qfrc_constraint - rotors
        self._rate, self.measured = (measured - self.measured) / PERIOD, measured
        self._find()
        share = PERIOD / (ESTIMATE_TIME + PERIOD)
        self.external += share * (measured - self._known.effort(data.qacc) - self.external)
        self._show()

    def _find(self) -> None:
        """Find out where the arm is, and what the robot makes of that."""
        self.q, self.qd = self._plant.q, self._plant.qd
        self._known.update(self.q, self.qd)

    def _show(self) -> None:
        """Renew what the state says of the arm."""
        q, qd, view = self.q, self.qd, self._view
        flange = self._known.pose()
        tip = flange @ _matrix(view["F_T_EE"])
        self.wrench, in_base = self._external_wrench(tip @ _matrix(view["EE_T_K"]))
        pose, elbow = tip.T.ravel(), (q[2], np.sign(q[3] - FLIP))
        for name, value in (
            ("q", q),
            ("q_d", q),
            ("theta", q),  # no elasticity of the joints
            ("dq", qd),
            ("dtheta", qd),
            ("tau_J", self.measured),
            ("dtau_J", self._rate),
            ("tau_J_d", self.torque),
            ("tau_ext_hat_filtered", self.external),
            ("K_F_ext_hat_K", self.wrench),
            ("O_F_ext_hat_K", in_base),
            ("O_T_EE", pose),
            ("O_T_EE_d", pose),
            ("O_T_EE_c", pose),
            ("elbow", elbow),
            ("elbow_d", elbow),
            ("elbow_c", elbow),
        ):
            view[name][...] = value

    def _external_wrench(self, stiffness: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Estimate force and torque at the stiffness frame, (6,) [N, N·m]: in that frame, and in the base frame.

        (J Jᵀ)⁻¹ J τ_ext, the wrench whose torques fit best; zero at a singularity.
        """
        jacobian = self._known.jacobian(stiffness[:3, 3])
        square = jacobian @ jacobian.T
        if np.linalg.det(square) < SINGULAR:
            return np.zeros(6), np.zeros(6)
        in_base: FloatArray = np.linalg.solve(square, jacobian @ self.external).astype(float)
        return (in_base.reshape(2, 3) @ stiffness[:3, :3]).ravel(), in_base


def _matrix(pose: FloatArray) -> FloatArray:
    """Homogeneous matrix, (4, 4), of a pose in column-major order, (16,)."""
    return np.asarray(pose, float).reshape(4, 4).T
