"""Faults of motors and joints that the law has to find by itself, and what becomes of the task."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from thunder_controllers.experiments import draws
from thunder_controllers.experiments.experiment import (
    DONE,
    FAILED,
    REFUSED,
    Case,
    Criterion,
    Group,
    Measured,
    Outcome,
    Settings,
)
from thunder_controllers.experiments.runner import prepare_case, run_case
from thunder_controllers.experiments.table import faults, summary
from thunder_controllers.host import Library
from thunder_controllers.resources import share
from thunder_controllers.simulation.faults.fault import JointFault
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.scenario import RunConfig, merged
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.storage.door import read_text
from thunder_studies.arms import ARMS, ROTOR, described, dexterous, library_of, robot_file
from thunder_studies.panda import LAST_LINK, Keys, bodies

FloatArray = NDArray[np.float64]

VISCOUS = (0.8, 0.8, 0.6, 0.6, 0.3, 0.3, 0.2)
COULOMB = (0.5, 0.5, 0.4, 0.4, 0.2, 0.2, 0.15)
"""Friction of the drives [N·m·s/rad, N·m]."""

PANDA_ROTOR = 0.1
"""Reflected inertia of every rotor [kg·m²], that of MuJoCo Menagerie's Panda."""

BODY_ERROR, DRIVE_ERROR = 0.02, 0.05
"""How far what moves differs from the file: bodies, rotors and friction, uniform to either side [1]."""

START, DURATION = (1.5, 3.0), 7.0
"""When a fault comes, and how long a run is [s]."""

SPEED = 0.3
"""Largest joint speed of a path over the joint's limit, about."""

CODES = {"loss": 2, "bias": 3, "block": 4, "freeze": 5}
SEVERAL, STOPS = 6, 2
"""Of the law's telemetry `fault_kind` and `fault_action`; a test holds them to what the law declares."""

KINDS = tuple(CODES)

MOVED = 5e-3
"""Error of the tip that a fault without handling makes at least, and that is made good with it [m]."""

HEALTHY = 2e-3
"""Error before the fault of a path that the arm can do, once it has started [m]."""

REST = 0.05
"""A joint rests below this speed [rad/s]."""

IN_TIME = 0.5
"""From the onset to the isolation, at most [s]."""

QUANTILE = 5.0
"""κ of the law, standard deviations beyond which a fault is one; a test holds it to the law's default."""

MOST_DRAWS = 50
"""Of a fault that does something, before its kind is given up."""

GAINS = {"payload_error": 0.1, "fault_tolerance": MOVED}
"""What the law is told beyond its defaults: some hundred grams may be held, and what error is too much."""

UNSTATED = ("panda", "ur5", "ur10", "z1", "tiago_pro")
"""Arms with friction that their files do not state; no constant of the law was chosen on them."""

FRICTION, STATIC, STRIBECK = (0.01, 0.02), 1.5, 0.05
"""Viscous friction at 1 rad/s and Coulomb friction over the effort limit [1], breakaway over Coulomb friction [1], and
the speed about which friction falls from the breakaway [rad/s]."""

ROTOR_ERROR, DELAY = 0.15, 2e-3
"""How far their rotors are off, uniform to either side [1], and dead time and lag of their drives [s]."""

LEARNED = (4.0, 6.0)
"""When a fault of them comes [s]: most joints have turned back once by then."""

LAW = "cartesian_computed_torque"


@cache
def _folder() -> TemporaryDirectory[str]:
    """For robot files; it goes with the process."""
    return TemporaryDirectory(prefix="thunder_robots_")


@cache
def driven_panda() -> str:
    """Path to a file of the Panda with drives: friction and rotors."""
    document = yaml.safe_load(read_text(share("config/robots/panda.yaml"), ScenarioError))
    robot = {key: value for key, value in document.items() if not key.startswith("PI_2")}  # anchors, resolved by now
    robot["Dl_order"] = 1
    for name, viscous in zip(robot["dynamics"], VISCOUS, strict=True):
        robot["dynamics"][name] |= {"friction": {"Dl": [viscous]}, "rotor": {"inertia": PANDA_ROTOR}}
    robot["thunder"]["coulomb"] = list(COULOMB)
    path = Path(_folder().name) / "panda.yaml"
    path.write_text(yaml.safe_dump(robot))
    return str(path)


def _panda() -> Library:
    return library_of("panda", LAW, share("config/robots/panda.yaml"))


