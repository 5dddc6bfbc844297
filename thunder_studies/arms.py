"""Arms of all sizes under the default gains of a Cartesian and a joint law, or all laws, with what real drives have.

The Panda and the UR5 are the project's; the others are files of PyPI's `example-robot-data`,
the extra `arms`. Those that are not installed are left out, and the table says so.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.arms.descriptions import collection
from thunder_controllers.experiments import draws
from thunder_controllers.experiments.experiment import Case, Criterion, Group, Measured, Settings
from thunder_controllers.experiments.measures import pose_distance
from thunder_controllers.experiments.runner import load_robot
from thunder_controllers.experiments.table import COLUMNS, summary
from thunder_controllers.host import Library
from thunder_controllers.resources import share
from thunder_controllers.simulation.scenario import RunConfig, merged
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_studies.panda import bodies

FloatArray = NDArray[np.float64]

DURATION, WINDOW = 8.0, 4.0
"""Duration of a run, and of the window in which its error is taken [s]."""

UNCERTAINTY = 0.2
"""Relative uncertainty of every parameter of every link [1]."""

RESOLUTION = 1e-4
"""Resolution of the encoders [rad or m]."""

ROTOR = 1.0 / 300.0
"""Rotors that the robot files do not have, per effort limit [kg·m² / N·m]: 0.5 kg·m² at the shoulder of a UR5."""

SPEED = 0.15
"""Largest joint speed of a reference over the joint's limit."""

LAWS = ("cartesian_backstepping", "slotine_li")
OTHERS = (
    "cartesian_computed_torque",
    "cartesian_impedance",
    "computed_torque",
    "pd_plus",
    "variable_inertia",
    "variable_inertia_adaptive",
)
"""Laws beside these, with `--long`."""

DRIVES: Mapping[str, Mapping[str, Any]] = {
    "1 kHz, 2 ms": {"rate": 1000.0, "plant": {"torque_delay": 2e-3}},
    "500 Hz, lag 5 ms": {"rate": 500.0, "plant": {"torque_lag": 5e-3, "substeps": 2}},
}


class Arm(NamedTuple):
    """A file of the collection, or of the project where it ends in .yaml, and how it is read."""

    file: str
    ee_link: str | None = None
    locked: tuple[str, ...] = ()
    task: str = "pose"


BAXTER = (
    "head_pan",
    *(f"right_{joint}" for joint in ("s0", "s1", "e0", "e1", "w0", "w1", "w2")),
    *(f"{side}_gripper_{finger}_finger_joint" for side in "lr" for finger in "lr"),
)
_WHEELS = [f"{end}_{side}" for end in ("front", "rear") for side in ("right", "left")]
TIAGO = ("wheel_right_joint", "wheel_left_joint", "torso_lift_joint", "head_1_joint", "head_2_joint")
TIAGO_PRO = (
    *(f"wheel_{wheel}_joint" for wheel in _WHEELS),
    *TIAGO[2:],
    *(f"arm_right_{number}_joint" for number in range(1, 8)),
    *(
        f"gripper_{side}_{part}_joint"
        for side in ("left", "right")
        for part in (
            "finger",
            *(f"inner_finger_{finger}" for finger in ("left", "right")),
            "outer_finger_right",
            *(f"fingertip_{finger}" for finger in ("left", "right")),
        )
    ),
)
ARMS: Mapping[str, Arm] = {
    "panda": Arm("panda.yaml"),
    "ur5": Arm("ur5.yaml"),
    "ur3": Arm("ur_description/urdf/ur3_robot.urdf", "tool0"),
    "ur10": Arm("ur_description/urdf/ur10_robot.urdf", "tool0"),
    "xarm7": Arm("xarm_description/urdf/xarm7.urdf"),
    "j2s6s200": Arm("kinova_description/robots/kinova.urdf", "j2s6s200_end_effector"),
    "z1": Arm("z1_description/urdf/z1.urdf", locked=("jointGripper",)),
    "so101": Arm("so_arm_description/urdf/so101.urdf", "gripper_frame_link", ("gripper",), task="position"),
    "talos_left_arm": Arm("talos_data/robots/talos_left_arm.urdf", "gripper_left_base_link", ("gripper_left_joint",)),
    "baxter": Arm("baxter_description/urdf/baxter.urdf", "left_gripper_base_link", BAXTER),
    "tiago": Arm("tiago_description/robots/tiago_no_hand.urdf", "arm_tool_link", TIAGO),
    "tiago_pro": Arm("tiago_pro_description/robots/tiago_pro.urdf", "arm_left_tool_link", TIAGO_PRO),
}
"""Five to seven joints each."""


def robot_file(arm: Arm) -> Path | None:
    """Path; None where the collection is not installed."""
    folder = share("config/robots") if arm.file.endswith(".yaml") else collection()
    return folder / arm.file if folder else None


def _engine(file: Path) -> Mapping[str, Any]:
    """MuJoCo integrates damping implicitly: that of some files is 1e5 times the inertia of a joint [1/s]."""
    return {"integrator": "implicitfast"} if file.suffix == ".urdf" else {"engine": "model"}


