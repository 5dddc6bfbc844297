"""Runs together: the same as one after the other, whatever differs between them, and whoever falls out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot, robot_file

from thunder_controllers import Result, simulate
from thunder_controllers.experiments.engine import parts_of
from thunder_controllers.experiments.experiment import DIVERGED, DONE, FAILED, Case
from thunder_controllers.experiments.fleet import kinship, run_together, twin
from thunder_controllers.experiments.measures import measure_run
from thunder_controllers.experiments.runner import run_case, run_cases
from thunder_controllers.host import Controller, Fleet, Guard, Library
from thunder_controllers.scripting import Sample
from thunder_controllers.simulation.experiment import run_once
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.preparation import Setup, prepare
from thunder_controllers.simulation.scenario import Run, RunConfig, Scenario, merged
from thunder_controllers.simulation.trace import BY_STEP, Trace
from thunder_dynamics.build import build
from thunder_dynamics.errors import DimensionError, LawError, ScenarioError
from thunder_dynamics.expressions import RobotExpressions

ROUNDING = 1e-9
"""Relative, after 0.3 s: a compiler contracts other products in lanes, 1e-16 each, which feedback keeps."""

PLANAR: dict[str, Any] = {
    "robot": str(robot_file("planar3r")),
    "plant": {"engine": "model", "urdf": str(robot_file("planar3r")), "gravity": (0.0, -9.81, 0.0)},
    "law": {"name": "slotine_li", "options": {"adapted_links": ["link3"]}},
    "reference": {"type": "joint_lissajous", "centre": (0.3, 0.6, -0.4), "amplitude": 0.3, "frequency": 0.5},
    "start": {"q": (0.3, 0.6, -0.4)},
    "duration": 0.3,
}
FALLS = {
    "plant": {"payloads": [{"link": "link3", "mass": 300.0}]},
    "check_reference": False,
    "host": {"effort_limit": 20.0, "velocity_limit": 0.2, "velocity_limit_patience": 0.05},
}
"""More than the arm can carry: the host stops it."""

BOX = {"link": "link3", "mass": 0.5, "com": (0.1, 0.02, 0.0), "inertia": (0.001, 0.0, 0.0, 0.002, 0.0, 0.002)}

VARIED: list[dict[str, Any]] = [
    {"seed": 1},
    {"seed": 2, "law": {"gains": {"K_d": 3.0}}},
    {"plant": {"payloads": [BOX]}},
    {"plant": {"payloads": [{**BOX, "time": 0.1, "until": 0.2}, {**BOX, "mass": 1.0, "time": 0.15}]}},
    {"plant": {"friction": {"viscous": 0.3, "coulomb": (0.5, 0.1, 0.05)}, "drive_gain": (0.9, 1.0, 1.2)}},
    {"plant": {"torque_lag": (0.004, 0.0, 0.01), "offsets": 0.2}},
    {"plant": {"rotors": (0.1, 0.2, 0.05)}, "start": {"q": (0.2, 0.5, -0.3), "on_reference": False}},
    {"host": {"effort_rate_limit": 50.0}},
    {"reference": {"frequency": 0.7}},
    {"plant": {"noise": {"q_std": 1e-4}, "velocity_cutoff": 40.0}},
    FALLS,
]
"""Eleven: a register holds two, four or eight, so that some are left over."""


def _config(*changes: dict[str, Any]) -> RunConfig:
    data: dict[str, Any] = dict(PLANAR)
    for change in changes:
        data = merged(data, change)
    return RunConfig.model_validate(data)


@pytest.fixture(scope="module")
def wide() -> Library:
    model = load_robot("planar3r")
    return Library(build(model, [("slotine_li", PLANAR["law"]["options"])], lanes=True))


def _prepared(library: Library, config: RunConfig, adaptation: bool = True) -> tuple[Setup, Run]:
    run = Run("one", adaptation, config)
    model = load_robot("planar3r")
    return prepare(Scenario(Path("test"), "test", "", (run,), ""), run, model, library, model), run


def _assert_same(together: Trace, alone: Trace) -> None:
    for name in BY_STEP:
        ours, theirs = getattr(together, name), getattr(alone, name)
        scale = max(1.0, np.abs(theirs).max(initial=0.0))
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=ROUNDING * scale, err_msg=name)
    np.testing.assert_array_equal(together.truth_time, alone.truth_time)
    np.testing.assert_allclose(together.truth, alone.truth, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "common",
    [{}, {"plant": {"velocity": "exact"}}, {"plant": {"torque_delay": 0.0015, "substeps": 2}}],
    ids=["differences", "exact", "delay in sub-steps"],
)
def test_runs_together_are_those_alone(wide: Library, common: dict[str, Any]) -> None:
    noise = {"plant": {"noise": {"q_std": 1e-5}}}
    configs = [_config(noise, common, own) for own in VARIED]
    together = [_prepared(wide, config, adaptation=k != 1) for k, config in enumerate(configs)]
    assert len({kinship(setup) for setup, _ in together}) == 1
    setups, runs = zip(*together, strict=True)
    stopped = []
    for k, (config, ran) in enumerate(zip(configs, run_together(setups, runs), strict=True)):
        assert not isinstance(ran, ScenarioError)
        trace, timing = ran
        alone, _ = run_once(*_prepared(wide, config, adaptation=k != 1))
        _assert_same(trace, alone)
        assert len(timing.step_ns) == len(trace.t) and timing.wall > 0.0
        stopped.append(trace.first_fault() is not None)
    assert any(stopped) and not stopped[0]


def _again(library: Library, configs: list[RunConfig]) -> tuple[list[Setup], list[Run]]:
    both = [_prepared(library, config) for config in configs]
    return [setup for setup, _ in both], [run for _, run in both]


@pytest.mark.slow
def test_a_twin_is_the_run_of_its_seed(wide: Library) -> None:
    config = _config({"plant": {"noise": {"q_std": 1e-4}, "payloads": [BOX]}})
    setup, run = _prepared(wide, config)
    twins = [twin(setup, run, seed) for seed in (7, 8)]
    for seed, ran in zip((7, 8), run_together(twins, [run, run]), strict=True):
        assert not isinstance(ran, ScenarioError)
        _assert_same(ran[0], run_once(*_prepared(wide, config.model_copy(update={"seed": seed})))[0])
    trace, _ = run_once(setup, run)  # which has not moved
    _assert_same(trace, run_once(*_prepared(wide, config))[0])


@pytest.mark.slow
def test_one_that_diverges_takes_no_other_along(wide: Library) -> None:
    """A state that is set to what is not finite stays so; that plant alone is given up."""
    setups, runs = _again(wide, [_config({"seed": seed}) for seed in range(3)])
    plant = setups[1].plant
    assert isinstance(plant, ModelPlant)
    plant._state_vector[1, 0] = np.nan
    first, lost, last = run_together(setups, runs)
    assert isinstance(lost, ScenarioError) and "diverged before t = 0.006 s" in str(lost)
    for seed, ran in ((0, first), (2, last)):
        assert not isinstance(ran, ScenarioError)
        _assert_same(ran[0], run_once(*_prepared(wide, _config({"seed": seed})))[0])


@pytest.mark.slow
def test_who_may_not_go_together(wide: Library) -> None:
    base = kinship(_prepared(wide, _config())[0])
    for other in (
        {"duration": 0.4},
        {"rate": 500.0},
        {"plant": {"substeps": 2}},
        {"plant": {"torque_delay": 0.001}},
        {"plant": {"velocity": "exact"}},
        {"plant": {"gravity": (0.0, 0.0, 0.0)}},
        {"host": {"gravity_compensated_by_robot": True}},
    ):
        assert kinship(_prepared(wide, _config(other))[0]) not in (base, None), other
    faulty = {"plant": {"faults": [{"type": "loss", "share": 0.5, "joints": ["joint1"]}]}}
    assert kinship(_prepared(wide, _config(faulty))[0]) is None


def _case(row: str, **changes: Any) -> Case:
    return Case(row, _config(changes), 0.1, True, measure_run)


@pytest.mark.slow
@pytest.mark.parametrize("most", [100, 2], ids=["at once", "two at a time"])
def test_cases_together_give_what_each_gives(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thunder_controllers.experiments.runner.most_together", lambda _: most)
    noise = {"noise": {"q_std": 1e-5}}
    cases = [_case("seeds", seed=seed, plant=noise) for seed in range(3)]
    cases += [
        _case("loss", plant={"faults": [{"type": "loss", "share": 0.5}]}),
        _case("gain", law={"gains": {"K": 1.0}}),
    ]
    cases += [_case("falls", **FALLS)]
    together, alone = run_cases(cases), [run_case(case) for case in cases]
    assert [one.ended for one in together] == [one.ended for one in alone]
    assert [one.message for one in together] == [one.message for one in alone]
    assert together[0].ended == DONE and together[4].ended == FAILED and "no gain 'K'" in together[4].message
    assert together[5].ended not in (DONE, FAILED, DIVERGED)
    for ours, theirs in zip(together, alone, strict=True):
        for name in set(ours.values) - {"step_us"}:
            assert ours.values[name] == pytest.approx(theirs.values[name], rel=1e-6, abs=1e-9), name
    assert parts_of(cases, 2) == [[0, 1, 2], [4, 5], [3]] or sorted(sum(parts_of(cases, 2), [])) == [*range(6)]


@pytest.mark.slow
def test_what_stops_all_stops_the_one_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that names no run is looked for run by run."""

    def broken(*_: Any) -> Any:
        raise LawError("it failed", where="here")

    monkeypatch.setattr("thunder_controllers.experiments.runner.run_together", broken)
    assert [one.ended for one in run_cases([_case("a", seed=seed) for seed in range(3)])] == [DONE] * 3


