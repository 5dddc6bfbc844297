"""The identifying motion: at rest at both ends, within every limit, and it tells far more than other motions."""

from __future__ import annotations

import numpy as np
import pytest
from evaluation import load_robot

from thunder_controllers.host import Library
from thunder_controllers.identification.fourier import JointFourier, PoseOfJoints
from thunder_controllers.identification.information import (
    SCALE,
    SIGN_SPEED,
    columns_of,
    explain,
    joint_terms,
    regressor,
)
from thunder_controllers.identification.limits import MotionBounds
from thunder_controllers.identification.search import identifying_motion
from thunder_controllers.references.sinusoids import JointExcitation
from thunder_controllers.references.trajectories import ACCELERATION, POSITION, ROTATION, TWIST
from thunder_dynamics.build import build
from thunder_dynamics.errors import DimensionError, ScenarioError

pytestmark = pytest.mark.slow

START = {"panda": (0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8), "ur5": (0.0, -1.2, 1.4, -1.0, 1.2, 0.3)}
SHARE = 0.7
TIMES = np.linspace(0.0, 10.0, 2001)


@pytest.fixture(scope="module", params=START)
def library(request: pytest.FixtureRequest, build_cache: object) -> Library:
    folder = build(load_robot(request.param))
    return Library(folder / f"lib{request.param}.so")


def _bounds(library: Library, **changes: object) -> MotionBounds:
    centre = library.evaluate("T_0_ee", START[library.robot])[:3, 3]
    box = (tuple((centre - 0.3).tolist()), tuple((centre + 0.3).tolist()))
    return MotionBounds.model_validate({"share": SHARE, "workspace": box, **changes})


def _motion(library: Library) -> JointFourier:
    return identifying_motion(library, library.n_joints - 1, START[library.robot], _bounds(library))


def _told(library: Library, states: tuple[np.ndarray, ...]) -> np.ndarray:
    """Singular values of the last link's regressor in kilograms, less what friction and rotors can be."""
    Y = regressor(library, *states)[:, :, columns_of(library.n_joints - 1)] / SCALE
    qd, qdd = states[1:]
    _, W = explain(Y, joint_terms(qd, np.tanh(qd / SIGN_SPEED), qdd))
    return np.asarray(np.linalg.svd(W.reshape(-1, len(SCALE)), compute_uv=False))


def test_it_rests_at_the_start_once_in_a_period(library: Library) -> None:
    q, qd, qdd = _motion(library).derivatives(np.array([0.0, 10.0, 20.0]))
    np.testing.assert_allclose(q, [START[library.robot]] * 3, atol=1e-12)
    np.testing.assert_allclose([qd, qdd], 0.0, atol=1e-10)


def test_velocities_and_accelerations_are_derivatives(library: Library) -> None:
    motion, step = _motion(library), 1e-5
    (q0, v0, _), (_, v, a), (q1, v1, _) = (motion.derivatives(TIMES + d) for d in (-step, 0.0, step))
    np.testing.assert_allclose((q1 - q0) / (2 * step), v, atol=1e-8)
    np.testing.assert_allclose((v1 - v0) / (2 * step), a, atol=1e-8)
    before, now, after = (motion.further_rates(TIMES + d) for d in (-step, 0.0, step))
    (*_, a0), (*_, a1) = (motion.derivatives(TIMES + d) for d in (-step, step))
    np.testing.assert_allclose((a1 - a0) / (2 * step), now["jerk"], atol=1e-7)
    np.testing.assert_allclose((after["jerk"] - before["jerk"]) / (2 * step), now["snap"], atol=1e-7)


def test_it_keeps_every_limit_with_its_margin(library: Library) -> None:
    bounds, (q, qd, qdd) = _bounds(library), _motion(library).derivatives(TIMES)
    slack = 1.0 + 1e-3  # between the times at which the search looks
    lower, upper = library.position_lower, library.position_upper
    assert (np.abs(q - 0.5 * (lower + upper)) <= 0.5 * SHARE * (upper - lower) * slack).all()
    assert (np.abs(q - START[library.robot]) <= np.array(bounds.reach) * slack).all()
    assert (np.abs(qd) <= np.fmin(bounds.velocity, SHARE * library.velocity_limit) * slack).all()
    assert (np.abs(qdd) <= np.fmin(bounds.acceleration, SHARE * library.acceleration_limit) * slack).all()
    effort = regressor(library, q, qd, qdd) @ library.pi
    assert (np.abs(effort) <= SHARE * library.effort_limit * slack).all()
    places = np.array([library.evaluate("T_0_ee", one)[:3, 3] for one in q])
    assert bounds.workspace is not None
    assert (places >= np.array(bounds.workspace[0]) - 1e-3).all()
    assert (places <= np.array(bounds.workspace[1]) + 1e-3).all()
    J = np.array([library.evaluate("J_ee", one) for one in q])
    clearance = 1.0 / np.trace(np.linalg.inv(J @ J.transpose(0, 2, 1)), axis1=1, axis2=2)
    assert clearance.min() >= 0.3 * clearance[0] / slack


@pytest.mark.parametrize("start", [(-0.69, -1.1, -0.98, -1.34, 1.4, 1.9), (-1.62, -2.16, 1.21, -1.48, -1.76, 1.53)])
def test_a_singularity_nearby_leaves_it_fast(start: tuple[float, ...], build_cache: object) -> None:
    """From these, random motions of the same speed pass one; a search from there ended at 0.01 and 0.5 rad/s."""
    library = Library(build(load_robot("ur5")))
    _, qd, _ = identifying_motion(library, 5, start, MotionBounds(share=SHARE)).derivatives(TIMES)
    assert (np.abs(qd).max(axis=0) > 0.8).all()  # 0.88 to 1: where the search ends depends on the last bit


