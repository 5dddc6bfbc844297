"""Triangles of what a link looks like: simple shapes, and mesh files as data, no larger than a picture needs.

trimesh reads STL and OBJ, and COLLADA by pycollada. To have fewer triangles, vertices of a cell of a grid become one at
their mean [Rossignac & Borrel 1993]: one pass, whatever the mesh is. Quadric simplification, as in fast-simplification,
keeps edges better but stops early at meshes of many parts, which CAD exports for robots are, or tears them.
"""

from __future__ import annotations

import io
import logging
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from thunder_controllers.fields import FloatArray
from thunder_controllers.package_uri import SCHEME, resolve
from thunder_dynamics.errors import MissingLibraryError, ThunderError
from thunder_dynamics.readers import exists
from thunder_dynamics.storage.door import MESH, read_bytes

FORMATS = (".stl", ".obj", ".dae")
"""Suffixes of mesh files."""

LARGEST, LEAST_AREA = 100.0, 1e-8
"""Coordinate of a vertex [m], and surface of a mesh [m²]: what is larger or smaller hides what else is drawn."""

FINEST = 64
"""Cells of the first grid along the longest side; more details no picture of an arm shows."""

COARSER = 0.85
"""Cells of the next grid, over those of the one before."""

SIDES = 20
"""Of a cylinder, as many as a ball has around it."""

# Who wants what trimesh says of broken files, beside the error, configures logging; without it Python prints all of it.
logging.getLogger("trimesh").addHandler(logging.NullHandler())


class MeshError(ThunderError):
    """A mesh cannot be read; `where` is its file."""


class Mesh(NamedTuple):
    """Triangles."""

    vertices: FloatArray  #: [m], (V, 3).
    faces: NDArray[np.int64]  #: Indices of vertices, counter-clockwise from outside, (F, 3).


def find_file(given: str, urdf: Path, packages: Mapping[str, str | Path]) -> Path:
    """Find a file that a URDF names: as URI package:// or file://, or as a path from the URDF's folder.

    A package is one of `packages`, by name; a folder of that name above the URDF's file or beside one above; or one of
    the ament index.

    Raises:
        ThunderError: for another URI, or a package that there is not.
    """
    if given.startswith(SCHEME):
        package, _, path = given.removeprefix(SCHEME).lstrip("/").partition("/")
        if package in packages:
            return Path(packages[package], path)
        around = (place for folder in urdf.parents for place in (folder, folder / package) if place.name == package)
        beside = next((place for place in around if package and exists(place, Path.is_dir)), None)
        return resolve(given) if beside is None else beside / path
    scheme, is_uri, path = given.partition("://")
    if not is_uri:
        return urdf.parent / given
    if scheme != "file" or not path.startswith("/"):
        raise MeshError(f"a mesh at {scheme}://", where=given, valid="package://, file:///, or a path")
    return Path(unquote(path))


def read_mesh(path: Path, most: int) -> Mesh:
    """Read a mesh file, with at most that many triangles, as it lies there in its units, which are metres.

    Those of COLLADA are what it says, and its up axis is not looked at, as in RViz.

    Raises:
        MeshError: for a file that is missing, too large, of another format or broken.
        MissingLibraryError: if trimesh is not installed, or pycollada, which COLLADA needs.
    """
    try:
        changed = path.stat().st_mtime_ns
    except (OSError, ValueError):  # no file, or a name that none can have: the door says so
        changed = 0
    return _read(path, changed, most)


def make_shape(shape: str, size: tuple[float, ...]) -> Mesh:
    """A box, a cylinder along z or a sphere about the origin.

    Args:
        shape: `box`, `cylinder` or `sphere`.
        size: As in `urdf_elements.SHAPES` [m].

    Raises:
        MissingLibraryError: if trimesh is not installed.
    """
    create = _trimesh().creation
    if shape == "box":
        made = create.box(extents=size)
    elif shape == "cylinder":
        made = create.cylinder(radius=size[0], height=size[1], sections=SIDES)
    else:
        made = create.icosphere(radius=size[0], subdivisions=2)
    return Mesh(np.asarray(made.vertices, dtype=np.float64), np.asarray(made.faces, dtype=np.int64))


def scaled(mesh: Mesh, scale: tuple[float, ...]) -> Mesh:
    """The mesh with its axes scaled, or mirrored, from the unit of its file to metres.

    Raises:
        MeshError: if nothing of it can be seen then, or nothing else.
    """
    vertices = mesh.vertices * scale
    faces = mesh.faces if np.prod(scale) > 0.0 else mesh.faces[:, ::-1]  # mirrored, what is outside stays so
    a, b, c = (vertices[corner] for corner in faces.T)
    area, largest = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum(), np.abs(vertices).max(initial=0.0)
    if len(vertices) < 4 or not area > LEAST_AREA or not largest <= LARGEST:
        what = f"{len(vertices)} vertices, {1e6 * area:.3g} mm² of surface, as far as {largest:.3g} m"
        raise MeshError(what, valid=f"four or more, {1e6 * LEAST_AREA:g} mm², {LARGEST:g} m; is its scale right?")
    return Mesh(vertices, faces)


