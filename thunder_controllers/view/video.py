"""Videos of runs, side by side, drawn by MuJoCo without a display."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from thunder_controllers.fields import FloatArray
from thunder_controllers.view.arm import BLACK, COLOURS, GOLD, GREY, Arm, rgb, thinned
from thunder_dynamics.errors import MissingLibraryError, ThunderError

Picture = NDArray[np.uint8]

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

RATES = {".mp4": 30.0, ".gif": 10.0}
"""Pictures a second, by suffix."""

SIZES = {".mp4": (640, 480), ".gif": (400, 320)}
"""Width and height of the picture of a run [pixels]."""

GIF_COLOURS = 64
"""Fewer make the file smaller."""

MOST_BODIES = 3000
"""Of a picture: links, joints and pieces of paths."""

PATH_POINTS = 150
"""Of a path that is drawn."""

PATH_WIDTH = 2.0
"""[pixels]."""

CONTEXTS = ("egl", "osmesa")
"""What draws without a display, in the order in which it is tried; MUJOCO_GL names another."""


class ViewError(ThunderError):
    """A picture cannot be made, or not be written."""


def write_video(
    arms: Sequence[Arm], path: Path, speed: float = 1.0, progress: Callable[[float], None] | None = None
) -> None:
    """Write the runs side by side, each with its name and errors, as .mp4 or .gif.

    Args:
        arms: The runs.
        path: Its suffix says which; replaced if it exists.
        speed: Seconds of the run per second of the video.
        progress: Called with the fraction that is done.

    Raises:
        ViewError: if nothing draws here, saying what to install, or the file cannot be written.
        MissingLibraryError: if what writes .mp4 is not installed.
    """
    check_file(path)
    times = np.arange(0.0, max(float(arm.frames.t[-1]) for arm in arms) + 1e-9, speed / RATES[path.suffix])
    write = _write_mp4 if path.suffix == ".mp4" else _write_gif
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, _pictures(arms, times, SIZES[path.suffix], progress))
    except OSError as error:
        raise ViewError(f"cannot write it ({error.strerror or error})", where=str(path), valid="a file") from error


def check_file(path: Path) -> None:
    """Refuse a file that is no video by its name, or that nothing here writes, before anything runs for it.

    Raises:
        ViewError: saying which suffixes there are.
        MissingLibraryError: if a library is not installed.
    """
    if path.suffix not in RATES:
        raise ViewError(f"a video ending in '{path.suffix}'", where=str(path), valid=" or ".join(RATES))
    if path.suffix == ".mp4":
        for module in ("imageio", "imageio_ffmpeg"):
            if find_spec(module) is None:
                raise MissingLibraryError(module)


def _write_mp4(path: Path, pictures: Iterator[Picture]) -> None:
    import imageio.v2 as imageio

    writer: Any = imageio.get_writer(path, fps=RATES[".mp4"], macro_block_size=16)
    with writer:
        for picture in pictures:
            writer.append_data(picture)


def _write_gif(path: Path, pictures: Iterator[Picture]) -> None:
    """Of one palette, in which small bodies keep their colours, so that what does not move costs nothing."""
    images = [Image.fromarray(picture) for picture in pictures]
    palette = images[len(images) // 2].quantize(GIF_COLOURS, Image.Quantize.MAXCOVERAGE)
    first, *others = (image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images)
    duration = round(1e3 / RATES[".gif"])
    first.save(path, save_all=True, append_images=others, duration=duration, loop=0, optimize=True)


def _pictures(
    arms: Sequence[Arm], times: FloatArray, size: tuple[int, int], progress: Callable[[float], None] | None
) -> Iterator[Picture]:
    """Draw the arms at each time, into memory; mujoco.Renderer would want its context named before MuJoCo is loaded."""
    context = open_context(*size)
    context.make_current()
    world, bodies = _world(arms)
    data, scene = mujoco.MjData(world), mujoco.MjvScene(world, maxgeom=MOST_BODIES)
    mujoco.mj_forward(world, data)
    for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
        scene.flags[flag] = 0  # most of the time where the processor draws
    renderer = mujoco.MjrContext(world, mujoco.mjtFontScale.mjFONTSCALE_100)
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, renderer)
    rectangle, font = mujoco.MjrRect(0, 0, *size), ImageFont.load_default(14)
    pixels = np.empty((size[1], size[0], 3), dtype=np.uint8)

    def draw(number: int, arm: Arm, t: float, colour: str) -> Picture:
        k, every = arm.sample(t), mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(world, data, mujoco.MjvOption(), None, _camera(arm), every, scene)
        _add_arm(scene, arm, k, colour)
        for frame, mesh in bodies[number].items():
            _add_mesh(scene, world, mesh, rgb(colour), arm.frames.position[k, frame], arm.frames.rotation[k, frame])
        mujoco.mjr_render(rectangle, scene, renderer)
        mujoco.mjr_readPixels(pixels, None, rectangle, renderer)
        image = Image.fromarray(pixels[::-1])
        ImageDraw.Draw(image).text((10, 8), f"t = {t:.1f} s: {arm.caption(k)}", fill="#1b1f24", font=font)
        return np.asarray(image)

    try:
        for done, t in enumerate(times, 1):
            painted = enumerate(zip(arms, COLOURS, strict=False))
            yield np.concatenate([draw(one, arm, t, colour) for one, (arm, colour) in painted], axis=1)
            if progress is not None:
                progress(done / len(times))
    finally:
        renderer.free()
        context.free()


def _world(arms: Sequence[Arm]) -> tuple[Any, list[dict[int, int]]]:
    """The world with a mesh for each frame of an arm that is seen, and of each arm the meshes' ids by frame."""
    spec, bodies = mujoco.MjSpec.from_string(WORLD), list[dict[int, int]]()
    for number, arm in enumerate(arms):
        bodies.append({})
        for frame, mesh in arm.look.parts().items():
            asset = spec.add_mesh(name=f"{number}_{frame}", inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL)
            asset.uservert, asset.userface = mesh.vertices.ravel(), mesh.faces.ravel()
            bodies[-1][frame] = len(spec.meshes) - 1
    return spec.compile(), bodies


