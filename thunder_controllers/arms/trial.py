"""A run that fits an arm: what moves, what it carries, and under which conditions, with what was chosen in words."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from thunder_controllers.arms.choice import Choice, choose_arm
from thunder_controllers.arms.motion import Motion, ball_at_hand, choose_motion
from thunder_controllers.fields import FloatArray, plain
from thunder_controllers.simulation.scenario import DESCRIPTIONS
from thunder_dynamics.errors import InconsistentInertiaWarning, InertiaError, ModelError, listed
from thunder_dynamics.inertia import pseudo_inertia
from thunder_dynamics.joints import UNKNOWN_ROTOR
from thunder_dynamics.model import SINGLE_JOINTS, RobotModel
from thunder_dynamics.plausibility import find_implausible
from thunder_dynamics.readers import load_model

FRICTION = 0.02
"""Simulated friction beside the description's: Coulomb over the effort limit [1], viscous at 1 rad/s or 1 m/s."""

TOLD = 0.5
"""Rotors that the controller assumes where a description has none, over what drives of that effort have [1].

Gains for rotors that are too small are slow, for rotors that are too large unstable.
"""

NOISE = 1e-5
"""Standard deviation of measured positions [rad or m]: an encoder of 19 bits."""

DELAY, RATE = 2e-3, 1000.0
"""Time from a command to its effect [s], and rate of the control [Hz]."""

PICKED_UP, DURATION = 5.0, 30.0
"""Time at which the payload is picked up, and time for which the arm moves [s]."""

RAMP = 25
"""Control periods from zero to the effort limit, as the host has it where no rate of effort is given."""

LAW: Mapping[str, Any] = {
    "name": "slotine_li",
    "options": {
        "adaptation": "least_squares",
        "friction": "adapted",
        "rotors": "adapted",
        "disturbance": "observed",
    },
}
"""Law for any number of joints. In such runs of ten arms it leaves 0.09 to 0.31 mrad and finds the mass to 3 %;
`natural` without an observer leaves 0.17 to 2.5 mrad and finds it to 110 %.
"""

LEAST_BODY = 1e-8
"""Least eigenvalue of the pseudo-inertia of a last link that `least_squares` starts from [kg, kg·m²]."""


@dataclass(frozen=True)
class Trial:
    """A run that fits an arm.

    Attributes:
        scenario: What it is, as a scenario's file has it, without name and runs; paths are absolute.
        model: The controller's robot.
        motion: What it does.
        choice: The arm, and where it is from.
        facts: What was chosen, and what the description does not say, a line each.
        conditions: Of the run, one line.
        causes: What the controller does not know, by name: what is laid over the plant so that it is as it was told.
    """

    scenario: Mapping[str, Any]
    model: RobotModel
    motion: Motion
    choice: Choice
    facts: tuple[str, ...]
    conditions: str
    causes: Mapping[str, Mapping[str, Any]]

    def told(self, cause: str | None = None) -> dict[str, Any]:
        """Return what is laid over the plant so that all is as the controller was told, but for one cause."""
        return {key: value for name, own in self.causes.items() if name != cause for key, value in own.items()}


def plan_trial(
    robot: str | PathLike[str], reading: Mapping[str, Any] | None = None, ee_link: str | None = None
) -> Trial:
    """Choose arm, motion, payload and conditions of a run. Nothing is compiled, nothing is written.

    Arguments are those of `choose_arm`.

    Raises:
        ThunderError: as `choose_arm`, the reader and `choose_motion` raise; for an arm whose joints no law takes.
    """
    choice = choose_arm(robot, reading, ee_link)
    file, options = choice.description.file, dict(choice.reading)
    model, impossible = _load(file, options)
    if impossible:
        options["allow_inconsistent"] = True
    if others := model.other_joints:
        raise ModelError(f"the joints {listed(others)}", where=str(file), valid=SINGLE_JOINTS)
    motion = choose_motion(model, 2.0 * FRICTION)
    assumed = _assumed_rotors(model, motion.effort)
    if assumed:
        options["rotor_inertias"] = {**options.get("rotor_inertias", {}), **assumed}
        model = model.with_rotor_inertias(assumed)
    refused = _refused_by_mujoco(file, model, options)
    engine = "mujoco" if file.suffix in DESCRIPTIONS and not refused else "model"
    own = {"ee_link": options.pop("ee_link")} if "ee_link" in options else {}
    posture = _rounded(motion.centre)
    scenario = {
        "robot": str(file),
        **own,
        "robot_options": options,
        "plant": _plant(file, model, motion, options, assumed, engine),
        "law": _law(model),
        "reference": {
            "type": "joint_lissajous",
            "centre": posture,
            "amplitude": _rounded(motion.amplitude),
            "frequency": motion.frequency,
            "phase": 1.5708,  # at rest in the beginning
        },
        "start": {"q": posture},
        "duration": DURATION,
        "rate": RATE,
        "host": {"effort_limit": motion.effort, "effort_rate_limit": motion.effort * RATE / RAMP},
    }
    said = [f"The engine model simulates the arm, without contacts: {refused}"] if refused else []
    facts = (*choice.facts, *said, *_unsaid(model, motion, assumed, impossible))
    causes = plain(_causes(model, assumed))
    return Trial(plain(scenario), model, motion, choice, facts, _conditions(model, motion, assumed), causes)


