"""The plant agrees with an independent model of the same description, and each of its options does what it says."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import scipy.signal
from numpy.typing import NDArray
from plant_arms import ARM, ARM_JOINTS, PENDULUM, assembled

from thunder_controllers.simulation.options import Body, Friction, Noise, Payload, PlantOptions
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_dynamics.errors import DimensionError, NameNotFoundError, ScenarioError
from thunder_dynamics.inertia import Inertia

FloatArray = NDArray[np.float64]
RTOL = 1e-9
"""Two double-precision algorithms of some hundred operations agree to 1e-13; MuJoCo's principal axes cost a little."""

PERIOD = 1e-3
BOX = Payload(link="tool", mass=1.2, com=(0.05, -0.02, 0.1), inertia=(0.004, 0.0, 0.0, 0.003, 0.0, 0.005))


def _arm(**options: object) -> MujocoPlant:
    return MujocoPlant(assembled(ARM), ARM_JOINTS, PERIOD, PlantOptions(**options))  # type: ignore[arg-type]


def _mass_matrix(plant: MujocoPlant, q: FloatArray) -> FloatArray:
    """Columns of M from MuJoCo's own product, the same call in all its versions."""
    plant.reset(q)
    mujoco.mj_forward(plant.model, plant.data)
    columns = np.zeros((plant.n, plant.n))
    for k, unit in enumerate(np.eye(plant.n)):
        mujoco.mj_mulM(plant.model, plant.data, columns[k], unit)
    return columns.T


def _states(n: int, seed: int = 1) -> list[tuple[FloatArray, FloatArray]]:
    rng = np.random.default_rng(seed)
    return [(rng.uniform(-0.9, 0.9, n), rng.uniform(-2, 2, n)) for _ in range(10)]


def test_mass_matrix_and_gravity_agree_with_pinocchio() -> None:
    plant, model = _arm(), pin.buildModelFromXML(ARM)
    data = model.createData()
    for q, qd in _states(3):
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        np.testing.assert_allclose(_mass_matrix(plant, q), M, rtol=RTOL, atol=RTOL * np.abs(M).max())
        G = pin.computeGeneralizedGravity(model, data, q)
        np.testing.assert_allclose(plant.holding_effort(), G, rtol=RTOL, atol=RTOL * np.abs(G).max())
        plant.reset(q, qd)
        mujoco.mj_forward(plant.model, plant.data)
        bias = pin.nonLinearEffects(model, data, q, qd)
        np.testing.assert_allclose(plant.data.qfrc_bias, bias, rtol=RTOL, atol=RTOL * np.abs(bias).max())


def test_end_effector_pose_agrees_with_pinocchio() -> None:
    plant, model = _arm(), pin.buildModelFromXML(ARM)
    assert plant.ee_link == "tip"
    data = model.createData()
    states = np.array([q for q, _ in _states(3)])
    positions, rotations = plant.poses(states)
    for k, q in enumerate(states):
        pin.framesForwardKinematics(model, data, q)
        expected = data.oMf[model.getFrameId("tip")]
        np.testing.assert_allclose(positions[k], expected.translation, atol=1e-12)
        np.testing.assert_allclose(rotations[k], expected.rotation, atol=1e-12)
        np.testing.assert_array_equal(plant.pose(q)[0], positions[k])


def test_true_inertia_merges_what_is_fixed_to_a_link() -> None:
    model = pin.buildModelFromXML(ARM)  # Pinocchio merges fixed links as well
    for index, link in enumerate(("l1", "l2", "l3")):
        expected = model.inertias[index + 1]
        found = _arm().true_inertia(link)
        np.testing.assert_allclose(found.mass, expected.mass, rtol=1e-12)
        np.testing.assert_allclose(found.com, expected.lever, atol=1e-12)
        np.testing.assert_allclose(found.inertia_com, expected.inertia, atol=1e-12)


def test_joint_order_is_the_controllers() -> None:
    swapped = MujocoPlant(assembled(ARM), ("j3", "j1", "j2"), PERIOD)
    plain = _arm()
    q = np.array([0.1, 0.2, 0.3])
    swapped.reset(q[[2, 0, 1]])
    plain.reset(q)
    np.testing.assert_allclose(swapped.holding_effort(), plain.holding_effort()[[2, 0, 1]], atol=1e-12)
    effort = np.array([3.0, -2.0, 5.0])
    for _ in range(20):
        plain.step(effort)
        swapped.step(effort[[2, 0, 1]])
    np.testing.assert_allclose(swapped.q, plain.q[[2, 0, 1]], atol=1e-12)


