"""Robot YAML in classical DH: the arm of Pinocchio that is built from the file's own rows and frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import yaml
from evaluation import assert_close, evaluate

from thunder_dynamics.errors import RobotFileError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.readers import load_model
from thunder_dynamics.spatial import rotation_from_ypr

FloatArray = np.ndarray
RELATIVE = 1e-11
NAMES = ("mass", "CoM_x", "CoM_y", "CoM_z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


def document(seed: int, n: int = 4) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    bodies = {}
    for i in range(n):
        half = rng.uniform(-0.1, 0.1, (3, 3))
        inertia = half @ half.T + 0.02 * np.eye(3)
        inertia = 0.5 * np.trace(inertia) * np.eye(3) - 0.5 * inertia
        values = [rng.uniform(0.5, 3.0), *rng.uniform(-0.2, 0.2, 3), *inertia[np.triu_indices(3)]]
        bodies[f"link{i + 1}"] = {"inertial": dict(zip(NAMES, map(float, values), strict=True))}
    return {
        "num_joints": n,
        "type_joints": [("R", "P")[k] for k in rng.integers(0, 2, n)],
        "kinematics": {"convention": "classical", "DH": rng.uniform(-1.0, 1.0, 4 * n).tolist()},
        "Ln_to_EE": {"tr": [0.1, -0.2, 0.3], "ypr": [0.4, -0.5, 0.6]},
        "dynamics": bodies,
    }


def written(folder: Path, data: dict[str, Any]) -> Path:
    file = folder / "arm.yaml"
    file.write_text(yaml.safe_dump(data))
    return file


def classical(data: dict[str, Any]) -> pin.Model:
    """Joints about or along z of the frame before; bodies and the next joint behind Tz(d) Rz(theta) Tx(a) Rx(alpha)."""
    model, parent, placement = pin.Model(), 0, pin.SE3.Identity()
    model.gravity = pin.Motion(np.array([0.0, 0.0, -9.81]), np.zeros(3))
    for i, body in enumerate(data["dynamics"].values()):
        a, alpha, d, theta = data["kinematics"]["DH"][4 * i : 4 * i + 4]
        is_revolute = data["type_joints"][i] == "R"
        joint = pin.JointModelRZ() if is_revolute else pin.JointModelPZ()
        # Rz and Tz commute: the constant part of the row stands behind the joint whichever of them it moves
        along = pin.SE3(pin.utils.rotate("z", theta), np.array([0.0, 0.0, d]))
        distal = along * pin.SE3(pin.utils.rotate("x", alpha), np.array([a, 0.0, 0.0]))
        parent = model.addJoint(parent, joint, placement, f"joint{i + 1}")
        mass, *com, xx, xy, xz, yy, yz, zz = (body["inertial"][name] for name in NAMES)
        inertia = pin.Inertia(mass, np.array(com), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
        model.appendBodyToJoint(parent, inertia, distal)
        placement = distal
    ee = pin.SE3(rotation_from_ypr(*data["Ln_to_EE"]["ypr"]), np.array(data["Ln_to_EE"]["tr"]))
    model.addFrame(pin.Frame("ee", parent, placement * ee, pin.FrameType.OP_FRAME))
    return model


@pytest.mark.parametrize("seed", range(4))
def test_the_arm_is_that_of_the_files_own_frames(tmp_path: Path, seed: int) -> None:
    data = document(seed)
    robot, reference = RobotExpressions(load_model(written(tmp_path, data))), classical(data)
    their, rng = reference.createData(), np.random.default_rng(seed)
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, 4))
    state = {"q": q, "dq": qd, "ddq": qdd}
    assert_close(evaluate(robot, "inverse_dynamics", state), pin.rnea(reference, their, q, qd, qdd), RELATIVE)
    pin.framesForwardKinematics(reference, their, q)
    assert_close(evaluate(robot, "T_0_ee", state), their.oMf[reference.getFrameId("ee")].homogeneous, RELATIVE)


def test_run_time_parameters_move_with_their_entries(tmp_path: Path) -> None:
    data = document(0)
    data["kinematics"]["symb"] = [1, 0, 1, 0] + [0] * 12
    model = load_model(written(tmp_path, data))
    assert np.flatnonzero(model.symbolic["par_DHtable"]).tolist() == [2, 4]  # d of row 1, a of row 1 in row 2


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("kinematics", "symb"), [0] * 12 + [1, 0, 0, 0], "a or alpha of the last row of classical DH at run time"),
        (("Ln_to_EE", "symb"), [1, 0, 0, 0, 0, 0], "behind a last row of classical DH"),
        (("dynamics", "link2", "inertial", "symb"), [1] * 10, "an inertia in a frame of classical DH"),
        (("kinematics", "convention"), "standard", "kinematics.convention"),
    ],
)
def test_what_would_be_no_entry_any_more_is_refused(
    tmp_path: Path, path: tuple[str, ...], value: object, message: str
) -> None:
    data = document(0)
    place: Any = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(RobotFileError) as caught:
        load_model(written(tmp_path, data))
    assert message in str(caught.value)
