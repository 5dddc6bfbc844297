"""The controller's guard for a Franka: mode, errors, contact, collision behaviour, load. Needs franka_msgs.

The robot compensates gravity and friction itself. It accepts settings only while it is idle, and takes torques only
in the mode `move`, that is while the effort controller is active. So the collision behaviour is set as soon as the
robot is seen idle, and activation waits for `move`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

from thunder_controllers.host import Library
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.hot_subscription import HotSubscription
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.qos import SENSOR
from thunder_controllers.ros.common.robot_guard import Estimates, RobotGuard
from thunder_controllers.ros.common.runtime import STEADY
from thunder_controllers.ros.franka.payload import PayloadError, identified_payload
from thunder_controllers.ros.franka.rules import CompensatedBodies, ContactMonitor, mode_reason
from thunder_controllers.ros.franka.services import (
    SettingClient,
    collision_request,
    destroy_services,
    import_franka_msgs,
    load_request,
)
from thunder_controllers.ros.franka.state import N_JOINTS, Body, FrankaError, FrankaState, Mode, state_from_message
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.inertia import N_PARAMETERS, Inertia, symmetric_from_six

RETRY_TIME = 1.0
"""Between two attempts to set the collision behaviour [s]."""

RESTART_GAP = 2.0
"""A robot that was silent for longer may have forgotten what was set [s]."""


class FrankaGuard(RobotGuard):
    """Watches a Franka through franka_robot_state_broadcaster; see `RobotGuard` for the calls.

    Nothing waits: services are asked asynchronously, the state is looked at by a timer. `contact` and `fault` read what
    the timer left, so another thread may ask for them.

    Args:
        node: The controller node, for subscriptions, clients, services and its logger.
        parameters: Through which the guard declares parameters of its own.
        library: The compiled robot.
        estimates: Gives the current estimates of the adapted links.

    Raises:
        ThunderError: if franka_msgs is not installed, a parameter is wrong, or the robot has not seven joints.
    """

    gravity_compensated = True

    def __init__(self, node: Node, parameters: DeclaredParameters, library: Library, estimates: Estimates) -> None:
        messages, services = import_franka_msgs("robot_interface franka", "set robot_interface to generic")
        if library.n_joints != N_JOINTS:
            what = f"{library.robot} has {library.n_joints} joints"
            raise FrankaError(what, where="robot_interface franka", valid=f"a library of {N_JOINTS} joints")
        self._node, self._parameters, self._estimates = node, parameters, estimates
        self._declared = node_parameters("franka", names.CONTROLLER)
        parameters.declare(self._declared)
        try:
            self._read_parameters()
        except ThunderError:
            parameters.undeclare(self._declared)
            raise
        self._last_link: str = library.link_names[-1]
        self._nominal = library.pi[-N_PARAMETERS:]
        self._state: FrankaState | None = None
        self._seen = -math.inf
        self._retry = -math.inf
        self._unreadable: str | None = None
        self._behavior_is_set = False
        self._behavior_error = "the robot has not been seen idle since this node was configured"
        # A message comes every millisecond and takes half of one to convert: the timer takes the newest, no more.
        self._states = HotSubscription(node, messages.FrankaRobotState, self._parameter("state_topic"), SENSOR)
        group, period = MutuallyExclusiveCallbackGroup(), 1.0 / self._parameter("state_rate")
        self._timer = node.create_timer(period, self._look, callback_group=group, clock=STEADY)
        robot, limit = self._parameter("service_node"), self._parameter("service_timeout")
        self._load = SettingClient(node, services.SetLoad, f"{robot}/set_load", limit)
        name = f"{robot}/set_full_collision_behavior"
        self._behavior = SettingClient(node, services.SetFullCollisionBehavior, name, limit)
        # A group of their own: while one awaits the robot's answer, everything else of the node goes on.
        asking = MutuallyExclusiveCallbackGroup()
        self._services = [
            node.create_service(Trigger, "~/hand_over_payload", self._hand_over_payload, callback_group=asking),
            node.create_service(Trigger, "~/reset_payload", self._reset_payload, callback_group=asking),
        ]

    # --- what the controller asks ------------------------------------------------------------------------------------

    def before_activation(self) -> None:
        """Look at the newest state; everything else has been under way since the node was configured."""
        self._look()

    def check_activation(self) -> str | None:
        """Say why the robot must not be activated now, None if it may."""
        state = self._fresh_state()
        if state is None:
            return self._silence()
        return mode_reason(state) or self._behavior_reason() or self._doubled_load(state)

    @property
    def contact(self) -> bool:
        """Whether nothing may be learned: contact, a load that the model lacks, or no state."""
        return self._freeze_reason() is not None

    @property
    def fault(self) -> str | None:
        """Why the controller must stop: an error, or a mode in which the robot takes no torques."""
        state = self._state
        return None if state is None else mode_reason(state)

    def diagnostics(self) -> Mapping[str, str]:
        """Report mode, errors, external torque, and why nothing is learned."""
        state = self._fresh_state()
        report = {
            "franka adaptation held": self._freeze_reason() or "no",
            "franka collision behaviour": self._behavior_reason() or "set",
        }
        if state is not None:
            torque = ", ".join(f"{value:.2f}" for value in state.external_torque)
            report |= {
                "franka mode": state.mode.text,
                "franka errors": ", ".join(state.errors) or "none",
                "franka external torque [N·m]": torque,
                "franka load [kg]": f"{state.load.mass:g}",
            }
        return report

    def close(self) -> None:
        """Destroy timer, subscription, clients and services, and undeclare the parameters."""
        self._node.destroy_timer(self._timer)
        self._states.close()
        is_answering = self._load.is_busy
        for client in (self._load, self._behavior):
            client.close()
        destroy_services(self._node, self._services, is_answering)
        self._parameters.undeclare(self._declared)

    # --- state -------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Take the newest state; set the collision behaviour once the robot is idle."""
        message = self._states.take()
        if message is None:
            return
        now = time.monotonic()
        try:
            state = state_from_message(message)
        except ThunderError as error:
            self._unreadable = str(error)
            return
        self._contact.update(now, state)
        if now - self._seen > RESTART_GAP and self._behavior_is_set:
            self._behavior_is_set, self._behavior_error = False, "the robot was silent and may have been restarted"
        self._state, self._seen, self._unreadable = state, now, None
        wanted = state.mode is Mode.IDLE and not self._behavior_is_set
        if wanted and now >= self._retry and not self._behavior.is_busy:
            self._retry = now + RETRY_TIME
            torque, force = self._parameter("collision_torque"), self._parameter("collision_force")
            outcome = self._behavior.request(lambda request: collision_request(request, torque, force))
            outcome.add_done_callback(self._behavior_answered)

    def _fresh_state(self) -> FrankaState | None:
        return self._state if time.monotonic() - self._seen <= self._state_timeout else None

    def _silence(self) -> str:
        if self._unreadable is not None:
            return self._unreadable
        topic = self._node.resolve_topic_name(self._parameter("state_topic"))
        return f"no state on {topic} within {self._state_timeout:g} s; is franka_robot_state_broadcaster active?"

    def _freeze_reason(self) -> str | None:
        state = self._fresh_state()
        if state is None:
            return "no state of the robot"
        if self._contact.active:
            return "contact"
        return self._bodies.difference(state)

    def _doubled_load(self, state: FrankaState) -> str | None:
        """Say whether the robot and the estimates both hold up a load."""
        difference, estimate = self._bodies.difference(state), self._estimate()
        if difference is None or estimate is None or self._bodies.is_nominal(estimate, self._nominal):
            return None
        return f"{difference}, and the estimates differ from the model too; call ~/reset_estimates"

    def _estimate(self) -> Any:
        """Estimate of the last link, REG order, shape (10,); None if it is not adapted."""
        return next((estimate.pi for estimate in self._estimates() if estimate.link == self._last_link), None)

    # --- settings ----------------------------------------------------------------------------------------------------

    def _behavior_answered(self, outcome: Future) -> None:
        error = outcome.result()
        if error == self._behavior_error:
            return
        self._behavior_is_set, self._behavior_error = error is None, error or ""
        if error is None:
            self._node.get_logger().info("collision behaviour set")
        else:
            self._node.get_logger().warning(f"collision behaviour not set: {error}")

    def _behavior_reason(self) -> str | None:
        if self._behavior_is_set:
            return None
        return f"collision behaviour not set: {self._behavior_error}; deactivate the effort controller for a moment"

    async def _hand_over_payload(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            payload = self._payload()
        except ThunderError as error:
            response.message = str(error)
            return response
        load = self._modelled_load + payload  # SetLoad replaces what was set before, it does not add
        done = f"load of {load.mass:.4g} kg set; adaptation is held while the model does not contain it"
        return await self._set_load(load, response, f"{done}; call ~/reset_estimates before activation")

    async def _reset_payload(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        load = self._modelled_load
        return await self._set_load(load, response, f"load of {load.mass:.4g} kg set, as in the model")

    async def _set_load(self, load: Inertia, response: Trigger.Response, done: str) -> Trigger.Response:
        """Set the robot's load, and answer `done`, or the reason why it was not set."""
        state = self._fresh_state()
        if state is None:
            error: str | None = self._silence()
        elif state.mode is not Mode.IDLE:
            error = f"the robot is in mode {state.mode.text}; it accepts a load only while idle"
        else:
            error = await self._load.request(lambda request: load_request(request, load))
        response.success, response.message = error is None, error or done
        return response

    def _payload(self) -> Inertia:
        """Identify the payload of the last link from the estimates.

        Raises:
            PayloadError: if the last link is not adapted, or its estimates are no payload.
        """
        estimate = self._estimate()
        if estimate is None:
            adapted = ", ".join(estimate.link for estimate in self._estimates()) or "none"
            what, valid = f"the link {self._last_link} is not adapted", f"its name among them; now {adapted}"
            raise PayloadError(what, where="adapted links", valid=valid)
        return self._identified_payload(estimate, self._nominal)

    # --- parameters --------------------------------------------------------------------------------------------------

    def _parameter(self, name: str) -> Any:
        return self._parameters[f"franka.{name}"]

    def _read_parameters(self) -> None:
        get = self._parameter
        self._state_timeout = float(get("state_timeout"))
        self._contact = ContactMonitor(get("contact_torque"), get("contact_release"), get("contact_release_time"))
        mass, com = get("modelled_load.mass"), get("modelled_load.com")
        self._modelled_load = Inertia(mass, np.array(com), np.array(symmetric_from_six(get("modelled_load.inertia"))))
        self._modelled_load.check_consistent("franka.modelled_load")
        self._bodies = CompensatedBodies(
            Body(mass, com),
            Body(get("modelled_end_effector.mass"), get("modelled_end_effector.com")),
            get("load_tolerance.mass"),
            get("load_tolerance.first_moment"),
        )
        self._identified_payload = partial(
            identified_payload,
            xyz=get("flange.xyz"),
            rpy=get("flange.rpy"),
            smallest_mass=get("payload_limits.smallest_mass"),
            largest_mass=get("payload_limits.largest_mass"),
            largest_distance=get("payload_limits.largest_distance"),
        )