def test_payload_equals_the_merged_body() -> None:
    own, carried = _arm().true_inertia("l3"), _arm(payloads=[BOX]).true_inertia("l3")
    assert carried.mass == pytest.approx(own.mass + 1.2, rel=1e-12)
    merged = _arm(inertia={"tool": _as_body(_arm().true_inertia("tool") + BOX.to_inertia())})
    np.testing.assert_allclose(merged.true_inertia("l3").pi, carried.pi, atol=1e-12)


def _as_body(inertia: Inertia) -> Body:
    dyn = inertia.dyn.tolist()
    return Body(mass=dyn[0], com=tuple(dyn[1:4]), inertia=tuple(dyn[4:]))


def test_compensating_robot_holds_its_description_but_not_its_payload() -> None:
    still = MujocoPlant(assembled(ARM), ARM_JOINTS, PERIOD, gravity_compensated=True)
    loaded = MujocoPlant(assembled(ARM), ARM_JOINTS, PERIOD, PlantOptions(payloads=(BOX,)), gravity_compensated=True)
    for plant in (still, loaded):
        plant.reset([0.3, -0.4, 0.2])
    np.testing.assert_allclose(still.holding_effort(), 0.0, atol=1e-12)
    assert np.abs(loaded.holding_effort()).max() > 1.0
    for _ in range(50):
        still.step(np.zeros(3))
        loaded.step(np.zeros(3))
    np.testing.assert_allclose(still.q, [0.3, -0.4, 0.2], atol=1e-9)
    assert np.abs(loaded.q - [0.3, -0.4, 0.2]).max() > 1e-3


def test_coulomb_friction_holds_and_then_yields() -> None:
    """The hinge at rest, hanging: below Fc nothing moves (up to MuJoCo's soft constraint), above it everything does."""
    moved = []
    for torque in (0.8, 1.2):
        plant = MujocoPlant(assembled(PENDULUM), ("hinge",), PERIOD, PlantOptions(friction=Friction(coulomb=1.0)))
        for _ in range(200):
            plant.step(np.array([torque]))
        moved.append(abs(plant.q[0]))
    assert moved[0] < 3e-3 < 5e-3 < moved[1]


def test_friction_per_joint_needs_one_value_each() -> None:
    with pytest.raises(ScenarioError, match=re.escape("plant: friction: 2 values; valid: one, or one per joint (3)")):
        _arm(friction={"viscous": [0.1, 0.2]})


def test_a_delay_may_end_between_control_steps() -> None:
    """Of 4 ms control steps: the command of 5 ms ago is that of the step before for 1 ms, then this one's."""
    coarse = MujocoPlant(assembled(PENDULUM), ("hinge",), 0.004, PlantOptions(torque_delay=0.005, substeps=4))
    fine = MujocoPlant(assembled(PENDULUM), ("hinge",), 0.001, PlantOptions(torque_delay=0.005))
    for plant in (coarse, fine):
        plant.reset([0.3])
    for k in range(8):
        effort = np.array([float(k % 3)])
        coarse.step(effort)
        for _ in range(4):
            fine.step(effort)
        assert coarse.q == fine.q


def test_a_delay_that_is_no_multiple_of_the_step_is_an_error() -> None:
    expected = "plant: torque_delay: 0.0015 s is not a whole number of integration steps; valid: a multiple of 0.001 s"
    with pytest.raises(ScenarioError, match=re.escape(expected)):
        _arm(torque_delay=0.0015)


def test_noise_has_the_stated_deviation_and_is_reproducible() -> None:
    noise = Noise(q_std=1e-3, qd_std=(1e-2, 2e-2, 3e-2))
    plant = MujocoPlant(assembled(ARM), ARM_JOINTS, PERIOD, PlantOptions(noise=noise), seed=4)
    samples = np.empty((2, 4000, 6))
    for run in samples:
        plant.reset([0.1, 0.2, 0.3])
        for row in run:
            plant.measure(row[:3], row[3:])
    np.testing.assert_array_equal(samples[0], samples[1])
    # The deviation of a deviation from N samples is σ/√(2N) = 1.1 %; five of those.
    np.testing.assert_allclose(samples[0].std(axis=0), [1e-3] * 3 + [1e-2, 2e-2, 3e-2], rtol=0.056)
    np.testing.assert_allclose(samples[0].mean(axis=0)[:3], [0.1, 0.2, 0.3], atol=5e-3 / np.sqrt(4000))
    other = MujocoPlant(assembled(ARM), ARM_JOINTS, PERIOD, PlantOptions(noise=noise), seed=5)
    other.reset([0.1, 0.2, 0.3])
    q, qd = np.empty(3), np.empty(3)
    other.measure(q, qd)
    assert not np.array_equal(q, samples[0][0, :3])


