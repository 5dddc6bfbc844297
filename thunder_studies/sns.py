"""`thunder experiment sns`: a planar arm of three unit links whose end effector keeps its velocity, joints bounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from thunder_controllers.experiments.experiment import Criterion, Findings, Settings, Value
from thunder_controllers.experiments.figures import Panel, draw_panels
from thunder_controllers.redundancy.acceleration_bounds import (
    clip_pseudo_inverse,
    fastest_stop,
    saturate_in_null_space,
    scale_to_bounds,
    solve_within_bounds,
)
from thunder_controllers.report.figures import STYLE
from thunder_dynamics.errors import ScenarioError

FloatArray = NDArray[np.float64]

PI = np.pi
BOUNDS = PI * np.array([15.0, 10.0, 10.0])
"""U [rad/s²]."""

STATES: dict[str, tuple[FloatArray, FloatArray]] = {
    "A": (PI * np.array([0.0, 0.5, 0.5]), PI * np.array([1.0, 1.0, 0.0])),
    "B": (PI * np.array([0.0, 0.5, 0.5]), PI * np.array([1.0, 1.0, -0.25])),
    "C": (PI * np.array([0.0, 0.0, 1.0]), PI * np.array([0.5, -1.0, 0.5])),
    "D": (PI * np.array([0.0, 1.0, -1.0]), PI * np.array([0.5, -1.0, 0.5])),
}
"""Where the arm is and how fast: q [rad] and q̇ [rad/s]; in the last two it is singular."""

METHODS: dict[str, Callable[[FloatArray, FloatArray, FloatArray], FloatArray | None]] = {
    "clipped": clip_pseudo_inverse,
    "SNS": saturate_in_null_space,
    "exact": solve_within_bounds,
    "scaled": lambda J, r, U: scale_to_bounds(J, r, U).u,
}
"""Joint accelerations of (J, r, U); None where the method finds none, and the arm stops as fast as it can."""

DT = 2.5e-4
"""Between two accelerations [s]; they are constant in between."""

LONGEST = 0.5
"""How long an end effector is watched that never leaves the reach of the arm [s]."""

KEPT = 1e-6
"""The task is kept while the end effector accelerates by less than this, relative to 1 + ‖J̇ q̇‖ [m/s²]."""

REST = 1e-9
"""A joint rests below this speed [rad/s]."""


@dataclass(frozen=True)
class Planar:
    """The arm in one state: end effector p (2,) [m], J (2, 3), J̇ q̇ (2,) [m/s²]."""

    p: FloatArray
    J: FloatArray
    drift: FloatArray


def planar_arm(q: FloatArray, qd: FloatArray) -> Planar:
    """Kinematics of three unit links at angles φ = q_1 + … + q_k: p = Σ (cos φ, sin φ), J̇ q̇ = −Σ φ̇² (cos φ, sin φ)."""
    angles, rates = np.cumsum(q), np.cumsum(qd)
    links = np.column_stack((np.cos(angles), np.sin(angles)))
    across = np.column_stack((-links[:, 1], links[:, 0]))
    J = np.cumsum(across[::-1], axis=0)[::-1].T
    return Planar(links.sum(axis=0), J, -(rates**2) @ links)


@dataclass
class Motion:
    """What became of the arm under one method, a value per step of `DT`.

    Attributes:
        deviation: Distance of the end effector from where its first velocity leads it [m].
        ratio: u_i / U_i, shape (N, 3).
        qd: Joint velocities, shape (N, 3) [rad/s].
        kept: How long the task was kept [s]; None if to the end.
    """

    deviation: list[float] = field(default_factory=list)
    ratio: list[FloatArray] = field(default_factory=list)
    qd: list[FloatArray] = field(default_factory=list)
    kept: float | None = None


def within_reach(state: tuple[FloatArray, FloatArray]) -> float | None:
    """How long the end effector of constant velocity stays within three links of the base [s]; None: for ever."""
    arm = planar_arm(*state)
    p, v = arm.p, arm.J @ state[1]
    roots = np.roots([v @ v, 2.0 * p @ v, p @ p - 9.0]) if np.linalg.norm(v) > REST else np.array([])
    return float(max(roots.real)) if len(roots) else None


def keep_velocity(method: str, state: tuple[FloatArray, FloatArray]) -> Motion:
    """Ask for no acceleration of the end effector until it would leave the reach of the arm."""
    (q, qd), motion = state, Motion()
    start = planar_arm(q, qd)
    velocity, gave_up = start.J @ qd, False
    for step in range(round((within_reach(state) or LONGEST) / DT)):
        arm = planar_arm(q, qd)
        u = None if gave_up else METHODS[method](arm.J, -arm.drift, BOUNDS)
        gave_up = u is None
        u = fastest_stop(qd, BOUNDS, DT) if u is None else u
        missed = np.linalg.norm(arm.J @ u + arm.drift) > KEPT * (1.0 + np.linalg.norm(arm.drift))
        if missed and motion.kept is None:
            motion.kept = step * DT
        motion.deviation.append(float(np.linalg.norm(arm.p - start.p - step * DT * velocity)))
        motion.ratio.append(u / BOUNDS)
        motion.qd.append(qd)
        q, qd = q + DT * qd + 0.5 * DT**2 * u, qd + DT * u
    return motion


def instants(_: Settings) -> Findings:
    """What the task needs at once, and the largest feasible share of it."""
    rows: dict[str, dict[str, Value]] = {}
    for name, state in STATES.items():
        arm = planar_arm(*state)
        plain = np.linalg.pinv(arm.J, rcond=KEPT) @ -arm.drift
        values = {
            "speed [m/s]": np.linalg.norm(arm.J @ state[1]),
            "J̇ q̇ [m/s²]": np.linalg.norm(arm.drift),
            "least singular value [m]": np.linalg.svd(arm.J, compute_uv=False)[-1],
            "J⁺ asks / bound": (np.abs(plain) / BOUNDS).max(),
            "feasible share": scale_to_bounds(arm.J, -arm.drift, BOUNDS).factor,
        }
        rows[name] = {column: round(float(value), 9) for column, value in values.items()}
    return Findings("At the first instant", rows)


def accelerations(_: Settings) -> Findings:
    """The accelerations at once in the states A and B, of the pseudo-inverse and by SNS."""
    rows: dict[str, dict[str, Value]] = {}
    for name in ("A", "B"):
        arm = planar_arm(*STATES[name])
        for method, solve in (("J⁺", lambda J, r, _: np.linalg.pinv(J) @ r), ("SNS", saturate_in_null_space)):
            u = solve(arm.J, -arm.drift, BOUNDS)
            if u is None:
                raise ScenarioError(f"{method} finds no accelerations in state {name}", valid="states that it can do")
            values = {f"u_{i + 1} [rad/s²]": round(float(one), 9) for i, one in enumerate(u)}
            rows[f"{name}, {method}"] = {**values, "within bounds": float((np.abs(u) <= BOUNDS * (1.0 + KEPT)).all())}
    return Findings("Accelerations at the first instant", rows)


def motions(_: Settings) -> Findings:
    """How long each method keeps the velocity."""
    moved = {name: {method: keep_velocity(method, state) for method in METHODS} for name, state in STATES.items()}
    rows = {
        f"{name}, {method}": _motion_row(within_reach(STATES[name]), motion)
        for name, own in moved.items()
        for method, motion in own.items()
    }
    criteria = tuple(
        Criterion("kept [s]", 1.0, at_least=True, rows=(f"{name}, {better}",), times=f"{name}, {worse}")
        for name in STATES
        for worse, better in (("clipped", "SNS"), ("SNS", "exact"), ("exact", "scaled"))
    )
    return Findings("Then on", rows, criteria, _motion_figure(moved))


def _motion_row(reach: float | None, motion: Motion) -> dict[str, Value]:
    kept = len(motion.qd) * DT if motion.kept is None else motion.kept
    then = min(round(kept / DT), len(motion.qd) - 1)
    return {
        "in reach [s]": reach,
        "kept [s]": kept,
        "deviation then [m]": motion.deviation[then],
        "joint speed then [rad/s]": float(np.abs(motion.qd[then]).max()),
        "deviation at the end [m]": motion.deviation[-1],
    }


def random_states(settings: Settings) -> Findings:
    """How often each method does the task at all, at random postures and velocities, under U and random bounds."""
    rng = np.random.default_rng(settings.seed)
    rows: dict[str, dict[str, Value]] = {}
    for label, is_drawn in (("U", False), ("U drawn", True)):
        done = dict.fromkeys(("J⁺ within bounds", "SNS", "exact"), 0)
        for _ in range(settings.cases):
            arm = planar_arm(rng.uniform(-PI, PI, 3), rng.uniform(-2.0 * PI, 2.0 * PI, 3))
            J, r, U = arm.J, -arm.drift, PI * 30.0 ** rng.uniform(0.0, 1.0, 3) if is_drawn else BOUNDS
            done["J⁺ within bounds"] += bool((np.abs(np.linalg.pinv(J) @ r) <= U).all())
            done["SNS"] += saturate_in_null_space(J, r, U) is not None
            done["exact"] += solve_within_bounds(J, r, U) is not None
        for name, count in done.items():
            given_up = (done["exact"] - count) / max(done["exact"], 1)
            rows[f"{label}, {name}"] = {"share done": count / settings.cases, "given up of what can be done": given_up}
    return Findings("At random states", rows, (Criterion("given up of what can be done", 0.0, at_least=True),))


STOPS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "to zero": partial(fastest_stop, U=BOUNDS, dt=DT),
    "sign alone": lambda qd: -BOUNDS * np.sign(qd),
}
"""u of the fastest stop: ended where the velocity reaches zero, and as its formula alone has it."""


def stop(name: str, qd: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Stop for twice the least time: velocities and accelerations, shape (N, 3) each."""
    speeds, accelerations = [qd], []
    for _ in range(round(2.0 * float((np.abs(qd) / BOUNDS).max()) / DT)):
        accelerations.append(STOPS[name](speeds[-1]))
        speeds.append(speeds[-1] + DT * accelerations[-1])
    return np.array(speeds), np.array(accelerations)


