"""What runs before the ros2_control plugin is spawned, as real processes over DDS."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from nodes import NodeProcess, Probe
from std_msgs.msg import String

from thunder_controllers.host import Library
from thunder_controllers.resources import share
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.library_message import describe_folder, format_library_message
from thunder_controllers.ros.common.qos import LATCHED
from thunder_dynamics import build, load_model

NODE = "bringup.wait_for_library"
Start = Callable[..., NodeProcess]


@pytest.fixture(scope="module")
def library() -> Library:
    return Library(build(load_model(share("config/robots/planar3r.yaml"))))


@pytest.fixture
def announce(probe: Probe) -> Any:
    """Say on the latched topic, in a namespace, where a library is."""
    with ExitStack() as stack:

        def say(text: str, namespace: str = "") -> None:
            topic = f"{namespace}/{names.GENERATOR}/library"
            stack.enter_context(probe.advertising(String, topic, LATCHED)).publish(String(data=text))

        yield say


def test_the_controller_is_given_the_library_in_any_namespace(
    start: Start, announce: Any, library: Library, tmp_path: Path
) -> None:
    file = tmp_path / "library.yaml"
    node = start(NODE, {"file": str(file), "controller": "c"}, namespace="/arm")
    announce(format_library_message(describe_folder(Path(library.path).parent)), "/arm")
    assert node.wait() == 0, node.output
    assert yaml.safe_load(file.read_text()) == {"/**/c": {"ros__parameters": {"library": library.path}}}


def test_without_a_library_in_time_there_is_no_file(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "library.yaml"
    node = start(NODE, {"file": str(file), "timeout": 1.0})
    assert node.wait() == 1
    assert "still waiting for a library after 1 s" in node.output
    assert not file.exists()


def test_a_file_that_cannot_be_written_is_named(start: Start, announce: Any, library: Library, tmp_path: Path) -> None:
    node = start(NODE, {"file": str(tmp_path / "none/library.yaml")})
    announce(format_library_message(describe_folder(Path(library.path).parent)))
    assert node.wait() == 1
    assert "none/library.yaml" in node.output


def test_there_must_be_a_file_to_write(start: Start) -> None:
    node = start(NODE, {})
    assert node.wait() == 1
    assert "file: no file to write" in node.output
