"""Runs on a page that this machine alone can open: while they go, at the pace of real time, and when they are done."""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from thunder_controllers.fields import FloatArray
from thunder_controllers.references.trajectories import POSITION
from thunder_controllers.simulation.experiment import find_frames
from thunder_controllers.simulation.preparation import Setup
from thunder_controllers.simulation.scenario import Run
from thunder_controllers.simulation.trace import Trace
from thunder_controllers.view.arm import BLACK, COLOURS, GOLD, GREY, PERIOD, Arm, rgb, thinned
from thunder_controllers.view.look import read_look
from thunder_dynamics.errors import MissingLibraryError

HOST = "127.0.0.1"
"""The only address that is listened at."""

PORT = 8080
"""The first one tried."""

PATH_POINTS = 500
"""Of a path that is drawn."""

PATH_WIDTH = 0.004
"""[m]."""

Painted = tuple[Arm, str]
"""An arm and its colour."""


class View:
    """The page, served from the first picture on; it may be closed and opened again.

    Args:
        say: Told where to look.
        port: The first one tried.
    """

    def __init__(self, say: Callable[[str], object], port: int = PORT) -> None:
        self.port = port
        self._say = say
        self._server: Any = None
        self._text: Any = None
        self._bodies: dict[str, _Bodies] = {}
        self._colours = cycle(COLOURS)
        self._going: tuple[Setup, Arm, str] | None = None
        self._start = self._left = self._t = 0.0  # wall time at t = 0 and at the last picture, and t there

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            with redirect_stdout(io.StringIO()):
                self._server.stop()

    def __call__(self, setup: Setup, run: Run, row: Trace) -> None:
        """Show the latest row of a run and the path that led to it, and wait until its time has come.

        A run that is slower than real time is not hurried; a page that is slower misses pictures.

        Raises:
            MissingLibraryError: if viser is not installed.
        """
        going = self._going if self._going is not None and self._going[0] is setup else None
        look = read_look(run.config, setup.model) if going is None else going[1].look
        now, t = Arm.of(run.name, row, find_frames(setup.model, setup.library, row), look), float(row.t[-1])
        self.open(now)
        if going is not None:
            arm, colour = going[1].followed_by(now), going[2]
        else:
            arm = replace(now, desired=setup.samples[:, POSITION] if row.is_cartesian else None)
            colour, self._left = next(self._colours), -math.inf
        self._going = setup, arm, colour
        came = time.monotonic()
        if came - self._left > t - self._t:
            self._start = came - t
        if came <= self._start + t + 1e-6:  # rounding
            self.show([(arm, colour)], t)
            time.sleep(max(self._start + t - time.monotonic(), 0.0))
        self._left, self._t = time.monotonic(), t

    def replay(self, arms: Sequence[Arm]) -> None:
        """Play runs over one another again and again, until Ctrl-C is pressed."""
        try:
            self.open(arms[-1])
            controls = Controls(self._server.gui, list(zip(arms, COLOURS, strict=False)))
            while True:
                self.show(*controls.advance(PERIOD))
                time.sleep(PERIOD)
        except KeyboardInterrupt:
            return

    def open(self, arm: Arm) -> None:
        """Serve the page if it is not there yet, its camera on an arm, and return when somebody has opened it.

        Raises:
            MissingLibraryError: if viser is not installed.
        """
        if self._server is not None:
            return
        try:
            import viser
        except ImportError as error:
            raise MissingLibraryError("viser") from error
        with redirect_stdout(io.StringIO()):  # who opens it says where it is
            self._server = viser.ViserServer(host=HOST, port=self.port, label="thunder", verbose=False)
        self.port = self._server.get_port()
        self._server.scene.add_grid("/floor", 4.0, 4.0, cell_size=0.25)
        centre = arm.frames.position.reshape(-1, 3).mean(axis=0)
        self._server.initial_camera.position = tuple(centre + arm.reach * np.array([0.9, -0.9, 0.5]))
        self._server.initial_camera.look_at = tuple(centre)
        self._text = self._server.gui.add_markdown("")
        self._say(f"view: http://localhost:{self.port} (the run begins when it is open; Ctrl-C ends)")
        self.wait_for_reader()

    def wait_for_reader(self) -> None:
        """Return when somebody has opened the page."""
        while not self._server.get_clients():
            time.sleep(PERIOD)

    def show(self, arms: Sequence[Painted], t: float) -> None:
        """Show these arms at a time [s], and no others."""
        with self._server.atomic():
            for bodies in self._bodies.values():
                bodies.hide()
            for arm, colour in arms:
                if arm.name not in self._bodies:
                    self._bodies[arm.name] = _Bodies(self._server.scene, arm, colour)
                self._bodies[arm.name].place(arm, arm.sample(t))
        self._text.content = "  \n".join([f"t = {t:.1f} s", *(arm.caption(arm.sample(t)) for arm, _ in arms)])


