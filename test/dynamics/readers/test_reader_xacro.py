"""The xacro reader: expansion, arguments, includes, packages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from thunder_dynamics.errors import NameNotFoundError, RobotFileError, ThunderError
from thunder_dynamics.readers import load_model
from thunder_dynamics.readers.xacro import expand_xacro

ENTITY = '<!DOCTYPE robot [<!ENTITY e SYSTEM "file:///etc/hostname">]>\n'

XACRO = """<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="length" default="0.5"/>
  <xacro:property name="length" value="$(arg length)"/>
  <xacro:include filename="part.xacro"/>
  <link name="a"/>
  <xacro:arm length="${2 * length}"/>
</robot>
"""
PART = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="arm" params="length">
    <link name="b"/>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/><origin xyz="${length} 0 0"/></joint>
  </xacro:macro>
</robot>
"""


def write_xacro(folder: Path, text: str = XACRO, part: str = PART) -> Path:
    (folder / "part.xacro").write_text(part, encoding="utf-8")
    path = folder / "robot.urdf.xacro"
    path.write_text(text, encoding="utf-8")
    return path


def xacro_message(path: Path, kind: type[ThunderError] = RobotFileError, **options: object) -> str:
    with pytest.raises(kind) as caught:
        load_model(path, **options)
    return str(caught.value)


def test_xacro_is_expanded_with_its_arguments_and_includes(tmp_path: Path) -> None:
    path = write_xacro(tmp_path)
    assert load_model(path).links[0].joint.placement.translation[0] == 1.0
    model = load_model(path, xacro_args={"length": "0.25"}, name="y")
    assert model.links[0].joint.placement.translation[0] == 0.5 and model.name == "y"
    assert '<link name="b"/>' in expand_xacro(path, {})


def test_an_argument_that_the_file_does_not_declare_is_named(tmp_path: Path) -> None:
    message = xacro_message(write_xacro(tmp_path), NameNotFoundError, xacro_args={"lenght": "1"})
    assert "robot.urdf.xacro: no xacro argument 'lenght'; valid: length" in message


def test_doctypes_are_refused_in_the_file_and_in_what_it_includes(tmp_path: Path) -> None:
    assert "robot.urdf.xacro:1: a DOCTYPE is not allowed" in xacro_message(write_xacro(tmp_path, ENTITY + XACRO))
    assert "part.xacro:1: a DOCTYPE is not allowed" in xacro_message(write_xacro(tmp_path, part=ENTITY + PART))


def test_a_package_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ament_index_python")
    marker = tmp_path / "share/ament_index/resource_index/packages/arm_description"
    share = tmp_path / "share/arm_description"
    for folder in (marker.parent, share):
        folder.mkdir(parents=True)
    marker.touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    write_xacro(share)
    assert (
        load_model(write_xacro(tmp_path, XACRO.replace('"part.xacro"', '"$(find arm_description)/part.xacro"'))).n == 1
    )


ARM = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="kind" default="long"/>
  <xacro:arg name="sizes" default="$(find arm_description)/config/$(arg kind)/sizes.yaml"/>
  <xacro:include filename="$(find arm_description)/urdf/inc/arm_macro.xacro"/>
  <link name="a"/>
  <xacro:arm parent="a" sizes_file="$(arg sizes)"><origin xyz="0 0 1"/></xacro:arm>
</robot>
"""
ARM_MACRO = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="read_sizes" params="file">
    <xacro:property name="sizes" value="${xacro.load_yaml(file)['sizes']}" scope="parent"/>
  </xacro:macro>
  <xacro:macro name="size" params="name:=^ type:=^">
    <xacro:property name="size" value="${sizes[name][type]}" scope="parent"/>
  </xacro:macro>
  <xacro:macro name="mass" params="name type vars:=1 format:=2">
    <xacro:size/>
    <mass value="${size * vars * format}"/>
  </xacro:macro>
  <xacro:macro name="arm" params="parent *origin sizes_file">
    <xacro:read_sizes file="${sizes_file}"/>
    <link name="b"><inertial>
      <xacro:mass name="upper" type="mass"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
    </inertial></link>
    <joint name="j" type="continuous">
      <parent link="${parent}"/><child link="b"/><xacro:insert_block name="origin"/>
    </joint>
  </xacro:macro>
</robot>
"""


