"""The motion that makes the inertial parameters of a link known best."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from thunder_controllers.host import Library
from thunder_controllers.identification.fourier import JointFourier, rest_basis
from thunder_controllers.identification.information import (
    SCALE,
    columns_of,
    explain,
    joint_terms,
    regressor,
)
from thunder_controllers.identification.limits import WHERE, Limits, MotionBounds
from thunder_dynamics.errors import ScenarioError

FloatArray = NDArray[np.float64]

SAMPLES_PER_HARMONIC = 12
"""At which information and limits are looked at while a motion is sought."""

FINE = 10
"""Times as many, at which limits are looked at in the end."""

PENALTY = 1e3
"""On the mean square of what is beyond limits: of velocity and position a tenth, in the end."""

ITERATIONS = 80
"""Of a climb."""

STARTS = 2
"""Random motions from which the search climbs."""

FIRST_SPEED = 0.5
"""Of the limits of velocity: root mean square of a joint in the random motions that the search starts from."""

SOFT_SIGN = 0.1
"""Speed of the smoothed sign of friction while a motion is sought [rad/s or m/s]: the search needs its slope."""

STEP = 1e-6
"""Of forward differences [rad or m, and per second]."""

RANK = 1e-6
"""Of the largest singular value of what random states show: less is nothing."""

SHRINK = 0.98
"""Factor of one attempt to bring a motion that leaves its limits into them."""


@lru_cache(maxsize=32)
def identifying_motion(
    library: Library,
    link: int | None,
    start: tuple[float, ...],
    bounds: MotionBounds,
    period: float = 10.0,
    harmonics: int = 5,
    seed: int = 0,
) -> JointFourier:
    """Find the motion of the joints that makes the parameters of a link, or of all, known best.

    It maximises log det Σ RᵀR, which no choice of units changes: R is their regressor, each row over the effort
    limit of its joint, less what friction and rotor of that joint could be instead. Parameters that no motion of the
    robot shows are left out. Limits are penalties while L-BFGS-B climbs from random starts, which keep them: a motion
    that has passed a singularity does not find back. The best of what it finds is then made smaller until it keeps all
    of them.

    Args:
        library: Of the robot.
        link: Index of the link; None for all links together, of which the base parameters are shown.
        start: Where the joints rest at both ends [rad or m], n of them.
        bounds: To be kept.
        period: Of the motion [s].
        harmonics: Of each joint, at least 2.
        seed: Of the random starts; the same gives the same motion.

    Raises:
        DimensionError: if the start has another size than the joints.
        ScenarioError: if the start is beyond a limit, or no motion shows anything of the link.
    """
    limits = Limits(library, np.array(start), bounds)
    search = _Search(library, link, np.array(start), limits, period, harmonics)
    rng = np.random.default_rng(seed)
    found = [search.climb(rng) for _ in range(STARTS)]
    return JointFourier(np.array(start), max(found, key=search.information), period)


class _Search:
    """From free coefficients, (2 H − 2, n), to information and limits of the motion, and to better ones."""

    def __init__(
        self, library: Library, link: int | None, start: FloatArray, limits: Limits, period: float, harmonics: int
    ) -> None:
        self._library, self._start, self._limits = library, start, limits
        self._columns = slice(None) if link is None else columns_of(link)
        self._period = period
        samples = SAMPLES_PER_HARMONIC * harmonics
        t, fine = np.linspace(0.0, period, samples), np.linspace(0.0, period, FINE * samples)
        self._basis, self._fine_basis = (tuple(rest_basis(times, harmonics, period)[:3]) for times in (t, fine))
        effort = np.asarray(library.effort_limit)
        self._weights = np.where(np.isfinite(effort), 1.0 / effort, 1.0)
        self._shown = self._shown_parameters()

    def _shown_parameters(self) -> FloatArray:
        """Basis of what random states within the limits show of the parameters, in kilograms, (p, r).

        What friction and rotors could be instead counts as not shown: the inertia of a first link about its axis.
        """
        rng = np.random.default_rng(0)
        states = [
            limit.centre + limit.width * rng.uniform(-1.0, 1.0, (100, len(self._start)))
            for limit in self._limits.of_motion
        ]
        A = self._rows(regressor(self._library, *states))
        _, R = _explained(A, *states[1:])
        _, values, rows = np.linalg.svd(R.reshape(-1, A.shape[2]), full_matrices=False)
        if values[0] == 0.0:
            raise ScenarioError("no motion shows anything of the link", where=WHERE, valid="a link that joints move")
        return np.asarray(rows[values > RANK * values[0]].T)

    def _rows(self, Y: FloatArray) -> FloatArray:
        """The columns of a regressor (N, n, 10 n) that matter, comparable by row and column, (N, n, p)."""
        scale = np.tile(SCALE, Y.shape[1])
        return np.asarray((Y / scale)[:, :, self._columns] * self._weights[:, None])

    def climb(self, rng: np.random.Generator) -> FloatArray:
        """Find coefficients whose motion keeps the limits and is better than its random start."""
        free = rng.standard_normal((self._basis[0].shape[1], len(self._start)))
        free *= FIRST_SPEED * self._limits.of_motion[1].width / np.sqrt((self._basis[1] @ free) ** 2).mean(axis=0)
        free, options = self._shrunk(free, self._basis), {"maxiter": ITERATIONS}
        found = minimize(self._cost, free.ravel(), method="L-BFGS-B", jac=True, options=options)
        return self._shrunk(found.x.reshape(free.shape), self._fine_basis)

    def _shrunk(self, free: FloatArray, basis: tuple[FloatArray, ...]) -> FloatArray:
        """Coefficients whose motion keeps the limits at the samples of the basis, along those that are given."""
        while not self._limits.kept(*self._states(free, basis)):
            free = SHRINK * free
        return free

    def information(self, free: FloatArray) -> float:
        """Log det Σ RᵀR."""
        q, qd, qdd = self._states(free, self._basis)
        A = self._rows(regressor(self._library, q, qd, qdd)) @ self._shown
        _, R = _explained(A, qd, qdd)
        return float(np.linalg.slogdet(np.einsum("tjk,tjl->kl", R, R))[1])

    def _states(self, free: FloatArray, basis: tuple[FloatArray, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
        value, rate, change = (series @ free for series in basis)
        return self._start + value, rate, change

    def _efforts(self, states: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the parameters do, (…, n, r), and `Limits.efforts`, at states (3, …, n)."""
        flat = states.reshape(3, -1, states.shape[-1])
        Y = regressor(self._library, *flat)
        shape = states.shape[1:]
        A = self._rows(Y) @ self._shown
        return A.reshape(*shape, -1), self._limits.efforts(Y, flat[2]).reshape(*shape[:-1], -1)

    def _cost(self, x: FloatArray) -> tuple[float, FloatArray]:
        """−log det of the information and the penalty on limits, with its gradient."""
        n, limits = len(self._start), self._limits
        states = np.array(self._states(x.reshape(-1, n), self._basis))
        A, effort = self._efforts(states)
        place = limits.observe(states[0])
        cost, dA, slopes = self._lost(A, states)
        for limit, values, slope in zip(limits.of_motion, states, slopes, strict=True):
            cost += PENALTY * limit.cost(values)
            slope += PENALTY * limit.slope(values)
        cost += PENALTY * (limits.of_effort.cost(effort) + limits.of_place.cost(place))
        d_effort, d_place = PENALTY * limits.of_effort.slope(effort), PENALTY * limits.of_place.slope(place)
        for state in range(3):
            moved = np.repeat(states[:, None], n, axis=1)
            for joint in range(n):
                moved[state, joint, :, joint] += STEP
            A_moved, effort_moved = self._efforts(moved)
            slopes[state] += np.einsum("itjk,tjk->ti", (A_moved - A) / STEP, dA)
            slopes[state] += np.einsum("itk,tk->ti", (effort_moved - effort) / STEP, d_effort)
            if state == 0 and d_place.any():
                place_moved = limits.observe(moved[0].reshape(-1, n)).reshape(n, -1, place.shape[1])
                slopes[0] += np.einsum("itk,tk->ti", (place_moved - place) / STEP, d_place)
        gradient = sum(series.T @ slope for series, slope in zip(self._basis, slopes, strict=True))
        return cost, np.asarray(gradient).ravel()

    @staticmethod
    def _lost(A: FloatArray, states: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """−log det Σ RᵀR, R = A − B B⁺A, with its derivatives by A (N, n, r) and, through B, the states (3, N, n)."""
        _, qd, qdd = states
        found, R = _explained(A, qd, qdd)
        information = np.einsum("tjk,tjl->kl", R, R)
        G = R @ np.linalg.pinv(information, hermitian=True)
        dB = 2.0 * np.einsum("tjk,jbk->tjb", G, found)
        slopes = np.zeros_like(states)
        slopes[1] = dB[:, :, 0] + dB[:, :, 1] * (1.0 - np.tanh(qd / SOFT_SIGN) ** 2) / SOFT_SIGN
        slopes[2] = dB[:, :, 2]
        return -float(np.linalg.slogdet(information)[1]), -2.0 * G, slopes


def _explained(A: FloatArray, qd: FloatArray, qdd: FloatArray) -> tuple[FloatArray, FloatArray]:
    """`explain` by friction and rotors, with a sign that has a slope."""
    return explain(A, joint_terms(qd, np.tanh(qd / SOFT_SIGN), qdd))