def draw_path(rng: draws.Generator, arm: Library) -> Keys:
    """Draw a path about a dexterous posture, and the start on it, at rest."""
    q = dexterous(rng, arm)
    J = arm.evaluate("J_ee", q)[:3]
    frequency = rng.uniform(0.1, 0.3, 3)
    fastest = SPEED * np.minimum(np.asarray(arm.velocity_limit), 3.0)
    speed = 1.0 / np.max(np.abs(np.linalg.pinv(J)).sum(axis=1) / fastest)
    amplitude = np.minimum(0.15, speed / (2.0 * np.pi * frequency))
    pose = draws.stated(draws.poses(arm, q[None])[0])
    path = {"type": "lissajous", "centre": pose["position"], "ypr": pose["ypr"], "amplitude": tuple(amplitude.tolist())}
    start = {"q": tuple(q.tolist()), "on_reference": False}
    return {"reference": {**path, "frequency": tuple(frequency.tolist())}, "start": start}


def draw_drives(rng: draws.Generator) -> Keys:
    """Draw friction and rotors near those of the file."""

    def near(values: Any) -> tuple[float, ...]:
        return tuple((rng.uniform(1.0 - DRIVE_ERROR, 1.0 + DRIVE_ERROR, 7) * values).tolist())

    friction = {"viscous": near(np.array(VISCOUS)), "coulomb": near(np.array(COULOMB))}
    return {"plant": {"friction": friction, "rotors": near(np.full(7, PANDA_ROTOR))}}


def _file(name: str) -> Path:
    file = robot_file(ARMS[name])
    if file is None:
        valid = "an arm of the project, or pip install example-robot-data"
        raise ScenarioError(f"no robot file of {name}", valid=valid)
    return file


def _near_bodies(rng: draws.Generator, library: Library) -> Keys:
    links = bodies(library.link_names, library.pi)
    return {link: draws.uncertain(body, BODY_ERROR, rng) for link, body in links.items()}


def draw_arm(rng: draws.Generator, name: str = "panda") -> Keys:
    """Draw a run without a fault: an arm of `ARMS` near its file, sensors, and a path."""
    file = _file(name)
    library = library_of(name, LAW, file)
    path = draw_path(rng, library)
    drives: Keys = {}
    if name == "panda":
        file, drives = Path(driven_panda()), draw_drives(rng)
    plant = {
        "velocity": "exact",
        "noise": {"q_std": 1e-5, "qd_std": 3e-3},
        "inertia": _near_bodies(rng, library),
    }
    common = merged(described(ARMS[name], file, LAW), {"plant": plant, "duration": DURATION, **path})
    return merged(common, drives)


@cache
def rubbing_file(name: str) -> Path:
    """Path to a file of an arm of `ARMS` without what it states of friction."""
    file = _file(name)
    if file.suffix != ".urdf":
        return file
    path = Path(_folder().name) / file.name
    path.write_text(re.sub(r"<dynamics[^>]*/>", "", read_text(file, ScenarioError)))
    return path


def draw_unstated(rng: draws.Generator, name: str) -> Keys:
    """Draw a run without a fault of an arm of `ARMS` whose joints rub and stick, of which its file says nothing."""
    file = rubbing_file(name)
    library = library_of(name, LAW, file)
    limit = np.minimum(np.asarray(library.effort_limit), 300.0)
    stated, path = ROTOR * limit, draw_path(rng, library)
    viscous, coulomb = (rng.uniform(*FRICTION, limit.size) * limit for _ in range(2))
    keys = {
        "robot_options": {"rotor_inertias": dict(zip(library.joint_names, stated.tolist(), strict=True))},
        "plant": {
            "engine": "model",  # whose bodies are those of the file with all that is fixed to them
            "integrator": "rk4",
            "inertia": _near_bodies(rng, library),
            "rotors": tuple((stated * rng.uniform(1.0 - ROTOR_ERROR, 1.0 + ROTOR_ERROR, limit.size)).tolist()),
            "friction": {
                "viscous": tuple(viscous.tolist()),
                "coulomb": tuple(coulomb.tolist()),
                "static": tuple((STATIC * coulomb).tolist()),
                "stribeck_velocity": STRIBECK,
            },
            "noise": {"q_std": 1e-5},
            "torque_delay": DELAY,
            "torque_lag": DELAY,
        },
        "host": {"dead_time": DELAY, "drive_lag": DELAY},
        "law": {"gains": {"rotor_error": ROTOR_ERROR / 3.0**0.5}},
        "rate": 1000.0,
        "duration": DURATION,
    }
    return merged(merged(described(ARMS[name], file, LAW), keys), path)


