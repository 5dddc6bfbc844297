"""Write a plant as a MuJoCo model file, for whoever steps the same physics without Python: the ros2_control hardware.

The file holds what the plant integrates: links with their payloads, friction, motors and their limits, gravity, the
integrator and its step. Beside it stands what a controller needs at the start and what the robot's own firmware knows:

- key `start`: the start position,
- numeric `own_inertia:<link>` for each link that carries a payload: the link's inertia without it, as mass, CoM (3),
  principal axes as quaternion w, x, y, z (4) and principal moments (3), in the frame of the link.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from lxml import etree
from numpy.typing import ArrayLike

from thunder_controllers.fields import FloatArray, numbers
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_controllers.simulation.plants.mujoco_model import compile_spec, set_inertia
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.storage.whole import write_whole

START_KEY = "start"
OWN_INERTIA = "own_inertia:"
TEXT, BINARY = ".xml", ".mjb"
"""Suffixes: readable by every release of MuJoCo and exact to rounding, or exact and for one release alone."""


def write_model_file(plant: MujocoPlant, path: Path, q_start: ArrayLike) -> None:
    """Write a plant as it is now, payloads attached, to an .xml (MJCF) or .mjb file, whole or not at all.

    Args:
        plant: Without what only the Python plant does: noise, delay, faults, payloads of later times, collisions.
        path: Replaced if it exists.
        q_start: Joint positions at the start, shape (n,), in the order of the plant's joints [rad or m].

    Raises:
        ScenarioError: if the plant has an option that no model file can hold, the suffix is neither, or the file
            cannot be written.
        DimensionError: if `q_start` has another shape or is not finite.
    """
    _check_options(plant)
    if path.suffix not in (TEXT, BINARY):
        raise ScenarioError(f"a model file ending in '{path.suffix}'", where=str(path), valid=f"{TEXT} or {BINARY}")
    spec = _complete_spec(plant, _ordered(plant, plant.checked(q_start, "q_start")))
    model, _ = compile_spec(spec, plant.where)
    _copy_friction(plant.model, model)
    content = _exact_text(spec, model) if path.suffix == TEXT else _binary(model)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: file.write(content))
    except OSError as error:
        raise ScenarioError(f"cannot write it ({error.strerror})", where=str(path), valid="a file's path") from error


def _check_options(plant: MujocoPlant) -> None:
    options = plant.options
    offending = {
        "noise": options.noise.acts,
        "differenced velocity": options.velocity != "exact",
        "torque_delay": options.torque_delay > 0.0,
        "torque_lag": bool(numbers(options.torque_lag).any()),
        "drive_gain": bool((numbers(options.drive_gain) != 1.0).any()),
        "payloads of later times": any(body.time > 0.0 or body.until is not None for body in options.payloads),
        "static friction": plant.bristles is not None,
        "faults": bool(options.faults),
        "contacts": options.contacts,
        "wrapped positions": bool(options.wrapped),
    }
    for name, found in offending.items():
        if found:
            raise ScenarioError(f"a model file holds no {name}", where=plant.where, valid="a plant without")


def _ordered(plant: MujocoPlant, q: FloatArray) -> list[float]:
    """Joint positions in MuJoCo's order."""
    ordered = np.zeros(plant.n)
    ordered[[plant.model.joint(name).qposadr[0] for name in plant.joints]] = q
    return [float(value) for value in ordered]


def _complete_spec(plant: MujocoPlant, qpos: list[float]) -> Any:
    """The plant's specification, with the start and the own inertia of the links that carry something."""
    spec = plant.copy_spec()
    spec.add_key(name=START_KEY, qpos=qpos)
    for link, inertia in plant.own_inertias.items():
        body = spec.copy().body(link)
        set_inertia(body, inertia)
        data = [float(value) for value in (body.mass, *body.ipos, *body.iquat, *body.inertia)]
        spec.add_numeric(name=f"{OWN_INERTIA}{link}", data=data, size=len(data))
    return spec


def _copy_friction(source: Any, model: Any) -> None:
    """The plant sets friction in its compiled model: joints and their order are the same in both."""
    model.dof_damping[:] = source.dof_damping
    model.dof_frictionloss[:] = source.dof_frictionloss


def _binary(model: Any) -> bytes:
    buffer = np.empty(mujoco.mj_sizeModel(model), dtype=np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


def _exact_text(spec: Any, model: Any) -> bytes:
    """MJCF with every number of the compiled model in full: MuJoCo's own writer keeps six digits."""
    root = etree.fromstring(spec.to_xml().encode())
    option = root.find("option")
    if option is None:
        option = etree.SubElement(root, "option")
    _set(option, timestep=model.opt.timestep, gravity=model.opt.gravity)
    for element in root.iterfind("worldbody//body"):
        _write_body(element, model.body(element.get("name")))
    for element in root.iterfind("worldbody//joint"):
        _write_joint(element, model.joint(element.get("name")), model)
    for element in root.iterfind("custom/numeric"):
        _set(element, data=model.numeric(element.get("name")).data)
    for element in root.iterfind("keyframe/key"):
        _set(element, qpos=model.key(element.get("name")).qpos)
    return bytes(etree.tostring(root, pretty_print=True))


def _write_body(element: Any, body: Any) -> None:
    _set(element, pos=body.pos, quat=body.quat)
    for inertial in element.iterfind("inertial"):
        _set(inertial, mass=body.mass, pos=body.ipos, quat=body.iquat, diaginertia=body.inertia)


def _write_joint(element: Any, joint: Any, model: Any) -> None:
    _set(
        element,
        pos=joint.pos,
        axis=joint.axis,
        damping=joint.damping,
        frictionloss=joint.frictionloss,
        armature=joint.armature,
    )
    if model.jnt_limited[joint.id]:
        _set(element, range=joint.range)
    if model.jnt_actfrclimited[joint.id]:
        _set(element, actuatorfrcrange=model.jnt_actfrcrange[joint.id])


def _set(element: Any, **attributes: ArrayLike) -> None:
    """Set attributes to numbers that read back as they are."""
    for name, values in attributes.items():
        element.set(name, " ".join(repr(float(value)) for value in np.ravel(values)))
