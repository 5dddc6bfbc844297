"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import IO


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a new file next to `path`, then put it in its place in one step.

    Raises:
        OSError: if it cannot be written; what stood there stands, and nothing is left beside it.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with partial.open("xb") as file:
            write(file)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
