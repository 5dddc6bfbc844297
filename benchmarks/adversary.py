"""Faults of all kinds, random references, possible streams, stops, wrong readings, velocities: five robots, all laws.

    python benchmarks/adversary.py [--updates 1e8] [--references 200] [--streams 200] [--stops 500]
        [--readings 500] [--velocities 100] [--seed 1] [--out results/soak] [--arms ur3 ur10 …]

`test/cpp/host_adversary.cpp`, `host_references.cpp`, `host_streams.cpp`, `host_stops.cpp`, `host_readings.cpp` and
`host_velocities.cpp` do the work and say how.
Writes a JSON file of each, prints them as tables and what is wrong; the exit status is 1 if anything is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from program import host_program

from thunder_controllers.arms.descriptions import collection
from thunder_controllers.franka.arms import robot_urdf
from thunder_dynamics.build import LawRequest, build
from thunder_dynamics.errors import LawError, NameNotFoundError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.joints import Joint, JointKind, Limits
from thunder_dynamics.model import Frame, Link, Pose, RobotModel
from thunder_dynamics.readers import load_model
from thunder_dynamics.spatial import rotation_from_ypr
from thunder_studies.arms import ARMS

ROOT = Path(__file__).resolve().parent.parent
ROBOTS = ("panda", "planar3r", "rpr", "sea2", "ur5")
"""Not point_masses5: the program's plant inverts M, which is singular where those arms are stretched."""

ROTOR, ANY_EFFORT = 2e-3, 50.0
"""kRotor of `test/cpp/plant.hpp` [kg·m² / N·m], and the effort that it takes where there is no limit [N·m]."""

OPTIONS: tuple[dict[str, Any], ...] = ({"kinematics": "tool"}, {}, {"task": "position"})
"""Of a law, in the order in which they are tried: a robot has the law with the first that it can have."""


def laws_of(model: RobotModel) -> list[LawRequest]:
    """Every installed law that a robot can have."""
    found: list[LawRequest] = []
    for entry in sorted(entry_points(group="thunder.laws"), key=lambda entry: entry.name):
        for options in OPTIONS:
            try:
                entry.load()(RobotExpressions(model), options)
            except (LawError, NameNotFoundError):
                continue
            found.append((entry.name, options))
            break
    return found


CHAINS: Mapping[str, tuple[str, str | None]] = {
    "gen3": ("test/data/gen3.urdf", None),
    "icub_arm": ("icub_description/robots/icub_reduced.urdf", "l_wrist_1"),
    "romeo_arm": ("romeo_description/urdf/romeo_small.urdf", "l_gripper"),
    "two_links": ("asr_twodof_description/urdf/TwoDofs.urdf", None),
}
"""Further arms: a file of this repository or of the collection, and the end effector; all other joints are held."""

LINKS = 12
"""Of `twelve_links`, a chain about two axes in turn, each link half a kilogram lighter towards its end."""


def chain(count: int) -> RobotModel:
    """A chain of links of 0.25 m."""
    limits = Limits(-2.5, 2.5, velocity=2.0, effort=200.0)
    links = []
    for i in range(count):
        mass = 0.5 * (count - i)
        inertia = np.diag([0.002, 0.006, 0.006]) * mass
        rotation = rotation_from_ypr(0.0, 0.0, 0.5 * np.pi * (1 if i % 2 else -1) if i else 0.0)
        placement = Pose(rotation, np.array([0.25 if i else 0.0, 0.0, 0.0]))
        joint = Joint(f"joint{i + 1}", JointKind.REVOLUTE, placement, (0.0, 0.0, 1.0), limits=limits)
        links.append(Link(f"link{i + 1}", i - 1, joint, Inertia(mass, np.array([0.12, 0.0, 0.0]), inertia)))
    return RobotModel("twelve_links", tuple(links), ee=Frame((0.25, 0.0, 0.0)))


