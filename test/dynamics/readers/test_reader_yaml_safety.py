"""Safety of the YAML reader: tags, aliases, nesting, unreadable files, and mutated documents."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from robot_yaml import ELASTIC, changed, message_of, write
from watchdog import watched

from thunder_dynamics.errors import RobotFileError, ThunderError
from thunder_dynamics.readers import load_model
from thunder_dynamics.readers.yaml_text import parse_yaml
from thunder_dynamics.storage.door import TEXT, read_text

ARM = changed("['R', 'P']", "['R', 'P_SEA']") + ELASTIC


@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.system", "!!python/name:os.system", "!include", "!!binary", "!!timestamp"]
)
def test_tags_make_no_objects(tmp_path: Path, tag: str) -> None:
    message = message_of(tmp_path, changed("version: 0.2", f"version: {tag} 'true'"))
    assert "arm.yaml:1: version: the tag" in message and "is not allowed" in message


def test_the_standard_tags_of_plain_values_are_fine(tmp_path: Path) -> None:
    assert load_model(write(tmp_path, changed("mass: 2.0", "mass: !!float 2"))).links[0].inertia.mass == 2.0


@pytest.mark.parametrize("text", ['a: "\\ud800"', '"\\udfff": 1'])
def test_half_of_a_surrogate_pair_is_no_text(text: str) -> None:
    with pytest.raises(
        RobotFileError, match=r"arm.yaml:1.*: half of a surrogate pair; valid: text of whole characters"
    ):
        parse_yaml(text, "arm.yaml")


def test_alias_bombs_are_refused_quickly(tmp_path: Path) -> None:
    rows = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    rows += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 12)]
    assert "aliases expand to too many values" in message_of(tmp_path, "\n".join(rows))


def test_merge_bombs_are_refused_quickly(tmp_path: Path) -> None:
    rows = ["a0: &a0 {x: 1}"]
    rows += [f"a{k}: &a{k} {{<<: [{', '.join([f'*a{k - 1}'] * 10)}]}}" for k in range(1, 12)]
    assert "aliases expand to too many values" in message_of(tmp_path, "\n".join(rows))


@pytest.mark.parametrize("text", ["a: &a [*a]\n", "a: &a {<<: *a}\n", "a: &a {b: &b {<<: *a}}\n"])
def test_an_alias_inside_itself_is_refused(tmp_path: Path, text: str) -> None:
    assert "an alias contains itself" in message_of(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    ["a: " + "[" * 20_000, "a: " + "{a: " * 20_000, "a:\n" + "- " * 20_000, "? " * 20_000]
    + ["".join(" " * k + "a:\n" for k in range(1000)), "a: " + "[" * 25 + "]" * 25],
)
def test_deep_nesting_is_refused(tmp_path: Path, text: str) -> None:
    assert "the nesting is too deep" in message_of(tmp_path, text)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{b: ", "}")])
def test_twenty_levels_are_read_and_one_more_is_refused(opening: str, closing: str) -> None:
    inner = "[]" if opening == "[" else "{}"
    text = "a: " + opening * 19 + inner + closing * 19
    value = parse_yaml(text, "arm.yaml").data["a"]
    for _ in range(19):
        value = value["b"] if isinstance(value, dict) else value[0]
    assert value in ([], {})
    with pytest.raises(RobotFileError, match="the nesting is too deep .*; valid: 20 levels"):
        parse_yaml(text.replace(inner, opening + inner + closing), "arm.yaml")


@pytest.mark.slow
def test_a_file_of_values_alone_is_refused_while_it_is_read(tmp_path: Path) -> None:
    text = f"a: [{'1,' * 2_000_000}]]"  # read to its end, it would be no YAML
    assert "arm.yaml:1: too many values; valid: at most 100000" in message_of(tmp_path, text)


@pytest.mark.slow
@pytest.mark.parametrize("number", ["9" * 4_000_000, "-" + "9" * 20, "1e999999999", "9" * 1000 + ".5"])
def test_a_number_beyond_all_bounds_is_refused(tmp_path: Path, number: str) -> None:
    assert "arm.yaml:" in message_of(tmp_path, changed("mass: 2.0", f"mass: {number}"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "arm.yaml:1: the top level is no mapping"),
        ("- 1\n- 2\n", "arm.yaml:1: the top level is no mapping"),
        ("a: [1, 2\nb: 3\n", "arm.yaml:"),
        ("a: 1\n---\nb: 2\n", "another document"),
        ("a: *nowhere\n", "arm.yaml:1: found undefined alias"),
        ("? [1, 2]\n: 3\n", "a key is no text"),
        ("a: \x01\n", "arm.yaml: "),
    ],
)
def test_what_is_no_robot_yaml_is_an_error_with_its_place(tmp_path: Path, text: str, what: str) -> None:
    assert what in message_of(tmp_path, text)


@pytest.mark.parametrize("suffix", ["yaml", "urdf", "xacro"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, suffix: str) -> None:
    """A pipe that nobody writes to would be waited for, and a device may never end."""
    pipe, device, folder = (tmp_path / f"{name}.{suffix}" for name in ("pipe", "device", "folder"))
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    folder.mkdir()
    os.mkfifo(tmp_path / "package.xml")
    for path in (pipe, device, folder):
        with watched(), pytest.raises(RobotFileError) as caught:
            load_model(path)
        reasons = ("it is no regular file", "is no file or too large")
        assert str(path) in str(caught.value) and any(reason in str(caught.value) for reason in reasons)


def test_text_comes_from_regular_files_alone_even_where_others_would_end(tmp_path: Path) -> None:
    """What is in a pipe, and the nothing of /dev/null, can be read without waiting."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    pipe = os.open(tmp_path / "pipe", os.O_RDWR)
    os.write(pipe, b"name: arm\n")
    for path in (tmp_path / "pipe", tmp_path / "link", Path("/dev/null"), tmp_path):
        with pytest.raises(RobotFileError, match="it is no regular file"):
            read_text(path, RobotFileError)
    os.close(pipe)


def test_unreadable_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(RobotFileError, match=r"no file .*absent\.yaml; valid: a file of"):
        load_model(tmp_path / "absent.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(RobotFileError, match="cannot be read"):
        load_model(tmp_path / "folder.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"version: 0.2\nname: \xe9\n")
    with pytest.raises(RobotFileError, match=r"latin\.yaml:2: the file is no UTF-8 text"):
        load_model(tmp_path / "latin.yaml")
    (tmp_path / "big.yaml").write_bytes(b"#" * (TEXT.largest + 1))
    with pytest.raises(RobotFileError, match="it is larger than 4096 KiB"):
        load_model(tmp_path / "big.yaml")


TOKENS = [*":-[]{}\n'é\t", "&PI_2", "*PI_2", "!!x", ".nan", "1e400", "-1", "  ", "null"]


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edits=st.lists(
        st.tuples(st.integers(0, 2000), st.integers(0, 40), st.sampled_from(TOKENS) | st.text(max_size=6)),
        min_size=1,
        max_size=4,
    )
)
def test_a_mutated_file_loads_or_raises_our_own_error(tmp_path: Path, edits: list[tuple[int, int, str]]) -> None:
    text = ARM
    for start, length, replacement in edits:
        start %= len(text) + 1
        text = text[:start] + replacement + text[start + length :]
    path = tmp_path / "arm.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        model = load_model(path)
    except ThunderError as error:
        assert "arm" in str(error)
    else:
        assert np.isfinite(model.pi).all() and model.n >= 1
