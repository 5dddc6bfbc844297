"""Checks of what runs under ROS 2: whether it answers, its joints, its clock and its rate."""

from __future__ import annotations

import numpy as np

from thunder_controllers.doctor.check import Case, Finding, NotApplicableError, check
from thunder_controllers.host import Library, Options
from thunder_controllers.ros.tools.graph import Graph
from thunder_dynamics.errors import listed

LARGEST_GAP = Options().gap_limit
"""Between two stamps of joint states [s]: for longer the host waits for no measurement."""

LEAST_RATE = 0.99
"""Share of the nominal one, as in /diagnostics."""


@check(
    "controller seen and answering, RMW",
    valid="its parameters can be asked for",
    mend="the same RMW_IMPLEMENTATION and ROS_DOMAIN_ID in every terminal: two RMWs share topics, no services",
)
def rmw(case: Case) -> Finding:
    """Nodes of another RMW are seen, and never answer."""
    graph: Graph = case.needed("graph")
    if not graph.is_there:
        raise NotApplicableError(f"{graph.rmw}: no such controller is seen")
    answered = graph.parameters is not None
    return Finding(answered, f"{graph.rmw}: the controller {'answers' if answered else 'is seen, but does not answer'}")


@check(
    "joints in the joint states",
    valid="all that the controller has",
    mend="the controller's parameter joints: the arm's names, prefix included",
)
def published_joints(case: Case) -> Finding:
    """A joint that nobody publishes is not measured."""
    graph: Graph = case.needed("graph")
    library: Library = case.needed("library")
    if not graph.joints:
        raise NotApplicableError("no joint states")
    wanted = (case.parameters or {}).get("joints") or library.joint_names
    absent = [name for name in wanted if name not in graph.joints]
    return Finding(not absent, f"without {listed(absent)}" if absent else f"{len(graph.joints)} joints")


@check(
    "stamps of the joint states",
    valid=f"each later than the one before, by less than {LARGEST_GAP:g} s",
    mend="one clock for all machines (chrony), use_sim_time alike on all nodes, one source of joint states",
)
def stamps(case: Case) -> Finding:
    """A clock that jumps makes measurements old, or repeats them."""
    graph: Graph = case.needed("graph")
    if len(graph.stamps) < 2:
        raise NotApplicableError("no joint states")
    steps = np.diff(graph.stamps)
    seen = f"steps of {steps.min():.4g} to {steps.max():.4g} s, {len(steps)} of them"
    return Finding(bool(steps.min() > 0.0 and steps.max() < LARGEST_GAP), seen)


@check(
    "rate of the running controller",
    valid=f"at least {LEAST_RATE:.0%} of the nominal one",
    mend="as for jitter; fewer nodes on this machine",
    is_real_time=True,
)
def running_rate(case: Case) -> Finding:
    """The controller's own diagnostics: periods that are missing are overruns."""
    graph: Graph = case.needed("graph")
    if not graph.rates:
        raise NotApplicableError("no diagnostics of a controller that runs")
    least = LEAST_RATE / case.period
    return Finding(min(graph.rates) >= least, f"lowest {min(graph.rates):.1f} Hz of {len(graph.rates)} reports")


GRAPH = (rmw, published_joints, stamps, running_rate)
