"""Accelerations of arms with a joint that does not obey, against a solver of bounded least squares."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import lsq_linear

from thunder_controllers.laws.faults.saturation import Joints, saturate

FloatArray = np.ndarray
N, ROWS, DRAWS = 7, 3, 200


@cache
def graph() -> ca.Function:
    J, r, preferred = ca.SX.sym("J", ROWS, N), ca.SX.sym("r", ROWS), ca.SX.sym("p", N)
    lower, upper, obeys, own = (ca.SX.sym(name, N) for name in ("lower", "upper", "obeys", "own"))
    row, value, has_row = ca.SX.sym("row", 1, N), ca.SX.sym("value"), ca.SX.sym("has_row")
    found = saturate(J, r, preferred, Joints(lower, upper, obeys, own, row, value, has_row), ca.SX(0.0))
    given = [J, r, preferred, lower, upper, obeys, own, row, value, has_row]
    return ca.Function("saturate", given, [found.u, found.share])


def draw(seed: int) -> dict[str, FloatArray]:
    """A locked joint that still slows down, bounds that differ by side, a task about as large as they allow."""
    rng = np.random.default_rng(seed)
    J, lower, upper = rng.normal(size=(ROWS, N)), -rng.uniform(1.0, 20.0, N), rng.uniform(1.0, 20.0, N)
    obeys, own = np.ones(N), np.zeros(N)
    locked = int(rng.integers(N))
    obeys[locked], own[locked] = 0.0, rng.uniform(-3.0, 3.0)
    wanted = J @ np.where(obeys > 0.0, rng.uniform(-1.2, 1.2, N) * upper, own)
    return {"J": J, "r": wanted, "lower": lower, "upper": upper, "obeys": obeys, "own": own}


def solve(d: dict[str, FloatArray], row: FloatArray | None = None, value: float = 0.0) -> tuple[FloatArray, float]:
    row_given = np.zeros((1, N)) if row is None else row
    u, share = graph()(
        d["J"], d["r"], np.zeros(N), d["lower"], d["upper"], d["obeys"], d["own"], row_given, value, row is not None
    )
    return np.asarray(u).ravel(), float(share)


@pytest.mark.slow
def test_with_a_locked_joint_it_does_what_a_bounded_solver_says_can_be_done() -> None:
    """All that it claims is done and can be; of what can be done it misses a few, as pinned joints stay pinned."""
    done, can = 0, 0
    for seed in range(DRAWS):
        d = draw(seed)
        free = d["obeys"] > 0.0
        rest = d["r"] - d["J"] @ ((1.0 - d["obeys"]) * d["own"])
        best = lsq_linear(d["J"][:, free], rest, (d["lower"][free], d["upper"][free]), method="bvls", tol=1e-12)
        feasible = np.linalg.norm(best.fun) < 1e-6 * np.linalg.norm(d["r"])
        u, share = solve(d)
        assert (u[free] >= d["lower"][free] * (1 + 1e-9)).all() and (u[free] <= d["upper"][free] * (1 + 1e-9)).all()
        np.testing.assert_array_equal(u[~free], d["own"][~free])
        can += feasible
        if share >= 1.0 - 1e-9:
            assert feasible
            np.testing.assert_allclose(d["J"] @ u, d["r"], rtol=0, atol=1e-7 * np.linalg.norm(d["r"]))
            done += 1
    assert 0.9 * can <= done <= can and 20 < can < DRAWS


def test_a_joint_without_torque_of_choice_moves_as_its_equation_says() -> None:
    d = draw(1)
    d |= {"obeys": np.ones(N), "own": np.zeros(N), "lower": np.full(N, -1e3), "upper": np.full(N, 1e3)}
    row = np.random.default_rng(99).normal(size=(1, N))
    u, share = solve(d, row, 4.0)
    assert share == 1.0 and (row @ u).item() == pytest.approx(4.0, rel=1e-9)
    np.testing.assert_allclose(d["J"] @ u, d["r"], rtol=0, atol=1e-9 * np.linalg.norm(d["r"]))
    exact = np.linalg.pinv(np.vstack((d["J"], row))) @ np.append(d["r"], 4.0)
    np.testing.assert_allclose(u, exact, rtol=0, atol=1e-9 * np.abs(exact).max())
