"""The controller's guard for a Franka: mode, errors, contact, collision behaviour, load. Needs franka_msgs.

The robot compensates gravity and friction itself. It accepts settings only while it is idle, and takes torques only
in the mode `move`, that is while the effort controller is active. So the collision behaviour is set as soon as the
robot is seen idle, and activation waits for `move`.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Mapping
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from std_srvs.srv import Trigger

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.hot_subscription import HotSubscription
from thunder_controllers.ros.common.qos import SENSOR
from thunder_controllers.ros.common.robot_guard import GuardContext, RobotGuard
from thunder_controllers.ros.common.runtime import STEADY
from thunder_controllers.ros.franka.payload import (
    FlangePose,
    PayloadError,
    PayloadLimits,
    identified_payload,
)
from thunder_controllers.ros.franka.rules import CompensatedBodies, ContactLimits, ContactMonitor, mode_reason
from thunder_controllers.ros.franka.services import (
    SettingClient,
    collision_request,
    destroy_services,
    destroy_services_later,
    load_request,
)
from thunder_controllers.ros.franka.state import (
    N_JOINTS,
    Body,
    FrankaError,
    FrankaState,
    Mode,
    state_from_message,
)
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.inertia import N_PARAMETERS, Inertia, symmetric_from_six

PREFIX = "franka."
"""Of its parameters."""

RETRY_TIME = 1.0
"""Between two attempts to set the collision behaviour [s]."""

RESTART_GAP = 2.0
"""A robot that was silent for longer may have forgotten what was set [s]."""


class FrankaMessagesError(FrankaError):
    """franka_msgs is not installed."""


def import_franka_msgs() -> tuple[Any, Any]:
    """Import the modules franka_msgs.msg and franka_msgs.srv.

    Raises:
        FrankaMessagesError: if they are not there.
    """
    try:
        return importlib.import_module("franka_msgs.msg"), importlib.import_module("franka_msgs.srv")
    except ImportError as error:
        raise FrankaMessagesError(
            "franka_msgs cannot be imported",
            where="robot_interface franka",
            valid="source a workspace with franka_ros2 (branch jazzy), or set robot_interface to generic",
        ) from error


class FrankaGuard(RobotGuard):
    """Watches a Franka through franka_robot_state_broadcaster; see `RobotGuard` for the calls.

    Nothing waits: services are asked asynchronously, the state is looked at by a timer. `contact` and `fault` read what
    the timer left, so another thread may ask for them.

    Raises:
        ThunderError: if franka_msgs is not installed, a parameter is wrong, or the robot has not seven joints.
    """

    gravity_compensated = True

    def __init__(self, context: GuardContext) -> None:
        messages, services = import_franka_msgs()
        if context.library.n_joints != N_JOINTS:
            what = f"{context.library.robot} has {context.library.n_joints} joints"
            raise FrankaError(what, where="robot_interface franka", valid=f"a library of {N_JOINTS} joints")
        self._context = context
        self._node = node = context.node
        self._declared = node_parameters("franka", names.CONTROLLER)
        context.parameters.declare(self._declared)
        try:
            self._read_parameters()
        except ThunderError:
            context.parameters.undeclare(self._declared)
            raise
        self._state: FrankaState | None = None
        self._seen = -math.inf
        self._retry = -math.inf
        self._unreadable: str | None = None
        self._behavior_is_set = False
        self._behavior_error = "the robot has not been seen idle since this node was configured"
        # A message comes every millisecond and takes half of one to convert: the timer takes the newest, no more.
        self._states = HotSubscription(node, messages.FrankaRobotState, self._parameter("state_topic"), SENSOR)
        group = MutuallyExclusiveCallbackGroup()
        self._timer = node.create_timer(
            1.0 / float(self._parameter("state_rate")), self._look, callback_group=group, clock=STEADY
        )
        prefix, limit = self._parameter("service_node") + "/", float(self._parameter("service_timeout"))
        self._load = SettingClient(node, services.SetLoad, prefix + "set_load", limit)
        self._behavior = SettingClient(
            node, services.SetFullCollisionBehavior, prefix + "set_full_collision_behavior", limit
        )
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
        destroy = destroy_services_later if self._load.is_busy else destroy_services
        for client in (self._load, self._behavior):
            client.close()
        destroy(self._node, self._services)
        self._context.parameters.undeclare(self._declared)

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
            self._request_behavior()

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
        difference = self._bodies.difference(state)
        if difference is None:
            return None
        for estimate in self._context.estimates():
            is_last = estimate.link == self._last_link
            if is_last and not self._bodies.is_nominal(estimate.pi, self._nominal()):
                return f"{difference}, and the estimates differ from the model too; call ~/reset_estimates"
        return None

    # --- settings ----------------------------------------------------------------------------------------------------

    def _request_behavior(self) -> None:
        torque, force = self._parameter("collision_torque"), self._parameter("collision_force")
        self._behavior.request(lambda request: collision_request(request, torque, force), self._behavior_answered)

    def _behavior_answered(self, error: str | None) -> None:
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
            return _answer(response, str(error))
        load = self._modelled_load + payload  # SetLoad replaces what was set before, it does not add
        done = f"load of {load.mass:.4g} kg set; adaptation is held while the model does not contain it"
        return _answer(response, await self._set_load(load), f"{done}; call ~/reset_estimates before activation")

    async def _reset_payload(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        load = self._modelled_load
        return _answer(response, await self._set_load(load), f"load of {load.mass:.4g} kg set, as in the model")

    async def _set_load(self, load: Inertia) -> str | None:
        """Set the robot's load; the reason why it was not set, or None."""
        state = self._fresh_state()
        if state is None:
            return self._silence()
        if state.mode is not Mode.IDLE:
            return f"the robot is in mode {state.mode.text}; it accepts a load only while idle"
        return await self._load.ask(lambda request: load_request(request, load))

    def _payload(self) -> Inertia:
        """Identify the payload of the last link from the estimates.

        Raises:
            PayloadError: if the last link is not adapted, or its estimates are no payload.
        """
        for estimate in self._context.estimates():
            if estimate.link == self._last_link:
                return identified_payload(estimate.pi, self._nominal(), self._flange, self._payload_limits)
        adapted = ", ".join(estimate.link for estimate in self._context.estimates()) or "none"
        raise PayloadError(
            f"the link {self._last_link} is not adapted",
            where="adapted links",
            valid=f"its name among them; now {adapted}",
        )

    def _nominal(self) -> Any:
        return self._context.library.pi[-N_PARAMETERS:]

    @property
    def _last_link(self) -> str:
        return self._context.library.link_names[-1]

    # --- parameters --------------------------------------------------------------------------------------------------

    def _parameter(self, name: str) -> Any:
        return self._context.parameters[PREFIX + name]

    def _read_parameters(self) -> None:
        get = self._parameter
        self._state_timeout = float(get("state_timeout"))
        limits = ContactLimits(get("contact_torque"), get("contact_release"), get("contact_release_time"))
        self._contact = ContactMonitor(limits)
        self._modelled_load = _modelled_load(get)
        self._bodies = CompensatedBodies(
            Body(get("modelled_load.mass"), get("modelled_load.com")),
            Body(get("modelled_end_effector.mass"), get("modelled_end_effector.com")),
            get("load_tolerance.mass"),
            get("load_tolerance.first_moment"),
        )
        self._flange = FlangePose.from_values(get("flange.xyz"), get("flange.rpy"))
        names = ("smallest_mass", "largest_mass", "largest_distance")
        self._payload_limits = PayloadLimits(*(get(f"payload_limits.{name}") for name in names))


def _modelled_load(get: Any) -> Inertia:
    tensor = symmetric_from_six(get("modelled_load.inertia"))
    body = Inertia(get("modelled_load.mass"), get("modelled_load.com"), tensor)  # type: ignore[arg-type]
    body.check_consistent(f"{PREFIX}modelled_load")
    return body


def _answer(response: Trigger.Response, error: str | None, success: str = "") -> Trigger.Response:
    response.success = error is None
    response.message = success if error is None else error
    return response
