"""The law for elastic joints: inverse springs, its Lyapunov function, stiff limits, bad input, the elastic Panda."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from evaluation import load_robot
from laws import packed, unpacked
from laws import step as step_of

from thunder_controllers.laws.elastic.odd import Odd
from thunder_controllers.laws.slotine_li import slotine_li
from thunder_controllers.laws.slotine_li_elastic import slotine_li_elastic
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.joints import Elasticity
from thunder_dynamics.law import Law
from thunder_dynamics.model import RobotModel

FloatArray = np.ndarray
FIXED = {"adaptation": "none"}
ADAPTED = {"adaptation": "none", "elasticity": "adapted"}
SOFT = Elasticity((400.0,), (), (0.3,), 0.08)
DAMPED = Elasticity((400.0, 900.0), (2.0, 0.3), (0.3, 0.1), 0.08)
INSTANT = 1e-6
"""Step over which the difference of a law's state is its derivative [s]."""


def arm(*springs: Elasticity | None) -> RobotModel:
    """The planar arm with these springs, without friction."""
    model = load_robot("planar3r")
    links = [
        replace(x, friction=(), coulomb=0.0, joint=replace(x.joint, elastic=e, rotor_inertia=None if e else 0.05))
        for x, e in zip(model.links, springs, strict=True)
    ]
    return replace(model, links=tuple(links))


ARMS = {
    "all elastic": arm(SOFT, SOFT, SOFT),
    "one rigid": arm(replace(SOFT, K=(400.0, 0.0)), None, replace(SOFT, K=(700.0, 5e3))),
    "damped": arm(DAMPED, DAMPED, DAMPED),
    "damped, undamped and rigid": arm(DAMPED, None, replace(DAMPED, D=(0.0, 0.0))),
}


