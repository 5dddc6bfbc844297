"""What a plant does that nobody told its law: what silently spoils a first run, with the option that mends it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from thunder_controllers.fields import numbers
from thunder_controllers.host import Note, Options
from thunder_controllers.simulation.plants.model import joint_friction
from thunder_controllers.simulation.plants.plant import Plant
from thunder_dynamics.errors import listed, loaded
from thunder_dynamics.model import RobotModel

GRAVITY_TOLERANCE = 1e-3
"""Largest difference of gravity that is no more than rounding in a file [m/s²]."""


def find_untold(plant: Plant, model: RobotModel, law: str, options: Mapping[str, Any]) -> list[Note]:
    """Say what of friction, offsets, tool, delay, gain and gravity is not as the law knows it, a line each.

    Args:
        plant: The true robot.
        model: The controller's.
        law: Name of the law.
        options: It is built with; one that names friction, or offsets, has been told of them.
    """
    notes = [] if "friction" in options else _friction(plant, model, law)
    notes += [] if "offsets" in options else _offsets(plant, model, law)
    notes += _tool(plant, law, options)
    delay, lag = plant.options.torque_delay, float(numbers(plant.options.torque_lag).max())
    if delay + lag > Options().dead_time:
        option = f" --lag {lag:g}" if lag else ""
        text = (
            f"the plant's efforts act {(delay + lag) / plant.period:g} periods late (plant.torque_delay and "
            f"plant.torque_lag), default gains are for {Options().dead_time / plant.period:g}: thunder gains "
            f"--delay {delay:g}{option} finds gains that bear it"
        )
        notes.append(Note("plant_delay", text))
    if (gain := plant.drive_gain).min() < 1.0 or gain.max() > 1.0:
        text = f"the plant's drives give {gain.min():g} to {gain.max():g} of what is commanded (plant.drive_gain)"
        notes.append(Note("plant_gain", f"{text}, and no law is told of it"))
    known, true = np.array(model.gravity), np.array(plant.g0)
    if np.abs(known - true).max() > GRAVITY_TOLERANCE:
        text = (
            f"the plant's gravity is {true.tolist()} m/s², that of the controller's robot {known.tolist()}: "
            "plant.gravity, or that of the robot file, mends it"
        )
        notes.append(Note("plant_gravity", text))
    return notes + _firmware(plant)


def _friction(plant: Plant, model: RobotModel, law: str) -> list[Note]:
    true, known = plant.true_friction(), joint_friction(model)
    pushed = [name for name, more in zip(plant.joints, (known > true).T, strict=True) if more.any()]
    rubbing = [name for name, value in zip(plant.joints, true.max(axis=0), strict=True) if value > 0.0]
    frictions = _choices(law, "friction") if pushed or rubbing else ()  # asks the law, which imports CasADi
    if pushed and "model" in frictions:
        text = f"the robot file has more friction than the plant ({listed(pushed)}): what {law} feeds forward pushes"
        return [Note("plant_friction_less", f"{text}; law.options: {{friction: none}} leaves it out")]
    if not rubbing:
        return []
    viscous, coulomb = true.max(axis=1)
    sticks = "" if plant.bristles is None else f", static up to {plant.bristles.static.max(initial=0.0):g}"
    levels = f"viscous up to {viscous:g}, Coulomb up to {coulomb:g}{sticks}"
    what = f"the plant has joint friction ({levels}: {listed(rubbing)})"
    if "model" in frictions:
        if np.allclose(known, true):
            text = f"{what}, and {law} compensates what the robot file says of it, which does not stick"
            return [Note("plant_friction", text)] if sticks else []
        text = f"{what} that is not in the controller's robot file, whose friction {law} compensates"
        return [Note("plant_friction", text)]
    if "adapted" in frictions:
        text = f"{what} that {law} was not told of: law.options: {{friction: adapted}} lets it estimate that"
        return [Note("plant_friction", text)]
    return []


def _offsets(plant: Plant, model: RobotModel, law: str) -> list[Note]:
    pulled = [name for name, o in zip(plant.joints, plant.offsets - model.effort_offsets, strict=True) if o]
    if not pulled:
        return []
    text = f"the plant's joints need other efforts than the robot file says ({listed(pulled)}): thunder.offset there"
    if "adapted" in _choices(law, "offsets"):
        text += ", or law.options: {offsets: adapted},"
    return [Note("plant_offsets", f"{text} mends it")]


def _firmware(plant: Plant) -> list[Note]:
    """Return a note on what the robot compensates that its description has not."""
    load, gravity = plant.options.firmware.load, plant.options.firmware.gravity
    held = [] if load is None else [f"a load of {load.mass:g} kg on {load.link}"]
    held += [] if gravity is None else [f"a gravity of {list(gravity)} m/s²"]
    text = f"the robot compensates {' and '.join(held)} (plant.firmware), which no law is told of"
    return [Note("plant_firmware", text)] if held else []


def _tool(plant: Plant, law: str, options: Mapping[str, Any]) -> list[Note]:
    """Where the end effector is, or that nothing sees it."""
    off, sensor = float(np.linalg.norm(plant.options.tool_offset)), plant.options.position_sensor
    if options.get("kinematics", "known") != "known":
        text = f"{law} adapts its kinematics to ee_position, which nothing measures: plant.position_sensor does"
        return [] if sensor else [Note("plant_position", text)]
    if not off:
        return []
    text = f"the plant's end effector is {1e3 * off:g} mm from where the robot file has it (plant.tool_offset)"
    if "tool" in _choices(law, "kinematics"):
        text += ": law.options: {kinematics: tool} with a plant.position_sensor finds it"
    return [Note("plant_tool", text)]


def _choices(law: str, option: str) -> tuple[str, ...]:
    """Values of an option of a law."""
    from thunder_dynamics.build import law_entry  # only here: a plant needs no code generator
    from thunder_dynamics.law import options_of

    return next((one.choices for one in options_of(loaded(law_entry(law))) if one.name == option), ())