def load_arm(name: str) -> RobotModel:
    """One of the arms of `bad_day --group arms`, or another one, most of them from PyPI's example-robot-data."""
    if name == "twelve_links":
        return chain(LINKS)
    if name == "fr3":
        with tempfile.TemporaryDirectory() as place:
            file = Path(place) / "fr3.urdf"
            file.write_text(robot_urdf("fr3"), encoding="utf-8")
            return load_model(file, name=name)
    folder = collection()
    if folder is None:
        raise SystemExit("--arms: needs `pip install --no-deps example-robot-data`")
    if name in CHAINS:
        part, ee_link = CHAINS[name]
        file = ROOT / part if part.startswith("test/") else folder / part
        return load_model(file, name=name, arm=True, ee_link=ee_link)
    arm = ARMS[name]
    if arm.file.endswith(".yaml"):
        return load_model(ROOT / "config/robots" / arm.file)
    options = {"ee_link": arm.ee_link, "locked_joints": dict.fromkeys(arm.locked, 0.0) or None}
    return load_model(folder / arm.file, name=name, **{key: value for key, value in options.items() if value})


def load_models(arms: Sequence[str] = ()) -> list[RobotModel]:
    """The robots, or else these arms."""
    return [load_arm(name) for name in arms] or [load_model(ROOT / f"config/robots/{name}.yaml") for name in ROBOTS]


def build_libraries(models: Sequence[RobotModel]) -> list[Path]:
    """Compile robots with every law that they can have."""
    return [build(model, laws_of(model)) / f"lib{model.name}.so" for model in models]


def build_to_stop(models: Sequence[RobotModel]) -> list[Path]:
    """Compile robots with one law, each as its file describes it, and with the rotors that the programs' arms have."""
    found = []
    for model in models:
        rigid = [link.joint for link in model.links if link.joint.is_single and not link.joint.elastic]
        efforts = {joint.name: joint.limits.effort for joint in rigid}
        rotors = {name: ROTOR * (effort if isfinite(effort) else ANY_EFFORT) for name, effort in efforts.items()}
        for described in (model, model.with_rotor_inertias(rotors)):
            found.append(build(described, ["pd_plus"]) / f"lib{model.name}.so")
    return found


def margins(subject: Mapping[str, Any]) -> str:
    """How far joints came beyond their limits, of how far they may, for each joint that has an envelope."""
    pairs = zip(subject["farthest_beyond_limits"], subject["margin"], strict=True)
    return ", ".join(f"{far:.2f} of {margin:.2f}" for far, margin in pairs if margin is not None and far is not None)


def adversary_row(subject: Mapping[str, Any]) -> str:
    """One robot and law as a row of Markdown."""
    breaches = "; ".join(f"{name}: {count}" for name, count in subject["breaches"].items()) or "none"
    figures = f"{subject['updates']} | {subject['activations']} | {subject['requests']}"
    return f"| {subject['robot']} {subject['law']} | {figures} | {margins(subject)} | {breaches} |"


def references_row(subject: Mapping[str, Any]) -> str:
    """One robot and law as a row of Markdown."""
    endings: Counter[str] = Counter()
    for counts in subject["endings"].values():
        endings.update(counts)
    text = ", ".join(f"{count} {name}" for name, count in sorted(endings.items()))
    return f"| {subject['robot']} {subject['law']} | {text} | {margins(subject)} | {subject['wrong']} |"


def streams_row(subject: Mapping[str, Any]) -> str:
    """One robot and law as a row of Markdown."""
    ways = [[pair[kind] for pair in way] for way in subject["ways"].values() for kind in ("plain", "guarded")]
    limited = ", ".join(str(sum(stream["limited"] for stream in way)) for way in ways)
    cut = ", ".join(str(sum(stream["rate_limited"] for stream in way)) for way in ways)
    ends = ", ".join(f"{1e3 * max((stream['end'] for stream in way), default=0.0):.3g}" for way in ways)
    return f"| {subject['robot']} {subject['law']} | {limited} | {cut} | {ends} | {subject['wrong']} |"