class Loop:
    """Links, motors and the law as one differential equation, by CasADi's functions; y stacks q, x, q̇, ẋ and the state.

    Args:
        model: What the law believes.
        truth: The arm.
    """

    def __init__(
        self,
        model: RobotModel,
        options: Mapping[str, Any] = FIXED,
        gains: Mapping[str, object] | None = None,
        truth: RobotModel | None = None,
    ) -> None:
        self.robot, self.n = RobotExpressions(truth or model), model.n
        self.law: Law = slotine_li_elastic(RobotExpressions(model), options)
        self.gain_vector = packed(self.law.gains, gains)
        self.gains = unpacked(self.law.gains, self.gain_vector)
        self.joints = list(model.elastic_joints)
        self.elastic = list((truth or model).elasticities())
        self.m = len(self.joints)

    def of(self, name: str, *arguments: FloatArray) -> FloatArray:
        return np.asarray(self._function(name)(*arguments))

    @cache  # noqa: B019 - loops live as long as a test
    def _function(self, name: str) -> ca.Function:
        return self.robot.function(name)

    def reference(self, t: float) -> dict[str, FloatArray]:
        w, a, p = np.array([2.0, 3.0, 2.5]), np.array([0.3, 0.2, 0.25]), np.array([0.0, 1.0, 2.0])
        s, c = a * np.sin(w * t + p), a * np.cos(w * t + p)
        return {"q": s + 0.2, "qd": w * c, "qdd": -(w**2) * s, "jerk": -(w**3) * c, "snap": w**4 * s}

    def split(self, y: FloatArray) -> tuple[FloatArray, ...]:
        return tuple(np.split(y, np.cumsum([self.n, self.m, self.n, self.m])))

    def start(self, seed: int, state: Mapping[str, object] | None = None, away: float = 0.05) -> FloatArray:
        """Near the reference, motors near where they hold the links."""
        rng, at = np.random.default_rng(seed), self.reference(0.0)
        q, qd = at["q"] + away * rng.uniform(-1, 1, self.n), at["qd"] + away * rng.uniform(-1, 1, self.n)
        first = (
            {}
            if self.law.initial is None
            else unpacked(self.law.state, np.asarray(self.law.initial(q, qd, self.gain_vector)).ravel())
        )
        x = q[self.joints] + away * rng.uniform(-0.5, 0.5, self.m)
        return np.concatenate([q, x, qd, qd[self.joints], packed(self.law.state, {**first, **(state or {})})])

    def step(self, t: float, y: FloatArray, dt: float) -> tuple[FloatArray, FloatArray, dict[str, FloatArray]]:
        q, x, qd, xd, state = self.split(y)
        at, seen = self.reference(t), {"motor_position": q.copy(), "motor_velocity": qd.copy()}
        seen["motor_position"][self.joints], seen["motor_velocity"][self.joints] = x, xd
        given = packed(self.law.measurements, seen), packed(self.law.reference, at), state, self.gain_vector, dt
        found = self.law.step(q, qd, np.zeros(self.n), *given)
        effort, after, telemetry = (np.asarray(value).ravel() for value in found)
        return effort, after, unpacked(self.law.telemetry, telemetry)

    def derivative(self, t: float, y: FloatArray) -> FloatArray:
        q, x, qd, xd, state = self.split(y)
        effort, after, _ = self.step(t, y, INSTANT)
        acceleration = self.motion(q, x, qd, xd, effort)
        return np.concatenate([qd, xd, *acceleration, (after - state) / INSTANT])

    def motion(
        self, q: FloatArray, x: FloatArray, qd: FloatArray, xd: FloatArray, effort: FloatArray
    ) -> tuple[FloatArray, ...]:
        pull = self.of("k", q, x).ravel()
        if "d" in self.robot.functions:
            pull = pull + self.of("d", qd, xd).ravel()
        torque, M, C = effort.copy(), self.of("M", q), self.of("C", q, qd)
        torque[self.joints] = pull
        qdd = np.linalg.solve(M, torque - C @ qd - self.of("G", q).ravel())
        inertia = np.array([e.Mm for e in self.elastic])
        return qdd, (effort[self.joints] - pull - self.of("dm", xd).ravel()) / inertia

    def run(self, y: FloatArray, duration: float, h: float = 1e-3) -> FloatArray:
        """Rows of y, by RK4 of all of it."""
        rows = [y]
        for t in np.arange(round(duration / h)) * h:
            k1 = self.derivative(t, y)
            k2 = self.derivative(t + h / 2, y + h / 2 * k1)
            k3 = self.derivative(t + h / 2, y + h / 2 * k2)
            k4 = self.derivative(t + h, y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            rows.append(y)
        return np.array(rows)

    def slope(self, function: Callable[[float, FloatArray], float], t: float, y: FloatArray, h: float = 1e-5) -> float:
        """d/dt along the motion, by differences of fourth order."""
        rate = self.derivative(t, y)
        f = {k: function(t + k * h, y + k * h * rate) for k in (-2, -1, 1, 2)}
        return (8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h)

    def error(self, t: float, y: FloatArray) -> float:
        return float(np.abs(self.reference(t)["q"] - y[: self.n]).max())

    def mobility(self, q: FloatArray) -> FloatArray:
        """A, (m, m)."""
        return np.linalg.inv(self.of("M", q))[np.ix_(self.joints, self.joints)]


# --- springs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("powers", [(1,), (1, 3), (1, 3, 5), (1, 2, 3)])
def test_an_odd_function_has_its_inverse_to_rounding_and_its_derivatives(powers: tuple[int, ...]) -> None:
    """Derivatives by automatic differentiation."""
    v, c = ca.SX.sym("v", 2), np.ravel([[120.0, 1e5, 1e9][: len(powers)], [1e4, 0.0, 3.0][: len(powers)]])
    odd = Odd(ca.SX(c), powers)
    slope, curvature = ca.diag(ca.jacobian(odd(v), v)), ca.diag(ca.jacobian(odd.slope(v), v))
    pairs = [
        (odd.inverse(odd(v)), v),
        (odd.slope(v), slope),
        (odd.curvature(v), curvature),
        (odd.at([1])(v[1]), odd(v)[1]),
    ]
    f = ca.Function("f", [v], [ca.densify(side) for pair in pairs for side in pair])
    for at in ([0.0, 0.0], [0.3, -0.2], [-4.0, 1e-6], [1e-9, 30.0]):
        sides = [np.ravel(x) for x in f(at)]
        for found, expected in zip(sides[::2], sides[1::2], strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


# --- what falls ------------------------------------------------------------------------------------------------------


def energy(loop: Loop, kept: float, P: FloatArray, epsilon: float) -> Callable[[float, FloatArray], float]:
    """V of `Motors`, of true parameters."""
    K = np.diag([e.K[0] for e in loop.elastic])

    def value(t: float, y: FloatArray) -> float:
        q = y[: loop.n]
        _, _, told = loop.step(t, y, 1e-3)
        s, z, s_x = told["s"], told["z"], told["s_x"]
        inner = P + kept * K @ loop.mobility(q) @ K
        return float(0.5 * (epsilon * s @ loop.of("M", q) @ s + z @ inner @ z + s_x @ K @ s_x))

    return value


def form(loop: Loop, kept: float, P: FloatArray, epsilon: float, y: FloatArray) -> FloatArray:
    """The matrix of `Motors`, symmetric, of [s; z; s_x]."""
    n, m, q, qd = loop.n, loop.m, y[: loop.n], y[loop.n + loop.m : 2 * loop.n + loop.m]
    K, E, Lambda_x = np.diag([e.K[0] for e in loop.elastic]), np.eye(n)[:, loop.joints], np.diag(loop.gains["Lambda_x"])
    Mm, K_x, h = np.diag([e.Mm for e in loop.elastic]), np.diag(loop.gains["K_x"]), 1e-6
    B = np.diag(loop.gains["K_d"]) + loop.gains["omega"] * loop.of("M", q)
    A_dot = (loop.mobility(q + h * qd) - loop.mobility(q - h * qd)) / (2 * h)
    Q = np.zeros((n + 2 * m, n + 2 * m))
    s, z, s_x = slice(0, n), slice(n, n + m), slice(n + m, n + 2 * m)
    Q[s, s], Q[s, z], Q[z, s_x] = epsilon * B, -epsilon * E @ K, -P
    Q[z, z] = (P + kept * K @ loop.mobility(q) @ K) @ Lambda_x - 0.5 * kept * K @ A_dot @ K
    Q[s_x, s_x] = K @ np.linalg.inv(Mm) @ K_x
    return 0.5 * (Q + Q.T)


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0.0, 0.4, 1.0])
def test_with_exact_parameters_v_falls_by_the_form_that_is_claimed_and_that_is_positive(kept: float) -> None:
    """By rounding of V over h; jerk and snap of the reference are exact here."""
    loop = Loop(ARMS["all elastic"], gains={"kept_stiffness": kept})
    K = np.diag([e.K[0] for e in loop.elastic])
    P = (1.0 - kept) * 2.0 * loop.gains["Lambda_x"] * K @ np.diag(loop.gains["K_x"] / 0.08)
    for seed in range(3):
        y = loop.start(seed)
        _, _, told = loop.step(0.0, y, 1e-3)
        errors = np.concatenate([told["s"], told["z"], told["s_x"]])
        Q = form(loop, kept, P, 1.0, y)
        expected = -errors @ Q @ errors
        V = energy(loop, kept, P, 1.0)
        assert loop.slope(V, 0.0, y) == pytest.approx(expected, rel=1e-6, abs=1e-8 * V(0.0, y))
        assert np.linalg.eigvalsh(Q).min() > 0.0


