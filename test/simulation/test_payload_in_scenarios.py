"""A scenario that identifies: the motion under laws of joints and of the pose, and the payload in its results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scenario_files import written

from thunder_controllers.report.figures import with_centre
from thunder_controllers.report.page import write_report
from thunder_controllers.simulation.experiment import load_results, run_scenario
from thunder_controllers.simulation.trace import Trace
from thunder_dynamics.errors import NameNotFoundError

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
Q = [0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8]
PAYLOAD = {"link": "panda_link7", "mass": 1.0, "com": [0.03, -0.02, 0.157], "inertia": [0.002, 0, 0, 0.002, 0, 0.001]}


def _run(folder: Path, law: str, duration: float = 5.0, **reference: Any) -> Path:
    document = {
        "name": "identify",
        "robot": str(ROOT / "config/robots/panda.yaml"),
        "plant": {"urdf": str(ROOT / "urdf/panda.urdf.xacro"), "payloads": [PAYLOAD]},
        "law": {"name": law},
        "reference": {"type": "identify", "q": Q, "period": 5.0, "harmonics": 3, **reference},
        "start": {"q": Q},
        "duration": duration,
        "runs": [{"name": "one"}],
    }
    return run_scenario(written(folder, document), folder / "out").folder


@pytest.mark.parametrize(("law", "columns"), [("slotine_li", 21), ("cartesian_backstepping", 24)])
def test_the_record_tells_the_payload(tmp_path: Path, law: str, columns: int) -> None:
    folder = _run(tmp_path, law)
    trace = Trace.load(folder / "one.npz")
    assert trace.reference.shape[1] == columns and float(trace.period) == 5.0
    payload = json.loads((folder / "metrics.json").read_text())["runs"]["one"]["payload"]
    assert payload["link"] == "panda_link7" and payload["trusted"][:4] == ["mass", "CoM_x", "CoM_y", "CoM_z"]
    fit = payload["fit"]
    assert fit["mass"] == pytest.approx(1.0, abs=2e-3)
    np.testing.assert_allclose([fit[f"CoM_{axis}"] for axis in "xyz"], PAYLOAD["com"], atol=1e-3)
    record = json.loads((folder / "metrics.json").read_text())["runs"]["one"]["record"]["panda_link7"]
    truth = with_centre(trace.truth[-1])[0]
    assert record["known"][:4] == ["mass", "CoM_x", "CoM_y", "CoM_z"] and record["settled"][0] == "mass"
    np.testing.assert_allclose([record["fit"][name] for name in record["known"][:4]], truth[:4], atol=2e-3)
    page = write_report(load_results(folder)).read_text()
    assert "panda_link7: payload, CoM [mm], least-squares fit" in page


def test_a_short_run_has_no_payload_and_still_reports(tmp_path: Path) -> None:
    folder = _run(tmp_path, "slotine_li", duration=0.1)
    assert json.loads((folder / "metrics.json").read_text())["runs"]["one"]["payload"] is None
    assert "payload, mass" not in write_report(load_results(folder)).read_text()


def test_an_unknown_link_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NameNotFoundError, match=r"no link 'hand'.*panda_link7"):
        _run(tmp_path, "slotine_li", link="hand")
