"""Arms that stick and pick up an unknown load: adaptation beside what practice puts in its place (theory.md §9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.commissioning.file import suggested_gains, told_model, write_commissioned
from thunder_controllers.commissioning.plan import Budget, CommissioningError
from thunder_controllers.commissioning.simulation import commission_scenario
from thunder_controllers.experiments import draws
from thunder_controllers.experiments.experiment import DONE, Case, Measured, Settings
from thunder_controllers.experiments.measures import measure_run
from thunder_controllers.experiments.runner import load_robot, run_case, scenario_of
from thunder_controllers.host import Library, Limits, Options, PoseFollower
from thunder_controllers.references.trajectories import POSITION, ROTATION
from thunder_controllers.simulation.experiment import learned_in
from thunder_controllers.simulation.scenario import Run, merged
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_studies.arms import ARMS, ROTOR, described, library_of, robot_file
from thunder_studies.panda import Keys
from thunder_studies.payload import payload, posture

FloatArray = NDArray[np.float64]

LAW = "cartesian_backstepping"

RATED: Mapping[str, float] = {
    "panda": 3.0,
    "ur5": 5.0,
    "ur10": 10.0,
    "baxter": 2.2,
    "ur3": 3.0,
    "xarm7": 3.5,
    "j2s6s200": 2.6,
    "z1": 2.0,
    "tiago": 3.0,
    "tiago_pro": 3.0,
}
"""Loads for which the makers sell the arms [kg]."""

LARGE = ("panda", "ur5", "ur10", "baxter", "tiago_pro")

LOAD = 0.6
"""Share of the rated load that is picked up."""

VISCOUS, COULOMB, STATIC = 0.005, 0.02, 0.03
"""Friction over the effort limit of each joint [s/rad], [1], [1]: 3 % of its effort to break away."""

SPEED, AMPLITUDE = 0.3, 0.08
"""Largest joint speed over its limit, and amplitude of the path along each axis at most [m]."""

NEARER = 0.6
"""Along the whole path the least singular value of J is that share of the first one at least."""


@dataclass(frozen=True)
class Condition:
    """Drives, path and load of an arm.

    Args:
        delay, lag: Dead time and time constant of its drives [s].
        profile: Of the law's default gains, for that delay.
        speed: Over the joints' limits along the path at most; None is up to SPEED, as the path happens to be.
        noise: Of its encoders, standard deviation [rad].
        load: Share of the rated load that is picked up.
    """

    delay: float = 2e-3
    lag: float = 2e-3
    profile: str = "default"
    speed: float | None = None
    noise: float = 1e-5
    load: float = LOAD


STANDARD = Condition()

MAP: Mapping[str, Condition] = {
    "standard": STANDARD,
    "no lag": Condition(delay=1e-3, lag=0.0),
    "late": Condition(delay=7e-3, lag=3e-3, profile="late"),
    "slow": Condition(speed=0.1),
    "fast": Condition(speed=0.5),
    "fastest": Condition(speed=0.8),
    "noisy": Condition(noise=1e-4),
    "light": Condition(load=0.2),
    "heavy": Condition(load=1.0),
}
"""Conditions by the name of their numbers."""

SEEDS = 1000
"""Number of seeds that a condition may have: the seed of a run tells its condition."""

UNSEEN = ("panda", "ur5", "ur10", "z1")
"""Arms on which no default of an observer was chosen."""

AGAIN, FIRST = 5.0, 1.0
"""Duration of a motion that is made again, and of its first part [s]."""

PUSH, PUSHED = 20.0, (14.0, 16.0)
"""Force along z on the last link [N], and when [s]."""


def draw_large(settings: Settings, row: str) -> Iterator[Keys]:
    """Draw every arm of LARGE for every seed; nothing of those whose file is not installed."""
    return _draw(settings, LARGE)


def draw_small(settings: Settings, row: str) -> Iterator[Keys]:
    """Draw the other arms."""
    return _draw(settings, [name for name in RATED if name not in LARGE])


def draw_map(settings: Settings, row: str) -> Iterator[Keys]:
    """Draw every arm of UNSEEN under every condition of MAP."""
    for number, condition in enumerate(MAP.values()):
        for keys in _draw(settings, UNSEEN, condition):
            yield merged(keys, {"seed": SEEDS * number + keys["seed"]})


def draw_repeated(settings: Settings, row: str) -> Iterator[Keys]:
    """Draw every arm of UNSEEN."""
    return _draw(settings, UNSEEN)


def draw_silent(settings: Settings, row: str) -> Iterator[Keys]:
    """Draw every arm; the controller is told neither its rotors nor how late its drives are."""
    for keys in _draw(settings, RATED):
        told = {name: value for name, value in keys["robot_options"].items() if name != "rotor_inertias"}
        yield {**keys, "robot_options": told, "host": {}}


def draw_pushed(settings: Settings, row: str) -> Iterator[Keys]:
    """Draw every arm of UNSEEN; PUSH acts when the load is known."""
    for keys in _draw(settings, UNSEEN):
        begin, end = PUSHED
        push = {
            "type": "wrench",
            "link": keys["plant"]["payloads"][0]["link"],
            "force": [0.0, 0.0, -PUSH],
            "start": begin,
            "end": end,
            "profile": [[0.0, 0.0], [0.2, 1.0]],
        }
        yield merged(keys, {"plant": {"faults": [push]}, "duration": end + 1.0})


def _draw(settings: Settings, arms: Iterable[str], condition: Condition = STANDARD) -> Iterator[Keys]:
    yield from (
        practised_arm(name, seed, condition) for name in arms if robot_file(ARMS[name]) for seed in settings.seeds
    )


@cache
def practised_arm(name: str, seed: int, condition: Condition) -> Keys:
    """An arm that knows its rotors to 15 %, on a path about a dexterous posture; at 6 s it picks a load up."""
    file = robot_file(ARMS[name])
    assert file is not None
    library, rng = library_of(name, LAW, file), np.random.default_rng([seed, *name.encode(), *b"practice"])
    limit, mass = np.minimum(np.asarray(library.effort_limit), 300.0), condition.load * RATED[name]
    q = posture(rng, library, LOAD * RATED[name])
    (T,) = draws.poses(library, np.array(q)[None])
    pose, frequency = draws.stated(T), rng.uniform(0.15, 0.35, 3)
    amplitude = _amplitude(library, np.array(q), frequency)
    if condition.speed is not None:
        frequency *= condition.speed / _largest_speed(library, np.array(q), amplitude, frequency)
    stated = ROTOR * limit
    plant = {
        "integrator": "rk4",
        "payloads": [payload(library.link_names[-1], mass, time=6.0)],
        "rotors": tuple((stated * rng.uniform(0.85, 1.15, len(limit))).tolist()),
        "friction": {
            "viscous": tuple((VISCOUS * limit).tolist()),
            "coulomb": tuple((COULOMB * limit).tolist()),
            "static": tuple((STATIC * limit).tolist()),
            "stribeck_velocity": 0.05,
        },
        "noise": {"q_std": condition.noise},
        "torque_delay": condition.delay,
        "torque_lag": condition.lag,
    }
    path = {
        "type": "lissajous",
        "centre": pose["position"],
        "ypr": pose["ypr"],
        "amplitude": tuple(amplitude.tolist()),
        "frequency": tuple(frequency.tolist()),
    }
    keys = {
        "robot_options": {"rotor_inertias": dict(zip(library.joint_names, stated.tolist(), strict=True))},
        "plant": plant,
        "host": {"dead_time": condition.delay, "drive_lag": condition.lag},
        "reference": path,
        "start": {"q": q, "on_reference": False},
        "law": {"gains": {"q_home": q}, "options": {"profile": condition.profile}},
        "rate": 1000.0,
        "duration": 14.0,
        "seed": seed,
    }
    return merged(described(ARMS[name], file, LAW), keys)


def _largest_speed(library: Library, q: FloatArray, amplitude: FloatArray, frequency: FloatArray) -> float:
    """Return the largest speed of a joint over its limit, where all axes are fastest at a time."""
    way = np.abs(np.linalg.pinv(library.evaluate("J_ee", q)[:3])) @ (2.0 * np.pi * frequency * amplitude)
    return float((way / np.minimum(np.asarray(library.velocity_limit), 3.0)).max())


def _amplitude(library: Library, q: FloatArray, frequency: FloatArray) -> FloatArray:
    """The largest path along the axes that joints can follow and that keeps away from singularities [m]."""
    J = library.evaluate("J_ee", q)
    fastest = SPEED * np.minimum(np.asarray(library.velocity_limit), 3.0)
    speed = 1.0 / np.max(np.abs(np.linalg.pinv(J[:3])).sum(axis=1) / fastest)
    amplitude = np.minimum(AMPLITUDE, speed / (2.0 * np.pi * frequency))
    follower = PoseFollower(library.law(LAW), Limits(library, Options()))
    least = NEARER * np.linalg.svd(J, compute_uv=False)[-1]
    while not all(
        _is_clear(library, follower, q, amplitude * np.array(way), least) for way in product((-1, 1), repeat=3)
    ):
        amplitude = 0.7 * amplitude
    return np.asarray(amplitude)


def _is_clear(library: Library, follower: PoseFollower, q: FloatArray, way: FloatArray, least: float) -> bool:
    """Return whether a straight way [m] is followed with singular values of J above the least."""
    (T,) = draws.poses(library, q[None])
    samples = np.zeros((10, 24))
    samples[:, POSITION] = T[:3, 3] + np.linspace(0.1, 1.0, 10)[:, None] * way
    samples[:, ROTATION] = T[:3, :3].ravel(order="F")
    left, _, joints = follower.follow(q, samples)
    smallest = [np.linalg.svd(library.evaluate("J_ee", at), compute_uv=False)[-1] for at in joints]
    return bool(np.abs(left).max() < PoseFollower.REACHED and min(smallest) > least)


def measure_practice(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure RMS and peak of ‖p_d − p‖ [mm] in the window, by the name of the arm, and the RMS from 2 to 6 s."""
    values, kept = measure_run(case, trace, timing)
    way, loaded = way_off(trace), trace.t >= case.config.duration - case.window
    arm = _name(case)
    before = (trace.t >= 2.0) & (trace.t < 6.0)
    own = {arm: _rms(way[loaded]), f"{arm}_peak": float(way[loaded].max()), "unloaded": _rms(way[before])}
    return Measured({**values, **own}, kept)