def test_the_published_condition_of_one_joint_is_where_the_form_becomes_positive() -> None:
    """K_d PΛ_x K_x > ¼ K_d P² + ¼ K² K_x has a P, which is 2Λ_xK_x, if and only if 4 K_d Λ_x² K_x > K²."""
    rng = np.random.default_rng(0)
    for K_d, Lambda, K_x, share in rng.uniform(0.5, 2.0, (50, 4)):
        K = 2.0 * Lambda * np.sqrt(K_d * K_x) * share
        best = max(
            np.linalg.eigvalsh([[K_d, -K / 2, 0], [-K / 2, P * Lambda, -P / 2], [0, -P / 2, K_x]])[0]
            for P in 2.0 * Lambda * K_x * np.array([0.7, 0.9, 1.0, 1.1, 1.3])
        )
        assert (best > 0.0) == (share < 1.0) or abs(share - 1.0) < 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_errors_go_with_exact_parameters(name: str) -> None:
    loop = Loop(ARMS[name])
    rows = loop.run(loop.start(0), 1.2)
    assert loop.error(0.0, rows[0]) > 0.02
    assert loop.error(1.2, rows[-1]) < 1e-5
    _, _, told = loop.step(1.2, rows[-1], 1e-3)
    assert np.abs(told["z"]).max() < 1e-6


