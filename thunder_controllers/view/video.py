"""Videos of runs, side by side, without a display."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from thunder_controllers.view.arm import COLOURS, Arm
from thunder_controllers.view.scene import add_arm, look_at, make_world
from thunder_dynamics.errors import MissingLibraryError, ThunderError

Picture = NDArray[np.uint8]

RATES = {".mp4": 30.0, ".gif": 10.0}
"""Pictures a second, by suffix."""

SIZES = {".mp4": (640, 480), ".gif": (400, 320)}
"""Width and height of the picture of a run [pixels]."""

GIF_COLOURS = 64
"""Fewer make the file smaller."""

MOST_BODIES = 3000
"""Of a picture: links, joints and pieces of paths."""

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
    check_suffix(path)
    times = np.arange(0.0, max(float(arm.frames.t[-1]) for arm in arms) + 1e-9, speed / RATES[path.suffix])
    write = _write_mp4 if path.suffix == ".mp4" else _write_gif
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, _pictures(arms, times, SIZES[path.suffix], progress))
    except OSError as error:
        raise ViewError(f"cannot write it ({error.strerror or error})", where=str(path), valid="a file") from error


def check_suffix(path: Path) -> None:
    """Refuse a file that is no video by its name, before anything runs for it.

    Raises:
        ViewError: saying which suffixes there are.
    """
    if path.suffix not in RATES:
        raise ViewError(f"a video ending in '{path.suffix}'", where=str(path), valid=" or ".join(RATES))


def _write_mp4(path: Path, pictures: Iterator[Picture]) -> None:
    try:
        import imageio.v2 as imageio

        writer = imageio.get_writer(path, fps=RATES[".mp4"], macro_block_size=16)
    except ImportError as error:
        raise MissingLibraryError("imageio_ffmpeg") from error
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
    arms: Sequence[Arm], times: NDArray[np.float64], size: tuple[int, int], progress: Callable[[float], None] | None
) -> Iterator[Picture]:
    painter = _Painter(*size)
    try:
        for number, t in enumerate(times, 1):
            yield np.concatenate([painter.paint(arm, t, c) for arm, c in zip(arms, COLOURS, strict=False)], axis=1)
            if progress is not None:
                progress(number / len(times))
    finally:
        painter.close()


class _Painter:
    """Draws arms into memory with MuJoCo."""

    def __init__(self, width: int, height: int) -> None:
        self._context = _open_context(width, height)
        self._context.make_current()
        self._model, self._data = make_world()
        self._scene = mujoco.MjvScene(self._model, maxgeom=MOST_BODIES)
        for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
            self._scene.flags[flag] = 0  # most of the time where the processor draws
        self._renderer = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._renderer)
        self._view = mujoco.MjrRect(0, 0, width, height)
        self._camera, self._option = mujoco.MjvCamera(), mujoco.MjvOption()
        self._font = ImageFont.load_default(14)

    def paint(self, arm: Arm, t: float, colour: str) -> Picture:
        """An arm at a time, with its caption."""
        k = arm.sample(t)
        look_at(self._camera, arm)
        every = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self._model, self._data, self._option, None, self._camera, every, self._scene)
        add_arm(self._scene, arm, k, colour)
        picture = np.empty((self._view.height, self._view.width, 3), dtype=np.uint8)
        mujoco.mjr_render(self._view, self._scene, self._renderer)
        mujoco.mjr_readPixels(picture, None, self._view, self._renderer)
        image = Image.fromarray(picture[::-1])
        ImageDraw.Draw(image).text((10, 8), f"t = {t:.1f} s: {arm.caption(k)}", fill="#1b1f24", font=self._font)
        return np.asarray(image)

    def close(self) -> None:
        self._renderer.free()
        self._context.free()


def _open_context(width: int, height: int) -> Any:
    """A context of OpenGL without a display.

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
