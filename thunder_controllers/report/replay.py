"""The arm in three dimensions, its path, and a replay of the runs over one another, in the page itself.

Frames of plotly hold places. Of arms with a look the page holds poses instead, and makes places of them when it opens.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, DTypeLike

from thunder_controllers.fields import FloatArray
from thunder_controllers.mesh import Mesh, make_shape
from thunder_controllers.view.arm import COLOURS, GOLD, Arm, thinned
from thunder_controllers.view.look import Look, make_look

MOST_FRAMES = 900
"""Of the replay: longer runs have fewer a second, so that the page stays small."""

MOST_POINTS = 600
"""Of a path."""

EYE = {"x": 1.65, "y": -1.65, "z": 0.7}
"""Where the arm is seen from, in sizes of the picture."""

SIZE = 1.3
"""Of the longest side of what is shown, in sizes of the picture: by that, a tall arm is seen whole."""

WIDTH = 9
"""Of a link [pixels]."""


BOXED = 30
"""Samples whose looks the picture is to hold."""

GHOST = 0.4
"""Opacity of the arms but that of the last run."""

LIGHT = {"ambient": 0.55, "diffuse": 0.7, "specular": 0.25, "roughness": 0.6, "fresnel": 0.1}
LAMP = {"x": 6e4, "y": -9e4, "z": 9e4}
"""Material of arms, and where light comes from: above the eye, far away."""

POSE = np.iinfo(np.int16).max
"""Of numbers in the page: what stands for 1 in a rotation, and for the largest coordinate in a position."""

MOVE = """
(plot, frames, bodies) => {
  const numbers = (Kind, text) => new Kind(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer);
  const traces = bodies.map(body => body.trace);
  const looks = bodies.map(body => ({...body, vertices: numbers(Float32Array, body.vertices),
    frame: numbers(Uint16Array, body.frame), poses: numbers(Int16Array, body.poses)}));
  const place = (body, k, row, frame, v) => {
    const pose = 12 * (k * body.frames + frame), size = k < body.first || k >= body.end ? 0 : 1;
    return [0, 1, 2].reduce((sum, i) => sum + size * body.poses[pose + 3 * row + i] * body.vertices[3 * v + i],
      body.poses[pose + 9 + row] * body.size) / body.one;
  };
  const places = (body, k) => ["x", "y", "z"].map((axis, row) =>
    [axis, Float32Array.from(body.frame, (frame, v) => place(body, Math.min(k, body.samples - 1), row, frame, v))]);
  Plotly.addFrames(plot, frames.map((frame, k) => ({...frame, traces: [...frame.traces, ...traces],
    data: [...frame.data, ...looks.map(body => ({type: "mesh3d", ...Object.fromEntries(places(body, k))}))]})));
}
"""
"""Adds frames to a plot, and to each of them where the vertices of bodies are then."""


def replay(arms: Sequence[Arm]) -> dict[str, Any]:
    """Draw the paths, desired and true, and the arms, with a button that plays and a slider.

    As `go.Figure` takes it: to make objects of some thousand frames and steps, which hold nothing but numbers of our
    own, would take as long as the whole run.
    """
    figure = go.Figure()
    desired = arms[0].desired
    if desired is not None:
        figure.add_trace(_path(desired, "desired", {"color": "black", "width": 3, "dash": "dash"}))
    for arm, colour in zip(arms, COLOURS, strict=False):
        figure.add_trace(_path(arm.path, f"path, {arm.name}", {"color": colour, "width": 4}))
    first = len(figure.data)
    for arm, colour in zip(arms, COLOURS, strict=False):
        figure.add_trace(go.Scatter3d(**_body(arm, 0, colour), name=escape(arm.name), showlegend=False))
    moving = list(range(first, len(figure.data)))
    samples = _samples(arms)
    frames = [
        {
            "name": str(k),
            "traces": moving,
            "data": [{"type": "scatter3d", **_places(arm, min(k, len(arm.frames.t) - 1))} for arm in arms],
        }
        for k in samples
    ]
    t = arms[0].frames.t
    every = 1e3 * float(t[samples.step] - t[0]) if len(samples) > 1 else 0.0
    figure.update_layout(**_layout(arms))
    drawn: dict[str, Any] = figure.to_dict()
    drawn["layout"] |= _controls(arms, samples, every)
    return {**drawn, "frames": frames}


def replay_with_looks(arms: Sequence[Arm]) -> tuple[dict[str, Any], str]:
    """The same with what the arms look like and carry, all but the last as ghosts, and the script that moves them.

    Returns:
        The figure, without frames if some arm has a look, and the script: it adds them to the plot `{plot_id}`.

    Raises:
        MissingLibraryError: if trimesh is not installed, for a seen arm that carries something.
    """
    figure, bodies = replay([replace(arm, carried=()) if arm.is_seen.any() else arm for arm in arms]), []
    drawn = list(zip(arms, COLOURS, strict=False))
    for number, (arm, colour) in enumerate(drawn, 1):
        for body in _bodies(arm, colour) if arm.is_seen.any() else ():
            bodies.append({"trace": len(figure["data"]), **_motion(arm, body, _samples(arms))})
            opacity = 1.0 if number == len(drawn) else GHOST
            figure["data"].append({**_mesh(arm, body), "name": escape(arm.name), "opacity": opacity})
    if not bodies:
        return figure, ""
    frames, given = json.dumps(figure.pop("frames")), json.dumps(bodies)
    return figure, f"({MOVE.strip()})(document.getElementById('{{plot_id}}'), {frames}, {given})"


class _Body(NamedTuple):
    """What is seen of an arm for a while."""

    look: Look
    colour: str
    start: float  #: [s].
    end: float  #: [s].


def _bodies(arm: Arm, colour: str) -> list[_Body]:
    """The arm itself, and what it carries."""
    balls = [(body, make_shape("sphere", (body.radius,))) for body in arm.carried]
    gold = "#" + bytes(GOLD).hex()
    carried = [
        _Body(make_look([(body.frame, Mesh(ball.vertices + body.com, ball.faces))]), gold, body.start, body.end)
        for body, ball in balls
    ]
    return [_Body(arm.look, colour, -math.inf, math.inf), *carried]


def _mesh(arm: Arm, body: _Body) -> dict[str, Any]:
    """A body as plotly draws it, at the start; as one point while it is not carried."""
    faces = body.look.faces.T.astype(np.uint16 if len(body.look.frame) <= np.iinfo(np.uint16).max else np.uint32)
    is_there = body.start <= arm.frames.t[0] < body.end
    look = replace(body.look, vertices=is_there * body.look.vertices)
    xyz = look.places(arm.frames.position[0], arm.frames.rotation[0]).astype(np.float32).T
    seen = {"color": body.colour, "lighting": LIGHT, "lightposition": LAMP, "hoverinfo": "name"}
    return {"type": "mesh3d", **dict(zip("xyzijk", (*xyz, *faces), strict=True)), **seen}


def _motion(arm: Arm, body: _Body, samples: range) -> dict[str, Any]:
    """Vertices in their frames, and poses of those at the samples, in whole numbers: to 0.1 mm of an arm of 3 m."""
    used, frame = np.unique(body.look.frame, return_inverse=True)
    steps = [k for k in samples if k < len(arm.frames.t)]
    position, rotation = arm.frames.position[steps][:, used], arm.frames.rotation[steps][:, used]
    size = float(np.nanmax(np.abs(position), initial=1e-3))
    poses = np.concatenate([rotation.reshape(*rotation.shape[:2], 9), position / size], axis=2)
    return {
        "vertices": _text(body.look.vertices, np.float32),
        "frame": _text(frame, np.uint16),
        "poses": _text(np.rint(POSE * np.nan_to_num(poses)), np.int16),
        "samples": len(steps),
        "frames": len(used),
        "size": size,
        "one": int(POSE),
        "first": int((arm.frames.t[steps] < body.start).sum()),
        "end": int((arm.frames.t[steps] < body.end).sum()),
    }


def _text(numbers: ArrayLike, kind: DTypeLike) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, dtype=kind).tobytes()).decode()


def _samples(arms: Sequence[Arm]) -> range:
    """Those that are shown, of the first arm."""
    return range(0, len(arms[0].frames.t), -(-len(arms[0].frames.t) // MOST_FRAMES))


def still(arms: Sequence[Arm]) -> str:
    """The same at the start as SVG, seen from where the replay is: for browsers without WebGL."""
    right, up = _seen_from(EYE)

    def line(points: FloatArray, colour: str, style: str) -> tuple[FloatArray, str, str]:
        return np.column_stack([points @ right, -points @ up]), colour, style

    lines = []
    if arms[0].desired is not None:
        lines.append(
            line(thinned(arms[0].desired, MOST_POINTS), "black", 'stroke-dasharray="1.5 1" stroke-width="0.5"')
        )
    for arm, colour in zip(arms, COLOURS, strict=False):
        lines.append(line(thinned(arm.path, MOST_POINTS), colour, 'stroke-width="0.5"'))
    for arm, colour in zip(arms, COLOURS, strict=False):
        lines += [line(ends, colour, 'stroke-width="1.6" stroke-linecap="round"') for ends in arm.links(0, bare=False)]
    points = np.concatenate([xy[np.isfinite(xy).all(axis=1)] for xy, _, _ in lines])
    low, size = points.min(axis=0), max(float(np.ptp(points, axis=0).max()), 1e-6)
    parts = []
    for xy, colour, style in lines:
        places = " ".join(f"{x:.2f},{y:.2f}" for x, y in 5.0 + 90.0 * (xy - low) / size if np.isfinite(x + y))
        parts.append(f'<polyline points="{places}" fill="none" stroke="{colour}" {style}/>')
    names = "; ".join([*("dashed: desired" for _ in arms[:1] if arms[0].desired is not None), *(a.name for a in arms)])
    return f'<svg viewBox="0 0 100 100" role="img"><title>{escape(names)}</title>{"".join(parts)}</svg>'


def _seen_from(eye: dict[str, float]) -> tuple[FloatArray, FloatArray]:
    """Unit vectors to the right and up in a picture whose camera looks from `eye` to the origin, z upright."""
    back = np.array([eye[axis] for axis in "xyz"])
    right = np.cross([0.0, 0.0, 1.0], back)
    up = np.cross(back, right)
    return right / np.linalg.norm(right), up / np.linalg.norm(up)


def _path(points: FloatArray, name: str, line: dict[str, Any]) -> go.Scatter3d:
    x, y, z = thinned(points, MOST_POINTS).astype(np.float32).T
    return go.Scatter3d(x=x, y=y, z=z, mode="lines", line=line, name=escape(name), hoverinfo="name")


def _body(arm: Arm, k: int, colour: str) -> dict[str, Any]:
    line, marker = {"color": colour, "width": WIDTH}, {"color": colour, "size": _sizes(arm)}
    return {**_places(arm, k), "mode": "lines+markers", "line": line, "marker": marker, "hoverinfo": "name"}


def _order(arm: Arm) -> list[int]:
    """Frames along one line: −1 where it is broken, as a branch starts elsewhere; none of links that are seen."""
    order = [-1]
    for parent, child in arm.bones().tolist():
        order += [child] if order[-1] == parent else [-1, parent, child]
    return order[2:]


def _places(arm: Arm, k: int) -> dict[str, list[float | None]]:
    """Coordinates of the line at sample `k`, behind gaps what is carried then; to a tenth of a millimetre."""
    points = [None if j < 0 else arm.frames.position[k, j] for j in _order(arm)]
    for body in arm.carried:
        points += [None, arm.centre(body, k)]
    columns = [[None if p is None else round(float(p[axis]), 4) for p in points] for axis in range(3)]
    return dict(zip("xyz", columns, strict=True))


def _sizes(arm: Arm) -> list[int]:
    """Diameters of the markers: joints, then what is carried, larger the heavier it is."""
    balls = [size for body in arm.carried for size in (0, round(2.4 * WIDTH * body.radius / arm.radius))]
    return [round(0.8 * WIDTH)] * len(_order(arm)) + balls


def _controls(arms: Sequence[Arm], samples: range, every: float) -> dict[str, Any]:
    now = {"mode": "immediate", "transition": {"duration": 0}}
    play = {**now, "frame": {"duration": every, "redraw": True}, "fromcurrent": True}
    buttons = [
        {"label": "▶ play", "method": "animate", "args": [None, play]},
        {"label": "❚❚", "method": "animate", "args": [[None], {**now, "frame": {"duration": 0, "redraw": False}}]},
    ]
    steps = [
        {
            "label": "<br>".join([f"t = {arms[0].frames.t[k]:.2f} s", *_captions(arms, k)]),
            "method": "animate",
            "args": [[str(k)], {**now, "frame": {"duration": 0, "redraw": True}}],
        }
        for k in samples[::2]
    ]
    slider = {
        "steps": steps,
        "x": 0.25,
        "len": 0.75,
        "y": 0,
        "ticklen": 0,
        "minorticklen": 0,
        "font": {"color": "rgba(0,0,0,0)", "size": 1},
        "currentvalue": {"font": {"color": "#1b1f24", "size": 11}, "xanchor": "left"},
        "pad": {"t": 10},
    }
    menu = {"type": "buttons", "direction": "left", "buttons": buttons, "x": 0, "y": 0, "xanchor": "left"}
    return {"sliders": [slider], "updatemenus": [{**menu, "pad": {"t": 24}, "showactive": False}]}


def _layout(arms: Sequence[Arm]) -> dict[str, Any]:
    low, high = _box(arms)
    ranges = zip("xyz", low.tolist(), high.tolist(), strict=True)
    axes = {f"{name}axis": {"title": f"{name} [m]", "range": ends} for name, *ends in ranges}
    return {
        "scene": {
            **axes,
            "aspectmode": "manual",
            "aspectratio": dict(zip("xyz", (SIZE * (high - low) / (high - low).max()).tolist(), strict=True)),
            "camera": {"eye": EYE, "center": {"z": -0.1}},
        },
        "template": "plotly_white",
        "height": 620,
        "margin": {"l": 0, "r": 0, "t": 10, "b": 90},
        "legend": {"orientation": "h", "y": 1.0, "font": {"size": 11}},
    }


def _captions(arms: Sequence[Arm], k: int) -> list[str]:
    return [escape(arm.caption(min(k, len(arm.frames.t) - 1))) for arm in arms]


def _box(arms: Sequence[Arm]) -> tuple[FloatArray, FloatArray]:
    """Corners of what holds all arms and paths; a run that flew away does not shrink the others to a point."""
    calm = [arm for arm in arms if np.isfinite(arm.frames.position).all()] or list(arms)
    seen = (arm.body(k) for arm in calm for k in range(0, len(arm.frames.t), -(-len(arm.frames.t) // BOXED)))
    points = np.concatenate([*(arm.frames.position.reshape(-1, 3) for arm in calm), *seen])
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    room = 0.1 * max(float((high - low).max()), *(arm.reach for arm in calm))  # frames of one joint are in one place
    return low - room, high + room
