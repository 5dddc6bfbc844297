"""A run as CSV and as a bag of ROS 2 in MCAP: for PlotJuggler, Foxglove, spreadsheets, and `thunder identify`."""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from thunder_controllers.fields import FloatArray
from thunder_controllers.host import about_com, estimate_topics
from thunder_controllers.references.trajectories import POSITION, ROTATION
from thunder_controllers.simulation.trace import Frames, Trace
from thunder_dynamics.errors import MissingLibraryError
from thunder_dynamics.storage.whole import sync, write_text

CONTROLLER = "/adaptive_controller"
"""What the topics of a controller begin with, as those of the nodes do."""

MONITOR_RATE = 100.0
"""Of all topics but `/joint_states` and `/tf` [Hz], as in the nodes."""

WORLD = "world"


def write_csv(trace: Trace, path: Path) -> None:
    """Write a row per control step, with the columns of `Trace.columns`."""
    columns = trace.columns()
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(np.column_stack(list(columns.values())).tolist())
    write_text(path, text.getvalue())


def write_bag(trace: Trace, frames: Frames, folder: Path) -> None:
    """Write the folder of a bag in MCAP, with the topics and messages that the nodes have.

    `/joint_states` as measured, with `Trace.held_effort`; of `/adaptive_controller`: `pose`, `reference_pose` and
    `pose_error`, or `joint_error`, and `estimates/<link>`, with the inertia about the CoM; `/tf`, the arm.

    Raises:
        MissingLibraryError: if rosbags is not installed.
    """
    check_library()
    from rosbags.rosbag2 import StoragePlugin, Writer

    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as temporary:
        made = Path(temporary) / folder.name
        messages = _Messages()
        with Writer(made, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            connections: dict[str, Any] = {}
            stamped = [item for stream in messages.streams(trace, frames) for item in stream]
            for t, topic, message in sorted(stamped, key=lambda item: item[0]):
                kind = message.__msgtype__
                if topic not in connections:
                    connections[topic] = writer.add_connection(topic, kind, typestore=messages.store)
                writer.write(connections[topic], t, bytes(messages.store.serialize_cdr(message, kind)))
        if folder.exists():
            shutil.rmtree(folder)
        for path in (*made.iterdir(), made):
            sync(path)
        made.rename(folder)
    sync(folder.parent)


def check_library() -> None:
    """Raise `MissingLibraryError` unless `write_bag` has the library that it needs."""
    try:
        import rosbags.rosbag2  # noqa: F401
    except ImportError as error:
        raise MissingLibraryError("rosbags") from error


Stamped = Iterator[tuple[int, str, Any]]
"""Time [ns], topic and message."""


class _Messages:
    """Messages of ROS 2 from traces, without ROS."""

    def __init__(self) -> None:
        from rosbags.typesys import Stores, get_typestore

        self.store = get_typestore(Stores.ROS2_JAZZY)

    def make(self, kind: str, *fields: Any) -> Any:
        package, name = kind.split("/")
        return self.store.types[f"{package}/msg/{name}"](*fields)

    def header(self, t: int, frame: str) -> Any:
        stamp = self.make("builtin_interfaces/Time", t // 10**9, t % 10**9)
        return self.make("std_msgs/Header", stamp, frame)

    def vector(self, values: Any, kind: str = "geometry_msgs/Vector3") -> Any:
        return self.make(kind, *map(float, values))

    def joints(self, t: int, names: list[str], *values: FloatArray) -> Any:
        return self.make("sensor_msgs/JointState", self.header(t, ""), names, *values)

    def pose(self, t: int, position: FloatArray, quaternion: FloatArray) -> Any:
        place = self.vector(position, "geometry_msgs/Point")
        turn = self.vector(quaternion, "geometry_msgs/Quaternion")
        pose = self.make("geometry_msgs/Pose", place, turn)
        return self.make("geometry_msgs/PoseStamped", self.header(t, WORLD), pose)

    def streams(self, trace: Trace, frames: Frames) -> list[Stamped]:
        """All topics of a run."""
        seldom = np.arange(0, len(trace.t), max(round(1.0 / (MONITOR_RATE * trace.step)), 1))
        errors = self.pose_errors(trace, seldom) if trace.is_cartesian else self.joint_errors(trace, seldom)
        return [self.joint_states(trace), errors, self.estimates(trace, seldom), self.transforms(frames)]

    def joint_states(self, trace: Trace) -> Stamped:
        names, held = trace.joint_names.tolist(), trace.held_effort()
        for t, *rows in zip(_nanoseconds(trace.t), trace.q_measured, trace.qd_measured, held, strict=True):
            yield t, "/joint_states", self.joints(t, names, *rows)

    def joint_errors(self, trace: Trace, steps: NDArray[np.int64]) -> Stamped:
        names, n = trace.joint_names.tolist(), trace.q.shape[1]
        speeds = trace.reference[:, n : 2 * n] - trace.qd
        for t, k in zip(_nanoseconds(trace.t[steps]), steps, strict=True):
            yield t, f"{CONTROLLER}/joint_error", self.joints(t, names, trace.error[k], speeds[k], np.zeros(0))

    def pose_errors(self, trace: Trace, steps: NDArray[np.int64]) -> Stamped:
        desired = trace.reference[steps][:, ROTATION].reshape(-1, 3, 3).transpose(0, 2, 1)
        wanted, turned = Rotation.from_matrix(desired), Rotation.from_matrix(trace.rotation[steps])
        missing = (wanted * turned.inv()).as_quat(canonical=True)
        quaternions = wanted.as_quat(), turned.as_quat(), missing
        for t, k, q_d, q, q_e in zip(_nanoseconds(trace.t[steps]), steps, *quaternions, strict=True):
            yield t, f"{CONTROLLER}/pose", self.pose(t, trace.position[k], q)
            yield t, f"{CONTROLLER}/reference_pose", self.pose(t, trace.reference[k, POSITION], q_d)
            yield t, f"{CONTROLLER}/pose_error", self.pose(t, trace.error[k, :3], q_e)

    def estimates(self, trace: Trace, steps: NDArray[np.int64]) -> Stamped:
        links = trace.adapted_links.tolist()
        for index, (link, name) in enumerate(zip(links, estimate_topics(links), strict=True)):
            topic = f"{CONTROLLER}/{name}"
            for t, pi in zip(_nanoseconds(trace.t[steps]), trace.estimates[steps, index], strict=True):
                if pi[0] > 0.0:  # without mass there is no centre
                    m, *c_and_I = about_com(pi).tolist()
                    inertia = self.make("geometry_msgs/Inertia", m, self.vector(c_and_I[:3]), *c_and_I[3:])
                    yield t, topic, self.make("geometry_msgs/InertiaStamped", self.header(t, link), inertia)

    def transforms(self, frames: Frames) -> Stamped:
        """Each frame in its parent's, so that viewers draw lines along the arm."""
        names = frames.names.tolist()
        for t, position, rotation in zip(_nanoseconds(frames.t), frames.position, frames.rotation, strict=True):
            poses = []
            for child, parent in enumerate(frames.parents.tolist()):
                place, turn, name = position[child], rotation[child], WORLD
                if parent >= 0:
                    back, name = rotation[parent].T, names[parent]
                    place, turn = back @ (place - position[parent]), back @ turn
                quaternion = self.vector(Rotation.from_matrix(turn).as_quat(), "geometry_msgs/Quaternion")
                transform = self.make("geometry_msgs/Transform", self.vector(place), quaternion)
                header = self.header(t, name)
                poses.append(self.make("geometry_msgs/TransformStamped", header, names[child], transform))
            yield t, "/tf", self.make("tf2_msgs/TFMessage", poses)


def _nanoseconds(t: FloatArray) -> list[int]:
    return [int(value) for value in np.rint(t * 1e9)]
