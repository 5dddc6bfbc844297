"""What the tests of the host share: the pendulum of two joints, compiled once, and the Panda."""

from __future__ import annotations

from pathlib import Path

import pytest
from pendulum2 import compile_pendulum2

from thunder_controllers.host import Configuration, Library


@pytest.fixture(scope="session")
def pendulum2_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled pendulum, in a folder that tests may add to."""
    return compile_pendulum2(tmp_path_factory.mktemp("pendulum2"))


@pytest.fixture(scope="session")
def library(pendulum2_file: Path) -> Library:
    """The pendulum."""
    return Library(pendulum2_file)


@pytest.fixture(scope="session")
def panda(panda_folder: Path) -> Configuration:
    """The Panda with its Cartesian law."""
    return Configuration(Library(panda_folder))