def draw_fault(rng: draws.Generator, kind: str, arm: Library, span: tuple[float, float] = START) -> Keys:
    """Draw a fault of a kind: joint, time and size."""
    joint, sign = int(rng.integers(len(arm.joint_names))), float(rng.choice([-1.0, 1.0]))
    limit = float(np.asarray(arm.effort_limit)[joint])
    size: Keys = {
        "loss": {"share": float(rng.uniform(0.3, 1.0))},
        "bias": {"effort": sign * limit * float(rng.uniform(0.05, 0.3))},
        "block": {"rate": float(np.exp(rng.uniform(np.log(5.0), np.log(50.0))))},
        "freeze": {},
    }[kind]
    return {"type": kind, "joints": (arm.joint_names[joint],), "start": round(float(rng.uniform(*span)), 3), **size}


def _law(handling: str) -> Keys:
    gains = GAINS if handling != "off" else {}
    return {"law": {"name": LAW, "options": {"task": "position", "faults": handling}, "gains": gains}}


def _case(row: str, keys: Keys, seed: int, handling: str, measure: Callable[..., Measured]) -> Case:
    config = RunConfig.model_validate(merged(merged(keys, _law(handling)), {"seed": seed}))
    return Case(row, config, 1.0, measure=measure, measures_stopped=True)


def _distance(trace: Trace) -> FloatArray:
    return np.asarray(np.linalg.norm(trace.error[:, :3], axis=1))


def measure_effect(case: Case, trace: Trace, _timing: Timing) -> Measured:
    """Measure the error of the position before the fault, once the arm has started, and after its onset."""
    error, start = _distance(trace), case.config.plant.faults[0].start
    before = error[(trace.t > 1.0) & (trace.t < start)].max()
    return Measured({"before": float(before), "after": float(error[trace.t >= start].max())})


@cache
def effective_faults(seed: int, cases: int) -> tuple[tuple[int, str, Keys], ...]:
    """Draw until there are so many faults that move the tip: seeds of runs, kinds and keys.

    Kinds in turn. The same run without handling says whether the path is one that the arm can do, and the fault moves
    the tip by `MOVED` or the host has to stop it.
    """
    found = []
    for number in range(cases):
        kind = KINDS[number % len(KINDS)]
        rng = np.random.default_rng([seed, number, *b"fault isolation"])
        for _ in range(MOST_DRAWS):
            keys = merged(draw_arm(rng), {"plant": {"faults": (draw_fault(rng, kind, _panda()),)}})
            outcome = run_case(_case("unhandled", keys, number, "off", measure_effect))
            before, after = (outcome.values.get(name) for name in ("before", "after"))
            if (before is None or before < HEALTHY) and (after is None or after > MOVED) and outcome.ended != "refused":
                found.append((number, kind, keys))
                break
    return tuple(found)


def measure_way(_case: Case, trace: Trace, _timing: Timing) -> Measured:
    """Measure where the tip goes, every 10 ms."""
    return Measured({}, {"way": trace.position[::10].tolist()})


@cache
def unstated_runs(name: str, seed: int, cases: int) -> tuple[tuple[int, Keys, Keys], ...]:
    """Draw runs of an arm of UNSTATED: seeds, keys without a fault, and the fault, of kinds in turn.

    The host stops none without a fault, and with it the tip is `MOVED` away from there, or the host stops it.
    """
    found: list[tuple[int, Keys, Keys]] = []
    arm = library_of(name, LAW, rubbing_file(name))
    for number in range(cases):
        rng = np.random.default_rng([seed, number, *name.encode(), *b"unstated friction"])
        keys, without = draw_unstated(rng, name), Outcome(REFUSED)
        for _ in range(MOST_DRAWS):
            without = _run_unstated(name, keys, number)
            if without.ended == DONE:
                break
            keys = draw_unstated(rng, name)
        for _ in range(MOST_DRAWS):
            fault = draw_fault(rng, KINDS[number % len(KINDS)], arm, LEARNED)
            if _differ(without, _run_unstated(name, keys, number, fault)):
                found.append((number, keys, fault))
                break
    return tuple(found)


def _run_unstated(name: str, keys: Keys, seed: int, *chosen: Keys) -> Outcome:
    outcome = run_case(_case(name, merged(keys, {"plant": {"faults": chosen}}), seed, "isolate", measure_way))
    if outcome.ended == FAILED:
        raise ScenarioError(outcome.message)
    return outcome


