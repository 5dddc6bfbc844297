"""The identities hold for the robots that come with the package, and every function that is wrong is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from evaluation import load_robot

from thunder_controllers.analysis.identities import check_agreement, check_identities
from thunder_controllers.host import Library
from thunder_dynamics.build import build
from thunder_dynamics.errors import DimensionError

NAMES = ("rpr", "sea2", "planar3r")


ARM = "planar3r"


def library_of(name: str) -> Library:
    return Library(build(load_robot(name)))


class Wrong:
    """A library of which one function is wrong, by a millionth by default, in the last entry of the first row."""

    def __init__(self, library: Library, name: str, by: float = 1e-6) -> None:
        self._library, self._name, self._by = library, name, by

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def evaluate(self, name: str, *arguments: np.ndarray) -> np.ndarray:
        value = np.array(self._library.evaluate(name, *arguments))
        if name == self._name:
            place = (0, -1)[: value.ndim]
            wrong = self._by * max(np.abs(value).max(), 1.0) * np.sin(arguments[0].sum())
            value[place] += wrong if np.isfinite(wrong) or arguments[0][0] > 0.0 else 0.0
        return value


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_they_hold(name: str, build_cache: object) -> None:
    found = check_identities(library_of(name), load_robot(name).gravity)
    assert [one for one in found if not one.holds] == []


FUNCTIONS = ("Yr", "Y", "M", "C", "G", "M_dot", "reg_M", "reg_C", "reg_G", "J_ee", "J_ee_dot", "J_2", "T_0_3")


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_that_is_wrong_by_a_millionth_is_found(function: str, build_cache: object) -> None:
    found = check_identities(Wrong(library_of(ARM), function), load_robot(ARM).gravity)  # type: ignore[arg-type]
    assert [one for one in found if not one.holds] != []


def test_no_number_at_some_states_does_not_hold(build_cache: object) -> None:
    found = check_identities(Wrong(library_of(ARM), "Yr", np.nan), load_robot(ARM).gravity)  # type: ignore[arg-type]
    assert {"Yr = reg_M + reg_C + reg_G"} <= {one.what for one in found if not one.holds}


def test_another_gravity_is_found(build_cache: object) -> None:
    found = check_identities(library_of(ARM), (9.81, 0.0, 0.0))
    assert [one.what for one in found if not one.holds] == ["G = ∂U/∂q"]


@pytest.mark.slow
def test_what_two_descriptions_disagree_on_is_named(build_cache: object) -> None:
    library, other = library_of(ARM), library_of("rpr")
    assert all(one.holds for one in check_agreement(library, library, 1e-12))
    assert {"M", "C", "J_ee"} <= {one.what for one in check_agreement(library, other, 1e-6) if not one.holds}
    wrong = check_agreement(library, Wrong(library, "G"), 1e-8)  # type: ignore[arg-type]
    assert [one.what for one in wrong if not one.holds] == ["G"]
    with pytest.raises(DimensionError, match="2 joints; valid: 3"):
        check_agreement(library, library_of("sea2"), 1e-6)
