"""thunder_dynamics: compile a robot description, and control laws over it, into one fast library.

    import thunder_dynamics as td
    model = td.load_model("panda.yaml")
    folder = td.build(model, laws=["cartesian_backstepping"])
    robot = td.load(folder)

CasADi is imported only when expressions are built, so that reading a model or running a library does not need it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thunder_dynamics.errors import ThunderError
from thunder_dynamics.version import __version__

if TYPE_CHECKING:
    from thunder_dynamics.build import build, load, robot, save_functions, save_target
    from thunder_dynamics.expressions import RobotExpressions
    from thunder_dynamics.locking import lock_joints
    from thunder_dynamics.model import RobotModel
    from thunder_dynamics.readers import load_model

__all__ = [
    "RobotExpressions",
    "RobotModel",
    "ThunderError",
    "__version__",
    "build",
    "load",
    "load_model",
    "lock_joints",
    "robot",
    "save_functions",
    "save_target",
]

_HOMES = {
    "RobotExpressions": "thunder_dynamics.expressions",
    "RobotModel": "thunder_dynamics.model",
    "load": "thunder_dynamics.build",
    "load_model": "thunder_dynamics.readers",
    "lock_joints": "thunder_dynamics.locking",
    "robot": "thunder_dynamics.build",
    "save_functions": "thunder_dynamics.build",
    "save_target": "thunder_dynamics.build",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'thunder_dynamics' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


if not TYPE_CHECKING:
    # Not lazily: a function that shares its module's name must be bound after the module, whoever imports that first.
    build = import_module("thunder_dynamics.build").build
