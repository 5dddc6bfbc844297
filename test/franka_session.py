"""The host's session as it answers the states of a Franka, whatever client they come from."""

from __future__ import annotations

from typing import Any

import numpy as np
from evaluation import load_robot
from numpy.typing import NDArray

from thunder_controllers.host import Configuration, ControlSession, Figure, Guard, Library, Options
from thunder_controllers.host.inertia_estimate import link_estimates
from thunder_dynamics import build
from thunder_dynamics.inertia import Inertia

STEP = 1e-3

ON_A_FRANKA = {"gravity_compensated_by_robot": True, "effort_rate_limit": [900.0] * 7}
"""Of docs/gazebo-and-franka.md."""

ADAPTIVE = ("cartesian_backstepping", {"adapted_links": ["panda_link7"], "adaptation": "least_squares"})
STIFF = ("slotine_li", {"adapted_links": ["panda_link7"]})
PAYLOAD = {"mass": 0.5, "com": (0.02, -0.01, 0.05)}
"""On the flange [kg], [m]."""

HIDDEN = ["--payload-mass", PAYLOAD["mass"], "--payload-com", *PAYLOAD["com"]]
"""The same as options of `thunder franka-server`."""

FLANGE = np.array([0.0, 0.0, 0.107])
"""In the frame of link 7 [m]."""

FIGURE = Figure([0.10, 0.15, 0.10], [0.2, 0.1, 0.4])


def compile_library() -> Library:
    """Of both arms: they have the same kinematics, and here the same links."""
    return Library(build(load_robot("panda"), laws=[ADAPTIVE, STIFF]) / "libpanda.so")


class FrankaSession:
    """A session that begins at a state of libfranka."""

    def __init__(self, library: Library, law: str, state: Any, **options: object) -> None:
        self.configuration = Configuration(library, law=law)
        self.session = ControlSession(self.configuration, Options(**ON_A_FRANKA, **options))
        self.time, self.effort, self.guards = 0.0, np.zeros(7), Guard(0)
        self.session.activate(np.array(state.q), np.array(state.dq), np.zeros(7))

    def answer(self, state: Any, elapsed: float) -> NDArray[np.float64]:
        """The effort for a state so long after the one before [s]; zero at first."""
        dt = elapsed or STEP
        self.time += dt
        q, qd = np.array(state.q), np.array(state.dq)
        self.guards |= Guard(self.session.update(round(self.time * 1e9), self.time, q, qd, dt, self.effort))
        return self.effort

    @property
    def distance(self) -> float:
        """Of the end effector from its reference [m]."""
        return float(np.linalg.norm(self.session.snapshot().telemetry("pose_error")[:3]))

    @property
    def payload(self) -> Inertia:
        """What the estimate of the last link has more than the robot file, in the frame of that link."""
        (link,) = link_estimates(self.configuration, self.session.snapshot())
        return Inertia.from_pi(link.pi - load_robot("panda").links[6].inertia.pi)

    def check_payload(self, centre: float = 5e-3) -> None:
        """The payload is found, its centre to within so much [m], and no guard acted but those of a rate limit."""
        np.testing.assert_allclose(self.payload.mass, PAYLOAD["mass"], atol=5e-3)
        np.testing.assert_allclose(self.payload.com, PAYLOAD["com"] + FLANGE, atol=centre)
        assert self.guards & ~Guard.EFFORT_RATE_LIMITED & ~Guard.ADAPTATION_FROZEN == Guard(0)
