"""Joint states from bags of ROS 2, which may come from anybody.

rosbags reads them in a process of its own: lengths in a bag, what its chunks expand to, and the statements of its
database are bounded by the memory and the time of that process alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.fields import order_of
from thunder_dynamics.errors import NameNotFoundError, ThunderError, listed, require
from thunder_dynamics.readers.limits import MEMORY
from thunder_dynamics.readers.xacro_child import limit_process, out_of_memory
from thunder_dynamics.storage.apart import run_apart
from thunder_dynamics.storage.door import RECORD, open_file

SECONDS, BYTES_PER_SECOND = 30, 1 << 20
"""Processor time for a bag [s], and so much more of it: ten times what joint states take."""

MOST_SAMPLES = 10_000_000
"""Most messages of a topic, as many as the longest run has."""

VALID = "an .mcap or .db3 file, or a bag's folder"

FILES = (".mcap", ".db3")
"""Suffixes of files of bags."""

NANOSECONDS = 1_000_000_000
"""In a second."""

PENDING = 1000
"""Stamps of samples that wait for the rest of their joints."""

_REFUSED = 3
_PROGRAM = """
import json, sys
request = json.load(sys.stdin)
sys.path[:] = request["sys_path"]
from thunder_controllers.bag import main
main(request)
"""


@dataclass(frozen=True)
class JointStates:
    """Joint states of a topic.

    Attributes:
        rows: Stamp [s], positions and efforts of each sample, (N, 1 + 2·joints).
        skipped: Messages of other joints alone, as of a gripper.
        merged: Messages of some of the joints that others with the same stamp complete.
        apart: Messages of some of the joints that none completes.
    """

    rows: NDArray[np.float64]
    skipped: int
    merged: int
    apart: int


def read_joint_states(path: Path, joints: Sequence[str], topic: str, error: type[ThunderError]) -> JointStates:
    """Read the joint states of a topic of sensor_msgs/JointState, which other publishers may share.

    Args:
        path: A .mcap or .db3 file, or the folder of a bag.
        joints: Names, in the order of the columns.
        topic: Of the messages.
        error: To raise.

    Raises:
        ThunderError: of the type `error`, if it cannot be read, is no bag, takes too much, or lacks topic or joints.
        MissingLibraryError: if rosbags is not installed.
    """
    require("rosbags")
    size = 0
    for file in path.iterdir() if path.is_dir() else [path]:
        with open_file(file, RECORD, error) as opened:
            size += os.fstat(opened.fileno()).st_size
    seconds = SECONDS + size // BYTES_PER_SECOND
    request = {"path": str(path), "joints": list(joints), "topic": topic, "seconds": seconds}
    status, said = run_apart(["-c", _PROGRAM], request, seconds, subprocess.DEVNULL)
    if status == 0:
        *rows, counts = np.frombuffer(said).reshape(-1, 1 + 2 * len(joints))
        return JointStates(np.reshape(rows, (-1, 1 + 2 * len(joints))), *(int(one) for one in counts[:3]))
    if status == _REFUSED:
        what, where, valid = json.loads(said)
        raise error(what, where=where, valid=valid)
    reason = f"its reading takes longer than {seconds} s" if status is None else f"its reading ended with {status}"
    raise error(f"no bag ({reason})", where=str(path), valid=VALID)


class RefusedError(Exception):
    """A bag cannot be read: says what is wrong, where, and what would be valid."""


def main(request: Mapping[str, Any]) -> None:
    """Write the rows of a request to the standard output, or with status 3 what is wrong."""
    import rosbags.highlevel  # noqa: F401 - before the limits

    limit_process(MEMORY, request["seconds"], RECORD.largest)
    try:
        _write(rows_of(request))
    except RefusedError as error:
        os.ftruncate(1, 0)
        os.pwrite(1, json.dumps(error.args).encode(), 0)
        os._exit(_REFUSED)


def rows_of(request: Mapping[str, Any]) -> Iterator[list[float]]:
    """Read the bag of a request without bounds: rows of samples, and a last one of counts.

    The counts are those of `JointStates`, then zeros.

    Raises:
        RefusedError: for all that is wrong with it.
    """
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    path = str(request["path"])
    try:
        with AnyReader([Path(path)], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            yield from _rows(reader, request, path)
    except RefusedError:
        raise
    except Exception as error:  # rosbags, apsw, struct and zstd do not agree on what a damaged bag raises
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        if isinstance(error, MemoryError):
            reason = out_of_memory(MEMORY)
        raise RefusedError(f"no bag ({reason})", path, VALID) from error


def _write(rows: Iterator[list[float]]) -> None:
    for number, row in enumerate(rows):
        if number == MOST_SAMPLES:
            raise RefusedError(f"more than {MOST_SAMPLES} samples", "messages", f"{MOST_SAMPLES}")
        sys.stdout.buffer.write(array("d", row))
    sys.stdout.buffer.flush()


def _rows(reader: Any, request: Mapping[str, Any], path: str) -> Iterator[list[float]]:
    """Stamp, positions and efforts of each sample, from one message or merged from several, then counts."""
    topic, joints = request["topic"], request["joints"]
    found = [connection for connection in reader.connections if connection.topic == topic]
    if not found:
        raise RefusedError(f"no topic {topic}", path, listed(sorted(reader.topics)) or "a bag with messages")
    where, seen, counts = (
        f"{path}: {topic}",
        dict.fromkeys(joints, False),
        dict.fromkeys(("skipped", "merged", "apart"), 0),
    )
    pending: dict[int, dict[str, tuple[float, float]]] = {}
    parts: dict[int, int] = {}
    for connection, _, data in reader.messages(found):
        message = reader.deserialize(data, connection.msgtype)
        own = [name for name in joints if name in message.name]
        if not own:
            counts["skipped"] += 1
            continue
        values = _values(message, own, where)
        seen |= dict.fromkeys(own, True)
        stamp = message.header.stamp.sec * NANOSECONDS + message.header.stamp.nanosec
        sample = pending.pop(stamp, {}) | values
        parts[stamp] = parts.get(stamp, 0) + 1
        if len(sample) < len(joints):
            pending[stamp] = sample
        else:
            merged = parts.pop(stamp)
            counts["merged"] += merged if merged > 1 else 0
            positions, efforts = zip(*(sample[name] for name in joints), strict=True)
            yield [stamp / NANOSECONDS, *positions, *efforts]
        if len(pending) > PENDING:
            oldest = next(iter(pending))
            del pending[oldest]
            counts["apart"] += parts.pop(oldest)
    counts["apart"] += sum(parts[stamp] for stamp in pending)
    if missing := [name for name in joints if not seen[name]]:
        raise RefusedError(f"missing {listed(missing)}", where, f"{', '.join(joints)}, each once")
    yield [float(one) for one in counts.values()] + [0.0] * (2 * len(joints) - 2)


def _values(message: Any, own: Sequence[str], where: str) -> dict[str, tuple[float, float]]:
    """Position and effort of each of some joints of a message."""
    try:
        order = order_of(message.name, own, where, others=True)
    except NameNotFoundError as error:
        raise RefusedError(error.what, error.where, error.valid) from error
    if not len(message.position) == len(message.effort) == len(message.name):
        what = f"{len(message.position)} positions and {len(message.effort)} efforts of {len(message.name)} joints"
        raise RefusedError(what, where, "position and effort of every joint")
    return {name: (message.position[k], message.effort[k]) for name, k in zip(own, order, strict=True)}
