"""Arms that touch a table or a wall, are guided by a hand, or whose firmware holds up another load (theory.md §13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from thunder_controllers.experiments.experiment import Case, Measured, Settings
from thunder_controllers.experiments.measures import measure_run
from thunder_controllers.experiments.runner import load_robot
from thunder_controllers.host import Library
from thunder_controllers.simulation.faults.wrench import Push
from thunder_controllers.simulation.scenario import merged
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_studies.arms import ARMS, library_of, robot_file
from thunder_studies.drives.practice import LAW, MAP, practised_arm, way_off
from thunder_studies.panda import Keys

UNSEEN = ("ur5", "baxter", "j2s6s200", "tiago", "tiago_pro")
"""Arms on which nothing of what a contact does to an estimator was chosen."""

DEPTH, SHARE, RELEASED = 5e-3, 0.5, 15.0
"""What of the path is below the table [m]; where the wall cuts it, over the amplitude [1]; when both are gone [s]."""

WALL = 2e3
"""Stiffness of the wall [N/m]."""

GUIDED, SPEED, PERIOD, MOST = (4.0, 16.0), 0.3, 3.0, 80.0
"""When a hand guides the arm [s], its largest speed [m/s], its period [s] and its largest force [N]."""

BORNE = 0.3
"""Feedback of velocity by a wrong inertia that a loop bears, over the true one and the rate (theory.md §5) [1]."""

SETTLING = 1.0
"""After a release, in which an arm returns [s]."""

Touched = Callable[[Keys, Library], dict[str, Any]]


def _table(keys: Keys, library: Library) -> dict[str, Any]:
    """A table that the lowest part of the path is below of."""
    path = keys["reference"]
    lowest = np.array(path["centre"]) - [0.0, 0.0, path["amplitude"][2] - DEPTH]
    return _surface(keys, library, {"position": tuple(lowest.tolist()), "normal": (0.0, 0.0, 1.0)})


def _wall(keys: Keys, library: Library) -> dict[str, Any]:
    """A soft wall across the path."""
    path = keys["reference"]
    beyond = np.array(path["centre"]) + [SHARE * path["amplitude"][0], 0.0, 0.0]
    soft = {"position": tuple(beyond.tolist()), "normal": (-1.0, 0.0, 0.0), "stiffness": WALL}
    return _surface(keys, library, soft)


def _surface(keys: Keys, library: Library, surface: Mapping[str, Any]) -> dict[str, Any]:
    """A surface against the end effector until RELEASED."""
    q = np.array(keys["start"]["q"])
    link, tip = (library.evaluate(name, q) for name in (f"T_0_{len(library.link_names)}", "T_0_ee"))
    point = link[:3, :3].T @ (tip[:3, 3] - link[:3, 3])
    fault = {"type": "surface", "link": library.link_names[-1], "point": tuple(point.tolist()), "end": RELEASED}
    return {"plant": {"faults": [{**fault, **surface}]}, "duration": RELEASED + 7.0}


def _hand(keys: Keys, library: Library) -> dict[str, Any]:
    """A hand that leads the end effector to and fro, while its reference rests."""
    start, end = GUIDED
    times = np.arange(0.0, end - start, 0.1)
    hand = {
        "type": "hand",
        "link": library.link_names[-1],
        "velocity": (SPEED, 0.5 * SPEED, 0.3 * SPEED),
        "most": MOST,
        "profile": list(zip(times.tolist(), np.sin(2.0 * np.pi * times / PERIOD).tolist(), strict=True)),
        "start": start,
        "end": end,
    }
    path = keys["reference"]
    rests = {"type": "hold", "position": path["centre"], "ypr": path["ypr"]}
    return {"plant": {"faults": [hand]}, "duration": end + 4.0, "reference": rests}


def _firmware(mass: float) -> Touched:
    """Return what makes a robot compensate the weight of a load that is not there [kg]."""

    def told(keys: Keys, library: Library) -> dict[str, Any]:
        load = {"link": library.link_names[-1], "mass": mass, "com": (0.0, 0.0, 0.1)}
        return {"plant": {"firmware": {"load": load}}, "host": {"gravity_compensated_by_robot": True}}

    return told


KINDS: Mapping[str, Touched] = {
    "table": _table,
    "wall": _wall,
    "hand": _hand,
    "too little": _firmware(-1.0),
    "too much": _firmware(2.5),
}


def draw(kind: str, settings: Settings) -> Iterator[Keys]:
    """Draw every arm of UNSEEN for every seed, with an empty hand; nothing of those whose file is not installed."""
    for name in UNSEEN:
        file = robot_file(ARMS[name])
        for seed in settings.seeds if file else ():
            assert file is not None
            keys = merged(practised_arm(name, seed, MAP["no lag"]), {"plant": {"payloads": []}})
            changes = KINDS[kind](keys, library_of(name, LAW, file))
            if "reference" in changes:
                keys = {**keys, "reference": {}}
            yield merged(keys, changes)


def draw_table(settings: Settings, _row: str) -> Iterator[Keys]:
    """Draw arms that dip into a table."""
    yield from draw("table", settings)


def draw_wall(settings: Settings, _row: str) -> Iterator[Keys]:
    """Draw arms that a wall stops."""
    yield from draw("wall", settings)


def draw_hand(settings: Settings, row: str) -> Iterator[Keys]:
    """Draw arms that a hand guides; those of the row `impedance` know nothing of other laws' gains and options."""
    for keys in draw("hand", settings):
        yield keys if row != "impedance" else {**keys, "law": {}}


def draw_firmware(settings: Settings, _row: str) -> Iterator[Keys]:
    """Draw arms that hold up 2.5 kg too much, or 1 kg too little."""
    yield from draw("too much", settings)
    yield from draw("too little", settings)


def measure_touch(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure ‖p_d − p‖ [mm] while something touches the arm and from SETTLING after it on, and what is believed.

    `after_speed` is the largest speed of a joint after the release, over its limit; `borne` the largest estimate of a
    moment of inertia, less the robot file's, over what the loop bears.
    """
    values, kept = measure_run(case, trace, timing)
    library, way, t = load_robot(case.config).library, way_off(trace), trace.t
    ends = [fault.end for fault in case.config.plant.faults if isinstance(fault, Push) and fault.end]
    released = min(ends, default=case.config.duration - case.window)
    touched, after = (t >= 2.0) & (t < released), t >= released
    speed = np.abs(trace.qd_measured[after]) / np.asarray(library.velocity_limit)
    found = {
        "touched": float(way[touched].max()),
        "settled": float(way[t >= min(released + SETTLING, t[-1])].max()),
        "after_speed": float(speed.max()),
    }
    if trace.estimates.size:
        found["borne"] = float((_beyond(trace) / _bearable(case, library)).max())
    return Measured({**values, **found}, kept)


def _beyond(trace: Trace) -> np.ndarray:
    """Moments of inertia of the last adapted link beyond the first ones, (N, 3) [kg·m²]."""
    moments = trace.estimates[:, -1, [4, 7, 9]]
    return np.asarray(np.abs(moments - moments[0]))


def _bearable(case: Case, library: Library) -> np.ndarray:
    """What the loop bears of each, (3,), as `Estimates.bearable` has it, without what is known for sure."""
    gains = {entry.name: np.asarray(entry.defaults) for entry in library.law(case.config.law.name).gains}
    fastest = max(gains["Lambda"].max(initial=0.0), 1e-9)
    return np.asarray(gains["least_inertia"][-3:] * BORNE * case.config.rate / fastest)
