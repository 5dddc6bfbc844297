"""What each fault does to a plant, measured, and what is refused before a run starts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from plant_arms import ARM, ARM_JOINTS, PENDULUM, assembled
from pydantic import ValidationError

from thunder_controllers.simulation.options import Payload, PlantOptions
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_controllers.simulation.plants.mujoco_load import MujocoMechanics
from thunder_dynamics.errors import NameNotFoundError, ScenarioError

FloatArray = NDArray[np.float64]
PERIOD = 1e-3
INERTIA = 0.02 + 1.5 * 0.5**2
"""Of PENDULUM about its hinge [kg·m²]."""

START = np.array([0.1, 0.2, 0.1])


def _arm(*faults: dict[str, Any], seed: int = 0, **options: Any) -> MujocoPlant:
    plant = MujocoPlant(assembled(ARM), ARM_JOINTS, PERIOD, PlantOptions(faults=faults, **options), seed=seed)
    plant.reset(START, [0.5, -0.7, 0.3])
    return plant


def _efforts(steps: int) -> FloatArray:
    t = np.arange(steps) * PERIOD
    return np.column_stack([2.0 * np.sin(20 * t), 3.0 + np.cos(9 * t), 10.0 * np.cos(30 * t)])


def _run(plant: MujocoPlant, efforts: FloatArray) -> FloatArray:
    """True q, q̇ before each step and after the last, shape (N + 1, 2, n)."""
    states = np.empty((len(efforts) + 1, 2, plant.n))
    for k, effort in enumerate(efforts):
        plant.read(*states[k])
        plant.step(effort)
    plant.read(*states[-1])
    return states


RUBBING = [None, {"viscous": 0.2}, {"coulomb": 0.5}, {"coulomb": 20.0}, {"coulomb": 1.0, "static": 2.0}]


@pytest.mark.parametrize("friction", RUBBING)
def test_a_blocked_joint_slows_down_at_its_rate_whatever_the_efforts(friction: dict[str, float] | None) -> None:
    """q̈₂ = −λ q̇₂: q̇₂ = q̇₂(0) e^−λt; RK4 leaves 1e-11. The last friction holds the other joints fast."""
    states = _run(_arm({"type": "block", "joints": ["j2"], "rate": 5.0}, friction=friction), _efforts(500))
    expected = -0.7 * np.exp(-5.0 * PERIOD * np.arange(501))
    np.testing.assert_allclose(states[:, 1, 1], expected, rtol=1e-10)
    assert (np.ptp(states[-100:, 0, 0]) < 1e-2) == (friction == {"coulomb": 20.0})


def test_several_joints_block_at_rates_of_their_own() -> None:
    faults = ({"type": "block", "joints": ["j1"], "rate": 20.0}, {"type": "block", "joints": ["j3"], "rate": 2.0})
    qd = _run(_arm(*faults), _efforts(200))[:, 1]
    np.testing.assert_allclose(qd[-1, [0, 2]], [0.5 * np.exp(-4.0), 0.3 * np.exp(-0.4)], rtol=1e-7)


def test_the_torque_of_a_block_is_that_of_the_book() -> None:
    """τ_f,i = (h_iᵀ(τ − c − g) + λ_i q̇_i) / h_ii, passive forces in c: theory.md §7."""
    plant, effort = _arm({"type": "block", "joints": ["j2"], "rate": 5.0}, friction={"viscous": 0.2}), _efforts(1)[0]
    data = plant.data
    data.ctrl[:] = plant.faults.act(0.0, effort)
    mujoco.mj_forward(plant.model, data)
    H = np.linalg.inv(_columns_of_M(plant))
    torque = (H[1] @ (effort - (data.qfrc_bias - data.qfrc_passive)) + 5.0 * plant.qd[1]) / H[1, 1]
    load = plant.faults.load(MujocoMechanics(plant.model, data, np.arange(3)))
    np.testing.assert_allclose(load, [0.0, -torque, 0.0], rtol=1e-10)


def _columns_of_M(plant: MujocoPlant) -> FloatArray:
    columns = np.zeros((plant.n, plant.n))
    for column, unit in zip(columns, np.eye(plant.n), strict=True):
        mujoco.mj_mulM(plant.model, plant.data, column, unit)
    return columns


def _with(efforts: FloatArray, rows: slice, joint: int, effort: ArrayLike) -> FloatArray:
    """Efforts with another one of a joint in some rows."""
    acting = efforts.copy()
    acting[rows, joint] = effort
    return acting


WINDOW = {"start": 0.02, "end": 0.04}
LOSS, BIAS = {"type": "loss", "share": 0.5}, {"type": "bias", "effort": 1.0}
IN_WINDOW = slice(20, 40)


@pytest.mark.parametrize(
    ("faults", "acting"),
    [
        ([{**LOSS, "joints": ["j1", "j3"]}], lambda tau: tau * [0.5, 1.0, 0.5]),
        ([{**BIAS, "joints": ["j3"], **WINDOW}], lambda tau: _with(tau, IN_WINDOW, 2, tau[IN_WINDOW, 2] + 1.0)),
        ([{"type": "freeze", "joints": ["j2"], **WINDOW}], lambda tau: _with(tau, IN_WINDOW, 1, tau[19, 1])),
        (
            [{"type": "freeze", "joints": ["j2"]}],
            lambda tau: _with(tau, slice(None), 1, _arm().holding_effort()[1]),
        ),
        ([{"type": "saturation", "limit": 2.5}], lambda tau: np.clip(tau, -2.5, 2.5)),
        ([LOSS, BIAS], lambda tau: 0.5 * tau + 1.0),
        ([BIAS, LOSS], lambda tau: 0.5 * (tau + 1.0)),
    ],
    ids=["loss", "bias", "freeze", "frozen from the start", "saturation", "in order", "in the other order"],
)
def test_a_motor_gives_what_its_faults_say(
    faults: list[dict[str, Any]], acting: Callable[[FloatArray], FloatArray]
) -> None:
    """The faulty plant moves as a sound one under what acts, bit for bit."""
    efforts = _efforts(60)
    np.testing.assert_array_equal(_run(_arm(*faults), efforts), _run(_arm(), acting(efforts)))


def test_a_fault_acts_on_late_commands_and_on_what_the_robot_adds() -> None:
    """The motor that freezes is that of a robot which compensates gravity, its commands 2 ms late."""
    options = PlantOptions(faults=({"type": "freeze", "start": 0.005},), torque_delay=0.002)  # type: ignore[arg-type]
    plant = MujocoPlant(assembled(PENDULUM), ("hinge",), PERIOD, options, gravity_compensated=True)
    plant.reset([0.5], [2.0])
    gravity, given = np.empty((2, 10))
    for k in range(10):
        gravity[k] = 1.5 * 9.81 * 0.5 * np.sin(plant.q[0])
        plant.step(np.array([10.0 + k]))
        given[k] = plant.data.ctrl[0]
    np.testing.assert_allclose(given[:5], gravity[:5] + [0.0, 0.0, 10.0, 11.0, 12.0], rtol=1e-12)
    np.testing.assert_array_equal(given[5:], given[4])


def test_noise_of_motors_has_the_stated_deviation_and_repeats() -> None:
    fault = {"type": "effort_noise", "joints": ["j1", "j3"], "std": 0.2, "share": 0.05}
    given = np.empty((3, 4000, 3))
    for run, seed in zip(given, (1, 1, 2), strict=True):
        plant = _arm(fault, seed=seed)
        for row in run:
            row[:] = plant.faults.act(0.0, np.array([-10.0, 5.0, 2.0]))
    np.testing.assert_array_equal(given[0], given[1])
    assert not np.array_equal(given[0], given[2])
    # The deviation of a deviation from N samples is σ/√(2N) = 1.1 %; five of those.
    np.testing.assert_allclose(given[0].std(axis=0), [0.7, 0.0, 0.3], rtol=0.056, atol=1e-12)
    np.testing.assert_allclose(given[0].mean(axis=0), [-10.0, 5.0, 2.0], atol=5 * 0.7 / np.sqrt(4000))


def test_a_reset_repeats_faults_from_their_start() -> None:
    plant = _arm({"type": "effort_noise", "std": 0.2}, {"type": "dropout", "probability": 0.3})
    runs = []
    for _ in range(2):
        plant.reset(START)
        runs.append((_measured(plant, 50), _run(plant, _efforts(20))))
    for first, second in zip(*runs, strict=True):
        np.testing.assert_array_equal(first, second)


def _measured(plant: MujocoPlant, steps: int) -> FloatArray:
    """Rows of q, q̇ and the age of the sample [steps], while the arm moves, shape (N, 2 n + 1)."""
    rows = np.empty((steps, 2 * plant.n + 1))
    for row, effort in zip(rows, _efforts(steps), strict=True):
        row[-1] = plant.measure(row[: plant.n], row[plant.n : -1])
        plant.step(effort)
    return rows


def test_a_dropped_out_encoder_reads_nothing() -> None:
    sound, faulty = (
        _measured(_arm(*faults), 40)
        for faults in ([], [{"type": "dropout", "joints": ["j2"], "start": 0.02, "end": 0.03}])
    )
    lost = np.isnan(faulty)
    assert lost[20:30, [1, 4]].all() and lost.sum() == 20
    np.testing.assert_array_equal(faulty[~lost], sound[~lost])


def test_encoders_drop_out_at_random() -> None:
    lost = np.isnan(_measured(_arm({"type": "dropout", "probability": 0.3}), 1000)[:, 0])
    assert abs(lost.mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 1000)


def test_repeated_samples_are_the_last_good_one_and_age() -> None:
    sound, faulty = (
        _measured(_arm(*faults), 40) for faults in ([], [{"type": "repeated_samples", "start": 0.02, "end": 0.03}])
    )
    np.testing.assert_array_equal(faulty[20:30, :-1], np.tile(sound[19, :-1], (10, 1)))
    np.testing.assert_array_equal(faulty[20:30, -1], np.arange(1, 11))
    np.testing.assert_array_equal(np.delete(faulty, range(20, 30), axis=0), np.delete(sound, range(20, 30), axis=0))


def test_one_repeating_encoder_among_others_shows_in_no_time_stamp() -> None:
    rows = _measured(_arm({"type": "repeated_samples", "joints": ["j1"], "start": 0.02}), 40)
    np.testing.assert_array_equal(rows[20:, 0], rows[19, 0])
    np.testing.assert_array_equal(rows[:, -1], 0.0)


def test_late_samples_lag_by_so_many_steps() -> None:
    sound, faulty = (
        _measured(_arm(*faults), 40) for faults in ([], [{"type": "late_samples", "steps": 3, "start": 0.02}])
    )
    np.testing.assert_array_equal(faulty[20:, :-1], sound[17:-3, :-1])
    np.testing.assert_array_equal(faulty[20:, -1], 3)


def test_late_from_the_start_is_the_start() -> None:
    rows = _measured(_arm({"type": "late_samples", "steps": 5}), 10)
    np.testing.assert_array_equal(rows[:6, :-1], np.tile(rows[0, :-1], (6, 1)))
    np.testing.assert_array_equal(rows[:, -1], np.minimum(np.arange(10), 5))


def _jacobian(plant: MujocoPlant, link: str) -> FloatArray:
    """J of the origin of a link's frame, linear part first, from MuJoCo's own, shape (6, n)."""
    mujoco.mj_forward(plant.model, plant.data)
    J = np.zeros((6, plant.n))
    mujoco.mj_jacBody(plant.model, plant.data, J[:3], J[3:], plant.model.body(link).id)
    return J


def test_the_effort_from_outside_is_that_of_the_wrench_in_its_window() -> None:
    fault = {"type": "wrench", "link": "tool", "force": [3.0, -5.0, 8.0], "torque": [0.3, 0.2, -0.4], "start": 0.01}
    plant = _arm(fault)
    assert not plant.external_effort().any()
    _run(plant, _efforts(20))
    expected, held = _jacobian(plant, "tool").T @ [*fault["force"], *fault["torque"]], plant.holding_effort()
    np.testing.assert_allclose(plant.external_effort(), expected, rtol=1e-10)
    np.testing.assert_array_equal(plant.holding_effort(), held)  # which knows nothing of the velocity


def test_a_wrench_follows_its_profile_and_ends() -> None:
    """A hinge pushed at its rod's frame: the torque is that of the profile at every time; none after the window."""
    fault = {
        "type": "wrench",
        "link": "rod",
        "torque": [0.0, 2.0, 0.0],
        "start": 0.01,
        "end": 0.03,
        "profile": [[0, 0], [0.01, 1], [0.02, 0]],
    }
    plant = MujocoPlant(assembled(PENDULUM), ("hinge",), PERIOD, PlantOptions(faults=(fault,), gravity=(0.0, 0.0, 0.0)))  # type: ignore[arg-type]
    plant.reset([0.0])
    speeds = []
    for _ in range(50):
        speeds.append(plant.qd[0])
        plant.step(np.zeros(1))
    np.testing.assert_allclose(np.array(speeds)[[10, 20, 30, 49]] * INERTIA, [0.0, 0.01, 0.02, 0.02], atol=1e-13)


