"""Bristles: joint friction that sticks, breaks away and falls with speed, which no law's own model does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.fields import FloatArray, per_joint
from thunder_controllers.simulation.options import Friction
from thunder_dynamics.errors import ScenarioError, listed


@dataclass
class Bristles:
    """The LuGre model [Canudas de Wit, Olsson, Åström & Lischinsky 1995], viscous friction apart, of m joints.

    ż = v − σ0 |v| z / g(v),   g(v) = F_c + (F_s − F_c) exp(−(v/v_S)²),   F = σ0 z + σ1(v) ż,
    σ1(v) = σ g / (g + σ |v|),   hence F = g (σ0 z + σ v) / (g + σ |v|).

    With ½ σ0 z² stored, F v is never less than what is stored as long as σ1(v) |v| ≤ 4 g(v): then σ0 a z² − σ1 a z v +
    σ1 v², a = σ0 |v|/g, is no less than zero [Åström & Canudas de Wit 2008]. Here σ1 |v| < g. F lies between σ0 z and
    g sgn(v): no motion makes it exceed F_s. σ0 is F_s over the deflection at which a joint breaks away. σ is F_s/v_S:
    at v_S the damping alone reaches F_s, and a bristle settles within deflection/v_S.

    F_c and F_s are those of a joint without load: g, and the level of the breakaway, are greater by a share of the
    effort of its motor [Bittencourt & Gunnarsson 2012].

    Attributes:
        joints: Places of the joints among the plant's n.
        coulomb: F_c, (m,) [N·m or N].
        static: F_s, (m,) [N·m or N].
        stribeck_velocity: v_S, (m,) [rad/s or m/s].
        deflection: F_s/σ0, (m,) [rad or m].
        load: That share, (m,) [1].
        stretch: z, (m,) [rad or m].
    """

    joints: NDArray[np.intp]
    coulomb: FloatArray
    static: FloatArray
    stribeck_velocity: FloatArray
    deflection: FloatArray
    load: FloatArray
    stretch: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.stiffness = self.static / self.deflection
        self.damping = self.static / self.stribeck_velocity
        self.relax()

    @classmethod
    def of(cls, friction: Friction | None, names: Sequence[str], where: str) -> Bristles | None:
        """Those of the joints `names` of a plant; None without stiction.

        Raises:
            ScenarioError: unless 0 < F_c ≤ F_s, or both are zero, at every joint; for values that fit no joint.
            NameNotFoundError: for names of joints that are missing or unknown.
        """
        if friction is None or friction.static is None:
            return None
        keys = ("coulomb", "static", "stribeck_velocity", "deflection", "load")
        coulomb, static, *others = (per_joint(getattr(friction, key), names, f"{where}: friction") for key in keys)
        wrong = (coulomb > static) | ((coulomb == 0.0) & (static > 0.0))
        if wrong.any():
            what = f"static friction below Coulomb friction, or without any: {listed(np.array(names)[wrong].tolist())}"
            raise ScenarioError(what, where=f"{where}: friction", valid="0 < coulomb <= static, or both 0")
        joints = np.flatnonzero(static)
        return cls(joints, *(values[joints] for values in (coulomb, static, *others)))

    def relax(self) -> None:
        """Let no bristle be stretched."""
        self.stretch = self._pressed = np.zeros(len(self.joints))

    def press(self, effort: FloatArray) -> None:
        """Load the joints with what is asked of their motors, (n,) [N·m or N], from now on; no limit cuts that."""
        self._pressed = self.load * np.abs(effort[self.joints])

    def level(self, velocity: FloatArray) -> FloatArray:
        """g(v), (m,): friction of steady sliding [N·m or N]."""
        more = self.static - self.coulomb
        return np.asarray(self.coulomb + self._pressed + more * np.exp(-((velocity / self.stribeck_velocity) ** 2)))

    def stretched(self, moved: FloatArray, elapsed: float) -> FloatArray:
        """Stretch z, (m,), after all n joints moved on by `moved` [rad or m] in the time `elapsed` [s].

        dz/dq = sgn(v) (sgn(v) − σ0 z/g), solved exactly for g of the mean speed: z never leaves ±F_s/σ0, however
        long the way. Friction integrated over space is that of [Hayward, Armstrong, Altpeter & Dupont 2009].
        """
        if elapsed == 0.0:
            return self.stretch
        way = moved[self.joints]
        longest = self.level(way / elapsed) / self.stiffness
        passed = -np.expm1(-np.abs(way) / longest)
        return np.asarray(self.stretch + passed * (np.sign(way) * longest - self.stretch))

    def follow(self, moved: FloatArray, elapsed: float) -> None:
        """Stretch as `stretched` says, for good."""
        self.stretch = self.stretched(moved, elapsed)

    def effort(self, moved: FloatArray, elapsed: float, velocity: FloatArray) -> FloatArray:
        """F of all joints, (n,) [N·m or N], at `velocity`, after they moved on as in `stretched`."""
        v = velocity[self.joints]
        level, z = self.level(v), self.stretched(moved, elapsed)
        effort = np.zeros_like(velocity)
        pull = level * (self.stiffness * z + self.damping * v)
        effort[self.joints] = pull / (level + self.damping * np.abs(v))
        return effort

    def energy(self) -> float:
        """½ σ0 z², all joints together [J]."""
        return 0.5 * float(self.stiffness @ self.stretch**2)
