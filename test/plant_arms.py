"""Small arms for the tests of the plant, as URDF text."""

from __future__ import annotations

import numpy as np
from lxml import etree
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from thunder_dynamics.locking import Assembly
from thunder_dynamics.model import JointKind, Pose, RobotModel
from thunder_dynamics.readers.urdf import read_assembly_text
from thunder_dynamics.spatial import rotation_from_ypr

ARM_JOINTS = ("j1", "j2", "j3")

ARM = """<robot name="arm">
 <link name="base"/>
 <link name="l1"><inertial><origin xyz="0.1 0.02 0.3" rpy="0.1 0.2 0.3"/><mass value="2"/>
  <inertia ixx="0.02" ixy="0.001" ixz="0.002" iyy="0.03" iyz="0.001" izz="0.025"/></inertial>
  <visual><geometry><mesh filename="package://nowhere/link.stl"/></geometry></visual></link>
 <link name="l2"><inertial><origin xyz="0.1 0 0.1"/><mass value="1"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.012" iyz="0" izz="0.013"/></inertial></link>
 <link name="l3"><inertial><origin xyz="0.0 0.03 0.1" rpy="0.5 0 0"/><mass value="0.7"/>
  <inertia ixx="0.004" ixy="0.0005" ixz="0" iyy="0.003" iyz="0" izz="0.002"/></inertial></link>
 <link name="tool"><inertial><origin xyz="0.0 0 0.1"/><mass value="0.3"/>
  <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
 <link name="tip"/>
 <joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><axis xyz="0 0 1"/>
  <origin xyz="0 0 0.3"/><limit lower="-2" upper="2" effort="50" velocity="2"/></joint>
 <joint name="j2" type="revolute"><parent link="l1"/><child link="l2"/><axis xyz="0 1 0"/>
  <origin xyz="0 0 0.4" rpy="0.3 0 0"/><limit lower="-2" upper="2" effort="50" velocity="2"/></joint>
 <joint name="j3" type="prismatic"><parent link="l2"/><child link="l3"/><axis xyz="0.6 0 0.8"/>
  <origin xyz="0.1 0 0.3" rpy="0 0.3 0"/><limit lower="-1" upper="1" effort="80" velocity="2"/></joint>
 <joint name="jf" type="fixed"><parent link="l3"/><child link="tool"/><origin xyz="0 0 0.2" rpy="0.2 0.1 0"/></joint>
 <joint name="jt" type="fixed"><parent link="tool"/><child link="tip"/><origin xyz="0 0 0.1"/></joint>
</robot>"""

PENDULUM = """<robot name="pendulum">
 <link name="base"/>
 <link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="1.5"/>
  <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>
 <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
</robot>"""


def assembled(urdf: str) -> Assembly:
    """The links of a URDF text."""
    return read_assembly_text(urdf, "arm")


def urdf_of(model: RobotModel) -> str:
    """The rigid arm of a robot as URDF: links, joints and inertias, without limits, friction and rotors."""
    robot = etree.Element("robot", name=model.name)
    etree.SubElement(robot, "link", name="base")
    base = Pose(rotation_from_ypr(*model.base.ypr), np.array(model.base.tr))
    for link in model.links:
        part, body = etree.SubElement(robot, "link", name=link.name), link.inertia
        inertial = etree.SubElement(part, "inertial")
        etree.SubElement(inertial, "origin", xyz=_words(body.com))
        etree.SubElement(inertial, "mass", value=repr(float(body.mass)))
        names = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
        etree.SubElement(inertial, "inertia", {name: repr(float(body.inertia_com[at])) for name, at in names.items()})
        placement = link.joint.placement if link.parent >= 0 else base @ link.joint.placement
        kind = "continuous" if link.joint.kind is JointKind.REVOLUTE else "prismatic"
        joint = etree.SubElement(robot, "joint", name=link.joint.name, type=kind)
        etree.SubElement(joint, "parent", link="base" if link.parent < 0 else model.links[link.parent].name)
        etree.SubElement(joint, "child", link=link.name)
        rpy = Rotation.from_matrix(placement.rotation).as_euler("xyz")
        etree.SubElement(joint, "origin", xyz=_words(placement.translation), rpy=_words(rpy))
        etree.SubElement(joint, "axis", xyz=_words(link.joint.axis))
    return str(etree.tostring(robot, encoding="unicode"))


def _words(values: ArrayLike) -> str:
    return " ".join(repr(float(value)) for value in np.asarray(values))
