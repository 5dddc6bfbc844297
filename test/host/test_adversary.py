"""All laws of five robots in closed loop, with faults of all kinds mixed, references to anywhere and possible streams.

The C++ programs judge every update; `make soak` runs them for long.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from host_programs import ADDRESS, REPOSITORY, compile_program, run

from thunder_dynamics.build import law_builders

sys.path.insert(0, str(REPOSITORY / "benchmarks"))

import adversary  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("adversary")]


@pytest.fixture(scope="module")
def libraries(build_cache: Path) -> Iterator[list[Path]]:
    yield adversary.build_libraries(adversary.load_models())


def _found(program: Path, amount: int, libraries: list[Path]) -> dict[str, Any]:
    result = run(program, str(amount), "1", *libraries)
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_every_robot_is_tried_with_every_law_that_it_can_have(libraries: list[Path], build_cache: Path) -> None:
    found = _found(compile_program("host_references", build_cache, "-O1"), 0, libraries)
    tried = {(subject["robot"], subject["law"]) for subject in found["subjects"]}
    every = {(robot, law) for robot in ("panda", "planar3r", "rpr", "sea2", "ur5") for law in law_builders()}
    assert tried == every - {("sea2", law) for law in ("cartesian_backstepping", "cartesian_computed_torque")}


def test_faults_of_all_kinds_move_no_arm_out_of_its_envelope(libraries: list[Path], build_cache: Path) -> None:
    """Nor is any effort not finite, beyond its limit, or further from the last than its rate limit times the time."""
    found = _found(compile_program("host_adversary", build_cache, "-O1"), 1_000_000, libraries)
    assert found["updates"] >= 1_000_000
    for subject in found["subjects"]:
        assert subject["sighted"] > 0.5 * subject["updates"]  # most of the time there is something to lose
        assert subject["activations"] > subject["episodes"]  # most arms are activated more than once
    seen = {name for subject in found["subjects"] for name, count in subject["guards"].items() if count}
    assert seen == set(found["subjects"][0]["guards"])


def test_every_random_reference_ends_tracked_held_refused_or_stopped(libraries: list[Path], build_cache: Path) -> None:
    found = _found(compile_program("host_references", build_cache, "-O1"), 30, libraries)
    for subject in found["subjects"]:
        endings = {name.split(" by ")[0] for counts in subject["endings"].values() for name in counts}
        assert endings <= {"tracked", "held", "refused", "stopped"}
        assert sum(sum(counts.values()) for counts in subject["endings"].values()) == 30


def test_streams_that_are_possible_are_not_limited(libraries: list[Path], build_cache: Path) -> None:
    """At 1 kHz, 100 Hz, and 50 Hz with jitter; the arm ends as near as if each sample were taken as it is."""
    found = _found(compile_program("host_streams", build_cache, "-O1"), 4, libraries)
    for subject in found["subjects"]:
        assert subject["wrong"] == 0
        assert all(len(streams) == 4 for streams in subject["ways"].values())


def test_arms_that_are_stopped_come_to_rest_and_no_brake_makes_them_faster(build_cache: Path) -> None:
    """Whether rotors are known, to 30 %, or not; velocities are differences through 100 Hz, efforts late."""
    robots = adversary.build_to_stop(adversary.load_models())
    found = _found(compile_program("host_stops", build_cache, "-O1"), 40, robots)
    known = [subject for subject in found["subjects"] if subject["knows_rotors"]]
    assert [subject["robot"] for subject in known] == ["panda", "planar3r", "rpr", "sea2", "ur5"]
    assert len(found["subjects"]) == len(robots) == 10
    assert all(subject["stops"] == 40 and subject["updates"] >= 40 * 2000 for subject in found["subjects"])
    assert all(subject["too_heavy"] < 20 for subject in found["subjects"])
    assert not any(subject[what] for subject in found["subjects"] for what in ("moving", "running_off", "fast_whips"))


def test_a_velocity_by_the_model_bears_higher_gains(build_cache: Path) -> None:
    """As described, and in the median where inertias are off by 30 % and efforts act sooner or later than is told."""
    robots = adversary.build_to_stop(adversary.load_models())
    found = _found(compile_program("host_velocities", build_cache, "-O1"), 20, robots)
    assert [subject["robot"] for subject in found["subjects"]] == ["panda", "planar3r", "rpr", "ur5"]
    for subject in found["subjects"]:
        assert subject["as described"]["gained"] > 1.2 and subject["uncertain"]["gained"] >= 1.0
        assert subject["uncertain"]["least"][1] > 1.0


def test_readings_that_cannot_be_true_move_no_arm(libraries: list[Path], build_cache: Path) -> None:
    """Of one joint, for one sample or from then on; and none is doubted where nothing is wrong.

    A joint that was slow when its position froze may have gone 0.1 rad before the fault: docs/results/robustness.md.
    """
    result = run(compile_program("host_readings", build_cache, "-O1"), "100", "1", *libraries)
    for subject in json.loads(result.stdout)["subjects"]:
        assert subject["healthy"]["count"] > 0 and subject["healthy"]["found"] == 0
        for kind in ("jump", "wrap"):
            assert subject[kind]["found"] == subject[kind]["count"] > 0
        assert subject["once"]["moved"] < 0.01 and subject["frozen"]["moved"] < 0.15


def test_faults_of_all_kinds_meet_no_undefined_behaviour(libraries: list[Path], build_cache: Path) -> None:
    """Whatever the judge says of it, which the test above does."""
    result = run(compile_program("host_adversary", build_cache, *ADDRESS), "100000", "2", *libraries)
    assert "Sanitizer" not in result.stderr and "runtime error" not in result.stderr, result.stderr
    assert json.loads(result.stdout)["updates"] >= 100_000
