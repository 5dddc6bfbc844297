"""The Cartesian law on a bad day: the Panda where a lab takes it in the first week, without the host's help.

Soft stops of the host stay; jumps are not approached, no reference is given up and none is checked: the law must not
need that. The last group is of other arms as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from thunder_controllers.experiments import draws
from thunder_controllers.experiments.experiment import Case, Criterion, Experiment, Group, Settings
from thunder_controllers.experiments.runner import load_robot
from thunder_controllers.experiments.studies.arms import arms
from thunder_controllers.host import Library
from thunder_controllers.references.trajectories import PoseToPose
from thunder_controllers.resources import share
from thunder_controllers.simulation.scenario import RunConfig, load_scenario, merged
from thunder_dynamics.inertia import N_PARAMETERS, Inertia

FloatArray = NDArray[np.float64]
Options = Mapping[str, Any]

SCENARIO = "config/scenarios/panda_lissajous_wrong_last_link.yaml"
"""The demo: its robot, plant, wrong last link and path; not its gains."""

ROBOT = "config/robots/panda.yaml"
LAST_LINK = "panda_link7"
PATH_SECONDS, PATH_WINDOW = 20.0, 5.0
"""Runs on the demo's path, and where their error is taken [s]."""

NO_RUNAWAY = Criterion("runaways", 0.0)
NO_FAULT = (NO_RUNAWAY, Criterion("other faults", 0.0))
QUIET = Criterion("rate-limited", 0.05)
"""No limit cycle: beside the start, an effort that is stable has no need of its rate limit."""


@cache
def _common() -> Options:
    """The demo with default gains and without the host's help."""
    scenario = load_scenario(share(SCENARIO))
    run = scenario.runs[-1].config
    data = run.model_dump(exclude={"law": {"gains"}}, exclude_defaults=True)
    plant = {"urdf": str(scenario.resolve(run.plant.urdf)), "velocity": "exact"}
    paths = {"robot": str(scenario.resolve(run.robot)), "plant": plant}
    host = {"approaches_jumps": False, "approach_patience": None, "accepts_unstable_gains": True}
    return merged(data, {**paths, "host": host, "duration": PATH_SECONDS, "check_reference": False})


def _demo(**changes: Any) -> RunConfig:
    return RunConfig.model_validate(merged(_common(), changes))


def _on_path(settings: Settings, rows: Mapping[str, Options]) -> tuple[Case, ...]:
    return tuple(Case(row, _demo(seed=settings.seed, **changes), PATH_WINDOW) for row, changes in rows.items())


@cache
def _right_link() -> Options:
    """The body of the last link as the robot file has it."""
    dyn = Inertia.from_pi(np.asarray(panda().pi)[-N_PARAMETERS:]).dyn.tolist()
    return {"mass": dyn[0], "com": tuple(dyn[1:4]), "inertia": tuple(dyn[4:])}


def panda() -> Library:
    """The library that the cases run."""
    return load_robot(_demo()).library


def _estimate(**changes: Any) -> Options:
    """Options of the law: a first estimate that is right but for what is given."""
    return {"initial_estimates": {LAST_LINK: {**_right_link(), **changes}}}


def _from(q: FloatArray, reference: Options, duration: float) -> RunConfig:
    """From rest at `q`, with a right last link."""
    start = {"q": tuple(map(float, q)), "on_reference": False}
    return _demo(reference=reference, start=start, duration=duration, law=_estimate())


def _generator(settings: Settings, row: str) -> draws.Generator:
    """Of a row's own, so that no row depends on the others."""
    return np.random.default_rng([settings.seed, *row.encode()])


def starts(settings: Settings) -> Group:
    """A constant pose, from 0.05 to 0.5 m and 5° to 150° away."""
    library = panda()
    edges = {"5° to 45°": (5, 45), "45° to 90°": (45, 90), "90° to 150°": (90, 150)}
    counts = [len(part) for part in np.array_split(np.arange(settings.cases), len(edges))]
    cases = []
    for (row, angle), count in zip(edges.items(), counts, strict=True):
        rng = _generator(settings, row)
        for q_d, q in draws.pairs(rng, library, count, (0.05, 0.5), tuple(np.deg2rad(angle))):
            (T,) = draws.poses(library, q_d[None])
            cases.append(Case(row, _from(q, {"type": "hold", **draws.stated(T)}, 10.0), 0.1))
    return Group("Starts away from the reference", tuple(cases), (*NO_FAULT, Criterion("success", 0.9, at_least=True)))


SLOWLY = (0.1, 1.0, 10.0)
"""Bounds of lines [m/s, m/s², m/s³]."""


