"""References of an installed package: found by entry point, in a scenario and in `simulate`, and told when broken."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from thunder_controllers import simulate
from thunder_controllers.simulation.reference_options import reference_types
from thunder_controllers.simulation.scenario import RunConfig, check_keys
from thunder_dynamics.errors import ThunderError

ROOT = Path(__file__).parents[2]

MODULE = """
import numpy as np

class Nod:
    period = 2.0
    def __init__(self, centre, depth=0.1):
        self.centre, self.depth = np.array(centre), depth
    def sample(self, t):
        s, c, w = np.sin(np.pi * t)[:, None], np.cos(np.pi * t)[:, None], np.pi
        one = self.depth * np.ones(len(self.centre))
        return np.hstack([self.centre + s * one, w * c * one, -(w**2) * s * one])

class Mute:
    pass

class Short:
    def sample(self, t):
        return np.zeros((len(t) - 1, 9))
"""

ENTRIES = """
[thunder.references]
nod = nods:Nod
mute = nods:Mute
short = nods:Short
gone = nods:Gone
lost = nodding:Nod
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with a class of references, as pip installs it."""
    (tmp_path / "nods.py").write_text(MODULE)
    info = tmp_path / "nods-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nods\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)


def _config(reference: dict[str, Any]) -> RunConfig:
    run = {"robot": "r", "plant": {"urdf": "r"}, "start": {"q": [0.0]}, "duration": 1.0, "reference": reference}
    return check_keys(RunConfig, run, "test")


def test_an_entry_point_is_a_type_of_reference() -> None:
    assert {"nod", "lissajous", "csv"} <= set(reference_types())
    stated = _config({"type": "nod", "centre": [0.1, 0.2], "further": {"wrench": 1.0}}).reference
    assert (stated.further, stated.type) == ({"wrench": 1.0}, "nod")


@pytest.mark.slow
def test_the_arm_follows_it() -> None:
    def same(t: float) -> tuple[NDArray[np.float64], ...]:
        s, c, w = 0.2 * np.sin(np.pi * t), 0.2 * np.cos(np.pi * t), np.pi
        return np.array([0.3, 0.6, -0.4]) + s, np.full(3, w * c), np.full(3, -(w**2) * s)

    named = {"type": "nod", "centre": [0.3, 0.6, -0.4], "depth": 0.2}
    robot = ROOT / "config/robots/planar3r.yaml"
    by_name, by_function = (
        simulate(robot, law="slotine_li", reference=reference, duration=0.3) for reference in (named, same)
    )
    np.testing.assert_allclose(by_name.trace.q, by_function.trace.q, atol=1e-9)
    assert by_name.trace.period == 2.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ({"type": "nod"}, "nod (nods:Nod) raises TypeError: Nod.__init__() missing 1 required positional argument"),
        ({"type": "mute"}, "reference: mute is a Mute without a method sample; valid: sample(t) -> rows"),
        ({"type": "short"}, "short: sample gives values of shape (299, 9), or not finite, for 300 times"),
        (
            {"type": "gone"},
            "entry point gone = nods:Gone: cannot be loaded (AttributeError: module 'nods'",
        ),
        ({"type": "lost"}, "entry point lost = nodding:Nod: cannot be loaded (ModuleNotFoundError: No module"),
    ],
)
def test_what_is_wrong_with_it_is_one_line(reference: dict[str, Any], message: str) -> None:
    with pytest.raises(ThunderError, match=re.escape(message)) as caught:
        simulate(ROOT / "config/robots/planar3r.yaml", law="slotine_li", reference=reference, duration=0.3)
    assert "\n" not in str(caught.value)
