"""Watching runs as they went, at their own speed: in MuJoCo's window, or in a browser where there is no display."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.view.arm import COLOURS, Arm
from thunder_dynamics.errors import MissingLibraryError

FloatArray = NDArray[np.float64]

HOST = "127.0.0.1"
"""The only address that the browser's viewer listens at."""

PORT = 8080
"""The first one tried."""

PERIOD = 1.0 / 30.0
"""Of pictures [s]."""

GREY, GOLD, BLACK = (64, 69, 77), (237, 174, 73), (20, 20, 20)


def watch(arms: Sequence[Arm], say: Callable[[str], object]) -> None:
    """Play the runs over one another again and again, until the window is closed or Ctrl-C is pressed.

    Args:
        arms: The runs.
        say: Told where to look.

    Raises:
        MissingLibraryError: if there is no display, and the library of the browser's viewer is not installed.
    """
    try:
        if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
            _show_window(arms)
            return
        viewer = Browser(arms)
        say(f"view: http://localhost:{viewer.port} (Ctrl-C ends)")
        while True:
            viewer.advance(PERIOD)
            time.sleep(PERIOD)
    except KeyboardInterrupt:
        return


def _show_window(arms: Sequence[Arm]) -> None:
    import mujoco.viewer

    from thunder_controllers.view.scene import add_arm, look_at, make_world

    end, started = max(float(arm.frames.t[-1]) for arm in arms), time.monotonic()
    with mujoco.viewer.launch_passive(*make_world(), show_left_ui=False, show_right_ui=False) as window:
        look_at(window.cam, arms[-1])
        while window.is_running():
            t = (time.monotonic() - started) % max(end, PERIOD)
            with window.lock():
                window.user_scn.ngeom = 0
                for arm, colour in zip(arms, COLOURS, strict=False):
                    add_arm(window.user_scn, arm, arm.sample(t), colour)
            window.sync()
            time.sleep(PERIOD)


class Browser:
    """A page with the arms, a slider of time, a speed, and a box per run that shows or hides it.

    Args:
        arms: The runs.
        port: The first one tried.

    Raises:
        MissingLibraryError: if viser is not installed.
    """

    def __init__(self, arms: Sequence[Arm], port: int = PORT) -> None:
        try:
            import viser
        except ImportError as error:
            raise MissingLibraryError("viser") from error
        self._server: Any = viser.ViserServer(host=HOST, port=port, label="thunder", verbose=False)
        self.port: int = self._server.get_port()
        self._bodies = [_Bodies(self._server.scene, arm, c) for arm, c in zip(arms, COLOURS, strict=False)]
        self._end = max(float(arm.frames.t[-1]) for arm in arms)
        gui: Any = self._server.gui
        self._playing = gui.add_checkbox("play", True)
        self._time: Any = gui.add_slider("t [s]", 0.0, max(self._end, PERIOD), PERIOD, 0.0)
        self._speed = gui.add_slider("speed", 0.1, 4.0, 0.1, 1.0)
        self._text = gui.add_markdown("")
        self._boxes = [gui.add_checkbox(arm.name, True) for arm in arms]
        self._server.scene.add_grid("/floor", 4.0, 4.0, cell_size=0.25)
        centre = arms[-1].frames.position.reshape(-1, 3).mean(axis=0)
        self._server.initial_camera.position = tuple(centre + arms[-1].reach * np.array([0.9, -0.9, 0.5]))
        self._server.initial_camera.look_at = tuple(centre)
        self.show(0.0)

    def advance(self, seconds: float) -> None:
        """Show the next picture: some seconds on while it plays, over the end back to the start."""
        t = float(self._time.value)
        if self._playing.value:
            t = (t + seconds * float(self._speed.value)) % max(self._end, PERIOD)
            self._time.value = t
        self.show(t)

    def show(self, t: float) -> None:
        """Move all arms to a time [s]."""
        with self._server.atomic():
            for bodies, box in zip(self._bodies, self._boxes, strict=True):
                bodies.place(bodies.arm.sample(t), bool(box.value))
        self._text.content = "  \n".join(bodies.arm.caption(bodies.arm.sample(t)) for bodies in self._bodies)

    def close(self) -> None:
        """Stop serving the page."""
        self._server.stop()


class _Bodies:
    """The bodies of one run in the page: a cylinder a link, a ball a joint, one for what is carried, two paths."""

    def __init__(self, scene: Any, arm: Arm, colour: str) -> None:
        self.arm = arm
        paint = tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))
        root = f"/{arm.name}"
        count = max(len(arm.links(k)) for k in range(len(arm.frames.t)))
        self._root = scene.add_frame(root, show_axes=False)
        self._links = [scene.add_cylinder(f"{root}/link{i}", arm.radius, 1.0, paint) for i in range(count)]
        radius = 1.2 * arm.radius
        self._joints = [scene.add_icosphere(f"{root}/joint{i}", radius, GREY) for i in range(len(arm.joints(0)))]
        self._carried = [scene.add_icosphere(f"{root}/body{i}", b.radius, GOLD) for i, b in enumerate(arm.carried)]
        for name, points, shade in (("path", arm.path, paint), ("desired", arm.desired, BLACK)):
            if points is not None and len(points) > 1:
                thin = points[:: -(-len(points) // 500)]
                scene.add_line_segments(f"{root}/{name}", np.stack([thin[:-1], thin[1:]], 1), shade, thickness=0.004)

    def place(self, k: int, visible: bool) -> None:
        """Move them to where they are at sample `k`."""
        self._root.visible = visible
        links, balls = self.arm.links(k), self.arm.balls(k)
        for number, handle in enumerate(self._links):
            handle.visible = number < len(links)
            if handle.visible:
                start, end = links[number]
                handle.position, handle.wxyz = 0.5 * (start + end), _upright(end - start)
                handle.scale = (1.0, 1.0, float(np.linalg.norm(end - start)))
        for handle, point in zip(self._joints, self.arm.joints(k), strict=True):
            handle.position = point
        for number, handle in enumerate(self._carried):
            handle.visible = number < len(balls)
            if handle.visible:
                handle.position = balls[number][0]


def _upright(direction: FloatArray) -> FloatArray:
    """The shortest turn that brings z into a direction, as quaternion w, x, y, z."""
    x, y, z = direction / np.linalg.norm(direction)
    if z < -1.0 + 1e-9:
        return np.array([0.0, 1.0, 0.0, 0.0])
    quaternion = np.array([1.0 + z, -y, x, 0.0])
    return np.asarray(quaternion / np.linalg.norm(quaternion))
