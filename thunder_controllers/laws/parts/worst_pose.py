"""The pose at which something about an arm's inertia is largest: searched, not met by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.expressions import RobotExpressions

FloatArray = NDArray[np.float64]

POSES = 300
"""Random ones, of which the best begin a search."""

STARTS = 3
"""Random poses that a search begins from, where its result is a promise and not a share."""

SWEEPS = 6
"""Most, over all joints; a search that finds nothing better for any of them is over."""

PLACES = 24
"""Of a joint that a sweep looks at, over its range."""

SHRINK = 6.0
"""From a search over whole ranges to one over what lies between its places."""

Value = Callable[[FloatArray, FloatArray], FloatArray]
"""Of M (N, n, n) and J (N, m, n), shape (N,)."""


class ArmInertia:
    """M and Jacobians of a robot file, of many poses at once, and the poses at which they matter most.

    Of 300 random poses none has more than 0.97 of the largest eigenvalue of M⁻¹K_d that an arm has, of a Kinova j2s6
    0.8 (random poses are not straight up). So a search follows: joint by joint, it takes the place that is best while
    the others stay.

    Args:
        robot: Its parameters are those of the file, symbolic or not; its rotors count.
        links: Whose angular Jacobians are asked for, in their own frames.
    """

    def __init__(self, robot: RobotExpressions, links: Sequence[int] = ()) -> None:
        numeric = RobotExpressions(replace(robot.model, symbolic={}))
        q = numeric.symbol("q")
        kinematics = numeric.kinematics(q)
        turns = [kinematics.poses[i + 1][0].T @ kinematics.jacobian_link(i + 1)[3:, :] for i in links]
        self._n = robot.n
        self._function = ca.Function("inertia", [q], [numeric["M"], ca.vertcat(numeric.jacobian(q), *turns)])
        self._lower, self._upper = (
            np.nan_to_num(robot.model.limits(end), posinf=np.pi, neginf=-np.pi) for end in ("lower", "upper")
        )

    @cached_property
    def _random(self) -> FloatArray:
        return np.random.default_rng(0).uniform(self._lower, self._upper, (POSES, self._n))

    @cached_property
    def samples(self) -> tuple[FloatArray, FloatArray]:
        """M and J of random poses: that of the end effector in the base frame, 6 rows, then 3 of every link."""
        return self._at(self._random)

    def _at(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        parts = (np.array(part).T.reshape(len(q), self._n, -1) for part in self._function(q.T))
        M, J = (np.swapaxes(part, 1, 2) for part in parts)
        return M, J

    def largest(self, value: Value, starts: int = STARTS) -> float:
        """Largest value that is found within the limits, from so many of the best random poses on."""
        found = value(*self.samples)
        best = self._random[np.argsort(found)[-starts:]]
        return max(self._climb(value, q) for q in best)

    def _climb(self, value: Value, q: FloatArray) -> float:
        q, (best,) = q.copy(), value(*self._at(q[None]))
        for share in (1.0, 1.0 / SHRINK):
            for _ in range(SWEEPS):
                before = best
                for joint in range(self._n):
                    places = np.repeat(q[None], PLACES + 1, axis=0)
                    places[:, joint] = self._places(joint, q[joint], share)
                    found = value(*self._at(places))
                    if found.max() > best:
                        q, best = places[found.argmax()], found.max()
                if best <= (1.0 + 1e-3) * before:
                    break
        return float(best)

    def _places(self, joint: int, q: float, share: float) -> FloatArray:
        """A joint's places over a share of its range: all of it, or what is next to q."""
        lower, upper = self._lower[joint], self._upper[joint]
        if share < 1.0:
            reach = share * (upper - lower) / 2.0
            lower, upper = max(lower, q - reach), min(upper, q + reach)
        return np.linspace(lower, upper, PLACES + 1)


def fastest_damping(K_d: FloatArray) -> Value:
    """Largest eigenvalue of M⁻¹K_d, K_d (n,) [1/s]."""
    root = np.sqrt(K_d)
    return lambda M, _: 1.0 / np.linalg.eigvalsh(M / np.outer(root, root))[:, 0]


def joint_mobility(joint: int) -> Value:
    """(M⁻¹)ᵢᵢ: over it, a joint alone moves the least inertia."""
    return lambda M, _: np.asarray(np.linalg.inv(M)[:, joint, joint])


def _mobility(M: FloatArray, J: FloatArray, rows: slice) -> FloatArray:
    """J M⁻¹Jᵀ of some rows of J."""
    J = J[:, rows]
    return np.asarray(J @ np.linalg.solve(M, np.swapaxes(J, 1, 2)))


def task_mobility(rows: slice) -> Value:
    """Largest eigenvalue of J M⁻¹Jᵀ, J of some rows [1/kg or 1/(kg·m²)]."""
    return lambda M, J: np.asarray(np.linalg.eigvalsh(_mobility(M, J, rows))[:, -1])


def axis_mobility(rows: slice, axis: int) -> Value:
    """(J M⁻¹Jᵀ)_pp of one of some rows [1/(kg·m²)]."""
    return lambda M, J: _mobility(M, J, rows)[:, axis, axis]


def box_mobility(rows: slice, axes: FloatArray) -> Value:
    """Bound of the eigenvalues of M⁻¹JᵀδIJ over all |δI_pq| ≤ √(a_p a_q): Σ_pq √(a_p a_q) |J M⁻¹Jᵀ|_pq."""
    weights = np.sqrt(np.outer(axes, axes))
    return lambda M, J: np.asarray((np.abs(_mobility(M, J, rows)) * weights).sum(axis=(1, 2)))
