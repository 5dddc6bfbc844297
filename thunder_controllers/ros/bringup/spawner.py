"""Runs controller_manager's `spawner`, which loads, configures and activates controllers, as a child process."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from thunder_controllers.ros.bringup.node_set import parameter_file
from thunder_controllers.ros.common.runtime import EXIT_FAILURE
from thunder_controllers.ros.tools.processes import die_with_parent
from thunder_dynamics.errors import ThunderError

PACKAGE = "controller_manager"
SWITCH_TIMEOUT = 20.0
"""For a switch to happen [s]: a simulation may still be waiting for its robot."""


class SpawnerError(ThunderError):
    """The spawner is not installed, or cannot be started."""


class Spawner:
    """One run of `spawner` for one or more controllers.

    Args:
        controllers: Names, loaded in this order.
        manager: Name of the controller_manager's node, relative or absolute.
        namespace: Of the controllers and of a relative `manager`.
        timeout: Wall time to wait for the controller_manager [s].
        activate: Whether to activate them after configuring.
        files: ROS parameter files of the controllers, later ones stronger.
        words: More of its command line.

    Raises:
        SpawnerError: if there is none.
    """

    def __init__(
        self,
        controllers: Sequence[str],
        *,
        manager: str,
        namespace: str,
        timeout: float,
        activate: bool = True,
        files: Sequence[str] = (),
        words: Sequence[str] = (),
    ) -> None:
        command = [_find_spawner(), *controllers, "--controller-manager", manager]
        command += ["--controller-manager-timeout", f"{timeout:g}", "--switch-timeout", f"{SWITCH_TIMEOUT:g}"]
        command += [] if activate else ["--inactive"]
        command += [word for file in files for word in ("--param-file", str(file))]
        command += [*words, "--ros-args", "-r", f"__ns:={namespace}"]
        try:
            self._child = subprocess.Popen(command, start_new_session=True, preexec_fn=die_with_parent)
        except OSError as error:
            reason = error.strerror or str(error)
            raise SpawnerError(f"cannot be started: {reason}", where=command[0]) from None

    def poll(self) -> int | None:
        """Exit status: 0 once the controllers are up, None while it runs; a signal that ended it is a failure."""
        status = self._child.poll()
        return status if status is None or status >= 0 else EXIT_FAILURE

    def stop(self) -> None:
        """End it if it still runs."""
        if self._child.poll() is None:
            os.killpg(self._child.pid, signal.SIGTERM)
            self._child.wait()


def write_parameters(path: Path, controller: str, values: Mapping[str, Any]) -> Path:
    """Write the parameters of a controller as a ROS parameter file that counts in any namespace.

    Args:
        path: To write to.
        controller: Name of the controller.
        values: Value by name; empty arrays are left out, ROS cannot express them.
    """
    path.write_text(yaml.safe_dump(parameter_file(controller, values), allow_unicode=True), encoding="utf-8")
    return path


def _find_spawner() -> str:
    from ament_index_python import PackageNotFoundError, get_package_prefix

    try:
        path = Path(get_package_prefix(PACKAGE)) / "lib" / PACKAGE / "spawner"
    except (PackageNotFoundError, OSError, ValueError):  # OSError: no AMENT_PREFIX_PATH
        path = None
    if path is None or not path.is_file():
        raise SpawnerError(f"{PACKAGE} is not installed", valid=f"ros-jazzy-{PACKAGE.replace('_', '-')}")
    return str(path)
