"""What a law takes up of efforts that no parameter explains: the proof, the rest of the error, bounds, hand-over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot
from laws import packed, unpacked

from thunder_controllers.host import Library
from thunder_controllers.laws.parts.gains import FASTEST, arm_inertia, damping_by_inertia
from thunder_controllers.laws.parts.worst_pose import fastest_damping
from thunder_controllers.laws.slotine_li import slotine_li
from thunder_controllers.simulation.faults.wrench import Wrench
from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_dynamics.build import build, law_builders
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law
from thunder_dynamics.model import RobotModel

pytestmark = pytest.mark.slow

FloatArray = np.ndarray
START = np.array([0.3, 0.9, -0.6])
SOFT = {"Lambda": 4.0, "K_d": [12.0, 5.0, 1.0]}
ALL = {"adapted_links": "all", "adaptation": "gradient"}
SLOW = {"gamma": 50.0, "least_inertia": 1e6, "adaptation_limit": 1e6}
"""Adaptation that meets no bound and no limit."""


@pytest.fixture(autouse=True)
def _cache(build_cache: Path) -> None:
    """Libraries are built where the session says."""


@cache
def arm(coulomb: float = 0.0) -> RobotModel:
    """The planar arm, with Coulomb friction of its first joint, and less in the others [N·m]."""
    model = load_robot("planar3r")
    links = (replace(x, coulomb=coulomb * share) for x, share in zip(model.links, (1.0, 0.5, 0.2), strict=True))
    return replace(model, links=tuple(links))


@cache
def law(coulomb: float = 0.0, **options: str) -> Law:
    return slotine_li(RobotExpressions(arm(coulomb)), options)


@cache
def library() -> Library:
    return Library(build(arm()) / "libplanar3r.so")


def wanted(t: float) -> dict[str, FloatArray]:
    size, frequency = np.array([0.3, 0.4, 0.5]), np.array([2.0, 3.0, 2.5])
    cosine, sine = np.cos(frequency * t), np.sin(frequency * t)
    return {"q": START + size * (1.0 - cosine), "qd": size * frequency * sine, "qdd": size * frequency**2 * cosine}


def away(t: float) -> dict[str, FloatArray]:
    """The same, from 0.2 rad away."""
    return {**wanted(t), "q": wanted(t)["q"] + 0.2}


def still(_: float) -> dict[str, FloatArray]:
    return {"q": START, "qd": np.zeros(3), "qdd": np.zeros(3)}


@dataclass(frozen=True)
class Run:
    """The state before each step, and what the step made of it."""

    t: FloatArray
    q: FloatArray
    qd: FloatArray
    effort: FloatArray
    state: Mapping[str, FloatArray]
    telemetry: Mapping[str, FloatArray]


def run(
    chosen: Law,
    seconds: float,
    rate: float,
    gains: Mapping[str, object] | None = None,
    reference: Callable[[float], Mapping[str, FloatArray]] = wanted,
    *,
    pushes: tuple[Wrench, ...] = (),
    most: float = np.inf,
    coulomb: float = 0.0,
    state: Mapping[str, object] | None = None,
    soft: Mapping[str, object] = SOFT,
    model: RobotModel | None = None,
    start: FloatArray = START,
) -> Run:
    """The law takes the model's arm along a reference; drives give `most` at most [N·m]."""
    period, gain_vector = 1.0 / rate, packed(chosen.gains, {**soft, **(gains or {})})
    model = model or arm(coulomb)
    plant = ModelPlant(model, model.joint_names, period, PlantOptions(faults=pushes, velocity="exact"))
    plant.reset(start)
    initial = {}
    if chosen.initial is not None:
        initial = unpacked(chosen.state, np.asarray(chosen.initial(start, 0.0 * start, gain_vector)).ravel())
    now = packed(chosen.state, {**initial, **(state or {})})
    effort, rows = plant.holding_effort(), []
    times = np.arange(round(seconds * rate)) / rate
    for t in times:
        q, qd = plant.q.copy(), plant.qd.copy()
        sample = packed(chosen.reference, reference(t))
        found = chosen.step(q, qd, effort, [], sample, now, gain_vector, period)
        effort, after, telemetry = (np.asarray(one).ravel() for one in found)
        effort = np.clip(effort, -most, most)
        rows.append((q, qd, effort, now, telemetry))
        now = after
        plant.step(effort)
    q, qd, applied, states, reported = (np.array(column) for column in zip(*rows, strict=True))
    return Run(times, q, qd, applied, _named(chosen.state, states), _named(chosen.telemetry, reported))


