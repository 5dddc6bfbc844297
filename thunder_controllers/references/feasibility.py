"""Whether an arm can follow a reference at all: reach, joint limits and speeds, before anything moves.

A reference of joints is compared with their limits, sample by sample. A reference of a pose is followed by the host's
`PoseFollower` from where the arm starts. A law resolves redundancy in another way, so what only this posture violates
is a note; what no posture can mend is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thunder_controllers.fields import FloatArray
from thunder_controllers.host import Law, Library, Limits, Note, PoseFollower
from thunder_controllers.references.trajectories import POSITION, TWIST
from thunder_dynamics.entries import EntryFlag
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.joints import Joint, JointKind
from thunder_dynamics.locking import draw_positions, link_poses
from thunder_dynamics.model import RobotModel

FOLLOWED = 400
"""Most samples of a pose that the joints follow."""

SPACING = 0.02
"""[s] between them, where the run is short."""

GUESSES = 60
"""Random postures from which a pose that was not reached is tried again, the same ones every time."""


def check_before_compiling(
    model: RobotModel, law: Any, limits: Limits, samples: FloatArray, t: FloatArray, where: str
) -> None:
    """Refuse what limits of the joints and the length of the arm rule out, in whatever posture it is.

    Args:
        model: The robot.
        law: Which follows the reference, compiled (`host.Law`) or not yet (`law.Law`).
        limits: In force.
        samples: Of the reference.
        t: Their times [s].
        where: For errors.

    Raises:
        ScenarioError: as `check_reference`, which looks closer when there is a library.
    """
    used = _used(law)
    if samples.shape[1] == 3 * model.n:
        _check_joints(model.joint_names, limits, used, samples, t, where)
    if "position" not in used or not _moves_in_space(model):
        return
    first, *further = (model.links[i].joint for i in model.path(model.ee_link))
    centre = (model.base.pose @ first.placement).translation
    steps = [*(joint.placement.translation for joint in further), model.ee.pose.translation]
    bound = sum(map(_travel, (first, *further))) + sum(float(np.linalg.norm(step)) for step in steps)
    distance = np.linalg.norm(samples[:, POSITION] - centre, axis=1)
    k = int(np.argmax(distance))
    if distance[k] > bound + PoseFollower.REACHED:
        text = f"the reference is out of reach at t = {t[k]:.4g} s, {distance[k]:.3g} m from the arm's first joint"
        raise ScenarioError(text, where=where, valid=f"{bound:.3g} m at most, the arm stretched out")


def _moves_in_space(model: RobotModel) -> bool:
    """Whether the end effector leaves every plane: of another arm the law decides which part of a pose it follows."""
    random = np.random.default_rng(0)
    places = []
    for _ in range(8):
        poses = link_poses(model, draw_positions(model, random))
        places.append((poses[model.ee_link] @ model.ee.pose).translation)
    return bool(np.linalg.matrix_rank(np.array(places) - places[0], tol=1e-6) == 3)


def _travel(joint: Joint) -> float:
    """How far a joint moves the origin of its link [m]."""
    if joint.kind is JointKind.PRISMATIC:
        return max(abs(joint.limits.lower), abs(joint.limits.upper))
    return 0.0 if joint.kind in (JointKind.REVOLUTE, JointKind.UNIVERSAL, JointKind.SPHERICAL) else np.inf


def _used(law: Any) -> set[str]:
    return {entry.name for entry in law.reference if not entry.flags & EntryFlag.UNUSED}


def check_reference(
    library: Library, law: Law, limits: Limits, samples: FloatArray, period: float, q: FloatArray, where: str
) -> list[Note]:
    """Check the whole reference of a run.

    Args:
        library: Of the robot.
        law: Which follows it; what it does not use of the reference is not checked.
        limits: In force.
        samples: Of the reference, one per control step.
        period: Of the control [s].
        q: Where the arm starts, (n,).
        where: For errors.

    Returns:
        A line for each thing that the joints cannot do in the posture that they would come to.

    Raises:
        ScenarioError: if a joint would leave its limits or a pose is out of reach or too fast; when, which, and by how
            much.
    """
    t = np.asarray(np.arange(len(samples)) * period, dtype=np.float64)
    used = _used(law)
    if law.reference_kind != "cartesian":
        _check_joints(library.joint_names, limits, used, samples, t, where)
        return []
    if "position" not in used:
        return []
    follower = PoseFollower(law, limits)
    if not _moves_along_all(library, follower, q):  # it follows a part of the pose, and its law decides which
        return []
    _check_speeds(library, limits, follower.rows, samples, t, q, where)
    count = int(np.clip(t[-1] / SPACING, 1, FOLLOWED - 1)) + 1
    chosen = np.unique(np.linspace(0, len(t) - 1, count).astype(int))
    left, velocities, positions = follower.follow(q, samples[chosen])
    notes = _judge_way(follower, limits, samples[chosen], t[chosen], left, where)
    return notes + _judge_velocities(library, limits, t[chosen], left, velocities, positions)


def _check_joints(
    joints: Sequence[str], limits: Limits, used: set[str], samples: FloatArray, t: FloatArray, where: str
) -> None:
    """Raise if a reference of joints leaves their limits in what a law uses of it."""
    n = len(joints)
    position = (np.broadcast_to(limit, (len(t), n)) for limit in (limits.position_lower, limits.position_upper))
    speeds = limits.velocity_at(samples[:, :n])
    for name, what, values, (lower, upper), slack in (
        ("q", "position", samples[:, :n], position, 1e-9),
        ("qd", "velocity", samples[:, n : 2 * n], speeds, (PoseFollower.SLACK - 1.0) * limits.velocity),
    ):
        beyond = (values < lower - slack) | (values > upper + slack)
        if name in used and beyond.any():
            k, joint = np.argwhere(beyond)[0]
            raise ScenarioError(
                f"the reference has {joints[joint]} at {what} {values[k, joint]:.4g} at t = {t[k]:g} s",
                where=where,
                valid=f"{lower[k, joint]:.4g} to {upper[k, joint]:.4g}",
            )


def _moves_along_all(library: Library, follower: PoseFollower, q: FloatArray) -> bool:
    """Whether it has the joints, and near q the axes, for the whole task: a planar arm has not."""
    axes = np.hstack([library.evaluate("J_ee", q + turn)[: follower.rows] for turn in (0.0, 0.1, 0.3)])
    return bool(len(q) >= follower.rows <= np.linalg.matrix_rank(axes, tol=1e-6))


def _is_reachable(follower: PoseFollower, limits: Limits, sample: FloatArray) -> bool:
    """Whether the pose is reached from some other posture."""
    guesses = random_postures(limits.position_lower, limits.position_upper, GUESSES)
    return any(_sizes(follower.follow(guess, sample[None])[0])[0] <= PoseFollower.REACHED for guess in guesses)


def random_postures(lower: FloatArray, upper: FloatArray, count: int) -> FloatArray:
    """Postures within limits, those of half a turn to each side where there are none, the same ones every time."""
    low, high = np.sort(np.where(np.isfinite([lower, upper]), [lower, upper], [[-np.pi], [np.pi]]), axis=0)
    return np.random.default_rng(0).uniform(low, high, (count, len(low)))


def _sizes(left: FloatArray) -> FloatArray:
    """The greater of way and angle, of each row."""
    return np.asarray(np.fmax(np.linalg.norm(left[:, :3], axis=1), np.linalg.norm(left[:, 3:], axis=1)))


def _check_speeds(
    library: Library, limits: Limits, rows: int, samples: FloatArray, t: FloatArray, q: FloatArray, where: str
) -> None:
    """Raise if the pose moves faster than the joints could move it in any posture.

    |v| ≤ Σ v_i r_i, r_i the length of the chain from joint i on, if all its joints turn; |ω| ≤ Σ v_i over those.
    """
    J = library.evaluate("J_ee", q)
    carries, turns = (np.linalg.norm(part, axis=0) > 1e-9 for part in (J, J[3:]))
    speed = np.where(carries, limits.velocity, 0.0)
    frames = [f"T_0_{joint + 1}" for joint in np.flatnonzero(carries)] + ["T_0_ee"]
    points = np.array([library.evaluate(frame, q)[:3, 3] for frame in frames])
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)[::-1].cumsum()[::-1]
    bounds = {
        "the linear speed": (samples[:, TWIST][:, :3], speed[carries] @ lengths if turns[carries].all() else np.inf),
        "the angular speed": (samples[:, TWIST][:, 3:], speed[turns].sum() if rows == 6 else np.inf),
    }
    for what, (values, bound) in bounds.items():
        found = np.linalg.norm(values, axis=1)
        k = int(np.argmax(found))
        if found[k] > PoseFollower.SLACK * bound:
            text = f"{what} of the reference is {found[k]:.3g} at t = {t[k]:g} s"
            raise ScenarioError(
                text, where=where, valid=f"{bound:.3g} [m/s, rad/s] at most, all joints at their fastest"
            )


def _judge_way(
    follower: PoseFollower, limits: Limits, samples: FloatArray, t: FloatArray, left: FloatArray, where: str
) -> list[Note]:
    """A note where a pose was not reached, an error where it is not from other postures either."""
    sizes = _sizes(left)
    missed = np.flatnonzero(sizes > PoseFollower.REACHED)
    if not len(missed):
        return []
    worst = int(np.argmax(sizes))
    distance, angle = np.linalg.norm(left[worst, :3]), np.linalg.norm(left[worst, 3:])
    by = f"by {distance:.2g} m and {angle:.2g} rad" if follower.rows == 6 else f"by {distance:.2g} m"
    when = f"from t = {t[missed[0]]:.4g} s on, at {t[worst]:.4g} s {by}"
    if not _is_reachable(follower, limits, samples[worst]):
        valid = "poses within reach and joint limits"
        raise ScenarioError(f"the reference is out of reach {when}", where=where, valid=valid)
    text = f"the reference is out of reach of the posture that the arm starts in, {when}; others reach it"
    return [Note("reference_out_of_reach", text)]


def _judge_velocities(
    library: Library, limits: Limits, t: FloatArray, left: FloatArray, velocities: FloatArray, positions: FloatArray
) -> list[Note]:
    """A note where a joint would be too fast at a pose that was reached."""
    reached = _sizes(left)[:, None] <= PoseFollower.REACHED
    lower, upper = limits.velocity_at(positions)
    limit = np.where(velocities < 0.0, -lower, upper)
    excess = np.where(reached & np.isfinite(limit), np.abs(velocities) - limit, -np.inf) / limits.velocity
    k, joint = map(int, np.unravel_index(int(np.argmax(excess)), excess.shape))
    if excess[k, joint] <= PoseFollower.SLACK - 1.0:
        return []
    text = (
        f"following the reference with the smallest joint velocities, {library.joint_names[joint]} needs "
        f"{abs(velocities[k, joint]):.3g} at t = {t[k]:.4g} s; its limit is {limit[k, joint]:.3g}"
    )
    return [Note("reference_too_fast", text)]
