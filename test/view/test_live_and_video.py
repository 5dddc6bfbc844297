"""Arms are drawn where their frames are, in the browser's page, and in videos where something draws."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation
from traces import make_frames, make_trace

from thunder_controllers.mesh import Mesh
from thunder_controllers.view import video
from thunder_controllers.view.arm import COLOURS, Arm
from thunder_controllers.view.browser import HOST, Controls, View
from thunder_controllers.view.look import make_look
from thunder_controllers.view.video import ViewError, open_context, write_video
from thunder_dynamics.errors import MissingLibraryError


def _arm(name: str = "one") -> Arm:
    """A planar arm that picks up 1 kg after 0.99 of three seconds."""
    trace = make_trace(steps=300)
    truth = np.concatenate([trace.truth, trace.truth])
    truth[1, 0, :4] += [1.0, 0.1, 0.0, 0.0]
    trace = replace(trace, truth=truth, truth_time=trace.t[[0, 99]])
    return Arm.of(name, trace, make_frames(trace))


def _draws() -> bool:
    try:
        open_context(16, 16).free()
    except ViewError:
        return False
    return True


def test_links_join_frames_and_a_body_is_carried_from_its_time_on() -> None:
    arm = _arm()
    links = arm.links(7)
    np.testing.assert_allclose(np.linalg.norm(links[:, 1] - links[:, 0], axis=1), [0.5, 0.5, 0.2], rtol=1e-6)
    assert arm.balls(32) == [] and len(arm.balls(33)) == 1  # samples every 0.03 s
    centre, radius = arm.balls(60)[0]
    np.testing.assert_allclose(centre, arm.frames.position[60, 3] + [0.1, 0.0, 0.0], atol=1e-7)
    assert 4 / 3 * np.pi * radius**3 * 2700.0 == pytest.approx(1.0)
    assert arm.caption(0) == "one, 100 mm, 0.000 mrad"


def test_the_sample_shown_is_the_last_one_that_is_not_later() -> None:
    arm = _arm()  # samples every 0.03 s, to 2.97 s
    assert [arm.sample(t) for t in (-1.0, 0.0, 0.0299, 0.03, 0.045, 1.5, 9.0)] == [0, 0, 0, 1, 1, 50, 99]


def test_the_page_plays_and_listens_to_this_machine_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(View, "wait_for_reader", lambda self: None)
    arms, said = list(zip([_arm("first"), _arm("second")], COLOURS, strict=False)), list[object]()
    with View(said.append, port=18080) as viewer:
        viewer.open(arms[0][0])
        assert said == [f"view: http://localhost:{viewer.port} (the run begins when it is open; Ctrl-C ends)"]
        with socket.create_connection((HOST, viewer.port), timeout=5.0) as connection:
            assert connection.getpeername()[0] == "127.0.0.1"
        others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
        for address in others - {"127.0.0.1", "127.0.1.1"}:
            with pytest.raises(OSError):
                socket.create_connection((address, viewer.port), timeout=2.0).close()
        controls = Controls(viewer._server.gui, arms)
        shown, t = controls.advance(1.5)
        assert shown == arms and t == controls._time.value == pytest.approx(1.5)
        viewer.show(shown, t)
        bodies, arm, k = viewer._bodies["second"], arms[1][0], 50
        for handle, (start, end) in zip(bodies._links, arm.links(k), strict=False):
            top = Rotation.from_quat(np.roll(handle.wxyz, -1)).apply([0.0, 0.0, 0.5 * handle.scale[2]])
            np.testing.assert_allclose([handle.position - top, handle.position + top], [start, end], atol=1e-9)
        np.testing.assert_allclose([handle.position for handle in bodies._joints], arm.joints(k), atol=1e-9)
        assert bodies._carried[0].visible and "\nfirst, " in viewer._text.content
        np.testing.assert_allclose(bodies._path.points[-1, 1], arm.path[150], atol=1e-6)
        controls._boxes[0].value = False
        shown, t = controls.advance(2.0)  # over the end
        assert shown == arms[1:] and t == pytest.approx(1.5 + 2.0 - 2.97, abs=0.05)
        viewer.show(shown, t)
        assert not bodies._carried[0].visible and not viewer._bodies["first"]._root.visible and bodies._root.visible


@pytest.mark.skipif(not _draws(), reason="no OpenGL without a display (libegl1, libegl-mesa0)")
def test_video_shows_the_runs_side_by_side_and_moves(tmp_path: Path) -> None:
    shares: list[float] = []
    write_video([_arm("first"), _arm("second")], tmp_path / "new/a.gif", 4.0, shares.append)
    with Image.open(tmp_path / "new/a.gif") as image:
        assert image.size == (800, 320) and image.n_frames == len(shares) == 8 and shares[-1] == 1.0
        pictures = []
        for number in (0, 6):
            image.seek(number)
            pictures.append(np.asarray(image.convert("RGB"), dtype=int))
    red, blue = (pictures[0][80:, half] for half in (slice(0, 400), slice(400, 800)))
    assert (red[..., 0] - red[..., 2] > 60).sum() > 500 and (blue[..., 2] - blue[..., 0] > 60).sum() > 500
    assert (np.abs(pictures[1][80:] - pictures[0][80:]).max(axis=2) > 60).sum() > 1000


CORNERS = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.1]])
CORNER = Mesh(CORNERS, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
TURNED = Rotation.from_euler("xyz", [0.3, 0.5, -0.7]).as_matrix()


def _seen(name: str) -> Arm:
    """The same arm, frames turned, of which the upper link and the tool are seen."""
    arm = _arm(name)
    frames = replace(arm.frames, rotation=np.broadcast_to(TURNED, arm.frames.rotation.shape).astype(np.float32))
    return replace(arm, frames=frames, look=make_look([(1, CORNER), (3, CORNER)]))


def test_the_page_has_what_links_look_like_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(View, "wait_for_reader", lambda self: None)
    arm = _seen("one")
    with View(lambda _: None, port=18090) as viewer:
        viewer.open(arm)
        viewer.show([(arm, COLOURS[0])], 1.5)
        bodies = viewer._bodies["one"]
        assert len(bodies._links) == 2 and len(bodies._joints) == 1 and list(bodies._seen) == [1, 3]
        places = [
            Rotation.from_quat(np.roll(handle.wxyz, -1)).apply(CORNERS) + handle.position
            for handle in bodies._seen.values()
        ]
        np.testing.assert_allclose(np.concatenate(places), arm.body(50), atol=1e-6)


def test_a_video_has_each_mesh_where_the_frame_is() -> None:
    """MuJoCo keeps meshes in other frames; the vertices that it draws are those of the arm."""
    arm = _seen("one")
    world, bodies = video._world([_arm("bare"), arm])
    assert bodies[0] == {} and list(bodies[1]) == [1, 3]
    scene = mujoco.MjvScene(world, maxgeom=10)
    for frame, mesh in bodies[1].items():
        video._add_mesh(scene, world, mesh, (1, 2, 3), arm.frames.position[50, frame], arm.frames.rotation[50, frame])
        geom, start = scene.geoms[scene.ngeom - 1], world.mesh_vertadr[mesh]
        kept = world.mesh_vert[start : start + world.mesh_vertnum[mesh]]
        drawn = kept @ np.reshape(geom.mat, (3, 3)).T + geom.pos
        expected = arm.body(50)[arm.look.frame == frame]
        assert np.linalg.norm(drawn[:, None] - expected[None], axis=2).min(axis=0).max() < 1e-6
        assert geom.dataid == 2 * mesh and geom.type == mujoco.mjtGeom.mjGEOM_MESH
    full = mujoco.MjvScene(world, maxgeom=0)
    video._add_mesh(full, world, 0, (1, 2, 3), np.zeros(3), np.eye(3))
    assert full.ngeom == 0


@pytest.mark.skipif(not _draws(), reason="no OpenGL without a display (libegl1, libegl-mesa0)")
def test_a_video_shows_meshes(tmp_path: Path) -> None:
    pictures = []
    for name, arm in (("bare", _arm("one")), ("seen", _seen("one"))):
        write_video([replace(arm, path=arm.path[:1] + 9.0, desired=None)], tmp_path / f"{name}.gif", 9.0)
        with Image.open(tmp_path / f"{name}.gif") as image:
            pictures.append(np.asarray(image.convert("RGB"), dtype=int)[80:])
    red = [(picture[..., 0] - picture[..., 2] > 60).sum() for picture in pictures]
    assert min(red) > 1000 and (np.abs(pictures[1] - pictures[0]).max(axis=2) > 60).sum() > 500


def test_what_is_missing_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ViewError, match=r"a video ending in '.avi'.*valid: .mp4 or .gif"):
        write_video([_arm()], tmp_path / "a.avi")
    monkeypatch.setenv("MUJOCO_GL", "none_such")
    with pytest.raises(ViewError, match=r"no OpenGL to draw with .*apt install libegl1"):
        write_video([_arm()], tmp_path / "a.gif")
    monkeypatch.setitem(__import__("sys").modules, "viser", None)
    with pytest.raises(
        MissingLibraryError, match="viser is not installed; valid: pip install .thunder-controllers.view"
    ):
        View(print).open(_arm())
