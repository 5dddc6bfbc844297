"""Each kind of fault in one run of the study's Panda, a run without any, and options that do not go together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from evaluation import load_robot
from laws import packed, unpacked

from thunder_controllers.experiments.runner import prepare_case, run_case
from thunder_controllers.laws.cartesian_computed_torque import cartesian_computed_torque
from thunder_controllers.laws.faults.isolation import QUANTILE, FaultIsolation
from thunder_controllers.laws.faults.kinds import Action, Kind
from thunder_controllers.simulation.experiment import run_once
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.scenario import merged
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import ReferenceKind, Signals
from thunder_studies.faults import isolation as study

FAULTS: dict[str, dict[str, Any]] = {
    "loss": {"type": "loss", "joints": ("panda_joint2",), "share": 0.5},
    "bias": {"type": "bias", "joints": ("panda_joint1",), "effort": 12.0},
    "block": {"type": "block", "joints": ("panda_joint5",), "rate": 20.0},
    "freeze": {"type": "freeze", "joints": ("panda_joint4",)},
}


@pytest.fixture(autouse=True)
def _cache(build_cache: Path) -> None:
    """Libraries are built where the session says."""


def run(seed: int, *faults: dict[str, Any], **plant: Any) -> dict[str, float | None]:
    keys = study.draw_arm(np.random.default_rng(seed))
    keys = merged(keys, {"duration": 4.0, "plant": {"faults": faults, **plant}})
    measure = study.measure_fault if faults else study.measure_health
    outcome = run_case(study._case("run", keys, seed, "continue", measure))
    assert outcome.ended != "failed", outcome.message
    return dict(outcome.values)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_found_in_its_joint_and_told_by_its_kind(kind: str) -> None:
    """On a path on which no joint comes to rest in friction then: a frozen torque that friction holds is as a block."""
    found = run(5 if kind == "freeze" else 3, {**FAULTS[kind], "start": 1.8})
    assert found["in_time"] == 1.0 and found["kind"] == 1.0
    assert found["shows"] is not None and found["delay"] is not None and found["shows"] < found["delay"]
    if kind in ("loss", "bias"):
        assert found["goes_on"] == 1.0


@pytest.mark.slow
def test_a_fault_that_stated_errors_of_the_model_would_hide_is_found_in_time() -> None:
    """A loss of 0.14 N·m at most, where all stated errors together have a deviation of 0.055 N·m, five of it 0.27."""
    found = run(3, {"type": "loss", "joints": ("panda_joint5",), "share": 0.3, "start": 1.8})
    assert found["in_time"] == 1.0


@pytest.mark.slow
def test_joints_stay_within_their_limits_before_the_kind_is_known() -> None:
    """25 N·m alone turn the first joint at 2.5 rad/s until the kind is told, 0.15 s later; its limit is 2.2 rad/s."""
    found = run(3, {"type": "bias", "joints": ("panda_joint1",), "effort": 25.0, "start": 1.8})
    assert found["kind"] == 1.0 and found["goes_on"] == 1.0 and found["kept"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 5])
def test_what_is_picked_up_is_no_fault_of_a_joint(seed: int) -> None:
    found = run(seed, payloads=({**study.PAYLOAD, "mass": 0.5, "time": 1.8},))
    assert found["joint"] == 0.0 and found["several"] == 1.0


@pytest.mark.slow
def test_the_best_test_of_all_sees_a_bias_as_its_sums_say() -> None:
    """Σ (kΔ b/m)²/σ_v² + (½ k² Δ² b/m)²/σ_q² of a joint alone, 1/m = |M⁻¹ e_1|, which hardly changes so soon."""
    bias, sums, k = 0.4, 0.0, 0
    keys = study.draw_arm(np.random.default_rng(3))
    fault = {"type": "bias", "joints": ("panda_joint1",), "effort": bias, "start": 1.0}
    case = study._case("run", merged(keys, {"duration": 1.2, "plant": {"faults": (fault,)}}), 3, "off", None)
    prepared = prepare_case(case)
    assert prepared is not None
    setup, of_run = prepared
    trace, _ = run_once(setup, of_run)
    plant = setup.plant
    assert isinstance(plant, ModelPlant)
    turned = np.linalg.norm(np.linalg.inv(plant.mass_matrix(trace.q[1000]))[:, 0]) * bias
    while sums < study.QUANTILE**2:
        k += 1
        sums += (turned * k * 1e-3 / 3e-3) ** 2 + (turned * 0.5 * (k * 1e-3) ** 2 / 1e-5) ** 2
    found = study.earliest(case, trace, case.config.plant.faults[0])  # type: ignore[arg-type]
    assert found == pytest.approx(k * 1e-3, abs=1.1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("plant", [{}, {"torque_lag": 5e-3}, {"torque_delay": 2e-3}], ids=repr)
@pytest.mark.parametrize("seed", [3, 4])
def test_a_healthy_arm_has_no_fault(seed: int, plant: dict[str, Any]) -> None:
    found = run(seed, **plant)
    assert found["joint"] == 0.0 == found["several"]
    assert (found["sigmas"] or 0.0) < 5.0


@pytest.mark.slow
def test_a_blocked_joint_that_moves_again_has_a_frozen_torque() -> None:
    """At rest it stays blocked; at 0.2 rad/s, beyond noise, it is not, within two time constants of F."""
    robot = RobotExpressions(load_robot("planar3r"))
    signals = Signals(robot, ReferenceKind.JOINT)
    isolation = FaultIsolation(robot, signals, ca.SX.ones(robot.n))
    law = signals.law("isolation", "Kinds.", ca.SX.zeros(robot.n), isolation.next_state, isolation.telemetry)
    q, gains, reference = np.array([0.3, 0.9, -0.6]), packed(law.gains), packed(law.reference)
    told = {"fault_joint": 2.0, "suspected_joint": 2.0, "fault_kind": float(Kind.BLOCK), "isolated_time": 0.5}
    first = unpacked(law.state, np.asarray(law.initial(q, np.zeros(3), gains)).ravel())
    state = packed(law.state, {**first, **{name: np.array([value]) for name, value in told.items()}})
    kinds = []
    for k in range(150):
        qd = np.array([0.0, 0.0 if k < 100 else 0.2, 0.0])
        _, state, shown = law.step(q, qd, np.zeros(3), [], reference, state, gains, 1e-3)
        state = np.asarray(state).ravel()
        kinds.append(unpacked(law.telemetry, np.asarray(shown).ravel())["fault_kind"].item())
    assert set(kinds[:100]) == {Kind.BLOCK} and kinds[-1] == Kind.FREEZE


@pytest.mark.parametrize("unstated", [0.0, 0.1])
def test_a_joint_that_may_stick_is_not_seen_yet(unstated: float) -> None:
    """At rest, where friction of an unknown level may hold any torque; without friction the joint is seen."""
    robot = RobotExpressions(load_robot("planar3r"))
    signals, moved = Signals(robot, ReferenceKind.JOINT), 0.01
    isolation = FaultIsolation(robot, signals, ca.SX.ones(robot.n) * moved)
    law = signals.law("isolation", "Seen.", ca.SX.zeros(robot.n), isolation.next_state, isolation.telemetry)
    q, still, gains = np.array([0.3, 0.9, -0.6]), np.zeros(3), packed(law.gains, {"friction_unstated": unstated})
    state, reference = np.asarray(law.initial(q, still, gains)).ravel(), packed(law.reference)
    held = np.asarray(ca.evalf(ca.substitute(ca.SX(robot["G"]), signals.q, q))).ravel()
    for _ in range(200):
        _, state, shown = law.step(q, still, held, [], reference, state, gains, 1e-3)
        state = np.asarray(state).ravel()
    told = {name: value.ravel() for name, value in unpacked(law.telemetry, np.asarray(shown).ravel()).items()}
    if unstated:
        matters = np.minimum(0.02 / moved, robot.model.limits("effort"))
        np.testing.assert_allclose(told["fault_visible"], matters / (QUANTILE * told["fault_deviation"]), rtol=1e-9)
        assert told["fault_kind"] == Kind.NOT_YET and (told["fault_visible"] < 1.0).all()
    else:
        assert told["fault_kind"] == Kind.NONE and (told["fault_visible"] == 1.0).all()


@pytest.mark.slow
def test_friction_that_no_file_states_accuses_nobody_and_is_learned() -> None:
    """Of 1.5 % of the effort limits: most joints are not seen at first, and a bias of one is found once they are."""
    keys = study.draw_unstated(np.random.default_rng(3), "ur5")
    limit = np.asarray(study.library_of("ur5", study.LAW, study.rubbing_file("ur5")).effort_limit)
    share = tuple((0.015 * limit).tolist())
    keys = merged(keys, {"plant": {"friction": {"viscous": share, "coulomb": share, "static": share}}})
    fault = {"type": "bias", "joints": ("elbow_joint",), "effort": 0.2 * float(limit[2]), "start": 5.0}
    healthy, faulty = (
        run_case(study._case("run", merged(keys, {"plant": {"faults": faults}}), 3, "isolate", measure))
        for faults, measure in (((), study.measure_health), ((fault,), study.measure_unstated))
    )
    assert healthy.values["joint"] == 0.0 == healthy.values["several"]
    assert (healthy.values["early"] or 0.0) < 0.5 * (healthy.values["late"] or 0.0)
    assert faulty.values["in_time"] == 1.0


def test_the_bounds_are_kept_once() -> None:
    robot = RobotExpressions(load_robot("panda"))
    with pytest.raises(
        LawError, match="faults=continue with redundancy=acceleration_bounds; valid: redundancy=posture"
    ):
        cartesian_computed_torque(robot, {"faults": "continue", "redundancy": "acceleration_bounds"})
    with pytest.raises(LawError, match="faults 'find'; valid: "):
        cartesian_computed_torque(robot, {"faults": "find"})


def test_the_study_reads_the_codes_that_the_law_declares() -> None:
    for name, code in study.CODES.items():
        assert code == Kind[name.upper()]
    assert (study.SEVERAL, study.STOPS) == (Kind.SEVERAL, Action.STOPS)
    assert study.QUANTILE == QUANTILE
