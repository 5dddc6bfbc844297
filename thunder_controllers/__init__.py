"""Control laws and everything that runs them: the C++ host, the MuJoCo simulation, references and reports.

    from thunder_controllers import simulate

Importing this package imports none of them, so that each costs only what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thunder_controllers.scripting import Result, simulate

__all__ = ["Result", "simulate"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'thunder_controllers' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module("thunder_controllers.scripting"), name)
    return value