def described(arm: Arm, file: Path, law: str) -> Mapping[str, Any]:
    """Keys of a scenario: robot, plant and law, without an observer, as the scenarios of the demonstrations have it."""
    options = {"task": arm.task} if law.startswith("cartesian") and arm.task != "pose" else {}
    if law == "cartesian_backstepping":
        options["disturbance"] = "none"
    reading = {"locked_joints": dict.fromkeys(arm.locked, 0.0)} if arm.locked else {}
    return {
        "robot": str(file),
        "robot_options": reading,
        "ee_link": arm.ee_link,
        "plant": {**_engine(file), "urdf": str(file), "velocity": "differences"},
        "law": {"name": law, "options": options},
        "check_reference": False,
        "duration": DURATION,
    }


@cache
def library_of(name: str, law: str, file: Path) -> Library:
    """Return the library of an arm of ARMS with a law."""
    anything = {"reference": {"type": "hold", "position": (0.0, 0.0, 0.0)}, "start": {"q": (0.0,)}}
    return load_robot(RunConfig.model_validate({**described(ARMS[name], file, law), **anything})).library


def dexterous(rng: draws.Generator, library: Library, count: int = 50) -> FloatArray:
    """The posture of `count` random ones whose smallest singular value of J_ee is largest, (n,)."""
    found = draws.postures(rng, library, count)
    smallest = [np.linalg.svd(library.evaluate("J_ee", q)[:3], compute_uv=False)[-1] for q in found]
    return np.asarray(found[int(np.argmax(smallest))])


def _motion(rng: draws.Generator, library: Library, is_cartesian: bool) -> Mapping[str, Any]:
    """A path about a dexterous posture, and the start on it, at rest."""
    q = dexterous(rng, library)
    fastest = SPEED * np.minimum(np.asarray(library.velocity_limit), 3.0)
    start = {"q": tuple(q.tolist()), "on_reference": False}
    frequency = rng.uniform(0.1, 0.3, 3 if is_cartesian else len(q))
    if not is_cartesian:
        amplitude = np.minimum(0.2, fastest / (2.0 * np.pi * frequency))
        path = {"type": "joint_lissajous", "centre": tuple(q.tolist()), "amplitude": tuple(amplitude.tolist())}
        return {"reference": {**path, "frequency": tuple(frequency.tolist())}, "start": start}
    J = library.evaluate("J_ee", q)[:3]
    speed = 1.0 / np.max(np.abs(np.linalg.pinv(J)).sum(axis=1) / fastest)
    amplitude = np.minimum(0.05, speed / (2.0 * np.pi * frequency))
    (T,) = draws.poses(library, q[None])
    pose = draws.stated(T)
    path = {"type": "lissajous", "centre": pose["position"], "ypr": pose["ypr"], "amplitude": tuple(amplitude.tolist())}
    return {"reference": {**path, "frequency": tuple(frequency.tolist())}, "start": start}


def measure(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure the error in the window, of what the law follows: of a task of position, the position alone."""
    has_pose = case.config.law.options.get("task") != "position"
    norm = pose_distance(trace) if has_pose else np.linalg.norm(trace.error[:, :3], axis=1)
    norm = norm[trace.t >= case.config.duration - case.window]
    return Measured({"followed": float(norm.mean()), "farthest": float(norm.max())})


TABLE = {
    **{name: COLUMNS[name] for name in ("cases", "refused", "runaways", "other faults")},
    "error": summary("followed", statistics.median),
    "largest error": summary("farthest", max),
    **{name: COLUMNS[name] for name in ("speed / limit", "frozen", "rate-limited")},
}


def _cases(name: str, law: str, file: Path, settings: Settings) -> list[Case]:
    library = library_of(name, law, file)
    rotors = tuple((ROTOR * np.minimum(np.asarray(library.effort_limit), 300.0)).tolist())
    found = []
    for number in range(max(1, settings.cases // 100)):
        rng = np.random.default_rng([settings.seed, number, *name.encode()])
        bodies_there = {
            link: draws.uncertain(body, UNCERTAINTY, rng)
            for link, body in bodies(library.link_names, library.pi).items()
        }
        motion = _motion(rng, library, law.startswith("cartesian"))
        for drive in DRIVES.values():
            for beyond in (0.0, rotors):
                plant = {"inertia": bodies_there, "noise": {"q_resolution": RESOLUTION}, "rotor_inertia": beyond}
                config = merged(described(ARMS[name], file, law), {**drive, **motion})
                config = merged(config, {"plant": plant, "seed": settings.seed})
                found.append(Case(f"{name}, {law}", RunConfig.model_validate(config), WINDOW, measure=measure))
    return found


def arms(settings: Settings) -> Group:
    """Each arm with true links off by ±20 %, quantised encoders, delay or lag, without and with rotors.

    A start for every hundred cases that are asked for, one at least.
    """
    files = {name: robot_file(arm) for name, arm in ARMS.items()}
    missing = [name for name, file in files.items() if file is None]
    cases = [
        case
        for name, file in files.items()
        if file is not None
        for law in LAWS + (OTHERS if settings.long else ())
        for case in _cases(name, law, file, settings)
    ]
    left_out = f"; left out, as example-robot-data is not installed: {', '.join(missing)}" if missing else ""
    no_fault = (Criterion("runaways", 0.0), Criterion("other faults", 0.0), Criterion("refused", 0.0))
    return Group(f"Arms with what their drives have{left_out}", tuple(cases), no_fault, TABLE)
