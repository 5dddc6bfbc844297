"""Laws that use what the contract offers beside joint states, for tests: they observe, push or see."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from evaluation import load_robot

import thunder_dynamics
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind, Signals

BUILD = sys.modules[thunder_dynamics.build.__module__]


def know_laws(patch: pytest.MonkeyPatch) -> None:
    """Let `build` find the laws here as those that are installed."""
    known = {
        name: EntryPoint(name, f"observer_law:{name}", "thunder.laws") for name in ("observer", "pushing", "seeing")
    }
    patch.setattr(BUILD, "law_builders", lambda: known)


def build_planar(law: str) -> Path:
    """The planar arm with one of the laws, compiled; the path of the library."""
    with pytest.MonkeyPatch.context() as patch:
        know_laws(patch)
        return thunder_dynamics.build(load_robot("planar3r"), laws=[law]) / "libplanar3r.so"


def pushing(robot: RobotExpressions, options: Mapping[str, Any]) -> Law:
    """τ = G + Jᵀ(w_d − w): what a wrench is asked for and measured by."""
    signals = Signals(robot, ReferenceKind.JOINT)
    wanted, measured = signals.further_reference("wrench", default=0.0), signals.measurement("wrench")
    effort = robot["G"] + robot.jacobian(signals.q).T @ (wanted - measured)
    return signals.law("pushing", "Pushes with the end effector.", effort, {}, {})


def seeing(robot: RobotExpressions, options: Mapping[str, Any]) -> Law:
    """τ = G, and what it sees of the end effector: measured, and 0.1 s old at most, or it goes without."""
    signals = Signals(robot, ReferenceKind.JOINT)
    seen, age = signals.aged_measurement("ee_position")
    signals.describe_telemetry("seen", size=3, unit="m", doc="What is measured.")
    signals.describe_telemetry("age", unit="s", doc="Since then.")
    signals.describe_telemetry("sees", unit="1", doc="Whether that is new.", measured_bounds=(0.5, 1.0))
    told = {"seen": seen, "age": age, "sees": age <= 0.1}
    return signals.law("seeing", "Holds the arm, and sees.", robot["G"], {}, told)


def observer(robot: RobotExpressions, options: Mapping[str, Any]) -> Law:
    """τ = (1 − a)(K(q_d − q) − D q̇ + G + f_d − f) + a τ⁻,  r = K_O(M q̇ − p̂),  p̂' = p̂ + Δ(τ⁻ + Cᵀq̇ − G + r).

    f is the measured effort from outside, f_d the one that is wanted, τ⁻ the effort of the step before, r the effort
    from outside as it is observed [De Luca & Mattone 2003, eq. 8].
    """
    signals = Signals(robot, ReferenceKind.JOINT)
    n, q, qd, dt = robot.n, signals.q, signals.qd, signals.dt
    K = signals.gain("K", default=20.0, bounds=(0, 500), unit="N·m/rad", doc="Stiffness.")
    D = signals.gain("D", default=5.0, bounds=(0, 50), unit="N·m·s/rad", doc="Damping.")
    K_O = signals.gain("K_O", default=50.0, bounds=(0, 500), unit="1/s", doc="Bandwidth of the observer.")
    a = signals.gain("a", default=0.0, bounds=(0, 1), unit="1", doc="Share of the effort of the step before.")
    f = signals.measurement("external_effort")
    f_d = signals.further_reference("force", size=n, default=0.0, unit="N·m", doc="Effort against what pushes.")
    applied, momentum, G = signals.applied_effort, robot["M"] @ qd, robot["G"]
    p_hat = signals.state("p_hat", size=n, default=0.0, unit="N·m·s", doc="Predicted momentum.", initial=momentum)
    spring = signals.state("spring", size=n, default=7.0, unit="N·m", doc="K q where it began.", initial=K * q)
    count = signals.state("count", default=0.0, unit="1", doc="Steps.")
    signals.describe_telemetry("residual", size=n, unit="N·m", doc="r.")
    signals.describe_telemetry("applied", size=n, unit="N·m", doc="τ⁻.")
    signals.describe_telemetry("measured", size=n, unit="N·m", doc="f.")
    r = K_O * (momentum - p_hat)
    effort = K * (signals.reference.q - q) - D * qd + G + f_d - f
    return signals.law(
        "observer",
        "Holds a place and observes what pushes.",
        (1 - a) * effort + a * applied,
        {
            "p_hat": p_hat + dt * (applied + robot["C"].T @ qd - G + r),
            "spring": spring,
            "count": count + 1,
        },
        {"residual": r, "applied": applied, "measured": f},
    )
