"""Estimates of the start-up motion, on records of an arm that an independent integration moves."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from described_arms import arm
from numpy.typing import NDArray

from thunder_controllers.commissioning.estimate import (
    INTERVAL,
    Findings,
    StageRecord,
    check_sound,
    estimate,
)
from thunder_controllers.commissioning.plan import Budget, CommissioningError, Known, Planner, Stage
from thunder_controllers.host import Library
from thunder_dynamics.build import build
from thunder_dynamics.readers import load_model

Array = NDArray[np.float64]
RATE = 1000.0
START = np.array([0.3, -0.5])
QUANTITIES = ("delay", "velocity_lag", "rotor", "viscous", "coulomb", "offset", "gain", "position_noise")


@cache
def library() -> Library:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "two_joints.urdf"
        file.write_text(arm(2), encoding="utf-8")
        return Library(build(load_model(file), [("pd_plus", {"friction": "none"})]))


@dataclass(frozen=True)
class Physics:
    """True physics of both joints."""

    rotor: Array
    viscous: Array
    coulomb: Array
    offset: Array
    gain: Array
    delay: float
    cutoff: float
    noise: float

    @classmethod
    def drawn(cls, seed: int) -> Physics:
        rng = np.random.default_rng(seed)
        return cls(
            rotor=rng.uniform(0.02, 0.2, 2),
            viscous=rng.uniform(0.2, 1.0, 2),
            coulomb=rng.uniform(0.2, 1.0, 2),
            offset=rng.uniform(-0.3, 0.3, 2),
            gain=rng.uniform(0.9, 1.1, 2),
            delay=float(rng.integers(1, 7)) * 1e-3,
            cutoff=float(rng.uniform(30.0, 300.0)),
            noise=float(rng.uniform(3e-6, 3e-5)),
        )

    @property
    def truth(self) -> dict[str, Array]:
        a, one = -np.expm1(-2.0 * np.pi * self.cutoff / RATE), np.ones(2)
        return {
            "delay": self.delay * one,
            "velocity_lag": (1.0 / a - 0.5) / RATE * one,
            "rotor": self.rotor,
            "viscous": self.viscous,
            "coulomb": self.coulomb,
            "offset": self.offset,
            "gain": self.gain,
            "position_noise": self.noise * one,
        }


def last_stage(physics: Physics) -> Stage:
    """A stage for an arm whose drives are known to a fifth."""
    known = Known(0.8 * physics.rotor, 0.8 * physics.coulomb, physics.offset, np.zeros(2), np.ones(2, dtype=bool))
    return Planner(library(), START, RATE, Budget()).stage(known, is_last=True)


def played(physics: Physics, stage: Stage, seed: int, push: float = 0.0) -> StageRecord:
    """A record of the stage: τ = M q̈ + C q̇ + G + τ_f + o by steps of a quarter of a period, friction by tanh.

    `push` [N·m/cm] is the stiffness of a wall that joint 1 meets on a third of its way.
    """
    rng, count = np.random.default_rng(seed), len(stage.reference)
    q, qd, dt, late = stage.start.copy(), np.zeros(2), 0.25 / RATE, round(physics.delay * RATE)
    last, filtered = None, np.zeros(2)
    a = -np.expm1(-2.0 * np.pi * physics.cutoff / RATE)
    rows = StageRecord(*np.zeros((3, count, 2)))
    rest = np.zeros(2)
    sent = [np.asarray(library().evaluate("G", q)) / physics.gain] * late
    for k in range(count):
        reading = q + physics.noise * rng.standard_normal(2)
        if last is not None:
            filtered = filtered + a * ((reading - last) * RATE - filtered)
        last = reading
        q_d, qd_d, qdd_d = np.split(stage.reference[k], 3)
        model = np.asarray(library().evaluate("Yr", reading, filtered, qd_d, qdd_d)) @ library().pi
        effort = model + stage.K_p * (q_d - reading) + stage.K_d * (qd_d - filtered)
        rows.q[k], rows.qd[k], rows.effort[k] = reading, filtered, effort
        sent.append(effort)
        acting = physics.gain * sent.pop(0)
        for _ in range(4):
            M = np.asarray(library().evaluate("M", q)) + np.diag(physics.rotor)
            bias = np.asarray(library().evaluate("Yr", q, qd, qd, rest)) @ library().pi
            friction = physics.viscous * qd + physics.coulomb * np.tanh(qd / 0.01)
            wall = np.array([push * max(q[0] - START[0] - 0.02, 0.0) / 0.01, 0.0])
            qdd = np.linalg.solve(M, acting - bias - friction - physics.offset - wall)
            q, qd = q + dt * qd + 0.5 * dt**2 * qdd, qd + dt * qdd
    return rows


@cache
def found(seed: int) -> tuple[Physics, Findings]:
    physics = Physics.drawn(seed)
    stage = last_stage(physics)
    return physics, estimate(library(), stage, played(physics, stage, seed))


def cases(name: str) -> Iterator[tuple[float, float, float, bool]]:
    """Error, deviation, truth and whether it is told, of all joints of all draws."""
    for seed in range(6):
        physics, findings = found(seed)
        quantity = getattr(findings, name)
        yield from zip(
            quantity.value - physics.truth[name], quantity.std, physics.truth[name], quantity.is_told, strict=True
        )


@pytest.mark.slow
def test_intervals_hold_in_nine_of_ten_cases_or_the_quantity_is_unknown() -> None:
    held = {name: [abs(e) <= INTERVAL * s or not told for e, s, _, told in cases(name)] for name in QUANTITIES}
    assert sum(map(sum, held.values())) >= 0.9 * sum(map(len, held.values())), held


@pytest.mark.slow
def test_what_is_told_is_right() -> None:
    assert all(abs(error) < 5e-4 for error, _, _, told in cases("delay") if told)
    assert all(abs(error) < 0.1 * truth for error, _, truth, told in cases("rotor") if told)
    assert sum(told for *_, told in cases("rotor")) >= 6


@pytest.mark.slow
def test_a_joint_that_a_wall_stops_is_told_by_the_side_that_it_does_not_reach() -> None:
    physics = Physics.drawn(0)
    stage = last_stage(physics)
    record = played(physics, stage, 0, push=20.0)
    with pytest.raises(CommissioningError, match=r"arm1_joint: it moved from .* stops the arm on one side"):
        check_sound(estimate(library(), stage, record), stage, record, library())


@pytest.mark.slow
def test_effort_that_the_model_does_not_explain_is_refused() -> None:
    physics = Physics.drawn(0)
    stage = last_stage(physics)
    record = played(physics, stage, 0)
    shaken = StageRecord(record.q, record.qd, record.effort + 2.0 * np.sin(0.02 * np.arange(len(record.q)))[:, None])
    with pytest.raises(CommissioningError, match=r"arm\d_joint: .* of its effort is not explained"):
        check_sound(estimate(library(), stage, shaken), stage, shaken, library())


@pytest.mark.slow
def test_a_motion_as_it_was_planned_is_sound() -> None:
    physics = Physics.drawn(0)
    stage = last_stage(physics)
    record = played(physics, stage, 0)
    check_sound(estimate(library(), stage, record), stage, record, library())


def test_readings_that_are_not_finite_are_refused() -> None:
    stage = last_stage(Physics.drawn(0))
    record = StageRecord(*np.full((3, len(stage.reference), 2), np.nan))
    with pytest.raises(CommissioningError, match="not finite"):
        estimate(library(), stage, record)
