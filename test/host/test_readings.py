"""Readings that cannot be true are bridged for a while, then the measurement is lost; the fault says which joint."""

from __future__ import annotations

import numpy as np
import pytest
from host_loop import REST, START, STEP

from thunder_controllers.host import Configuration, ControlSession, Guard, Library, Options


class Session:
    """The pendulum's controller, active at START; the arm is read as a test says."""

    def __init__(self, library: Library) -> None:
        self.control = ControlSession(Configuration(library, law="cartesian_spring"), Options())
        self.control.activate(START, REST)
        self.t, self.effort = 0.0, np.zeros(2)

    def update(self, q: np.ndarray = START, qd: np.ndarray = REST) -> Guard:
        self.t += STEP
        return Guard(self.control.update(round(1e9 * self.t), self.t, q, qd, STEP, self.effort))


WRONG = {
    "jump": (START + [0.0, 1.0], REST, "joint elbow is read at 1.2, expected at 0.2"),
    "turn": (START - [2.0 * np.pi, 0.0], REST, "joint shoulder is read at -6.18319, expected at 0.1"),
    "velocity": (START, np.array([0.0, 1e308]), "joint elbow is read to move with 1e+308, its positions with 0"),
}


@pytest.mark.parametrize(("q", "qd", "what"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_true_is_bridged_then_lost(library: Library, q: np.ndarray, qd: np.ndarray, what: str) -> None:
    session = Session(library)
    for _ in range(5):
        assert not session.update()
    held = session.effort.copy()
    assert not session.update(q, qd)
    np.testing.assert_allclose(session.effort, held, atol=1e-9)
    assert not session.update(), "one alone is bridged"
    guards = [session.update(q, qd) for _ in range(12)]
    assert not guards[8] & Guard.MEASUREMENT_LOST and guards[-1] & Guard.MEASUREMENT_LOST
    assert what in str(session.control.fault)


def test_a_velocity_that_is_missing_is_named(library: Library) -> None:
    session = Session(library)
    session.update()
    for _ in range(300):
        session.update(START, np.array([np.nan, 0.0]))
    for _ in range(3):
        session.update()
    assert "joint shoulder has no velocity: it is read as nan" in str(session.control.fault)


def test_a_joint_whose_counter_was_lost_is_not_activated(library: Library) -> None:
    session = Session(library)
    session.update()
    session.control.deactivate()
    with pytest.raises(Exception, match="joint elbow is read at 1.2, .* s ago it was at 0.2"):
        session.control.activate(START + [0.0, 1.0], REST)
    session.control.activate(START, REST)
