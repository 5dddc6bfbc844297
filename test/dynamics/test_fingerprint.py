"""Each thing that can change what a build makes changes its hash, alone and by way of build() itself."""

from __future__ import annotations

import copy
import dataclasses
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot

import thunder_dynamics as td
from thunder_controllers.host import Library
from thunder_dynamics.codegen import fingerprint, toolchain
from thunder_dynamics.codegen.fingerprint import canonical
from thunder_dynamics.errors import LawError
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.model import Joint, JointKind, Link, RobotModel

pytestmark = pytest.mark.slow

BUILD = sys.modules[td.build.__module__]

LAW = """\
from mylaws.parts import GAIN
def own(robot, options):
    from thunder_dynamics.law import ReferenceKind, Signals
    signals = Signals(robot, ReferenceKind.JOINT)
    gain = signals.gain("K", default=GAIN, bounds=(0, 100), unit="N·m/rad", doc="Stiffness.")
    return signals.law("own", "A law.", effort=gain * (signals.reference.q - signals.q), next_state={}, telemetry={})
"""

SOURCES = {
    "__init__": "",
    "law": LAW,
    "parts": "from .deep import more\nGAIN = more.GAIN\n",
    "deep/__init__": "",
    "deep/more": "GAIN = 5.0\n",
    "unused": "",
}

CC = """\
#!/bin/sh
case "$*" in
  *--version*) echo "{version}";;
  *--help=target*) echo "-march= {processor}"; echo "-mavx [enabled]"; echo "-mother {other}";;
esac
"""


def pendulum(mass: float = 1.0) -> RobotModel:
    """The smallest robot."""
    inertia = Inertia(mass, np.array([0.0, 0.0, -0.5]), np.diag([0.1, 0.1, 0.05]))
    return RobotModel("pendulum", (Link("rod", -1, Joint("hinge", JointKind.REVOLUTE, axis=(1.0, 0.0, 0.0)), inertia),))


