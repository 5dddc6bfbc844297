"""Kinematics, dynamics and regressors of robot $robot, generated."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

class thunder_$robot:
    """Set the arguments, then get what is needed of them. SI units. A wrong size or value raises ValueError."""

    num_joints: int = $n
    def __init__(self) -> None: ...
    def get_numJoints(self) -> int: ...
    def setArguments(self, q: ArrayLike, dq: ArrayLike, dq_r: ArrayLike, ddq_r: ArrayLike) -> None:
        """Set q, dq, dq_r and ddq_r at once."""
    def load_conf(self, file: str) -> None:
        """Read run-time parameters from a file that save_conf wrote; RuntimeError names file and line."""
    def save_conf(self, file: str) -> None:
        """Write all run-time parameters."""
$methods
