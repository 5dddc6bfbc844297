"""What the controller is started with: a file that it cannot use is named when it is configured."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from controller_robot import NODE, build_panda
from nodes import NodeProcess, Probe

from thunder_controllers.host import Library


@pytest.fixture(scope="module")
def library() -> Library:
    return build_panda()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"library": ""}, "no library was announced within 0 s"),
        ({"library": "/nowhere/libpanda.so"}, "/nowhere/libpanda.so: there is no such file"),
        ({"library": "package://thunder_controllers/config"}, "SHA256SUMS: there is no such file"),
        ({"library": "package://none/lib.so"}, "no package 'none'"),
        ({"robot": "ur5"}, "the library is of robot 'panda'"),
        ({"estimates_file": "/nowhere/estimates.yaml"}, "cannot be read"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(
    start_node: Callable[..., NodeProcess], probe: Probe, library: Library, given: dict[str, str], reason: str
) -> None:
    controller = start_node("controller", {"library": library.path, "library_timeout": 0.0, **given})
    assert not probe.transition(NODE, "configure")
    controller.wait_for_output(reason)
    assert probe.state(NODE) == "unconfigured"
