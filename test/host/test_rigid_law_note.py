"""A law for rigid joints on a robot with elastic ones: the host says so, and counts the motors' inertia."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from evaluation import load_robot

from thunder_controllers.analysis.margin import find_margins
from thunder_controllers.analysis.sampled_loop import Timing
from thunder_controllers.host import Controller, Library, RestingLaw
from thunder_dynamics.build import build
from thunder_dynamics.errors import LawError

pytestmark = pytest.mark.slow
FIXED = {"adaptation": "none"}


@pytest.fixture(scope="module")
def sea(build_cache: Path) -> Library:
    laws = [("slotine_li", FIXED), ("slotine_li_elastic", FIXED)]
    return Library(build(load_robot("sea2"), laws=laws) / "libsea2.so")


def _codes(library: Library, law: str) -> list[str]:
    host = Controller()
    host.configure(library, law=law)
    return [note.code for note in host.notes]


def test_the_host_notes_it_once_and_only_then(sea: Library, build_cache: Path) -> None:
    assert _codes(sea, "slotine_li").count("rigid_law") == 1
    assert "rigid_law" not in _codes(sea, "slotine_li_elastic")
    rigid = load_robot("planar3r")
    assert "rigid_law" not in _codes(
        Library(build(rigid, laws=[("slotine_li", FIXED)]) / "libplanar3r.so"), "slotine_li"
    )


def test_motors_count_in_the_margin_of_a_rigid_law(sea: Library) -> None:
    """K_d is for M with Mm, so it takes as much of a speed as for the robot with rigid springs."""
    model = load_robot("sea2").with_rigid_joints()
    rigid = Library(build(model, laws=[("slotine_li", FIXED)]) / "libsea2.so")
    found = [RestingLaw(library, law="slotine_li").find_fastest() for library in (sea, rigid)]
    assert found[0] is not None and found[1] is not None
    assert found[0].share == pytest.approx(found[1].share, rel=1e-9)
    np.testing.assert_array_equal(sea.rotor_inertia, model.rotor_inertias)


def test_a_law_that_measures_motors_has_no_margin_to_look_at(sea: Library) -> None:
    with pytest.raises(
        LawError, match="a law that measures the motors of elastic joints; valid: laws for rigid joints"
    ):
        find_margins(sea, "slotine_li_elastic", {}, np.zeros((1, 2)), Timing(1000.0), ("K_d",))
