"""Friction and elastic joints against Lagrange's equations with Rayleigh's dissipation, differentiated automatically.

The energies are written here from poses and pseudo-inertias alone: T = ½ Σ tr(Ṫ_i P_i Ṫ_iᵀ) + ½ ẋᵀMm ẋ and
U = −Σ m_i g·p_com,i + Σ_j K_j (x − q)^2j / 2j, the dissipation as
R = Σ_j Dl_j |q̇|^(j+1)/(j+1) + Fc v_s ln cosh(q̇/v_s) + Σ_j D_j |ẋ − q̇|^(j+1)/(j+1) + Σ_j Dm_j |ẋ|^(j+1)/(j+1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from evaluation import assert_close, evaluate
from hypothesis import given, settings
from hypothesis import strategies as st
from robots import random_robot, random_state

from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.model import Elasticity, RobotModel

TOLERANCE = 1e-9
"""Of the largest torque: second derivatives of poses by automatic differentiation lose some digits on random trees."""


def random_elastic_robot(seed: int) -> RobotModel:
    """A random tree, any of its joints elastic, one at least, with coefficients of random orders."""
    rng = np.random.default_rng(seed)
    base = random_robot(seed, int(rng.integers(2, 7)), tree=True)
    orders, friction = rng.integers(0, 4, size=3), int(rng.integers(0, 4))
    elastic = rng.random(base.n) < 0.5
    elastic[rng.integers(base.n)] = True
    links = []
    for link, is_elastic in zip(base.links, elastic, strict=True):
        coefficients = (tuple(rng.uniform(0.5, 5.0, order).tolist()) for order in orders)
        elasticity = Elasticity(*coefficients, float(rng.uniform(0.1, 1.0))) if is_elastic else None
        links.append(
            replace(
                link,
                joint=replace(link.joint, elastic=elasticity),
                friction=tuple(rng.uniform(0.1, 2.0, friction).tolist()),
                coulomb=float(rng.uniform(0.0, 1.0)),
            )
        )
    return replace(base, links=tuple(links))


def powers(coefficients: Sequence[float], rate: ca.SX) -> ca.SX:
    """Dissipation of Σ_j c_j |v|^(j−1) v."""
    return sum((c * ca.fabs(rate) ** (j + 2) / (j + 2) for j, c in enumerate(coefficients)), start=ca.SX(0))


def rigid_energies(robot: RobotExpressions, q: ca.SX, qd: ca.SX) -> tuple[ca.SX, ca.SX]:
    kinetic, potential = ca.SX(0), ca.SX(0)
    for i, link in enumerate(robot.model.links):
        T = robot[f"T_0_{i + 1}"]
        rate = ca.reshape(ca.jtimes(ca.vec(T), q, qd), 4, 4)
        m, h, J = link.inertia.mass, link.inertia.pi[1:4], link.inertia.pi[4:]
        inertia = np.array([[J[0], J[1], J[2]], [J[1], J[3], J[4]], [J[2], J[4], J[5]]])
        P = np.block([[0.5 * np.trace(inertia) * np.eye(3) - inertia, h[:, None]], [h[None], m]])
        kinetic += 0.5 * ca.trace(rate @ P @ rate.T)
        potential -= ca.dot(ca.DM(robot.model.gravity), (T @ P[:, 3])[:3])
    return kinetic, potential


@pytest.mark.slow
@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_terms_are_those_of_lagranges_equations(seed: int) -> None:
    """M q̈ + C q̇ + G + dl − k − d = 0 and Mm ẍ + dm + k + d = 0 are the equations of links and of motors."""
    model = random_elastic_robot(seed)
    robot, joints = RobotExpressions(model), list(model.elastic_joints)
    q, qd, qdd, x, xd, xdd = (robot.symbol(name) for name in ("q", "dq", "ddq", "x", "dx", "ddx"))
    kinetic, potential = rigid_energies(robot, q, qd)
    dissipation = ca.SX(0)
    for i, link in enumerate(model.links):
        dissipation += powers(link.friction, qd[i])
        dissipation += link.coulomb * SMOOTHING_VELOCITY * ca.log(ca.cosh(qd[i] / SMOOTHING_VELOCITY))
    for e, (i, elastic) in enumerate(zip(joints, model.elasticities(), strict=True)):
        stretch = x[e] - q[i]
        kinetic += 0.5 * elastic.Mm * xd[e] ** 2
        potential += sum(K * stretch ** (2 * j + 2) / (2 * j + 2) for j, K in enumerate(elastic.K))
        dissipation += powers(elastic.D, xd[e] - qd[i]) + powers(elastic.Dm, xd[e])
    place, rate, acceleration = ca.vertcat(q, x), ca.vertcat(qd, xd), ca.vertcat(qdd, xdd)
    momentum = ca.gradient(kinetic, rate)
    change = ca.jtimes(momentum, place, rate) + ca.jtimes(momentum, rate, acceleration)
    equations = change - ca.gradient(kinetic - potential, place) + ca.gradient(dissipation, rate)

    rng = np.random.default_rng(seed)
    state = random_state(model, seed) | {name: rng.uniform(-1, 1, len(joints)) for name in ("x", "dx", "ddx")}
    for name in ("dq", "dx"):  # cosh of more than 700 is beyond doubles, and |v|'s derivative is none at zero
        state[name] = np.clip(state[name], -2.0, 2.0) + 1e-3
    arguments = [state[name] for name in ("q", "dq", "ddq", "x", "dx", "ddx")]
    expected = np.asarray(ca.Function("equations", [q, qd, qdd, x, xd, xdd], [equations])(*arguments)).ravel()

    M, C, G, k, d, dm, Mm = (evaluate(robot, name, state) for name in ("M", "C", "G", "k", "d", "dm", "Mm"))
    coupling = np.zeros(model.n)
    coupling[joints] = (k + d).ravel()
    dl = evaluate(robot, "dl", state).ravel()
    links = M @ state["ddq"] + C @ state["dq"] + G.ravel() + dl - coupling
    motors = Mm @ state["ddx"] + (dm + k + d).ravel()
    assert_close(np.concatenate([links, motors]), expected, TOLERANCE)
