"""A law over a record: what it learns, what it would have asked for, and what cannot be replayed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from evaluation import load_robot, robot_file
from observer_law import build_planar

from thunder_controllers.commands.identify import identify
from thunder_controllers.commands.replay import replay
from thunder_controllers.host import Library
from thunder_controllers.identification.information import regressor
from thunder_controllers.identification.motion import Fault, Record, RecordError, UnsoundError
from thunder_controllers.references.sinusoids import JointExcitation
from thunder_controllers.simulation.replay import Replay, replay_law
from thunder_dynamics.build import build
from thunder_dynamics.errors import BuildError, LawError, NameNotFoundError
from thunder_dynamics.inertia import Inertia

pytestmark = pytest.mark.slow

RATE, TIME = 500.0, 20.0
LEARNS = "slotine_li:adaptation=composite"
FRICTION = np.array([[0.5, 0.3], [0.4, 0.2], [0.3, 0.1]])
CENTRES = {3: (0.0, 0.5, 0.5), 6: (0.0, -1.2, 1.5, -0.3, 1.5, 0.0), 7: (0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8)}
"""Of the motions of a planar arm, a UR5 and a Panda: away from singular poses, where laws are damped [rad]."""
PAYLOAD = Inertia(0.5, np.array([0.1, 0.02, 0.0]), 1e-3 * np.eye(3)).pi


def library_of(robot: str, law: str, **options: Any) -> Library:
    return Library(build(load_robot(robot), [(law, options)]))


def record_of(library: Library, pi: np.ndarray, friction: np.ndarray, seed: int = 0) -> Record:
    """Of an arm with these parameters on a sum of sinusoids, without noise."""
    n = library.n_joints
    motion = JointExcitation(centre=CENTRES[n], amplitude=0.8 if n == 3 else 0.3, harmonics=3, seed=seed)
    q, qd, qdd = np.split(motion.sample(np.arange(round(TIME * RATE)) / RATE), 3, axis=1)
    rows = [library.evaluate("Yr", *one) @ pi for one in zip(q, qd, qd, qdd, strict=True)]
    return Record(q, np.array(rows) + friction[:, 0] * qd + friction[:, 1] * np.tanh(qd / 0.01), RATE)


def loaded(library: Library) -> np.ndarray:
    """π of the arm with the payload on its last link."""
    return np.concatenate([library.pi[:-10], library.pi[-10:] + PAYLOAD])


@pytest.fixture(scope="module")
def library(build_cache: Path) -> Library:
    return library_of("planar3r", "slotine_li", adaptation="composite", friction="adapted")


@pytest.fixture(scope="module")
def done(library: Library) -> Replay:
    record = record_of(library, loaded(library), FRICTION)
    return replay_law(library, "slotine_li", record, {}, {}, np.zeros((3, 3)))


def test_estimates_go_where_the_efforts_say(done: Replay, library: Library) -> None:
    """The payload and the friction are found, within seconds, and leave almost nothing of the efforts."""
    first, last = done.quarters
    motion = done.motion
    unknown = motion.effort - regressor(library, motion.q, motion.qd, motion.qdd) @ library.pi
    size = np.sqrt((unknown**2).mean(axis=0))
    assert (last < first).all() and (last < 0.05 * size).all()
    assert (done.left_by_last < 0.2 * size).all(), "what was found last holds for the whole record"
    assert abs(done.bodies[0, 0] - library.pi[-10] - PAYLOAD[0]) < 0.01
    np.testing.assert_allclose(done.estimates["friction_hat"][-1], FRICTION.T.ravel(), atol=0.1)
    assert done.links == ("link3",) and done.claimed is None


def test_deviations_are_those_that_telemetry_claims(done: Replay) -> None:
    steps = len(done.t)
    told = {"body_std": np.ones((steps, 10)), "pi_std": np.arange(10.0 * steps).reshape(steps, 10)}
    claimed = replace(done, telemetry=told).claimed
    assert claimed is not None and claimed.tolist() == [told["pi_std"][-1].tolist()]
    assert replace(done, telemetry={"pi_std": np.ones((steps, 20))}).claimed is None


@pytest.mark.parametrize(("robot", "law"), [("planar3r", "slotine_li"), ("ur5", "cartesian_backstepping")])
def test_a_law_that_knows_the_arm_asks_for_what_was_applied(robot: str, law: str, build_cache: Path) -> None:
    """The reference is the recorded motion: without an error nothing is left but the dynamics."""
    library = library_of(robot, law, adaptation="none")
    record = record_of(library, library.pi, np.zeros((library.n_joints, 3)))
    done = replay_law(library, law, record, {}, {}, np.zeros((library.n_joints, 3)))
    applied = np.sqrt((done.applied**2).mean())
    assert np.abs(done.asked - done.applied).max() < 0.02 * applied
    assert not done.links and not done.estimates
    assert (np.array(done.quarters) < 1e-3 * applied).all(), "the robot file explains the record"


def test_a_redundant_arm_is_asked_for_the_null_space_motion_that_was_recorded(build_cache: Path) -> None:
    """Else the tracking error, which nobody answers, would move the estimates; a posture that is given is kept."""
    library = library_of("panda", "cartesian_backstepping", adaptation="composite")
    none = np.zeros((7, 3))
    record = record_of(library, library.pi, none)
    follows, insists = (
        replay_law(library, "cartesian_backstepping", record, gains, {}, none) for gains in ({}, {"q_home": CENTRES[7]})
    )
    speed = np.abs(follows.motion.qd).max()
    assert np.abs(follows.telemetry["s"]).max() < 0.02 * speed < 0.2 * np.abs(insists.telemetry["s"]).max()
    np.testing.assert_allclose(follows.bodies[0], library.pi[-10:], rtol=0.01, atol=1e-3)


def test_gains_and_first_estimates_are_those_that_are_given(library: Library) -> None:
    record = record_of(library, loaded(library), FRICTION)
    start = {"pi_hat": loaded(library)[-10:], "friction_hat": FRICTION.T.ravel()}
    slow = {"prediction_weight": 0.0, "gamma": 1e3}
    done = replay_law(library, "slotine_li", record, slow, start, np.zeros((3, 3)))
    first, last = done.quarters
    np.testing.assert_allclose(done.bodies[0], start["pi_hat"], rtol=0.02, atol=1e-3)
    assert (first < 0.05).all() and (last < 0.05).all()
    with pytest.raises(NameNotFoundError):
        replay_law(library, "slotine_li", record, {"no_gain": 1.0}, {}, np.zeros((3, 3)))


def test_a_record_that_is_too_short_or_not_finite_is_refused(library: Library) -> None:
    record = record_of(library, library.pi, FRICTION)
    broken = record.effort.copy()
    broken[100, 1] = np.nan
    short = replace(record, q=record.q[:50], effort=record.effort[:50])
    for bad, said, fault in (
        (short, "50 samples at 500 Hz", Fault.SHORT),
        (
            replace(record, effort=broken),
            r"the effort of joint 2 is no number after 0\.2 s, 1 in all",
            Fault.NOT_MEASURED,
        ),
    ):
        with pytest.raises(UnsoundError, match=said) as caught:
            replay_law(library, "slotine_li", bad, {}, {}, np.zeros((3, 3)))
        assert caught.value.fault == fault


def write_csv(path: Path, record: Record, names: tuple[str, ...]) -> Path:
    head = ["t", *(f"{name}.{what}" for what in ("position", "effort") for name in names)]
    t = np.arange(len(record.q)) / record.rate
    np.savetxt(path, np.column_stack([t, record.q, record.effort]), delimiter=",", header=",".join(head), comments="")
    return path


def run(*arguments: object) -> Any:
    return CliRunner().invoke(replay, [str(robot_file("planar3r")), *map(str, arguments)], env={"COLUMNS": "200"})


def test_the_command_shows_estimates_beside_least_squares(library: Library, tmp_path: Path) -> None:
    file = write_csv(tmp_path / "record.csv", record_of(library, loaded(library), FRICTION), library.joint_names)
    law, out, plot = f"{LEARNS},friction=adapted", tmp_path / "replay.npz", tmp_path / "replay.png"
    shown = run(law, file, "--gains", "K_d=5+5+5", "--out", out, "--plot", plot)
    assert shown.exit_code == 0, shown.output
    assert "body of link3" in shown.output and "asked less applied" in shown.output and "joint_error" in shown.output
    assert plot.read_bytes().startswith(b"\x89PNG")
    told = json.loads(run(law, file, "--json").output)
    body = told["bodies"]["link3"]
    assert abs(body["at_the_end"][0] - body["least_squares"][0]) < 0.02 and body["claimed_std"] is None
    joints = told["joints"]
    np.testing.assert_allclose(joints["viscous_least_squares"], FRICTION[:, 0], atol=0.05)
    np.testing.assert_allclose(joints["coulomb"], FRICTION[:, 1], atol=0.1)
    assert "rotor" not in joints and "viscous, deviation" in shown.output
    with np.load(out) as arrays:
        assert arrays["estimates.pi_hat"].shape == (len(arrays["t"]), 10)
        assert arrays["asked"].shape == arrays["applied"].shape == (len(arrays["t"]), 3)
        assert arrays["innovation"].shape == arrays["unexplained"].shape == (len(arrays["t_motion"]), 3)
        assert arrays["telemetry.s"].shape == (len(arrays["t"]), 3)


def test_it_starts_from_what_was_identified(library: Library, tmp_path: Path) -> None:
    exact = record_of(library, loaded(library), FRICTION)
    noisy = replace(exact, effort=exact.effort + 0.1 * np.random.default_rng(0).normal(size=exact.effort.shape))
    file = write_csv(tmp_path / "record.csv", noisy, library.joint_names)
    law, estimates = f"{LEARNS},friction=adapted", tmp_path / "estimates.yaml"
    told = CliRunner().invoke(identify, [str(robot_file("planar3r")), str(file), "--law", law, "--out", str(estimates)])
    assert told.exit_code == 0, told.output
    without, given = (json.loads(run(law, file, "--json", *more).output) for more in ((), ("--estimates", estimates)))
    first = [np.array(one["joints"]["first_quarter"]) for one in (without, given)]
    assert (first[1] < 0.7 * first[0]).all()


def test_a_law_that_measures_more_than_joints_is_refused(library: Library, build_cache: Path) -> None:
    record = record_of(library, library.pi, FRICTION)
    with pytest.raises(LawError, match="a record"):
        replay_law(Library(build_planar("observer")), "observer", record, {}, {}, np.zeros((3, 3)))


def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "record.csv").write_text("t,a\n0,1\n")
    for arguments, error in (
        ((LEARNS, tmp_path / "record.csv"), RecordError),
        ((LEARNS, tmp_path / "none.csv"), RecordError),
        (("slotine_li:adaptation=unknown", tmp_path / "record.csv"), (LawError, BuildError)),
        (("no_law", tmp_path / "record.csv"), NameNotFoundError),
    ):
        assert isinstance(run(*arguments).exception, error)
