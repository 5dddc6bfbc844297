"""Files of run-time and of inertial parameters: their keys, and what Python reads and writes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import yaml
from numpy.typing import NDArray

from thunder_dynamics.errors import RobotFileError, shortened
from thunder_dynamics.inertia import DYN_NAMES, N_PARAMETERS
from thunder_dynamics.readers.fields import by_names
from thunder_dynamics.readers.yaml_text import YamlDocument
from thunder_dynamics.storage.whole import write_text

FloatArray = NDArray[np.float64]

FROM_ROBOT_FILE = " (those of a robot file: thunder_dynamics.robot(FILE).save_conf)"
"""What messages of load_conf say of keys that it does not know: a robot file has one reader, which no class repeats."""

REG_KEYS = tuple(f"m_{name}" if name.startswith("CoM") else name for name in DYN_NAMES)
"""Keys of a link's parameters in files of par_REG; in files of par_DYN they are `DYN_NAMES`."""

NO_PAR_REG = "the inertial parameters of {robot} are numbers; valid: a robot with symbolic ones"
"""What load_par_REG says of a robot that it can set nothing of."""


def group_line(group: str, values: NDArray[np.float64]) -> str:
    """Line of a group in a file of run-time parameters."""
    return f"{group}: [{', '.join(repr(float(v)) for v in values.ravel())}]"


def inertial_text(links: Iterable[str], keys: Sequence[str], values: FloatArray) -> str:
    """File of the inertial parameters (10·n,) of links, under these keys."""
    rows = zip(links, values.reshape(-1, N_PARAMETERS).tolist(), strict=True)
    entries = {link: {"inertial": dict(zip(keys, row, strict=True))} for link, row in rows}
    return yaml.safe_dump({"dynamics": entries}, sort_keys=False, allow_unicode=True)


def read_par_REG(document: YamlDocument, names: Sequence[str]) -> FloatArray:
    """Read par_REG (10·n,) of n links, by their names as `by_names` finds them.

    Raises:
        RobotFileError: if it has others, or a link lacks a number.
    """
    links = document.data.get("dynamics")
    where = document.where(("dynamics",))
    if not isinstance(links, dict) or len(links) != len(names):
        found = len(links) if isinstance(links, dict) else 0
        raise RobotFileError(f"{found} links", where=where, valid=str(len(names)))
    ordered = by_names(links, names, "link", where)
    return np.array([_inertial(document, link, entry) for link, entry in ordered.items()]).ravel()


def _inertial(document: YamlDocument, link: str, entry: object) -> list[float]:
    given = entry.get("inertial") if isinstance(entry, dict) else None
    values = given if isinstance(given, dict) else {}
    for key in REG_KEYS:
        if not isinstance(values.get(key), (int, float)) or not np.isfinite(values[key]):
            where = document.where(("dynamics", link, "inertial", key))
            raise RobotFileError(f"no finite number of '{key}'", where=where, valid=", ".join(REG_KEYS))
    return [float(values[key]) for key in REG_KEYS]


def read_estimates(document: YamlDocument, link_names: Sequence[str]) -> dict[str, FloatArray]:
    """A controller's saved estimates: π (10,) of each link that it is of.

    Raises:
        RobotFileError: if a link is none of the robot's, or has no ten numbers.
    """
    links, estimates = document.data.get("links", []), document.data["pi_hat"]
    where = document.where(("links",))
    if not isinstance(links, list):
        raise RobotFileError(f"{shortened(links)} is no list", where=where, valid="[name, name, ...]")
    for place, link in enumerate(links):
        if link not in link_names or link in links[:place]:
            wrong = "twice the" if link in link_names else "no"
            raise RobotFileError(f"{wrong} link {shortened(link)}", where=where, valid=", ".join(link_names))
    try:
        return dict(zip(links, np.array(estimates, dtype=float).reshape(len(links), N_PARAMETERS), strict=True))
    except (TypeError, ValueError) as error:
        valid = f"ten numbers for each of {len(links)} links"
        where = document.where(("pi_hat",))
        raise RobotFileError(f"{shortened(estimates)} in 'pi_hat'", where=where, valid=valid) from error


def write_file(file: str, text: str) -> None:
    """Write a file that appears whole or not at all."""
    try:
        write_text(Path(file), text)
    except OSError as error:
        raise RuntimeError(f"{file}: cannot be written") from error
