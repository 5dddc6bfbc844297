"""Parameters of links that adapt: those that are chosen do as without the choice, the others stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot
from hypothesis import given
from hypothesis import strategies as st
from laws import step
from scipy.linalg import null_space

from thunder_controllers.laws.slotine_li import slotine_li
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law

MODEL = load_robot("planar3r")
PERIOD = 1e-3
ALL = {"adapted_links": "all"}
UNSEEN = null_space(RobotExpressions(MODEL).base_parameters.K)
"""Changes of π that no motion shows, (30, any)."""

seeds = st.integers(0, 2**32 - 1)


def law(**options: Any) -> Law:
    return slotine_li(RobotExpressions(MODEL), options)


LAWS = {
    scheme: tuple(law(adaptation=scheme, **ALL, **chosen) for chosen in ({}, {"adapted_parameters": ["mass", "mcy"]}))
    for scheme in ("gradient", "projected")
}


def some_step(a_law: Law, seed: int) -> np.ndarray:
    """Change of π̂ (3, 10) in a step in motion from the values of the file, with a limit that does not act."""
    rng = np.random.default_rng(seed)
    q, qd = rng.uniform(-1, 1, (2, 3))
    reference: Mapping[str, np.ndarray] = dict(zip(("q", "qd", "qdd"), rng.uniform(-1, 1, (3, 3)), strict=True))
    gains = {"adaptation_limit": 1e9, "Lambda": 1.0}
    after = step(a_law, q, qd, reference, {}, gains, PERIOD)[1]["pi_hat"]
    return (after - MODEL.pi).reshape(3, 10)


@pytest.mark.parametrize("scheme", LAWS)
@given(seed=seeds)
def test_what_is_not_chosen_stays_and_what_is_adapts_as_before(scheme: str, seed: int) -> None:
    whole, chosen = (some_step(one, seed) for one in LAWS[scheme])
    is_chosen = np.isin(np.arange(10), [0, 2])
    assert np.abs(whole).max() > 0.0
    np.testing.assert_array_equal(chosen[:, ~is_chosen], 0.0)
    np.testing.assert_allclose(chosen[:, is_chosen], whole[:, is_chosen], rtol=1e-9, atol=1e-15)


@given(seed=seeds)
def test_a_free_gradient_adapts_base_parameters_alone(seed: int) -> None:
    """nᵀΓ(π̂ − π_0) = 0 for every n with Y n = 0: what no motion shows stays where the file has it, here with Γ = 1."""
    change = some_step(LAWS["gradient"][0], seed).ravel()
    assert UNSEEN.shape[1] > 0
    np.testing.assert_allclose(UNSEEN.T @ change, 0.0, atol=1e-12 * np.abs(change).max() + 1e-15)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"adapted_parameters": "mass"}, "all of a link; valid: adaptation=projected or gradient"),
        ({"adapted_parameters": ["m", "cx"], "adaptation": "projected"}, r"\['m', 'cx'\]; valid: all, mass, com"),
        ({"adapted_parameters": [], "adaptation": "projected"}, r"\[\]; valid: all"),
        ({"adapted_parameters": "mass", "adaptation": "composite"}, "adaptation=composite, which adapts all of a link"),
        ({"adapted_parameters": "mass", "adaptation": "none"}, "parameters to adapt with adaptation=none"),
    ],
)
def test_what_cannot_be_chosen_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LawError, match=message):
        law(**options)


def test_all_may_be_named_with_any_scheme() -> None:
    law(adapted_parameters=["mass", "com", "inertia"], adaptation="natural")