def stops(_: Settings) -> Findings:
    """The fastest stop, ended where a velocity reaches zero, and by its formula alone."""
    ended_by = {state: {name: stop(name, STATES[state][1]) for name in STOPS} for state in ("A", "B", "C")}
    rows: dict[str, dict[str, Value]] = {}
    for state, own in ended_by.items():
        for name, (velocity, acceleration) in own.items():
            moving = np.flatnonzero((np.abs(velocity) > REST).any(axis=1))[-1] + 1
            rows[f"{state}, {name}"] = {
                "least time [s]": float((np.abs(velocity[0]) / BOUNDS).max()),
                "at rest after [s]": moving * DT if moving < len(velocity) else None,
                "speed left [rad/s]": float(np.abs(velocity[-1]).max()),
                "reversals": int((acceleration[1:] * acceleration[:-1] < 0.0).sum()),
            }
    ended = tuple(row for row in rows if row.endswith("to zero"))
    criteria = (Criterion("reversals", 0.0, rows=ended), Criterion("speed left [rad/s]", REST, rows=ended))
    return Findings("The fastest stop", rows, criteria, _stop_figure(ended_by))


def _motion_figure(motions: Mapping[str, Mapping[str, Motion]]) -> dict[str, Figure]:
    """The deviation in each state by each method."""
    rows: dict[str, dict[str, Any]] = {method: {} for method in METHODS}
    for state, own in motions.items():
        for method, motion in own.items():
            rows[method] |= {f"t {state}": DT * np.arange(len(motion.deviation)), state: motion.deviation}
    panels = [Panel(f"deviation in {state} [m]", state, log=True, t=f"t {state}") for state in motions]
    return _figure("motion", panels, rows)


def _stop_figure(stops: Mapping[str, Mapping[str, tuple[FloatArray, FloatArray]]]) -> dict[str, Figure]:
    """The velocity of the joint that rests last."""
    rows: dict[str, dict[str, Any]] = {name: {} for name in STOPS}
    for state, own in stops.items():
        for name, (qd, _) in own.items():
            last = int(np.argmax(np.abs(qd[0]) / BOUNDS))
            rows[name] |= {f"t {state}": DT * np.arange(len(qd)), state: qd[:, last]}
    return _figure("stop", [Panel(f"fastest stop of {state} [rad/s]", state, t=f"t {state}") for state in stops], rows)


def _figure(name: str, panels: Sequence[Panel], rows: Mapping[str, Any]) -> dict[str, Figure]:
    with matplotlib.style.context(STYLE):
        figure = draw_panels(panels, {row: [series] for row, series in rows.items()})
    return {} if figure is None else {name: figure}
