"""An arm that moves fast enough to tell its last link, under a law that adapts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np
from laws import packed, unpacked

from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY
from thunder_dynamics.build import law_builders
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.law import Law
from thunder_dynamics.model import RobotModel

FloatArray = np.ndarray
HOME = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.5])
PAYLOAD = Inertia(1.0, np.array([0.03, -0.02, 0.15]), np.diag([2e-3, 3e-3, 1.5e-3]))
FEEDBACK = {"Lambda": 5.0, "K_d": [10.0, 10.0, 10.0, 10.0, 5.0, 5.0, 2.0]}
"""Of the tables in docs/results/schemes.md."""


def build_law(model: RobotModel, scheme: str, name: str = "slotine_li", **options: object) -> Law:
    return law_builders()[name].load()(RobotExpressions(model), {"adaptation": scheme, **options})


def with_payload(model: RobotModel, payload: Inertia) -> RobotModel:
    links = list(model.links)
    links[model.ee_link] = replace(links[model.ee_link], inertia=links[model.ee_link].inertia + payload)
    return replace(model, links=tuple(links))


def plant(model: RobotModel, friction: tuple[float, float] = (0.0, 0.0)) -> ca.Function:
    """(q, q̇, τ) → q̈ of the model, every joint with viscous and Coulomb friction."""
    robot, tau = RobotExpressions(model), ca.SX.sym("tau", model.n)
    q, qd, rest = robot.symbol("q"), robot.symbol("dq"), ca.SX.zeros(model.n)
    bias = robot.inverse_dynamics(q, qd, qd, rest) + friction[0] * qd + friction[1] * ca.tanh(qd / SMOOTHING_VELOCITY)
    return ca.Function("plant", [q, qd, tau], [ca.solve(robot["M"], tau - bias), bias])


def motion(t: float, n: int = 7) -> dict[str, FloatArray]:
    """Of all joints, fast enough to tell the parameters of the last link."""
    w, a = np.linspace(1.1, 4.3, 7)[-n:], np.array([0.3, 0.3, 0.3, 0.3, 0.5, 0.5, 0.6])[-n:]
    return {"q": HOME[-n:] + a * (1 - np.cos(w * t)), "qd": a * w * np.sin(w * t), "qdd": a * w**2 * np.cos(w * t)}


def run(
    law: Law,
    model: RobotModel,
    duration: float,
    gains: dict[str, object] | None = None,
    state: dict[str, object] | None = None,
    watch: Callable[[FloatArray, FloatArray, dict[str, FloatArray], dict[str, FloatArray]], None] | None = None,
    dt: float = 1e-3,
    friction: tuple[float, float] = (0.0, 0.0),
    later: tuple[float, RobotModel] | None = None,
    until: float = np.inf,
    push: Callable[[float, FloatArray, FloatArray, FloatArray], FloatArray | float] | None = None,
) -> dict[str, FloatArray]:
    """Law and arm in steps of dt, the effort held over each, the arm by a midpoint rule; the last state.

    From a time on, until another, it is another arm; `push` is one from outside, by time, q, q̇ and effort.
    """
    own, vector = plant(model, friction), packed(law.gains, gains)
    other = plant(later[1], friction) if later else own
    first = motion(0.0, model.n)
    q, qd = first["q"], first["qd"]
    x = packed(law.state, state)
    if law.initial is not None:
        found = unpacked(law.state, np.asarray(law.initial(q, qd, vector)).ravel())
        x = packed(law.state, {**found, **(state or {})})
    tau = np.asarray(own(q, qd, np.zeros(model.n))[1]).ravel()
    for k in range(round(duration / dt)):
        reference = packed(law.reference, motion(k * dt, model.n))
        before = unpacked(law.state, x)
        found = law.step(q, qd, tau, [], reference, x, vector, dt)
        tau, x, telemetry = (np.asarray(value).ravel() for value in found)
        if watch is not None:
            watch(q, qd, before, unpacked(law.telemetry, telemetry))
        function = other if later and later[0] <= k * dt < until else own
        acting = tau + (push(k * dt, q, qd, tau) if push else 0.0)
        middle = qd + 0.5 * dt * np.asarray(function(q, qd, acting)[0]).ravel()
        acceleration = np.asarray(function(q + 0.5 * dt * qd, middle, acting)[0]).ravel()
        q, qd = q + dt * middle, qd + dt * acceleration
    return unpacked(law.state, x)
