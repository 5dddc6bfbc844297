"""What a Python robot calculates with."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

class Arguments:
    """Named vectors: `set` copies in, `get` copies out."""

    values: NDArray[np.float64]
    def __init__(self, defaults: Mapping[str, ArrayLike]) -> None: ...
    def set(self, name: str, value: ArrayLike) -> None: ...
    def get(self, name: str) -> NDArray[np.float64]: ...

class Library:
    """A generated library. It stays loaded."""

    def __init__(self, path: str) -> None: ...
    @property
    def hash(self) -> str: ...

class Calls(Arguments):
    """The arguments of one robot, and the functions of its library."""

    def __init__(self, library: Library, others: Mapping[str, int]) -> None: ...
    def vector(self, name: str) -> NDArray[np.float64]: ...
    def matrix(self, name: str) -> NDArray[np.float64]: ...
