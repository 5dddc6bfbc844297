"""Which parameters adapt, of links and of joints, by one option: adapted_parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.inertia import REG_NAMES
from thunder_dynamics.law import Option, Options
from thunder_dynamics.model import RobotModel

SX = ca.SX

Mask = Mapping[str, NDArray[np.bool_]]
"""Which entries adapt, by the names of the states that have the estimates; all of a state that is not there."""

PARAMETERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "pi_hat": ("adaptation", REG_NAMES),
    "friction_hat": ("friction", ("viscous", "coulomb")),
    "rotor_hat": ("rotors", ("rotor",)),
    "offset_hat": ("offsets", ("offset",)),
}
"""By the states that have the estimates: the option that says whether they are estimated, and names of parameters."""

GROUPS = {
    "all": tuple(name for _, names in PARAMETERS.values() for name in names),
    "mass": REG_NAMES[:1],
    "com": REG_NAMES[1:4],
    "inertia": REG_NAMES[4:],
    "friction": PARAMETERS["friction_hat"][1],
}
"""Names for several parameters."""

OPTION = Option(
    "adapted_parameters",
    "Parameters that adapt of what is adapted, by names such as m, mass, com, inertia, viscous, coulomb, rotor, offset "
    "or all, of one link or joint by a name such as joint5.coulomb; by default all.",
)


def mask_of(model: RobotModel, links: Sequence[int], options: Options) -> Mask:
    """What the option says of all that other options let adapt.

    Args:
        links: Indices of the adapted ones.
        options: Of a law, those of PARAMETERS and OPTION among them.

    Raises:
        LawError: for a name of nothing that is adapted, or where nothing is left of what another option lets adapt.
    """
    given = options[OPTION.name]
    texts = [given] if isinstance(given, str) else ["all"] if given is None else [*map(str, given)]
    owners = dict.fromkeys(PARAMETERS, model.joint_names) | {"pi_hat": tuple(model.link_names[i] for i in links)}
    is_adapted = {state: options[option] not in ("none", "model") for state, (option, _) in PARAMETERS.items()}
    tables = {
        state: np.zeros((len(owners[state]), len(names)), dtype=bool)
        for state, (_, names) in PARAMETERS.items()
        if is_adapted[state]
    }
    unknown = [text for text in texts if not any(_named(text, owners[state], state).any() for state in tables)]
    if given is not None and (unknown or not tables):
        raise options.error(f"{OPTION.name} {unknown}", _valid(is_adapted))
    for state, table in tables.items():
        for text in texts:
            table |= _named(text, owners[state], state)
        if not table.any():
            option, names = PARAMETERS[state]
            what = f"{option}={options[option]}, of which {OPTION.name} {texts} leaves nothing"
            raise options.error(what, f"one of {', '.join(names)} among them, or {option} without adaptation")
    return {state: table.ravel("C" if state == "pi_hat" else "F") for state, table in tables.items()}


def chosen_of(mask: NDArray[np.bool_], changed: SX, stays: SX) -> SX:
    """A vector of what adapts and of what stays."""
    entries = zip(mask, ca.vertsplit(changed), ca.vertsplit(stays), strict=True)
    return SX(ca.vertcat(*(new if adapts else old for adapts, new, old in entries)))


def _named(text: str, owners: Sequence[str], state: str) -> NDArray[np.bool_]:
    """Of a state's parameters, (owners, names), those that a text names."""
    owner, _, name = text.rpartition(".")
    rows = [owner in ("", one) for one in owners]
    return np.outer(rows, np.isin(PARAMETERS[state][1], GROUPS.get(name, (name,))))


def _valid(is_adapted: Mapping[str, bool]) -> str:
    """Names that may be given, and what else may be where other options say so."""
    names = [*GROUPS, *(name for state, (_, own) in PARAMETERS.items() if is_adapted[state] for name in own)]
    others = [option for state, (option, _) in PARAMETERS.items() if not is_adapted[state]]
    more = f"; those of {', '.join(others)} where these adapt" if others else ""
    return f"{', '.join(names)}, or one of an adapted link or a joint as in 'joint.coulomb'{more}"
