"""Arrays by name from .npz files, traces and what goes with them, which may come from anybody and be damaged."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.errors import ThunderError
from thunder_dynamics.storage.door import EXPANSION, TRACE, UNPACKED, open_file

LONGEST_REASON = 200
"""Characters of what is shown of a failure of NumPy's."""

LARGEST_PIECE = 1 << 20
"""That is read at a time [byte]: an archive of 10 000 arrays has a smaller list of them."""


def read_arrays(path: Path, names: Iterable[str], error: type[ThunderError], valid: str) -> dict[str, NDArray[Any]]:
    """Read arrays by name; a file of others holds whatever it wants beside them.

    Args:
        path: The .npz file.
        names: Of the arrays.
        error: To raise.
        valid: What the file should be, for the message.

    Raises:
        ThunderError: of the type `error`, if the file cannot be read or is damaged, lacks an array, or expands to more
            than it may.
    """
    with open_file(path, TRACE, error) as file:
        try:
            with zipfile.ZipFile(_Pieces(file)) as archive:
                parts = {name: archive.getinfo(f"{name}.npy") for name in names}
                _check_expansion(parts.values(), os.fstat(file.fileno()).st_size)
                found = {name: _read_array(archive, part) for name, part in parts.items()}
            texts = {name: array.tolist() for name, array in found.items() if array.dtype.kind == "U"}
        except Exception as failure:  # NumPy, zipfile, zlib and tokenize do not agree on what a damaged file raises
            reason = " ".join(str(failure).split()) or type(failure).__name__
            raise error(f"no trace ({reason[:LONGEST_REASON]})", where=str(path), valid=valid) from failure
    others = [name for name, array in found.items() if array.dtype.kind not in "biufU"]
    if others:
        raise error(f"{others[0]} has the type {found[others[0]].dtype}", where=str(path), valid=valid)
    return found | {name: np.array(text) for name, text in texts.items()}  # which the file held, as Python takes it


class _Pieces(io.BufferedReader):
    """A file of which no more than `LARGEST_PIECE` is read at a time."""

    def __init__(self, file: Any) -> None:
        super().__init__(file)

    def read(self, size: int | None = -1, /) -> bytes:
        is_small = size is not None and 0 <= size <= LARGEST_PIECE
        data = super().read(size if is_small else LARGEST_PIECE + 1)
        if len(data) > LARGEST_PIECE:
            raise ValueError(f"a list of arrays of more than {LARGEST_PIECE >> 10} KiB")
        return data


def _check_expansion(parts: Collection[zipfile.ZipInfo], packed: int) -> None:
    """Raise ValueError for arrays that expand to more than they may, or are packed by a method that has no bound."""
    if any(part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for part in parts):
        raise ValueError("an array is neither stored nor deflated")
    expanded, most = sum(part.file_size for part in parts), max(UNPACKED, EXPANSION * packed)
    if expanded > most:
        raise ValueError(f"{packed >> 10} KiB expand to {expanded >> 10} KiB, of which {most >> 10} KiB are read")


def _read_array(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(part) as data:
        return np.asarray(np.lib.format.read_array(data, allow_pickle=False))