def test_it_leaves_room_for_a_load(library: Library) -> None:
    """Efforts of a point mass by finite differences of where it goes; that without a load leaves less for it."""
    load, step = 0.95 * _largest_load(library), 1e-4
    efforts = []
    for bounds in (_bounds(library), _bounds(library, load=load)):
        motion = identifying_motion(library, library.n_joints - 1, START[library.robot], bounds)
        p = [
            [library.evaluate("T_0_ee", q)[:3, 3] for q in motion.sample(t)[:, : library.n_joints]]
            for t in (TIMES + h for h in (-step, 0.0, step))
        ]
        force = load * (np.diff(p, 2, axis=0)[0] / step**2 + [0.0, 0.0, 9.81])
        q, qd, qdd = motion.derivatives(TIMES)
        turned = np.array([library.evaluate("J_ee", one)[:3].T @ f for one, f in zip(q, force, strict=True)])
        efforts.append(np.abs(regressor(library, q, qd, qdd) @ library.pi + turned) / library.effort_limit)
    without, with_room = (effort.max() for effort in efforts)
    assert with_room <= SHARE * (1.0 + 1e-3)
    assert without > with_room


def _largest_load(library: Library) -> float:
    """That the share of the efforts holds at the start [kg]."""
    start = np.array(START[library.robot])
    G, weight = library.evaluate("G", start).ravel(), 9.81 * library.evaluate("J_ee", start)[2]
    limit = SHARE * np.asarray(library.effort_limit)
    return float(np.min((limit - np.sign(weight) * G) / np.fmax(np.abs(weight), 1e-6)))


def test_they_are_told_better_than_by_random_phases(library: Library) -> None:
    """The geometric mean of the standard deviations that the same noise leaves; limits are not even kept by those."""
    mine = _told(library, _motion(library).derivatives(TIMES))
    for seed in range(3):
        random = JointExcitation(centre=START[library.robot], amplitude=0.6, harmonics=5, seed=seed)
        theirs = _told(library, tuple(np.split(random.sample(TIMES), 3, axis=1)))
        assert np.exp(np.log(theirs / mine).mean()) < 0.5


def test_the_pose_along_it_has_exact_derivatives(library: Library) -> None:
    pose, step = PoseOfJoints(library, _motion(library)), 1e-5
    before, rows, after = (pose.sample(TIMES[::50] + d) for d in (-step, 0.0, step))
    np.testing.assert_allclose(
        (after[:, POSITION] - before[:, POSITION]) / (2 * step), rows[:, TWIST][:, :3], atol=1e-7
    )
    np.testing.assert_allclose((after[:, TWIST] - before[:, TWIST]) / (2 * step), rows[:, ACCELERATION], atol=1e-6)
    R0, R, R1 = (one[:, ROTATION].reshape(-1, 3, 3).transpose(0, 2, 1) for one in (before, rows, after))
    spin = (R1 - R0) / (2 * step) @ R.transpose(0, 2, 1)
    omega = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    np.testing.assert_allclose(omega, rows[:, TWIST][:, 3:], atol=1e-6)


def test_the_seed_decides(build_cache: object) -> None:
    arm, bounds = Library(build(load_robot("planar3r"))), MotionBounds(share=SHARE, clearance=0.0)

    def rows(seed: int) -> np.ndarray:
        return identifying_motion(arm, 2, (0.0, 0.5, 0.5), bounds, harmonics=2, seed=seed).sample(TIMES)

    first = rows(1)
    identifying_motion.cache_clear()
    np.testing.assert_array_equal(first, rows(1))
    assert np.abs(first - rows(2)).max() > 1e-2


def test_a_start_beyond_the_limits_is_refused(library: Library) -> None:
    bounds, far = _bounds(library), tuple(0.99 * library.position_upper)
    with pytest.raises(ScenarioError, match="within"):
        identifying_motion(library, 0, far, bounds)
    with pytest.raises(DimensionError, match="2 values of q"):
        identifying_motion(library, 0, (0.0, 0.0), bounds)
    elsewhere = _bounds(library, workspace=((5.0, 5.0, 5.0), (6.0, 6.0, 6.0)))
    with pytest.raises(ScenarioError, match="place of the start"):
        identifying_motion(library, 0, START[library.robot], elsewhere)


def test_one_of_the_whole_arm_tells_of_all_base_parameters(build_cache: object) -> None:
    """Half as much again of each as the best motion for the last link and sums of sinusoids; a rotor takes one of 9."""
    library, start = Library(build(load_robot("planar3r"))), (0.0, 0.5, 0.5)
    bounds = MotionBounds(share=SHARE, clearance=0.0)

    def told(states: tuple[np.ndarray, ...]) -> float:
        Y = regressor(library, *states) / np.tile(SCALE, 3) / library.effort_limit[:, None]
        _, W = explain(Y, joint_terms(states[1], np.tanh(states[1] / SIGN_SPEED), states[2]))
        values = np.linalg.svd(W.reshape(-1, 30), compute_uv=False)
        assert (values > 1e-6 * values[0]).sum() == 8
        return float(2.0 * np.log(values[:8]).sum())

    whole, last = (told(identifying_motion(library, link, start, bounds).derivatives(TIMES)) for link in (None, 2))
    sums = (JointExcitation(centre=start, amplitude=0.5, harmonics=5, seed=seed).sample(TIMES) for seed in range(3))
    assert whole > 8 * np.log(1.5) + max(last, *(told(tuple(np.split(rows, 3, axis=1))) for rows in sums))