def _named(entries: Any, rows: FloatArray) -> dict[str, FloatArray]:
    if not entries:
        return {}
    parts = np.split(rows, np.cumsum([entry.size for entry in entries])[:-1], axis=1)
    return {entry.name: part for entry, part in zip(entries, parts, strict=True)}


def push(start: float, end: float | None = None, force: tuple[float, float, float] = (8.0, 0.0, -12.0)) -> Wrench:
    return Wrench(type="wrench", link="link3", start=start, end=end, force=force, profile=((0.0, 0.0), (0.05, 1.0)))


# --- the proof -------------------------------------------------------------------------------------------------------


def energy(seen: Run, gains: Mapping[str, Any]) -> FloatArray:
    """½ sᵀM s + ½ π̃ᵀΓπ̃ at every step, weights of Γ within a link one."""
    s = seen.telemetry["s"]
    M = np.array([library().evaluate("M", q) for q in seen.q])
    found = 0.5 * np.einsum("ti,tij,tj->t", s, M, s)
    if "pi_hat" in seen.state:
        wrong = seen.state["pi_hat"] - arm().pi
        found += 0.5 * gains["gamma"] * (wrong**2).sum(axis=1)
    return np.asarray(found)


def accumulated(rate: FloatArray, t: FloatArray) -> FloatArray:
    """Integral from the first step to each."""
    return np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * np.diff(t))])


def start_wrong(options: Mapping[str, str]) -> dict[str, object]:
    return {} if options.get("adaptation") == "none" else {"pi_hat": 1.2 * arm().pi}


@pytest.mark.parametrize("options", [{"adaptation": "none"}, ALL], ids=["fixed", "adaptive"])
def test_with_the_integral_v_falls_as_without(options: dict[str, str]) -> None:
    """V = ½ sᵀMs + ½ zᵀK_i z + ½ π̃ᵀΓπ̃ and ∫−sᵀK_d s: what is between them is of the first order in the period."""
    wrong = []
    for rate in (1000.0, 4000.0):
        gains = {**(SLOW if options is ALL else {}), "integral_bandwidth": 20.0}
        seen = run(law(disturbance="integral", **options), 1.0, rate, gains, away, state=start_wrong(options))
        K_d, s = np.array(SOFT["K_d"]), seen.telemetry["s"]
        V = energy(seen, gains) + 0.5 * (seen.telemetry["disturbance"] ** 2 / (20.0 * K_d)).sum(axis=1)
        wrong.append(np.abs(V - V[0] - accumulated(-(K_d * s**2).sum(axis=1), seen.t)).max() / V.max())
    assert wrong[0] < 0.1
    assert wrong[1] < 0.3 * wrong[0]


@pytest.mark.parametrize("rho", [0.25, 1.0, 3.0])
def test_with_the_observer_v_falls_by_what_is_claimed(rho: float) -> None:
    """∫−sᵀK_d s + sᵀr − ρ rᵀK_d⁻¹r, which is nowhere positive for ρ ≥ ¼."""
    wrong = []
    for rate in (1000.0, 4000.0):
        gains = {**SLOW, "observer_bandwidth": 20.0, "handover": rho, "rest_speed": 0.0, "disturbance_upper": 1e3}
        seen = run(law(disturbance="observed", **ALL), 1.0, rate, gains, away, state=start_wrong(ALL))
        K_d, s, r = np.array(SOFT["K_d"]), seen.telemetry["s"], seen.telemetry["external_torque"]
        falls = (-K_d * s**2 + s * r - rho * r**2 / K_d).sum(axis=1)
        assert (falls <= 1e-12).all() and np.abs(r).max() > 0.1
        V = energy(seen, gains)
        wrong.append(np.abs(V - V[0] - accumulated(falls, seen.t)).max() / (V[0] - V[-1]))
    assert wrong[0] < 0.1
    assert wrong[1] < 0.3 * wrong[0]