@pytest.mark.parametrize("name", ARMS)
def test_friction_that_adapts_asks_for_nothing_while_there_is_none(name: str) -> None:
    """Its bound by the period is in τ̇_d and τ̈_d too, for which the period counts as constant."""
    fixed, adapted = Loop(ARMS[name]), Loop(ARMS[name], {"adaptation": "none", "friction": "adapted"})
    efforts = [
        loop.step(0.0, loop.start(0, {} if loop is fixed else {"friction_hat": 0.0}), 1e-3)[0]
        for loop in (fixed, adapted)
    ]
    np.testing.assert_allclose(*efforts, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["all elastic", "damped"])
def test_springs_that_are_not_known_are_learnt(name: str) -> None:
    """Springs of two thirds of the stiffness that is believed in; what that does to the error is in the study."""
    model = ARMS[name]
    believed = [replace(e, K=tuple(1.5 * K for K in e.K)) for e in model.elasticities()]
    loop = Loop(arm(*believed), ADAPTED, truth=model)
    rows = loop.run(loop.start(0, away=0.01), 1.5)
    K = rows[:, -sum(e.size for e in loop.law.state) :][:, _place(loop.law, "elastic_hat")][:, : len(believed[0].K) * 3]
    nominal, true = np.ravel([e.K for e in believed]), np.ravel([e.K for e in model.elasticities()])
    distance = np.abs((K - true) / nominal)[:, :: len(believed[0].K)].max(axis=1)
    assert distance[-1] < 0.75 * distance[0]


def _place(law: Law, name: str) -> slice:
    start = 0
    for entry in law.state:
        if entry.name == name:
            return slice(start, start + entry.size)
        start += entry.size
    raise AssertionError(name)


def test_estimates_stay_within_their_bounds_and_what_is_zero_does_not_adapt() -> None:
    model = arm(replace(SOFT, D=(0.0,)), None, replace(SOFT, D=(0.0,)))
    loop = Loop(model, ADAPTED, {"gamma_springs": 1e-6, "gamma_motors": 1e-6, "adaptation_limit": 1e9})
    y = loop.start(1, away=0.3)
    before = loop.split(y)[4]
    _, after, _ = loop.step(0.0, y, 1.0)
    assert np.all(after >= loop.gains["elastic_lower"]) and np.all(after <= loop.gains["elastic_upper"])
    assert np.any(after != before)
    np.testing.assert_array_equal(after[2:4], 0.0)  # D
    np.testing.assert_allclose(loop.gains["elastic_lower"][:2], 0.2 * 400.0)


@pytest.mark.slow
def test_an_estimate_of_the_links_learns_a_payload() -> None:
    model = ARMS["all elastic"]
    heavy = replace(model.links[-1].inertia, mass=model.links[-1].inertia.mass + 0.5)
    truth = model.with_inertia(model.link_names[-1], heavy)
    rows = {}
    for name, options in (("fixed", FIXED), ("adapted", {"adaptation": "projected"})):
        loop = Loop(model, options, {} if name == "fixed" else {"gamma": 1.0}, truth=truth)
        found = loop.run(loop.start(0, away=0.0), 1.0)
        rows[name] = np.mean([loop.error(1e-3 * k, found[k]) for k in range(800, 1000)])
    assert rows["adapted"] < 0.5 * rows["fixed"]


# --- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("stiffness", [2e2, 2e4])
def test_once_z_is_zero_the_links_move_as_under_the_rigid_law_whatever_the_stiffness(stiffness: float) -> None:
    """So they do in the limit of rigid springs. The rigid arm has no rotors, as the law bears its motors by itself."""
    spring, gains = Elasticity((stiffness,), (), (0.3,), 0.08), {"K_d": 2.0, "Lambda": 5.0}
    model = arm(spring, spring, spring)
    loop = Loop(model, gains={**gains, "omega": 0.0})
    y = loop.start(0)
    for part, error in ((slice(3, 6), "z"), (slice(9, 12), "s_x")):
        y[part] += loop.step(0.0, y, 1e-3)[2][error]
    moved = loop.run(y, 0.2, h=2.5e-4)[:, :3]
    links = [replace(x, joint=replace(x.joint, elastic=None, rotor_inertia=0.0)) for x in model.links]
    rigid = RobotExpressions(replace(model, links=tuple(links)))
    law, functions = slotine_li(rigid, FIXED), {f: rigid.function(f) for f in ("M", "C", "G")}

    def derivative(t: float, y: FloatArray) -> FloatArray:
        at = {key: value for key, value in loop.reference(t).items() if key in ("q", "qd", "qdd")}
        effort, _, _ = step_of(law, y[:3], y[3:], at, gains=gains)
        rest = np.asarray(functions["C"](y[:3], y[3:])) @ y[3:] + np.ravel(functions["G"](y[:3]))
        return np.concatenate([y[3:], np.linalg.solve(np.asarray(functions["M"](y[:3])), effort - rest)])

    y, h = np.concatenate([y[:3], y[6:9]]), 2.5e-4
    for t, q in zip(np.arange(len(moved)) * h, moved, strict=True):
        np.testing.assert_allclose(q, y[:3], rtol=0, atol=1e-8)
        k1 = derivative(t, y)
        k2 = derivative(t + h / 2, y + h / 2 * k1)
        k3 = derivative(t + h / 2, y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + derivative(t + h, y + h * k3))


