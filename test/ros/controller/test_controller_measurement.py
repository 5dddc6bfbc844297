"""joint_states messages: the verdict on each kind, and whose values are taken over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from thunder_controllers.ros.controller.measurement import JointStateReader, Verdict

JOINTS = ("a", "b", "c")
PERIOD, TIMEOUT = 0.001, 0.01


def message(stamp: float, **changes: Any) -> JointState:
    fields = {"name": list(JOINTS), "position": [1.0, 2.0, 3.0], "velocity": [4.0, 5.0, 6.0], **changes}
    result = JointState(**fields)
    nanoseconds = round(stamp * 1e9)
    result.header.stamp.sec, result.header.stamp.nanosec = divmod(nanoseconds, 10**9)
    return result


@pytest.fixture
def reader() -> JointStateReader:
    reader = JointStateReader(JOINTS, PERIOD, TIMEOUT)
    assert reader.read(message(100.0)) is Verdict.GOOD
    return reader


@pytest.mark.parametrize(
    ("advance", "verdict", "dt"),
    [
        (0.001, Verdict.GOOD, 0.001),
        (0.01, Verdict.GOOD, 0.01),
        (0.010001, Verdict.GAP, PERIOD),
        (0.0, Verdict.DUPLICATE, PERIOD),
        (-0.01, Verdict.OVERTAKEN, PERIOD),
        (-0.010001, Verdict.CLOCK_RESTARTED, PERIOD),
        (-100.0, Verdict.CLOCK_RESTARTED, PERIOD),
    ],
)
def test_the_stamp_decides(reader: JointStateReader, advance: float, verdict: Verdict, dt: float) -> None:
    assert reader.read(message(100.0 + advance, position=[7.0, 8.0, 9.0])) is verdict
    assert reader.dt == pytest.approx(dt, abs=1e-12)
    is_ignored = verdict in (Verdict.DUPLICATE, Verdict.OVERTAKEN)
    assert reader.q[0] == (1.0 if is_ignored else 7.0)
    assert reader.time == pytest.approx(0.0 if is_ignored else advance, abs=1e-12)


def test_names_may_have_any_order_and_company(reader: JointStateReader) -> None:
    other = message(100.001, name=["c", "x", "a", "b"], position=[3.0, 0.0, 1.0, 2.0], velocity=[6.0, 0.0, 4.0, 5.0])
    assert reader.read(other) is Verdict.GOOD
    assert reader.q.tolist() == [1.0, 2.0, 3.0] and reader.qd.tolist() == [4.0, 5.0, 6.0]


@pytest.mark.parametrize(("names", "missing"), [(["a", "b", "d"], ("c",)), (["a", "a", "b", "c"], ("a",))])
def test_missing_and_doubled_joints_are_named(
    reader: JointStateReader, names: list[str], missing: tuple[str, ...]
) -> None:
    values = np.zeros(len(names)).tolist()
    assert reader.read(message(100.001, name=names, position=values, velocity=values)) is Verdict.WRONG_NAMES
    assert reader.missing == missing
    assert reader.read(message(100.001)) is Verdict.GOOD


@pytest.mark.parametrize("names", [[], ["finger"], ["x", "y", "z"]])
def test_a_message_of_other_joints_changes_nothing(reader: JointStateReader, names: list[str]) -> None:
    values = np.full(len(names), 9.0).tolist()
    assert reader.read(message(7.0, name=names, position=values, velocity=values)) is Verdict.FOREIGN
    assert reader.q.tolist() == [1.0, 2.0, 3.0] and reader.time == 0.0 and reader.missing == ()
    assert reader.read(message(100.001)) is Verdict.GOOD


def test_the_joints_that_only_other_messages_lack_are_named() -> None:
    reader = JointStateReader(JOINTS, PERIOD, TIMEOUT)
    assert reader.read(message(1.0, name=["x", "y", "z"])) is Verdict.FOREIGN
    assert reader.missing == JOINTS


def test_an_impossible_stamp_changes_nothing(reader: JointStateReader) -> None:
    wrong = message(100.0, position=[7.0, 8.0, 9.0])
    wrong.header.stamp.nanosec = 10**9
    assert reader.read(wrong) is Verdict.WRONG_STAMP
    assert reader.q.tolist() == [1.0, 2.0, 3.0] and reader.time == 0.0


@pytest.mark.parametrize("changes", [{"position": [1.0]}, {"velocity": []}, {"velocity": [1.0] * 4}])
def test_wrong_sizes_change_nothing(reader: JointStateReader, changes: dict[str, Any]) -> None:
    assert reader.read(message(100.001, **changes)) is Verdict.WRONG_SIZE
    assert reader.q.tolist() == [1.0, 2.0, 3.0] and reader.time == 0.0