def test_quantised_positions_are_multiples_of_the_resolution() -> None:
    plant = _arm(noise={"q_resolution": 0.01})
    plant.reset([0.123, -0.456, 0.789], [0.111, 0.0, 0.0])
    q, qd = np.empty(3), np.empty(3)
    plant.measure(q, qd)
    np.testing.assert_allclose(q, [0.12, -0.46, 0.79], atol=1e-15)
    np.testing.assert_array_equal(qd, [0.111, 0.0, 0.0])


def test_differenced_velocities_are_a_low_pass_of_measured_positions() -> None:
    """Against SciPy's filter; the first is the true one, as of a filter that has settled."""
    plant = _arm(noise={"q_std": 1e-5, "q_resolution": 1e-5}, velocity="differences", velocity_cutoff=40.0)
    plant.reset([0.1, 0.2, 0.1], [0.5, -0.5, 0.3])
    q, qd = np.zeros((2, 200, 3))
    for k in range(200):
        plant.measure(q[k], qd[k])
        plant.step(np.array([1.0, -2.0, 3.0]))
    np.testing.assert_array_equal(qd[0], [0.5, -0.5, 0.3])
    pole = np.exp(-2.0 * np.pi * 40.0 * PERIOD)
    expected, _ = scipy.signal.lfilter(
        [1.0 - pole], [1.0, -pole], np.diff(q, axis=0) / PERIOD, axis=0, zi=[pole * qd[0]]
    )
    np.testing.assert_allclose(qd[1:], expected, atol=1e-12)


def test_brakes_settle_the_filter_of_velocities() -> None:
    plant = _arm(velocity="differences", velocity_cutoff=1.0)
    q, qd = np.zeros((2, 3))
    plant.reset([0.1, 0.2, 0.1], [0.5, -0.5, 0.3])
    plant.measure(q, qd)
    plant.brake()
    plant.measure(q, qd)
    np.testing.assert_array_equal(qd, 0.0)


def _swing(integrator: str, substeps: int) -> FloatArray:
    """Where the arm is after half a second under torques that change every millisecond."""
    plant = _arm(integrator=integrator, substeps=substeps)
    plant.reset([0.1, 0.2, 0.1], [0.3, -0.2, 0.1])
    for k in range(500):
        plant.step(plant.g0[2] * 0.1 * np.array([np.sin(0.02 * k), np.cos(0.03 * k), -5.0]))
    return plant.q


def test_default_integrator_is_the_more_accurate_for_its_cost() -> None:
    """RK4 costs less than four implicitfast steps and is more than a thousand times closer to a 16× finer step."""
    exact = _swing("rk4", 16)
    error = {key: np.abs(_swing(*key) - exact).max() for key in (("rk4", 1), ("implicitfast", 1), ("implicitfast", 4))}
    assert PlantOptions().integrator == "rk4"
    assert error["rk4", 1] < 1e-3 * error["implicitfast", 4] < 1e-3 * error["implicitfast", 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ee_link": "hand"}, "plant: ee_link: the plant has no link 'hand'; valid: base, l1, l2, l3, tool, tip"),
        ({"payloads": [{"link": "hand", "mass": 1.0}]}, "plant: payloads: the plant has no link 'hand'"),
        ({"inertia": {"hand": {"mass": 1.0}}}, "plant: inertia: the plant has no link 'hand'"),
    ],
)
def test_unknown_links_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(NameNotFoundError, match=re.escape(message)):
        _arm(**options)


@pytest.mark.parametrize(
    ("urdf", "message"),
    [
        (PENDULUM.replace('"hinge"', '"knee"'), "the plant's joints are knee"),
        (ARM.replace('izz="0.013"', 'izz="5"'), "MuJoCo cannot build it: Error: inertia must satisfy"),
    ],
)
def test_a_bad_description_is_one_typed_error(urdf: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(message)):
        MujocoPlant(assembled(urdf), ARM_JOINTS if "j1" in urdf else ("hinge",), PERIOD)


