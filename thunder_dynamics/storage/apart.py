"""Python in a process of its own, for what works on foreign files and has no bounds of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Environment in which NumPy reserves no memory for each core, which a limit of the process would count."""

PATIENCE = 20
"""Time that may pass for a second of the processor [s]: the machine may be busy."""


def run_apart(
    arguments: Sequence[str], request: Mapping[str, Any], seconds: float, stderr: int = subprocess.STDOUT
) -> tuple[int | None, bytes]:
    """Run an interpreter on a request; return its status, None if it took longer, and what it wrote.

    Args:
        arguments: Of the interpreter: a file, or `-c` and a program.
        request: Is given to it as JSON on the standard input, with the `sys_path` of this process.
        seconds: Processor time that it may take, to which it bounds itself.
        stderr: Where errors go, as for `subprocess`; they stand with the output by default.
    """
    # -I: what lies in the current folder or beside the file is not imported; the path of this interpreter is
    command = [sys.executable, "-I", "-X", "utf8", "-W", "ignore", *arguments]
    # A file in memory, not a pipe: the limit on a file's size holds for all that the process says.
    with os.fdopen(os.memfd_create("apart"), "w+b") as said:
        try:
            done = subprocess.run(
                command,
                input=json.dumps({**request, "sys_path": sys.path}).encode(),
                stdout=said,
                stderr=stderr,
                env=os.environ | ONE_THREAD,
                timeout=PATIENCE * seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, b""
        said.seek(0)
        return None if done.returncode == -signal.SIGXCPU else done.returncode, said.read()
