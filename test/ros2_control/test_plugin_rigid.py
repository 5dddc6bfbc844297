"""The plugin places targets and takes their tool off as the node does, whose results are compared with motions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from host_programs import REPOSITORY, compile_program
from scipy.spatial.transform import Rotation

from thunder_controllers.host import TimedPose
from thunder_controllers.ros.controller.frames import Rigid, end_effector_of, placed

pytestmark = pytest.mark.slow


def test_a_point_of_a_tool_in_a_frame_is_that_of_the_node(build_cache: Path) -> None:
    plugin = REPOSITORY / "thunder_controllers/ros2_control/plugin"
    program = compile_program("plugin_rigid", build_cache, "-O1", f"-I{plugin}")
    random = np.random.default_rng(5)
    for _ in range(20):
        frame, tool = (Rigid(random.normal(size=3), Rotation.random(random_state=random)) for _ in range(2))
        position, turn, rates = random.normal(size=3), Rotation.random(random_state=random), random.normal(size=(2, 6))
        point = TimedPose(0.0, position, turn.as_quat(), *rates)
        node = end_effector_of(tool, placed(frame, point))
        places = ((frame.translation, frame.rotation), (tool.translation, tool.rotation), (position, turn))
        given = [number for where, how in places for number in (*where, *how.as_quat())] + rates.ravel().tolist()
        text = " ".join(map(repr, map(float, given)))
        done = subprocess.run([program], input=text, capture_output=True, text=True, check=True, timeout=60)
        found = np.array(done.stdout.split(), dtype=float)
        np.testing.assert_allclose(found[:3], node.position, rtol=0, atol=1e-14)
        assert abs(found[3:7] @ node.orientation) == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(found[7:], np.concatenate((node.twist, node.acceleration)), rtol=0, atol=1e-13)
