"""What is exported of a run says the same as its trace, and so `thunder identify` reads it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore
from traces import make_frames, make_trace, write_run

from thunder_controllers.identification.records import read_record
from thunder_controllers.simulation.trace import Trace
from thunder_controllers.view.export import CONTROLLER, write_bag, write_csv
from thunder_dynamics.cli import main
from thunder_dynamics.inertia import Inertia

LINK = "panda_link7"


def _trace() -> Trace:
    """A trace of two joints with an estimate of the Panda's last link and a turning end effector."""
    trace = make_trace(steps=600)
    angle = 0.3 * np.sin(trace.t)
    rotation = np.tile(np.eye(3), (600, 1, 1))
    rotation[:, 0, 0] = rotation[:, 1, 1] = np.cos(angle)
    rotation[:, 1, 0], rotation[:, 0, 1] = np.sin(angle), -np.sin(angle)
    reference = trace.reference.copy()
    reference[:, 3:12] = np.eye(3).ravel()
    names = {"joint_names": np.array(["panda_joint1", "panda_joint2"]), "adapted_links": np.array([LINK])}
    return replace(trace, rotation=rotation, reference=reference, **names)


def _messages(folder: Path) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    with AnyReader([folder], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        for connection, _, data in reader.messages():
            found.setdefault(connection.topic, []).append(reader.deserialize(data, connection.msgtype))
    return found


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trace = _trace()
    folder = tmp_path_factory.mktemp("bag") / "one_bag"
    write_bag(trace, make_frames(trace), folder)
    return folder


def test_identify_reads_from_csv_and_bag_what_it_reads_from_the_trace(tmp_path: Path, bag: Path) -> None:
    trace = _trace()
    joints = tuple(map(str, trace.joint_names))
    trace.save(tmp_path / "one.npz")
    write_csv(trace, tmp_path / "one.csv")
    wanted = read_record(tmp_path / "one.npz", joints)  # from the second sample on
    for path in (tmp_path / "one.csv", bag, next(bag.glob("*.mcap"))):
        record = read_record(path, joints)
        assert record.rate == pytest.approx(wanted.rate, rel=1e-6)
        steps = min(len(record.q) - 1, len(wanted.q))
        np.testing.assert_allclose(record.q[1 : steps + 1], wanted.q[:steps], atol=1e-6)
        np.testing.assert_allclose(record.effort[1 : steps + 1], wanted.effort[:steps], atol=1e-4)


def test_one_table_is_that_of_files_and_of_python(tmp_path: Path) -> None:
    trace = _trace()
    write_csv(trace, tmp_path / "one.csv")
    table = np.genfromtxt(tmp_path / "one.csv", delimiter=",", names=True, deletechars="", replace_space=" ")
    columns = trace.columns()
    assert table.dtype.names == tuple(columns) and {values.shape for values in columns.values()} == {(600,)}
    for name, values in columns.items():
        np.testing.assert_array_equal(table[name], values)
    np.testing.assert_array_equal(table["panda_joint1.true_velocity"], trace.qd[:, 0])
    np.testing.assert_array_equal(table["telemetry.error"], trace.telemetry[:, 0])
    np.testing.assert_array_equal(table["ee_desired.z"], trace.reference[:, 2])
    np.testing.assert_array_equal(table["panda_joint2.command"], trace.effort[:, 1])
    np.testing.assert_array_equal(table["error.x"], trace.error[:, 0])
    np.testing.assert_array_equal(table[f"{LINK}.estimate.m"], trace.estimates[:, 0, 0])
    np.testing.assert_array_equal(table["guard.effort_limited"], trace.acted("effort_limited"))


def _results(folder: Path) -> Path:
    """A folder as `thunder run` writes it, of two runs."""
    names = ("first", "second")
    write_run(folder, {"runs": dict.fromkeys(names, {"library_hash": "0"})}, **dict.fromkeys(names, _trace()))
    return folder


def test_command_exports_a_folder_of_results_without_running_again(tmp_path: Path) -> None:
    folder = _results(tmp_path)
    before = set(folder.iterdir())
    main(["export", str(folder), "--csv", "--mcap", "--run", "second"])
    assert {path.name for path in set(folder.iterdir()) - before} == {"second.csv", "second_bag"}
    write_csv(_trace(), folder / "wanted.csv")
    assert (folder / "second.csv").read_bytes() == (folder / "wanted.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--csv", "--run", "third"], r"no run 'third'; valid: first, second$"),
        ([], r"nothing to write; valid: --csv, --mcap, --video FILE$"),
        (["--csv", "--video", "a.avi"], r"a video ending in '.avi'; valid: .mp4 or .gif$"),
    ],
)
def test_a_mistake_of_an_export_is_one_line_and_writes_nothing(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _results(tmp_path)
    before = set(folder.iterdir())
    said = _refused([str(folder), *options], capsys)
    assert re.search(message, said.strip()) and said.count("\n") == 1
    assert set(folder.iterdir()) == before


def test_a_folder_without_results_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "the results are incomplete" in _refused([str(tmp_path), "--csv"], capsys)
    (_results(tmp_path) / "first.npz").write_bytes(b"PK")
    assert "valid: a folder that `thunder run` wrote" in _refused([str(tmp_path), "--csv"], capsys)


def _refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit, match="2"):
        main(["export", *arguments])
    return capsys.readouterr().err


def test_bag_holds_poses_errors_and_estimates(bag: Path) -> None:
    trace, found = _trace(), _messages(bag)
    pose = found[f"{CONTROLLER}/pose"][100].pose.orientation
    half = 0.15 * np.sin(trace.t[100])
    np.testing.assert_allclose([pose.x, pose.y, pose.z, pose.w], [0, 0, np.sin(half), np.cos(half)], atol=1e-12)
    error = found[f"{CONTROLLER}/pose_error"][50].pose.position
    assert error.x == trace.error[50, 0]
    estimate = found[f"{CONTROLLER}/estimates/{LINK}"][-1]
    body = Inertia.from_pi(trace.estimates[-1, 0])
    inertia = estimate.inertia
    assert estimate.header.frame_id == LINK and inertia.m == body.mass
    np.testing.assert_allclose([inertia.com.x, inertia.com.y, inertia.com.z], body.com, rtol=1e-12)
    np.testing.assert_allclose([inertia.ixx, inertia.iyy, inertia.izz], np.diag(body.inertia_com), rtol=1e-9)


def test_bag_holds_the_arm_as_a_chain_of_frames(bag: Path) -> None:
    frames = make_frames(_trace())
    message = _messages(bag)["/tf"][20]
    assert [one.header.frame_id for one in message.transforms] == ["world", "base", "upper", "lower", "tool"]
    steps = [one.transform.translation for one in message.transforms]
    point = np.sum([[step.x, step.y, step.z] for step in steps], axis=0)
    np.testing.assert_allclose(point, frames.position[20, -1], atol=1e-6)  # no frame turns here


def test_joint_laws_have_joint_errors(tmp_path: Path) -> None:
    trace = replace(_trace(), reference=np.zeros((600, 6)), error=np.full((600, 2), 0.25))
    write_bag(trace, make_frames(trace), tmp_path / "bag")
    found = _messages(tmp_path / "bag")
    assert f"{CONTROLLER}/pose" not in found
    np.testing.assert_array_equal(found[f"{CONTROLLER}/joint_error"][3].position, [0.25, 0.25])
    write_bag(trace, make_frames(trace), tmp_path / "bag")  # replaces it
    assert [path.name for path in tmp_path.iterdir()] == ["bag"]
