"""The file of saved estimates: it comes back bit for bit, and no other file does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pendulum2 import ABI_INCLUDE, SOURCE
from watchdog import watched

from thunder_controllers.host import (
    Configuration,
    ControlSession,
    Library,
    Options,
    Snapshot,
    read_estimates,
    save_estimates,
)
from thunder_dynamics.errors import LawError, NameNotFoundError
from thunder_dynamics.storage.checksums import write_checksums

VALUES = np.array([0.73, 1 / 3, -1e-17, 0.045, 0.1, 0.2, 0.3, 0.4, 0.5, 1e-5])


@pytest.fixture(scope="module")
def configuration(panda: Configuration) -> Configuration:
    return panda


@pytest.fixture(scope="module")
def snapshot(configuration: Configuration) -> Snapshot:
    return ControlSession(configuration, Options(), estimates={"pi_hat": VALUES}).snapshot()


def test_estimates_come_back_bit_for_bit(configuration: Configuration, snapshot: Snapshot, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    save_estimates(file, configuration, snapshot)
    estimates = read_estimates(file, configuration)
    assert list(estimates) == ["pi_hat"] and np.array_equal(estimates["pi_hat"], VALUES)
    session = ControlSession(configuration, Options(), estimates=estimates)
    save_estimates(tmp_path / "b.yaml", configuration, session.snapshot())
    assert (tmp_path / "b.yaml").read_bytes() == file.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.yaml", "b.yaml"]


def test_the_file_reads_as_documented(configuration: Configuration, snapshot: Snapshot, tmp_path: Path) -> None:
    save_estimates(tmp_path / "a.yaml", configuration, snapshot)
    lines = (tmp_path / "a.yaml").read_text().splitlines()
    assert lines[:3] == ['robot: "panda"', 'law: "cartesian_backstepping"', 'links: ["panda_link7"]']
    assert lines[3].startswith("pi_hat: [0.73, 0.3333333333333333, -1.0e-17, 0.045, ") and len(lines) == 4


@pytest.mark.parametrize("name", ["on", "a b", "0", "k: v", 'qu"ote\\', "é", "-", "#"])
def test_any_name_of_a_robot_comes_back(name: str, tmp_path: Path) -> None:
    literal = "".join(f"\\{byte:03o}" for byte in name.encode())
    source = tmp_path / "renamed.c"
    source.write_text(SOURCE.read_text().replace('#define ROBOT "pendulum2"', f'#define ROBOT "{literal}"'))
    library = tmp_path / "librenamed.so"
    options = ["-std=c99", "-O1", "-fPIC", "-shared", f"-I{ABI_INCLUDE}"]
    subprocess.run(["cc", *options, str(source), "-o", str(library), "-lm"], check=True)
    write_checksums(tmp_path)
    configuration = Configuration(Library(library), law="joint_adaptive")
    assert configuration.robot == name
    session = ControlSession(configuration, Options())
    save_estimates(tmp_path / "a.yaml", configuration, session.snapshot())
    assert yaml.safe_load((tmp_path / "a.yaml").read_text(encoding="utf-8"))["robot"] == name
    assert read_estimates(tmp_path / "a.yaml", configuration)["pi_hat"].tolist() == [1.0, 1.0]


DOCUMENT = {
    "robot": "panda",
    "law": "cartesian_backstepping",
    "links": ["panda_link7"],
    "pi_hat": VALUES.tolist(),
}


def dumped(document: dict[str, Any], **options: Any) -> str:
    """As PyYAML writes lists in brackets, on a line each."""
    return yaml.safe_dump(document, default_flow_style=None, width=10**9, **options)


def test_what_a_yaml_library_writes_on_lines_of_their_own_is_read(configuration: Configuration, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("# a comment\n\n" + dumped(DOCUMENT))
    assert np.array_equal(read_estimates(file, configuration)["pi_hat"], VALUES)
    for other in (yaml.safe_dump(DOCUMENT), dumped(DOCUMENT, default_style='"')):
        file.write_text(other)
        with pytest.raises(LawError, match="a.yaml"):
            read_estimates(file, configuration)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"robot": "ur5"}, "a.yaml: robot is 'ur5'; valid: 'panda'"),
        ({"law": None}, "law is 'null'; valid: 'cartesian_backstepping'"),
        (
            {"links": ["panda_link6"]},
            "a.yaml: links: missing panda_link7, unknown panda_link6; valid: panda_link7, each",
        ),
        ({"links": ["panda_link7", "panda_link7"]}, "a.yaml: links: twice panda_link7; valid: panda_link7, each once"),
        ({"links": "panda_link7"}, "links is 'panda_link7'; valid: a list of names"),
        ({"pi_hat": [1.0] * 9}, "a.yaml: pi_hat: 9 values; valid: 10"),
        ({"pi_hat": []}, "pi_hat: 0 values; valid: 10"),
        ({"pi_hat": [float("nan")] * 10}, "'.nan' is no finite number"),
        ({"pi_hat": [10**400] * 10}, "is no finite number"),
        ({"pi_hat": [True] * 10}, "'true' is no finite number"),
        ({"pi_hat": "heavy"}, "no list of numbers"),
        ({"pi_hat": {"m": 1.0}}, "no list of numbers"),
        ({"pi_hat": [1.0, [1.0]]}, "a.yaml:[0-9]: no single value|is no finite number|no 'key: value'"),
        ({"pi_hat": [1, *VALUES[1:-1].tolist(), 1e9]}, r"pi_hat: element 9 is 1e\+09; valid: .* to "),
        ({"mass": 1.0}, "unknown key 'mass'; valid: robot, law, links, pi_hat"),
    ],
)
def test_a_file_of_something_else_is_refused(
    configuration: Configuration, tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    (tmp_path / "a.yaml").write_text(dumped({**DOCUMENT, **change}))
    with pytest.raises((LawError, NameNotFoundError), match=reason):
        read_estimates(tmp_path / "a.yaml", configuration)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"robot: ur5", "a.yaml: 'law' is missing; valid: robot, law"),
        (b"", "a.yaml: no mapping; valid: a file of ~/save_estimates"),
        (b"[1, 2]", "a.yaml:1: no 'key: value'"),
        (b"robot: panda\nlaw: [", "a.yaml:2: a list has no end"),
        (b"a: [1\nb: 2]", "a.yaml:1: a list has no end"),
        (b'a: "b', "a.yaml:1: no single value"),
        (b'a: "b" c', "no single value"),
        (b"a: [1] # 2", "no single value"),
        (b"a: " + b"[" * 50 + b"]" * 50, "no single value"),
        (b"a: \n", "a.yaml:1: no single value"),
        (b"a: 1\na: 2", "'a' stands twice"),
        (b"just words", "no 'key: value'"),
        (b"a: 1\x0b", "a.yaml:1: a control character"),
        (b"\xff\xfe\xfa: 1", r"unknown key '.xff.xfe.xfa'"),
        (b" " * (5 << 20), "a.yaml: is larger than 4096 KiB; valid: a file of ~/save_estimates"),
    ],
)
def test_a_broken_file_is_refused(configuration: Configuration, tmp_path: Path, text: bytes, reason: str) -> None:
    (tmp_path / "a.yaml").write_bytes(text)
    with pytest.raises(LawError, match=reason):
        read_estimates(tmp_path / "a.yaml", configuration)


def test_what_is_no_regular_file_is_refused_at_once(configuration: Configuration, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "large.yaml").touch()
    os.truncate(tmp_path / "large.yaml", 1 << 40)  # takes no space
    for path, reason in (
        (tmp_path / "pipe.yaml", "is not a regular file"),
        (Path("/dev/zero"), "is not a regular file"),
        (tmp_path, "is not a regular file"),
        (tmp_path / "none.yaml", "cannot be read: No such file or directory"),
        (tmp_path / "large.yaml", "is larger than 4096 KiB"),
    ):
        with watched(), pytest.raises(LawError, match=f"{path}: {reason}; valid: a file of"):
            read_estimates(path, configuration)


@pytest.mark.parametrize("seed", range(8))
def test_no_damage_is_read_wrongly(configuration: Configuration, snapshot: Snapshot, tmp_path: Path, seed: int) -> None:
    """Bytes are changed, removed or doubled: what is still read is what a YAML library reads."""
    rng, file = np.random.default_rng(seed), tmp_path / "a.yaml"
    save_estimates(file, configuration, snapshot)
    sound = file.read_bytes()
    for _ in range(200):
        at = int(rng.integers(len(sound)))
        some = [
            b"",
            sound[at : at + 1] * 2,
            bytes([int(rng.integers(128))]),
            rng.choice(list(b"[],:#'\"- \n")).tobytes()[:1],
        ]
        file.write_bytes(sound[:at] + some[int(rng.integers(4))] + sound[at + 1 :])
        try:
            found = read_estimates(file, configuration)
        except (LawError, NameNotFoundError):
            continue
        assert np.array_equal(found["pi_hat"], np.array(yaml.safe_load(file.read_text())["pi_hat"], dtype=float))


def test_a_file_that_cannot_be_written_leaves_nothing(
    configuration: Configuration, snapshot: Snapshot, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").mkdir()
    with pytest.raises(LawError, match=r"a\.yaml: cannot be written: Is a directory; valid: a writable file"):
        save_estimates(tmp_path / "a.yaml", configuration, snapshot)
    with pytest.raises(LawError, match="cannot be written: No such file or directory"):
        save_estimates(tmp_path / "absent" / "a.yaml", configuration, snapshot)
    assert [path.name for path in tmp_path.iterdir()] == ["a.yaml"]


def test_a_file_keeps_the_permissions_of_the_one_it_replaces(
    configuration: Configuration, snapshot: Snapshot, tmp_path: Path
) -> None:
    file, before = tmp_path / "a.yaml", os.umask(0o027)
    try:
        save_estimates(file, configuration, snapshot)
        assert file.stat().st_mode & 0o777 == 0o640, "a new one has those of any new file"
        file.chmod(0o604)
        save_estimates(file, configuration, snapshot)
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o604


def test_a_link_is_replaced_and_not_followed_and_what_is_no_file_stays(
    configuration: Configuration, snapshot: Snapshot, tmp_path: Path
) -> None:
    aim, file, pipe = tmp_path / "aim.yaml", tmp_path / "a.yaml", tmp_path / "pipe.yaml"
    aim.write_text("kept")
    file.symlink_to(aim)
    save_estimates(file, configuration, snapshot)
    assert aim.read_text() == "kept" and not file.is_symlink()
    read_estimates(file, configuration)
    os.mkfifo(pipe)
    with watched(), pytest.raises(LawError, match=r"pipe\.yaml: cannot be written: Invalid argument"):
        save_estimates(pipe, configuration, snapshot)
    assert pipe.is_fifo() and len(list(tmp_path.iterdir())) == 3


SPY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void note(const char* what, int file) {
  char link[64], path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t size = readlink(link, path, sizeof path - 1);
  FILE* log = fopen(getenv("SPY_LOG"), "a");
  fprintf(log, "%s %.*s\\n", what, (int)size, path);
  fclose(log);
}
int fsync(int file) {
  note("sync", file);
  if (getenv("SPY_KILLS")) _exit(9);
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}
int renameat(int from, const char* old, int to, const char* new) {
  note("rename in", to);
  return ((int (*)(int, const char*, int, const char*))dlsym(RTLD_NEXT, "renameat"))(from, old, to, new);
}
"""
"""Notes what is synced and renamed; or ends the process where it is to be synced first."""