def _differ(one: Outcome, other: Outcome) -> bool:
    if "way" not in other.series:
        return True
    apart = np.array(one.series["way"]) - np.array(other.series["way"])
    return bool(np.linalg.norm(apart, axis=1).max() > MOVED)


def measure_unstated(case: Case, trace: Trace, _timing: Timing) -> Measured:
    """Measure whether the joint is right within `IN_TIME`, and no other before; or whether the law says not yet.

    It says so where the joint's `fault_visible` is below 1 for most of that time.
    """
    (fault,) = (one for one in case.config.plant.faults if isinstance(one, JointFault))
    place = list(trace.joint_names).index(fault.joints[0])
    joint, window = _of(trace, "fault_joint"), (trace.t >= fault.start) & (trace.t <= fault.start + IN_TIME)
    told = np.flatnonzero((joint > 0.0) & (trace.t <= fault.start + IN_TIME))
    wrong = bool(told.size and (trace.t[told[0]] < fault.start or (joint[told] != place + 1).any()))
    in_time = bool(told.size and not wrong)
    hidden = bool(np.mean(_all(trace, "fault_visible")[window, place] < 1.0) > 0.5)
    values: dict[str, float | None] = {
        "in_time": float(in_time),
        "not_yet": float(hidden and not in_time and not wrong),
        "answered": float(in_time or (hidden and not wrong)),
        "wrong": float(wrong),
        "delay": 1e3 * float(trace.t[told[0]] - fault.start) if in_time else None,
    }
    return Measured(values)


def _of(trace: Trace, name: str) -> FloatArray:
    return np.asarray(trace.telemetry[:, trace.telemetry_names == name][:, 0])


def measure_fault(case: Case, trace: Trace, _timing: Timing) -> Measured:
    """Measure what was found of the fault and when, and what became of the task; each also by kind."""
    (fault,) = (one for one in case.config.plant.faults if isinstance(one, JointFault))
    joint, kind, action = (_of(trace, f"fault_{name}") for name in ("joint", "kind", "action"))
    right = 1 + list(trace.joint_names).index(fault.joints[0])
    found = np.flatnonzero(joint > 0.0)
    told = np.flatnonzero(np.isin(kind, list(CODES.values())))
    delay = trace.t[found[0]] - fault.start if found.size else np.inf
    isolated = bool(joint[-1] == right and delay >= 0.0)
    error = _distance(trace)
    stops = bool(action[-1] == STOPS)
    arm = _panda()
    ended = trace.t[-1] > case.config.duration - 2.0 * trace.step
    back = bool(error[trace.t >= case.config.duration - case.window].max(initial=0.0) < MOVED)
    goes_on = bool(ended and not stops and back)
    shows = earliest(case, trace, fault)
    values: dict[str, float | None] = {
        "isolated": float(isolated),
        "shows": None if shows is None else 1e3 * shows,
        "shows_in_time": float(shows is not None and shows <= IN_TIME),
        "in_time": float(isolated and delay <= IN_TIME),
        "delay": 1e3 * float(delay) if isolated else None,
        "kind": float(kind[-1] == CODES[fault.type]),
        "kind_delay": 1e3 * float(trace.t[told[0]] - fault.start) if told.size else None,
        "goes_on": float(goes_on),
        "stops": float(stops),
        "lost": float(not goes_on and not stops),
        "kept": float(draws.within(arm, trace.q).all() and _slow(arm, trace)) if goes_on else None,
        "rests": float(ended and _rests(trace)) if stops else None,
        "onset": 1e3 * abs(float(_of(trace, "fault_onset")[-1] - fault.start)) if isolated else None,
    }
    return Measured(values | {f"{name}_{fault.type}": values[name] for name in BY_KIND})


