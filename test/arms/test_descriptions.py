"""Names of robots: ours, those of collections, where these are installed, and files."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from described_arms import arm

from thunder_controllers.arms import descriptions
from thunder_controllers.arms.descriptions import COLLECTION, DESCRIPTIONS, collected, find_description
from thunder_controllers.resources import share
from thunder_dynamics.errors import NameNotFoundError, RobotFileError


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as example-robot-data has it."""
    for name in (
        "first_description/urdf/first.urdf",
        "ur_description/urdf/ur3.urdf",
        "ur_description/urdf/ur3_robot.urdf",
    ):
        file = tmp_path / "collection" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(arm())
    monkeypatch.setattr(descriptions, "collection", lambda: tmp_path / "collection")
    collected.cache_clear()
    yield tmp_path / "collection"
    collected.cache_clear()


@pytest.fixture
def fetching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module as robot_descriptions is, with one description that is there, and one that no network brings."""
    kept = tmp_path / "kept.urdf"
    kept.write_text(arm())
    package, module = ModuleType(DESCRIPTIONS), ModuleType(f"{DESCRIPTIONS}.kept_description")
    urdf, other = (SimpleNamespace(has_urdf=one, has_mjcf=False) for one in (True, False))
    package.DESCRIPTIONS = {"kept_description": urdf, "far_description": urdf, "kept_mj_description": other}
    package.__path__, package.__spec__ = [], SimpleNamespace(submodule_search_locations=[])
    module.XACRO_PATH, module.XACRO_ARGS = str(kept), {"side": "left"}
    monkeypatch.setitem(sys.modules, DESCRIPTIONS, package)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return kept


def test_ours_come_first() -> None:
    found = find_description("panda")
    assert found.file == share("config/robots/panda.yaml") and not found.is_collected


def test_a_name_of_a_collection_is_that_of_its_file(collection: Path) -> None:
    found = find_description("ur3")
    assert found.file.name == "ur3_robot.urdf" and found.origin == COLLECTION and found.is_collected
    assert find_description("first").file == collection / "first_description/urdf/first.urdf"


def test_a_file_of_that_name_here_goes_first(collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("first").write_text("")
    assert find_description("first").file == tmp_path / "first"


def test_a_description_that_is_kept_comes_with_its_arguments(fetching: Path) -> None:
    for name in ("kept", "kept_description"):
        assert find_description(name) == (fetching, {"xacro_args": {"side": "left"}}, DESCRIPTIONS)
    with pytest.raises(RobotFileError, match=r"far_description cannot be fetched .*; valid: a network, or"):
        find_description("far")


def test_an_unknown_name_is_told_close_ones_and_what_to_install(
    collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        NameNotFoundError, match=r"no robot 'firts'.*did you mean first\?.*pip install robot_descriptions"
    ):
        find_description("firts")
    monkeypatch.setattr(descriptions, "collection", lambda: None)
    collected.cache_clear()
    with pytest.raises(NameNotFoundError, match=r"no robot 'z1'.*pip install 'thunder-controllers\[arms\]'"):
        find_description("z1")


def test_a_file_and_a_package_uri_are_taken_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "mine.urdf"
    file.write_text(arm())
    assert find_description(file) == (file, {}, "")
    found = find_description("package://thunder_controllers/config/robots/ur5.yaml")
    assert found.file == share("config/robots/ur5.yaml")
