"""A law and the arm that it believes in as one differential equation, integrated by RK4; and references to follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from laws import packed, unpacked

from thunder_controllers.host import Library
from thunder_dynamics.law import Law
from thunder_dynamics.model import RobotModel
from thunder_dynamics.spatial import rot_axis

FloatArray = np.ndarray
Reference = Callable[[float], Mapping[str, FloatArray]]

INSTANT = 1e-6
"""Step over which the difference of a law's state is its derivative [s]: its states are Euler steps, or relax in ms."""


@dataclass(frozen=True)
class Instant:
    """The loop at a time: what a Lyapunov function is made of."""

    q: FloatArray
    qd: FloatArray
    reference: Mapping[str, FloatArray]
    state: Mapping[str, FloatArray]
    state_dot: Mapping[str, FloatArray]
    telemetry: Mapping[str, FloatArray]
    effort: FloatArray


class ClosedLoop:
    """q̈ = M⁻¹(τ − C q̇ − G − τ_f) from a compiled library, τ from a law's step; x stacks q, q̇ and the law's state.

    Args:
        gains: Of the law; others have their defaults.
        has_friction: Whether the arm has the friction of its library.
    """

    def __init__(
        self,
        model: RobotModel,
        library: Library,
        law: Law,
        reference: Reference,
        gains: Mapping[str, object] | None = None,
        has_friction: bool = True,
    ) -> None:
        self.model, self.library, self.law, self.reference, self.n = model, library, law, reference, model.n
        self.gain_vector = packed(law.gains, gains)
        self.gains = unpacked(law.gains, self.gain_vector)
        self.has_friction = has_friction and "dl" in library.functions

    def start(self, q: FloatArray, qd: FloatArray, state: Mapping[str, object] | None = None) -> FloatArray:
        """x from a measurement, with the law's states as at activation but for those that are given."""
        initial = (
            {}
            if self.law.initial is None
            else unpacked(self.law.state, np.asarray(self.law.initial(q, qd, self.gain_vector)).ravel())
        )
        return np.concatenate([q, qd, packed(self.law.state, {**initial, **(state or {})})])

    def at(self, t: float, x: FloatArray) -> Instant:
        """Everything at x."""
        q, qd, z = x[: self.n], x[self.n : 2 * self.n], x[2 * self.n :]
        effort, after, telemetry = self._step(t, q, qd, z, INSTANT)
        entries, reported = self.law.state, unpacked(self.law.telemetry, telemetry)
        rates = unpacked(entries, (after - z) / INSTANT)
        return Instant(q, qd, self.reference(t), unpacked(entries, z), rates, reported, effort)

    def derivative(self, t: float, x: FloatArray) -> FloatArray:
        """ẋ."""
        now = self.at(t, x)
        M, C, G, friction = self.terms(now.q, now.qd)
        qdd = np.linalg.solve(M, now.effort - C @ now.qd - G - friction)
        return np.concatenate([now.qd, qdd, *now.state_dot.values()])

    def terms(self, q: FloatArray, qd: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """M, C, G and the torque of friction, compiled."""
        shape, evaluate = (self.n, self.n), self.library.evaluate
        friction = np.ravel(evaluate("dl", qd)) if self.has_friction else np.zeros(self.n)
        M, C = np.reshape(evaluate("M", q), shape), np.reshape(evaluate("C", q, qd), shape)
        return M, C, np.ravel(evaluate("G", q)), friction

    def advance(self, t: float, x: FloatArray, h: float) -> FloatArray:
        """One step of Runge and Kutta, forwards or backwards."""
        k1 = self.derivative(t, x)
        k2 = self.derivative(t + h / 2, x + h / 2 * k1)
        k3 = self.derivative(t + h / 2, x + h / 2 * k2)
        k4 = self.derivative(t + h, x + h * k3)
        return np.asarray(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))

    def run(self, x: FloatArray, duration: float, h: float) -> tuple[FloatArray, list[Instant]]:
        """Times and what happened at them, from x at zero."""
        times = np.arange(round(duration / h) + 1) * h
        found = [self.at(0.0, x)]
        for t in times[:-1]:
            x = self.advance(t, x, h)
            found.append(self.at(t + h, x))
        return times, found

    def slope(self, function: Callable[[Instant], float], t: float, x: FloatArray, h: float = 1e-5) -> float:
        """d/dt of a function along the motion, ∇f·ẋ + ∂f/∂t: a fourth-order central difference along ẋ."""
        x_dot = self.derivative(t, x)
        f = {k: function(self.at(t + k * h, x + k * h * x_dot)) for k in (-2, -1, 1, 2)}
        return (8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h)

    def _step(
        self, t: float, q: FloatArray, qd: FloatArray, z: FloatArray, dt: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        reference = packed(self.law.reference, self.reference(t))
        found = self.law.step(q, qd, np.zeros(self.n), [], reference, z, self.gain_vector, dt)
        effort, state, telemetry = (np.asarray(value).ravel() for value in found)
        return effort, state, telemetry


def joint_motion(rng: np.random.Generator, centre: FloatArray) -> Reference:
    """A sine of its own for every joint."""
    amplitude, frequency, phase = rng.uniform([[0.1], [1.0], [0.0]], [[0.3], [2.5], [6.0]], (3, len(centre)))

    def at(t: float) -> dict[str, FloatArray]:
        angle = frequency * t + phase
        wave = amplitude * np.sin(angle)
        return {"q": centre + wave, "qd": amplitude * frequency * np.cos(angle), "qdd": -(frequency**2) * wave}

    return at


def pose_motion(rng: np.random.Generator, T: FloatArray, angle: float, speed: float = 1.0) -> Reference:
    """About a pose (4, 4): 5 cm and `angle` away [rad], moving about there times `speed`."""
    axes = rng.normal(size=(2, 3))
    offset_axis, axis = (tuple(a / np.linalg.norm(a)) for a in axes)
    R0 = rot_axis(offset_axis, angle) @ T[:3, :3]
    p0, sway = T[:3, 3] + rng.uniform(-0.05, 0.05, 3), rng.uniform(-0.05, 0.05, 3) * speed
    turn = 0.1 * speed

    def at(t: float) -> dict[str, FloatArray]:
        s, c = np.sin(2.0 * t), np.cos(2.0 * t)
        return {
            "position": p0 + sway * s,
            "rotation": rot_axis(axis, turn * s) @ R0,
            "twist": 2.0 * c * np.concatenate([sway, turn * np.array(axis)]),
            "acceleration": -4.0 * s * np.concatenate([sway, turn * np.array(axis)]),
        }

    return at
