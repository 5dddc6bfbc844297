"""What must hold of every compiled robot (theory.md §2), and of two that are one robot, tried at random states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Library
from thunder_dynamics.algorithms.base_parameters import find_base_parameters, parameter_names
from thunder_dynamics.errors import DimensionError
from thunder_dynamics.inertia import N_PARAMETERS, pi_from_pseudo_inertia, pseudo_inertia, symmetric_from_six
from thunder_dynamics.spatial import vee

FloatArray = NDArray[np.float64]

STATES = 10

EXACT = 1e-10
"""Limit of relative errors where both sides are sums of the same products."""

DIFFERENCED = 1e-7
"""Limit where one side is a difference: of fourth order, with steps of 1e-3, which leaves some 1e-10."""

STEP = 1e-3
"""[rad or m]."""

SCALE = 1e-3
"""Least size that errors are taken relative to [SI]: of what is zero everywhere."""

POSITIVE = 1e-12
"""Least eigenvalue of M over the largest: those of arms are above 1e-6."""


@dataclass(frozen=True)
class Finding:
    """What was looked at, by how much it is wrong, and how much is allowed."""

    what: str
    error: float
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the error is within the limit; one that is no number is not."""
        return self.error <= self.limit


@dataclass(frozen=True, eq=False)
class _State:
    """A robot at some state: `s["M"]` is its function M there, of what that function takes.

    Attributes:
        library: Compiled; run-time parameters have the robot file's values.
        q: (n,), as are the others.
    """

    library: Library
    q: FloatArray
    qd: FloatArray
    qd_r: FloatArray
    qdd_r: FloatArray

    def __getitem__(self, name: str) -> FloatArray:
        have = {"q": self.q, "dq": self.qd, "dq_r": self.qd_r, "ddq_r": self.qdd_r, "ddq": self.qdd_r}
        inputs = [entry.name for entry in self.library.function(name).inputs]
        return np.asarray(self.library.evaluate(name, *(have[one] for one in inputs if one in have)))

    @property
    def effort(self) -> FloatArray:
        """M q̈_r + C q̇_r + G."""
        return np.asarray(self["M"] @ self.qdd_r + self["C"] @ self.qd_r + self["G"].ravel())

    def of_links(self, name: str) -> list[FloatArray]:
        """A function of every link, by the name before its number."""
        return [self[f"{name}{i + 1}"] for i in range(len(self.q))]

    def along(self, value: Value, direction: FloatArray) -> FloatArray:
        """Derivative of a value in a direction of q, by central differences of fourth order."""
        steps = zip((1.0, -8.0, 8.0, -1.0), (-2.0, -1.0, 1.0, 2.0), strict=True)
        ends = [weight * value(replace(self, q=self.q + k * STEP * direction)) for weight, k in steps]
        return np.asarray(sum(ends) / (12.0 * STEP))


Value = Callable[[_State], Any]


def check_identities(library: Library, gravity: Sequence[float], seed: int = 0) -> list[Finding]:
    """Try the identities of a compiled robot at random states within its position limits.

    Args:
        library: Compiled; run-time parameters have the robot file's values.
        gravity: In the world frame [m/s²].
        seed: Of the states.
    """
    states, rotors = random_states(library, seed), np.nan_to_num(library.rotor_inertia)
    if "M_rigid" in library.functions:  # motors behind springs are no part of M
        rotors = np.where(np.diag(states[0]["M_rigid"] - states[0]["M"]) > 0.0, 0.0, rotors)
    plus, pi = " + rotors" if rotors.any() else "", np.asarray(library.pi)
    base = find_base_parameters(
        lambda *state: library.evaluate("Y", *state), parameter_names(library.link_names), library.n_joints
    )
    kept, pi_b = list(base.kept), base.K @ pi

    def own(s: _State) -> FloatArray:
        return replace(s, qd_r=s.qd).effort - rotors * s.qdd_r

    def definite(s: _State) -> float:
        eigenvalues = np.linalg.eigvalsh(s["M"])
        return float(np.maximum(0.0, POSITIVE - eigenvalues[0] / (eigenvalues[-1] or 1.0)))

    identities: list[tuple[str, float, Value, Value]] = [
        (f"Yr·π{plus} = M·q̈_r + C·q̇_r + G", EXACT, lambda s: s["Yr"] @ pi + rotors * s.qdd_r, lambda s: s.effort),
        (f"Y·π{plus} = M·q̈ + C·q̇ + G", EXACT, lambda s: s["Y"] @ pi, own),
        ("Yr = reg_M + reg_C + reg_G", EXACT, lambda s: s["Yr"], lambda s: s["reg_M"] + s["reg_C"] + s["reg_G"]),
        ("Yr is zero where a joint does not move a link", EXACT, _beside, lambda s: 0.0),
        ("M = Mᵀ", EXACT, lambda s: s["M"], lambda s: s["M"].T),
        (f"M = Σ JᵢᵀIᵢJᵢ{plus}", EXACT, lambda s: s["M"], lambda s: _mass_matrix(s) + np.diag(rotors)),
        ("C = Christoffel symbols of M", DIFFERENCED, lambda s: s["C"], _christoffel),
        ("M_dot = d/dt M", DIFFERENCED, lambda s: s["M_dot"], lambda s: s.along(lambda at: at["M"], s.qd)),
        ("G = ∂U/∂q", DIFFERENCED, lambda s: s["G"].ravel(), lambda s: _gravity(s, np.asarray(gravity))),
        ("J_ee·q̇ = d/dt T_0_ee", DIFFERENCED, lambda s: s["J_ee"] @ s.qd, lambda s: _twist(s, "T_0_ee")),
        (
            "Jᵢ·q̇ = d/dt T_0_i",
            DIFFERENCED,
            lambda s: np.array(s.of_links("J_")) @ s.qd,
            lambda s: np.array([_twist(s, f"T_0_{i + 1}") for i in range(len(s.q))]),
        ),
        ("J_ee_dot = d/dt J_ee", DIFFERENCED, lambda s: s["J_ee_dot"], lambda s: s.along(lambda at: at["J_ee"], s.qd)),
        (f"Y·π = Y_b·K·π, {len(kept)} base parameters", EXACT, lambda s: s["Y"][:, kept] @ pi_b, own),
    ]
    found = [compare(what, limit, left, right, states) for what, limit, left, right in identities]
    found.insert(-1, Finding("M ≻ 0", float(np.max([definite(s) for s in states])), 0.0))
    return found