def test_a_fleet_takes_controllers_of_one_law_and_rows_that_fit(wide: Library) -> None:
    with pytest.raises(LawError, match="no controller"):
        Fleet([])
    controllers = [Controller() for _ in range(2)]
    for controller in controllers:
        controller.configure(wide, law="slotine_li")
        controller.activate(np.zeros(3))
    fleet = Fleet(controllers)
    law, two = wide.law("slotine_li"), np.zeros((2, 3))
    size = sum(entry.size for entry in law.state), sum(entry.size for entry in law.telemetry)
    rows: dict[str, Any] = {
        "reference": np.zeros((2, 9)),
        **{name: two.copy() for name in ("q", "qd", "effort")},
        "guards": np.zeros((2, 1), np.uint32),
        "state": np.zeros((2, size[0])),
        "telemetry": np.zeros((2, size[1])),
    }
    fleet.update(t=0.0, dt=1e-3, **rows)
    assert int(rows["guards"].max()) & ~int(Guard.EFFORT_RATE_LIMITED) == 0
    for name, bad in (
        ("q", np.zeros((3, 3))),
        ("qd", np.zeros((3, 2)).T),
        ("effort", np.zeros(3)),
        ("reference", np.zeros((2, 5))),
    ):
        with pytest.raises(DimensionError):
            fleet.update(t=1e-3, dt=1e-3, **{**rows, name: bad})
    controllers[1].deactivate()
    controllers[1].configure(Library(wide.path), law="slotine_li")
    with pytest.raises(LawError, match="of the same library"):
        fleet.update(t=1e-3, dt=1e-3, **rows)
    with pytest.raises(LawError, match="unconfigured"):
        Controller().configure_as(Controller())


