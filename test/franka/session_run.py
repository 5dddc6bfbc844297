"""The host on a virtual FR3 by libfranka, with 0.5 kg that nobody tells it of: session_run.py SECONDS [OPTION…].

Options are those of `thunder franka-server`. Prints what it saw as JSON: errors after 20 s. Run with test and
test/franka in PYTHONPATH; not a test by itself.
"""

from __future__ import annotations

import json
import sys

from franka_session import ADAPTIVE, FIGURE, HIDDEN, compile_library
from test_host_on_a_franka import Driver
from torque_control import Motion, connect
from virtual_robot import VirtualRobot

SETTLED = 20.0
"""From here on errors count [s]."""

if __name__ == "__main__":
    seconds, options = float(sys.argv[1]), sys.argv[2:]
    library = compile_library()
    with VirtualRobot("--arm", "fr3", *HIDDEN, *options) as virtual, Motion(connect(virtual)) as motion:
        driver = Driver(library, ADAPTIVE[0], motion)
        driver.session.trace(FIGURE)
        driver.run(SETTLED)
        error = driver.run(seconds - SETTLED)
        seen = {"time [s]": motion.time, "mean [m]": error.mean(), "largest [m]": error.max()}
        seen |= {"payload [kg]": driver.payload.mass, "guards": str(driver.guards)}
        seen |= {"success rate": motion.state.control_command_success_rate}
        sys.stdout.write(json.dumps(seen, indent=1) + "\n")
        motion.finish()