def check_agreement(library: Library, other: Library, limit: float, seed: int = 0) -> list[Finding]:
    """Compare two compiled robots that should be the same: kinematics, dynamics and limits.

    Joints and links may have other names and the links other frames; base, end effector and gravity are the same.

    Args:
        library: One.
        other: Of as many joints, in the same order.
        limit: Of relative errors.
        seed: Of the states.

    Raises:
        DimensionError: if they have another number of joints.
    """
    if library.n_joints != other.n_joints:
        raise DimensionError(f"{other.n_joints} joints", where=other.robot, valid=f"{library.n_joints}")
    states = random_states(library, seed)
    functions = ("T_0_ee", "J_ee", "M", "C", "G", *({"dl"} & {*library.functions} & {*other.functions}))

    def value(one: Library, name: str) -> Value:
        return lambda s: replace(s, library=one)[name]

    found = [compare(name, limit, value(library, name), value(other, name), states) for name in functions]
    for name in ("position_lower", "position_upper", "velocity_limit", "acceleration_limit", "effort_limit"):
        mine, theirs = getattr(library, name), getattr(other, name)
        apart = mine != theirs  # both may be infinite
        error = float(np.abs(mine[apart] / theirs[apart] - 1.0).max(initial=0.0))
        found.append(Finding(name.replace("_", " "), error, limit))
    return found


def random_states(library: Library, seed: int) -> list[_State]:
    """Within the position limits, within half a turn or 1 m without; velocities and accelerations of order one."""
    rng = np.random.default_rng(seed)
    lower, upper = np.fmax(library.position_lower, -np.pi), np.fmin(library.position_upper, np.pi)
    draws = rng.uniform(-2.0, 2.0, (STATES, 3, library.n_joints))
    return [_State(library, rng.uniform(lower, upper), *rest) for rest in draws]


def compare(what: str, limit: float, left: Value, right: Value, states: Sequence[_State]) -> Finding:
    """Largest |left − right| over the largest |right|, of all states."""
    sides = [(left(state), right(state)) for state in states]
    error = np.max([np.abs(a - b).max() for a, b in sides])  # unlike Python's, that of no number is none
    size = np.max([np.abs(b).max() for _, b in sides])
    return Finding(what, float(error / max(size, SCALE)), limit)


def _beside(s: _State) -> FloatArray:
    """What Yr has where column j of J_i is zero: joint j does not move link i."""
    Y = s["Yr"].reshape(len(s.q), -1, N_PARAMETERS)
    moves = np.array([np.abs(J).max(axis=0) > 0.0 for J in s.of_links("J_")])
    return np.where(moves.T[:, :, None], 0.0, Y)


def _pseudo_inertias(s: _State) -> FloatArray:
    """∫ x xᵀ dm of every link in the world, x = [p; 1], (n, 4, 4)."""
    T = np.array(s.of_links("T_0_"))
    return T @ pseudo_inertia(np.reshape(s.library.pi, (-1, N_PARAMETERS))) @ T.transpose(0, 2, 1)


def _mass_matrix(s: _State) -> FloatArray:
    """Σ JᵀIJ in world axes about the world's origin, by J_i and T_0_i."""
    M = np.zeros((len(s.q),) * 2)
    for P, J, T in zip(_pseudo_inertias(s), s.of_links("J_"), s.of_links("T_0_"), strict=True):
        pi = pi_from_pseudo_inertia(P)
        linear = J[:3] + np.cross(T[:3, 3], J[3:], axis=0)  # of the point of the link at the world's origin
        cross = np.cross(pi[1:4], linear, axis=0)
        M += pi[0] * linear.T @ linear + J[3:].T @ cross + cross.T @ J[3:]
        M += J[3:].T @ np.array(symmetric_from_six(pi[4:])) @ J[3:]
    return M


def _gravity(s: _State, gravity: FloatArray) -> FloatArray:
    def potential(at: _State) -> float:
        return -float(_pseudo_inertias(at)[:, :3, 3].sum(axis=0) @ gravity)

    return np.array([s.along(potential, axis) for axis in np.eye(len(s.q))])


def _christoffel(s: _State) -> FloatArray:
    """½ Σ_k (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) q̇_k."""
    D = np.array([s.along(lambda at: at["M"], axis) for axis in np.eye(len(s.q))])  # k, i, j
    along, across = np.einsum("kij,k->ij", D, s.qd), np.einsum("jik,k->ij", D, s.qd)
    return np.asarray(0.5 * (along + across - across.T))


def _twist(s: _State, frame: str) -> FloatArray:
    rate = s.along(lambda at: at[frame], s.qd)
    return np.array([*rate[:3, 3], *vee(rate[:3, :3] @ s[frame][:3, :3].T)])