@pytest.mark.parametrize("kills", [False, True])
def test_a_file_is_on_the_disk_before_its_name_and_then_its_folder(
    configuration: Configuration, tmp_path: Path, kills: bool
) -> None:
    (tmp_path / "spy.c").write_text(SPY)
    spy, log, out = tmp_path / "spy.so", tmp_path / "log", tmp_path / "out"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", spy, tmp_path / "spy.c", "-ldl"], check=True)
    out.mkdir()
    (out / "a.yaml").write_text("old")
    program = f"""
from thunder_controllers.host import Configuration, ControlSession, Library, Options, save_estimates
configuration = Configuration(Library({configuration.library.path!r}), law={configuration.law.name!r})
save_estimates({str(out / "a.yaml")!r}, configuration, ControlSession(configuration, Options()).snapshot())
"""
    environment = os.environ | {"LD_PRELOAD": str(spy), "SPY_LOG": str(log)} | ({"SPY_KILLS": "1"} if kills else {})
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    seen = [line.replace(str(out), "OUT") for line in log.read_text().splitlines()]
    assert seen[0].startswith("sync OUT/.a.yaml.")
    if kills:
        assert done.returncode == 9 and (out / "a.yaml").read_text() == "old"
    else:
        assert done.returncode == 0 and seen[1:] == ["rename in OUT", "sync OUT"]
        assert (out / "a.yaml").read_text().startswith("robot: ")
