"""The file of saved estimates: it comes back bit for bit, and no other file does."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pendulum2 import ABI_INCLUDE, SOURCE

from thunder_controllers.host import (
    Configuration,
    ControlSession,
    Library,
    Options,
    Snapshot,
    read_estimates,
    save_estimates,
)
from thunder_dynamics.checksums import write_checksums
from thunder_dynamics.errors import LawError

VALUES = np.array([0.73, 1 / 3, -1e-17, 0.045, 0.1, 0.2, 0.3, 0.4, 0.5, 1e-5])


@pytest.fixture(scope="module")
def configuration(panda_folder: Path) -> Configuration:
    return Configuration(Library(panda_folder / "libpanda.so"))


@pytest.fixture(scope="module")
def snapshot(configuration: Configuration) -> Snapshot:
    return ControlSession(configuration, Options(), estimates={"pi_hat": VALUES}).snapshot()


def read(file: Path, configuration: Configuration) -> dict[str, Any]:
    return dict(read_estimates(yaml.safe_load(file.read_text()), configuration, str(file)))


def test_estimates_come_back_bit_for_bit(configuration: Configuration, snapshot: Snapshot, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    save_estimates(file, configuration, snapshot)
    estimates = read(file, configuration)
    assert list(estimates) == ["pi_hat"] and np.array_equal(estimates["pi_hat"], VALUES)
    session = ControlSession(configuration, Options(), estimates=estimates)
    save_estimates(tmp_path / "b.yaml", configuration, session.snapshot())
    assert (tmp_path / "b.yaml").read_bytes() == file.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.yaml", "b.yaml"]


def test_the_file_reads_as_documented(configuration: Configuration, snapshot: Snapshot, tmp_path: Path) -> None:
    save_estimates(tmp_path / "a.yaml", configuration, snapshot)
    lines = (tmp_path / "a.yaml").read_text().splitlines()
    assert lines[:3] == ["robot: panda", "law: cartesian_backstepping", "links: [panda_link7]"]
    assert lines[3].startswith("pi_hat: [0.73, 0.3333333333333333, -1.0e-17, 0.045, ") and len(lines) == 4


@pytest.mark.parametrize("name", ["on", "a b", "0", "k: v", 'qu"ote\\', "tab\t", "é", "-", "#"])
def test_any_name_of_a_robot_comes_back(name: str, tmp_path: Path) -> None:
    literal = "".join(f"\\{byte:03o}" for byte in name.encode())
    source = tmp_path / "renamed.c"
    source.write_text(SOURCE.read_text().replace('"pendulum2",', f'"{literal}",'))
    library = tmp_path / "librenamed.so"
    options = ["-std=c99", "-O1", "-fPIC", "-shared", f"-I{ABI_INCLUDE}"]
    subprocess.run(["cc", *options, str(source), "-o", str(library), "-lm"], check=True)
    write_checksums(tmp_path)
    configuration = Configuration(Library(library), law="joint_adaptive")
    assert configuration.robot == name
    session = ControlSession(configuration, Options())
    save_estimates(tmp_path / "a.yaml", configuration, session.snapshot())
    assert yaml.safe_load((tmp_path / "a.yaml").read_text(encoding="utf-8"))["robot"] == name
    assert read(tmp_path / "a.yaml", configuration)["pi_hat"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"robot": "ur5"}, "a.yaml: robot is 'ur5'; valid: 'panda'"),
        ({"law": "other"}, "law is 'other'; valid: 'cartesian_backstepping'"),
        ({"links": ["panda_link6"]}, r"links is \[panda_link6\]; valid: \[panda_link7\]"),
        ({"links": "panda_link7"}, "links is 'panda_link7'"),
        ({"links": [7]}, "links is a list of numbers"),
        ({"pi_hat": [1.0] * 9}, "a.yaml: pi_hat: 9 values; valid: 10"),
        ({"pi_hat": []}, "pi_hat: 0 values; valid: 10"),
        ({"pi_hat": [float("nan")] * 10}, "a value is not finite"),
        ({"pi_hat": [10**400] * 10}, "a value is not finite"),
        ({"pi_hat": ["1.0"] * 10}, "no list of numbers; valid: 10 numbers"),
        ({"pi_hat": "heavy"}, "no list of numbers"),
        ({"pi_hat": [True] * 10}, "no list of numbers"),
        ({"pi_hat": [1, *VALUES[1:-1], 1e9]}, r"pi_hat: element 9 is 1e\+09; valid: .* to "),
        ({"mass": 1.0}, "unknown key 'mass'; valid: robot, law, links, pi_hat"),
        ({1: 2}, "unknown key '1'"),
        ({"robot": None}, "robot is None"),
    ],
)
def test_a_file_of_something_else_is_refused(configuration: Configuration, change: dict[Any, Any], reason: str) -> None:
    document = {
        "robot": "panda",
        "law": "cartesian_backstepping",
        "links": ["panda_link7"],
        "pi_hat": VALUES.tolist(),
    }
    read_estimates(document, configuration, "a.yaml")
    with pytest.raises(LawError, match=reason):
        read_estimates({**document, **change}, configuration, "a.yaml")


def test_a_missing_key_is_named(configuration: Configuration) -> None:
    with pytest.raises(LawError, match="a.yaml: 'law' is missing; valid: robot, law"):
        read_estimates({"robot": "panda"}, configuration, "a.yaml")


def test_a_file_that_cannot_be_written_leaves_nothing(
    configuration: Configuration, snapshot: Snapshot, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").mkdir()
    with pytest.raises(LawError, match=r"a\.yaml: cannot be written: Is a directory; valid: a writable file"):
        save_estimates(tmp_path / "a.yaml", configuration, snapshot)
    with pytest.raises(LawError, match="cannot be written: No such file or directory"):
        save_estimates(tmp_path / "absent" / "a.yaml", configuration, snapshot)
    assert [path.name for path in tmp_path.iterdir()] == ["a.yaml"]
