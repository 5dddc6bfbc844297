"""StreamedArm: a session of the host and the plant that it moves, in lock-step, as the ROS nodes run them."""

from __future__ import annotations

import numpy as np

from thunder_controllers.fields import FloatArray
from thunder_controllers.host import FAULTS, Configuration, ControlSession
from thunder_controllers.simulation.preparation import Setup
from thunder_controllers.simulation.scenario import Run
from thunder_dynamics.errors import ScenarioError


class StreamedArm:
    """A plant at its start, at rest, and an active session that holds it there until something is streamed.

    Args:
        setup: Of a run; its plant is moved, its own host is not used.
        run: What `setup` was prepared of.

    Attributes:
        session: Of the host, which takes streams and motions.
        q: Joint positions that were measured last [rad or m], shape (n,).
        qd: Velocities, likewise.
        effort: Commanded last [N·m or N], shape (n,).
        guards: Bits of those that acted in the last `advance`.

    Raises:
        ThunderError: as the host raises.
    """

    def __init__(self, setup: Setup, run: Run) -> None:
        law, self._setup, self._steps = run.config.law, setup, 0
        configuration = Configuration(setup.library, law=law.name)
        gains = {name: setup.host.gain(name) for name in law.gains}
        estimates = dict(setup.initial_state)
        self.session = ControlSession(configuration, setup.host.options, gains=gains, estimates=estimates)
        self.session.freeze_adaptation(not run.adaptation)
        self.q, self.qd, self.effort = setup.plant.q, setup.plant.qd, setup.plant.holding_effort()
        self.guards = 0
        self.session.activate(self.q, self.qd, self.effort)

    @property
    def t(self) -> float:
        """Simulated time [s]."""
        return self._steps * self._setup.period

    def advance(self, steps: int) -> None:
        """Make control steps: measure, update, move; a fault of the host ends them early.

        Raises:
            ScenarioError: if the plant diverges.
        """
        self.guards = 0
        for _ in range(steps):
            self._step()
            if self.guards & FAULTS:
                break
        if not np.isfinite(self._setup.plant.q).all():
            what = f"the plant diverged before t = {self.t:g} s"
            raise ScenarioError(what, valid="other gains, or a finer integration (plant.substeps)")

    def _step(self) -> None:
        setup, q, qd = self._setup, np.empty_like(self.q), np.empty_like(self.qd)
        age = setup.plant.measure(q, qd)
        setup.feed(self._measure)
        t = (self._steps - age) * setup.period
        self.guards |= self.session.update(round(1e9 * t), t, q, qd, setup.period, self.effort)
        setup.plant.step(self.effort)
        self._steps += 1
        self._keep(self.q, q)
        self._keep(self.qd, qd)

    def _measure(self, name: str, values: FloatArray, time: float | None) -> None:
        """A time is a stamp here; the first is 1 ns, as 0 is none."""
        self.session.set_measurement(name, values, 0 if time is None else max(round(1e9 * time), 1))

    @staticmethod
    def _keep(last: FloatArray, reading: FloatArray) -> None:
        """Take over what was read; a reading that dropped out leaves the last one."""
        np.copyto(last, reading, where=np.isfinite(reading))