@pytest.mark.slow
def test_friction_of_the_plant_is_that_of_the_model() -> None:
    """Viscous of two orders and Coulomb: the torque that `dl` of the robot says moves it as none does without."""
    model = load_robot("planar3r")
    model = replace(model, links=tuple(replace(link, friction=(), coulomb=0.0) for link in model.links))
    links = [replace(link, friction=(0.3 + k, 0.1 * k), coulomb=0.2 * k) for k, link in enumerate(model.links)]
    rubbing = replace(model, links=tuple(links))
    rubbed, free = (ModelPlant(one, model.joint_names, 1e-3) for one in (rubbing, model))
    rng, friction = np.random.default_rng(0), RobotExpressions(rubbing).function("dl")
    for size in (1e-9, 1e-4, 1e-2, 1.0, 1e2):
        q, qd = rng.normal(size=(2, 3)) * np.array([[1.0], [size]])
        torque = np.ravel(friction(qd))
        found, expected = rubbed.acceleration(q, qd, torque), free.acceleration(q, qd, np.zeros(3))
        missing = free.mass_matrix(q) @ (found - expected)
        np.testing.assert_allclose(missing, 0.0, rtol=0, atol=1e-13 * (1.0 + np.abs(expected).max()))


@pytest.mark.slow
def test_seeds_from_python() -> None:
    arguments: dict[str, Any] = {
        "law": "slotine_li",
        "reference": PLANAR["reference"],
        "duration": 0.3,
        "plant": {"noise": {"q_std": 1e-4}},
        "seed": 5,
    }
    sample = simulate(robot_file("planar3r"), seeds=10, **arguments)
    assert isinstance(sample, Sample) and sample.faults == 0 and sample.seeds == range(5, 15)
    one = simulate(robot_file("planar3r"), **{**arguments, "seed": 9})
    assert isinstance(one, Result)
    assert sample.values("iae")[4] == pytest.approx(np.linalg.norm(one.trace.error, axis=1).mean() * 0.3, rel=1e-6)
    assert len(set(sample.values("iae"))) == 10 and "10 runs, 0 stopped" in repr(sample)
    with pytest.raises(ScenarioError, match="in Python"):
        model = load_robot("planar3r")
        simulate(model, seeds=2, **{**arguments, "plant": {"faults": [{"type": "loss", "share": 0.1}]}})
