"""The schemes of examples/adaptation_schemes: found by entry points, what each keeps, and what each finds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from adapting_arm import FEEDBACK, PAYLOAD, build_law, run, with_payload
from evaluation import load_robot
from user_package import install

from thunder_controllers.experiments.engine import summarise
from thunder_controllers.experiments.experiment import Group, Settings, load_experiment
from thunder_controllers.experiments.runner import run_case
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.law import Law
from thunder_dynamics.model import RobotModel

pytestmark = pytest.mark.slow

FRICTION = (0.5, 0.3)
UNKNOWNS = 10 + 4 * 7 + 1


@pytest.fixture(scope="module", autouse=True)
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = install("adaptation_schemes", tmp_path_factory.mktemp("schemes"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield folder


def test_schemes_are_known_only_where_their_package_is_installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_law(load_robot("panda"), "drem")
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(site)])
    with pytest.raises(ThunderError, match="drem"):
        build_law(load_robot("panda"), "drem")


@cache
def carried(scheme: str) -> tuple[Law, list[dict[str, np.ndarray]]]:
    """A Panda with friction that carries a payload, its states before each step, the last after all."""
    panda: RobotModel = load_robot("panda")
    law, states = build_law(panda, scheme, friction="adapted"), []
    true = with_payload(panda, PAYLOAD)
    end = run(law, true, 8.0, FEEDBACK, friction=FRICTION, watch=lambda *at: states.append(at[2]))
    return law, [*states, end]


@pytest.mark.parametrize("scheme", ["concurrent_learning", "drem"])
def test_a_payload_is_found_with_friction(scheme: str) -> None:
    pi = with_payload(load_robot("panda"), PAYLOAD).links[-1].inertia.pi
    found = carried(scheme)[1][-1]
    np.testing.assert_allclose(found["pi_hat"][:4], pi[:4], rtol=0, atol=1e-3)
    # A stack of few records tells Coulomb friction worse from the friction that rises with the load.
    tolerance = 2e-2 if scheme == "concurrent_learning" else 1e-2
    np.testing.assert_allclose(found["friction_hat"], np.repeat(FRICTION, 7), rtol=0, atol=tolerance)


def symmetric(packed: np.ndarray) -> np.ndarray:
    """Of a lower triangle, column by column."""
    size = int((2 * packed.size) ** 0.5)
    full = np.zeros((size, size))
    full.T[np.triu_indices(size)] = packed
    return full + full.T - np.diag(np.diag(full))


def test_sums_are_those_of_the_stack_and_its_volume_only_grows() -> None:
    """Whatever was exchanged: sums are kept by differences, a row that replaces another is worth it."""
    states = carried("concurrent_learning")[1]
    records = states[-1]["stack"].reshape(-1, UNKNOWNS + 1)
    assert (np.abs(records).max(axis=1) > 0.0).all(), "the stack is full"
    sums = symmetric(states[-1]["stack_moments"])
    np.testing.assert_allclose(sums, records.T @ records, rtol=0, atol=1e-9 * np.abs(sums).max())
    volumes = np.array([one["stack_volume"][0] for one in states])
    assert (np.diff(volumes) >= 0.0).all()
    volume = np.linalg.slogdet(np.eye(UNKNOWNS) + sums[:UNKNOWNS, :UNKNOWNS])[1]
    np.testing.assert_allclose(volumes[-1], volume, rtol=1e-6)


def test_mixing_takes_the_prior_out_of_least_squares() -> None:
    """(1 − C)⁻¹(z − C z_0) = (Σ w wᵀ/r)⁻¹ Σ w y/r: what least squares with hardly any prior find."""
    states = carried("drem")[1]
    C, z = symmetric(states[-1]["covariance"]), states[-1]["told"]
    without_prior = np.linalg.solve(np.eye(UNKNOWNS) - C, z)
    np.testing.assert_allclose(states[-1]["mixed"], without_prior, rtol=0, atol=2e-2 * np.abs(z).max())
    assert states[-1]["mixed_unknown"][0] < 1e-3


def test_the_study_measures_what_a_scheme_finds() -> None:
    """The motion has a period of 10 s: after half of it this seed's CoM is 1.06 mm off, by least squares 1.2 mm."""
    (group,) = load_experiment("adaptation_schemes").select(("identifying",), Settings(cases=1)).values()
    assert isinstance(group, Group)
    (case,) = (one for one in group.cases if one.row == "drem")
    outcome = run_case(replace(case, config=case.config.model_copy(update={"duration": 8.0})))
    assert outcome.ended == "done", outcome.message
    row = summarise(replace(group, cases=(case,), criteria=()), [outcome]).rows["drem"]
    assert row["within"] == 1.0 and 1.0 < row["after [s]"] < 8.0
    assert row["mass error [g]"].mean < 10.0 and row["CoM error [mm]"].mean < 1.0