# --- what it is for --------------------------------------------------------------------------------------------------


CHOICES = ("none", "integral", "observed")


def test_a_constant_push_leaves_no_error() -> None:
    """Without, K_d Λ e is the torque of the push; with either e falls as e^(−kt) or faster."""
    left = {}
    for choice in CHOICES:
        chosen = law(adaptation="none", disturbance=choice)
        gains = (
            {}
            if choice == "none"
            else {"integral_bandwidth": 10.0}
            if choice == "integral"
            else {"observer_bandwidth": 10.0}
        )
        seen = run(chosen, 3.0, 500.0, gains, still, pushes=(push(0.2),))
        left[choice] = np.abs(seen.q[-1] - START).max()
    assert left["none"] > 0.05
    assert left["integral"] < 1e-3 * left["none"] and left["observed"] < 1e-3 * left["none"]


@pytest.mark.parametrize("choice", CHOICES[1:])
def test_friction_that_nothing_feeds_forward_is_taken_up(choice: str) -> None:
    """A joint that turns without turning back: what is left of Coulomb friction is a tenth at most."""
    errors = []
    for now in ("none", choice):
        chosen = law(0.8, adaptation="none", disturbance=now)
        slowly = lambda t: {"q": START + 0.3 * t, "qd": np.full(3, 0.3), "qdd": np.zeros(3)}  # noqa: E731
        seen = run(chosen, 2.0, 1000.0, reference=slowly, coulomb=0.8)
        errors.append(np.abs(seen.q[-1] - slowly(seen.t[-1])["q"])[0])
    assert errors[1] < 0.1 * errors[0]


def test_an_exact_model_leaves_nothing_to_take_up() -> None:
    seen = run(law(adaptation="none", disturbance="observed"), 1.0, 1000.0, {"observer_bandwidth": 50.0})
    assert np.abs(seen.telemetry["disturbance"]).max() < 0.01 * np.abs(seen.effort).max()


@pytest.mark.parametrize("choice", CHOICES[1:])
def test_no_joint_gets_more_than_its_bound(choice: str) -> None:
    bound = np.array([0.5, 0.3, 0.1])
    chosen = law(adaptation="none", disturbance=choice)
    seen = run(chosen, 1.0, 500.0, {"disturbance_upper": bound}, still, pushes=(push(0.2),))
    taken = np.abs(seen.telemetry["disturbance"])
    assert (taken <= bound + 1e-12).all() and (taken.max(axis=0)[:2] == pytest.approx(bound[:2]))


@pytest.mark.parametrize("choice", CHOICES[1:])
def test_nothing_winds_up_while_drives_give_no_more(choice: str) -> None:
    """A second at the drives' limit: the arm comes back from there as it does without, and swings no farther over.

    An integral of s that goes on meanwhile lets it swing over by 0.45 of the farthest.
    """
    hard = push(0.3, 1.3, (0.0, 0.0, -60.0))
    held = np.abs(run(law(adaptation="none", disturbance="none"), 0.1, 500.0, reference=still).effort).max()
    over = {}
    for now in ("none", choice):
        chosen = law(adaptation="none", disturbance=now)
        name = {"none": None, "integral": "integral_bandwidth", "observed": "observer_bandwidth"}[now]
        gains = {name: 10.0, "disturbance_upper": 1e3} if name else {}
        seen = run(chosen, 3.5, 500.0, gains, still, pushes=(hard,), most=1.3 * held)
        away = seen.q - START
        farthest = away[np.abs(away).max(axis=1).argmax()]
        joint = np.abs(farthest).argmax()
        assert (np.abs(seen.effort).max(axis=1) > 1.299 * held).mean() > 0.1
        over[now] = np.max(-np.sign(farthest[joint]) * away[:, joint]) / np.abs(farthest[joint])
        assert np.abs(away[-1]).max() < 0.02
    assert over[choice] < over["none"] + 0.2


