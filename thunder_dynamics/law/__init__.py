"""Control laws: what they are, what they are written with, and how installed ones are built.

A law is written as a builder `(robot: RobotExpressions, options) -> Law`. It declares what it needs on a `Signals`
object and receives symbols; `Signals.law` closes it. Builders are found by entry points of the group `thunder.laws`.
"""

from thunder_dynamics.law.builder import build_law
from thunder_dynamics.law.contract import SIGNALS, Law, ReferenceKind
from thunder_dynamics.law.options import Option, Options, is_for_elastic_joints, options_of, takes
from thunder_dynamics.law.signals import NEVER, QUANTITIES, Quantity, Signals

__all__ = [
    "NEVER",
    "QUANTITIES",
    "SIGNALS",
    "Law",
    "Option",
    "Options",
    "Quantity",
    "ReferenceKind",
    "Signals",
    "build_law",
    "is_for_elastic_joints",
    "options_of",
    "takes",
]
