"""What the law reports of faults, as codes that are declared here and nowhere else."""

from __future__ import annotations

from enum import IntEnum


class Kind(IntEnum):
    """Telemetry `fault_kind`; g is the torque that a motor gives when it is asked for τ.

    What size `fault_size` is, is said with each.
    """

    NONE = 0
    """No fault."""
    UNKNOWN = 1
    """The joint is known, its kind not yet; size zero."""
    LOSS = 2
    """g = (1 − λ) τ, size λ."""
    BIAS = 3
    """g = τ + b, size b [N·m or N]."""
    BLOCK = 4
    """q̈ = −λ q̇ whatever the torque, size λ [1/s]."""
    FREEZE = 5
    """g = c, size c [N·m or N]."""
    SEVERAL = 6
    """Torques of more than one joint are not explained: a contact, or a body that the model does not have."""
    NOT_YET = 7
    """No fault is seen, and one that matters would not be in a joint whose `fault_visible` is below 1."""


class Action(IntEnum):
    """Telemetry `fault_action`: what the law makes of a fault."""

    NONE = 0
    """Nothing: there is none, its kind is not known yet, or the law only reports."""
    CONTINUES = 1
    """The other joints do the task, or the faulty one with what is known of it."""
    STOPS = 2
    """They cannot; all joints that obey come to rest and stay."""
