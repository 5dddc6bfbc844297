"""Expand xacro files in a process of its own, where neither an endless expression nor the state of xacro does harm."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thunder_dynamics.errors import NameNotFoundError, RobotFileError
from thunder_dynamics.readers.source import read_text
from thunder_dynamics.readers.urdf_elements import refuse_doctype

TIME_LIMIT = 60.0
"""Of one expansion [s]; descriptions of arms take half a second."""


def expand_xacro(path: Path, xacro_args: Mapping[str, str] | None = None) -> str:
    """Expand a xacro file to URDF text.

    Args:
        path: The file; it and what it includes may have no DOCTYPE, and expressions may only compute.
        xacro_args: Values of its xacro:arg by name.

    Raises:
        RobotFileError: if it cannot be expanded, or does what a description may not.
        NameNotFoundError: for an argument that the file does not declare.
    """
    refuse_doctype(read_text(path), str(path))
    result = _run_child(path, xacro_args or {})
    if "what" in result:
        raise RobotFileError(result["what"], where=result["where"], valid=result["valid"])
    for file in filter(Path.is_file, map(Path, result["files"])):
        if "<!DOCTYPE" in (text := read_text(file)):
            refuse_doctype(text, str(file))
    unknown = [name for name in xacro_args or {} if name not in result["asked"]]
    if unknown:
        valid = ", ".join(result["asked"]) or "none"
        raise NameNotFoundError(f"no xacro argument '{unknown[0]}'", where=str(path), valid=valid)
    return str(result["text"])


def _run_child(path: Path, arguments: Mapping[str, str]) -> dict[str, Any]:
    request = json.dumps({"path": str(path), "arguments": dict(arguments), "sys_path": sys.path})
    # -I: what lies in the current folder or beside the file is not imported; the path of this interpreter is
    command = [sys.executable, "-I", "-X", "utf8", str(Path(__file__).with_name("xacro_child.py"))]
    try:
        done = subprocess.run(
            command, input=request, capture_output=True, encoding="utf-8", timeout=TIME_LIMIT, check=True
        )
    except subprocess.TimeoutExpired:
        what = f"its expansion takes longer than {TIME_LIMIT:g} s"
        raise RobotFileError(what, where=str(path), valid="a file that ends") from None
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or [f"exit status {error.returncode}"])[-1]
        raise RobotFileError(f"xacro failed ({reason})", where=str(path), valid="a xacro file") from None
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