def measure_silent(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure as `measure_practice`, all arms together."""
    values, kept = measure_practice(case, trace, timing)
    arm = _name(case)
    return Measured({**values, "loaded": values[arm], "peak": values[f"{arm}_peak"]}, kept)


def measure_commissioned(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Commission the arm with an empty hand, then run it again with what was found; measure as `measure_silent`.

    The values are those of the second run, whether the motion was refused, and whether the host stopped the arm then.
    """
    before = measure_silent(case, trace, timing)
    config, robot = case.config, load_robot(case.config)
    plant = config.plant.model_copy(update={"payloads": ()})
    empty = Run("commission", False, config.model_copy(update={"plant": plant}))
    try:
        found = commission_scenario(scenario_of(empty), robot.model, Budget()).findings
    except CommissioningError:
        return Measured({**before.values, "refused": 1.0}, before.series)
    law, rate = config.law, config.rate
    gains, _ = suggested_gains(told_model(robot.model, found), law.name, law.options, found, rate)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "drives.yaml"
        write_commissioned(file, found, robot.model.joint_names, 1.0 / rate, gains, "")
        again = {
            "robot_options": {**config.robot_options, "drives": str(file)},
            "law": type(law).model_validate(merged(law.model_dump(), {"gains": gains})),
        }
        one = run_case(replace(case, config=config.model_copy(update=again), measure=measure_silent))
    values = {name: one.values.get(name) for name in ("unloaded", "loaded", "peak")}
    return Measured({**values, "refused": 0.0, "stopped_again": float(one.ended != DONE)}, one.series)


def measure_map(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure the RMS of ‖p_d − p‖ [mm] in the window, by the name of the condition."""
    values, kept = measure_run(case, trace, timing)
    name = list(MAP)[case.config.seed // SEEDS]
    return Measured({**values, name: _rms(way_off(trace)[trace.t >= case.config.duration - case.window])}, kept)


def measure_repeated(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Make the motion again, with the load in the hand and the estimates of the first time; measure ‖p_d − p‖ [mm].

    The values are the RMS of the first second, the RMS of the rest, and whether the host stopped the arm. A law without
    estimates begins as it did the first time. The path is the same figure, from a corner of it, where it is at rest.
    """
    values, kept = measure_run(case, trace, timing)
    config = case.config
    path = {**config.reference.model_dump(), "phase": np.pi / 2.0}
    loads = tuple(load.model_copy(update={"time": 0.0}) for load in config.plant.payloads)
    again: dict[str, object] = {
        "plant": config.plant.model_copy(update={"payloads": loads}),
        "reference": type(config.reference).model_validate(path),  # a copy would keep what the first one has cached
        "start": config.start.model_copy(update={"on_reference": True}),
        "duration": AGAIN,
    }
    with TemporaryDirectory() as folder:
        learned = learned_in(load_robot(config).library, config.law.name, trace)
        if learned is not None:
            file = Path(folder) / "estimates.yaml"
            learned.save(file)
            again["law"] = config.law.model_copy(update={"estimates_file": str(file)})
        one = run_case(replace(case, config=config.model_copy(update=again), measure=_measure_again))
    found = {key: one.values.get(key) for key in ("first", "rest")}
    return Measured({**values, **found, "stopped_again": float(one.ended != DONE)}, kept)


def _measure_again(_case: Case, trace: Trace, _timing: Timing) -> Measured:
    way, first = way_off(trace), trace.t < FIRST
    return Measured({"first": _rms(way[first]), "rest": _rms(way[~first])})


def measure_pushed(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure the RMS of ‖p_d − p‖ in the 4 s before the push, and how far the push moves the arm at most [mm]."""
    values, kept = measure_run(case, trace, timing)
    way, (begin, end) = way_off(trace), PUSHED
    before, during = (trace.t >= begin - 4.0) & (trace.t < begin), (trace.t >= begin) & (trace.t < end)
    return Measured({**values, "loaded": _rms(way[before]), "pushed": float(way[during].max())}, kept)


def way_off(trace: Trace) -> FloatArray:
    """Return ‖p_d − p‖ at every step, (N,) [mm]."""
    return np.asarray(1e3 * np.linalg.norm(trace.error[:, :3], axis=1))


def _rms(values: FloatArray) -> float:
    return float(np.sqrt((values**2).mean()))


def _name(case: Case) -> str:
    (arm,) = (name for name in RATED if str(robot_file(ARMS[name])) == str(case.config.robot))
    return arm