def test_a_payload_is_taken_off_at_its_time_and_the_others_stay() -> None:
    box = Payload(link="tool", mass=1.2, com=(0.05, 0.0, 0.1), time=0.01, until=0.03)
    other = Payload(link="tool", mass=0.5, time=0.02)
    plant, own = _arm(payloads=(box, other)), _arm().true_inertia("tool").pi
    for start in range(2):
        plant.reset(START)
        changes, masses = plant.payload_changes, []
        for k in range(40):
            masses.append(plant.true_inertia("tool").mass)
            q, qd = plant.q, plant.qd
            plant.step(plant.holding_effort())
            np.testing.assert_allclose(plant.q, q + PERIOD * qd, atol=1e-5, err_msg=f"run {start}, step {k}")
        np.testing.assert_allclose(
            np.array(masses)[[10, 11, 20, 21, 30, 31]], [1.5 - 1.2, 1.5, 1.5, 2.0, 2.0, 0.8], rtol=1e-12
        )
        np.testing.assert_allclose(plant.true_inertia("tool").pi, own + other.to_inertia().pi, atol=1e-14)
        assert plant.payload_changes >= changes + 3


def test_rotors_add_to_the_diagonal_of_the_mass_matrix() -> None:
    plain, geared = _arm(), _arm(rotor_inertia=(0.1, 0.2, 0.3))
    for plant in (plain, geared):
        mujoco.mj_forward(plant.model, plant.data)
    np.testing.assert_allclose(_columns_of_M(geared), _columns_of_M(plain) + np.diag([0.1, 0.2, 0.3]), rtol=1e-12)
    np.testing.assert_array_equal(geared.holding_effort(), plain.holding_effort())
    geared.attach(Payload(link="tool", mass=1.0))
    np.testing.assert_array_equal(geared.model.dof_armature, [0.1, 0.2, 0.3])