def references(settings: Settings) -> Group:
    """Slow lines to a pose and back."""
    library = panda()
    counts = [len(part) for part in np.array_split(np.arange(settings.cases), len(WAYS))]
    cases = []
    for (row, draw), count in zip(WAYS.items(), counts, strict=True):
        for q, there in draw(_generator(settings, row), library, count):
            (T,) = draws.poses(library, q[None])
            ways = [draws.stated(pose) for pose in (T, there, T)]
            reference = {"type": "poses", "poses": ways, "linear": SLOWLY, "dwell": 1.0}
            line = PoseToPose.model_validate({"poses": ways[:2], "linear": SLOWLY})
            cases.append(Case(row, _from(q, reference, 2.0 * line.duration + 3.0), 0.1))
    back = Criterion("success", 0.95, at_least=True, rows=("in reach",))
    return Group("Slow lines to a pose and back", tuple(cases), (*NO_FAULT, back))


Ways = Iterator[tuple[FloatArray, FloatArray]]
"""Postures to start from, and the pose to go to, (4, 4)."""


def _in_reach(rng: draws.Generator, library: Library, count: int) -> Ways:
    for q, there in draws.pairs(rng, library, count, (0.1, 0.3), (0.0, 1.0)):
        yield q, draws.poses(library, there[None])[0]


ELBOW, FOREARM, WRIST = 3, 4, 5
"""Joints of the Panda: what stretches the arm, and what turns and bends the hand."""


def _stretched(rng: draws.Generator, library: Library, count: int, beyond: float) -> Ways:
    """From a bent elbow outwards, to a pose `beyond` what the arm reaches with that orientation [m].

    The joint of the hand is beside the axis of the flange, so that the wrist may lie on a circle; it is put where that
    comes nearest to the shoulder: in one plane with the arm, the flange farther out.
    """
    stretched = _stretched_elbow(library)
    for q in draws.postures(rng, library, count):
        q[FOREARM], q[ELBOW] = 0.0, stretched
        out, hand = _directions(library, q)
        while out @ hand < 0.2:
            q[WRIST] = draws.postures(rng, library, 1)[0, WRIST]
            out, hand = _directions(library, q)
        (there,) = draws.poses(library, q[None])
        there[:3, 3] += beyond * out
        q[ELBOW] -= rng.uniform(0.4, 0.8)
        yield q, there


def reach(library: Library, q: FloatArray) -> FloatArray:
    """Vector from the Panda's shoulder to its wrist [m], (3,)."""
    return np.asarray(library.evaluate("T_0_5", q)[:3, 3] - library.evaluate("T_0_2", q)[:3, 3])


def _stretched_elbow(library: Library) -> float:
    """Angle of the elbow that takes the wrist farthest, whatever the other joints [rad]."""
    angles = np.linspace(library.position_lower[ELBOW], library.position_upper[ELBOW], 1000)
    postures = np.zeros((len(angles), library.n_joints))
    postures[:, ELBOW] = angles
    return float(angles[np.argmax([np.linalg.norm(reach(library, q)) for q in postures])])