def earliest(case: Case, trace: Trace, fault: JointFault) -> float | None:
    """From the onset to when the best test of all could tell the fault [s]; None if never.

    It knows joint, onset, the torque δ that the fault makes of the one that is asked for, and the true arm, and has to
    do with the noise of the sensors alone: σ_v of velocities, σ_q of positions. Then Σ |∫M⁻¹ e_i δ|²/σ_v² +
    |∬M⁻¹ e_i δ|²/σ_q², over samples since the onset, is the square of how many standard deviations a matched filter
    sees, and no other test sees more [Neyman & Pearson 1933].
    """
    prepared = prepare_case(case)
    assert prepared is not None and isinstance(prepared[0].plant, ModelPlant)
    plant, noise, step = prepared[0].plant, case.config.plant.noise, trace.step
    sigma_v, sigma_q = np.asarray(noise.qd_std), np.asarray(noise.q_std)
    joint = list(trace.joint_names).index(fault.joints[0])
    efforts = np.clip(trace.effort, -trace.effort_limit, trace.effort_limit)
    velocity, position, seen = np.zeros(trace.q.shape[1]), np.zeros(trace.q.shape[1]), 0.0
    for k in range(round(fault.start / step), len(trace.t) - 1):
        M = plant.mass_matrix(trace.q[k])
        free = [plant.acceleration(trace.q[row], trace.qd[row], efforts[k]) for row in (k, k + 1)]
        delta = (M @ ((trace.qd[k + 1] - trace.qd[k]) / step - np.mean(free, axis=0)))[joint]
        velocity += step * delta * np.linalg.inv(M)[:, joint]
        position += step * velocity
        seen += float(((velocity / sigma_v) ** 2 + (position / sigma_q) ** 2).sum())
        if seen > QUANTILE**2:
            return float(trace.t[k + 1] - fault.start)
    return None


def _slow(arm: Library, trace: Trace) -> bool:
    """Whether no joint is faster than its limit."""
    return bool((np.abs(trace.qd) <= np.asarray(arm.velocity_limit)).all())


def _rests(trace: Trace) -> bool:
    return bool((np.abs(trace.qd[-1]) < REST).all())


BY_KIND = ("in_time", "kind", "goes_on", "stops")
"""What the table has by kind, too."""


def measure_health(case: Case, trace: Trace, _timing: Timing) -> Measured:
    """Measure what is told of a run without a fault of a joint, and its error once it has started."""
    joint, kind = _of(trace, "fault_joint"), _of(trace, "fault_kind")
    values: dict[str, float | None] = {
        "joint": float((joint > 0.0).any()),
        "several": float((kind == SEVERAL).any()),
        "error": float(_distance(trace)[trace.t > 1.0].max()),
    }
    sigmas = np.abs(_all(trace, "fault_residual")) / _all(trace, "fault_deviation")
    seen = (_all(trace, "fault_visible") >= 1.0).mean(axis=1)
    early, late = seen[trace.t < 0.5], seen[trace.t > LEARNED[0]]
    values |= {"early": float(early.mean()), "late": float(late.mean()) if late.size else None}
    return Measured({**values, "sigmas": float(sigmas[trace.t > 0.2].max())})


def _all(trace: Trace, name: str) -> FloatArray:
    return np.asarray(trace.telemetry[:, trace.telemetry_names == name])


def _percent(name: str) -> Callable[..., Any]:
    return summary(name, statistics.fmean)


FAULT_COLUMNS = {
    "runs": len,
    "isolated": _percent("isolated"),
    "within 0.5 s": _percent("in_time"),
    "delay, median [ms]": summary("delay", statistics.median),
    "within 0.5 s at best": _percent("shows_in_time"),
    "at best, median [ms]": summary("shows", statistics.median),
    "at best, latest [ms]": summary("shows", max),
    "kind right": _percent("kind"),
    "to the kind, median [ms]": summary("kind_delay", statistics.median),
    "onset off, median [ms]": summary("onset", statistics.median),
    "goes on": _percent("goes_on"),
    "stops": _percent("stops"),
    "neither": _percent("lost"),
    "limits kept of those that go on": _percent("kept"),
    "at rest of those that stop": _percent("rests"),
    "stopped by the host": faults,
}
"""Columns of the table of faults: shares of the runs where no unit is given."""


def found(settings: Settings) -> Group:
    """Faults of all kinds that move the tip, in a row of all and one of each kind."""
    drawn = effective_faults(settings.seed, settings.cases)
    cases = [_case("all", keys, number, "continue", measure_fault) for number, _, keys in drawn]
    criteria = (
        Criterion("isolated", 1.0, at_least=True),
        Criterion("within 0.5 s", 0.95, at_least=True),
        Criterion("kind right", 0.9, at_least=True),
        Criterion("neither", 0.05),
        Criterion("limits kept of those that go on", 1.0, at_least=True),
    )
    by_kind = {
        f"{name}: {kind}": _percent(f"{name}_{kind}")
        for kind in KINDS
        for name in ("in_time", "kind", "goes_on", "stops")
    }
    return Group("Faults that move the tip by 5 mm", tuple(cases), criteria, {**FAULT_COLUMNS, **by_kind})