def open_context(width: int, height: int) -> Any:
    """Open a context of OpenGL without a display.

    Raises:
        ViewError: saying what each one lacks.
    """
    reasons = []
    for name in [os.environ["MUJOCO_GL"]] if os.environ.get("MUJOCO_GL") else CONTEXTS:
        try:
            return import_module(f"mujoco.{name}").GLContext(width, height)
        except (ImportError, AttributeError, RuntimeError, OSError) as error:
            reasons.append(f"{name}: {' '.join(str(error).split())}")
    valid = "apt install libegl1 libegl-mesa0 (or libosmesa6); MUJOCO_GL=glfw with a display"
    raise ViewError(f"no OpenGL to draw with ({'; '.join(reasons)})", where="video", valid=valid)


def _camera(arm: Arm) -> Any:
    """Where the whole motion of an arm is seen."""
    camera, points = mujoco.MjvCamera(), arm.frames.position.reshape(-1, 3)
    camera.lookat[:] = 0.5 * (points.min(axis=0) + points.max(axis=0))
    camera.distance, camera.azimuth, camera.elevation = 1.6 * arm.reach, 140.0, -18.0
    return camera


def _add_arm(scene: Any, arm: Arm, k: int, colour: str) -> None:
    """Add the arm at sample `k` of its frames, what it carries, the desired path and its own so far."""
    for ends in arm.links(k):
        _add(scene, mujoco.mjtGeom.mjGEOM_CAPSULE, rgb(colour), arm.radius, *ends)
    for point in arm.joints(k):
        _add(scene, mujoco.mjtGeom.mjGEOM_SPHERE, GREY, 1.2 * arm.radius, point)
    for centre, radius in arm.balls(k):
        _add(scene, mujoco.mjtGeom.mjGEOM_SPHERE, GOLD, radius, centre)
    for points, paint in ((arm.desired, BLACK), (arm.path_until(k), rgb(colour))):
        if points is not None:
            thin = thinned(points, PATH_POINTS)
            for ends in zip(thin[:-1], thin[1:], strict=True):
                _add(scene, mujoco.mjtGeom.mjGEOM_LINE, paint, PATH_WIDTH, *ends)


def _add_mesh(
    scene: Any, world: Any, mesh: int, paint: tuple[int, ...], position: FloatArray, rotation: FloatArray
) -> None:
    """Add a mesh of the world, its own frame at a pose, if the scene is not full."""
    if scene.ngeom >= scene.maxgeom:
        return
    turn = np.zeros(9)  # MuJoCo keeps a mesh in the frame of its principal axes, which has this pose in its own
    mujoco.mju_quat2Mat(turn, world.mesh_quat[mesh])
    place, turned = position + rotation @ world.mesh_pos[mesh], rotation @ turn.reshape(3, 3)
    geom, rgba = scene.geoms[scene.ngeom], np.array([*paint, 255], dtype=np.float32) / 255
    mujoco.mjv_initGeom(geom, mujoco.mjtGeom.mjGEOM_MESH, np.ones(3), place, turned.ravel().astype(float), rgba)
    geom.dataid = 2 * mesh  # odd ones are convex hulls
    scene.ngeom += 1


def _add(scene: Any, kind: Any, paint: tuple[int, ...], width: float, *points: FloatArray) -> None:
    """Add a body to the scene if it is not full: a ball about one point, or what joins two."""
    if scene.ngeom >= scene.maxgeom:
        return
    geom, places = scene.geoms[scene.ngeom], np.array(points, dtype=float)
    rgba = np.array([*paint, 255], dtype=np.float32) / 255
    mujoco.mjv_initGeom(geom, kind, np.full(3, width), places[0], np.eye(3).ravel(), rgba)
    if len(places) == 2:
        mujoco.mjv_connector(geom, kind, width, *places)
    scene.ngeom += 1
