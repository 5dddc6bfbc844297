"""Records from traces, CSV and bags: the same motion from each, and one line for what is none."""

from __future__ import annotations

import csv
import os
import re
import struct
import sys
import zipfile
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from watchdog import watched

from thunder_controllers.identification.motion import Fault, RecordError
from thunder_controllers.identification.records import read_record

zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")

JOINTS = ("joint1", "joint2")
T = 5.0 + 0.01 * np.arange(300)
Q = np.stack([np.sin(T), np.cos(2.0 * T)], axis=1)
EFFORT = np.stack([3.0 * np.cos(T), T - 5.0], axis=1)


def write_csv(path: Path, keep: np.ndarray, names: tuple[str, ...] = JOINTS) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["t", "what", *(f"{n}.effort" for n in names), *(f"{n}.position" for n in names)])
        writer.writerows([t, "x", *effort, *q] for t, q, effort in zip(T[keep], Q[keep], EFFORT[keep], strict=True))
    return path


def write_bag(
    path: Path,
    plugin: StoragePlugin,
    *,
    positions: bool = True,
    efforts: bool = True,
    samples: int = len(T),
    names: Sequence[str] = ("joint2", "finger", "joint1"),
) -> Path:
    """Joints in another order than the robot's, and one more."""
    columns = [JOINTS.index(name) if name in JOINTS else 2 for name in names]
    store = get_typestore(Stores.ROS2_JAZZY)
    kind = "sensor_msgs/msg/JointState"
    Header, Time = store.types["std_msgs/msg/Header"], store.types["builtin_interfaces/msg/Time"]
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        connection = writer.add_connection("/joint_states", kind, typestore=store)
        for t, q, effort in zip(T[:samples], Q, EFFORT, strict=False):
            nanoseconds = round(t * 1e9)
            stamp = Header(Time(nanoseconds // 10**9, nanoseconds % 10**9), "")
            position, torque = (np.append(values, 9.0)[columns] for values in (q, effort))
            position, torque = position[: len(names) * positions], torque[: len(names) * efforts]
            message = store.types[kind](stamp, [*names], position, np.zeros(len(names)), torque)
            writer.write(connection, nanoseconds, store.serialize_cdr(message, kind))
    return path


def assert_same(path: Path, atol: float) -> None:
    record = read_record(path, JOINTS)
    assert record.rate == pytest.approx(100.0, rel=1e-6)
    assert abs(len(record.q) - len(T)) <= 1
    np.testing.assert_allclose(record.q, Q[: len(record.q)], atol=atol)
    np.testing.assert_allclose(record.effort, EFFORT[: len(record.q)], atol=atol)


def test_csv(tmp_path: Path) -> None:
    assert_same(write_csv(tmp_path / "a.csv", np.arange(len(T))), 1e-9)


def test_a_sample_that_is_missing_or_repeated_is_interpolated(tmp_path: Path) -> None:
    keep = np.sort(np.append(np.delete(np.arange(len(T)), [100, 200, 201]), 150))
    assert_same(write_csv(tmp_path / "a.csv", keep), 1e-3)


@pytest.mark.parametrize("plugin", list(StoragePlugin))
def test_bags(tmp_path: Path, plugin: StoragePlugin) -> None:
    folder = write_bag(tmp_path / "bag", plugin)
    assert_same(folder, 1e-6)
    file = next(path for path in folder.iterdir() if path.suffix in {".mcap", ".db3"})
    assert_same(file, 1e-6)


def test_a_trace_holds_each_effort_until_the_next_sample(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", t=T, q_measured=Q, effort=EFFORT, joint_names=np.array(JOINTS))
    record = read_record(tmp_path / "a.npz", JOINTS)
    assert record.rate == pytest.approx(100.0)
    np.testing.assert_array_equal(record.q, Q[1:])
    np.testing.assert_allclose(record.effort, 0.5 * (EFFORT[1:] + EFFORT[:-1]))


@pytest.mark.parametrize("kind", ["csv", "npz", "bag"])
def test_joints_on_a_circle_are_unwrapped(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two joints that turn on and on and are told between −π and π, the one that is on a circle."""
    whole = np.stack([2.0 * T, 3.0 * T], axis=1)
    monkeypatch.setitem(globals(), "Q", np.remainder(whole + np.pi, 2.0 * np.pi) - np.pi)
    if kind == "csv":
        path = write_csv(tmp_path / "a.csv", np.arange(len(T)))
    elif kind == "bag":
        path = write_bag(tmp_path / "bag", StoragePlugin.MCAP)
    else:
        path = tmp_path / "a.npz"
        np.savez(path, t=T, q_measured=Q, effort=EFFORT, joint_names=np.array(JOINTS))
    record = read_record(path, JOINTS, circles=np.array([True, False]))
    np.testing.assert_allclose(np.diff(record.q[:, 0]), 0.02, atol=1e-6)
    assert np.abs(record.q[:, 1]).max() <= np.pi


@pytest.mark.parametrize("names", [*permutations(JOINTS), *permutations((*JOINTS, "finger"))])
def test_columns_are_found_by_the_names_of_joints(tmp_path: Path, names: tuple[str, ...]) -> None:
    """A trace is of this robot alone; columns and messages may have more."""
    order = [(*JOINTS, "finger").index(name) for name in names]
    q, effort = (np.column_stack([values, T])[:, order] for values in (Q, EFFORT))
    head = ",".join(["t", *(f"{name}.{what}" for what in ("effort", "position") for name in names)])
    np.savetxt(tmp_path / "a.csv", np.column_stack([T, effort, q]), delimiter=",", header=head, comments="")
    assert_same(tmp_path / "a.csv", 1e-9)
    assert_same(write_bag(tmp_path / "bag", StoragePlugin.MCAP, names=names), 1e-6)
    np.savez(tmp_path / "a.npz", t=T, q_measured=q, effort=effort, joint_names=np.array(names))
    if "finger" not in names:
        record = read_record(tmp_path / "a.npz", JOINTS)
        np.testing.assert_array_equal(record.q, Q[1:])
        np.testing.assert_allclose(record.effort, 0.5 * (EFFORT[1:] + EFFORT[:-1]))


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("joint1", "finger"), "missing joint2"),
        (("joint2", "joint1", "joint2"), "twice joint2"),
        (("joint1", "joint2", "finger"), "unknown finger"),
    ],
)
def test_records_of_other_joints_are_refused(tmp_path: Path, names: tuple[str, ...], reason: str) -> None:
    columns = np.zeros((len(T), len(names)))
    np.savez(tmp_path / "a.npz", t=T, q_measured=columns, effort=columns, joint_names=np.array(names))
    with pytest.raises(RecordError, match=f"a.npz: joint_names: .*{reason}.*; valid: joint1, joint2, each once"):
        read_record(tmp_path / "a.npz", JOINTS)
    if "unknown" in reason:
        return
    head = ",".join(["t", *(f"{name}.{what}" for what in ("effort", "position") for name in names)])
    rows = np.column_stack([T, columns, columns])
    np.savetxt(tmp_path / "a.csv", rows, delimiter=",", header=head, comments="")
    with pytest.raises(RecordError, match=rf"a.csv:1: columns: {reason}\.position, .*; valid: t, joint1.position"):
        read_record(tmp_path / "a.csv", JOINTS)
    with pytest.raises(RecordError, match=f"/joint_states: {reason}; valid: joint1, joint2, each once"):
        read_record(write_bag(tmp_path / "bag", StoragePlugin.MCAP, names=names), JOINTS)


@pytest.mark.slow
def test_what_is_no_record_is_one_line(tmp_path: Path) -> None:
    def message(path: Path, joints: tuple[str, ...] = JOINTS, topic: str = "/joint_states") -> str:
        with pytest.raises(RecordError) as caught:
            read_record(path, joints, topic)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "no such file" in message(tmp_path / "none.csv")
    (tmp_path / "a.txt").write_text("t")
    assert "suffix '.txt'; valid: .npz" in message(tmp_path / "a.txt")
    (tmp_path / "a.npz").write_text("t")
    assert "no trace" in message(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", t=T, q_measured=Q, effort=EFFORT, joint_names=np.array(JOINTS[::-1]))
    names = np.array(JOINTS)
    damaged: dict[str, tuple[dict[str, np.ndarray], str]] = {
        "flat": ({"q_measured": Q[:, 0]}, "have the shapes .300,., .300,., .300, 2."),
        "one": ({"t": T[:0], "q_measured": Q[:0], "effort": EFFORT[:0]}, "0 samples in 0 s"),
        "back": ({"t": T[::-1]}, "300 samples in -2.99 s"),
        "dates": ({"t": T.astype("M8[s]")}, "t has the type datetime64"),
        "words": ({"effort": EFFORT.astype(str)}, "valid: numbers, .N,., .N, 2."),
        "many": ({"joint_names": np.array([f"{k}x" for k in range(99)])}, "7x, …; valid"),
    }
    for name, (arrays, expected) in damaged.items():
        file = tmp_path / f"{name}.npz"
        np.savez(file, **({"t": T, "q_measured": Q, "effort": EFFORT, "joint_names": names} | arrays))
        assert re.search(expected, message(file)), name
    whole = (tmp_path / "b.npz").read_bytes()
    for text in (b"(300, 2)", b"'descr'"):  # what NumPy makes of such headers is a tokenize or a zlib error, and others
        (tmp_path / "cut.npz").write_bytes(whole.replace(text, b"(" * len(text)))
        assert "no trace" in message(tmp_path / "cut.npz")
    uneven = tmp_path / "uneven.csv"
    steps = [0.0, *(0.05 * k + 1e-9 * j for k in range(3) for j in (1, 2, 3, 4))]
    head = "t,joint1.position,joint2.position,joint1.effort,joint2.effort\n"
    uneven.write_text(head + "".join(f"{t!r},0,0,0,0\n" for t in steps))
    assert "half of the samples are less than 1e-09 s apart" in message(uneven)
    uneven.write_text(head + "nan,0,0,0,0\n0.1,0,0,0,0\n")
    assert "samples in" in message(uneven)
    everything = write_csv(tmp_path / "a.csv", np.arange(len(T)))
    assert "a.csv:1: columns: missing elbow.position, elbow.effort; valid: t, joint1.position" in message(
        everything, (*JOINTS, "elbow")
    )
    assert "no sample for 0.11 s after t = 5.99 s" in message(
        write_csv(tmp_path / "gap.csv", np.delete(np.arange(len(T)), np.arange(100, 110)))
    )
    (tmp_path / "words.csv").write_text(everything.read_text() + "now,x,1,2,3,4\n")
    assert f"words.csv:{len(T) + 2}: 'now' in column t; valid: a number" in message(tmp_path / "words.csv")
    (tmp_path / "empty.csv").write_text("")
    assert "empty.csv:1: columns: missing t, joint1.position" in message(tmp_path / "empty.csv")
    (tmp_path / "a.mcap").write_text("t")
    assert "no bag" in message(tmp_path / "a.mcap")
    bag = write_bag(tmp_path / "bag", StoragePlugin.MCAP)
    assert "no topic /other; valid: /joint_states" in message(bag, topic="/other")
    assert "/joint_states: missing joint3; valid: joint1, joint3, each once" in message(bag, ("joint1", "joint3"))
    assert "3 positions and 0 efforts of 3 joints; valid: position and effort of every joint" in message(
        write_bag(tmp_path / "idle", StoragePlugin.MCAP, efforts=False)
    )
    assert "0 positions and 3 efforts of 3 joints" in message(
        write_bag(tmp_path / "blind", StoragePlugin.MCAP, positions=False)
    )


def publish(path: Path, messages: Sequence[tuple[float, Sequence[str]]]) -> Path:
    """Bag of states by stamp and joints; a finger has no effort."""
    store, kind = get_typestore(Stores.ROS2_JAZZY), "sensor_msgs/msg/JointState"
    Header, Time = store.types["std_msgs/msg/Header"], store.types["builtin_interfaces/msg/Time"]
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/joint_states", kind, typestore=store)
        for t, names in messages:
            place = int(np.searchsorted(T, t + 1e-6)) - 1
            columns = [JOINTS.index(name) for name in names if name in JOINTS]
            nanoseconds = round(t * 1e9)
            stamp = Header(Time(nanoseconds // 10**9, nanoseconds % 10**9), "")
            position = Q[place][columns] if columns else np.zeros(len(names))
            message = store.types[kind](stamp, [*names], position, np.zeros(0), EFFORT[place][columns])
            writer.write(connection, nanoseconds, store.serialize_cdr(message, kind))
    return path


def test_a_gripper_on_the_same_topic_is_skipped(tmp_path: Path) -> None:
    messages = [message for t in T for message in ((t, JOINTS), (t + 0.003, ("finger",)))]
    path = publish(tmp_path / "bag", messages)
    assert_same(path, 1e-6)
    assert read_record(path, JOINTS).notes == ("300 messages of other joints were skipped",)


def test_messages_of_some_of_the_joints_are_merged_by_stamp(tmp_path: Path) -> None:
    """In any order; those that lack the others are left out."""
    messages = [message for t in T for message in ((t, JOINTS[:1]), (t, JOINTS[1:]))]
    messages[7], messages[6] = messages[6], messages[7]
    del messages[101]
    path = publish(tmp_path / "bag", messages)
    assert_same(path, 1e-3)
    merged, apart = read_record(path, JOINTS).notes
    assert merged == "598 messages of some of the joints were merged by their stamps"
    assert apart == "1 messages of some of the joints were left out: none has the stamp of the rest"


def test_joints_that_never_share_a_stamp_are_refused(tmp_path: Path) -> None:
    messages = [message for t in T for message in ((t, JOINTS[:1]), (t + 0.002, JOINTS[1:]))]
    with pytest.raises(RecordError, match="600 messages of some of the joints, and none with the stamp of another"):
        read_record(publish(tmp_path / "bag", messages), JOINTS)


@pytest.mark.parametrize(
    ("change", "said", "fault"),
    [
        (lambda t: 1e3 * t, "stamps step by 10 s: they are milliseconds, 100 Hz", Fault.UNIT),
        (lambda t: 1e9 * t, r"stamps step by 1e\+07 s: they are nanoseconds, 100 Hz", Fault.UNIT),
        (lambda t: t - np.where(t > 6.5, 0.5, 0.0), "stamps go back by 0.49 s after t = 6.5 s", Fault.STAMPS),
        (lambda t: np.round(t, 1), r"90% of the samples have the stamp of the one before", Fault.STAMPS),
    ],
)
def test_stamps_that_are_none_are_told(
    tmp_path: Path, change: Callable[[np.ndarray], np.ndarray], said: str, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "T", change(T))
    with pytest.raises(RecordError, match=said) as caught:
        read_record(write_csv(tmp_path / "a.csv", np.arange(len(Q))), JOINTS)
    assert caught.value.fault == fault


@pytest.mark.parametrize(("name", "step"), [("Q", 0.1), ("EFFORT", 0.6)])
def test_coarse_steps_are_told(tmp_path: Path, name: str, step: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), name, step * np.round(globals()[name] / step))
    with pytest.raises(RecordError, match=rf"of joint\d has steps of {step}") as caught:
        read_record(write_csv(tmp_path / "a.csv", np.arange(len(T))), JOINTS)
    assert caught.value.fault == Fault.COARSE


# --- records that anybody may have written ----------------------------------------------------------------------------


def refused(path: Path, joints: tuple[str, ...] = JOINTS) -> str:
    with watched(), pytest.raises(RecordError) as caught:
        read_record(path, joints)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 1000
    return str(caught.value)


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".mcap", ".db3"])
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (os.mkfifo, "it is no regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "it is no regular file"),
        (lambda path: os.truncate(path.open("w").name, 17 << 30), "it is larger than"),
    ],
    ids=["pipe", "device", "endless"],
)
def test_a_record_is_a_regular_file_of_a_sensible_size(
    tmp_path: Path, suffix: str, make: Callable[[Path], object], reason: str
) -> None:
    make(tmp_path / f"a{suffix}")
    assert reason in refused(tmp_path / f"a{suffix}")


def test_the_folder_of_a_bag_holds_regular_files_alone(tmp_path: Path) -> None:
    bag = write_bag(tmp_path / "bag", StoragePlugin.MCAP)
    (bag / "bag.mcap").unlink()
    os.mkfifo(bag / "bag.mcap")
    assert "bag.mcap: the file cannot be read (it is no regular file)" in refused(bag)


def test_an_archive_that_expands_is_refused(tmp_path: Path) -> None:
    """4 MB of it would be 800 MB; so would the same array under many names, which are stored and overlap."""
    zeros, names = np.zeros(17 << 20), np.array(JOINTS)
    np.savez_compressed(tmp_path / "a.npz", t=zeros, q_measured=Q, effort=EFFORT, joint_names=names)
    assert "KiB expand to 13" in refused(tmp_path / "a.npz")
    steady = np.zeros((len(T), 2))
    np.savez_compressed(tmp_path / "b.npz", t=T, q_measured=steady, effort=EFFORT, joint_names=names)
    assert read_record(tmp_path / "b.npz", JOINTS).rate == pytest.approx(100.0), "what is still is packed well"
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        with zipfile.ZipFile(tmp_path / "c.npz", "w", method) as archive:
            for name in ("t", "q_measured", "effort", "joint_names"):
                archive.writestr(f"{name}.npy", b"")
        assert "an array is neither stored nor deflated" in refused(tmp_path / "c.npz")
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        for number in range(20_000):
            archive.writestr(f"{number}.npy", b"")
    assert "a list of arrays of more than 1024 KiB" in refused(tmp_path / "d.npz")


@pytest.mark.slow
def test_lengths_in_a_bag_are_bounded(tmp_path: Path) -> None:
    """Each length field of 8 bytes at once as large as 2⁶² and 2⁶³ says; and a bag that ends anywhere."""
    whole = (write_bag(tmp_path / "bag", StoragePlugin.MCAP) / "bag.mcap").read_bytes()
    file = tmp_path / "a.mcap"
    chunk = whole.index(b"\x06", 9 + whole[9])
    for data in (
        whole[:9] + struct.pack("<Q", 1 << 62) + whole[17:],
        whole[: chunk + 1]
        + struct.pack("<Q", 1 << 62)
        + whole[chunk + 9 : -37]
        + whole[-37:-28]
        + bytes(20)
        + whole[-8:],
        whole[:-28] + struct.pack("<Q", 1 << 63) + whole[-20:],
        whole[: len(whole) // 2],
        whole[:9],
        b"",
    ):
        file.write_bytes(data)
        assert f"{file}: no bag (" in refused(file)


def test_what_a_chunk_expands_to_is_bounded(tmp_path: Path) -> None:
    """Three gigabytes of zeros in some hundred kilobytes, in a bag without an index."""
    block = zstd.compress(bytes(64 << 20))
    packed = 48 * block
    header = struct.pack("<I", 4) + b"ros2" + struct.pack("<I", 0)
    chunk = struct.pack("<QQQI", 0, 1, 48 * (64 << 20), 0) + struct.pack("<I", 4) + b"zstd"
    chunk += struct.pack("<Q", len(packed)) + packed
    magic, footer = b"\x89MCAP0\r\n", b"\x02" + struct.pack("<QQQI", 20, 0, 0, 0)
    records = [b"\x01" + struct.pack("<Q", len(header)) + header, b"\x06" + struct.pack("<Q", len(chunk)) + chunk]
    (tmp_path / "a.mcap").write_bytes(magic + b"".join(records) + footer + magic)
    assert (tmp_path / "a.mcap").stat().st_size < 1 << 20
    assert "it takes more than 1024 MiB of memory" in refused(tmp_path / "a.mcap")


@pytest.mark.slow
def test_a_damaged_database_is_one_line(tmp_path: Path) -> None:
    whole = (write_bag(tmp_path / "bag", StoragePlugin.SQLITE3) / "bag.db3").read_bytes()
    file, random = tmp_path / "a.db3", np.random.default_rng(0)
    damaged = [whole[:5000], whole[:100], b"", b"SQLite format 3\0" + bytes(5000)]
    for _ in range(4):
        data = bytearray(whole)
        for place in random.integers(100, len(data), len(data) // 100):
            data[place] = random.integers(0, 256)
        damaged.append(bytes(data))
    for data in damaged:
        file.write_bytes(data)
        refused(file)
