"""Sums of regressors over many states against the stored ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from robots import general_robot

from thunder_controllers.host import Library
from thunder_dynamics import build, load_model
from thunder_dynamics.errors import DimensionError, NameNotFoundError

pytestmark = pytest.mark.slow

RELATIVE = 1e-12
"""Sums of some thousand products of either sign, in another order."""

FUNCTIONS = [f"{name}_{what}" for name in ("Yr", "Y") for what in ("packed", "places")]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", params=["panda, in lanes", "panda", "tree of all kinds, in lanes"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Library:
    robot, _, lanes = request.param.partition(", ")
    model = load_model(ROOT / "config/robots/panda.yaml") if robot == "panda" else general_robot(2, 5)
    folder = tmp_path_factory.mktemp("sums")
    return Library(build(model, folder=folder, lanes=bool(lanes), functions=FUNCTIONS))


@pytest.mark.parametrize("count", [1, 7, 64, 1001, 40_000])
def test_sums_are_those_of_the_stored_regressors(library: Library, count: int) -> None:
    """Weights of every state, the same for all or none; more chunks than are summed up at once; parts of chunks."""
    rng = np.random.default_rng(count)
    arguments = [rng.uniform(-2.0, 2.0, (count, entry.size)) for entry in library.function("Yr").inputs]
    Y = np.ascontiguousarray(library.batch("Yr", *arguments))
    b = rng.uniform(-3.0, 3.0, Y.shape[:2])
    for weights in (None, rng.uniform(0.0, 2.0, Y.shape[1]), rng.uniform(0.0, 2.0, Y.shape[:2])):
        weighted = Y if weights is None else Y * np.broadcast_to(weights, Y.shape[:2])[:, :, None]
        expected = weighted.reshape(-1, Y.shape[2]).T @ Y.reshape(-1, Y.shape[2])
        products = weighted.reshape(-1, Y.shape[2]).T @ b.ravel()
        for threads in (1, 3):
            options = {"weights": weights, "threads": threads}
            squares, found = library.normal_equations("Yr", *arguments, b=b, **options)
            np.testing.assert_allclose(squares, expected, rtol=0, atol=RELATIVE * np.abs(expected).max())
            np.testing.assert_allclose(found, products, rtol=0, atol=RELATIVE * np.abs(expected).max())
            np.testing.assert_array_equal(squares, squares.T)
            np.testing.assert_array_equal(library.normal_equations("Yr", *arguments, **options), squares)


def test_what_does_not_fit_is_refused(library: Library) -> None:
    arguments = [np.zeros((3, entry.size)) for entry in library.function("Y").inputs]
    n = library.function("Y").outputs[0].shape[0]
    with pytest.raises(DimensionError, match=r"Y_packed\.weights: has 2 rows; valid: 3"):
        library.normal_equations("Y", *arguments, weights=np.zeros((2, n)))
    with pytest.raises(DimensionError, match=rf"Y_packed\.b: got {n + 1} values; valid: {n}"):
        library.normal_equations("Y", *arguments, b=np.zeros(n + 1))
    with pytest.raises(NameNotFoundError, match="no function 'reg_M_packed'"):
        library.normal_equations("reg_M", *arguments)
    squares, products = library.normal_equations("Y", *(row[:0] for row in arguments), b=np.zeros((0, n)))
    assert not squares.any() and not products.any()
