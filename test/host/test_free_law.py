"""A law stepped by the caller: the same steps as the controller's, and nothing that guards them."""

from __future__ import annotations

import numpy as np
import pytest
from session_loop import REST, START, STEP

from thunder_controllers.host import Controller, FreeLaw, Library
from thunder_dynamics.errors import DimensionError, LawError, NameNotFoundError

KNOWN = {"pi_hat": [1.2, 0.8]}
REFERENCE = np.concatenate([START, REST, REST])


def free(library: Library, **options: object) -> FreeLaw:
    return FreeLaw(library, law="joint_adaptive", initial_state=KNOWN, **options)


def test_it_steps_as_the_controller_does(library: Library) -> None:
    """While no guard acts, effort and state are the same, bit for bit."""
    controller, law = Controller(), free(library, gains={"K_d": 3.0})
    controller.configure(library, law="joint_adaptive", gains={"K_d": 3.0}, initial_state=KNOWN)
    controller.set_reference(REFERENCE)
    controller.activate(START)
    before, effort = np.zeros(2), np.zeros(2)
    for k in range(200):
        controller.set_reference(REFERENCE + 1e-3 * np.sin(0.01 * k))
        assert controller.update(k * STEP, START, REST, STEP, effort) == 0
        asked = law.step(START, REST, before, controller.reference_vector, STEP)
        assert asked.tobytes() == effort.tobytes()
        assert law.state_vector.tobytes() == controller.state_vector.tobytes()
        assert law.telemetry_vector.tobytes() == controller.telemetry_vector.tobytes()
        before[:] = effort
    assert (law.state_vector != free(library).state_vector).any(), "nothing has adapted: the comparison says nothing"


def test_a_gain_that_is_set_is_the_one_in_use(library: Library) -> None:
    law, other = free(library), free(library, gains={"K_d": 3.0})
    law.set_gain("K_d", 3.0)
    far = REFERENCE + 0.1
    np.testing.assert_array_equal(law.step(START, REST, REST, far, STEP), other.step(START, REST, REST, far, STEP))
    with pytest.raises(LawError):
        law.set_gain("K_d", -1.0)


def test_it_limits_nothing(library: Library) -> None:
    far = REFERENCE + [1e3, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert np.abs(free(library).step(START, REST, REST, far, STEP)).max() > np.max(library.effort_limit)


def test_a_step_that_is_not_finite_is_refused_and_changes_nothing(library: Library) -> None:
    law = free(library)
    law.step(START, REST, REST, REFERENCE + 0.1, STEP)
    before = law.state_vector
    with pytest.raises(LawError, match="not finite"):
        law.step([np.nan, 0.0], REST, REST, REFERENCE, STEP)
    np.testing.assert_array_equal(law.state_vector, before)


@pytest.mark.parametrize(
    ("sizes", "where"),
    [((3, 2, 2, 6), "step: q"), ((2, 1, 2, 6), "qd"), ((2, 2, 0, 6), "applied_effort"), ((2, 2, 2, 5), "reference")],
)
def test_vectors_of_another_size_are_refused(library: Library, sizes: tuple[int, ...], where: str) -> None:
    with pytest.raises(DimensionError, match=where):
        free(library).step(*(np.zeros(size) for size in sizes), STEP)


def test_unknown_names_are_refused(library: Library) -> None:
    with pytest.raises(NameNotFoundError):
        FreeLaw(library, law="none")
    with pytest.raises(NameNotFoundError):
        free(library, gains={"K_q": 1.0})
