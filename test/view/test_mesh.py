"""Mesh files are data of three formats, bounded, found as URDF names them, and no larger than a picture needs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from thunder_controllers import mesh
from thunder_controllers.mesh import Mesh, MeshError, find_file, make_shape, read_mesh, scaled, simplify
from thunder_controllers.package_uri import PackageUriError
from thunder_dynamics.errors import MissingLibraryError

trimesh = pytest.importorskip("trimesh")

CORNERS = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.1]])
SIDES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])

COLLADA = """<?xml version="1.0"?>{doctype}
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
 <asset><unit name="centimeter" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
 <library_geometries><geometry id="g"><mesh>
  <source id="p"><float_array id="a" count="12">{numbers}</float_array><technique_common>
   <accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
   <param name="Z" type="float"/></accessor></technique_common></source>
  <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
  <triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>{indices}</p></triangles>
 </mesh></geometry></library_geometries>
 <library_visual_scenes><visual_scene id="s"><node><matrix>1 0 0 5  0 1 0 0  0 0 1 0  0 0 0 1</matrix>
  {instances}</node></visual_scene></library_visual_scenes>
 <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""
"""The tetrahedron in centimetres, 5 cm along x in its scene."""


def _collada(file: Path, doctype: str = "", numbers: str = "", instances: int = 1) -> Path:
    corners = numbers or " ".join(f"{100 * x:g}" for x in CORNERS.ravel())
    indices = " ".join(map(str, SIDES.ravel()))
    nodes = instances * '<instance_geometry url="#g"/>'
    file.write_text(COLLADA.format(doctype=doctype, numbers=corners, indices=indices, instances=nodes))
    return file


def _triangles(of: Mesh) -> set[tuple[tuple[float, ...], ...]]:
    """Corners of each triangle to a micrometre, from the least one on, so that their order says what is outside."""
    found = set()
    for corners in np.round(of.vertices[of.faces], 6) + 0.0:
        points = [tuple(point) for point in corners.tolist()]
        first = points.index(min(points))
        found.add((*points[first:], *points[:first]))
    return found


EXPECTED = _triangles(Mesh(CORNERS, SIDES))


@pytest.mark.parametrize("suffix", [".stl", ".STL", ".obj"])
def test_triangles_are_those_of_the_file(suffix: str, tmp_path: Path) -> None:
    trimesh.Trimesh(CORNERS, SIDES, process=False).export(tmp_path / "a", file_type=suffix[1:].lower())
    file = (tmp_path / "a").rename(tmp_path / f"a{suffix}")
    assert _triangles(read_mesh(file, 400)) == EXPECTED
    assert len(read_mesh(file, 400).vertices) == 4  # an STL has each corner thrice


def test_collada_has_its_unit_and_its_scene_and_is_not_turned(tmp_path: Path) -> None:
    pytest.importorskip("collada")
    read = read_mesh(_collada(tmp_path / "a.dae"), 400)
    assert _triangles(Mesh(read.vertices - [0.05, 0.0, 0.0], read.faces)) == EXPECTED


def test_collada_does_not_stand_for_more_than_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("collada")
    secret = tmp_path / "secret"
    secret.write_text(" ".join(map(str, CORNERS.ravel())))
    for doctype in (f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>', '<!DOCTYPE x [<!ENTITY e "0 0 0">]>'):
        with pytest.raises(MeshError, match="broken|no triangles"):
            read_mesh(_collada(tmp_path / "a.dae", doctype, "&e;"), 400)
    monkeypatch.setattr(mesh, "MESH", mesh.MESH._replace(largest=10_000))
    assert len(read_mesh(_collada(tmp_path / "b.dae", instances=5), 400).faces) == 20
    text = _collada(tmp_path / "c.dae").read_text().replace("</p>", 1000 * " " + "</p>")
    for more in (20 * '<instance_geometry url="#g"/>', '<instance_node url="#n"/>'):
        (tmp_path / "c.dae").write_text(text.replace('<instance_geometry url="#g"/>', more))
        with pytest.raises(MeshError, match="it stands for more than it holds"):
            read_mesh(tmp_path / "c.dae", 400)


def test_without_its_library_collada_is_refused_and_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "collada", None)
    with pytest.raises(MissingLibraryError, match="pycollada is not installed; valid: pip install"):
        read_mesh(_collada(tmp_path / "a.dae"), 400)
    trimesh.Trimesh(CORNERS, SIDES).export(tmp_path / "a.stl")
    read_mesh(tmp_path / "a.stl", 400)


