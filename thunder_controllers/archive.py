"""Arrays by name from .npz files, traces and what goes with them, which may come from anybody and be damaged."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.errors import ThunderError
from thunder_dynamics.readers.source import open_regular

LONGEST_REASON = 200
"""Characters of what is shown of a failure of NumPy's."""


def read_arrays(path: Path, names: Iterable[str], error: type[ThunderError], valid: str) -> dict[str, NDArray[Any]]:
    """Read arrays by name; a file of others holds whatever it wants beside them.

    Args:
        path: The .npz file.
        names: Of the arrays.
        error: To raise.
        valid: What the file should be, for the message.

    Raises:
        ThunderError: of the type `error`, if the file is not there or damaged, or lacks an array.
    """
    try:
        with open_regular(path) as file, np.load(file, allow_pickle=False) as archive:
            found = {name: np.asarray(archive[name]) for name in names}
        texts = {name: array.tolist() for name, array in found.items() if array.dtype.kind == "U"}
    except Exception as failure:  # NumPy, zipfile, zlib and tokenize do not agree on what a damaged file raises
        reason = getattr(failure, "strerror", None) or " ".join(str(failure).split()) or type(failure).__name__
        raise error(f"no trace ({reason[:LONGEST_REASON]})", where=str(path), valid=valid) from failure
    others = [name for name, array in found.items() if array.dtype.kind not in "biufU"]
    if others:
        raise error(f"{others[0]} has the type {found[others[0]].dtype}", where=str(path), valid=valid)
    return found | {name: np.array(text) for name, text in texts.items()}  # which the file held, as Python takes it
