"""Arms as capsules in a scene of MuJoCo, for the window and for videos."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.view.arm import Arm, thinned

FloatArray = NDArray[np.float64]

WORLD = """
<mujoco>
  <visual>
    <headlight ambient="0.35 0.35 0.35" diffuse="0.5 0.5 0.5"/>
    <global offwidth="1280" offheight="960"/>
    <quality offsamples="2" numslices="16" numstacks="8"/>
  </visual>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" width="64" height="64"
      rgb1="0.93 0.95 0.97" rgb2="0.75 0.8 0.85"/>
    <texture name="floor" type="2d" builtin="checker" width="64" height="64"
      rgb1="0.82 0.84 0.86" rgb2="0.76 0.78 0.81"/>
    <material name="floor" texture="floor" texrepeat="16 16"/>
  </asset>
  <worldbody>
    <light pos="1 -1 3" dir="-0.3 0.3 -1" directional="true"/>
    <geom type="plane" size="4 4 0.1" material="floor"/>
  </worldbody>
</mujoco>
"""
"""A floor, a sky and a light; the arms are added to each picture."""

PATH_POINTS = 150
"""Of a path that is drawn."""

PATH_WIDTH = 2.0
"""[pixels]."""

JOINT_COLOUR = (0.25, 0.27, 0.3, 1.0)
CARRIED_COLOUR = (0.93, 0.68, 0.29, 1.0)
DESIRED_COLOUR = (0.1, 0.1, 0.1, 1.0)


def make_world() -> tuple[Any, Any]:
    """Compile what stands around the arms: model and data."""
    model = mujoco.MjModel.from_xml_string(WORLD)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def look_at(camera: Any, arm: Arm) -> None:
    """Put a free camera where it sees the whole motion of an arm."""
    points = arm.frames.position.reshape(-1, 3)
    camera.lookat[:] = 0.5 * (points.min(axis=0) + points.max(axis=0))
    camera.distance, camera.azimuth, camera.elevation = 1.6 * arm.reach, 140.0, -18.0


def add_arm(scene: Any, arm: Arm, k: int, colour: str) -> None:
    """Add the arm at sample `k` of its frames, what it carries, the desired path and its own so far."""
    rgba = (*(int(colour[place : place + 2], 16) / 255.0 for place in (1, 3, 5)), 1.0)
    for start, end in arm.links(k):
        _connect(scene, start, end, arm.radius, rgba, mujoco.mjtGeom.mjGEOM_CAPSULE)
    for point in arm.joints(k):
        _ball(scene, point, 1.2 * arm.radius, JOINT_COLOUR)
    for centre, radius in arm.balls(k):
        _ball(scene, centre, radius, CARRIED_COLOUR)
    for points, paint in ((arm.desired, DESIRED_COLOUR), (arm.path_until(k), rgba)):
        if points is not None:
            thin = thinned(points, PATH_POINTS)
            for start, end in zip(thin[:-1], thin[1:], strict=True):
                _connect(scene, start, end, PATH_WIDTH, paint, mujoco.mjtGeom.mjGEOM_LINE)


def _connect(scene: Any, start: FloatArray, end: FloatArray, width: float, rgba: tuple[float, ...], kind: Any) -> None:
    geom = _next(scene, kind, np.zeros(3), rgba)
    if geom is not None:
        mujoco.mjv_connector(geom, kind, width, np.asarray(start, np.float64), np.asarray(end, np.float64))


def _ball(scene: Any, centre: Any, radius: float, rgba: tuple[float, ...]) -> None:
    geom = _next(scene, mujoco.mjtGeom.mjGEOM_SPHERE, np.full(3, radius), rgba)
    if geom is not None:
        geom.pos[:] = centre


def _next(scene: Any, kind: Any, size: FloatArray, rgba: tuple[float, ...]) -> Any | None:
    """One more body of the scene; None where it is full."""
    if scene.ngeom >= scene.maxgeom:
        return None
    geom = scene.geoms[scene.ngeom]
    mujoco.mjv_initGeom(geom, kind, size, np.zeros(3), np.eye(3).ravel(), np.array(rgba, dtype=np.float32))
    scene.ngeom += 1
    return geom