def test_a_file_is_small_regular_and_of_a_known_format(tmp_path: Path) -> None:
    large, folder, other = tmp_path / "a.stl", tmp_path / "b.stl", tmp_path / "c.glb"
    with large.open("wb") as file:
        file.truncate((16 << 20) + 1)  # takes no space
    folder.mkdir()
    other.write_bytes(b"glTF")
    with pytest.raises(MeshError, match=r"a.stl: .*larger than 16384 KiB.; valid: a mesh file of at most 16 MiB"):
        read_mesh(large, 400)
    with pytest.raises(MeshError, match="it is no regular file"):
        read_mesh(folder, 400)
    with pytest.raises(MeshError, match="a mesh ending in '.glb'; valid: .stl, .obj, .dae"):
        read_mesh(other, 400)
    with pytest.raises(MeshError, match="embedded null"):
        read_mesh(tmp_path / "with\0zero.stl", 400)


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    trimesh.Trimesh(CORNERS, SIDES).export(tmp_path / "a.obj")
    os.truncate(tmp_path / "a.obj", 16 << 20)  # zeros behind its triangles
    assert len(read_mesh(tmp_path / "a.obj", 400).faces) == 4


def test_meshes_of_every_seen_size_are_taken_and_others_are_not() -> None:
    """Between 1e-8 m² and 100 m, four vertices or more: each bound itself is inside or outside, as it says."""
    square = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    plate = Mesh(square, np.array([[0, 1, 2], [0, 2, 3]]))
    for scale in ((100.0, 1.0, 1.0), (1.1e-4, 1e-4, 1.0)):
        scaled(plate, scale)
    for scale in ((100.001, 1.0, 1.0), (0.9e-4, 1e-4, 1.0), (float("nan"), 1.0, 1.0)):
        with pytest.raises(MeshError, match="4 vertices, .* valid: four or more, 0.01 mm², 100 m; is its scale right"):
            scaled(plate, scale)
    with pytest.raises(MeshError, match="3 vertices"):
        scaled(Mesh(square[:3], np.array([[0, 1, 2]])), (1.0, 1.0, 1.0))


@pytest.mark.parametrize("name", ["a.stl", "a.obj", "a.dae"])
def test_a_damaged_file_is_one_error(name: str, tmp_path: Path) -> None:
    """Any bytes of it, changed or left out: a mesh comes out, or a `MeshError`."""
    if name == "a.dae":
        pytest.importorskip("collada")
        _collada(tmp_path / name)
    else:
        trimesh.Trimesh(CORNERS, SIDES).export(tmp_path / name)
    whole, random = (tmp_path / name).read_bytes(), np.random.default_rng(0)
    for number in range(40):
        data = bytearray(whole)
        for place in random.integers(0, len(data), 4):
            data[place] = random.integers(0, 256)
        file = tmp_path / f"{number}{name}"
        file.write_bytes(data[: random.integers(1, len(data))] if number % 2 else data)
        try:
            read = read_mesh(file, 400)
        except MeshError:
            continue
        assert np.isfinite(read.vertices).all() and read.faces.max() < len(read.vertices)


def test_a_mesh_in_a_plane_of_two_coordinates_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text("v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n")
    with pytest.raises(MeshError, match=r"a.obj: (it is broken|no triangles)"):
        read_mesh(tmp_path / "a.obj", 400)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "a.stl"
    for number, size in enumerate((1.0, 2.0)):
        trimesh.Trimesh(size * CORNERS, SIDES).export(file)
        os.utime(file, (number, number))
        assert read_mesh(file, 400).vertices.max() == pytest.approx(0.3 * size)


