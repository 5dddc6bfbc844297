"""The controller beside the simulation: a lifecycle node that runs any law of a compiled library.

unconfigured –configure→ inactive: library loaded, gains declared, the arm measured, nothing commanded
inactive –activate→ active: efforts for every measurement
active –deactivate→ inactive: the effort is ramped to the safe one first, as in every other way out of active
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from lifecycle_msgs.srv import ChangeState
from numpy.typing import NDArray
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from thunder_controllers.host import HealthReporter, Library, save_estimates
from thunder_controllers.package_uri import resolve
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.announced import on_library
from thunder_controllers.ros.common.declarations import controller_parameters
from thunder_controllers.ros.common.diagnostics import report_health
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.runtime import STEADY, fail
from thunder_controllers.ros.common.services import create_switch, create_trigger
from thunder_controllers.ros.controller.configuration import ConfigurationError, load_configuration, make_folder
from thunder_controllers.ros.controller.session import STOP_LIMIT, Session
from thunder_dynamics.errors import ThunderError

FloatArray = NDArray[np.float64]

SUPERVISION_PERIOD = 0.05
"""How often is looked for a library to come up with, and for a fault [s]."""

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class AdaptiveController(LifecycleNode):
    """The controller node; see interfaces.yaml for its topics and services.

    Args:
        joints: Of the arm, in its own order.
        period: Between two calls of `step` [s].
        options: As for `LifecycleNode`.
    """

    def __init__(self, joints: Sequence[str], period: float, **options: Any) -> None:
        super().__init__(names.CONTROLLER, **options)
        self._joints, self._period = joints, period
        self._session: Session | None = None
        self._announced: Library | None = None
        self._messages: tuple[str, ...] = ()
        self._reporter = HealthReporter()
        self._settings = DeclaredParameters(self, self._on_change)
        self._settings.declare(controller_parameters())
        self._comes_up: bool = self._settings["bringup"]
        on_library(self, self._settings, self._announce)
        report_health(self, self._report, 1.0 / self._settings["diagnostics_rate"], clock=STEADY)
        self.create_timer(SUPERVISION_PERIOD, self._supervise, clock=STEADY)
        create_switch(self, "~/freeze_adaptation", self._freeze)
        reset, done = lambda: self._configured().control.reset_estimates(), "estimates are the first ones again"
        create_trigger(self, "~/reset_estimates", reset, done)
        create_trigger(self, "~/save_estimates", self._save_estimates)
        create_trigger(self, "~/start", lambda: self._configured().start(), "started")
        create_trigger(self, "~/stop", lambda: self._configured().control.stop_motion(), "coming to rest")
        self._refuse_impossible_transitions()

    def _refuse_impossible_transitions(self) -> None:
        """Answer a request that the present state does not allow: rclpy raises there, which would end the node."""
        change = self._service_change_state.callback

        def change_or_refuse(request: ChangeState.Request, response: ChangeState.Response) -> ChangeState.Response:
            try:
                return change(request, response)
            except rclpy_implementation.RCLError:
                wanted = request.transition.label or request.transition.id
                self.get_logger().warning(f"no transition {wanted} from {self._state_name}")
                response.success = False
                return response

        self._service_change_state.callback = change_or_refuse

    @property
    def _state_name(self) -> str:
        return str(self._state_machine.current_state[1])

    def step(
        self, stamp: int, q: FloatArray, qd: FloatArray, held: FloatArray, *, in_lockstep: bool
    ) -> FloatArray | None:
        """Answer a measurement of the arm with its efforts, None while nothing is commanded; see `Session.step`."""
        session = self._session
        return None if session is None else session.step(stamp, q, qd, held, in_lockstep=in_lockstep)

    # --- lifecycle ---------------------------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load library and law, declare the gains; fails with the reason in the log."""
        return self._attempt(self._configure, "configure")

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start commanding from the measured place; fails with the reason in the log."""
        result = self._attempt(self._configured().activate, "activate")
        return super().on_activate(state) if result is SUCCESS else result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Ramp the effort down, then stop commanding; takes `STOP_LIMIT` at most."""
        self._stop()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back."""
        self._close()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Ramp down if active, and give everything back."""
        self._close()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Ramp down if active, give everything back, be unconfigured."""
        self.get_logger().error("a transition ended by an error: back to unconfigured")
        self._close()
        return super().on_error(state)

    def _attempt(self, action: Callable[[], None], name: str) -> TransitionCallbackReturn:
        try:
            action()
        except ThunderError as error:
            self._messages = (f"{name} refused: {error}",)
            self.get_logger().error(self._messages[0])
            return FAILURE
        self._messages = ()
        return SUCCESS

    def _configure(self) -> None:
        configuration = load_configuration(self._settings, self._announced)
        self._session = Session(self, self._settings, configuration, self._joints, self._period)
        law, library, links = configuration.law.name, configuration.library.path, ", ".join(configuration.links)
        self.get_logger().info(f"{configuration.robot}: law {law} of {library}, adapts {links or 'nothing'}")
        # What exists now lives until clean-up: full collections during control need not look at it.
        gc.collect()
        gc.freeze()

    def _announce(self, library: Library) -> None:
        """Keep the library for the next time that the controller is configured."""
        self._announced = library

    def _come_up(self) -> None:
        """Configure and activate, once."""
        self._comes_up = False
        if self.trigger_configure() is not SUCCESS or self.trigger_activate() is not SUCCESS:
            fail(self, "the controller cannot be brought up")

    def _stop(self) -> None:
        if self._session is not None and not self._session.stop():
            self.get_logger().error(f"the effort was not at the safe one after {STOP_LIMIT} s; commanding has ended")

    def _close(self) -> None:
        self._stop()
        if self._session is not None:
            self._session.close()
            self._session = None
            gc.unfreeze()

    def _configured(self) -> Session:
        if self._session is None:
            raise ConfigurationError("the controller is not configured", valid="configure it first")
        return self._session

    # --- end of the process, see runtime.py --------------------------------------------------------------------------

    def begin_stop(self) -> None:
        """Ramp the effort down; the node must be spun until `is_stopped`."""
        if self._session is not None:
            self._session.control.begin_stop()

    @property
    def is_stopped(self) -> bool:
        """Whether no effort is commanded."""
        return self._session is None or not self._session.control.is_commanding

    # --- parameters and services -------------------------------------------------------------------------------------

    def _on_change(self, values: Mapping[str, Any]) -> None:
        if self._session is not None:
            self._session.change(values)

    def _freeze(self, wanted: bool) -> str:
        self._configured().control.freeze_adaptation(wanted)
        return "estimates are kept" if wanted else "estimates adapt"

    def _save_estimates(self) -> str:
        session = self._configured()
        given = self._settings["saved_estimates_file"]
        path = resolve(given) if given else session.configuration.estimates_path(self.get_fully_qualified_name())
        if not given:
            make_folder(path.parent)
        save_estimates(path, session.configuration, session.control.snapshot())
        return str(path)

    # --- supervision -------------------------------------------------------------------------------------------------

    def _supervise(self) -> None:
        if self._comes_up and (self._announced is not None or self._settings["library"]):
            self._come_up()
        fault = None if self._session is None else self._session.control.fault
        if fault is not None and self._state_name == "active":
            self.get_logger().error(f"deactivating: {fault}")
            self.trigger_deactivate()
            self._messages = (f"deactivated: {fault}",)

    def _report(self) -> tuple[bytes, str, Mapping[str, Any]]:
        condition = {} if self._session is None else self._session.condition()
        report = self._reporter.report(self._state_name, messages=self._messages, **condition)
        return bytes([report.level]), report.message, report.values
