"""Nothing from a file reaches generated code unvalidated: hostile text is refused or comes out as harmless text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from evaluation import load_robot, robot_file

import thunder_dynamics as td
from thunder_controllers.host import Library
from thunder_dynamics.build import Target
from thunder_dynamics.codegen.text import c_double, c_string, comment_text
from thunder_dynamics.errors import BuildError, ThunderError
from thunder_dynamics.model import IDENTIFIER

HOSTILE = [
    'a"; system("id"); "',
    "*/ int evil; /*",
    "a\nb",
    "$(touch evil)",
    "`touch evil`",
    "a\\",
    "??/",
    "a: b",
    "${robot}",
    "a  b",
    "-rf",
    "%s",
    "\x00",
    "a;b",
    "<script>",
]


def quoted(text: str) -> str:
    """The text as a double-quoted YAML scalar."""
    return '"' + "".join(f"\\x{ord(c):02x}" if ord(c) < 256 else c for c in text) + '"'


def xml(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;").replace("\n", "&#10;")


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("key", ["joint_names", "link_names"])
def test_hostile_names_in_yaml_are_refused(tmp_path: Path, name: str, key: str) -> None:
    text = robot_file("planar3r").read_text()
    file = tmp_path / "arm.yaml"
    file.write_text(text + f"  {key}: [{quoted(name)}, b, c]\n")
    with pytest.raises(ThunderError, match="name|character"):
        td.load_model(file)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "\x00"])
@pytest.mark.parametrize("place", ["link", "joint"])
def test_hostile_names_in_urdf_are_refused(tmp_path: Path, name: str, place: str) -> None:
    with pytest.raises(ThunderError, match="name"):
        td.load_model(urdf(tmp_path, {place: name}))


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "\x00"])
def test_a_hostile_name_of_a_urdf_robot_is_made_an_identifier_or_refused(tmp_path: Path, name: str) -> None:
    """Nothing but letters, digits and single underscores is left of it."""
    file = urdf(tmp_path, {"robot": name})
    try:
        assert IDENTIFIER.fullmatch(td.load_model(file).name)
    except ThunderError as error:
        assert "name" in str(error)


def urdf(folder: Path, changed: Mapping[str, str]) -> Path:
    """A robot of one joint, some of its names changed."""
    names = {"robot": "arm", "link": "l1", "joint": "j1"} | {place: xml(name) for place, name in changed.items()}
    file = folder / "arm.urdf"
    file.write_text(
        f'<robot name="{names["robot"]}"><link name="base"/>'
        f'<link name="{names["link"]}"><inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        f'<joint name="{names["joint"]}" type="continuous"><parent link="base"/>'
        f'<child link="{names["link"]}"/><axis xyz="0 0 1"/></joint></robot>'
    )
    return file


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_robot_names_are_refused(name: str) -> None:
    with pytest.raises(ThunderError, match="is not a C identifier"):
        td.load_model(robot_file("planar3r"), name=name)


@pytest.mark.slow
def test_hostile_comments_and_descriptions_of_a_file_stay_out_of_the_code(tmp_path: Path) -> None:
    text = robot_file("planar3r").read_text().replace("Planar arm of", "'*/ system() evil_marker' # ")
    file = tmp_path / "arm.yaml"
    file.write_text("# evil_marker */\n" + text)
    folder = td.build(td.load_model(file), folder=tmp_path / "out")
    for path in folder.rglob("*"):
        assert not path.is_file() or b"evil_marker" not in path.read_bytes(), path.name


DESCRIPTIONS = ['say "hi"', "*/ evil(); /*", "back\\slash", "??/ trigraph", "$robot %s {x}", "naïve → ok", '"""']
TARGETS: tuple[Target, ...] = ("jax", "cuda")


@pytest.mark.slow
def test_descriptions_of_functions_come_out_as_text(tmp_path: Path) -> None:
    functions = {f"mine{k}": text for k, text in enumerate(DESCRIPTIONS)}
    line = "    robot.add_function({!r}, robot.symbol('q'), ['q'], {!r})\n"
    file = tmp_path / "mine.py"
    file.write_text("def add_functions(robot):\n" + "".join(line.format(*one) for one in functions.items()))
    folder = td.build(load_robot("planar3r"), folder=tmp_path / "out", user_functions=file)
    header, module, readme = (folder / name for name in ("thunder_planar3r.h", "thunder_planar3r.py", "README.md"))
    assert header.read_text().count("/*") == header.read_text().count("*/")
    compile(module.read_text(), "module", "exec")  # the docstrings close where they should
    arrays, kernels = (td.save_target(load_robot("planar3r"), one, tmp_path, user_functions=file) for one in TARGETS)
    compile(arrays.read_text(), "arrays", "exec")
    assert kernels.read_text().count("/*") == kernels.read_text().count("*/")
    library = Library(folder / "libplanar3r.so")
    for name, text in functions.items():
        assert f"get_{name}" in readme.read_text() and library.function(name).description == text


def test_control_characters_in_texts_are_refused() -> None:
    for text in ("a\x00b", "\x1b[31m", "\x7f"):
        with pytest.raises(BuildError, match="control character in .*; valid: printable text"):
            c_string(text)


def test_literals_read_back_exactly() -> None:
    assert c_string('a"b\\c\n?') == '"a\\"b\\\\c\\n\\?"'
    assert comment_text("a */ b\nc \\ d") == "a * / b c / d"
    assert float(c_double(0.1)) == 0.1 and c_double(float("-inf")) == "-INFINITY"
    with pytest.raises(BuildError, match="not a number among constants"):
        c_double(float("nan"))
