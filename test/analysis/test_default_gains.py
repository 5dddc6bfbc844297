"""Default gains withstand 2 ms of delay at 1 kHz, whatever the size of the arm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from evaluation import load_robot, robot_file

from thunder_controllers.analysis.margin import find_margins
from thunder_controllers.analysis.sampled_loop import Timing
from thunder_controllers.host import Library, margin_poses
from thunder_dynamics.build import LawRequest, build
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model

pytestmark = pytest.mark.slow

LAWS = ("cartesian_backstepping", "slotine_li")
POSES = 10


def scaled_panda(folder: Path, scale: float) -> RobotModel:
    """A Panda with its lengths times a factor, of the same density: masses by its cube, inertias by its fifth power."""
    data = yaml.safe_load(robot_file("panda").read_text(encoding="utf-8"))
    for anchor in ("PI_2", "PI_2_neg"):
        del data[anchor]  # YAML has put them in their places
    dh = data["kinematics"]["DH"]
    data["kinematics"]["DH"] = [value * (scale if k % 4 in (0, 2) else 1.0) for k, value in enumerate(dh)]
    data["Ln_to_EE"]["tr"] = [scale * value for value in data["Ln_to_EE"]["tr"]]
    powers = {"mass": 3, "CoM": 1, "I": 5}
    for link in data["dynamics"].values():
        inertial = link["inertial"]
        for name in inertial:
            inertial[name] *= scale ** next(power for start, power in powers.items() if name.startswith(start))
    path = folder / "panda.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return load_model(path)


def assert_stable(model: RobotModel, delay: float, laws: Sequence[LawRequest]) -> None:
    """With half the margin to spare."""
    library = Library(build(model, laws=laws) / f"lib{model.name}.so")
    for law, _ in laws:
        margins = find_margins(library, law, {}, margin_poses(library, POSES), Timing(rate=1000.0, delay=delay))
        assert margins.is_stable and margins.margin > 2.0, law


@pytest.mark.parametrize("arm", ["panda", "ur5", 0.5, 2.5])
def test_the_default_gains_are_stable_with_two_milliseconds_of_delay(arm: str | float, tmp_path: Path) -> None:
    model = load_robot(arm) if isinstance(arm, str) else scaled_panda(tmp_path, arm)
    assert_stable(model, 0.002, [(law, {}) for law in LAWS])


@pytest.mark.parametrize(("profile", "delay"), [("stiff", 0.001), ("topics", 0.003)])
def test_the_other_profiles_are_stable_with_the_delay_that_they_are_for(profile: str, delay: float) -> None:
    assert_stable(load_robot("panda"), delay, [("cartesian_backstepping", {"profile": profile})])
