"""The command that calls services of Gazebo, whichever is installed."""

from __future__ import annotations

import shutil
from pathlib import Path


def service_command() -> list[str]:
    """The program that calls services of Gazebo; empty if there is none.

    Debian's `ign` looks for it in another folder.
    """
    debian = Path("/usr/libexec/ignition/transport11/ign-transport-service")
    if tool := shutil.which("gz") or ("" if debian.is_file() else shutil.which("ign")):
        return [tool, "service"]
    return [str(debian)] if debian.is_file() else []