def test_what_never_moves_need_not_be_a_body() -> None:
    """As the antenna on the base of a public TIAGo, whose inertia has a negative principal moment."""
    inertia = '<inertia ixx="2e-8" ixy="6e-8" ixz="1e-8" iyy="3e-8" iyz="8e-9" izz="4e-8"/>'
    inertial = f'<inertial><mass value="1e-6"/>{inertia}</inertial>'
    antenna = f"""<link name="mast"/><link name="antenna">{inertial}</link>
        <joint name="foot" type="fixed"><parent link="base"/><child link="mast"/></joint>
        <joint name="top" type="fixed"><parent link="mast"/><child link="antenna"/></joint></robot>"""
    plain, extended = (
        MujocoPlant(assembled(urdf), ("hinge",), PERIOD) for urdf in (PENDULUM, PENDULUM.replace("</robot>", antenna))
    )
    for plant in (plain, extended):
        plant.reset([0.3])
        plant.step(np.array([0.1]))
    assert plain.q == extended.q


def test_a_state_of_the_wrong_shape_is_an_error() -> None:
    with pytest.raises(DimensionError, match=r"q has shape \(2,\)"):
        _arm().reset([0.0, 0.0])
    with pytest.raises(DimensionError, match="not finite"):
        _arm().reset([0.0, 0.0, np.nan])


def test_brake_stops_the_arm_where_it_is_and_fills_the_delay_with_what_holds_it() -> None:
    plant = _arm(torque_delay=0.003)
    plant.reset([0.2, 0.3, 0.1], [1.0, -1.0, 0.5])
    for _ in range(10):
        plant.step(np.zeros(3))
    q = plant.q
    plant.brake()
    np.testing.assert_array_equal(plant.q, q)
    np.testing.assert_array_equal(plant.qd, np.zeros(3))
    np.testing.assert_array_equal(plant.effort, plant.holding_effort())
    plant.step(np.full(3, 50.0))  # acts three steps later
    np.testing.assert_allclose(plant.qd, np.zeros(3), atol=1e-9)  # one step of rk4 beside an equilibrium


def test_drives_give_their_gain_of_the_command_and_hold_the_arm_by_more_of_it() -> None:
    gain, rng = np.array([0.5, 1.0, 1.3]), np.random.default_rng(0)
    plain, other = _arm(), _arm(drive_gain=tuple(gain.tolist()))
    for plant in (plain, other):
        plant.reset([0.2, 0.3, 0.1])
    np.testing.assert_allclose(gain * other.holding_effort(), plain.holding_effort(), rtol=1e-12)
    for _ in range(30):
        wanted = plain.holding_effort() + rng.uniform(-3.0, 3.0, 3)
        plain.step(wanted)
        other.step(wanted / gain)
    np.testing.assert_allclose(other.q, plain.q, rtol=1e-12)


def test_effort_is_the_command_that_acts_and_no_view_of_the_callers_array() -> None:
    plant = _arm(torque_delay=0.002)
    plant.reset(np.zeros(3))
    held, command = plant.holding_effort(), np.array([1.0, 2.0, 3.0])
    for _ in range(2):
        plant.step(command)
        np.testing.assert_allclose(plant.effort, held, atol=1e-12)
    plant.step(np.zeros(3))
    command[:] = 9.0
    np.testing.assert_array_equal(plant.effort, [1.0, 2.0, 3.0])


def test_a_detached_payload_is_gone_and_the_state_stays() -> None:
    plant = _arm()
    plant.reset([0.2, 0.3, 0.1], [0.1, 0.2, 0.3])
    holding, own = plant.holding_effort(), plant.true_inertia("tool")
    plant.attach(BOX)
    assert np.abs(plant.holding_effort() - holding).max() > 1.0
    q, qd = plant.q, plant.qd
    plant.detach()
    np.testing.assert_array_equal(plant.q, q)
    np.testing.assert_array_equal(plant.qd, qd)
    np.testing.assert_allclose(plant.holding_effort(), holding, rtol=RTOL)
    np.testing.assert_allclose(plant.true_inertia("tool").pi, own.pi, atol=1e-12)
