"""The simulation: a MuJoCo robot in real time or in lock-step, and in the same process the controller that moves it.

simulation --ros-args -p urdf:=arm.urdf -p library:=/path/to/arm_generatedFiles -p bringup:=true
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping
from typing import Any

from rclpy.node import Node

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.diagnostics import ERROR, OK, WARN, report_health
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.reading import SPELLED
from thunder_controllers.ros.common.runtime import fail, run
from thunder_controllers.ros.common.services import create_switch, create_trigger
from thunder_controllers.ros.controller.node import AdaptiveController
from thunder_controllers.ros.simulation.faults import FaultInjector
from thunder_controllers.ros.simulation.loop import SimulationLoop
from thunder_controllers.ros.simulation.options import payload_of, robot_options
from thunder_controllers.ros.simulation.sensors import Sensors
from thunder_controllers.simulation.robot import SimulatedRobot
from thunder_dynamics.errors import ChoiceWarning, spelled

CHECK_PERIOD = 0.1
"""Between two looks at whether the loop has ended by an error [s]."""

LATE_SHARE = 0.01
"""Share of late steps above which the status is a warning."""


class SimulationNode(Node):
    """Node `mujoco_simulation`; see `interfaces.yaml` for its topics, services and parameters.

    Raises:
        ThunderError: if a parameter is not valid, or the robot cannot be built.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(names.SIMULATION, **options)
        self._settings = DeclaredParameters(self, self._on_change)
        self._settings.declare(node_parameters("simulation", names.SIMULATION))
        with spelled(SPELLED), warnings.catch_warnings():
            warnings.simplefilter("ignore", ChoiceWarning)  # the generator says it
            self.robot = SimulatedRobot(robot_options(self._settings))
        if self._settings["payload.attached"]:
            self.robot.attach(payload_of(self._settings, self.robot.plant.ee_link))
        self._faults = FaultInjector()
        self.loop = SimulationLoop(self.robot, Sensors(self, self.robot, self._faults), self._settings)
        self._reported = (time.perf_counter(), 0, 0)
        self._create_interface()
        self.get_logger().info(
            f"{self._settings['urdf']}: {self.robot.n} joints at {self._settings['rate']:g} Hz, "
            f"{self._settings['mode']}" + (", held until the first command" if self.robot.is_held else "")
        )

    def _create_interface(self) -> None:
        report_health(self, self._status, topics=("~/status", names.DIAGNOSTICS))
        create_trigger(self, "~/reset", self._reset, "the robot is back at its start")
        create_trigger(self, "~/attach_payload", self._attach, "payload attached")
        create_trigger(self, "~/detach_payload", self._detach, "payload detached")
        create_switch(self, "~/pause", self._pause)
        create_switch(self, "~/inject_fault", self._inject_fault)
        self.create_timer(CHECK_PERIOD, self._check_loop)

    def destroy_node(self) -> None:
        """End the loop, then the node."""
        self.loop.end()
        super().destroy_node()

    # --- services and parameters -------------------------------------------------------------------------------

    def _on_change(self, values: Mapping[str, Any]) -> None:
        if "realtime_factor" in values:
            self.loop.realtime_factor = values["realtime_factor"]

    def _reset(self) -> None:
        with self.loop.lock:
            self.robot.reset()
            self._faults.stop()

    def _attach(self) -> None:
        payload = payload_of(self._settings, self.robot.plant.ee_link)
        with self.loop.lock:
            self.robot.attach(payload)

    def _detach(self) -> None:
        with self.loop.lock:
            self.robot.detach()

    def _pause(self, wanted: bool) -> str:
        self.loop.pause(wanted)
        return "paused" if wanted else "running"

    def _inject_fault(self, wanted: bool) -> str:
        kind, duration, offset = (self._settings[f"fault.{name}"] for name in ("kind", "duration", "clock_offset"))
        with self.loop.lock:
            if wanted:
                self._faults.start(kind, duration, offset, self.robot.time_ns)
            else:
                self._faults.stop()
        self.get_logger().info(f"fault: {self._faults.kind}")
        return self._faults.kind

    # --- health ------------------------------------------------------------------------------------------------

    def _check_loop(self) -> None:
        """End the process if the loop has ended by an error."""
        if self.loop.error is not None:
            fail(self, f"the simulation has ended: {self.loop.error}")

    def _status(self) -> tuple[bytes, str, dict[str, Any]]:
        now, steps, late = time.perf_counter(), self.loop.counters.steps, self.loop.counters.late_steps
        before, steps_before, late_before = self._reported
        self._reported = (now, steps, late)
        rate = (steps - steps_before) / (now - before)
        return *self._judge((late - late_before) / max(1, steps - steps_before)), self._values(rate)

    def _judge(self, late_share: float) -> tuple[bytes, str]:
        """Say how things are: the worst comes first."""
        if self.loop.error is not None:
            return ERROR, str(self.loop.error)
        if self.loop.is_paused:
            return WARN, "paused"
        if self._faults.kind != "none":
            return WARN, f"fault {self._faults.kind} is injected"
        if self.robot.is_held and self.loop.counters.brakes_engaged:
            return WARN, "the brakes hold the robot: commands have stopped"
        if self.robot.is_held:
            return OK, "held until the first command"
        if late_share > LATE_SHARE:
            return WARN, f"{100 * late_share:.1f} % of the steps were late"
        return OK, "running"

    def _values(self, rate: float) -> dict[str, Any]:
        counters, payload = self.loop.counters, self.robot.payload
        return {
            "mode": self._settings["mode"],
            "simulated time [s]": self.robot.time_ns * 1e-9,
            "rate kept [Hz]": rate,
            "real-time factor [1]": rate / self._settings["rate"],
            "steps": counters.steps,
            "late steps": counters.late_steps,
            "time given up [s]": counters.given_up,
            "brakes engaged": counters.brakes_engaged,
            "held": self.robot.is_held,
            "payload [kg]": payload.mass if payload else 0.0,
            "fault": self._faults.kind,
        }


def make_nodes() -> list[Node]:
    """Make the simulation and the controller of its arm; the first is the one to destroy last."""
    simulation = SimulationNode()
    controller = AdaptiveController(simulation.robot.joints, simulation.robot.options.period)
    simulation.loop.control = controller.step
    simulation.loop.start()
    return [controller, simulation]


def main() -> None:
    """Run both nodes as a program."""
    sys.exit(run(make_nodes, enclave="simulation"))


if __name__ == "__main__":
    main()
