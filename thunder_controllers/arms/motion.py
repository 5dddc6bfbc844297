"""A posture, a motion and a payload that fit an arm, by its limits, gravity, inertia and reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from thunder_controllers.fields import FloatArray
from thunder_controllers.host import Limits
from thunder_dynamics.errors import ModelError
from thunder_dynamics.inertia import ball_radius
from thunder_dynamics.joints import JointKind
from thunder_dynamics.model import RobotModel

FREQUENCIES = (0.1, 0.15, 0.2, 0.25)
"""Of the joints in turn [Hz]: together they repeat after `PERIOD`, and no two neighbours move alike."""

PERIOD, SAMPLES = 20.0, 100
"""Of the motion [s], and instants at which its efforts are looked at."""

LARGEST = {JointKind.REVOLUTE: 0.3, JointKind.PRISMATIC: 0.1}
"""Amplitudes of joints [rad or m], where nothing makes them smaller."""

FASTEST = 0.3
"""Of a joint's velocity limit [1]."""

POSTURES, TRIED = 300, 15
"""Random postures that are rated, and the best of them whose motion is looked at."""

MARGIN = 0.1
"""Of a joint's range, kept at both ends [1]."""

EFFORT, WITH_FRICTION = 0.6, 0.9
"""Share of the effort limits that motion and payload take, and all with the friction that the description states: the
rest is for what nobody knows [1]."""

PAYLOAD = 0.1
"""Of the mass that moves, where the limits of effort allow it [1]."""

LEAST = 0.01
"""Of the mass that moves: a payload that is less shows nothing [1]."""

WITHOUT_LIMIT = 2.0
"""Effort limit of a joint whose file has none, over what the motion needs [1]."""


@dataclass(frozen=True)
class Motion:
    """What an arm does, and what it carries.

    Attributes:
        centre: Posture about which it moves, (n,) [rad or m].
        amplitude: Of the joints, (n,) [rad or m].
        frequency: Of the joints, (n,) [Hz].
        payload: Mass [kg].
        effort: Effort limits in force, (n,) [N·m or N]: those of the description, or enough where it has none.
        share: Largest share of these that the motion with the payload needs [1].
        joint: Index of the joint that needs it.
    """

    centre: FloatArray
    amplitude: FloatArray
    frequency: FloatArray
    payload: float
    effort: FloatArray
    share: float
    joint: int


