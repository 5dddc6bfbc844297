"""What must hold of every compiled robot (theory.md §2), and of two that are one robot, tried at random states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class _State:
    """Everything that the functions take, (n,) each."""

    q: FloatArray
    qd: FloatArray
    qd_r: FloatArray
    qdd_r: FloatArray


def check_identities(library: Library, gravity: Sequence[float], seed: int = 0) -> list[Finding]:
    """Try the identities of a compiled robot at random states within its position limits.

    Args:
        library: Compiled; run-time parameters have the robot file's values.
        gravity: In the world frame [m/s²].
        seed: Of the states.
    """
    states = random_states(library, seed)
    get, rotors = library.evaluate, np.nan_to_num(library.rotor_inertia)
    plus = " + rotors" if rotors.any() else ""
    exact = [
        (
            f"Yr·π{plus} = M·q̈_r + C·q̇_r + G",
            lambda s: _regressor(library, s) @ library.pi + rotors * s.qdd_r,
            lambda s: _effort(library, s),
        ),
        (
            f"Y·π{plus} = M·q̈ + C·q̇ + G",
            lambda s: get("Y", s.q, s.qd, s.qdd_r) @ library.pi + rotors * s.qdd_r,
            lambda s: _own(library, s),
        ),
        ("Yr = reg_M + reg_C + reg_G", lambda s: _regressor(library, s), lambda s: _parts(library, s)),
        ("Yr is zero where a joint does not move a link", lambda s: _beside(library, s), lambda s: 0.0),
        ("M = Mᵀ", lambda s: get("M", s.q), lambda s: get("M", s.q).T),
        (
            f"M = Σ JᵢᵀIᵢJᵢ{plus}",
            lambda s: get("M", s.q),
            lambda s: _mass_matrix(library, s.q) + np.diag(rotors),
        ),
    ]
    differenced = [
        ("C = Christoffel symbols of M", lambda s: get("C", s.q, s.qd), lambda s: _christoffel(library, s)),
        ("M_dot = d/dt M", lambda s: get("M_dot", s.q, s.qd), lambda s: along(lambda q: get("M", q), s.q, s.qd)),
        ("G = ∂U/∂q", lambda s: get("G", s.q).ravel(), lambda s: _gravity(library, s.q, np.asarray(gravity))),
        ("J_ee·q̇ = d/dt T_0_ee", lambda s: get("J_ee", s.q) @ s.qd, lambda s: _twist(library, "T_0_ee", s)),
        ("Jᵢ·q̇ = d/dt T_0_i", lambda s: _twists(library, s), lambda s: _differenced_twists(library, s)),
        ("J_ee_dot = d/dt J_ee", lambda s: get("J_ee_dot", s.q, s.qd), lambda s: _jacobian_dot(library, s)),
    ]
    found = [compare(what, EXACT, left, right, states) for what, left, right in exact]
    found += [compare(what, DIFFERENCED, left, right, states) for what, left, right in differenced]
    return [*found, _positive(library, states), _base(library, states)]


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

    def value(one: Library, name: str) -> Callable[[_State], FloatArray]:
        arguments = [entry.name for entry in one.function(name).inputs if not entry.name.startswith("par_")]
        return lambda s: np.asarray(one.evaluate(name, *(s.q if a == "q" else s.qd for a in arguments)))

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
    return [_State(rng.uniform(lower, upper), *rest) for rest in draws]


def compare(
    what: str,
    limit: float,
    left: Callable[[_State], FloatArray],
    right: Callable[[_State], FloatArray | float],
    states: Sequence[_State],
) -> Finding:
    """Largest |left − right| over the largest |right|, of all states."""
    sides = [(left(state), right(state)) for state in states]
    error = max(float(np.abs(a - b).max()) for a, b in sides)
    size = max(float(np.abs(b).max()) for _, b in sides)
    return Finding(what, error / max(size, SCALE), limit)


def along(value: Callable[[FloatArray], FloatArray], q: FloatArray, direction: FloatArray) -> FloatArray:
    """Derivative of a value of q in a direction, by central differences of fourth order."""
    steps = zip((1.0, -8.0, 8.0, -1.0), (-2.0, -1.0, 1.0, 2.0), strict=True)
    return np.asarray(sum(weight * value(q + k * STEP * direction) for weight, k in steps) / (12.0 * STEP))


def _regressor(library: Library, s: _State) -> FloatArray:
    return np.asarray(library.evaluate("Yr", s.q, s.qd, s.qd_r, s.qdd_r))


def _effort(library: Library, s: _State) -> FloatArray:
    get = library.evaluate
    return np.asarray(get("M", s.q) @ s.qdd_r + get("C", s.q, s.qd) @ s.qd_r + get("G", s.q).ravel())


def _own(library: Library, s: _State) -> FloatArray:
    return _effort(library, _State(s.q, s.qd, s.qd, s.qdd_r))


def _parts(library: Library, s: _State) -> FloatArray:
    get = library.evaluate
    return np.asarray(get("reg_M", s.q, s.qdd_r) + get("reg_C", s.q, s.qd, s.qd_r) + get("reg_G", s.q))


def _beside(library: Library, s: _State) -> FloatArray:
    """What Yr has where column j of J_i is zero: joint j does not move link i."""
    Y = _regressor(library, s).reshape(library.n_joints, -1, N_PARAMETERS)
    moves = np.array([np.abs(library.evaluate(f"J_{i + 1}", s.q)).max(axis=0) > 0.0 for i in range(Y.shape[1])])
    return np.where(moves.T[:, :, None], 0.0, Y)


def _pseudo_inertias(library: Library, q: FloatArray) -> list[FloatArray]:
    """∫ x xᵀ dm of every link in the world, x = [p; 1]."""
    poses = [library.evaluate(f"T_0_{i + 1}", q) for i in range(library.n_joints)]
    bodies = [pseudo_inertia(pi) for pi in np.reshape(library.pi, (-1, N_PARAMETERS))]
    return [T @ P @ T.T for T, P in zip(poses, bodies, strict=True)]


def _mass_matrix(library: Library, q: FloatArray) -> FloatArray:
    """Σ JᵀIJ in world axes about the world's origin, by J_i and T_0_i."""
    M = np.zeros((library.n_joints,) * 2)
    for i, P in enumerate(_pseudo_inertias(library, q)):
        pi = pi_from_pseudo_inertia(P)
        J, p = library.evaluate(f"J_{i + 1}", q), library.evaluate(f"T_0_{i + 1}", q)[:3, 3]
        linear = J[:3] + np.cross(p, J[3:], axis=0)  # of the point of the link at the world's origin
        cross = np.cross(pi[1:4], linear, axis=0)
        M += pi[0] * linear.T @ linear + J[3:].T @ cross + cross.T @ J[3:]
        M += J[3:].T @ np.array(symmetric_from_six(pi[4:])) @ J[3:]
    return M