def _directions(library: Library, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """From shoulder to wrist, and from wrist to the axis of the flange; unit vectors."""
    out = reach(library, q)
    return out / np.linalg.norm(out), library.evaluate("T_0_6", q)[:3, 0]


def _through_singularities(rng: draws.Generator, library: Library, count: int) -> Ways:
    """Lines whose middle is the pose of a singular posture."""
    for middle in draws.singular(rng, library, count):
        q = middle
        while q is middle or not draws.within(library, q):
            q = middle + 0.3 * rng.uniform(-1.0, 1.0, len(middle))
        start, centre = draws.poses(library, np.array([q, middle]))
        R = centre[:3, :3]
        there = np.eye(4)
        there[:3, :3] = R @ start[:3, :3].T @ R
        there[:3, 3] = 2.0 * centre[:3, 3] - start[:3, 3]
        yield q, there


def _near_limits(rng: draws.Generator, library: Library, count: int) -> Ways:
    """To the pose of a posture with three joints within 0.03 rad of a limit."""
    for q in draws.postures(rng, library, count):
        there = q.copy()
        for joint in rng.choice(len(q), 3, replace=False):
            side = rng.choice([-1.0, 1.0])
            limit = library.position_upper[joint] if side > 0.0 else library.position_lower[joint]
            there[joint] = limit - side * rng.uniform(0.0, 0.03)
            q[joint] = limit - side * rng.uniform(0.3, 0.5)
        yield q, draws.poses(library, there[None])[0]


WAYS = {
    "in reach": _in_reach,
    "to the edge": lambda rng, library, count: _stretched(rng, library, count, 0.0),
    "5 cm beyond": lambda rng, library, count: _stretched(rng, library, count, 0.05),
    "through singularities": _through_singularities,
    "near limits": _near_limits,
}


def noise(settings: Settings) -> Group:
    """White noise on the measured velocities."""
    rows = {f"{std:g} rad/s": {"plant": {"noise": {"qd_std": std}}} for std in (0.0, 0.01, 0.02, 0.05)}
    return Group("Noise of velocity", _on_path(settings, rows), (*NO_FAULT, Criterion("frozen", 0.5)))


def delay(settings: Settings) -> Group:
    """Torques that act late, at three rates of control; the plant is integrated every millisecond."""
    rows = {
        f"{rate} Hz, {late} ms": {
            "rate": float(rate),
            "plant": {"torque_delay": 1e-3 * late, "substeps": 1000 // rate},
        }
        for rate in (1000, 500, 250)
        for late in (0, 1, 2)
    }
    return Group("Delay and rate", _on_path(settings, rows), NO_FAULT)


def adaptation(settings: Settings) -> Group:
    """Eager adaptation, alone and with all that delays it, and an estimate far off."""
    late = {"torque_delay": 2e-3, "velocity": "differences"}
    rows: dict[str, Options] = {
        "Γ and its inertia weight 0.1": {"law": {"gains": {"gamma": 0.1, "gamma_inertia": 0.1}}},
        "Γ 0.01": {"law": {"gains": {"gamma": 0.01}}},
        "Γ 0.001, q̇ by differences, 2 ms": {"law": {"gains": {"gamma": 0.001}}, "plant": late},
        "inertia 0.8 kg·m² for 0.01": {"law": _estimate(inertia=(0.8, 0.0, 0.0, 0.8, 0.0, 0.8))},
    }
    return Group("Adaptation", _on_path(settings, rows), (*NO_FAULT, QUIET))


PUBLISHED = {
    "K_d 5 … 1": (5.0, 5.0, 5.0, 5.0, 3.0, 3.0, 1.0),
    "K_d 10 … 2": (10.0, 10.0, 10.0, 10.0, 5.0, 5.0, 2.0),
    "K_d 30 … 5": (30.0, 30.0, 30.0, 30.0, 15.0, 15.0, 5.0),
}


FLANGE = 0.107
"""Of the Panda, along z of link 7 [m]; some tables count it to d₇."""


@cache
def _folder() -> TemporaryDirectory[str]:
    """For robot files; it goes with the process."""
    return TemporaryDirectory(prefix="thunder_robots_")


@cache
def _frame_at_flange() -> str:
    """Path to a file of the same Panda whose frame of link 7 lies at the flange."""
    document = yaml.safe_load(share(ROBOT).read_text())
    robot = {key: value for key, value in document.items() if not key.startswith("PI_2")}  # anchors, resolved by now
    robot["kinematics"]["DH"][-2] += FLANGE
    robot["Ln_to_EE"]["tr"] = [0.0, 0.0, 0.0]
    robot["dynamics"]["link7"]["inertial"]["CoM_z"] -= FLANGE
    path = Path(_folder().name) / "panda.yaml"
    path.write_text(yaml.safe_dump(robot))
    return str(path)


def published(settings: Settings) -> Group:
    """Gains as published, without friction, for 40 s, with the frame of link 7 at the wrist and at the flange."""
    common = {"Lambda": (5.0, 5.0, 5.0, 2.0, 2.0, 2.0), "K_p": 1.0, "gamma": 10.0}
    frictionless = {"friction": {"viscous": 0.0, "coulomb": 0.0}}
    rows = {
        row + frame: {
            "law": {"gains": common | {"K_d": K_d}},
            "plant": frictionless,
            "duration": 40.0,
        }
        | robot
        for row, K_d in PUBLISHED.items()
        for frame, robot in {"": {}, ", frame 7 at the flange": {"robot": _frame_at_flange()}}.items()
    }
    accurate = Criterion("error", 6e-3, rows=tuple(PUBLISHED)[:2])
    return Group("Published gains", _on_path(settings, rows), (*NO_FAULT, accurate))


HOLDING, MOVING = 60.0, 6.0
"""Rest, and what comes after it [s]."""


def holding(settings: Settings) -> Group:
    """A long rest with friction adapted, then a line; against the same without adaptation of friction."""
    rest = 10.0 * HOLDING if settings.long else HOLDING
    places = ((0.45, 0.0, 0.449), (0.45, 0.0, 0.45), (0.45, 0.2, 0.35))
    ways = [{"position": place, "ypr": (0.0, 0.0, float(np.pi))} for place in places]
    changes = {
        "reference": {"type": "poses", "poses": ways, "dwell": rest},
        "plant": {"friction": {"viscous": 0.1, "coulomb": 0.1}},
    }
    cases = tuple(
        Case(
            row,
            _demo(seed=settings.seed, **changes, law={"options": {"friction": friction}}, duration=rest + MOVING),
            MOVING,
        )
        for row, friction in (("friction not adapted", "none"), ("friction adapted", "adapted"))
    )
    worse = Criterion("largest error", 2.0, rows=("friction adapted",), times="friction not adapted")
    return Group(f"Moving after {rest:g} s of rest", cases, (*NO_FAULT, worse))


def bad_day() -> Experiment:
    """Name the groups."""
    return Experiment(
        "The Panda under cartesian_backstepping, with its default gains where none are named, without the host's help.",
        {
            "starts": starts,
            "references": references,
            "noise": noise,
            "delay": delay,
            "adaptation": adaptation,
            "published": published,
            "holding": holding,
            "arms": arms,
        },
    )