class Arm:
    """Kinematics and dynamics of a model without compiling anything: slow, for a few hundred postures.

    Args:
        model: Of single joints.
    """

    def __init__(self, model: RobotModel) -> None:
        from thunder_dynamics.codegen.interpreted import interpreted_robot  # only here: a run needs no code generator
        from thunder_dynamics.expressions import RobotExpressions

        robot = RobotExpressions(model)
        self._robot: Any = interpreted_robot(robot)
        self._rubs = "dl" in robot.functions
        self._links = range(1, model.n + 1)
        self._gravity = np.asarray(model.gravity)
        up = -self._gravity
        self._up = up / (np.linalg.norm(up) or 1.0)
        self._base = np.asarray(model.base.tr) @ self._up

    def at(self, q: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """J_ee (6, n), G (n,), and how far the lowest origin of a link is above the base [m], at q (n,)."""
        self._robot.set_q(q)
        origins = [getattr(self._robot, f"get_T_0_{i}")()[:3, 3] for i in self._links]
        origins.append(self._robot.get_T_0_ee()[:3, 3])
        return self._robot.get_J_ee(), self._robot.get_G().ravel(), float(np.min(origins @ self._up) - self._base)

    def efforts(
        self, q: FloatArray, qd: FloatArray, qdd: FloatArray, place: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """M q̈ + C q̇ + G, what a point mass adds to it per kg, and friction and offsets, (N, n) each, along a motion.

        `place` is where the mass is in the frame of the end effector [m], (3,).
        """
        of_arm, of_mass, of_drives = np.zeros((3, *q.shape))
        for k in range(len(q)):
            self._robot.set_q(q[k])
            self._robot.set_dq(qd[k])
            J, rate = self._robot.get_J_ee(), self._robot.get_J_ee_dot()
            r, omega, acceleration = self._robot.get_T_0_ee()[:3, :3] @ place, J[3:] @ qd[k], J @ qdd[k] + rate @ qd[k]
            of_place = acceleration[:3] + np.cross(acceleration[3:], r) + np.cross(omega, np.cross(omega, r))
            force = of_place - self._gravity
            of_arm[k] = self._robot.get_M() @ qdd[k] + self._robot.get_C() @ qd[k] + self._robot.get_G().ravel()
            of_mass[k] = J[:3].T @ force + J[3:].T @ np.cross(r, force)
            if self._rubs:
                of_drives[k] = self._robot.get_dl().ravel()
        return of_arm, of_mass, of_drives


def choose_motion(model: RobotModel, friction: float) -> Motion:
    """Choose a motion: among random postures within the limits, far from singular ones and light to hold, the best one.

    A posture is rated by the product of its least singular value over the largest that was found, of what gravity
    leaves of the effort limits, and of the way to the nearest limit of position over the amplitude; below the base only
    if no other is found. The best ones are tried in turn, until one bears `PAYLOAD` within `EFFORT` of the limits; else
    it is the one that bears most.

    Args:
        model: Of single joints, with rotors, as far as they count.
        friction: Share of a joint's effort limit that friction takes in motion beside the description's [1].

    Raises:
        ModelError: if no posture that was tried bears the arm and `LEAST` of its mass.
    """
    arm, limit = Arm(model), model.limits("effort")
    mass = sum(link.inertia.mass for link in model.links)
    if not mass > 0.0:
        raise ModelError("no link that moves has a mass", where=model.source or model.name, valid="inertial elements")
    best: Motion | None = None
    for q in _rated(arm, model, limit):
        motion = _about(arm, model, q, limit, friction, mass)
        if best is None or (motion.payload, -motion.share) > (best.payload, -best.share):
            best = motion
        if motion.payload >= PAYLOAD * mass:
            break
    if best is None or best.payload < LEAST * mass:
        raise _too_weak(model, best, mass)
    return best


def _too_weak(model: RobotModel, best: Motion | None, mass: float) -> ModelError:
    where = model.source or model.name
    if best is None:
        return ModelError("no joint can move", where=where, valid="limits of position with room between them")
    name, limit = model.joint_names[best.joint], best.effort[best.joint]
    what = (
        f"within {EFFORT:.0%} of its effort limits, {WITH_FRICTION:.0%} with its friction, the arm of {mass:.3g} kg "
        f"carries {best.payload:.2g} kg: "
        f"{name} needs {best.share * limit:.3g} of {limit:.3g} N·m or N, friction included"
    )
    return ModelError(what, where=where, valid=f"{LEAST:.0%} of its mass at least")


def _rated(arm: Arm, model: RobotModel, effort: FloatArray) -> Iterator[FloatArray]:
    """Postures, the best first."""
    lower, upper = _range(model)
    keep = MARGIN * (upper - lower)
    postures = np.random.default_rng(0).uniform(lower + keep, upper - keep, (POSTURES, model.n))
    found = [arm.at(q) for q in postures]
    rows = 6 if model.n >= 6 else 3
    span = max(np.linalg.norm(J[:3], axis=0).max() for J, _, _ in found) or 1.0
    scale = np.array([span, span, span, 1.0, 1.0, 1.0])[:rows, None]  # lengths by the reach: angles have none
    least = np.array([np.linalg.svd(J[:rows] / scale, compute_uv=False)[-1] for J, _, _ in found])
    left = np.array([np.clip(1.0 - np.max(np.abs(G) / effort), 0.0, 1.0) for _, G, _ in found])
    room = np.min(np.minimum(postures - lower, upper - postures) / _largest(model), axis=1)
    above = np.array([height >= -1e-6 for _, _, height in found])
    rating = (least + 1e-9) * left * np.minimum(room, 1.0) + 1e6 * above * (left > 0.0)
    return iter(postures[np.argsort(-rating)[:TRIED]])


def _about(arm: Arm, model: RobotModel, centre: FloatArray, limit: FloatArray, friction: float, mass: float) -> Motion:
    """The motion about a posture, and the largest payload up to `PAYLOAD` that it bears."""
    lower, upper = _range(model)
    frequency = np.array([FREQUENCIES[i % len(FREQUENCIES)] for i in range(model.n)])
    turn = 2.0 * np.pi * frequency
    room = 0.9 * np.minimum(centre - lower, upper - centre)
    widest, limits = np.minimum(_largest(model), room), Limits([link.joint.limits for link in model.links])
    fastest = np.minimum(-limits.velocity_at(centre - widest)[0], limits.velocity_at(centre + widest)[1])
    amplitude = np.minimum(widest, FASTEST * fastest / turn)
    angle = np.multiply.outer(np.linspace(0.0, PERIOD, SAMPLES, endpoint=False), turn)
    waves = amplitude * np.cos(angle)
    wanted = PAYLOAD * mass
    _, com = ball_at_hand(model, wanted)
    place = model.ee.pose.rotation.T @ (com - model.ee.pose.translation)
    rates = -turn * amplitude * np.sin(angle)
    of_arm, of_mass, of_drives = arm.efforts(centre + waves, rates, -(turn**2) * waves, place)
    needed = np.abs(of_arm + of_drives + wanted * of_mass).max(axis=0)
    effort = np.where(np.isfinite(limit), limit, WITHOUT_LIMIT * np.maximum(needed, 0.05 * needed.max()))
    most = np.where(np.isfinite(limit), limits.effort_at(turn * amplitude), effort)  # where each joint is fastest
    left = np.minimum(EFFORT * most, WITH_FRICTION * most - np.abs(of_drives).max(axis=0)) - friction * most
    with np.errstate(divide="ignore", invalid="ignore"):
        bearable = np.where(of_mass > 0.0, left - of_arm, left + of_arm) / np.abs(of_mass)
    is_borne = bool((np.abs(of_arm) <= left).all())
    payload = float(np.min(np.where(of_mass == 0.0, wanted, bearable), initial=wanted)) if is_borne else 0.0
    shares = (np.abs(of_arm + of_drives + payload * of_mass) / most).max(axis=0)
    joint = int(np.argmax(shares))
    return Motion(centre, amplitude, frequency, payload, effort, float(shares[joint]) + friction, joint)


def ball_at_hand(model: RobotModel, mass: float) -> tuple[float, FloatArray]:
    """A ball of aluminium that the end effector holds at its surface, on the far side from the last joint.

    Returns:
        Its radius [m], and its centre in the frame of the link that carries the end effector [m], (3,).
    """
    radius = ball_radius(mass)
    at = model.ee.pose.translation
    distance = np.linalg.norm(at)
    out = at / distance if distance > 1e-3 else model.ee.pose.rotation[:, 2]
    return radius, np.asarray(at + radius * out)


def _range(model: RobotModel) -> tuple[FloatArray, FloatArray]:
    """Where each joint may be, (n,) each: of a wide range the turn, or the way of two amplitudes, nearest to zero."""
    turns = np.array([link.joint.kind is JointKind.REVOLUTE for link in model.links])
    lower, upper = model.limits("lower"), model.limits("upper")
    near, far = np.clip(0.0, lower, upper), np.where(turns, np.pi, 2.0 * _largest(model))
    return np.maximum(lower, near - far), np.minimum(upper, near + far)


def _largest(model: RobotModel) -> FloatArray:
    return np.array([LARGEST[link.joint.kind] for link in model.links])
