"""Fields of a scenario's sections: numbers in a range, vectors, one value for all joints or one each.

Every section is `Strict`: unknown keys, wrong types, non-finite numbers and values out of range raise.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.readers.fields import Strict as Strict

Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(strict=True, ge=0.0, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0.0, allow_inf_nan=False)]
Vector3 = tuple[Finite, Finite, Finite]
Six = tuple[Finite, Finite, Finite, Finite, Finite, Finite]
PerJoint = NonNegative | Annotated[tuple[NonNegative, ...], Field(min_length=1)]
"""One number for all joints, or one each."""


def per_joint(value: float | tuple[float, ...], n: int, where: str) -> NDArray[np.float64]:
    """Expand one number or n numbers to shape (n,).

    Raises:
        ScenarioError: if there are neither one nor n.
    """
    array = np.atleast_1d(np.asarray(value, dtype=float))
    if array.shape not in ((1,), (n,)):
        raise ScenarioError(f"{len(array)} values", where=where, valid=f"one, or one per joint ({n})")
    return np.broadcast_to(array, (n,)).copy()