class Place:
    """What a build takes from its surroundings, in a folder where a test may change it."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch = folder, patch
        self.options: dict[str, Any] = {"model": pendulum(), "laws": [("own", {"gain": 1.0})]}
        for name, text in SOURCES.items():
            self.write(f"mylaws/{name}.py", text)
        self.write("functions.py", "A = 1\n")
        self.compiler("CC")
        patch.setenv("CC", str(folder / "CC"))
        self.generator = folder / "generator"
        shutil.copytree(Path(fingerprint.__file__).parents[1], self.generator, ignore=lambda *_: ["__pycache__"])
        patch.setattr(fingerprint, "__file__", str(self.generator / "codegen/fingerprint.py"))
        patch.syspath_prepend(str(folder))
        laws = {name: EntryPoint(name, "mylaws.law:own", "thunder.laws") for name in ("own", "second")}
        patch.setattr(BUILD, "law_builders", lambda: laws)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def compiler(self, name: str, version: str = "cc 1", processor: str = "one", other: str = "[disabled]") -> None:
        """Write a program that answers as gcc does what build() asks it, and compiles nothing."""
        self.write(name, CC.format(version=version, processor=processor, other=other))
        (self.folder / name).chmod(0o755)

    def versions(self, **changed: str) -> None:
        found = {"casadi": "3"} | changed
        self.patch.setattr(fingerprint, "metadata", SimpleNamespace(version=found.__getitem__))

    def digest(self) -> str:
        """The hash by which build() would generate a folder here; it stops before it does."""
        seen: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BUILD, "_generate", lambda request, digest, *_: seen.append(digest))
            td.build(**self.options, folder=self.folder / "out")
        return seen[0]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


def options(**changed: Any) -> Callable[[Place], None]:
    return lambda place: place.options.update(changed)


def source(name: str, text: str = "# changed\n") -> Callable[[Place], None]:
    return lambda place: place.write(name, (place.folder / name).read_text() + text)


INGREDIENTS: dict[str, Callable[[Place], None]] = {
    "the model": options(model=pendulum(2.0)),
    "the flags": options(portable=True),
    "the flags of all builds": lambda place: place.patch.setattr(toolchain, "OPTIMISATION", ("-O2",)),
    "the version of the C compiler": lambda place: place.compiler("CC", version="cc 2"),
    "the command of the C compiler": lambda place: place.patch.setenv("CC", f"{place.folder}/CC -DX"),
    "the processor": lambda place: place.compiler("CC", processor="two"),
    "a feature of the processor": lambda place: place.compiler("CC", other="[enabled]"),
    "no law": options(laws=[]),
    "another law": options(laws=[("second", {"gain": 1.0})]),
    "a second law": options(laws=[("own", {"gain": 1.0}), "second"]),
    "a law without its option": options(laws=["own"]),
    "the value of a law's option": options(laws=[("own", {"gain": 1.0 + 2**-52})]),
    "the name of a law's option": options(laws=[("own", {"gains": 1.0})]),
    "the type of a law's option": options(laws=[("own", {"gain": 1})]),
    "a further option of a law": options(laws=[("own", {"gain": 1.0, "links": ["rod"]})]),
    "the source of a law": source("mylaws/law.py"),
    "the source of a module that a law imports": source("mylaws/parts.py"),
    "the source of a module that this one imports": source("mylaws/deep/more.py"),
    "the source of a package that a law imports": source("mylaws/deep/__init__.py"),
    "user functions": lambda place: place.options.update(user_functions=place.folder / "functions.py"),
    "the generator's source": source("generator/algorithms/dynamics.py"),
    "a further file of the generator": lambda place: place.write("generator/algorithms/further.py", ""),
    "the name of a file of the generator": lambda place: (place.generator / "build.py").rename(
        place.generator / "o.py"
    ),
    "the version of CasADi": lambda place: place.versions(casadi="4"),
    "the version of this project": lambda place: place.patch.setattr(fingerprint, "__version__", "0"),
}


@pytest.mark.parametrize("name", INGREDIENTS)
def test_each_ingredient_alone_means_another_build(place: Place, name: str) -> None:
    place.versions()
    before = place.digest()
    INGREDIENTS[name](place)
    assert place.digest() != before


def test_the_text_of_user_functions_means_another_build(place: Place) -> None:
    place.options["user_functions"] = place.folder / "functions.py"
    before = place.digest()
    place.write("functions.py", "A = 2\n")
    assert place.digest() != before


def test_where_a_model_was_read_means_no_other_build_and_a_law_that_is_no_python_is_named(place: Place) -> None:
    before = place.digest()
    options(model=dataclasses.replace(pendulum(), source="/somewhere/else.yaml"))(place)
    assert place.digest() == before
    place.write("mylaws/parts.py", "\ndef law(robot, options)\n")
    with pytest.raises(LawError, match=r"parts\.py:2: is no Python \(expected ':'\)"):
        place.digest()


def test_every_law_counts_not_only_the_first(place: Place) -> None:
    place.write("others/__init__.py", "")
    place.write("others/law.py", "")
    laws = {"own": EntryPoint("own", "mylaws.law:own", "x"), "other": EntryPoint("other", "others.law:law", "x")}
    place.patch.setattr(BUILD, "law_builders", lambda: laws)
    place.options["laws"] = ["own", "other"]
    hashes = [place.digest()]
    for name in ("mylaws/law.py", "others/law.py"):
        source(name)(place)
        hashes.append(place.digest())
    assert len(set(hashes)) == 3


@pytest.mark.parametrize(
    "name",
    [
        "mylaws/unused.py",
        "functions.py",
        "generator/__pycache__/x.pyc",
        "generator/readers/x.py",
        "generator/runtime/x.py",
        "beside.py",
    ],
)
def test_what_is_not_used_means_no_other_build(place: Place, name: str) -> None:
    place.write(name, "")
    before = place.digest()
    source(name)(place)
    assert place.digest() == before


def test_every_file_of_the_generator_counts(place: Place) -> None:
    """Readers and the command make models and requests, which stand in the hash; `runtime` only runs what is made."""
    files = [p for p in place.generator.rglob("*") if p.is_file() and p.name not in ("py.typed", "cli.py")]
    files = [p for p in files if p.parent.name not in ("readers", "runtime")]
    hashes = {fingerprint._generator_sources()}
    for file in files:
        file.write_bytes(file.read_bytes() + b"\n")
        hashes.add(fingerprint._generator_sources())
    assert len(hashes) == len(files) + 1 > 40


# --- the model --------------------------------------------------------------------------------------------------------


def changed_values(value: Any) -> Iterator[tuple[str, Any]]:
    """Every smallest change of a value: of one number, text or choice anywhere inside it, with the way there."""
    if isinstance(value, JointKind):
        yield "", JointKind.PRISMATIC if value is JointKind.REVOLUTE else JointKind.REVOLUTE
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.name == "source":  # where the model was read does not count
                continue
            for way, new in changed_values(getattr(value, field.name)):
                twin = copy.copy(value)
                object.__setattr__(twin, field.name, new)  # past the checks: a changed value need be no robot
                yield f".{field.name}{way}", twin
    elif isinstance(value, np.ndarray):
        for index in np.ndindex(value.shape):
            twin = value.copy()
            twin[index] = np.nextafter(twin[index], np.inf)
            yield f"{list(index)}", twin
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from ((f"[{key}]{way}", {**value, key: new}) for way, new in changed_values(entry))
            yield f"[{key}?]", {f"{k}_" if k == key else k: v for k, v in value.items()}
    elif isinstance(value, tuple):
        for k, entry in enumerate(value):
            yield from ((f"[{k}]{way}", (*value[:k], new, *value[k + 1 :])) for way, new in changed_values(entry))
        yield "[+]", (*value, 0.0)
    elif isinstance(value, bool):
        yield "", not value
    elif isinstance(value, float):
        yield "", float(np.nextafter(value, 0.0 if np.isinf(value) else np.inf))
    elif isinstance(value, int):
        yield "", value + 1
    elif isinstance(value, str):
        yield "", f"{value}_"
    else:
        assert value is None, type(value)
        yield "", 0.0


@pytest.mark.parametrize("name", ["sea2", "rpr"])
def test_every_value_of_a_model_means_another_build(name: str) -> None:
    model = load_robot(name).with_symbolic("par_DYN", True)

    ways = dict(changed_values(model))
    kinds = (".name", ".gravity[2]", ".symbolic[par_DYN][0]", ".links[1].joint.limits.effort", ".ee.tr[0]", ".ee_link")
    kinds += (".links[0].inertia.mass", ".links[0].joint.kind", ".links[0].joint.placement.rotation[0, 0]")
    assert set(kinds) < set(ways) and len(ways) > 100
    contents = {json.dumps(canonical(one)): way for way, one in {"none": model, **ways}.items()}
    assert {"none", *ways} - {*contents.values()} == set()


# --- with the compiler ------------------------------------------------------------------------------------------------


def test_a_changed_law_and_other_flags_are_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in SOURCES.items():
        (tmp_path / f"compiledlaws/{name}.py").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"compiledlaws/{name}.py").write_text(text.replace("mylaws", "compiledlaws"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(
        BUILD, "law_builders", lambda: {"own": EntryPoint("own", "compiledlaws.law:own", "thunder.laws")}
    )

    def gain(**flags: bool) -> tuple[float, str]:
        for module in [m for m in sys.modules if m.split(".")[0] == "compiledlaws"]:
            del sys.modules[module]
        folder = td.build(pendulum(), ["own"], folder=tmp_path / "out", **flags)
        law = Library(folder / "libpendulum.so").law("own")
        return law.gains[0].defaults[0], (folder / "CMakeLists.txt").read_text()

    default, native = gain()
    assert default == 5.0 and "-march=native" in native
    (tmp_path / "compiledlaws/deep/more.py").write_text("GAIN = 7.25\n")
    assert gain()[0] == 7.25
    assert "-march=native" not in gain(portable=True)[1]