def test_the_adaptation_learns_what_the_observer_has_taken_up() -> None:
    """At rest s tells gravity by e^(−K_o t) only: without the hand-over the observer keeps what is the last link's."""
    first = {"pi_hat": np.array([1.5, *np.ones(9)]) * arm().links[2].inertia.pi}
    gains = {"gamma": 0.5, "observer_bandwidth": 50.0}
    kept = {}
    for rho in (0.0, 1.0):
        seen = run(law(disturbance="observed"), 6.0, 500.0, {**gains, "handover": rho}, reference=wanted, state=first)
        kept[rho] = np.abs(seen.telemetry["external_torque"][seen.t > 5.0]).max()
    assert kept[1.0] < 0.5 * kept[0.0]


def test_friction_and_rotors_are_learned_beside_the_observer() -> None:
    """Adapted friction takes what the observer had at first: r falls to less than half."""
    chosen = law(0.8, disturbance="observed", friction="adapted", rotors="adapted", adaptation="none")
    seen = run(chosen, 8.0, 500.0, {"observer_bandwidth": 30.0}, coulomb=0.8, state={"friction_hat": np.zeros(6)})
    r = np.abs(seen.telemetry["external_torque"])
    assert r[seen.t > 6.0].mean() < 0.5 * r[seen.t < 2.0].mean()
    assert seen.state["friction_hat"][-1, 3] == pytest.approx(0.8, rel=0.3)


@pytest.mark.parametrize("choice", CHOICES[1:])
def test_the_arm_is_soft_in_a_contact_that_is_told(choice: str) -> None:
    """A push for half a second displaces it as far as without, within a quarter; a push that nobody tells does not."""
    far = {}
    for options in ({"disturbance": "none"}, {"disturbance": choice}, {"disturbance": choice, "contact": "freeze"}):
        gains = {"contact_threshold": [1.0, 0.8, 0.3]} if "contact" in options else {}
        seen = run(law(**options), 1.5, 500.0, gains, still, pushes=(push(1.0, 1.5),))
        far[len(options), options["disturbance"]] = np.abs(seen.q[-1] - START).max()
    free = far[1, "none"]
    assert far[2, choice] == pytest.approx(free, rel=0.25)
    assert far[1, choice] < 0.5 * free


# --- defaults --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["panda", "ur5", "planar3r"])
def test_damping_and_observer_together_are_what_a_loop_bears(name: str) -> None:
    """No eigenvalue of M⁻¹(K_d + M K_o) exceeds that of K_d alone by default, and none of its two parts is nothing."""
    robot = RobotExpressions(load_robot(name, without_rotors=True))
    gains = {entry.name: np.ravel(entry.default) for entry in slotine_li(robot, {"disturbance": "observed"}).gains}
    (K_o,), K_d = gains["observer_bandwidth"], gains["K_d"]
    together = arm_inertia(robot).largest(fastest_damping(K_d)) + K_o
    assert together <= 1.01 * FASTEST["default"] and together >= 0.95 * FASTEST["default"]
    assert 0.1 < K_o / FASTEST["default"] < 0.6


def test_where_rotors_may_be_that_nobody_states_it_is_slower() -> None:
    """By Routh: (K_d/I)(Λ + k) > Λ k of the joint whose unknown rotor is heaviest beside its K_d, twice over."""
    model = load_robot("ur5")
    silent = replace(model, links=tuple(replace(x, joint=replace(x.joint, rotor_inertia=None)) for x in model.links))
    robot = RobotExpressions(silent)
    gains = {entry.name: np.ravel(entry.default) for entry in slotine_li(robot, {"disturbance": "integral"}).gains}
    (k,), rotors = gains["integral_bandwidth"], np.array(silent.limits("effort")) / 300.0
    assert (damping_by_inertia(robot) / rotors * (10.0 + k) > 1.5 * 10.0 * k).all()
    known = slotine_li(RobotExpressions(load_robot("ur5", without_rotors=True)), {"disturbance": "integral"})
    (faster,) = (np.ravel(entry.default)[0] for entry in known.gains if entry.name == "integral_bandwidth")
    assert k < 0.5 * faster


