"""The file of estimates that the node starts from, as parameters name it; what it holds is the host's business."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from controller_robot import build_panda

from thunder_controllers.host import Configuration, ControlSession, Options, save_estimates
from thunder_controllers.ros.controller.configuration import load_estimates
from thunder_dynamics.errors import ThunderError

VALUES = np.array([0.73, 1 / 3, -1e-17, 0.045, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])


@pytest.fixture(scope="module")
def configuration() -> Configuration:
    return Configuration(build_panda())


def test_saved_estimates_are_read(configuration: Configuration, tmp_path: Path) -> None:
    session = ControlSession(configuration, Options(), estimates={"pi_hat": VALUES})
    save_estimates(tmp_path / "a.yaml", configuration, session.snapshot())
    estimates = load_estimates(str(tmp_path / "a.yaml"), configuration)
    assert list(estimates) == ["pi_hat"] and np.array_equal(estimates["pi_hat"], VALUES)


def test_without_a_file_the_estimates_are_the_library_s(configuration: Configuration) -> None:
    assert load_estimates("", configuration) == {}


def test_a_missing_file_is_named(configuration: Configuration, tmp_path: Path) -> None:
    with pytest.raises(ThunderError, match=r"a\.yaml: cannot be read"):
        load_estimates(str(tmp_path / "a.yaml"), configuration)
