"""The momentum observer against the true torques from outside, and the adaptation that a contact holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot
from laws import packed, unpacked

from thunder_controllers.laws.slotine_li import slotine_li
from thunder_controllers.simulation.faults.wrench import Wrench
from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law
from thunder_dynamics.model import RobotModel

pytestmark = pytest.mark.slow

FloatArray = np.ndarray
START = np.array([0.3, 0.9, -0.6])
SOFT = {"Lambda": 4.0, "K_d": [12.0, 5.0, 1.0]}
"""Enough for 250 Hz."""


@pytest.fixture(autouse=True)
def _cache(build_cache: Path) -> None:
    """Libraries are built where the session says."""


@cache
def arm() -> RobotModel:
    """The planar arm of its file, with friction."""
    model = load_robot("planar3r")
    rubbed = zip(model.links, (0.8, 0.5, 0.2), (0.4, 0.3, 0.1), strict=True)
    links = tuple(replace(link, friction=(viscous,), coulomb=coulomb) for link, viscous, coulomb in rubbed)
    return replace(model, links=links)


@cache
def law(**options: str) -> Law:
    return slotine_li(RobotExpressions(arm()), options)


def wanted(t: float, share: float) -> dict[str, FloatArray]:
    size, frequency = share * np.array([0.3, 0.4, 0.5]), np.array([2.0, 3.0, 2.5])
    cosine, sine = np.cos(frequency * t), np.sin(frequency * t)
    return {"q": START + size * (1.0 - cosine), "qd": size * frequency * sine, "qdd": size * frequency**2 * cosine}


@dataclass(frozen=True)
class Run:
    """What was at each step: telemetry and estimates of the law, and the mean torque from outside until then."""

    t: FloatArray
    telemetry: Mapping[str, FloatArray]
    pi_hat: FloatArray
    outside: FloatArray

    def lagging(self, bandwidth: float) -> FloatArray:
        """The true torque from outside through the filter of the observer, exactly."""
        a, filtered = np.exp(-bandwidth * self.t[1]), [np.zeros(3)]
        for mean in self.outside[1:]:
            filtered.append(a * filtered[-1] + (1.0 - a) * mean)
        return np.array(filtered)


def run(
    chosen: Law,
    seconds: float,
    rate: float,
    gains: Mapping[str, object],
    pushes: tuple[Wrench, ...] = (),
    state: Mapping[str, object] | None = None,
    share: float = 1.0,
) -> Run:
    """The law takes the model's arm along its reference, or a share of it, while others push."""
    period, gain_vector = 1.0 / rate, packed(chosen.gains, {**SOFT, **gains})
    plant = ModelPlant(arm(), arm().joint_names, period, PlantOptions(faults=pushes, velocity="exact"))
    plant.reset(START)
    initial = unpacked(chosen.state, np.asarray(chosen.initial(START, 0.0 * START, gain_vector)).ravel())
    now = packed(chosen.state, {**initial, **(state or {})})
    times, effort = np.arange(round(seconds * rate)) / rate, plant.holding_effort()
    rows: dict[str, list[Any]] = {"telemetry": [], "pi_hat": [], "outside": []}
    before = plant.external_effort()
    for t in times:
        q, qd = plant.q.copy(), plant.qd.copy()
        found = chosen.step(q, qd, effort, [], packed(chosen.reference, wanted(t, share)), now, gain_vector, period)
        effort, now, telemetry = (np.asarray(one).ravel() for one in found)
        rows["outside"].append(before)
        rows["telemetry"].append(telemetry)
        rows["pi_hat"].append(unpacked(chosen.state, now).get("pi_hat"))
        first = plant.external_effort()
        plant.step(effort)
        before = 0.5 * (first + plant.external_effort())
    columns = np.split(np.array(rows["telemetry"]), np.cumsum([e.size for e in chosen.telemetry])[:-1], axis=1)
    named = {entry.name: column for entry, column in zip(chosen.telemetry, columns, strict=True)}
    return Run(times, named, np.array(rows["pi_hat"]), np.array(rows["outside"]))


