"""Motions to random poses: they take the time and the way that the joints need."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from evaluation import load_robot
from host_programs import REPOSITORY
from numpy.typing import NDArray
from pinocchio_arm import PinocchioArm
from scipy.spatial.transform import Rotation

from thunder_controllers.experiments import draws
from thunder_controllers.host import Configuration, ControlSession, Guard, Library, Options, PoseWay
from thunder_dynamics.build import build
from thunder_dynamics.errors import RefusedMotionError
from thunder_dynamics.readers import load_model

FloatArray = NDArray[np.float64]

GEN3 = REPOSITORY / "test" / "data" / "gen3.urdf"
LAW = "cartesian_computed_torque"
STEP = 1e-3


@pytest.fixture(scope="module")
def ur5(build_cache: Path) -> Library:
    return Library(build(load_robot("ur5"), [LAW]) / "libur5.so")


@pytest.fixture(scope="module")
def gen3(build_cache: Path) -> Library:
    model = load_model(GEN3)
    return Library(build(model, [LAW]) / f"lib{model.name}.so")


def posture(rng: np.random.Generator, library: Library) -> FloatArray:
    return np.asarray(draws.postures(rng, library, 1)[0])


class Target(NamedTuple):
    """Position [m] and quaternion x y z w."""

    position: FloatArray
    orientation: FloatArray


def target(library: Library, q: FloatArray) -> Target:
    T = draws.poses(library, q[None])[0]
    return Target(T[:3, 3], Rotation.from_matrix(T[:3, :3]).as_quat())


class Loop:
    """A session that holds an arm at q."""

    def __init__(self, library: Library, q: FloatArray, **options: object) -> None:
        self.session = ControlSession(Configuration(library, law=LAW), Options(**options))
        self.session.activate(q)
        self.t, self.effort = 0.0, np.zeros(library.n_joints)
        self.update(q, np.zeros(library.n_joints))

    def update(self, q: FloatArray, qd: FloatArray) -> Guard:
        self.t += STEP
        return Guard(self.session.update(round(1e9 * self.t), self.t, q, qd, STEP, self.effort))

    def move(self, to: Target) -> PoseWay:
        return self.session.move_to_pose(to.position, to.orientation)


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["ur5", "gen3"])
def test_no_pose_that_can_be_reached_is_refused(robot: str, request: pytest.FixtureRequest) -> None:
    library, rng = request.getfixturevalue(robot), np.random.default_rng(47)
    ways, refused = [], 0
    for _ in range(10):
        q, goal = posture(rng, library), target(library, posture(rng, library))
        ways.append(Loop(library, q).move(goal))
        assert ways[-1].pace <= 4.0
        if not ways[-1].is_straight:
            try:
                assert Loop(library, q, moves_straight=True).move(goal).pace > 4.0
            except RefusedMotionError:
                refused += 1
    assert refused > 0 and any(way.is_straight for way in ways)
    assert any(way.pace > 1.0 for way in ways)
    assert robot == "gen3" or not all(way.is_straight for way in ways)


def test_a_pose_out_of_reach_is_refused(ur5: Library) -> None:
    q = np.array([0.2, -1.2, 1.4, -0.6, 0.8, 0.1])
    with pytest.raises(RefusedMotionError, match="out of reach|the velocity of"):
        Loop(ur5, q).move(Target(np.array([1.5, 0.0, 0.4]), np.array([0.0, 0.0, 0.0, 1.0])))


def test_what_is_returned_reads_as_a_sentence(ur5: Library) -> None:
    rng = np.random.default_rng(47)
    ways = [Loop(ur5, posture(rng, ur5)).move(target(ur5, posture(rng, ur5))) for _ in range(8)]
    texts = {str(way) for way in ways}
    assert "by all joints at once, as a straight line is not possible or takes long" in texts
    assert any(text.startswith("on a straight line, in 1.") for text in texts)


def test_the_arm_makes_them_within_its_limits(gen3: Library) -> None:
    """An arm of Pinocchio's, whose velocities are exact, as the description has it."""
    rng, kinds = np.random.default_rng(48), set()
    for _ in range(4):
        arm, goal = PinocchioArm(GEN3, posture(rng, gen3)), target(gen3, posture(rng, gen3))
        loop = Loop(gen3, arm.joints)
        way = loop.move(goal)
        kinds.add((way.is_straight, way.pace > 1.0))
        guards, fastest = Guard(0), np.zeros(gen3.n_joints)
        while loop.t < 0.1 or loop.session.snapshot().reference_source == "motion":
            guards |= loop.update(arm.joints, arm.velocity)
            arm.move(loop.effort, STEP)
            assert np.all((gen3.position_lower <= arm.joints) & (arm.joints <= gen3.position_upper))
            fastest = np.maximum(fastest, np.abs(arm.velocity))
        reached = target(gen3, arm.joints)
        assert not guards & (Guard.STOPPING | Guard.VELOCITY_EXCEEDED)
        assert np.all(fastest <= gen3.velocity_limit)
        assert np.linalg.norm(reached.position - goal.position) < 1e-3
        turn = Rotation.from_quat(goal.orientation) * Rotation.from_quat(reached.orientation).inv()
        assert turn.magnitude() < 5e-3
    assert len(kinds) > 1
