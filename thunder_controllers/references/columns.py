"""Columns of numbers in CSV files: a header with their names, then rows; references and records are read from them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thunder_controllers.fields import FloatArray, order_of
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.storage.door import TABLE, read_bytes


def read_columns(path: Path, error: type[ThunderError], wanted: Sequence[str] = ()) -> dict[str, FloatArray]:
    """Read columns by name, shape (N,) each; empty lines are passed over.

    Args:
        path: The file.
        error: To raise.
        wanted: Columns that must be there, the others are not looked at; none: all that are there.

    Raises:
        ThunderError: of the type `error`, with line and column, if the file cannot be read, lacks a column or has
            two of one name, has no rows or one of another length, or a cell is no number.
    """
    try:
        text = io.TextIOWrapper(io.BytesIO(read_bytes(path, TABLE, error)), encoding="utf-8-sig", newline="")
        reader = csv.reader(text)
        header = [name.strip() for name in next(reader, [])]
        rows = [(f"{path}:{reader.line_num}", cells) for cells in reader if cells]
    except (ValueError, csv.Error) as failure:
        raise error("it is no text", where=str(path), valid=TABLE.valid) from failure
    names = list(dict.fromkeys(wanted or header))
    order = order_of(header, names, f"{path}:1: columns", error, others=True)
    if not rows:
        raise error("no rows", where=str(path), valid="a line of names, then numbers")
    for where, cells in rows:
        if len(cells) != len(header):
            raise error(f"{len(cells)} cells", where=where, valid=f"{len(header)}, as line 1 has")
    places = dict(zip(names, order, strict=True))
    return {
        name: np.array([_number(cells[place], error, where, name) for where, cells in rows])
        for name, place in places.items()
    }


def _number(cell: str, error: type[ThunderError], where: str, name: str) -> float:
    try:
        return float(cell)
    except ValueError as failure:
        raise error(f"'{cell}' in column {name}", where=where, valid="a number") from failure