def test_what_is_in_force_is_told_for_every_step() -> None:
    plant = _arm({"type": "freeze", "start": 0.02, "end": 0.04}, {"type": "dropout", "joints": ["j1"], "start": 0.03})
    flags = plant.faults.in_force(np.arange(50) * PERIOD)
    assert flags.shape == (50, 2)
    assert [np.flatnonzero(column)[[0, -1]].tolist() for column in flags.T] == [[20, 39], [30, 49]]
    assert plant.faults.faults[0].label == "freeze all joints, 0.02 s to 0.04 s"
    assert _arm().faults.in_force(np.zeros(5)).shape == (5, 0)


def test_a_joint_that_is_not_there_is_named() -> None:
    expected = "plant: faults.1: the plant has no joint 'j9'; valid: j1, j2, j3"
    with pytest.raises(ScenarioError, match=re.escape(expected)):
        _arm({"type": "freeze"}, {"type": "dropout", "joints": ["j1", "j9"]})


def test_a_link_that_is_not_there_is_named() -> None:
    with pytest.raises(
        NameNotFoundError, match=re.escape("plant: faults.0: the plant has no link 'hand'; valid: base")
    ):
        _arm({"type": "wrench", "link": "hand"})


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        ({"type": "loss", "share": 0.5}, {"type": "bias", "effort": 1.0}, True),
        ({"type": "loss", "share": 0.5}, {"type": "loss", "share": 0.2}, False),
        ({"type": "loss", "share": 0.5, "joints": ["j1"]}, {"type": "loss", "share": 0.2, "joints": ["j2"]}, True),
        ({"type": "loss", "share": 0.5, "end": 1.0}, {"type": "loss", "share": 0.2, "start": 1.0}, True),
        ({"type": "block", "rate": 1.0}, {"type": "bias", "effort": 1.0}, False),
        ({"type": "freeze"}, {"type": "dropout"}, True),
        ({"type": "dropout"}, {"type": "late_samples", "steps": 2}, False),
        ({"type": "wrench", "link": "tip"}, {"type": "wrench", "link": "tip"}, True),
    ],
)
def test_faults_that_contradict_each_other_are_refused(
    first: dict[str, Any], second: dict[str, Any], agree: bool
) -> None:
    for faults in ((first, second), (second, first)):
        if agree:
            PlantOptions(faults=faults)  # type: ignore[arg-type]
        else:
            with pytest.raises(ValidationError, match="windows or joints apart"):
                PlantOptions(faults=faults)  # type: ignore[arg-type]
