"""Robot files written for a test, and the message that reading one gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from thunder_dynamics.errors import RobotFileError, ThunderError
from thunder_dynamics.readers import load_model

BODY = (
    "mass: 2.0, CoM_x: 0.1, CoM_y: 0.2, CoM_z: 0.3, "
    "Ixx: 0.02, Ixy: 0.001, Ixz: 0.002, Iyy: 0.03, Iyz: 0.003, Izz: 0.025"
)

GOOD = f"""\
version: 0.2
PI_2: &PI_2 1.5707963267948966
num_joints: 2
Dl_order: 1
type_joints: ['R', 'P']
kinematics:
  DH: [0.1, *PI_2, 0.3, 0.4,
       0.5, 0.6, 0.7, 0.8]
gravity: {{value: [0, 0, -9.81]}}
Base_to_L0: {{tr: [1, 2, 3], ypr: [0.1, 0.2, 0.3]}}
Ln_to_EE: {{tr: [0, 0, 0.5], ypr: [0, 0, *PI_2]}}
dynamics:
  link1:
    inertial: {{{BODY}}}
    friction: {{Dl: [0.5, 0.1], symb: [0, 0]}}
  link2:
    inertial: {{{BODY}}}
    friction: {{Dl: [0.6]}}
"""

ELASTIC = """\
ELASTIC_MODEL: true
elastic:
  K_order: 1
  D_order: 0
  Dm_order: 1
  joints:
    joint1: {K: [7.0], D: [], Dm: [0.1], Mm: 0.2, K_symb: [1], D_symb: [], Dm_symb: [0], Mm_symb: 1}
"""


def changed(old: str, new: str, text: str = GOOD) -> str:
    assert old in text
    return text.replace(old, new, 1)


def write(folder: Path, text: str, name: str = "arm.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def message_of(folder: Path, text: str, kind: type[ThunderError] = RobotFileError, **options: object) -> str:
    with pytest.raises(kind) as caught:
        load_model(write(folder, text), **options)
    return str(caught.value)
