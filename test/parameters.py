"""A robot with parameters of every group, and its numeric copies with other values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from robots import random_inertia, random_robot

from thunder_dynamics.inertia import Inertia
from thunder_dynamics.model import Elasticity, Frame, JointKind, RobotModel
from thunder_dynamics.readers.dh_yaml import dh_placement


def robot_with_all_groups() -> RobotModel:
    """Four joints, the second prismatic, the second and fourth elastic, the others with rotors.

    No parameter is zero or alike to another.
    """
    rng = np.random.default_rng(5)
    base = random_robot(3, 4, dh=True)
    links = []
    for i, link in enumerate(base.links):
        kind = JointKind.PRISMATIC if i == 1 else JointKind.REVOLUTE
        row = tuple(rng.uniform(0.2, 1.0, 4))
        elastic = Elasticity(*(tuple(rng.uniform(1.0, 2.0, 2)) for _ in range(3)), float(rng.uniform(0.1, 0.2)))
        joint = replace(link.joint, kind=kind, dh=row, placement=dh_placement(*row), elastic=elastic if i % 2 else None)
        friction = tuple(rng.uniform(0.1, 1.0, 3))
        links.append(replace(link, joint=joint, friction=friction, coulomb=0.2, inertia=random_inertia(rng)))
    rotors = {links[i].joint.name: float(rng.uniform(0.1, 0.5)) for i in (0, 2)}
    return replace(base, links=tuple(links)).with_rotor_inertias(rotors)


def with_parameters(model: RobotModel, group: str, values: np.ndarray) -> RobotModel:
    """The numeric model whose parameter group has these values."""
    v = [float(x) for x in values]
    if group == "par_gravity":
        return replace(model, gravity=tuple(v))
    if group in ("par_world2L0", "par_Ln2EE"):
        return replace(model, **{"base" if group == "par_world2L0" else "ee": Frame(tuple(v[:3]), tuple(v[3:]))})
    if group == "par_Ia":
        return model.with_rotor_inertias(dict(zip((model.joint_names[i] for i in model.rotor_joints), v, strict=True)))
    links = list(model.links)
    elastic = list(model.elastic_joints)
    for i, link in enumerate(links):
        if group == "par_DHtable":
            row = tuple(v[4 * i : 4 * i + 4])
            links[i] = replace(link, joint=replace(link.joint, dh=row, placement=dh_placement(*row)))
        elif group == "par_DYN":
            links[i] = replace(link, inertia=Inertia.from_dyn(v[10 * i : 10 * i + 10]))
        elif group == "par_Dl":
            links[i] = replace(link, friction=tuple(v[3 * i : 3 * i + 3]))
        elif i in elastic:
            k = elastic.index(i)
            change = {"Mm": v[k]} if group == "par_Mm" else {group[4:]: tuple(v[2 * k : 2 * k + 2])}
            links[i] = replace(link, joint=replace(link.joint, elastic=replace(link.joint.elastic, **change)))
    return replace(model, links=tuple(links))