def test_without_elastic_joints_it_is_slotine_li_with_its_feedback() -> None:
    robot = RobotExpressions(load_robot("planar3r"))
    ours, theirs = slotine_li_elastic(robot, FIXED), slotine_li(robot, FIXED)
    assert ours.measurements == () and len(ours.reference) == 3
    rng = np.random.default_rng(0)
    q, qd, error = rng.uniform(-1, 1, (3, 3))
    at = {"q": q + 0.1 * error, "qd": qd, "qdd": error}
    common = {"Lambda": 7.0, "K_d": 3.0}
    found = step_of(ours, q, qd, at, gains={**common, "omega": 0.0})[0]
    np.testing.assert_allclose(found, step_of(theirs, q, qd, at, gains=common)[0], rtol=1e-12)


def test_a_rigid_law_on_an_elastic_robot_is_that_of_the_robot_with_rigid_springs() -> None:
    elastic = load_robot("panda_elastic")
    robots = RobotExpressions(elastic), RobotExpressions(elastic.with_rigid_joints())
    laws = [slotine_li(robot, FIXED) for robot in robots]
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1, 1, (3, 7))
    found = [step_of(law, q, qd, {"q": q, "qd": qd, "qdd": qdd})[0] for law in laws]
    np.testing.assert_array_equal(*found)
    M = np.asarray(robots[0].function("M_rigid")(q))
    np.testing.assert_allclose(M, np.asarray(robots[1].function("M")(q)), rtol=1e-12)
    np.testing.assert_allclose(M - np.asarray(robots[0].function("M")(q)), 0.1 * np.eye(7), atol=1e-12)


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("springs", "options", "message"),
    [
        ((SOFT, None, replace(SOFT, K=(0.0,))), FIXED, "the spring or motor of joint3; valid: K that begins above 0"),
        ((SOFT, None, replace(SOFT, K=(-1.0,))), FIXED, "the spring or motor of joint3"),
        ((SOFT, None, replace(SOFT, Mm=0.0)), FIXED, "the spring or motor of joint3"),
        (
            (replace(DAMPED, D=(0.0, 1.0)), None, DAMPED),
            FIXED,
            "damping of joint1 without a linear part; valid: D that",
        ),
        ((SOFT, None, None), {"rotors": "adapted"}, "rotors=adapted with elastic joints; valid: elasticity=adapted"),
        (
            (None, None, None),
            {"elasticity": "adapted"},
            "elasticity=adapted without elastic joints; valid: elasticity=m",
        ),
    ],
)
def test_what_it_cannot_use_is_refused(
    springs: tuple[Elasticity | None, ...], options: dict[str, str], message: str
) -> None:
    with pytest.raises(LawError, match=message):
        slotine_li_elastic(RobotExpressions(arm(*springs)), options)


def test_the_elastic_panda_is_the_panda_but_for_its_drives() -> None:
    panda, elastic = load_robot("panda"), load_robot("panda_elastic")
    np.testing.assert_array_equal(panda.pi, elastic.pi)
    assert panda.joint_names == elastic.joint_names and panda.parameters("par_DHtable") == elastic.parameters(
        "par_DHtable"
    )
    assert {(e.K, e.Mm) for e in elastic.elasticities()} == {((1e4,), 0.1)} and len(elastic.elastic_joints) == 7


def test_the_file_of_the_robot_has_its_sources() -> None:
    text = (Path(__file__).parents[2] / "config/robots/panda_elastic.yaml").read_text(encoding="utf-8")
    assert "MuJoCo Menagerie" in text and "10000" not in text
