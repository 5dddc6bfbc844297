"""References through rows of a table: a smooth curve through every row, and its exact derivatives.

Without rates the curve is the spline of degree five through the rows (three for less than six of them). With rates and
their changes it is, between two rows, the polynomial of degree five that has position, rate and change of both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import BSpline, PPoly, make_interp_spline
from scipy.spatial.transform import Rotation

from thunder_controllers.fields import FloatArray
from thunder_controllers.references.circles import Circles, unwrap
from thunder_controllers.references.trajectories import ACCELERATION, CARTESIAN_SIZE, POSITION, RATES, ROTATION, TWIST
from thunder_dynamics.errors import DimensionError, ScenarioError
from thunder_dynamics.readers.limits import NUMBER

Derivatives = tuple[ArrayLike, ArrayLike]
"""Rates and their changes, shaped as the values are."""

FEWEST_ROWS = 4

UNIT = 1e-3
"""How far the norm of a quaternion may be from one: rounding of a file."""

LARGEST_TURN = np.cos(np.pi / 4.0)
"""Smallest product of two quaternions in a row: half of a right angle, which a turn of a right angle is."""

RATE_TOLERANCE = 0.3
"""How far a step may be from what its rates say, relative to the longest step; a coarse table is off by 0.1."""

STEEPEST = 1e100
"""Of a value, rate or change of a curve: rows whose times all but coincide have no others."""

SMALLEST_SQUARE = 1e-6
"""Of a quaternion on the curve through those of the rows, of norm one: what turns between them is anybody's guess."""

REST = 0.05
"""Share of its largest speed below which a table that ends early ends at rest."""


