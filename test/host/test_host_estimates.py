"""Estimates of inertias, as the host computes them for every controller."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from evaluation import load_robot
from hypothesis import given
from hypothesis import strategies as st

import thunder_dynamics
from thunder_controllers.host import (
    SMALLEST_MASS,
    Configuration,
    Library,
    about_com,
    estimate_topics,
    estimated_links,
)
from thunder_dynamics.errors import DimensionError, LawError, NameNotFoundError
from thunder_dynamics.inertia import reg_from_dyn
from thunder_dynamics.model import ENTITY_NAME, is_entity_name


@given(
    mass=st.floats(1e-3, 1e3),
    com=st.tuples(*[st.floats(-1.0, 1.0)] * 3),
    inertia=st.tuples(*[st.floats(-10.0, 10.0)] * 6),
)
def test_about_com_undoes_the_parallel_axis_theorem(
    mass: float, com: tuple[float, ...], inertia: tuple[float, ...]
) -> None:
    dyn = np.array([mass, *com, *inertia])
    # Some rounding of numbers up to m |c|² + |I|, about 1e3 here.
    np.testing.assert_allclose(about_com(np.array(reg_from_dyn(dyn), dtype=float)), dyn, rtol=1e-12, atol=1e-12 * 3e3)


@pytest.mark.parametrize("mass", [0.0, 0.5 * SMALLEST_MASS, -0.5 * SMALLEST_MASS, math.nan])
def test_an_estimate_without_mass_has_its_centre_at_the_origin(mass: float) -> None:
    pi = np.array([mass, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])
    np.testing.assert_array_equal(about_com(pi), [mass, 0.0, 0.0, 0.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])


@pytest.mark.parametrize(
    ("link", "topic"),
    [
        ("panda_link7", "panda_link7"),
        ("fore-arm", "fore_arm"),
        ("link_3.0", "link_3_0"),
        ("arm/link7", "arm/link7"),
        ("7th/8-th", "_7th/_8_th"),
        ("a//b/", "a_/b_"),
        ("upper arm", "upper_arm"),
        ("大臂", "_e5a4a7e88782"),
    ],
)
def test_the_topic_of_an_estimate_is_a_name_that_ros_allows(link: str, topic: str) -> None:
    assert estimate_topics([link]) == (f"estimates/{topic}",)


@pytest.mark.slow
@given(st.from_regex(ENTITY_NAME, fullmatch=True).filter(is_entity_name))
def test_every_link_has_a_topic(link: str) -> None:
    (topic,) = estimate_topics([link])
    assert re.fullmatch(r"estimates(/[A-Za-z_][A-Za-z0-9_]*)+", topic), topic


def test_links_do_not_share_a_topic() -> None:
    assert estimate_topics(["a-b", "a_c"]) == ("estimates/a_b", "estimates/a_c")
    what = "the links 'a-b' and 'a_b' share the topic estimates/a_b; valid: names that differ in letters, digits or /"
    with pytest.raises(LawError, match=what):
        estimate_topics(["a-b", "c", "a_b"])


def test_the_argument_is_left_alone_and_its_size_checked() -> None:
    pi = np.arange(1.0, 11.0)
    about_com(pi)
    np.testing.assert_array_equal(pi, np.arange(1.0, 11.0))
    with pytest.raises(DimensionError):
        about_com(pi[:9])


@pytest.mark.slow
def test_links_are_those_that_the_law_was_made_for(panda: Configuration) -> None:
    assert panda.links == (panda.library.link_names[-1],)
    model = load_robot("planar3r")
    names = [link.name for link in model.links]
    laws = [("slotine_li", {"adapted_links": (names[0], names[2])})]
    library = Library(thunder_dynamics.build(model, laws))
    assert estimated_links(library, "slotine_li") == (names[0], names[2])


def test_a_law_without_inertias_among_its_estimates_has_no_links(library: Library) -> None:
    assert estimated_links(library, "joint_adaptive") == ()  # its pi_hat holds two masses
    with pytest.raises(NameNotFoundError):
        estimated_links(library, "another")