class Controls:
    """What chooses the time and the runs on the page.

    Args:
        gui: Of the page.
        arms: The runs.
    """

    def __init__(self, gui: Any, arms: Sequence[Painted]) -> None:
        self._arms = arms
        self._end = max(PERIOD, *(float(arm.frames.t[-1]) for arm, _ in arms))
        self._playing = gui.add_checkbox("play", True)
        self._time = gui.add_slider("t [s]", 0.0, self._end, PERIOD, 0.0)
        self._speed = gui.add_slider("speed", 0.1, 4.0, 0.1, 1.0)
        self._boxes = [gui.add_checkbox(arm.name, True) for arm, _ in arms]

    def advance(self, seconds: float) -> tuple[list[Painted], float]:
        """What is to be seen next, and at which time [s]: some seconds on while it plays, over the end to the start."""
        t = float(self._time.value)
        if self._playing.value:
            t = (t + seconds * float(self._speed.value)) % self._end
            self._time.value = t
        return [arm for arm, box in zip(self._arms, self._boxes, strict=True) if box.value], t


class _Bodies:
    """The bodies of one run on the page: what links look like, or cylinders and balls; what is carried; two paths."""

    def __init__(self, scene: Any, arm: Arm, colour: str) -> None:
        paint = rgb(colour)
        self._scene, self._name = scene, f"/{arm.name}"
        self._root = scene.add_frame(self._name, show_axes=False)
        links, joints = range(len(arm.bones())), range(len(arm.joints(0)))
        self._seen = {
            frame: scene.add_mesh_simple(f"{self._name}/look{frame}", mesh.vertices, mesh.faces, color=paint)
            for frame, mesh in arm.look.parts().items()
        }
        self._links = [scene.add_cylinder(f"{self._name}/link{i}", arm.radius, 1.0, paint) for i in links]
        self._joints = [scene.add_icosphere(f"{self._name}/joint{i}", 1.2 * arm.radius, GREY) for i in joints]
        self._carried: list[Any] = []
        self._path = self._line("path", arm.path[:1], paint)
        if arm.desired is not None:
            self._line("desired", arm.desired, BLACK)

    def hide(self) -> None:
        """Show none of them."""
        self._root.visible = False

    def place(self, arm: Arm, k: int) -> None:
        """Show them where they are at sample `k`."""
        self._root.visible = True
        links, balls = arm.links(k), arm.balls(k)
        for number, handle in enumerate(self._links):
            handle.visible = number < len(links)
            if handle.visible:
                start, end = links[number]
                turn, _ = Rotation.align_vectors(end - start, (0.0, 0.0, 1.0))
                handle.position, handle.wxyz = 0.5 * (start + end), np.roll(turn.as_quat(), 1)
                handle.scale = (1.0, 1.0, float(np.linalg.norm(end - start)))
        for frame, handle in self._seen.items():
            handle.position = arm.frames.position[k, frame]
            handle.wxyz = np.roll(Rotation.from_matrix(arm.frames.rotation[k, frame]).as_quat(), 1)
        for handle, point in zip(self._joints, arm.joints(k), strict=True):
            handle.position = point
        for number in range(len(self._carried), len(balls)):
            self._carried.append(self._scene.add_icosphere(f"{self._name}/body{number}", 1.0, GOLD))
        for number, handle in enumerate(self._carried):
            handle.visible = number < len(balls)
            if handle.visible:
                handle.position, handle.scale = balls[number]
        self._path.points = _segments(arm.path_until(k))

    def _line(self, name: str, points: FloatArray, colour: tuple[int, ...]) -> Any:
        segments = _segments(points)
        return self._scene.add_line_segments(f"{self._name}/{name}", segments, colour, thickness=PATH_WIDTH)


def _segments(points: FloatArray) -> NDArray[np.float32]:
    """Pieces of a path, (P, 2, 3)."""
    thin = thinned(points, PATH_POINTS).astype(np.float32)
    return np.stack([thin[:-1], thin[1:]], 1)
