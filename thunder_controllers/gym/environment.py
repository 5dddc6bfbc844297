"""AdaptiveArm: an arm under an adaptive Cartesian law that follows the pose targets of a policy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Space
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from thunder_controllers.fields import FloatArray, Strict, checked
from thunder_controllers.gym.arm import StreamedArm
from thunder_controllers.host import FAULTS, Guard, Limits, MotionLimits
from thunder_controllers.host.inertia_estimate import ESTIMATE
from thunder_controllers.references.trajectories import Pose
from thunder_controllers.simulation.options import Body, Payload
from thunder_controllers.simulation.preparation import Setup, build_library, prepare, read_description
from thunder_controllers.simulation.scenario import Run, load_scenario
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.joints import JointKind

Observation = dict[str, FloatArray]

SHARE = 0.8
"""Of the velocity limits of motions, that targets go at: to the host a target that is faster than these jumps."""

ARM_OF_TURN = 0.1
"""[m/rad] What an error of the angle weighs in the reward: that of a point so far from the flange."""

REACHED = (0.005, 0.02)
"""Error of position [m] and angle [rad] below which the goal counts as reached."""

PAYLOAD_OFFSET = 0.05
"""[m] How far beside the end effector the centre of mass of a payload is at most, and its radius of gyration."""


class ResetOptions(Strict):
    """What `reset(options=…)` fixes; what is None is drawn."""

    payload: Body | None = None  #: In the frame of the end effector; mass 0 for none.
    goal: Pose | None = None  #: In the world frame.


class AdaptiveArm(gymnasium.Env[Observation, NDArray[np.float32]]):
    """A policy moves a target; the host's law, which adapts, moves the arm after it.

    Action, shape (6,): a displacement of the target [Δp; Δθ] in the world frame, p ← p + Δp, R ← Exp(Δθ) R, each
    part as a share of the largest step, which is that of `SHARE` of the velocity limits of motions; a vector longer
    than 1 is shortened to it. The target stays within `workspace` and `turn` of the pose at the start.

    Observation, dict of float64, SI units, world frame; a value beyond its bounds is shown as the bound:
        joint_position, joint_velocity: As measured in the last control step, shape (n,).
        pose, target, goal: [p; x; y], position and first two columns of the rotation, continuous in it
            [Zhou et al. 2019, On the continuity of rotation representations, section 4.1], shape (9,).
        pose_error: From the pose to the goal, [p_g − p; Log(R_g Rᵀ)], shape (6,).
        estimate: π̂ of the adapted links as the law has it, [m, m·c, I about the frame origin] each, shape (10·links,).

    Reward: −(‖p_g − p‖ + `ARM_OF_TURN` ‖Log(R_g Rᵀ)‖) [m]. Terminated by a fault of the host.

    Info: `position_error` [m], `angle_error` [rad], `is_success`, `guards` that acted (names), `fault` (its name, or
    None), and `true_inertia`, what `estimate` ought to become.

    Args:
        scenario: Path or name of a scenario, whose last run says robot, plant, law, gains and where the arm starts.
        rate: Of the policy [Hz]; a whole number of control steps.
        workspace: How far target and goal are from the start at most, along x, y and z [m].
        turn: The same of the orientation [rad].
        largest_mass: Of the payload that a reset draws [kg].
        render_mode: None.

    Attributes:
        largest_step: Of the target, (6,): displacement [m], then turn [rad].

    Raises:
        ScenarioError: for a scenario whose law follows no pose, or a value that does not fit it.
        ThunderError: as reader, build, plant and host raise.
    """

    metadata = {"render_modes": []}

    def __init__(
        self,
        scenario: str | Path,
        rate: float = 20.0,
        workspace: tuple[float, float, float] = (0.15, 0.15, 0.15),
        turn: float = 0.4,
        largest_mass: float = 2.0,
        render_mode: None = None,
    ) -> None:
        self.render_mode = render_mode
        self._scenario = load_scenario(scenario)
        self._run = self._scenario.runs[-1]
        config = self._run.config
        self._model, self._library = build_library(self._scenario, self._run)
        self._description = read_description(self._scenario, config)
        self._steps = self._count_steps(config.rate, rate)
        self._workspace, self._turn, self._largest_mass = np.array(workspace, dtype=float), turn, largest_mass
        law = self._library.law(config.law.name)
        if law.reference_kind != "cartesian":
            what = f"law {config.law.name}, which follows joints"
            raise ScenarioError(what, where=str(self._scenario.path), valid="a law that follows a pose")
        limits = MotionLimits()
        self.largest_step = SHARE / rate * np.repeat([limits.linear_velocity, limits.angular_velocity], 3)
        setup = self._prepare(self._run)
        self._carrier, self._start_pose = setup.plant.ee_link, self._pose(setup.plant.q)
        self.action_space = Box(-1.0, 1.0, (6,), np.float32)
        self._boxes = self._make_boxes(setup)
        self.observation_space = cast(Space[Observation], Dict(cast(dict[str, Space[Any]], self._boxes)))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode: the arm rests at its start, with a payload that its law does not know.

        Args:
            seed: Of payloads, goals and noise from now on.
            options: Fields of `ResetOptions`: `{"payload": {"mass": 1.0, "com": [0, 0, 0.05]}}`,
                `{"goal": {"position": [x, y, z], "ypr": [yaw, pitch, roll]}}`.

        Raises:
            ScenarioError: for options that are not valid.
        """
        super().reset(seed=seed)
        given = checked(ResetOptions, options or {}, "options")
        body, goal = self._draw_payload(), self._draw_goal()  # always both: what follows does not depend on options
        run = self._carrying(given.payload or body, int(self.np_random.integers(2**31)))
        if given.goal is not None:
            goal = np.array(given.goal.position), given.goal.rotation
        self._goal, self._target = goal, self._start_pose
        self._setup = self._prepare(run)
        self._arm = StreamedArm(self._setup, run)
        self._arm.advance(1)
        return self._observe(), self._info()

    def step(self, action: NDArray[np.float32]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Move the target, stream it, and let a period of the policy pass."""
        self._target = self._moved(np.asarray(action, dtype=float))
        position, rotation = self._target
        self._arm.session.stream(np.concatenate([position, rotation.T.ravel(), np.zeros(12)]))
        self._arm.advance(self._steps)
        info = self._info()
        reward = -(info["position_error"] + ARM_OF_TURN * info["angle_error"])
        return self._observe(), reward, info["fault"] is not None, False, info

    def _count_steps(self, control: float, policy: float) -> int:
        steps = control / policy if policy > 0.0 else 0.0
        if steps < 1.0 or abs(steps - round(steps)) > 1e-9:
            raise ScenarioError(f"a policy at {policy:g} Hz", where="rate", valid=f"{control:g} Hz over a whole number")
        return round(steps)

    def _prepare(self, run: Run) -> Setup:
        return prepare(self._scenario, run, self._model, self._library, self._description)

    def _carrying(self, body: Body, seed: int) -> Run:
        """The run with a body at the end effector and a seed of the noise."""
        config = self._run.config
        payload = Payload(link=self._carrier, **body.model_dump())
        plant = config.plant.model_copy(update={"payloads": (*config.plant.payloads, payload)})
        return replace(self._run, config=config.model_copy(update={"plant": plant, "seed": seed}))

    def _draw_payload(self) -> Body:
        """A body of random mass, its centre beside and in front of the end effector, as round as a ball."""
        mass = float(self.np_random.uniform(0.0, self._largest_mass))
        com = self.np_random.uniform([-1.0, -1.0, 0.0], [1.0, 1.0, 2.0]) * PAYLOAD_OFFSET
        inertia = mass * PAYLOAD_OFFSET**2
        return Body(mass=mass, com=tuple(com.tolist()), inertia=(inertia, 0.0, 0.0, inertia, 0.0, inertia))

    def _draw_goal(self) -> tuple[FloatArray, FloatArray]:
        position, rotation = self._start_pose
        way = self.np_random.uniform(-1.0, 1.0, 3) * self._workspace
        turn = self.np_random.uniform(-1.0, 1.0, 3) * self._turn / np.sqrt(3.0)
        return position + way, Rotation.from_rotvec(turn).as_matrix() @ rotation

    def _moved(self, action: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The target after an action."""
        way, turn = (part / max(1.0, float(np.linalg.norm(part))) for part in (action[:3], action[3:]))
        (p_0, R_0), (p, R) = self._start_pose, self._target
        p = np.clip(p + self.largest_step[:3] * way, p_0 - self._workspace, p_0 + self._workspace)
        turned = Rotation.from_rotvec(self.largest_step[3:] * turn).as_matrix() @ R
        away = Rotation.from_matrix(turned @ R_0.T).as_rotvec()
        away *= min(1.0, self._turn / max(float(np.linalg.norm(away)), 1e-9))
        return p, Rotation.from_rotvec(away).as_matrix() @ R_0

    def _pose(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Position (3,) and rotation (3, 3) of the end effector."""
        T = self._library.evaluate("T_0_ee", q)
        return T[:3, 3], T[:3, :3]

    def _error(self, position: FloatArray, rotation: FloatArray) -> FloatArray:
        """From a pose to the goal, [p_g − p; Log(R_g Rᵀ)], shape (6,)."""
        p, R = self._goal
        return np.concatenate([p - position, Rotation.from_matrix(R @ rotation.T).as_rotvec()])

    def _observe(self) -> Observation:
        pose = self._pose(self._arm.q)
        found = {
            "joint_position": self._arm.q,
            "joint_velocity": self._arm.qd,
            "pose": _columns(*pose),
            "target": _columns(*self._target),
            "goal": _columns(*self._goal),
            "pose_error": self._error(*pose),
        }
        if self._setup.adapted_links:
            found["estimate"] = self._arm.session.snapshot().state(ESTIMATE).ravel()
        boxes = self._boxes
        return {name: np.clip(value, boxes[name].low, boxes[name].high) for name, value in found.items()}

    def _info(self) -> dict[str, Any]:
        error = self._error(*self._pose(self._setup.plant.q))
        distance, angle = float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))
        acted = [guard for guard in Guard if guard & self._arm.guards]
        return {
            "position_error": distance,
            "angle_error": angle,
            "is_success": distance < REACHED[0] and angle < REACHED[1],
            "guards": tuple(str(guard.name).lower() for guard in acted),
            "fault": next((str(guard.name).lower() for guard in acted if guard & FAULTS), None),
            "true_inertia": np.ravel([self._setup.plant.true_inertia(link).pi for link in self._setup.adapted_links]),
        }

    def _make_boxes(self, setup: Setup) -> dict[str, Box[np.float64]]:
        """Bounds of what is observed: limits of the joints, the reach of the arm, and what the law lets estimates be.

        A joint faster than `velocity_stop_ratio` limits is a fault of the host.
        """
        limits = Limits(self._library, setup.host.options)
        fastest = setup.host.options.velocity_stop_ratio * limits.velocity
        base, reach = np.array(self._model.base.tr), self._reach(limits)
        pose = Box(np.append(base - reach, -np.ones(6)), np.append(base + reach, np.ones(6)), dtype=np.float64)
        furthest = np.repeat([2.0 * reach, np.pi], 3)
        boxes = {
            "joint_position": Box(limits.position_lower, limits.position_upper, dtype=np.float64),
            "joint_velocity": Box(-fastest, fastest, dtype=np.float64),
            **dict.fromkeys(("pose", "target", "goal"), pose),
            "pose_error": Box(-furthest, furthest, dtype=np.float64),
        }
        for entry in self._library.law(self._run.config.law.name).state:
            if entry.name == ESTIMATE:
                boxes["estimate"] = Box(entry.lower.ravel(), entry.upper.ravel(), dtype=np.float64)
        return boxes

    def _reach(self, limits: Limits) -> float:
        """Longest that the way from the base to the end effector along the frames of the links can be [m]."""
        q = np.zeros(self._model.n)
        names = [f"T_0_{k + 1}" for k in range(self._model.n)] + ["T_0_ee"]
        frames = [self._library.evaluate(name, q)[:3, 3] for name in names]
        way = np.diff([np.array(self._model.base.tr), *frames], axis=0)
        slides = np.array([link.joint.kind is JointKind.PRISMATIC for link in self._model.links])
        travel = np.maximum(np.abs(limits.position_lower), np.abs(limits.position_upper))[slides]
        return float(np.linalg.norm(way, axis=1).sum() + travel.sum())


def _columns(position: FloatArray, rotation: FloatArray) -> FloatArray:
    """Position and first two columns of a rotation, shape (9,)."""
    return np.concatenate([position, rotation.T[:2].ravel()])