PAYLOAD = {"link": LAST_LINK, "com": (0.0, 0.0, 0.15), "inertia": (1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3)}


def _payload(rng: draws.Generator, mass: float, at_once: bool) -> Keys:
    time = 0.0 if at_once else round(float(rng.uniform(*START)), 3)
    return {"plant": {"payloads": ({**PAYLOAD, "mass": mass, "time": time},)}}


def _push(rng: draws.Generator) -> Keys:
    start, direction = round(float(rng.uniform(*START)), 3), rng.normal(size=3)
    force = rng.uniform(10.0, 40.0) * direction / np.linalg.norm(direction)
    push = {"type": "wrench", "link": LAST_LINK, "start": start, "end": start + 1.0, "force": tuple(force.tolist())}
    return {"plant": {"faults": (push,)}}


ROWS: Mapping[str, tuple[str, Callable[[draws.Generator], Keys]]] = {
    "panda": ("panda", lambda _: {}),
    "panda, drives with a lag of 5 ms": ("panda", lambda _: {"plant": {"torque_lag": 5e-3}}),
    "panda, 0.2 kg from the start": ("panda", lambda rng: _payload(rng, 0.2, True)),
    "panda, 0.5 kg picked up": ("panda", lambda rng: _payload(rng, 0.5, False)),
    "panda, pushed at its hand": ("panda", _push),
    "ur5": ("ur5", lambda _: {}),
}
"""Runs without a fault: arm, and what else there is."""


def healthy(settings: Settings) -> Group:
    """Runs without a fault: what is told of them that is not so, and that the handling does not limit them."""
    cases = []
    for row, (name, extra) in ROWS.items():
        for number in range(settings.cases):
            rng = np.random.default_rng([settings.seed, number, *name.encode()])
            keys = draw_arm(rng, name)
            cases.append(_case(row, merged(keys, extra(rng)), number, "continue", measure_health))
    columns = {
        "runs": len,
        "joint told": _percent("joint"),
        "several told": _percent("several"),
        "largest residual [σ]": summary("sigmas", max),
        "largest error, median [m]": summary("error", statistics.median),
        "stopped by the host": faults,
    }
    quiet = ("panda", "panda, drives with a lag of 5 ms", "panda, 0.2 kg from the start", "ur5")
    criteria = (Criterion("joint told", 0.0), Criterion("several told", 0.0, rows=quiet))
    return Group("Runs without a fault of a joint", tuple(cases), criteria, columns)


def _unstated(settings: Settings) -> list[tuple[str, int, Keys, Keys]]:
    """Arm, seed, keys and fault of every run; as many of every arm."""
    each = max(1, settings.cases // len(UNSTATED))
    return [(name, *one) for name in UNSTATED for one in unstated_runs(name, settings.seed, each)]


def unstated_found(settings: Settings) -> Group:
    """Faults of arms with friction that their files do not state."""
    cases = [
        _case(name, merged(keys, {"plant": {"faults": (fault,)}}), number, "isolate", measure_unstated)
        for name, number, keys, fault in _unstated(settings)
    ]
    columns = {
        "runs": len,
        "right within 0.5 s, or not yet": _percent("answered"),
        "right within 0.5 s": _percent("in_time"),
        "not yet": _percent("not_yet"),
        "wrong joint": _percent("wrong"),
        "delay, median [ms]": summary("delay", statistics.median),
        "stopped by the host": faults,
    }
    criteria = (Criterion("right within 0.5 s, or not yet", 0.9, at_least=True),)
    return Group("Faults of arms whose friction is unknown", tuple(cases), criteria, columns)


def unstated_healthy(settings: Settings) -> Group:
    """The same runs without their faults."""
    cases = [_case(name, keys, number, "isolate", measure_health) for name, number, keys, _ in _unstated(settings)]
    columns = {
        "runs": len,
        "joint told": _percent("joint"),
        "several told": _percent("several"),
        "largest residual [σ]": summary("sigmas", max),
        "joints seen, first 0.5 s": _percent("early"),
        "joints seen, after 4 s": _percent("late"),
        "stopped by the host": faults,
    }
    criteria = (Criterion("joint told", 0.0),)
    return Group("Arms whose friction is unknown, without a fault", tuple(cases), criteria, columns)
