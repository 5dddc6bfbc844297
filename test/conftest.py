"""Shared test set-up: helpers beside the tests are importable by name; builds go to a cache of the session."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: several processes gain nothing by threads

from parts import PARTS  # noqa: E402

hypothesis.settings.register_profile("untimed", deadline=None)  # no test depends on wall time
hypothesis.settings.load_profile("untimed")

FAST = 1.0
"""Processor time above which `make check` warns of a test that is not marked slow, children included [s]."""

FAR_FROM_FAST = 4.0
"""Processor time with which such a test fails [s]: slow machines and busy ones take up to 2.5 times a quiet one's."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """--part, of `PARTS`."""
    parser.addoption("--part", choices=sorted(PARTS), help="run this part of `make test-all`, and nothing else")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what belongs to a part that was not asked for."""
    asked = config.getoption("part")
    named = {Path(argument.partition("::")[0]).resolve() for argument in config.args}
    kept: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        name = f"{item.path.relative_to(ROOT)}::{item.name}"
        part = next((part for part, tests in PARTS.items() if name.startswith(tests)), None)
        kept[part == asked or (not asked and item.path in named)].append(item)
    config.hook.pytest_deselected(items=kept[False])
    items[:] = kept[True]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Where slow tests are left out, warn of one that ought to be, by processor time, and fail one that is far off.

    One that compiles the first robot of its kind is not judged: the robot stays in the cache.
    """
    begun, compiled = sum(os.times()[:4]), _compiled()
    yield
    used = sum(os.times()[:4]) - begun
    if _compiled() == compiled and item.config.getoption("markexpr") == "not slow" and used > FAST:
        told = f"{used:.1f} s of processor time, more than {FAST:g}: make it faster, or mark it slow"
        if used > FAR_FROM_FAST:
            pytest.fail(told, False)
        item.warn(pytest.PytestWarning(told))


def _compiled() -> set[Path]:
    return set(Path(os.environ.get("XDG_CACHE_HOME", "")).glob("thunder/*"))


@pytest.fixture(scope="session", autouse=True)
def build_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folder that `build` caches in instead of the user's; the processes of a parallel run share it.

    THUNDER_TEST_CACHE names one that outlives the session: what did not change is then not compiled again.
    """
    base = tmp_path_factory.getbasetemp()
    temporary = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    folder = Path(os.environ.get("THUNDER_TEST_CACHE", temporary)).resolve()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder / "thunder"


@pytest.fixture(scope="session")
def panda_folder(build_cache: Path) -> Path:
    """The Panda with its Cartesian law, compiled."""
    from evaluation import load_robot

    import thunder_dynamics

    return thunder_dynamics.build(load_robot("panda"), laws=["cartesian_backstepping"])


@pytest.fixture(scope="session")
def sea2_folder(build_cache: Path) -> Path:
    """The elastic arm with run-time parameters of most groups, compiled."""
    from evaluation import load_robot

    import thunder_dynamics

    return thunder_dynamics.build(load_robot("sea2"))


@pytest.fixture
def sea2_cpp(sea2_folder: Path, build_cache: Path) -> Any:
    """Its C++ class."""
    from cpp_robot import cpp_robot

    return cpp_robot(sea2_folder, "sea2", build_cache / "cpp")
