"""What the plugin's C++ code publishes, without ROS: its outputs with ROS' own messages, and publishers that write.

The snapshots are those of a session that moves an arm by recursive least squares, or made up.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from host_programs import REPOSITORY, compile_program
from picking_arm import BODY, KNOWN, LINK, MOTION, RAMP_TIME, STEP, WARM, PickingArm, build_library
from published_law import COEFFICIENTS, FAR, build_published, snapshot_of

from thunder_controllers.host import Configuration, ControlSession, Figure, Library, Options, Snapshot
from thunder_dynamics.inertia import Inertia

pytestmark = pytest.mark.slow

PLUGIN = REPOSITORY / "thunder_controllers/ros2_control/plugin"
EVERY = 20
"""Steps from one published snapshot to the next."""


def message_folders() -> Iterator[Path]:
    """Folders of headers of ROS' messages: of wheels, or of a sourced distribution."""
    prefixes = [sys.prefix, *filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))]
    for folder in (Path(prefix) / "include" for prefix in prefixes):
        if (folder / "geometry_msgs").is_dir():
            yield from sorted(path for path in folder.iterdir() if path.is_dir())


@pytest.fixture(scope="module")
def program(build_cache: Path) -> Path:
    folders = [*message_folders()]
    if not folders:
        pytest.skip("no headers of ROS' messages: pip install 'thunder-controllers[ros]'")
    flags = [f"-I{PLUGIN}", f"-I{REPOSITORY / 'test/cpp/recorded_ros'}"]
    flags += chain.from_iterable(("-isystem", str(folder)) for folder in folders)
    return compile_program("plugin_outputs", build_cache, "-O1", *flags, others=[PLUGIN / "outputs.cpp"])


def line(snapshot: Any) -> str:
    """As plugin_outputs.cpp reads it."""
    vectors = (
        snapshot.q,
        snapshot.qd,
        snapshot.effort,
        snapshot.state_vector,
        snapshot.telemetry_vector,
        snapshot.reference_vector,
    )
    words = [str(snapshot.stamp)]
    for values in vectors:
        words += [str(len(values)), *map(repr, values.tolist())]
    return " ".join(words)


def run(library: Library) -> list[Snapshot]:
    """An arm in motion, which picks a body up and puts it down again."""
    arm, session, effort = PickingArm(), ControlSession(Configuration(library), Options()), np.zeros(3)
    session.activate(arm.q, arm.qd, arm.held)
    session.trace(Figure(**MOTION, ramp_time=RAMP_TIME))
    snapshots: list[Snapshot] = []
    count = 0

    def answer() -> np.ndarray:
        nonlocal count
        count += 1
        session.update(round(1e9 * count * STEP), count * STEP, arm.q, arm.qd, STEP, effort)
        if count % EVERY == 0:
            snapshots.append(session.snapshot())
        return effort

    arm.move(WARM, answer)
    arm.pick_up()
    arm.move(KNOWN + 0.5, answer)
    arm.put_down()
    arm.move(KNOWN + 0.5, answer)
    return snapshots


def published(program: Path, library: Library, snapshots: Sequence[Any]) -> dict[str, list[dict[str, Any]]]:
    """Messages by topic, each with its topic, depth and durability."""
    text = "\n".join(map(line, snapshots))
    done = subprocess.run([program, library.path], input=text, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    messages: dict[str, list[dict[str, Any]]] = {}
    for message in yaml.load_all("---\n".join(done.stdout.splitlines(keepends=True)), Loader=yaml.CSafeLoader):
        messages.setdefault(message["topic"], []).append(message)
    return messages


@pytest.mark.parametrize("knows_cosine", [True, False])
def test_the_error_is_the_pose_that_leads_to_the_reference(program: Path, knows_cosine: bool) -> None:
    library = build_published(knows_cosine)
    snapshots, expected = zip(*(snapshot_of(Configuration(library), turn, knows_cosine) for turn in FAR), strict=True)
    messages = published(program, library, snapshots)
    for sent, turn in zip(messages["~/pose_error"], expected, strict=True):
        pose = sent["message"]["pose"]
        assert list(pose["position"].values()) == [0.1, 0.2, 0.3]
        orientation = [pose["orientation"][axis] for axis in "xyzw"]
        np.testing.assert_allclose(orientation, turn.as_quat(canonical=True), rtol=1e-5, atol=1e-12)
    if knows_cosine:
        assert all(sent["message"] == COEFFICIENTS for sent in messages["~/friction_estimates"])
    else:
        assert "~/friction_estimates" not in messages


@pytest.mark.parametrize("links", [(), ("link2", LINK)])
def test_each_body_is_one_latched_message_of_the_link_that_carries(program: Path, links: tuple[str, ...]) -> None:
    library = build_library(*links)
    snapshots = run(library)
    messages = published(program, library, snapshots)
    assert {topic: len(sent) for topic, sent in messages.items() if topic != "~/picked_up"} == dict.fromkeys(
        ["~/controller_state", "~/joint_error", "~/pose", *(f"~/estimates/{link}" for link in links or (LINK,))],
        len(snapshots),
    )
    up, down = messages["~/picked_up"]
    change = [float(snapshot.telemetry("change")[0]) for snapshot in snapshots]
    known = [k for k in range(1, len(change)) if change[k] == 2.0 != change[k - 1]]
    for one, sign, k in ((up, 1.0, known[0]), (down, -1.0, known[1])):
        assert (one["depth"], one["latched"]) == (1, True)
        header, inertia = one["message"]["header"], one["message"]["inertia"]
        assert header["frame_id"] == LINK
        assert header["stamp"]["sec"] * 10**9 + header["stamp"]["nanosec"] == snapshots[k].stamp
        told = Inertia.from_pi(snapshots[k].telemetry("picked_up")).dyn
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        sent = [inertia["m"], *(inertia["com"][axis] for axis in "xyz"), *(inertia[name] for name in names)]
        np.testing.assert_allclose(sent, told, rtol=1e-5, atol=1e-6)  # YAML has six digits
        assert abs(inertia["m"] - sign * BODY.mass) < 4.0 * float(snapshots[k].telemetry("picked_up_std")[0])
