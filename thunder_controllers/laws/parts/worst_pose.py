"""The pose at which something about an arm's inertia is largest: searched, not met by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.model import JointKind

FloatArray = NDArray[np.float64]

POSES = 300
"""Random ones, of which the best begin a search."""

STARTS, FEW = 12, 4
"""Poses that a search begins from, where its result is a promise and where it is a share. A third of them goes on."""

SWEEPS = 3
"""Most, over all joints, with an ascent after each; a search that finds nothing better by them is over."""

PLACES = 25
"""Of a joint that a sweep looks at, over its range."""

ASCENT, ENOUGH = 30, 1e-4
"""Steps of an ascent, and what three of them gain at least if it goes on [1]."""

FIRST, FARTHEST = 0.3, 1.0
"""Of a joint in the first step of an ascent and in any, if the gradient is followed so far [rad or m]."""

RISE, SHORTER = 1e-4, 0.4
"""Share of what the gradient promises that a step has to bring; how much shorter the next one is if it does not."""

NODES = 2.0 * np.pi / 5.0 * np.arange(5)
"""Angles at which a trigonometric polynomial of degree 2 is known if it is known everywhere."""

SHIFT = 1e-6
"""Of an eigenvalue, from it to the shift of an inverse iteration: two of them leave 1e-6 of a vector 0.1 % away [1]."""

TINY = 1e-300
"""In place of zero, where something is divided by."""


class Mobility(NamedTuple):
    """A quantity v = Σ a wᵀ(J M⁻¹Jᵀ)w at N poses, and what of it tells its gradient.

    Attributes:
        value: v, shape (N,).
        weights: a of each of its k terms, shape (N, k); they stay where the arm moves a little.
        velocities: y = M⁻¹Jᵀw of each term, shape (N, k, n): what an impulse w gives the arm.
        impulses: w of each term, shape (N, k, m), zero where it is no row of J, but a constant, that y follows from.
    """

    value: FloatArray
    weights: FloatArray
    velocities: FloatArray
    impulses: FloatArray


Value = Callable[[FloatArray, FloatArray], Mobility]
"""Of M (N, n, n) and J (N, m, n)."""


class ArmInertia:
    """M and Jacobians of a robot file, of many poses at once, and the poses at which they matter most.

    Of 300 random poses none has more than 0.97 of the largest eigenvalue of M⁻¹K_d that an arm has, of a Kinova j2s6
    0.8 (random poses are not straight up). So a search follows. From the best ones it goes up the gradient, by spectral
    projected gradients within the limits [Birgin, Martínez, Raydan 2000, doi:10.1137/S1052623497330963]. Then, joint by
    joint, it takes the place that is best while the others stay, and goes on from there.

    With y = M⁻¹Jᵀw, wᵀJM⁻¹Jᵀw = max_y (2wᵀJy − yᵀMy): its gradient is that of the right side, y fixed, in O(n).
    Where one revolute joint turns, M and J are trigonometric polynomials of degree 2 of its angle: five poses tell all.

    Args:
        robot: Its parameters are those of the file, symbolic or not; its rotors count.
        links: Whose angular Jacobians are asked for, in their own frames.
    """

    def __init__(self, robot: RobotExpressions, links: Sequence[int] = ()) -> None:
        numeric = robot.numeric
        q, y = numeric.symbol("q"), numeric.symbol("dq")
        kinematics = numeric.kinematics(q)
        turns = [kinematics.poses[i + 1][0].T @ kinematics.jacobian_link(i + 1)[3:, :] for i in links]
        J = ca.densify(ca.vertcat(numeric.jacobian(q), *turns))
        w = ca.SX.sym("w", J.shape[0])
        change = ca.gradient(2.0 * (ca.dot(w, J @ y) - numeric["kinetic_energy"]), q)
        self._n = robot.n
        self._inertia = _Mapped(ca.Function("inertia", [q], [numeric["M"].T, J.T]))
        self._gradient = _Mapped(ca.Function("gradient", [q, y, w], [ca.densify(change)]))
        self._turns = [link.joint.kind is JointKind.REVOLUTE for link in robot.model.links]
        self._lower, self._upper = (
            np.nan_to_num(robot.model.limits(end), posinf=np.pi, neginf=-np.pi) for end in ("lower", "upper")
        )
        self._random = np.random.default_rng(0).uniform(self._lower, self._upper, (POSES, self._n))
        self.samples = self._at(self._random)
        """M and J of random poses: that of the end effector in the base frame, 6 rows, then 3 of every link."""

    def _at(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        M, J = self._inertia(q)
        return M.reshape(len(q), self._n, self._n), J.reshape(len(q), -1, self._n)

    def largest(self, value: Value, near: FloatArray | None = None) -> float:
        """Largest value that is found within the limits, of random poses and those (N, n) that it may be near."""
        values, _ = self.largest_of([value], STARTS, near)
        return float(values[0])

    def largest_of(
        self, values: Sequence[Value], starts: int = FEW, near: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Largest of each of v values (v,), and where it is (v, n); see `largest`. All are searched at once."""
        poses, M, J = self._random, *self.samples
        if near is not None:
            poses, M, J = (np.concatenate(both) for both in zip((poses, M, J), (near, *self._at(near)), strict=True))
        begin = [poses[np.argsort(value(M, J).value)[-starts:]] for value in values]
        kept = max(starts // 3, 1)
        found, q = self._best(*self._ascend(values, np.concatenate(begin)), len(values), kept)
        going = list(range(len(values)))
        for _ in range(SWEEPS):
            rows = (kept * np.array(going)[:, None] + np.arange(kept)).ravel()
            searched, before = [values[i] for i in going], found[rows]
            found[rows], q[rows] = self._ascend(searched, self._swept(searched, before, q[rows]))
            rises = np.asarray((found[rows] > (1.0 + 1e-3) * before).reshape(-1, kept).any(axis=1))
            going = [i for i, is_better in zip(going, rises, strict=True) if is_better]
            if not going:
                break
        return self._best(found, q, len(values), 1)

    def _best(self, found: FloatArray, q: FloatArray, groups: int, kept: int) -> tuple[FloatArray, FloatArray]:
        """So many of each group."""
        best = np.argsort(found.reshape(groups, -1))[:, -kept:] + len(found) // groups * np.arange(groups)[:, None]
        return found[best.ravel()], q[best.ravel()]

    def _rated(self, values: Sequence[Value], q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What each pose has of its value (N,), and the gradient of its logarithm (N, n)."""
        M, J = self._at(q)
        found = [
            value(*of) for value, *of in zip(values, *(np.split(part, len(values)) for part in (M, J)), strict=True)
        ]
        value, weights, y, w = (np.concatenate(parts) for parts in zip(*found, strict=True))
        each = np.repeat(q, weights.shape[1], axis=0), y.reshape(-1, self._n), w.reshape(-1, J.shape[1])
        gradients = self._gradient(*each)[0].reshape(y.shape)
        return value, (weights[:, :, None] * gradients).sum(axis=1) / np.maximum(value, TINY)[:, None]

    def _ascend(self, values: Sequence[Value], q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Go up from every pose (N, n): what is reached (N,), and where."""
        found, gradient = self._rated(values, q)
        step, share, calm = FIRST / _largest(gradient), np.ones(len(q)), 0
        for _ in range(ASCENT):
            way = np.clip(q + step[:, None] * gradient, self._lower, self._upper) - q
            tried = q + share[:, None] * way
            value, there = self._rated(values, tried)
            rise = np.log(np.maximum(value, TINY) / np.maximum(found, TINY))
            taken = rise >= RISE * share * (gradient * way).sum(axis=1)
            moved, bent = tried - q, gradient - there
            curvature, far = (moved * bent).sum(axis=1), FARTHEST / _largest(there)
            spectral = np.where(curvature > 0.0, (moved**2).sum(axis=1) / np.maximum(curvature, TINY), far)
            step = np.where(taken, np.minimum(spectral, far), step)
            share = np.where(taken, 1.0, SHORTER * share)
            q, gradient = (np.where(taken[:, None], *pair) for pair in ((tried, q), (there, gradient)))
            found = np.where(taken, value, found)
            calm = calm + 1 if np.where(taken, rise, 1.0).max() < ENOUGH else 0
            if calm == 3:
                break
        return found, q

    def _swept(self, values: Sequence[Value], found: FloatArray, q: FloatArray) -> FloatArray:
        """Poses (N, n) with each joint, one after the other, at the best place of its range."""
        q, found, rows = q.copy(), found.copy(), np.arange(len(q))
        for joint in range(self._n):
            places = np.linspace(self._lower[joint], self._upper[joint], PLACES)
            M, J = self._along(joint, places, q)
            groups = zip(values, *(np.split(part, len(values)) for part in (M, J)), strict=True)
            there = np.concatenate([value(*of).value for value, *of in groups]).reshape(len(q), -1)
            best = there.argmax(axis=1)
            better = there[rows, best] > found
            q[better, joint], found[better] = places[best[better]], there[rows, best][better]
        return q

    def _along(self, joint: int, places: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """M and J of every pose (N, n) with a joint at all places (P,), pose by pose, (N·P, …) each."""
        known = NODES if self._turns[joint] else places
        poses = np.repeat(q, len(known), axis=0)
        poses[:, joint] = np.tile(known, len(q))
        M, J = self._at(poses)
        if not self._turns[joint]:
            return M, J
        turned = places[:, None] - NODES
        weights = (1.0 + 2.0 * np.cos(turned) + 2.0 * np.cos(2.0 * turned)) / len(NODES)
        between = (weights @ part.reshape(len(q), len(NODES), -1) for part in (M, J))
        M, J = (part.reshape(-1, *shape.shape[1:]) for part, shape in zip(between, (M, J), strict=True))
        return M, J


class _Mapped:
    """A CasADi function of many columns at once, of and into NumPy's arrays: DM takes as long as what it holds."""

    def __init__(self, function: ca.Function) -> None:
        self._function, self._prepared = function, lru_cache(maxsize=32)(self._prepare)

    def _prepare(self, count: int) -> tuple[Any, Callable[[], None]]:
        buffer, call = self._function.map(count).buffer()
        return buffer, call

    def __call__(self, *arguments: FloatArray) -> list[FloatArray]:
        """Results (N, size) of arguments (N, size), a row for each."""
        count, function = len(arguments[0]), self._function
        buffer, call = self._prepared(count)
        results = [np.empty((count, function.numel_out(i))) for i in range(function.n_out())]
        given = [np.ascontiguousarray(argument) for argument in arguments]
        for i, argument in enumerate(given):
            buffer.set_arg(i, argument.data)
        for i, result in enumerate(results):
            buffer.set_res(i, result.data)
        call()
        return results


def _largest(vectors: FloatArray) -> FloatArray:
    """Largest entry of each vector, no zero."""
    return np.asarray(np.maximum(np.abs(vectors).max(axis=1), 1e-12))


def _one(value: FloatArray, velocity: FloatArray, impulse: FloatArray) -> Mobility:
    """Of one term."""
    return Mobility(value, np.ones((len(value), 1)), velocity[:, None], impulse[:, None])


def _no_impulse(J: FloatArray) -> FloatArray:
    return np.zeros(J.shape[:2])


def fastest_damping(K_d: FloatArray) -> Value:
    """Largest eigenvalue of M⁻¹K_d, K_d (n,) [1/s]."""
    root = np.sqrt(K_d)

    def value(M: FloatArray, J: FloatArray) -> Mobility:
        eigenvalue, vector = _lowest(M / np.outer(root, root))
        return _one(1.0 / eigenvalue, vector / (eigenvalue[:, None] * root), _no_impulse(J))

    return value


def _lowest(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lowest eigenvalue of positive definite matrices (N, n, n), and its vector, by inverse iteration.

    `eigh` takes a hundred times as long from n = 26 on, as OpenBLAS then uses threads for each of them.
    """
    n = matrices.shape[1]
    lowest = np.linalg.eigvalsh(matrices)[:, 0]
    shifted = matrices - (1.0 - SHIFT) * lowest[:, None, None] * np.eye(n)
    vectors = np.linalg.solve(shifted, np.linalg.solve(shifted, np.ones((n, 1))))[:, :, 0]
    return np.asarray(lowest), np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def joint_mobility(joint: int) -> Value:
    """(M⁻¹)ᵢᵢ: over it, a joint alone moves the least inertia."""

    def value(M: FloatArray, J: FloatArray) -> Mobility:
        velocity = np.asarray(np.linalg.solve(M, np.eye(M.shape[1])[:, joint : joint + 1])[:, :, 0])
        return _one(velocity[:, joint], velocity, _no_impulse(J))

    return value


def _mobility(M: FloatArray, J: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
    """J M⁻¹Jᵀ of some rows of J, and M⁻¹Jᵀ."""
    J = J[:, rows]
    velocities = np.asarray(np.linalg.solve(M, np.swapaxes(J, 1, 2)))
    return np.asarray(J @ velocities), velocities


def _in_rows(rows: slice, J: FloatArray, impulses: FloatArray) -> FloatArray:
    """Impulses (N, k, rows) among all rows of J."""
    among = np.zeros((*impulses.shape[:2], J.shape[1]))
    among[:, :, rows] = impulses
    return among


def task_mobility(rows: slice) -> Value:
    """Largest eigenvalue of J M⁻¹Jᵀ, J of some rows [1/kg or 1/(kg·m²)]."""

    def value(M: FloatArray, J: FloatArray) -> Mobility:
        mobility, velocities = _mobility(M, J, rows)
        eigenvalues, vectors = np.linalg.eigh(mobility)
        largest = vectors[:, :, -1]
        velocity = (velocities @ largest[:, :, None])[:, :, 0]
        return _one(eigenvalues[:, -1], velocity, _in_rows(rows, J, largest[:, None])[:, 0])

    return value


def axis_mobility(row: int) -> Value:
    """(J M⁻¹Jᵀ)_pp of a row p [1/(kg·m²)]."""
    rows = slice(row, row + 1)

    def value(M: FloatArray, J: FloatArray) -> Mobility:
        mobility, velocities = _mobility(M, J, rows)
        return _one(mobility[:, 0, 0], velocities[:, :, 0], _in_rows(rows, J, np.ones((len(M), 1, 1)))[:, 0])

    return value


def box_mobility(rows: slice, axes: FloatArray) -> Value:
    """Bound of the eigenvalues of M⁻¹JᵀδIJ over all |δI_pq| ≤ √(a_p a_q): Σ_pq √(a_p a_q) |J M⁻¹Jᵀ|_pq."""
    weights = np.sqrt(np.outer(axes, axes))

    def value(M: FloatArray, J: FloatArray) -> Mobility:
        mobility, velocities = _mobility(M, J, rows)
        scales, directions = np.linalg.eigh(weights * np.sign(mobility))
        impulses = np.swapaxes(directions, 1, 2)
        bound = (np.abs(mobility) * weights).sum(axis=(1, 2))
        return Mobility(bound, scales, impulses @ np.swapaxes(velocities, 1, 2), _in_rows(rows, J, impulses))

    return value