def _trimesh() -> Any:
    try:
        import trimesh
    except ImportError as error:
        raise MissingLibraryError("trimesh") from error
    return trimesh


@lru_cache(maxsize=256)
def _read(path: Path, _changed: int, most: int) -> Mesh:
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise MeshError(f"a mesh ending in '{path.suffix}'", where=str(path), valid=", ".join(FORMATS))
    trimesh, data, unit = _trimesh(), read_bytes(path, MESH, MeshError), 1.0
    if suffix == ".dae":
        data, unit = _checked_collada(data, path)
    try:
        scene = trimesh.load_scene(io.BytesIO(data), file_type=suffix[1:], process=False, skip_materials=True)
        made = scene.to_mesh()
        mesh = Mesh(unit * np.asarray(made.vertices, dtype=np.float64), np.asarray(made.faces, dtype=np.int64))
        corners = mesh.vertices[mesh.faces]
        is_whole = len(corners) > 0 and corners.shape[1:] == (3, 3) and bool(np.isfinite(corners).all())
    except Exception as error:  # trimesh, pycollada, NumPy and struct do not agree on what a broken file raises
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise MeshError(f"it is broken ({reason})", where=str(path), valid="triangles") from error
    if not is_whole:
        raise MeshError("no triangles, or some that are not finite", where=str(path), valid="triangles")
    return simplify(mesh, most)


def _checked_collada(data: bytes, path: Path) -> tuple[bytes, float]:
    """The same document without entities, which does not stand for more than it holds, and its unit [m]."""
    if find_spec("collada") is None:
        raise MissingLibraryError("pycollada")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(data, parser)
        unit = float(next((one.get("meter", "1") for one in root.iterfind("{*}asset/{*}unit")), "1"))
    except (etree.XMLSyntaxError, ValueError) as error:
        raise MeshError(f"it is broken ({error})", where=str(path), valid="COLLADA") from error
    sizes = Counter[str]()
    for geometry in root.iter("{*}geometry"):
        sizes[geometry.get("id", "")] += sum(len(one.text or "") for one in geometry.iter("{*}p"))
    instances = (one.get("url", "").lstrip("#") for one in root.iter("{*}instance_geometry"))
    if next(root.iter("{*}instance_node"), None) is not None or sum(sizes[one] for one in instances) > MESH.largest:
        raise MeshError("it stands for more than it holds", where=str(path), valid="no <instance_node>, each mesh once")
    return etree.tostring(root), unit


def simplify(mesh: Mesh, most: int) -> Mesh:
    """The same mesh with each vertex once, if it has at most so many triangles; else on the finest grid that does."""
    if len(mesh.faces) <= most:
        vertices, number = np.unique(mesh.vertices, axis=0, return_inverse=True)
        return Mesh(vertices, number.reshape(-1)[mesh.faces])
    cells = float(FINEST)
    fine = coarse = _clustered(mesh, cells)
    while len(coarse.faces) > most:
        cells *= COARSER
        coarse = _clustered(fine, cells)
    return coarse


def _clustered(mesh: Mesh, cells: float) -> Mesh:
    """One vertex for those in a cell of a grid, at their mean; triangles that still have three, each once."""
    low, sides = mesh.vertices.min(axis=0), np.ptp(mesh.vertices, axis=0)
    place = np.floor((mesh.vertices - low) / (sides.max() / cells + np.finfo(float).tiny)).astype(np.int64)
    key = place @ np.array([1, FINEST + 1, (FINEST + 1) ** 2])
    _, cell = np.unique(key, return_inverse=True)
    sums = [np.bincount(cell, mesh.vertices[:, axis]) for axis in range(3)]
    means = np.stack(sums, axis=1) / np.bincount(cell)[:, None]
    faces = cell[mesh.faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    _, kept = np.unique(np.sort(faces, axis=1) @ np.array([1, len(means), len(means) ** 2]), return_index=True)
    used, renumbered = np.unique(faces[np.sort(kept)], return_inverse=True)
    vertices = means[used]
    if len(vertices):  # means lie inside: stretched to the sides that the mesh had, links touch as they did
        shrunk = np.ptp(vertices, axis=0)
        stretch = np.divide(sides, shrunk, out=np.ones(3), where=shrunk > 0.0)
        vertices = low + stretch * (vertices - vertices.min(axis=0))
    return Mesh(vertices, renumbered.reshape(-1, 3))