class _Curve:
    """A curve of some numbers through rows at times from 0 on."""

    def __init__(self, t: FloatArray, values: FloatArray, derivatives: Derivatives | None) -> None:
        self._rows = (t, values, *(() if derivatives is None else _agreeing(t, values, derivatives)))
        self._x: Any = _curve(*self._rows)
        self._v, self._a = self._x.derivative(1), self._x.derivative(2)
        steep = ~(np.abs([self._x(t), self._v(t), self._a(t)]) <= STEEPEST).all(axis=(0, 2))
        if steep.any():
            what = f"the curve through the rows is too steep at t = {t[np.argmax(steep)]:g} s"
            raise ScenarioError(what, where="reference", valid="times that are further apart")
        self._end = t[-1]
        speed = np.abs(self._v(t)).max(axis=0)
        self._ends_at_rest = bool((np.abs(self._v(t[-1])) <= REST * speed).all())

    def at(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values and two derivatives, shape (N, size) each; at rest beyond the last row."""
        beyond = t > self._end + 1e-9
        if beyond.any() and not self._ends_at_rest:
            what = f"the table ends at {self._end:g} s in motion, the run at {t[-1]:g} s"
            raise ScenarioError(what, where="reference", valid=f"a run of {self._end:g} s, or rows that end at rest")
        inside = np.minimum(t, self._end)
        moves = ~beyond[:, None]
        return self._x(inside), moves * self._v(inside), moves * self._a(inside)

    def further(self, t: FloatArray) -> list[FloatArray]:
        """Third and fourth derivative where rows tell them, else zero, shape (N, size) each; zero beyond the last row.

        Rounding of rows h apart is in them by h⁻³ and h⁻⁴; a curve through every second row has an eighth of that.
        Where the two differ by more than the derivative of the latter, root mean square, zero is nearer.
        """
        moves = (t <= self._end + 1e-9)[:, None]
        inside = np.minimum(t, self._end)
        return [moves * told * self._x(inside, order) for order, told in zip((3, 4), self._told(), strict=True)]

    def _told(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether rows tell the third derivative of each number, and the third and the fourth, (size,) each."""
        if len(self._rows[0]) < 2 * FEWEST_ROWS:
            return (none := np.zeros(self._rows[1].shape[1], bool)), none
        t, *rest = (rows[::2] for rows in self._rows)
        less: Any = _curve(t, *rest)
        at = 0.5 * (t[1:] + t[:-1])
        third, fourth = (
            ((self._x(at, order) - less(at, order)) ** 2).sum(axis=0) < (less(at, order) ** 2).sum(axis=0)
            for order in (3, 4)
        )
        return third, third & fourth


class JointTable:
    """Joint positions at times: t (N,) [s] from 0, q (N, n) [rad or m], and both of their derivatives or none.

    Joints on a circle, `circles` (n,), go the short way from row to row.

    Raises:
        DimensionError: if arrays do not fit each other or are not finite.
        ScenarioError: if times do not rise from 0, or the rates are not those of the positions.
    """

    period: float | None = None

    def __init__(
        self,
        t: ArrayLike,
        q: ArrayLike,
        derivatives: Derivatives | None = None,
        circles: Circles | None = None,
    ) -> None:
        times, rows = _checked(t, q, None)
        if circles is not None and len(circles) == rows.shape[1]:  # else whoever follows it says how many joints it has
            rows = unwrap(rows, circles)
        self._curve = _Curve(times, rows, derivatives)

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), from 0 on, as rows of 3·n."""
        return np.hstack(self._curve.at(t))

    def further_rates(self, t: FloatArray) -> dict[str, FloatArray]:
        """Compute `jerk` and `snap` of the curve where rows tell them, else zero, at times `t`, (N, n) each."""
        return dict(zip(RATES, self._curve.further(t), strict=True))


class PoseTable:
    """Poses at times: t (N,) [s] from 0, position (N, 3) [m], quaternion (N, 4) as [x, y, z, w], world frame.

    The quaternion goes along a curve of four numbers p, divided by its norm: R_d = R(p/‖p‖), ω = 2 Im(ṗ p*)/‖p‖² and
    ω̇ = 2 Im(p̈ p*)/‖p‖² − 2 (p·ṗ) ω/‖p‖², exactly.

    Args:
        t: Times.
        position: p_d.
        quaternion: Of R_d, either sign, of norm one but for rounding.
        derivatives: Twist and its derivative, shape (N, 6) each, linear part first; from the spline if None.

    Raises:
        DimensionError: if arrays do not fit each other or are not finite.
        ScenarioError: if times do not rise from 0, two rows are a right angle apart, a quaternion is none, or the
            twist is not that of the poses.
    """

    period: float | None = None

    def __init__(
        self, t: ArrayLike, position: ArrayLike, quaternion: ArrayLike, derivatives: Derivatives | None = None
    ) -> None:
        times, points = _checked(t, position, 3)
        turn = _continuous(_checked(t, quaternion, 4)[1], times)
        rows = np.hstack([points, turn])
        if derivatives is not None:
            twist, change = (_checked(t, values, 6)[1] for values in derivatives)
            rate = 0.5 * _product(_pure(twist[:, 3:]), turn)
            bend = 0.5 * (_product(_pure(change[:, 3:]), turn) + _product(_pure(twist[:, 3:]), rate))
            derivatives = (np.hstack([twist[:, :3], rate]), np.hstack([change[:, :3], bend]))
        self._curve = _Curve(times, rows, derivatives)

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), from 0 on, as rows of 24."""
        x, v, a = self._curve.at(t)
        p, rate, bend = x[:, 3:], v[:, 3:], a[:, 3:]
        conjugate, square = p * [-1.0, -1.0, -1.0, 1.0], (p**2).sum(axis=1, keepdims=True)
        if not (square > SMALLEST_SQUARE).all():
            what = f"the turn is not defined at t = {t[np.argmin(square)]:g} s"
            raise ScenarioError(what, where="reference", valid="rows at times that are about as far apart")
        omega = 2.0 * _product(rate, conjugate)[:, :3] / square
        omega_dot = 2.0 * _product(bend, conjugate)[:, :3] / square
        omega_dot -= 2.0 * (p * rate).sum(axis=1, keepdims=True) * omega / square
        rows = np.empty((len(t), CARTESIAN_SIZE))
        rows[:, POSITION] = x[:, :3]
        rows[:, ROTATION] = Rotation.from_quat(p).as_matrix().transpose(0, 2, 1).reshape(-1, 9)
        rows[:, TWIST], rows[:, ACCELERATION] = np.hstack([v[:, :3], omega]), np.hstack([a[:, :3], omega_dot])
        return rows


