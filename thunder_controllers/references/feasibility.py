"""Whether an arm can follow a reference at all: reach, joint limits and speeds, before anything moves.

A reference of joints is compared with their limits, sample by sample. A reference of a pose is followed by damped least
squares from where the arm starts, Δq = Jᵀ(JJᵀ + λ²)⁻¹ x (Buss & Kim, Selectively damped least squares, 2005, section
1), joints at a limit held. A law resolves redundancy in another way, so what only this posture violates is a note;
what no posture can mend is an error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from thunder_controllers.host import Law, Library, Limits
from thunder_controllers.references.trajectories import POSITION, ROTATION, TWIST
from thunder_dynamics.entries import EntryFlag
from thunder_dynamics.errors import ScenarioError

FloatArray = NDArray[np.float64]

FOLLOWED = 400
"""Most samples of a pose that the joints follow; a Panda takes some 0.2 ms for each."""

SPACING = 0.02
"""[s] between them, where the run is short."""

REACHED = 1e-3
"""[m, rad] from a pose."""

CONVERGED = 1e-5
"""[m, rad]: no further step."""

STEPS = 50
"""Most for one sample."""

LONGEST_STEP = 0.2
"""Of a joint [rad or m]."""

DAMPING = 1e-6
"""λ² [m²]."""

SLACK = 1.01
"""Of speeds, as the host's rehearsals have it."""

GUESSES = 60
"""Random postures from which a pose that was not reached is tried again, the same ones every time."""


def check_reference(
    library: Library, law: Law, limits: Limits, samples: FloatArray, period: float, q: FloatArray, where: str
) -> list[str]:
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
    used = {entry.name for entry in law.reference if not entry.flags & EntryFlag.UNUSED}
    if law.reference_kind != "cartesian":
        _check_joints(library, limits, samples, t, used, where)
        return []
    if "position" not in used:
        return []
    arm = _Arm(library, limits, 6 if "rotation" in used else 3)
    if not arm.moves_along_all(q):  # it follows a part of the pose, and its law decides which
        return []
    _check_speeds(arm, samples, t, q, where)
    count = int(np.clip(t[-1] / SPACING, 1, FOLLOWED - 1)) + 1
    chosen = np.unique(np.linspace(0, len(t) - 1, count).astype(int))
    return _follow(arm, samples[chosen], t[chosen], q, where)


def _check_joints(
    library: Library, limits: Limits, samples: FloatArray, t: FloatArray, used: set[str], where: str
) -> None:
    n = library.n_joints
    speed = SLACK * limits.velocity
    for name, what, values, lower, upper in (
        ("q", "position", samples[:, :n], limits.position_lower - 1e-9, limits.position_upper + 1e-9),
        ("qd", "velocity", samples[:, n : 2 * n], -speed, speed),
    ):
        beyond = (values < lower) | (values > upper)
        if name in used and beyond.any():
            k, joint = np.argwhere(beyond)[0]
            raise ScenarioError(
                f"the reference has {library.joint_names[joint]} at {what} {values[k, joint]:.4g} at t = {t[k]:g} s",
                where=where,
                valid=f"{lower[joint]:.4g} to {upper[joint]:.4g}",
            )


