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
"""Of a topic, as many as the longest run has."""

VALID = "an .mcap or .db3 file, or a bag's folder"

FILES = (".mcap", ".db3")
"""Suffixes of files of bags."""

_REFUSED = 3
_PROGRAM = """
import json, sys
request = json.load(sys.stdin)
sys.path[:] = request["sys_path"]
from thunder_controllers.bag import main
main(request)
"""


def read_joint_states(path: Path, joints: Sequence[str], topic: str, error: type[ThunderError]) -> NDArray[np.float64]:
    """Read stamps [s], positions and efforts of sensor_msgs/JointState, shape (N, 1 + 2·joints).

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
        return np.frombuffer(said).reshape(-1, 1 + 2 * len(joints))
    if status == _REFUSED:
        what, where, valid = json.loads(said)
        raise error(what, where=where, valid=valid)
    reason = f"its reading takes longer than {seconds} s" if status is None else f"its reading ended with {status}"
    raise error(f"no bag ({reason})", where=str(path), valid=VALID)


class RefusedError(Exception):
    """What is wrong, where, and what would be valid."""


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
    """Read the bag of a request without bounds.

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
    """Stamp, positions and efforts of each message."""
    topic, joints = request["topic"], request["joints"]
    found = [connection for connection in reader.connections if connection.topic == topic]
    if not found:
        raise RefusedError(f"no topic {topic}", path, listed(sorted(reader.topics)) or "a bag with messages")
    where = f"{path}: {topic}"
    for connection, _, data in reader.messages(found):
        message = reader.deserialize(data, connection.msgtype)
        try:
            order = order_of(message.name, joints, where, others=True)
        except NameNotFoundError as error:
            raise RefusedError(error.what, error.where, error.valid) from error
        if not len(message.position) == len(message.effort) == len(message.name):
            what = f"{len(message.position)} positions and {len(message.effort)} efforts of {len(message.name)} joints"
            raise RefusedError(what, where, "position and effort of every joint")
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        yield [stamp, *(message.position[k] for k in order), *(message.effort[k] for k in order)]