class Sampled:
    """What a function of time says, asked once at every time of the run; what it does not say comes from a spline.

    Args:
        function: t [s] ↦ q (n,) or (q, q̇, q̈); of a pose (4, 4), (7,), (24,) or (position, R), as in `table_of`.
        cartesian: Whether it is a pose.
        circles: Which joints are on a circle, (n,).
    """

    period: float | None = None

    def __init__(self, function: Callable[[float], Any], cartesian: bool, circles: Circles | None = None) -> None:
        self._function, self._cartesian, self._circles = function, cartesian, circles
        self._asked: tuple[FloatArray, JointTable | PoseTable] | None = None

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), rising from 0.

        Raises:
            ScenarioError: if the function raises, or gives something else.
        """
        return self._table(t).sample(t)

    def further_rates(self, t: FloatArray) -> dict[str, FloatArray]:
        """As of a `JointTable` through what it says at times `t`; nothing of a pose. Raises as `sample` does."""
        table = self._table(t)
        return table.further_rates(t) if isinstance(table, JointTable) else {}

    def _table(self, t: FloatArray) -> JointTable | PoseTable:
        """Through what the function says, of which it is asked once."""
        if self._asked is None or not np.array_equal(self._asked[0], t):
            self._asked = t, self._ask(t)
        return self._asked[1]

    def _ask(self, t: FloatArray) -> JointTable | PoseTable:
        try:
            values = [self._function(float(time)) for time in t]
        except Exception as error:
            what = f"the function of time raises {type(error).__name__}: {error}"
            raise ScenarioError(what, where="reference", valid="a value at every time of the run") from error
        try:
            if isinstance(values[0], tuple) and self._cartesian:
                values = [_homogeneous(*value) for value in values]
            elif isinstance(values[0], tuple):
                q, qd, qdd = (np.array(part, dtype=float) for part in zip(*values, strict=True))
                return JointTable(t, q, (qd, qdd), self._circles)
            rows = np.array(values, dtype=float)
        except (ValueError, TypeError) as error:
            what = f"the function of time gives {values[0]!r:.80}"
            raise ScenarioError(what, where="reference", valid=_valid(self._cartesian)) from error
        return table_of(t, rows, self._cartesian, self._circles)


def table_of(
    t: ArrayLike, values: ArrayLike, cartesian: bool, circles: Circles | None = None
) -> JointTable | PoseTable:
    """A table of joint positions (N, n), or of poses.

    Args:
        t: Times [s] from 0, shape (N,).
        values: Joint positions; for poses homogeneous matrices (N, 4, 4), positions and quaternions
            [x, y, z, qx, qy, qz, qw] (N, 7), or samples as in `trajectories` (N, 24).
        cartesian: Whether they are poses.
        circles: Which joints are on a circle, (n,).

    Raises:
        DimensionError: for other shapes.
        ScenarioError: as `JointTable` and `PoseTable` raise.
    """
    rows = np.array(values, dtype=float)
    if not cartesian and rows.ndim == 2:
        return JointTable(t, rows, circles=circles)
    if cartesian and rows.shape[1:] == (4, 4):
        return PoseTable(t, rows[:, :3, 3], quaternions(rows[:, :3, :3]))
    if cartesian and rows.shape[1:] == (7,):
        return PoseTable(t, rows[:, :3], rows[:, 3:])
    if cartesian and rows.shape[1:] == (CARTESIAN_SIZE,):
        turn = rows[:, ROTATION].reshape(-1, 3, 3).transpose(0, 2, 1)
        return PoseTable(t, rows[:, POSITION], quaternions(turn), (rows[:, TWIST], rows[:, ACCELERATION]))
    raise DimensionError(f"values of shape {rows.shape}", where="reference", valid=_valid(cartesian))


def quaternions(rotations: FloatArray) -> FloatArray:
    """[x, y, z, w] of rotation matrices, (N, 3, 3) → (N, 4).

    Raises:
        ScenarioError: if one is no rotation.
    """
    rotations = np.asarray(rotations, dtype=float)
    off = np.abs(rotations @ rotations.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2)) > UNIT
    off |= np.linalg.det(rotations) < 0.0
    if off.any():
        what = f"row {int(np.argmax(off))} has no rotation matrix"
        raise ScenarioError(what, where="reference", valid="R Rᵀ = 1, det R = 1")
    return np.asarray(Rotation.from_matrix(rotations).as_quat())


def _homogeneous(position: ArrayLike, rotation: ArrayLike) -> FloatArray:
    T = np.eye(4)
    T[:3, 3], T[:3, :3] = position, rotation
    return T


def _valid(cartesian: bool) -> str:
    poses = "poses (4, 4), (7,) with a quaternion, or samples (24,) at each time, or (position, R) of a function"
    return poses if cartesian else "joint positions (n,) at each time, or (q, q̇, q̈) of a function"


def _checked(t: ArrayLike, values: ArrayLike, size: int | None) -> tuple[FloatArray, FloatArray]:
    times, rows = np.array(t, dtype=float), np.array(values, dtype=float)
    fits = times.ndim == 1 and rows.ndim == 2 and len(rows) == len(times) and size in (None, rows.shape[1])
    if not fits or not ((np.abs(times) <= NUMBER).all() and (np.abs(rows) <= NUMBER).all()):
        what = f"times of shape {times.shape} and values of shape {rows.shape}"
        raise DimensionError(
            what, where="reference", valid=f"finite, at most {NUMBER:g}, (N,) and (N, {'n' if size is None else size})"
        )
    if len(times) < FEWEST_ROWS:
        raise DimensionError(f"{len(times)} rows", where="reference", valid=f"{FEWEST_ROWS} or more")
    if times[0] != 0.0 or not (np.diff(times) > 0.0).all():
        k = 0 if times[0] != 0.0 else int(np.argmax(np.diff(times) <= 0.0)) + 1
        raise ScenarioError(f"time {times[k]:g} s in row {k}", where="reference", valid="times from 0 on that rise")
    return times, rows


def _agreeing(t: FloatArray, rows: FloatArray, derivatives: Derivatives) -> tuple[FloatArray, FloatArray]:
    """Rates and changes that are those of the rows: a step is the mean of the rates beside it, times its length."""
    rates, changes = (_checked(t, values, rows.shape[1])[1] for values in derivatives)
    h = np.diff(t)[:, None]
    step = 0.5 * h * (rates[:-1] + rates[1:]) - h**2 / 12.0 * np.diff(changes, axis=0)
    off = np.abs(np.diff(rows, axis=0) - step)
    largest = RATE_TOLERANCE * np.maximum(np.abs(step), np.abs(np.diff(rows, axis=0))).max(axis=0)
    wrong = off > largest + 1e-9
    if wrong.any():
        k, column = np.argwhere(wrong)[0]
        what = f"the rates are not those of the values (column {column}, t = {t[k]:g} to {t[k + 1]:g} s)"
        raise ScenarioError(what, where="reference", valid="derivatives in SI units, per second, or none")
    return rates, changes


def _curve(t: FloatArray, values: FloatArray, *derivatives: FloatArray) -> BSpline | PPoly:
    return _quintic(t, values, *derivatives) if derivatives else _spline(t, values)


def _spline(t: FloatArray, values: FloatArray) -> BSpline:
    try:
        return make_interp_spline(t, values, k=5 if len(t) >= 6 else 3)
    except (ValueError, np.linalg.LinAlgError) as error:
        what = f"there is no curve through the rows ({error})"
        raise ScenarioError(what, where="reference", valid="times that are about as far apart") from error


def _quintic(t: FloatArray, x: FloatArray, v: FloatArray, a: FloatArray) -> PPoly:
    """The polynomial of degree five with position, rate and change of both rows, of every pair of rows."""
    h = np.diff(t)[:, None]
    D = np.diff(x, axis=0) - v[:-1] * h - 0.5 * a[:-1] * h**2
    V = (np.diff(v, axis=0) - a[:-1] * h) * h
    A = np.diff(a, axis=0) * h**2
    high = (
        (6.0 * D - 3.0 * V + 0.5 * A) / h**5,
        (-15.0 * D + 7.0 * V - A) / h**4,
        (10.0 * D - 4.0 * V + 0.5 * A) / h**3,
    )
    return PPoly(np.array([*high, 0.5 * a[:-1], v[:-1], x[:-1]]), t)


def _continuous(quaternion: FloatArray, t: FloatArray) -> FloatArray:
    """Quaternions of norm one, each of the sign nearer to the one before."""
    norm = np.linalg.norm(quaternion, axis=1)
    if (np.abs(norm - 1.0) > UNIT).any():
        k = int(np.argmax(np.abs(norm - 1.0)))
        raise ScenarioError(f"a quaternion of norm {norm[k]:.4g} at {t[k]:g} s", where="reference", valid="norm 1")
    unit = quaternion / norm[:, None]
    product = (unit[1:] * unit[:-1]).sum(axis=1)
    if (np.abs(product) < LARGEST_TURN).any():
        k = int(np.argmin(np.abs(product)))
        what = f"a turn of {2.0 * np.degrees(np.arccos(np.abs(product[k]))):.0f}° from {t[k]:g} to {t[k + 1]:g} s"
        raise ScenarioError(what, where="reference", valid="less than 90° between two rows")
    signs = np.cumprod(np.concatenate([[1.0], np.where(product < 0.0, -1.0, 1.0)]))
    return np.asarray(unit * signs[:, None])


def _pure(vector: FloatArray) -> FloatArray:
    return np.hstack([vector, np.zeros((len(vector), 1))])


def _product(p: FloatArray, r: FloatArray) -> FloatArray:
    """Quaternion products p ∘ r, rows of [x, y, z, w]."""
    vector = p[:, 3:] * r[:, :3] + r[:, 3:] * p[:, :3] + np.cross(p[:, :3], r[:, :3])
    scalar = p[:, 3:] * r[:, 3:] - (p[:, :3] * r[:, :3]).sum(axis=1, keepdims=True)
    return np.hstack([vector, scalar])