def test_paths_and_uris_of_a_urdf_lead_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    urdf = tmp_path / "share/arm_description/urdf/arm.urdf"
    for folder in (urdf.parent, tmp_path / "share/other"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")
    package = urdf.parents[1]
    for given, expected in {
        "../meshes/a b.stl": urdf.parent / "../meshes/a b.stl",
        "/a/b.stl": Path("/a/b.stl"),
        "file:///a/b%20c.stl": Path("/a/b c.stl"),
        "package://arm_description/meshes/a.stl": package / "meshes/a.stl",
        "package:///arm_description/meshes/a.stl": package / "meshes/a.stl",
        "package://other/a.stl": tmp_path / "share/other/a.stl",
        "package://named/a.stl": Path("/named/a.stl"),
        "package://thunder_controllers/urdf/a.stl": mesh.resolve("package://thunder_controllers/urdf/a.stl"),
    }.items():
        assert find_file(given, urdf, {"named": "/named"}) == expected, given
    for given in ("http://[", "https://example.org/a.stl", "model://arm/a.stl", "file://host/a.stl"):
        with pytest.raises(MeshError, match=r"valid: package://, file:///, or a path"):
            find_file(given, urdf, {})
    with pytest.raises(PackageUriError, match="no package 'none'"):
        find_file("package://none/a.stl", urdf, {})


def test_a_scale_mirrors_and_what_it_hides_is_refused() -> None:
    whole = Mesh(CORNERS, SIDES)
    for scale in ((1.0, 1.0, 1.0), (-2.0, 1.0, 1.0), (-1.0, -1.0, 0.5)):
        mirrored = scaled(whole, scale)
        a, b, c = (mirrored.vertices[corner] for corner in mirrored.faces.T)
        volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6  # positive: faces look outwards
        assert volume == pytest.approx(abs(np.prod(scale)) * 0.3 * 0.2 * 0.1 / 6)
    for scale in (1e-6, 1e6, np.nan):
        with pytest.raises(MeshError, match="is its scale right"):
            scaled(whole, (scale,) * 3)
    with pytest.raises(MeshError, match="3 vertices"):
        scaled(Mesh(CORNERS[:3], SIDES[:1]), (1.0, 1.0, 1.0))


@pytest.mark.parametrize(
    ("shape", "size", "volume"), [("box", (1, 2, 3), 6), ("cylinder", (1, 2), 6.28), ("sphere", (1,), 4.19)]
)
def test_simple_shapes_are_about_the_origin_and_look_outwards(
    shape: str, size: tuple[float, ...], volume: float
) -> None:
    made = make_shape(shape, size)
    np.testing.assert_allclose(made.vertices.min(axis=0), -made.vertices.max(axis=0), atol=1e-12)
    a, b, c = (made.vertices[corner] for corner in made.faces.T)
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6 == pytest.approx(volume, rel=0.05)  # of few sides
    assert len(made.faces) <= 400


def test_a_fine_mesh_becomes_a_coarse_one_of_the_same_sides_near_its_surface() -> None:
    """Of many parts too, which CAD has, and a soup of triangles, which STL and COLLADA are."""
    ball = trimesh.creation.icosphere(subdivisions=4, radius=0.1)  # 5,120 triangles
    parts = trimesh.util.concatenate(
        [
            ball,
            *(
                trimesh.creation.box([0.005] * 3).apply_translation([0.1 * x, 0, 0.05])
                for x in np.linspace(-0.5, 0.5, 100)
            ),
        ]
    )
    soup = Mesh(parts.vertices[parts.faces].reshape(-1, 3), np.arange(3 * len(parts.faces)).reshape(-1, 3))
    for most in (400, 60):
        coarse = simplify(soup, most)
        assert 0.5 * most < len(coarse.faces) <= most
        for end in (np.min, np.max):
            np.testing.assert_allclose(end(coarse.vertices, axis=0), end(parts.vertices, axis=0), atol=1e-9)
    distance = np.linalg.norm(simplify(Mesh(ball.vertices, ball.faces), 400).vertices, axis=1)
    assert np.abs(distance - 0.1).max() < 0.02
    flat = Mesh(CORNERS[[0, 1, 2, 0, 1, 2]] * [1, 1, 0], np.arange(6).reshape(-1, 3))
    assert len(simplify(flat, 1).faces) == 1  # each triangle once