def _gravity(library: Library, q: FloatArray, gravity: FloatArray) -> FloatArray:
    def potential(q: FloatArray) -> FloatArray:
        return np.asarray(-sum(P[:3, 3] @ gravity for P in _pseudo_inertias(library, q)))

    return np.array([along(potential, q, axis) for axis in np.eye(len(q))])


def _christoffel(library: Library, s: _State) -> FloatArray:
    """½ Σ_k (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) q̇_k."""
    D = np.array([along(lambda q: library.evaluate("M", q), s.q, axis) for axis in np.eye(len(s.q))])  # k, i, j
    return np.asarray(
        0.5 * (np.einsum("kij,k->ij", D, s.qd) + np.einsum("jik,k->ij", D, s.qd) - np.einsum("ijk,k->ij", D, s.qd))
    )


def _twists(library: Library, s: _State) -> FloatArray:
    return np.array([library.evaluate(f"J_{i + 1}", s.q) @ s.qd for i in range(library.n_joints)])


def _differenced_twists(library: Library, s: _State) -> FloatArray:
    return np.array([_twist(library, f"T_0_{i + 1}", s) for i in range(library.n_joints)])


def _twist(library: Library, frame: str, s: _State) -> FloatArray:
    T = library.evaluate(frame, s.q)
    rate = along(lambda q: library.evaluate(frame, q), s.q, s.qd)
    return np.array([*rate[:3, 3], *vee(rate[:3, :3] @ T[:3, :3].T)])


def _jacobian_dot(library: Library, s: _State) -> FloatArray:
    return along(lambda q: library.evaluate("J_ee", q), s.q, s.qd)


def _positive(library: Library, states: Sequence[_State]) -> Finding:
    """How far the least eigenvalue of M is below what is positive."""
    values = [np.linalg.eigvalsh(library.evaluate("M", s.q)) for s in states]
    return Finding("M ≻ 0", max(0.0, *(float(POSITIVE - v[0] / v[-1]) for v in values)), 0.0)


def _base(library: Library, states: Sequence[_State]) -> Finding:
    names = parameter_names(library.link_names)
    base = find_base_parameters(lambda *state: library.evaluate("Y", *state), names, library.n_joints)
    pi_b, kept = base.K @ library.pi, list(base.kept)
    return compare(
        f"Y·π = Y_b·K·π, {len(kept)} base parameters",
        EXACT,
        lambda s: library.evaluate("Y", s.q, s.qd, s.qdd_r)[:, kept] @ pi_b,
        lambda s: _own(library, s) - np.nan_to_num(library.rotor_inertia) * s.qdd_r,
        states,
    )
