"""The arm of the simulation node without ROS: plant, brakes, payload, time and the command in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thunder_controllers.fields import FloatArray
from thunder_controllers.simulation.options import Payload, PlantOptions
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_dynamics.errors import DimensionError, ScenarioError
from thunder_dynamics.readers import read_assembly

POSTURES, NEAR_SINGULAR = 100, 0.1
"""Random ones among which a start is sought, and the smallest singular value of J over the best's that needs none."""

LARGEST_EFFORT = 1e6
"""Far above what any arm can do [N·m or N]; after very large ones MuJoCo starts the arm anew where its file says."""


@dataclass(frozen=True)
class RobotOptions:
    """What the simulated robot is."""

    urdf: Path  #: The file of the robot.
    reading: Mapping[str, Any]  #: Options of its reader, as `read_assembly` takes them.
    joints: tuple[str, ...]  #: Names in the order of messages; empty: the order of the description.
    period: float  #: Of states and commands [s].
    plant: PlantOptions  #: Departures from the description, and integration.
    seed: int = 0  #: Of the measurement noise.
    gravity_compensation: bool = False  #: The robot adds the gravity torque of its description to every command.
    #: Positions at the start, in the order of joints [rad or m]; empty: zero, or mid-range without zero, unless J is
    #: singular there.
    q_start: tuple[float, ...] = ()
    has_brakes: bool = True  #: Hold the arm before the first command and after `engage_brakes`.


class SimulatedRobot:
    """A plant with brakes: held where it is until the first command, and again when commands have stopped.

    Args:
        options: See `RobotOptions`.

    Raises:
        ThunderError: if the description cannot be read, or an option does not fit it.
    """

    def __init__(self, options: RobotOptions) -> None:
        assembly = read_assembly(options.urdf, options.reading)
        self.joints = options.joints or assembly.joint_names
        rotors = {link.joint.name: link.joint.rotor_inertia for link in assembly.model.links}
        self.options = options
        self.plant = MujocoPlant(
            assembly,
            self.joints,
            options.period,
            options.plant,
            seed=options.seed,
            gravity_compensated=options.gravity_compensation,
            rotors=[rotors.get(joint) or 0.0 for joint in self.joints],
            where=str(options.urdf),
        )
        self.n = self.plant.n
        self.q_start = self._start_position()
        self.steps = 0
        """Periods since the start, whether the arm moved or was held: the clock of the simulation."""
        self._command = np.zeros(self.n)
        self.payload: Payload | None = None
        """What was attached by `attach`, if anything."""
        self.is_held = options.has_brakes
        self.plant.reset(self.q_start)

    def _start_position(self) -> FloatArray:
        if self.options.q_start:
            return self.plant.checked(self.options.q_start, "q_start")
        model, joints = self.plant.model, [self.plant.model.joint(name).id for name in self.joints]
        limited = model.jnt_limited[joints].astype(bool)[:, None]
        lower, upper = np.where(limited, model.jnt_range[joints], (-np.pi, np.pi)).T
        most = np.where(model.jnt_actfrclimited[joints], model.jnt_actfrcrange[joints, 1], np.inf)
        start = np.where((lower <= 0.0) & (upper >= 0.0), 0.0, 0.5 * (lower + upper))
        best = self._dexterous(lower, upper, most)
        return start if self._dexterity(start) >= NEAR_SINGULAR * self._dexterity(best) else best

    def _dexterity(self, q: FloatArray) -> float:
        """Smallest singular value of the end effector's J."""
        return float(np.linalg.svd(self.plant.jacobian(q), compute_uv=False)[-1])

    def _dexterous(self, lower: FloatArray, upper: FloatArray, most: FloatArray) -> FloatArray:
        """The best posture in the middle halves of the ranges that half of the efforts hold, or of those least heavy.

        An arm that is stretched, as many are at zero, follows no pose from there.
        """
        described = np.argsort([self.plant.model.joint(name).id for name in self.joints])
        share = np.empty((POSTURES, self.n))
        share[:, described] = np.random.default_rng(0).uniform(0.25, 0.75, share.shape)  # whatever the order of joints
        postures = lower + share * (upper - lower)
        heavy = np.array([(np.abs(self.plant.gravity(q)) / most).max() for q in postures])
        return np.asarray(max(postures[heavy <= max(0.5, heavy.min())], key=self._dexterity))

    @property
    def time_ns(self) -> int:
        """Simulated time [ns], a whole number of periods."""
        return round(self.steps * self.options.period * 1e9)

    def measure(self, q: FloatArray, qd: FloatArray, effort: FloatArray) -> None:
        """Write what the sensors say, and the command that acts, into arrays of shape (n,) each."""
        if self.is_held:
            self.plant.read(q, qd)  # noise is drawn per step, so that its sequence does not depend on the wait
        else:
            self.plant.measure(q, qd)
        effort[:] = self.plant.effort

    def command(self, effort: ArrayLike) -> None:
        """Take a command, shape (n,) [N·m or N], and release the brakes; it acts until the next one.

        Raises:
            DimensionError: if it has another shape or is not below `LARGEST_EFFORT`; the last command stays.
        """
        values = np.asarray(effort, dtype=float)
        if values.shape != (self.n,):
            raise DimensionError(f"{values.size} efforts", where="command", valid=f"{self.n}")
        if not (np.abs(values) < LARGEST_EFFORT).all():
            raise DimensionError(f"efforts {values.tolist()}", where="command", valid=f"below {LARGEST_EFFORT:g}")
        self._command[:] = values
        self.is_held = False

    def advance(self) -> None:
        """Advance the clock by one period, and the arm unless it is held.

        Raises:
            ScenarioError: if the state is not finite any more.
        """
        self.steps += 1
        if self.is_held:
            return
        self.plant.step(self._command)
        if not np.isfinite(self.plant.q).all():
            raise ScenarioError(
                f"the plant diverged at t = {self.time_ns * 1e-9:g} s", valid="smaller efforts, or more substeps"
            )

    def engage_brakes(self) -> bool:
        """Stop and hold the arm until the next command, if it has brakes; whether this changed anything."""
        if self.is_held or not self.options.has_brakes:
            return False
        self.is_held = True
        self.plant.brake()
        return True

    def reset(self) -> None:
        """Put the arm back to its start, without payload, at rest, held if it has brakes; time goes on."""
        self.plant.reset(self.q_start)
        self.payload = None
        self._command[:] = 0.0
        self.is_held = self.options.has_brakes

    def attach(self, payload: Payload) -> None:
        """Fix a payload to its link.

        Raises:
            ScenarioError: if there is one already.
            NameNotFoundError: if there is no such link.
        """
        if self.payload is not None:
            raise ScenarioError(f"a payload of {self.payload.mass:g} kg is attached", valid="detach it first")
        self.plant.attach(payload)
        self.payload = payload
        self._refresh_brakes()

    def detach(self) -> None:
        """Take the payload off.

        Raises:
            ScenarioError: if there is none.
        """
        if self.payload is None:
            raise ScenarioError("no payload is attached", valid="attach one first")
        self.plant.detach()
        self.payload = None
        self._refresh_brakes()

    def _refresh_brakes(self) -> None:
        """Hold with the effort that the changed arm needs."""
        if self.is_held:
            self.plant.brake()