# --- other laws ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pd_plus", "computed_torque"])
@pytest.mark.parametrize("choice", CHOICES[1:])
def test_a_push_leaves_no_error_in_laws_without_s(name: str, choice: str) -> None:
    left = {}
    for now in ("none", choice):
        chosen = law_builders()[name].load()(RobotExpressions(arm()), {"disturbance": now})
        gain = {"none": None, "integral": "integral_bandwidth", "observed": "observer_bandwidth"}[now]
        seen = run(chosen, 8.0, 500.0, {gain: 2.0} if gain else {}, still, pushes=(push(0.2),), soft={})
        left[now] = np.abs(seen.q[-1] - START).max()
    assert left["none"] > 1e-3
    assert left[choice] < 1e-2 * left["none"]


@pytest.mark.parametrize("choice", CHOICES[1:])
def test_a_push_leaves_no_error_of_the_pose(choice: str) -> None:
    model, q = load_robot("ur5"), np.array([0.3, -1.2, 1.5, -0.6, 1.3, 0.4])
    T = np.reshape(Library(build(model) / "libur5.so").evaluate("T_0_ee", q), (4, 4))
    pose = {"position": T[:3, 3], "rotation": T[:3, :3], "twist": np.zeros(6), "acceleration": np.zeros(6)}
    one = Wrench(type="wrench", link=model.links[-1].name, start=0.2, end=None, force=(1.0, -0.5, 1.5))
    left = {}
    for now in ("none", choice):
        chosen = law_builders()["cartesian_computed_torque"].load()(RobotExpressions(model), {"disturbance": now})
        gain = {"none": None, "integral": "integral_bandwidth", "observed": "observer_bandwidth"}[now]
        gains = {gain: 5.0} if gain else {}
        seen = run(chosen, 4.0, 500.0, gains, lambda _: pose, pushes=(one,), soft={}, model=model, start=q)
        left[now] = np.abs(seen.telemetry["pose_error"][-1]).max()
    assert left["none"] > 1e-3
    assert left[choice] < 1e-2 * left["none"]


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_pd_plus_with_the_integral_is_stable_at_every_pose(name: str) -> None:
    """Linear about rest, by eigenvalues; at four times the default the heaviest of the poses is not stable."""
    robot = RobotExpressions(load_robot(name, without_rotors=True))
    chosen = law_builders()["pd_plus"].load()(robot, {"disturbance": "integral"})
    gains = {entry.name: np.ravel(entry.default) for entry in chosen.gains}
    K_p, K_d, n = np.diag(gains["K_p"]), np.diag(gains["K_d"]), robot.n
    zero, fastest = np.zeros((n, n)), {1.0: -np.inf, 4.0: -np.inf}
    for M in arm_inertia(robot).samples[0]:
        inverse = np.linalg.inv(M)
        for factor in fastest:
            k = factor * gains["integral_bandwidth"]
            rows = [[zero, np.eye(n), zero], [-inverse @ K_p, -inverse @ K_d, -inverse], [k * K_p, k * K_d, zero]]
            fastest[factor] = max(fastest[factor], np.linalg.eigvals(np.block(rows)).real.max())
    assert fastest[1.0] < 0.0 < fastest[4.0]


def test_computed_torque_has_the_one_or_the_other() -> None:
    with pytest.raises(LawError, match="law computed_torque: disturbance=observed beside adaptation; valid: one of"):
        options = {"disturbance": "observed", "adaptation": "consistent"}
        law_builders()["computed_torque"].load()(RobotExpressions(arm()), options)


def test_pd_plus_learns_what_the_observer_has_taken_up() -> None:
    first = {"pi_hat": np.array([1.5, *np.ones(9)]) * arm().links[2].inertia.pi}
    kept = {}
    for rho in (0.0, 1.0):
        options = {"disturbance": "observed", "adaptation": "consistent", "adapted_links": ["link3"]}
        chosen = law_builders()["pd_plus"].load()(RobotExpressions(arm()), options)
        gains = {"gamma": 0.5, "handover": rho}
        seen = run(chosen, 6.0, 500.0, gains, state=first, soft={"K_d": [12.0, 5.0, 1.0], "K_p": [48.0, 20.0, 4.0]})
        kept[rho] = np.abs(seen.telemetry["disturbance"][seen.t > 5.0]).max()
    assert kept[1.0] < 0.5 * kept[0.0]