@dataclass(frozen=True)
class _Arm:
    """Kinematics of the end effector, for a task of the whole pose (6 rows) or of the position (3)."""

    library: Library
    limits: Limits
    rows: int

    def jacobian(self, q: FloatArray) -> FloatArray:
        return np.asarray(self.library.evaluate("J_ee", q)[: self.rows])

    def left(self, q: FloatArray, sample: FloatArray) -> FloatArray:
        """The way from q to the pose."""
        return -way_from_pose(self.library, q, sample, self.rows)

    def step(self, q: FloatArray, x: FloatArray) -> FloatArray:
        """Joint step along x, those held that are at a limit and would leave it."""
        J = self.jacobian(q)
        while True:
            step = J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(self.rows), x)
            leaves = ((step > 0.0) & (q >= self.limits.position_upper)) | (
                (step < 0.0) & (q <= self.limits.position_lower)
            )
            if not leaves.any():
                return np.asarray(step)
            J = np.where(leaves, 0.0, J)

    def approach(self, q: FloatArray, sample: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the joints come to on the way from q to a pose, and what is left of the way there."""
        left = self.left(q, sample)
        for _ in range(STEPS):
            if np.abs(left).max() <= CONVERGED:
                break
            step = self.step(q, left)
            furthest = np.abs(step).max()
            if furthest <= CONVERGED:
                break
            q = q + min(1.0, LONGEST_STEP / furthest) * step
            q = np.clip(q, self.limits.position_lower, self.limits.position_upper)
            left = self.left(q, sample)
        return q, left

    def moves_along_all(self, q: FloatArray) -> bool:
        """Whether it has the joints, and near q the axes, for the whole task: a planar arm has not."""
        axes = np.hstack([self.jacobian(q + turn) for turn in (0.0, 0.1, 0.3)])
        return len(q) >= self.rows <= int(np.linalg.matrix_rank(axes, tol=1e-6))

    def reaches(self, sample: FloatArray) -> bool:
        """Whether the pose is reached from some other posture."""
        guesses = random_postures(self.limits.position_lower, self.limits.position_upper, GUESSES)
        return any(_size(self.approach(guess, sample)[1]) <= REACHED for guess in guesses)


def way_from_pose(library: Library, q: FloatArray, sample: FloatArray, rows: int = 6) -> FloatArray:
    """The way from the pose of a sample to that at q, [p − p_d ; Log(R R_dᵀ)] in the world [m, rad], or its 3 rows."""
    T = library.evaluate("T_0_ee", q)
    way = T[:3, 3] - sample[POSITION]
    if rows == 3:
        return np.asarray(way)
    turn = T[:3, :3] @ sample[ROTATION].reshape(3, 3)  # column-major, hence the transpose of R_d
    return np.concatenate([way, Rotation.from_matrix(turn).as_rotvec()])


def random_postures(lower: FloatArray, upper: FloatArray, count: int) -> FloatArray:
    """Postures within limits, those of half a turn to each side where there are none, the same ones every time."""
    low, high = np.sort(np.where(np.isfinite([lower, upper]), [lower, upper], [[-np.pi], [np.pi]]), axis=0)
    return np.random.default_rng(0).uniform(low, high, (count, len(low)))


def _size(left: FloatArray) -> float:
    return max(float(np.linalg.norm(left[:3])), float(np.linalg.norm(left[3:])))


def _check_speeds(arm: _Arm, samples: FloatArray, t: FloatArray, q: FloatArray, where: str) -> None:
    """Raise if the pose moves faster than the joints could move it in any posture.

    |v| ≤ Σ v_i r_i, r_i the length of the chain from joint i on, if all its joints turn; |ω| ≤ Σ v_i over those.
    """
    J = arm.library.evaluate("J_ee", q)
    carries, turns = (np.linalg.norm(part, axis=0) > 1e-9 for part in (J, J[3:]))
    speed = np.where(carries, arm.limits.velocity, 0.0)
    frames = [f"T_0_{joint + 1}" for joint in np.flatnonzero(carries)] + ["T_0_ee"]
    points = np.array([arm.library.evaluate(frame, q)[:3, 3] for frame in frames])
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)[::-1].cumsum()[::-1]
    bounds = {
        "the linear speed": (samples[:, TWIST][:, :3], speed[carries] @ lengths if turns[carries].all() else np.inf),
        "the angular speed": (samples[:, TWIST][:, 3:], speed[turns].sum() if arm.rows == 6 else np.inf),
    }
    for what, (values, bound) in bounds.items():
        found = np.linalg.norm(values, axis=1)
        k = int(np.argmax(found))
        if found[k] > SLACK * bound:
            text = f"{what} of the reference is {found[k]:.3g} at t = {t[k]:g} s"
            raise ScenarioError(
                text, where=where, valid=f"{bound:.3g} [m/s, rad/s] at most, all joints at their fastest"
            )


def _follow(arm: _Arm, samples: FloatArray, t: FloatArray, q: FloatArray, where: str) -> list[str]:
    """Follow the poses, and judge what was left of the way and how fast the joints were."""
    left, speeds = np.zeros((len(t), 6)), np.zeros((len(t), len(q)))
    postures = np.zeros((len(t), len(q)))
    for k, sample in enumerate(samples):
        q, left[k, : arm.rows] = arm.approach(q, sample)
        postures[k], speeds[k] = q, np.abs(arm.step(q, sample[TWIST][: arm.rows]))
    sizes = np.array([_size(one) for one in left])
    notes = []
    if sizes.max() > REACHED:
        worst, missed = int(np.argmax(sizes)), np.flatnonzero(sizes > REACHED)
        distance, angle = np.linalg.norm(left[worst, :3]), np.linalg.norm(left[worst, 3:])
        by = f"by {distance:.2g} m and {angle:.2g} rad" if arm.rows == 6 else f"by {distance:.2g} m"
        when = f"from t = {t[missed[0]]:.4g} s on, at {t[worst]:.4g} s {by}"
        if not arm.reaches(samples[worst]):
            valid = "poses within reach and joint limits"
            raise ScenarioError(f"the reference is out of reach {when}", where=where, valid=valid)
        notes.append(f"the reference is out of reach of the posture that the arm starts in, {when}; others reach it")
    share = np.where(sizes[:, None] <= REACHED, speeds, 0.0) / arm.limits.velocity
    k, joint = map(int, np.unravel_index(int(np.argmax(share)), share.shape))
    if share[k, joint] > SLACK:
        name, limit = arm.library.joint_names[joint], arm.limits.velocity[joint]
        notes.append(
            f"following the reference with the smallest joint velocities, {name} needs {speeds[k, joint]:.3g} "
            f"at t = {t[k]:.4g} s; its limit is {limit:.3g}"
        )
    return notes
