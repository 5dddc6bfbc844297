"""The file that estimates are saved to and started from.

    robot: panda
    law: cartesian_backstepping
    links: [panda_link7]
    pi_hat: [0.73, 0.007, …]

One flow list a line, as in the generator's <robot>_conf.yaml: entries of the law's state that are estimates, flat, SI
units. `links` says whose parameters pi_hat holds, ten each, order as in `thunder_dynamics.inertia.REG_NAMES`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from thunder_controllers.host import Law
from thunder_dynamics.errors import ThunderError

FloatArray = NDArray[np.float64]


ONE_LINE = 1_000_000
"""Width of a line that no list reaches."""


class EstimatesFileError(ThunderError):
    """A file of estimates cannot be read or written, or is of another robot, law or links."""


@dataclass(frozen=True)
class EstimatesOwner:
    """What estimates belong to; a file of another owner is refused."""

    robot: str
    law: Law
    links: tuple[str, ...]

    @property
    def sizes(self) -> dict[str, int]:
        """Number of values of each estimated state entry."""
        return {entry.name: entry.size for entry in self.law.state if entry.is_adapted}


def save_estimates(path: Path, owner: EstimatesOwner, values: Mapping[str, FloatArray]) -> None:
    """Write the estimates, all of them or, if that fails, none: the file is replaced in one step.

    Raises:
        EstimatesFileError: if the file cannot be written.
    """
    data: dict[str, Any] = {"robot": owner.robot, "law": owner.law.name, "links": list(owner.links)}
    data |= {name: np.ravel(values[name], order="F").tolist() for name in owner.sizes}
    text = yaml.safe_dump(data, default_flow_style=None, width=ONE_LINE, sort_keys=False, allow_unicode=True)
    try:
        _replace(path, text)
    except OSError as error:
        raise EstimatesFileError(
            f"cannot be written: {error.strerror}", where=str(path), valid="a writable file"
        ) from None


def load_estimates(path: Path, owner: EstimatesOwner) -> dict[str, FloatArray]:
    """Read estimates: state entry → flat values, finite; their bounds are the host's business.

    Raises:
        EstimatesFileError: if it cannot be read, is no such file, or belongs to another robot, law or links.
    """
    data = _read(path)
    where = str(path)
    expected = {"robot": owner.robot, "law": owner.law.name, "links": list(owner.links)}
    known = {*expected, *owner.sizes}
    for key in data:
        if key not in known:
            raise EstimatesFileError(f"unknown key '{key}'", where=where, valid=", ".join(sorted(known)))
    for key in (*expected, *owner.sizes):
        if key not in data:
            raise EstimatesFileError(f"'{key}' is missing", where=where, valid=", ".join(sorted(known)))
    for key, value in expected.items():
        if data[key] != value:
            raise EstimatesFileError(f"{key} is {data[key]!r}", where=where, valid=repr(value))
    return {name: _numbers(data[name], size, f"{where}: {name}") for name, size in owner.sizes.items()}


def _replace(path: Path, text: str) -> None:
    handle, partial = tempfile.mkstemp(prefix=f".{path.name}_", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(partial, path)
    except OSError:
        Path(partial).unlink(missing_ok=True)
        raise


def _read(path: Path) -> dict[Any, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or "no text"
        raise EstimatesFileError(
            f"cannot be read: {what}", where=str(path), valid="a file of ~/save_estimates"
        ) from None
    except yaml.YAMLError as error:
        raise EstimatesFileError(f"no YAML: {' '.join(str(error).split())}", where=str(path)) from None
    if not isinstance(data, dict):
        raise EstimatesFileError("no mapping", where=str(path), valid="a file of ~/save_estimates")
    return data


def _numbers(value: Any, size: int, where: str) -> FloatArray:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    if not is_list or not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in value):
        raise EstimatesFileError("no list of numbers", where=where, valid=f"{size} numbers")
    if len(value) != size:
        raise EstimatesFileError(f"{len(value)} values", where=where, valid=str(size))
    numbers = np.array(value, dtype=float)
    if not np.isfinite(numbers).all():
        raise EstimatesFileError("a value is not finite", where=where, valid="numbers")
    return numbers
