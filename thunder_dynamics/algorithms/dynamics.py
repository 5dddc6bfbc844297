"""Symbolic rigid-body dynamics of a tree: the passivity recursion, M, the Christoffel C, G.

With ω, ω_r the angular velocities belonging to q̇ and q̇_r, the recursion carries, in body frames, the pair (a, α) such
that the force that moves a mass at the point r of a link as M q̈_r + C q̇_r + G asks is f = m (a + B r),

    B = S(α) + ω ω_rᵀ − (ω·ω_r) 1.

The linear velocities cancel out of a, by the Jacobi identity, so neither v nor v_r is ever formed: this is the
recursion of theory.md §2, expanded once by hand. With q̇_r = q̇ it is the classical recursive Newton–Euler algorithm.
Here q̇, q̇_r, q̈_r stand for the velocities of the model, v where q̇ = N(q) v is another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from thunder_dynamics.algorithms.drives import rotor_inertias
from thunder_dynamics.algorithms.joint_motion import Screw, power
from thunder_dynamics.algorithms.kinematics import Kinematics, Parameters
from thunder_dynamics.inertia import N_PARAMETERS, reg_from_dyn, symmetric_from_six
from thunder_dynamics.spatial import cross, matrix, skew

SX = ca.SX


@dataclass(frozen=True)
class LinkMotion:
    """What the regressor and the inverse dynamics need of a link, in its own frame.

    Attributes:
        a: Force per unit mass at the origin, a_lin + ω_r × v, gravity included.
        alpha: Angular part of a_i, theory.md §2.
        omega: Angular velocity of q̇.
        omega_r: Angular velocity of q̇_r.
        B: Field gradient, shape (3, 3): the force per unit mass at r is a + B r.
    """

    a: SX
    alpha: SX
    omega: SX
    omega_r: SX
    B: SX


def field_gradient(alpha: SX, omega: SX, omega_r: SX) -> SX:
    """B = S(α) + ω ω_rᵀ − (ω·ω_r) 1, shape (3, 3)."""
    o = [[omega[i] * omega_r[j] for j in range(3)] for i in range(3)]
    gradient = matrix(
        [
            [-(o[1][1] + o[2][2]), o[0][1] - alpha[2], o[0][2] + alpha[1]],
            [o[1][0] + alpha[2], -(o[0][0] + o[2][2]), o[1][2] - alpha[0]],
            [o[2][0] - alpha[1], o[2][1] + alpha[0], -(o[0][0] + o[1][1])],
        ]
    )
    return SX(gradient)


def propagate(kinematics: Kinematics, qd: SX, qd_r: SX, qdd_r: SX, gravity: Sequence[SX | float]) -> list[LinkMotion]:
    """Forward pass over the tree: the `LinkMotion` of every link.

    a_i = R_iᵀ (a_p + B_p p_i), then, with s_v, s_w the halves of S and ω⁻, ω_r⁻ what the parent hands on:
    ω = ω⁻ + s_w q̇,  ω_r = ω_r⁻ + s_w q̇_r,  α += s_w q̈_r + s_w° q̇_r + ω × s_w q̇_r,
    a += s_v q̈_r + s_v° q̇_r + ω × s_v q̇_r + ω_r⁻ × s_v q̇, where ° is the rate of the components.
    """
    zero = SX.zeros(3)
    base = LinkMotion(-(kinematics.base_rotation.T @ ca.vertcat(*gravity)), zero, zero, zero, SX.zeros(3, 3))
    motions: list[LinkMotion] = []
    rates = kinematics.subspace_rates(qd)
    for i, link in enumerate(kinematics.model.links):
        parent = motions[link.parent] if link.parent >= 0 else base
        X = kinematics.transforms[i]
        a = X.to_link(parent.a + parent.B @ X.translation)
        alpha, omega, omega_r = (X.to_link(v) for v in (parent.alpha, parent.omega, parent.omega_r))
        columns = list(zip(kinematics.model.v_ranges[i], kinematics.subspaces[i], rates[i], strict=True))
        for k, (s_v, s_w), _ in columns:
            omega, a = omega + s_w * qd[k], a + cross(omega_r, s_v) * qd[k]
        for k, (s_v, s_w), (rate_v, rate_w) in columns:
            omega_r = omega_r + s_w * qd_r[k]
            a = a + s_v * qdd_r[k] + (rate_v + cross(omega, s_v)) * qd_r[k]
            alpha = alpha + s_w * qdd_r[k] + (rate_w + cross(omega, s_w)) * qd_r[k]
        motions.append(LinkMotion(a, alpha, omega, omega_r, field_gradient(alpha, omega, omega_r)))
    return motions


def _body(pi: SX) -> tuple[SX, SX, SX, SX]:
    """m, h = m c, I and the second moment of mass Σ = ∫ r rᵀ dm = ½ tr(I) 1 − I of a body, from its π (10,)."""
    inertia = SX(matrix(symmetric_from_six(pi[4:10])))
    return pi[0], pi[1:4], inertia, 0.5 * ca.trace(inertia) * SX.eye(3) - inertia


def link_wrench(motion: LinkMotion, pi: SX) -> tuple[SX, SX]:
    """Force and moment about the origin that move one body with parameters π (10,): f = m a + B h, n = h × a + ….

    The rotational part is I α − ω × (Σ ω_r).
    """
    mass, h, inertia, second_moment = _body(pi)
    force = mass * motion.a + motion.B @ h
    moment = cross(h, motion.a) + inertia @ motion.alpha - cross(motion.omega, second_moment @ motion.omega_r)
    return force, moment


def inverse_dynamics(kinematics: Kinematics, motions: Sequence[LinkMotion], pi: SX, links: Iterable[int]) -> SX:
    """τ = M q̈_r + C q̇_r + G of the bodies of the given links alone, without rotors, shape (nv,), in O(n).

    C is that in Christoffel form.

    Args:
        motions: From `propagate`.
        pi: All parameters, REG order, shape (10 n,).
        links: Indices of the links whose inertia counts.
    """
    model = kinematics.model
    chosen = set(links)
    wrenches: list[tuple[SX, SX] | None] = [
        link_wrench(motions[i], pi[N_PARAMETERS * i : N_PARAMETERS * (i + 1)]) if i in chosen else None
        for i in range(model.n)
    ]
    tau = SX.zeros(model.nv)
    for i in reversed(range(model.n)):
        wrench = wrenches[i]
        if wrench is None:
            continue
        for k, screw in kinematics.screws(i, i):
            tau[k] += power(screw, wrench)
        parent = model.links[i].parent
        if parent >= 0:
            f, n = kinematics.transforms[i].wrench_to_parent(*wrench)
            other = wrenches[parent]
            wrenches[parent] = (f, n) if other is None else (other[0] + f, other[1] + n)
    return tau


def inertial_parameters(parameters: Parameters, n: int) -> SX:
    """π of all links in REG order, shape (10 n,), numeric where the model is numeric."""
    dyn = parameters["par_DYN"]
    return ca.vertcat(*(SX(v) for i in range(n) for v in reg_from_dyn(dyn[N_PARAMETERS * i : N_PARAMETERS * (i + 1)])))


Body = tuple[SX, SX, SX]
"""m, h = m c and second moment Σ = ∫ r rᵀ dm of a body."""

Operator = tuple[SX, SX]
"""l and B₂₂ of B(I, v) = [[0, −S(l)], [0, B₂₂]], which makes a wrench of a twist; theory.md §2."""


def christoffel_operator(body: Body, twist: Screw) -> Operator:
    """B(I, v): l = m v + ω × h, B₂₂ = −S(h)S(v) − S(ω)Σ. It is linear in I and in v."""
    (mass, h, second), (v, w) = body, twist
    return mass * v + cross(w, h), -(SX(skew(h)) @ SX(skew(v))) - SX(skew(w)) @ second


def applied(operator: Operator, twist: Screw) -> Screw:
    """B times a twist: force ω × l, moment B₂₂ ω."""
    return cross(twist[1], operator[0]), operator[1] @ twist[1]


def transposed_applied(body: Body, twist: Screw, screw: Screw) -> SX:
    """B(I, v)ᵀ S, a moment, of a body and its twist, without forming B."""
    (mass, h, second), (v, w), (linear, angular) = body, twist, screw
    return SX(cross(mass * v + cross(w, h), linear) - cross(v, cross(h, angular)) + second @ cross(w, angular))


def motion_cross(twist: Screw, other: Screw) -> Screw:
    """v × of two twists."""
    (v, w), (linear, angular) = twist, other
    return cross(w, linear) + cross(v, angular), cross(w, angular)


def added(*pairs: tuple[SX, SX]) -> tuple[SX, SX]:
    """The sum of wrenches, twists or operators."""
    first, second = pairs[0]
    for other in pairs[1:]:
        first, second = first + other[0], second + other[1]
    return first, second


class Dynamics:
    """M, C and G by composite bodies, in body frames: O(n²) for a chain.

    A composite body of link i is the subtree that joint i moves, frozen. It is described by its mass m, first moment
    h and inertia I about the origin of i, and by l and B₂₂ of the Christoffel operator
    B = [[0, −S(l)], [0, −S(h)S(v) − S(ω)Σ]] of theory.md §2 (expanded with S(a×b) = baᵀ − abᵀ, so that no ∂M/∂q and no
    general 6×6 product appears).
    """

    def __init__(self, kinematics: Kinematics, pi: SX) -> None:
        self.kinematics = kinematics
        self.model = kinematics.model
        self._pi = [pi[N_PARAMETERS * i : N_PARAMETERS * (i + 1)] for i in range(self.model.n)]

    @cached_property
    def rotors(self) -> SX:
        """What the rotors add to the diagonal of M, shape (nv,)."""
        return rotor_inertias(self.model, self.kinematics.parameters)

    @cached_property
    def composite_inertias(self) -> list[tuple[SX, SX, SX]]:
        """Composite m, h and second moment Σ = ∫ r rᵀ dm of every link, in its frame."""
        bodies = [(mass, h, second) for mass, h, _, second in map(_body, self._pi)]
        for i in reversed(range(self.model.n)):
            parent = self.model.links[i].parent
            if parent >= 0:
                mine, moved = bodies[parent], self._moved_to_parent(i, *bodies[i])
                bodies[parent] = (mine[0] + moved[0], mine[1] + moved[1], mine[2] + moved[2])
        return bodies

    def _moved_to_parent(self, i: int, mass: SX, h: SX, second: SX) -> tuple[SX, SX, SX]:
        """Express m, h, Σ of link i in its parent: Σ' = RΣRᵀ + p(Rh)ᵀ + (Rh)pᵀ + m p pᵀ."""
        X = self.kinematics.transforms[i]
        p, h_rotated = X.translation, X.to_parent(h)
        first = X.to_parent(second)
        rotated = X.to_parent(first.T)
        product = h_rotated @ p.T
        return mass, h_rotated + mass * p, rotated + product + product.T + mass * (p @ p.T)

    def composite_wrench(self, i: int, linear: SX, angular: SX) -> tuple[SX, SX]:
        """I^c_i applied to a motion vector: force m v + ω × h, moment h × v + I ω."""
        mass, h, second = self.composite_inertias[i]
        inertia_times_angular = ca.trace(second) * angular - second @ angular
        return mass * linear + cross(angular, h), cross(h, linear) + inertia_times_angular

    def mass_matrix(self) -> SX:
        """M(q), shape (nv, nv): M_ji = S_jᵀ I^c_i S_i for j on the path to i, and the rotors on its diagonal.

        Here as in C wrenches are carried to the joints above, where S is constant and most often a unit vector, not
        the screws of those joints to the body.
        """
        M = ca.densify(ca.diag(self.rotors))
        for i in range(self.model.n):
            own = self.kinematics.screws(i, i)
            for position, (k, screw) in enumerate(own, start=1):
                for j, (wrench,) in self.kinematics.carried_up(i, [self.composite_wrench(i, *screw)]):
                    for other, axis in own[:position] if j == i else self.kinematics.screws(j, j):
                        entry = power(axis, wrench)
                        M[other, k] += entry
                        if (j, other) != (i, k):
                            M[k, other] += entry
        return M

    def gravity_torque(self, gravity: Sequence[SX | float]) -> SX:
        """G(q), shape (nv,): G_i = S_iᵀ I^c_i (−g₀)|_i."""
        G = SX.zeros(self.model.nv)
        for i, field in enumerate(self.gravity_fields(gravity)):
            wrench = self.composite_wrench(i, field, SX.zeros(3))
            for k, screw in self.kinematics.screws(i, i):
                G[k] += power(screw, wrench)
        return G

    def gravity_fields(self, gravity: Sequence[SX | float]) -> list[SX]:
        """−g₀ in the frame of every link."""
        a0 = -(self.kinematics.base_rotation.T @ ca.vertcat(*gravity))
        fields: list[SX] = []
        for i, link in enumerate(self.model.links):
            fields.append(self.kinematics.transforms[i].to_link(fields[link.parent] if link.parent >= 0 else a0))
        return fields

    def coriolis_matrix(self, qd: SX) -> SX:
        """C(q, v) with M and its rate, Ṁ = C + Cᵀ, shape (nv, nv) (Echeandia & Wensing 2021, alg. 1, adapted).

        C_ji = S_jᵀ(I^c_i Ṡ_i + B^c_i S_i) and C_ij = Ṡ_jᵀ I^c_i S_i + S_jᵀ B^cᵀ_i S_i, for j on the path to i.
        """
        velocities = self.velocities(qd)
        rates, wrenches = self.screw_rates(velocities, qd), self.christoffel_wrenches(velocities, qd)
        C = SX.zeros(self.model.nv, self.model.nv)
        for i in range(self.model.n):
            for k, own in zip(self.model.v_ranges[i], wrenches[i], strict=True):
                for j, (wrench, forward, backward) in self.kinematics.carried_up(i, own):
                    for (other, axis), rate in zip(self.kinematics.screws(j, j), rates[j], strict=True):
                        C[other, k] += power(axis, forward)
                        if j != i:
                            C[k, other] += power(rate, wrench) + power(axis, backward)
        return C

    def christoffel_wrenches(self, velocities: Sequence[Screw], qd: SX) -> list[list[tuple[Screw, Screw, Screw]]]:
        """I^c S, I^c Ṡ + B^c S and B^cᵀ S of the columns of every joint, in its link; the last one is a moment.

        With B^c_i = B(I^c_i, v_i) + β_i, of `relative_operators`, and Ṡ = S° + v × S the second one is
        I^c S° + B(I^c, S) v + β S, as B(I, v) S + I (v × S) = B(I, S) v: no body's own B is formed.

        Args:
            velocities: As of `velocities`.
        """
        betas, components = self.relative_operators(qd), self.kinematics.subspace_rates(qd)
        wrenches = []
        for i, (velocity, beta, inertia) in enumerate(zip(velocities, betas, self.composite_inertias, strict=True)):
            mine = []
            for screw, rate in zip(self.kinematics.subspaces[i], components[i], strict=True):
                forward = added(
                    self.composite_wrench(i, *rate),
                    applied(christoffel_operator(inertia, screw), velocity),
                    applied(beta, screw),
                )
                backward = (
                    transposed_applied(inertia, velocity, screw) + cross(beta[0], screw[0]) + beta[1].T @ screw[1]
                )
                mine.append((self.composite_wrench(i, *screw), forward, (SX.zeros(3), backward)))
            wrenches.append(mine)
        return wrenches

    def relative_operators(self, qd: SX) -> list[Operator]:
        """β of every link, in its frame: B^c of the motion of the bodies below relative to the link, zero at a leaf.

        β_p = Σ X* (β_i + B(I^c_i, S_i q̇_i)) X⁻¹ over the links i that hang on p.
        """
        betas: list[Operator] = [(SX.zeros(3), SX.zeros(3, 3)) for _ in self.model.links]
        for i in reversed(range(self.model.n)):
            parent = self.model.links[i].parent
            if parent >= 0:
                own = christoffel_operator(self.composite_inertias[i], self.kinematics.joint_twist(i, qd))
                betas[parent] = added(betas[parent], self.operator_to_parent(i, added(betas[i], own)))
        return betas

    def operator_to_parent(self, i: int, operator: Operator) -> Operator:
        """Express l and B₂₂ of link i at the origin and in the frame of its parent."""
        X, (momentum, B22) = self.kinematics.transforms[i], operator
        moved = X.to_parent(momentum)
        rotated = X.to_parent(X.to_parent(B22).T).T
        return moved, rotated - SX(skew(X.translation)) @ SX(skew(moved))

    def velocities(self, qd: SX) -> list[Screw]:
        """Linear and angular velocity of every link at its origin, in its frame."""
        velocities: list[Screw] = []
        for i, link in enumerate(self.model.links):
            start = velocities[link.parent] if link.parent >= 0 else (SX.zeros(3), SX.zeros(3))
            v, w = self.kinematics.motion_to_link(i, *start)
            linear, angular = self.kinematics.joint_twist(i, qd)
            velocities.append((v + linear, w + angular))
        return velocities

    def screw_rates(self, velocities: Sequence[Screw], qd: SX) -> list[tuple[Screw, ...]]:
        """Ṡ_j = S_j° + v_j × S_j of every joint j, in its link."""
        components = self.kinematics.subspace_rates(qd)
        return [
            tuple(added(rate, motion_cross(velocity, screw)) for screw, rate in zip(subspace, rates, strict=True))
            for velocity, subspace, rates in zip(velocities, self.kinematics.subspaces, components, strict=True)
        ]


def coriolis_reference(M: SX, q: SX, qd: SX) -> SX:
    """Christoffel C from M alone, by matrix algebra: C = ½(unvec(D q̇) + Q D − (Q D)ᵀ), D = ∂vec(M)/∂q.

    Q = [1 q̇₁ | … | 1 q̇_n]. It costs the full Jacobian of M and exists to be compared with (theory.md §2).
    """
    n = q.numel()
    D = ca.jacobian(ca.vec(M), q)
    QD = ca.kron(qd.T, SX.eye(n)) @ D
    return 0.5 * (ca.reshape(D @ qd, n, n) + QD - QD.T)