def push(start: float, end: float | None, force: tuple[float, float, float], rise: float = 0.1) -> Wrench:
    return Wrench(type="wrench", link="link3", start=start, end=end, force=force, profile=((0.0, 0.0), (rise, 1.0)))


HARD = (8.0, 0.0, -12.0)
CAREFUL = {"contact_threshold": [2.0, 1.5, 0.6]}


@pytest.mark.parametrize(("rate", "bandwidth"), [(250.0, 50.0), (500.0, 0.1), (500.0, 1000.0), (1000.0, 5.0)])
def test_the_residual_is_the_true_torque_through_its_filter(rate: float, bandwidth: float) -> None:
    """With an exact model, friction included, whatever K_o and period.

    What is left is friction of joints that start to move, the mean of a period by its value at the end: some hundredths
    of the friction here, 0.4 N·m, and of the first order in the period.
    """
    chosen = law(contact="observe", adaptation="none")
    seen = run(chosen, 1.2, rate, {"observer_bandwidth": bandwidth}, (push(0.4, None, HARD),))
    wrong = np.abs(seen.telemetry["external_torque"] - seen.lagging(bandwidth))
    assert np.abs(seen.outside).max() > 9.0
    assert wrong.max() < 0.15 * 250.0 / rate


def test_estimates_are_kept_during_a_contact_and_adapt_before_and_after() -> None:
    """Though the first estimate is wrong by a third, which shows in the residual, too."""
    chosen = law(contact="freeze")
    first = 1.3 * arm().links[2].inertia.pi
    seen = run(chosen, 3.0, 500.0, CAREFUL, (push(1.0, 1.6, HARD, 0.01),), {"pi_hat": first})
    contact = seen.telemetry["contact"].ravel() > 0.0
    change = np.abs(np.diff(seen.pi_hat, axis=0)).max(axis=1)
    np.testing.assert_array_equal(change[contact[1:]], 0.0)
    assert (change[~contact[1:]] > 0.0).mean() > 0.9
    begins, ends = seen.t[contact][[0, -1]]
    assert 1.0 < begins < 1.05
    assert 1.6 + 0.19 < ends < 1.6 + 0.5  # the hold time, and what a wrong estimate and the push leave of r beside r̄
    assert contact[(seen.t > begins) & (seen.t < 1.6)].all()


def test_what_lasts_is_no_contact_for_ever() -> None:
    chosen = law(contact="freeze")
    gains = {**CAREFUL, "contact_patience": 0.5}
    pushes = (push(0.5, None, HARD, 0.01),)
    contact = run(chosen, 3.0, 250.0, gains, pushes, share=0.0).telemetry["contact"].ravel()
    assert contact[:125].max() == 0.0 and contact[150] == 1.0
    assert contact[-250:].max() == 0.0


@pytest.mark.parametrize("factor", [0.3, 1.0, 1.5])
def test_a_wrong_estimate_alone_is_no_contact(factor: float) -> None:
    """Of a link whose weight is a torque of 4 N·m about the first joint, with thresholds of half of that."""
    state = {"pi_hat": factor * arm().links[2].inertia.pi}
    seen = run(law(contact="freeze"), 2.0, 250.0, CAREFUL, state=state)
    if factor != 1.0:
        assert np.abs(seen.telemetry["external_torque"]).max() > 2.0
    assert seen.telemetry["contact"].max() == 0.0


def test_an_estimate_that_shakes_the_arm_is_held_for_a_while_only() -> None:
    """Three times the last link is more than this rate bears, and the weight that it predicts is as wrong."""
    state = {"pi_hat": 3.0 * arm().links[2].inertia.pi}
    seen = run(law(contact="freeze", adaptation="projected"), 4.0, 250.0, CAREFUL, state=state)
    contact = seen.telemetry["contact"].ravel()
    assert 0.0 < contact.mean() < 0.5
    assert contact[-250:].max() == 0.0
    assert abs(seen.pi_hat[-1, 0] - 1.0) < 0.5


def test_to_freeze_something_must_adapt() -> None:
    with pytest.raises(LawError, match="law slotine_li: contact=freeze where nothing adapts; valid: contact=observe"):
        law(contact="freeze", adaptation="none")
