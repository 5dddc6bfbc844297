"""First estimates that the loop of a law does not bear are brought to where they may be, frozen or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from evaluation import load_robot
from numpy.typing import NDArray

from thunder_controllers.host import Controller, Library, Options, RestingLaw, largest_feedback_share
from thunder_dynamics.build import build

FloatArray = NDArray[np.float64]

LAW = "cartesian_backstepping"

FAR_OFF = np.array([2.5, 0.5, 0.5, 0.5, 0.204, -0.1, -0.1, 0.204, -0.1, 0.204])
"""A last link of 2.5 kg, 0.35 m from its frame, that is not there."""

HOME = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8])


@pytest.fixture(scope="module")
def observed(build_cache: Path) -> Library:
    return Library(build(load_robot("panda"), [(LAW, {"disturbance": "observed"})]) / "libpanda.so")


@pytest.fixture(scope="module")
def plain(build_cache: Path) -> Library:
    return Library(build(load_robot("panda"), [(LAW, {"disturbance": "none"})]) / "libpanda.so")


def frozen(library: Library, updates: int, estimates: FloatArray = FAR_OFF) -> list[FloatArray]:
    """Estimates after each update of an arm that rests, with adaptation frozen from the start."""
    controller, effort, found = Controller(), np.empty(7), []
    controller.configure(library, law=LAW, initial_state={"pi_hat": estimates})
    controller.freeze_adaptation(True)
    controller.activate(HOME)
    for k in range(updates):
        controller.update(k * 1e-3, HOME, np.zeros(7), 1e-3, effort)
        found.append(np.ravel(controller.state("pi_hat")))
    return found


def test_an_observer_begins_with_estimates_that_the_loop_bears_though_they_are_frozen(observed: Library) -> None:
    first, *rest = frozen(observed, 5)
    assert np.abs(first - FAR_OFF).max() > 0.1
    for later in rest:
        np.testing.assert_array_equal(later, first)  # frozen from then on
    assert first[0] == pytest.approx(2.5, rel=0.01)  # gravity shows a mass: the inertia and the CoM give way
    resting = RestingLaw(observed, law=LAW, initial_state={"pi_hat": FAR_OFF})
    margin = resting.find_fastest()
    assert margin is not None and margin.share < largest_feedback_share(Options())


def test_it_begins_with_others_as_they_are(observed: Library) -> None:
    nominal = next(entry for entry in observed.law(LAW).state if entry.name == "pi_hat").defaults.ravel()
    for found in frozen(observed, 3, nominal):
        np.testing.assert_allclose(found, nominal, rtol=0.0, atol=1e-12)


def test_without_an_observer_frozen_estimates_stay_what_they_are(plain: Library) -> None:
    for found in frozen(plain, 3):
        np.testing.assert_array_equal(found, FAR_OFF)


def test_they_are_bound_once_and_again_after_a_reset(observed: Library) -> None:
    controller, effort = Controller(), np.empty(7)
    controller.configure(observed, law=LAW, initial_state={"pi_hat": FAR_OFF})
    controller.freeze_adaptation(True)
    seen = []
    for _ in range(2):
        controller.activate(HOME)
        controller.update(0.0, HOME, np.zeros(7), 1e-3, effort)
        seen.append(np.ravel(controller.state("pi_hat")))
        controller.deactivate()
        controller.reset_state()
    np.testing.assert_allclose(*seen, rtol=0.0, atol=1e-4)  # what was learnt in a period at rest differs
