"""Derivatives of M, C, G, J and of inverse and forward dynamics, in time and along the state.

Ċ and Ġ are recursions of their own. The other derivatives in time, and those for which no recursion is known that
costs less, are forward-mode automatic differentiation of the expressions, whose common subexpressions are then merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca

from thunder_dynamics.algorithms.dynamics import (
    Body,
    Dynamics,
    Operator,
    added,
    applied,
    christoffel_operator,
    motion_cross,
    transposed_applied,
)
from thunder_dynamics.algorithms.joint_motion import Screw, power
from thunder_dynamics.spatial import cross, skew

SX = ca.SX


def time_derivative(expression: SX, motion: Sequence[tuple[SX, SX]]) -> SX:
    """d/dt of an expression, same shape; `motion` pairs each symbol that moves with its rate."""
    symbols, rates = (ca.vertcat(*column) for column in zip(*motion, strict=True))
    return ca.cse(ca.reshape(ca.jtimes(ca.vec(expression), symbols, rates), expression.shape))


class StateRates:
    """Ċ and Ġ of a robot whose motion subspaces are constant, by one recursion that M, C and G are part of.

    ° is the rate of components in the frame of a link, and a dot the true rate: of twists x° + v × x, of wrenches
    x° + v ×* x. S° = 0, v_i° = X a_p + S q̈ + v × S q̇, and as v × v = 0 it is the acceleration of the link. With B of
    `christoffel_operator`, linear in both its arguments, and β of `Dynamics.relative_operators`:

        I^c° = β + βᵀ,   f = I^c Ṡ + B^c S = B(I^c, S) v + β S,   f° = B(I^c°, S) v + B(I^c, S) v° + β° S,
        b = B^cᵀ S = B(I^c, v)ᵀ S + βᵀ S,   b° = B(I^c°, v)ᵀ S + B(I^c, v°)ᵀ S + β°ᵀ S,   d/dt (I^c S) = f + b.

    C_ji = S_jᵀ f_i and C_ij = Ṡ_jᵀ I^c_i S_i + S_jᵀ b_i are differentiated by the product rule (for trees, as Garofalo,
    Ott & Albu-Schäffer 2013 do for another C); wrenches and their true rates are carried up alike.
    """

    def __init__(self, dynamics: Dynamics, qd: SX, qdd: SX) -> None:
        self._dynamics = dynamics
        self._kinematics = dynamics.kinematics
        self._model = dynamics.model
        self._qd = qd
        self._qdd = qdd
        self._velocities = dynamics.velocities(qd)
        self._betas = dynamics.relative_operators(qd)

    def coriolis_rate(self) -> SX:
        """Ċ, shape (nv, nv)."""
        wrenches = self._dynamics.christoffel_wrenches(self._velocities, self._qd)
        wrench_rates = self._wrench_rates()
        first = self._dynamics.screw_rates(self._velocities, self._qd)
        second = self._second_screw_rates(first)
        C_dot = SX.zeros(self._model.nv, self._model.nv)
        for i, velocity in enumerate(self._velocities):
            for k, (wrench, forward, backward), (f_rate, b_rate) in zip(
                self._model.v_ranges[i], wrenches[i], wrench_rates[i], strict=True
            ):
                for other, axis in self._kinematics.screws(i, i):
                    C_dot[other, k] += power(axis, f_rate)
                rates = [added(f_rate, force_cross(velocity, forward)), added(b_rate, force_cross(velocity, backward))]
                for j, (F, f, b, f_dot, b_dot) in self._kinematics.carried_up(i, [wrench, forward, backward, *rates]):
                    if j == i:
                        continue
                    for (other, axis), rate, rate_2 in zip(
                        self._kinematics.screws(j, j), first[j], second[j], strict=True
                    ):
                        C_dot[other, k] += power(rate, f) + power(axis, f_dot)
                        C_dot[k, other] += power(rate_2, F) + power(rate, added(f, b, b)) + power(axis, b_dot)
        return C_dot

    def gravity_rate(self, gravity: Sequence[SX | float]) -> SX:
        """Ġ, shape (nv,): G_i = S_iᵀ I^c_i a₀ with a₀° = −ω × a₀."""
        G_dot = SX.zeros(self._model.nv)
        fields = self._dynamics.gravity_fields(gravity)
        for i, (field, (_, omega), (momentum, _)) in enumerate(zip(fields, self._velocities, self._betas, strict=True)):
            force, moment = self._dynamics.composite_wrench(i, -cross(omega, field), SX.zeros(3))
            for k, screw in self._kinematics.screws(i, i):
                G_dot[k] += power(screw, (force, moment + cross(momentum, field)))
        return G_dot

    def _wrench_rates(self) -> list[list[tuple[Screw, Screw]]]:
        """f° and b° of the columns of every joint, in its link."""
        inertias, inertia_rates = self._dynamics.composite_inertias, list(map(_inertia_rate, self._betas))
        rates = []
        for i, (v, a, beta_rate) in enumerate(
            zip(self._velocities, self._accelerations, self._beta_rates(inertia_rates), strict=True)
        ):
            mine = []
            for screw in self._kinematics.subspaces[i]:
                forward = added(
                    applied(christoffel_operator(inertia_rates[i], screw), v),
                    applied(christoffel_operator(inertias[i], screw), a),
                    applied(beta_rate, screw),
                )
                backward = transposed_applied(inertia_rates[i], v, screw) + transposed_applied(inertias[i], a, screw)
                own = cross(beta_rate[0], screw[0]) + beta_rate[1].T @ screw[1]
                mine.append((forward, (SX.zeros(3), backward + own)))
            rates.append(mine)
        return rates

    def _beta_rates(self, inertia_rates: Sequence[Body]) -> list[Operator]:
        """β° of every link: what is carried to the parent moves with S q̇ in its frame."""
        rates: list[Operator] = [(SX.zeros(3), SX.zeros(3, 3)) for _ in self._model.links]
        for i in reversed(range(self._model.n)):
            parent = self._model.links[i].parent
            if parent < 0:
                continue
            inertia, twist = self._dynamics.composite_inertias[i], self._kinematics.joint_twist(i, self._qd)
            momentum, B22 = added(self._betas[i], christoffel_operator(inertia, twist))
            total = added(
                rates[i],
                christoffel_operator(inertia_rates[i], twist),
                christoffel_operator(inertia, self._kinematics.joint_twist(i, self._qdd)),
            )
            for k, (linear, angular) in self._kinematics.screws(i, i):
                turn = SX(skew(angular))
                turned = turn @ B22 - B22 @ turn - SX(skew(linear)) @ SX(skew(momentum))
                total = added(total, (cross(angular, momentum) * self._qd[k], turned * self._qd[k]))
            rates[parent] = added(rates[parent], self._dynamics.operator_to_parent(i, total))
        return rates

    @cached_property
    def _accelerations(self) -> list[Screw]:
        """v° of every link."""
        accelerations: list[Screw] = []
        for i, link in enumerate(self._model.links):
            start = accelerations[link.parent] if link.parent >= 0 else (SX.zeros(3), SX.zeros(3))
            own = motion_cross(self._velocities[i], self._kinematics.joint_twist(i, self._qd))
            carried = self._kinematics.motion_to_link(i, *start)
            accelerations.append(added(carried, self._kinematics.joint_twist(i, self._qdd), own))
        return accelerations

    def _second_screw_rates(self, first: Sequence[tuple[Screw, ...]]) -> list[tuple[Screw, ...]]:
        """S̈ = v° × S + v × Ṡ of the columns of every joint, in its link."""
        return [
            tuple(
                added(motion_cross(a, screw), motion_cross(v, rate)) for screw, rate in zip(screws, rates, strict=True)
            )
            for v, a, screws, rates in zip(
                self._velocities, self._accelerations, self._kinematics.subspaces, first, strict=True
            )
        ]


def _inertia_rate(beta: Operator) -> Body:
    """I^c° = β + βᵀ as m, h and Σ."""
    momentum, B22 = beta
    return SX(0.0), momentum, ca.trace(B22) * SX.eye(3) - (B22 + B22.T)


def force_cross(twist: Screw, wrench: Screw) -> Screw:
    """v ×* of a twist and a wrench."""
    (v, w), (force, moment) = twist, wrench
    return cross(w, force), cross(w, moment) + cross(v, force)


def stacked(slices: Sequence[SX]) -> SX:
    """A derivative of a matrix as a matrix: column k is vec(slice k)."""
    return ca.horzcat(*(ca.vec(part) for part in slices))


def christoffel_symbols(dynamics: Dynamics) -> list[SX]:
    """Γ_k = ∂C/∂v_k of every velocity k, each (nv, nv), where no motion subspace depends on q: C = Σ Γ_k v_k.

    (Γ_k)_ab is zero unless a, b and k lie on one path. Else, with β_c(x, y) = S_xᵀ B(I^c, S_c) S_y of the deepest of
    them: β_k(a, b), or β_b(a, k), or −β_a(deeper of b and k, the other one) [Echeandia & Wensing 2021, alg. 2, reduced
    by B(I, v) w + I (v × w) = B(I, w) v, which makes the three forms one].
    """
    model, kinematics = dynamics.model, dynamics.kinematics
    symbols = [SX.zeros(model.nv, model.nv) for _ in range(model.nv)]
    for i, link in enumerate(model.links):
        above = kinematics.path_screws(link.parent, i)
        depths = [j for j in model.path(link.parent) for _ in model.v_ranges[j]]
        own = kinematics.screws(i, i)
        for c, screw in own:
            form = _christoffel_form(dynamics, i, screw, [*above, *own])
            for x, (a, _) in enumerate([*above, *own]):
                for y, (b, _) in enumerate([*above, *own]):
                    symbols[b][a, c] += form[x, y]
                    if y < len(above):
                        symbols[c][a, b] += form[x, y]
            for x, (b, _) in enumerate(above):
                for y, (k, _) in enumerate(above):
                    symbols[k][c, b] -= form[y, x] if depths[y] > depths[x] else form[x, y]
    return symbols


def _christoffel_form(dynamics: Dynamics, i: int, screw: Screw, columns: Sequence[tuple[int, Screw]]) -> SX:
    """β(x, y) = S_xᵀ B(I^c_i, S) S_y of columns that move link i, B = [[0, −S(l)], [0, −S(h) S(v) − S(ω) Σ]]."""
    linear, angular = screw
    _, h, second = dynamics.composite_inertias[i]
    momentum, _ = dynamics.composite_wrench(i, linear, angular)
    operator = -(SX(skew(h)) @ SX(skew(linear))) - SX(skew(angular)) @ second
    form = SX.zeros(len(columns), len(columns))
    for y, (_, (_, w)) in enumerate(columns):
        wrench = cross(w, momentum), operator @ w
        for x, (_, other) in enumerate(columns):
            form[x, y] = power(other, wrench)
    return form