def stops_row(subject: Mapping[str, Any]) -> str:
    """One robot as a row of Markdown."""
    names = ("stops", "too_heavy", "moving", "growing", "running_off", "dropped", "whips", "fast_whips")
    figures = " | ".join(str(subject[key]) for key in names)
    return f"| {subject['robot']} | {'known to 30 %' if subject['knows_rotors'] else 'unknown'} | {figures} |"


def readings_row(subject: Mapping[str, Any]) -> str:
    """One robot as a row of Markdown."""
    kinds = [subject[name] for name in ("healthy", "once", "jump", "wrap", "frozen", "sticks")]
    return (
        f"| {subject['robot']} | " + " | ".join(f"{k['count']}, {k['found']}, {k['moved']:.2g}" for k in kinds) + " |"
    )


def velocities_row(subject: Mapping[str, Any]) -> str:
    """One robot as a row of Markdown; each pair is of the measured velocity and of that by the model."""
    kinds = [subject[name] for name in ("as described", "uncertain", "rotors twice as heavy")]
    pairs = [k[name] for k in kinds for name in ("bears", "least")] + [kinds[0]["off"]]
    return f"| {subject['robot']} | " + " | ".join(f"{measured:.2g}, {found:.2g}" for measured, found in pairs) + " |"


def run(program: Path, amount: str, seed: int, libraries: list[Path]) -> tuple[dict[str, Any], bool]:
    """What a program found, and whether it was content; what is wrong goes to stderr as it is found."""
    started = time.monotonic()
    command = [str(program), amount, str(seed), *map(str, libraries)]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(result.stdout)
    found["seconds"] = time.monotonic() - started
    return found, result.returncode == 0


def main() -> int:
    """Build, run, write and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=float, default=1e8)
    parser.add_argument("--references", type=int, default=200)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--stops", type=int, default=500)
    parser.add_argument("--readings", type=int, default=500)
    parser.add_argument("--velocities", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    others = sorted({*ARMS, *CHAINS, "fr3", "twelve_links"})
    text = f"arms instead of the five robots, most of them of example-robot-data: {', '.join(others)}"
    parser.add_argument("--arms", nargs="+", default=(), choices=others, metavar="ARM", help=text)
    parser.add_argument("--out", type=Path, default=Path("results/soak"))
    arguments = parser.parse_args()
    folder: Path = arguments.out.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    models = load_models(arguments.arms)
    libraries, to_stop = build_libraries(models), build_to_stop(models)
    is_clean = True
    for name, amount, given, row, head in (
        ("stops", str(arguments.stops), to_stop, stops_row,
         "rotors | stops | too heavy to be held | not at rest after 4 s | grow | run off | unknown load drops | "
         "whips | fast whips |\n"),
        ("readings", str(arguments.readings), libraries, readings_row,
         "healthy: trials, doubted, moved [rad] | once | jump | wrap | frozen | sticks |\n"),
        ("velocities", str(arguments.velocities), to_stop, velocities_row,
         "gains borne as described: median | least | uncertain: median | least | rotors twice: median | least | "
         "off [velocity limits] |\n"),
        ("references", str(arguments.references), libraries, references_row,
         "endings | beyond limits [rad, m] | wrong |\n"),
        ("streams", str(arguments.streams), libraries, streams_row,
         "limited steps (each way as it is, guarded) | effort rate limited | worst end [mm, mrad] | wrong |\n"),
        ("adversary", str(arguments.updates), libraries, adversary_row,
         "updates | activations | requests | beyond limits [rad, m] | breaches, by episodes |\n"),
    ):  # fmt: skip
        if float(amount) == 0.0:
            continue
        program = host_program(ROOT / f"test/cpp/host_{name}.cpp", folder)
        found, is_content = run(program, amount, arguments.seed, given)
        (folder / f"{name}.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        print(f"{name}: {found['seconds']:.0f} s\n")
        print("| | " + head + "|" + " --- |" * (head.count("|") + 1))
        print("\n".join(map(row, found["subjects"])) + "\n")
        is_clean = is_clean and is_content
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
