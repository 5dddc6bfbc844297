"""`thunder load`: what saved estimates have beyond the model, in the frame of the end effector."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from command_line import Ended, thunder
from hypothesis import given
from hypothesis import strategies as st

from thunder_controllers.host import Configuration, ControlSession, Library, Options, save_estimates
from thunder_controllers.load import load_from_numbers, load_from_words, load_words
from thunder_dynamics.errors import InertiaError
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.readers import load_model

PAYLOAD = Inertia(0.731, (-0.012, 0.004, 0.087), np.diag([2e-3, 3e-3, 2.5e-3]))
"""In the frame of the flange."""


def proposed(file: Path, law: str = "cartesian_backstepping") -> Ended:
    return thunder("load", "panda", file, "--law", law)


def saved(excess: Inertia, panda_folder: Path, file: Path) -> Path:
    """Estimates of a Panda whose last link carries that, given in the frame of the flange."""
    model, configuration = load_model("panda"), Configuration(Library(panda_folder))
    pose = model.ee.pose
    carried = excess.transformed(pose.rotation, pose.translation)
    estimate = {"pi_hat": model.links[-1].inertia.pi + carried.pi}
    save_estimates(file, configuration, ControlSession(configuration, Options(), estimates=estimate).snapshot())
    return file


@pytest.mark.slow
def test_the_load_is_what_is_carried_in_the_frame_of_the_flange(panda_folder: Path, tmp_path: Path) -> None:
    ended = proposed(saved(PAYLOAD, panda_folder, tmp_path / "saved.yaml"))
    assert ended.exit_code == 0, ended.output
    (words,) = re.findall(r"^load:=(\S+)$", ended.output, re.MULTILINE)
    np.testing.assert_allclose(load_from_words(words, "load").dyn, PAYLOAD.dyn, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_less_than_nothing_is_no_load(panda_folder: Path, tmp_path: Path) -> None:
    ended = proposed(saved(Inertia(-0.1), panda_folder, tmp_path / "saved.yaml"))
    assert ended.exit_code == 2 and "weighs -0.1 kg more than its model; valid: above 0" in ended.output


@pytest.mark.slow
def test_estimates_of_another_law_are_refused(panda_folder: Path, tmp_path: Path) -> None:
    ended = proposed(saved(PAYLOAD, panda_folder, tmp_path / "saved.yaml"), "slotine_li")
    assert ended.exit_code == 2 and "law is 'cartesian_backstepping'" in ended.output


numbers = st.floats(-0.5, 0.5)


@given(st.floats(1e-2, 20.0), st.tuples(numbers, numbers, numbers), st.tuples(*[st.floats(1e-4, 0.1)] * 3))
def test_words_and_numbers_are_the_same_load(mass: float, com: tuple[float, ...], radii: tuple[float, ...]) -> None:
    """A solid ellipsoid: its moments hold the triangle inequality also where they are rounded."""
    a, b, c = (0.2 * mass * np.square(radii)).tolist()
    load = Inertia(mass, com, np.diag([b + c, a + c, a + b]))
    read = load_from_words(load_words(load), "load")
    np.testing.assert_allclose(read.dyn, load.dyn, rtol=5e-9)
    assert np.array_equal(load_from_numbers(read.dyn, "load").dyn, read.dyn)
    assert np.array_equal(load_from_numbers(read.dyn[:4], "load").dyn[4:], np.zeros(6))


@pytest.mark.parametrize(
    "words", ["", "1", "1+0+0", "1+0+0+0+1", "0+0+0+0", "-1+0+0+0", "nan+0+0+0", "1+0+0+inf", "1+a+0+0"]
)
def test_what_is_no_load_is_refused(words: str) -> None:
    with pytest.raises(InertiaError, match="load"):
        load_from_words(words, "load")
