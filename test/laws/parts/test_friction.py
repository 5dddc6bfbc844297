"""Friction adaptation: its gate, and what holding still does to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
import yaml
from evaluation import ROOT, load_robot
from laws import step

from thunder_controllers.laws.adaptation.limit import AdaptationLimit
from thunder_controllers.laws.parts.friction import GATE_SPEED, FrictionAdaptation
from thunder_controllers.simulation.experiment import run_once
from thunder_controllers.simulation.preparation import build_library, prepare
from thunder_controllers.simulation.scenario import load_scenario
from thunder_controllers.simulation.trace import Trace
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind, Signals

HELD, SETTLED = 60.0, 10.0
"""Seconds of holding, and after which the payload's estimate has settled."""


@pytest.fixture(scope="module")
def law() -> Law:
    """Friction alone, with the reference's velocity as q̇_r."""
    signals = Signals(RobotExpressions(load_robot("planar3r")), ReferenceKind.JOINT)
    qd_r = signals.reference.qd
    friction = FrictionAdaptation(signals.robot, signals, qd_r)
    next_state = friction.step(qd_r - signals.qd, ca.DM.ones(3), AdaptationLimit(signals))
    return signals.law("friction", "Friction alone.", effort=friction.effort, next_state=next_state, telemetry={})


def _change(law: Law, qd_r: float, gains: dict[str, float] | None = None, *, ahead: float = 0.01) -> np.ndarray:
    """Change of φ̂ in one step in which every joint is `ahead` of its reference velocity, in its direction."""
    reference = {"q": np.zeros(3), "qd": np.full(3, qd_r), "qdd": np.zeros(3)}
    before = np.full(6, 1.0)
    qd = np.full(3, qd_r + np.sign(qd_r) * ahead)
    state = step(law, np.zeros(3), qd, reference, {"friction_hat": before}, gains)[1]
    return state["friction_hat"] - before


def test_a_joint_below_the_gate_speed_does_not_adapt_and_one_above_twice_that_does_in_full(law: Law) -> None:
    for sign in (-1.0, 1.0):
        np.testing.assert_array_equal(_change(law, sign * 0.999 * GATE_SPEED), 0.0)
        speed = sign * 2.0 * GATE_SPEED
        ungated = _change(law, speed, {"friction_speed": 1e-6})
        np.testing.assert_allclose(_change(law, speed), ungated, rtol=1e-12)
        assert (np.abs(ungated) > 0.0).all()


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_joint_that_moves_against_its_reference_does_not_adapt(law: Law, sign: float) -> None:
    np.testing.assert_array_equal(_change(law, sign * 5.0 * GATE_SPEED, ahead=-6.0 * GATE_SPEED), 0.0)
    assert (np.abs(_change(law, sign * 5.0 * GATE_SPEED, ahead=-2.0 * GATE_SPEED)) > 0.0).all()


def test_adaptation_is_no_faster_than_its_limit(law: Law) -> None:
    """φ̂̇ = κ Γ⁻¹ Yᵀs with Δ κ YΓ⁻¹Yᵀ/K_d at the limit, K_d = 1 N·m·s/rad here."""
    slow, eager = (_change(law, 1.0, {"gamma_viscous": gamma, "gamma_coulomb": gamma}) for gamma in (1.0, 1e-6))
    np.testing.assert_allclose(slow[3:] / -0.01, 1e-3, rtol=1e-9)
    np.testing.assert_allclose((eager[:3] + eager[3:]) / -0.01, 0.4, rtol=1e-9)


def test_the_gate_opens_smoothly(law: Law) -> None:
    """Continuous, monotonous, half open in the middle, and without a kink at either end."""
    speeds = np.linspace(0.9, 2.1, 241) * GATE_SPEED
    gate = np.array([_change(law, v)[0] / _change(law, v, {"friction_speed": 1e-6})[0] for v in speeds])
    slope = np.diff(gate) / np.diff(speeds)
    assert (slope >= -1e-9).all() and np.abs(np.diff(slope)).max() < 0.03 * slope.max()
    assert gate[120] == pytest.approx(0.5, abs=1e-9)


def _hold_and_move(tmp_path: Path, options: dict[str, Any]) -> Trace:
    """A Panda with friction holds a payload that it does not know, then follows the Lissajous path."""
    path = ROOT / "config/scenarios/panda_payload_noise.yaml"
    document = yaml.safe_load(path.read_text())
    plant = {"urdf": str(ROOT / "urdf/panda.urdf.xacro"), "friction": document["plant"]["friction"]}
    plant["payloads"] = [{**document["plant"]["payloads"][0], "time": 0}]
    law = {"options": {"adapted_links": ["panda_link7"], **options}, "gains": {}}
    document |= {"robot": str(ROOT / "config/robots/panda.yaml"), "plant": plant, "law": law, "duration": 20}
    file = tmp_path / "holding.yaml"
    file.write_text(yaml.safe_dump({**document, "runs": [{"name": "hold"}]}))
    scenario = load_scenario(file)
    (run,) = scenario.runs
    setup = prepare(scenario, run, *build_library(scenario, run))
    still = setup.samples[:1].copy()
    still[:, 12:] = 0.0
    setup.samples = np.concatenate((np.repeat(still, round(HELD / setup.period), axis=0), setup.samples))
    return run_once(setup, run)[0]


@pytest.mark.slow
def test_holding_still_leaves_the_estimates_alone_and_the_motion_after_it_good(tmp_path: Path) -> None:
    plain, adapted = (_hold_and_move(tmp_path, options) for options in ({}, {"friction": "adapted"}))
    settled, moving = (np.searchsorted(adapted.t, time) for time in (SETTLED, HELD))
    friction = adapted.state[:, 1 : 1 + 2 * len(adapted.joint_names)]  # after the damping
    np.testing.assert_array_equal(friction[moving - 1], friction[settled])
    errors = [np.linalg.norm(trace.error[moving:], axis=1) for trace in (plain, adapted)]
    assert errors[1].max() < 2.0 * errors[0].max()
    late = [error[-5000:].mean() for error in errors]
    assert late[1] < 0.1 * late[0], "friction adaptation pays while moving"
