"""Kinetic and potential energy, linear in the inertial parameters, and the centre of mass with its Jacobian.

E_kin = ½ q̇ᵀ M q̇ = Σ ½ m v·v + h·(v × ω) + ½ ω·I ω, summed over the links in their frames, and
E_pot = −Σ g₀·(m p + R h), zero at the origin of the world.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from thunder_dynamics.algorithms.dynamics import Dynamics
from thunder_dynamics.algorithms.kinematics import Kinematics
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.spatial import cross, dot, reciprocal

SX = ca.SX


def kinetic_energy_regressor(velocities: Sequence[tuple[SX, SX]]) -> SX:
    """Row with row · π = ½ q̇ᵀ M q̇ [J], shape (1, 10 n).

    Args:
        velocities: Linear and angular velocity of every link at its origin, in its frame.
    """
    blocks = []
    for v, w in velocities:
        first = cross(v, w)
        products = [0.5 * w[0] ** 2, w[0] * w[1], w[0] * w[2], 0.5 * w[1] ** 2, w[1] * w[2], 0.5 * w[2] ** 2]
        blocks.append(ca.horzcat(0.5 * dot(v, v), first.T, *products))
    return ca.horzcat(*blocks)


def potential_energy_regressor(kinematics: Kinematics, gravity: Sequence[SX | float]) -> SX:
    """Row with row · π = −Σ g₀ · (m p + R h) [J], shape (1, 10 n): what is carried along is g₀ · p and Rᵀ g₀."""
    g_world, (base_rotation, base_origin) = SX(ca.vertcat(*gravity)), kinematics.poses[0]
    base = (dot(g_world, base_origin), base_rotation.T @ g_world)
    along: list[tuple[SX, SX]] = []
    for link, X in zip(kinematics.model.links, kinematics.transforms, strict=True):
        work, g = along[link.parent] if link.parent >= 0 else base
        along.append((work + dot(g, X.translation), X.to_link(g)))
    zeros = SX.zeros(1, N_PARAMETERS - 4)
    return -ca.horzcat(*(ca.horzcat(work, g.T, zeros) for work, g in along))


class CentreOfMass:
    """The centre of mass of a robot in the world."""

    def __init__(self, dynamics: Dynamics) -> None:
        self.dynamics = dynamics
        self.kinematics = dynamics.kinematics
        self._roots = [i for i, link in enumerate(dynamics.model.links) if link.parent < 0]

    @property
    def _inverse_mass(self) -> SX:
        masses = (self.dynamics.composite_inertias[i][0] for i in self._roots)
        return SX(reciprocal(sum(masses, start=SX(0))))

    def position(self) -> SX:
        """p_com, shape (3,), [m]."""
        rotation, origin = self.kinematics.poses[0]
        first_moment = SX.zeros(3)
        for i in self._roots:
            mass, h, _ = self.dynamics.composite_inertias[i]
            X = self.kinematics.transforms[i]
            first_moment += X.to_parent(h) + mass * X.translation
        return origin + rotation @ first_moment * self._inverse_mass

    def jacobian(self) -> SX:
        """J_com with ṗ_com = J_com v, shape (3, nv): the linear momentum of the moved subtree, per unit of velocity."""
        J = SX.zeros(3, self.dynamics.model.nv)
        for i in range(self.dynamics.model.n):
            rotation = self.kinematics.poses[i + 1][0]
            for k, screw in self.kinematics.screws(i, i):
                force, _ = self.dynamics.composite_wrench(i, *screw)
                J[:, k] += rotation @ force * self._inverse_mass
        return J
