"""What the arm picks up and puts down is a message each, and whoever comes later gets the last one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from controller_robot import NODE, TestRobot
from geometry_msgs.msg import InertiaStamped
from picking_arm import BODY, KNOWN, LINK, MOTION, RAMP_TIME, WARM, PickingArm, build_library
from std_srvs.srv import Trigger

from thunder_controllers.host import Configuration, Library
from thunder_controllers.ros.common.qos import LATCHED

TOPIC = f"{NODE}/picked_up"

INERTIA = 3e-3
"""What is found of an inertia so soon [kg·m²], where one link adapts; about the frame's origin it is 6e-3 more."""


@pytest.fixture(scope="module", params=[(), ("link2", LINK)])
def library(build_cache: Path, request: pytest.FixtureRequest) -> Library:
    return build_library(*request.param)


@pytest.fixture(scope="module")
def parameters() -> dict[str, Any]:
    """The motion, and gains of the arm of the test, whose drives give what they are told."""
    certain = dict.fromkeys(("gains.drive_gain_std", "gains.effort_offset_std"), [0.0, 0.0, 0.0])
    return {**{f"joint_lissajous.{name}": value for name, value in MOTION.items()}, "ramp_time": RAMP_TIME, **certain}


def test_each_body_is_one_message_and_the_last_one_stays(robot: TestRobot, library: Library) -> None:
    arm, probe, links = PickingArm(), robot.probe, len(Configuration(library).links)
    robot.q, robot.qd = arm.q, arm.qd
    robot.activate()
    assert probe.call(Trigger, f"{NODE}/start").success
    with (
        probe.listening(InertiaStamped, TOPIC, LATCHED) as bodies,
        probe.listening(InertiaStamped, f"{NODE}/estimates/{LINK}") as published,
    ):

        def move(seconds: float) -> None:
            arm.move(seconds, robot.step)
            published.wait_new(3)

        move(WARM)
        assert not bodies.messages
        for count, sign, change in ((1, 1.0, arm.pick_up), (2, -1.0, arm.put_down)):
            change()
            move(0.5)
            assert len(bodies) == count - 1, "it is not known yet what it is"
            move(KNOWN)
            assert len(bodies) == count
            mass, deviation = map(float, robot.report()["picked up [kg]"].split(" ± "))
            inertia = bodies.latest.inertia
            assert bodies.latest.header.frame_id == LINK and deviation > 0.0
            assert abs(inertia.m - sign * BODY.mass) < 4.0 * deviation
            assert abs(inertia.m - mass) < 2.0 * deviation
            if links == 1:  # motion in a plane tells masses of two links from each other by and by
                assert deviation < 0.01
                np.testing.assert_allclose([inertia.com.x, inertia.com.y], BODY.com[:2], atol=0.01)
                assert inertia.izz == pytest.approx(sign * BODY.inertia[-1], abs=INERTIA)
        with probe.listening(InertiaStamped, TOPIC, LATCHED) as later:
            assert later.wait() == bodies.latest
