"""The velocity that the host finds by the model: what it bears beside a filtered one, on a plant of Pinocchio's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from evaluation import load_robot
from host_programs import REPOSITORY
from pinocchio_arm import PinocchioArm

from thunder_controllers.host import Controller, Guard, Library, Options, total_delay
from thunder_dynamics.build import build
from thunder_dynamics.errors import LawError
from thunder_dynamics.readers import load_model

GEN3 = REPOSITORY / "test" / "data" / "gen3.urdf"
ROTORS = 2e-3 * np.array([39.0, 39.0, 39.0, 39.0, 9.0, 9.0, 9.0])
"""[kg·m²]"""

STEP, DEAD_TIME, CUTOFF = 1e-3, 2, 100.0
"""[s], steps, [Hz]"""

HIGH = 2.8
"""Default gains times so much: a filtered velocity bears 2.3 here, one without its lag 3.1."""


@pytest.fixture(scope="module")
def gen3(build_cache: Path) -> Library:
    model = load_model(GEN3)
    described = model.with_rotor_inertias(dict(zip(model.joint_names, ROTORS, strict=True)))
    return Library(build(described, ["pd_plus"]) / f"lib{model.name}.so")


def speed_left(library: Library, gains: float, by_model: bool, rotors: float = 1.0, load: float = 0.0) -> float:
    """Greatest joint speed in the end where `pd_plus` holds a Gen3 for half a second [rad/s]; infinite after a fault.

    The true rotors are `rotors` times those of the description; the hand holds a load [kg].
    """
    arm = PinocchioArm(GEN3, np.array([0.3, 0.5, -0.4, 1.2, 0.2, 0.8, 0.1]), rotors * ROTORS, load)
    arm.velocity = 0.003 * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    host = Controller()
    scaled = {gain.name: gains * np.ravel(gain.defaults) for gain in library.law("pd_plus").gains}
    host.configure(
        library, law="pd_plus", gains=scaled, options=Options(velocity_by_model=by_model, accepts_unstable_gains=True)
    )
    read, rate = arm.joints, arm.velocity
    host.activate(read, rate)
    efforts = [arm.gravity()] * (DEAD_TIME + 1)
    share, speeds = -np.expm1(-2.0 * np.pi * CUTOFF * STEP), []
    for k in range(500):
        effort = np.zeros(library.n_joints)
        guards = host.update(k * STEP, read, rate, STEP, effort)
        if guards & Guard.STOPPING:
            return np.inf
        efforts = [*efforts[1:], effort]
        arm.move(efforts[0], STEP)
        rate = rate + share * ((arm.joints - read) / STEP - rate)
        read = arm.joints
        speeds.append(np.abs(arm.velocity).max())
    return float(max(speeds[-100:]))


def test_it_bears_gains_that_a_filtered_velocity_does_not(gen3: Library) -> None:
    assert speed_left(gen3, HIGH, by_model=False) > 0.1
    assert speed_left(gen3, HIGH, by_model=True) < 1e-3


@pytest.mark.parametrize(("rotors", "load"), [(0.7, 0.0), (1.3, 0.0), (1.0, 2.0), (0.7, 2.0), (2.0, 0.0)])
def test_it_bears_the_default_gains_where_the_arm_is_another_one(gen3: Library, rotors: float, load: float) -> None:
    held = speed_left(gen3, 1.0, True, rotors, load)
    assert held < 2.0 * max(speed_left(gen3, 1.0, False, rotors, load), 1e-3)


def test_it_is_refused_where_rotors_are_unknown_or_joints_are_elastic(build_cache: Path) -> None:
    unknown = Library(build(load_robot("planar3r"), ["pd_plus"]) / "libplanar3r.so")
    elastic = Library(build(load_robot("sea2"), ["pd_plus"]) / "libsea2.so")
    for library, why in ((unknown, "the rotor of joint [a-z0-9]+ is not known"), (elastic, "the joints are elastic")):
        with pytest.raises(LawError, match=why):
            Controller().configure(library, law="pd_plus", options=Options(velocity_by_model=True))


def test_it_counts_as_late_all_the_same() -> None:
    """For a model that is off takes back what is gained."""
    assert total_delay(Options(velocity_by_model=True)) == total_delay(Options())