def _load(file: Path, options: Mapping[str, Any]) -> tuple[RobotModel, str]:
    """The model, and what is wrong with its inertias, if no bodies have them and they have to be let pass."""
    try:
        return load_model(file, **options), ""
    except InertiaError as error:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentInertiaWarning)  # a fact says it
            return load_model(file, **{**options, "allow_inconsistent": True}), error.what


def _assumed_rotors(model: RobotModel, effort: FloatArray) -> dict[str, float]:
    """Rotors of the joints of which the description does not say any [kg·m² or kg]."""
    rows = zip(model.joint_names, model.rotor_inertias, effort, strict=True)
    return {name: float(f"{TOLD * UNKNOWN_ROTOR * most:.3g}") for name, known, most in rows if np.isnan(known)}


def _law(model: RobotModel) -> Mapping[str, Any]:
    """LAW, by a scheme that starts from what is no body where the last link is none, such as a point mass."""
    is_body = np.linalg.eigvalsh(pseudo_inertia(model.links[model.ee_link].inertia.pi))[0] > LEAST_BODY
    return LAW if is_body else {**LAW, "options": {**LAW["options"], "adaptation": "projected"}}


def _plant(
    file: Path,
    model: RobotModel,
    motion: Motion,
    options: Mapping[str, Any],
    assumed: Mapping[str, float],
    engine: str,
) -> dict[str, Any]:
    """The simulated arm: what the controller does not know of it."""
    viscous, coulomb = _stated_friction(model)
    reading: dict[str, Any] = {key: options[key] for key in ("xacro_args", "packages") if key in options}
    return {
        "engine": engine,
        "urdf": str(file),
        **(reading if engine == "mujoco" else {}),
        "gravity": model.gravity,
        "payloads": [_payload(model, motion.payload)],
        "friction": {
            "viscous": _rounded(viscous + FRICTION * motion.effort),
            "coulomb": _rounded(coulomb + FRICTION * motion.effort),
        },
        "rotor_inertia": [(1.0 / TOLD - 1.0) * assumed.get(name, 0.0) for name in model.joint_names],
        "noise": {"q_std": NOISE},
        "velocity": "differences",
        "torque_delay": DELAY,
    }


def _causes(model: RobotModel, assumed: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """Return what is laid over `_plant` to make known what the controller does not know, by its name."""
    viscous, coulomb = _stated_friction(model)
    friction = {"viscous": _rounded(viscous), "coulomb": _rounded(coulomb)}
    causes: dict[str, dict[str, Any]] = {"payload": {"payloads": []}, "friction": {"friction": friction}}
    return {**causes, "rotors": {"rotor_inertia": 0.0}} if assumed else causes


def _stated_friction(model: RobotModel) -> tuple[FloatArray, FloatArray]:
    """Viscous and Coulomb friction of the description, (n,) each."""
    viscous = np.array([sum(link.friction[:1]) for link in model.links])
    return viscous, np.array([link.coulomb for link in model.links])


def _refused_by_mujoco(file: Path, model: RobotModel, options: Mapping[str, Any]) -> str | None:
    """Return why MuJoCo cannot simulate a robot; None if it can."""
    from thunder_controllers.simulation.plants.mujoco_model import refusal  # only here: for simulation
    from thunder_dynamics.readers import read_assembly

    if file.suffix not in DESCRIPTIONS:
        return None
    return refusal(read_assembly(file, options), str(file), model.joint_names)


def _payload(model: RobotModel, mass: float) -> dict[str, Any]:
    mass = float(f"{mass:.2g}")
    radius, com = ball_at_hand(model, mass)
    moment = float(f"{0.4 * mass * radius**2:.3g}")
    return {
        "link": model.link_names[model.ee_link],
        "mass": mass,
        "com": _rounded(com),
        "inertia": [moment, 0.0, 0.0, moment, 0.0, moment],
        "time": PICKED_UP,
    }


def _unsaid(model: RobotModel, motion: Motion, assumed: Mapping[str, float], impossible: str) -> list[str]:
    """Say what the description does not state, or states wrongly, and what is done then."""
    facts = []
    instead = {"effort": "twice what the motion needs is the limit", "velocity": "the amplitudes bound the speed"}
    for kind, text in instead.items():
        missing = [name for name, value in zip(model.joint_names, model.limits(kind), strict=True) if np.isinf(value)]
        if missing:
            facts.append(f"No {kind} limits in the file: {text} ({listed(missing)})")
    if assumed:
        low, high = min(assumed.values()), max(assumed.values())
        facts.append(
            f"No rotor inertias in the file: the gains are for {low:.2g} to {high:.2g}, by the effort limits, and the "
            "law adapts them (--rotor JOINT=VALUE)"
        )
    facts += [f"Implausible: {verdict}" for verdict in find_implausible(model, quick=False)]
    if impossible:
        facts.append(f"Inertias that no body has, taken as they are: {impossible}")
    return facts


def _conditions(model: RobotModel, motion: Motion, assumed: Mapping[str, float]) -> str:
    rotors = f", rotors {1.0 / TOLD:g} times those" if assumed else ""
    return (
        f"Conditions, unknown to the controller: {motion.payload:.2g} kg are picked up after {PICKED_UP:g} s; friction "
        f"of {FRICTION:.0%} of the effort limits{rotors}, {1e3 * DELAY:g} ms of delay, velocities by differences of "
        f"positions with {1e3 * NOISE:g} mrad of noise. Joints swing by {max(motion.amplitude):.2g} at most and need "
        f"{motion.share:.0%} of the effort limits ({model.joint_names[motion.joint]})"
    )


def _rounded(values: Sequence[float] | FloatArray) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