def write_arm_package(folder: Path) -> Path:
    """A description as makers write them: macros with parameters called `type`, and files found by package."""
    texts = {
        "package.xml": "<!-- <name>other</name> --><package><name> arm_description </name></package>",
        "config/long/sizes.yaml": "sizes: {upper: {mass: 2.5, type: long}}",
        "config/short/sizes.yaml": "sizes: {upper: {mass: 1.5, type: short}}",
        "urdf/inc/arm_macro.xacro": ARM_MACRO,
        "urdf/arm.urdf.xacro": ARM,
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "urdf/arm.urdf.xacro"


def mass_of(path: Path, **options: object) -> float:
    return load_model(path, **options).links[0].inertia.mass


def test_a_maker_s_description_loads_from_its_package_without_ros(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    path = write_arm_package(tmp_path / "anything")
    assert mass_of(path) == 5.0
    assert mass_of(path, xacro_args={"kind": "short"}) == 3.0
    link = tmp_path / "arm.urdf.xacro"
    link.symlink_to(path)
    assert mass_of(link) == 5.0  # the package is looked for behind links, too


def test_packages_are_given_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    package = write_arm_package(tmp_path / "arm").parents[1]
    (tmp_path / "cell").mkdir()
    cell = tmp_path / "cell/cell.xacro"
    cell.write_text(ARM, encoding="utf-8")
    message = xacro_message(cell)
    assert "no package 'arm_description'; valid: " in message and "packages" in message
    assert mass_of(cell, packages={"arm_description": package}) == 5.0
    other = write_arm_package(tmp_path / "other").parents[1]
    (other / "config/long/sizes.yaml").write_text("sizes: {upper: {mass: 7.0}}")
    own = package / "urdf/arm.urdf.xacro"
    assert mass_of(own, packages={"arm_description": str(other)}) == 14.0  # before the one that the file lies in
    assert "package other: no folder /none; valid: a folder" in xacro_message(own, packages={"other": "/none"})


@pytest.mark.parametrize("manifest", ["<package>", "<package/>", "<!DOCTYPE p []><p><name>outer</name></p>"])
def test_a_package_that_cannot_be_named_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: str) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    (tmp_path / "package.xml").write_text(manifest)
    path = write_arm_package(tmp_path / "arm")
    assert mass_of(path) == 5.0
    path.write_text(ARM.replace("arm_description", "outer"))
    assert "no package 'outer'" in xacro_message(path)


def test_a_missing_include_is_named_unless_it_is_optional(tmp_path: Path) -> None:
    path = write_xacro(tmp_path, XACRO.replace("part.xacro", "absent.xacro"))
    message = xacro_message(path)
    assert "absent.xacro" in message and "cannot be read" in message
    text = XACRO.replace("<link", '<xacro:include filename="absent.xacro" optional="true"/>\n<link', 1)
    assert load_model(write_xacro(tmp_path, text)).n == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [("${2 * length}", "${2 * lenght}"), ("<xacro:arm", "<xacro:leg"), ("${2 * length}", "${1 / 0}"), ("<link", "<<")],
)
def test_a_xacro_that_cannot_be_expanded_is_an_error(tmp_path: Path, old: str, new: str) -> None:
    message = xacro_message(write_xacro(tmp_path, XACRO.replace(old, new, 1)))
    assert "robot.urdf.xacro" in message and "; valid: " in message


def test_lines_of_an_expanded_file_are_said_to_be_so(tmp_path: Path) -> None:
    message = xacro_message(write_xacro(tmp_path, part=PART.replace('<link name="b"/>', "")))
    assert "robot.urdf.xacro (expanded):" in message and "missing link 'b'" in message


def test_modules_beside_the_file_and_in_the_current_folder_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("open('mark', 'w')")
    monkeypatch.chdir(tmp_path)
    assert load_model(write_xacro(tmp_path)).n == 1
    assert not (tmp_path / "mark").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_an_error(tmp_path: Path) -> None:
    path = write_xacro(tmp_path)
    path.chmod(0)
    assert "cannot be read (Permission denied)" in xacro_message(path)
