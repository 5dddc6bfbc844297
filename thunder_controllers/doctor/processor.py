"""Calls everything that a library computes, as a program of its own: an instruction that is missing ends a process."""

from __future__ import annotations

import sys
from contextlib import suppress

import numpy as np

from thunder_controllers.fields import FloatArray
from thunder_controllers.host import Entry, FreeLaw, Library
from thunder_dynamics.errors import LawError


def call_all(path: str) -> None:
    """Evaluate every function of a library, and step every law, once; what comes out is looked at by nobody."""
    library = Library(path)
    zeros = np.zeros(library.n_joints)
    for name in library.functions:
        with suppress(LawError):  # singular there
            library.evaluate(name, *(entry.defaults for entry in library.function(name).inputs))
    for name in library.laws:
        with suppress(LawError):  # not finite there
            reference = _flat(library.law(name).reference)
            FreeLaw(library, law=name).step(zeros, zeros, zeros, reference, 1e-3)


def _flat(entries: tuple[Entry, ...]) -> FloatArray:
    return np.concatenate([entry.defaults.ravel(order="F") for entry in entries])


if __name__ == "__main__":
    call_all(sys.argv[1])
