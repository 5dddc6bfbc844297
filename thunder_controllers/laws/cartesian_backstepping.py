"""Cartesian adaptive backstepping with the axis-angle orientation error (theory.md §5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thunder_controllers.laws.adaptation.limit import AdaptationLimit
from thunder_controllers.laws.kinematic_loop.loop import kinematic_loop
from thunder_controllers.laws.parts import split_dynamics
from thunder_controllers.laws.parts.contact import ContactObserver
from thunder_controllers.laws.parts.friction import FrictionAdaptation
from thunder_controllers.laws.parts.gains import damping_by_inertia, fastest_of, joint_damping_gain
from thunder_controllers.laws.parts.options import check_options, choose
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind, Signals

OPTIONS = (*split_dynamics.OPTIONS, "friction", "profile", "kinematic_loop", "contact")
"""Beside those of the kinematic loop."""


def cartesian_backstepping(robot: RobotExpressions, options: Mapping[str, Any]) -> Law:
    """Track a pose with estimated inertial parameters.

        q̇_r = κ (J⁺ L⁻¹(Lᵀ ξ_d + Λ e) + (1 − J⁺J) ν k_n (q_home − q)),   q̈_r = d/dt q̇_r exactly,   s = q̇_r − q̇
        τ    = Y_u π̂ + (Y_k π_k) + K_d s + Jᵀ Lᵀ K_p e,            π̂̇ = Γ⁻¹ Y_uᵀ s

    V = ½ eᵀK_p e + ½ sᵀM s + ½ π̃ᵀΓπ̃ falls at the rate −eᵀK_p Λ e − sᵀK_d s where nothing is bounded: J⁺ is damped near
    singularities and ν < 1 there, κ < 1 where a joint would come near its speed limit, and the feedback of far poses is
    bounded, as is adaptation that is too eager for the damping.

    Args:
        robot: At least as many joints on the path to its end effector as the task has rows.
        options: `adapted_links`, names of links or "all" (default: the link of the end effector); `adaptation`,
            "consistent" (default), another scheme, or "none": every link is known; `friction`, "none" (default) or
            "adapted", which adds Y_f φ̂ with estimated viscous and Coulomb friction of every joint; `profile`,
            "default", "stiff" or "topics", for loops with a delay of up to 2, 1 or 3 ms, which sets the defaults of
            K_d, K_p and Λ; `kinematic_loop`, "axis_angle" (default) or another of the group `thunder.kinematic_loops`,
            which makes q̇_r, q̈_r and the torque of the error, with options of its own: see `AxisAngleLoop`; `contact`,
            "none" (default), "observe" or "freeze": see `ContactObserver`.
    """
    law = "cartesian_backstepping"
    builder = kinematic_loop(law, options)
    check_options(law, options, (*OPTIONS, *builder.OPTIONS))
    signals = Signals(robot, ReferenceKind.CARTESIAN)
    fastest = fastest_of(str(options.get("profile", "default")))
    loop = builder(law, robot, signals, options, fastest)
    signals.describe_telemetry("s", size=robot.n, unit="rad/s", doc="s = q̇_r − q̇.")
    signals.describe_telemetry("qd_r", size=robot.n, unit="rad/s", doc="Reference velocity of the joints.")
    K_d = joint_damping_gain(robot, signals, damping_by_inertia(robot, fastest))
    s = loop.qd_r - signals.qd
    model = split_dynamics.SplitDynamics(law, robot, signals, loop.qd_r, loop.qdd_r, options)
    effort = model.effort + K_d * s + loop.effort
    next_state = model.step(s, K_d, loop.Lambda) | dict(loop.next_state)
    friction = None
    if choose(law, options, "friction", "none", "adapted") == "adapted":
        limit = model.adaptation.limit if model.adaptation else AdaptationLimit(signals)
        friction = FrictionAdaptation(robot, signals, limit)
        effort += friction.torque(loop.qd_r)
        next_state |= friction.step(loop.qd_r, s, K_d)
    contact = ContactObserver(law, robot, signals, options, model, friction)
    return signals.law(
        law,
        "Cartesian adaptive backstepping with axis-angle error.",
        effort=effort,
        next_state=contact.step(next_state),
        telemetry={"s": s, "qd_r": loop.qd_r, **loop.telemetry, **model.telemetry, **contact.telemetry},
        **{"adapted_links": model.adapted_links, **loop.described},
    )
