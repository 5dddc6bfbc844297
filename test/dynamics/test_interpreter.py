"""Libraries without a compiler: the ABI, metadata and numbers of compiled ones."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot
from every_operation import OPERATIONS
from robots import random_robot

import thunder_dynamics as td
from thunder_controllers.host import Controller, Library
from thunder_dynamics.build import law_builders, law_entry, warn_interpreted
from thunder_dynamics.cli import main
from thunder_dynamics.codegen import instructions, toolchain
from thunder_dynamics.codegen.package import Package
from thunder_dynamics.errors import BuildError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import build_law

pytestmark = pytest.mark.filterwarnings("ignore:.*robots are interpreted:RuntimeWarning")

RELATIVE = 1e-12
"""One expression graph, compiled with other roundings."""

ILL_CONDITIONED = 1e-9
"""Of a law's results, some of which divide by what is small; the largest difference found is 4e-12."""

SAID_OF = ("robot", "functions", "laws", "n_joints", "joint_names", "link_names", "generator")
LIMITS = ("position_lower", "position_upper", "velocity_limit", "acceleration_limit", "effort_limit")
BY_STATE = ("velocity_offset", "velocity_deceleration", "effort_corner_velocity", "effort_no_load_velocity")
NUMBERS = (*LIMITS, *BY_STATE, "effort_rate_limit", "pi", "rotor_inertia")


@pytest.fixture(autouse=True)
def nothing_said() -> None:
    warn_interpreted.cache_clear()


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THUNDER_COMPILER", "none")


def interpreted(folder: Path, model: Any, laws: Sequence[str] = (), **options: Any) -> Library:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THUNDER_COMPILER", "none")
        return Library(td.build(model, laws, folder=folder / "interpreted", **options))


def size(entries: Sequence[Any]) -> int:
    return sum(entry.size for entry in entries)


def flat(entries: Sequence[Any]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *(np.ravel(entry.defaults, order="F") for entry in entries)])


def described(entries: Sequence[Any]) -> list[Any]:
    names = ("name", "unit", "description", "shape", "offset", "adapted", "activation", "unused", "initial")
    return [[*(getattr(one, name, None) for name in names), *numbers(one)] for one in entries]


def numbers(entry: Any) -> list[Any]:
    return [np.ravel(getattr(entry, name)).tolist() for name in ("defaults", "lower", "upper")]


def results(library: Library, name: str, **arguments: Any) -> list[np.ndarray]:
    found = library.batch(name, **arguments)
    return list(found) if isinstance(found, tuple) else [found]


def assert_near(found: Sequence[np.ndarray], expected: Sequence[np.ndarray], relative: float, what: str) -> None:
    for one, other in zip(found, expected, strict=True):
        scale = np.max(np.abs(other), initial=1e-300)
        np.testing.assert_allclose(one / scale, other / scale, rtol=0, atol=relative, err_msg=what)


def assert_same_metadata(one: Library, other: Library) -> None:
    for name in SAID_OF:
        assert getattr(one, name) == getattr(other, name), name
    for name in NUMBERS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    for name in one.functions:
        for side in ("inputs", "outputs"):
            assert described(getattr(one.function(name), side)) == described(getattr(other.function(name), side))
        assert one.function(name).description == other.function(name).description
    for name in one.laws:
        for signal in ("measurements", "reference", "state", "gains", "telemetry"):
            assert described(getattr(one.law(name), signal)) == described(getattr(other.law(name), signal)), signal
        assert one.law(name).reference_kind == other.law(name).reference_kind
    assert described(one.parameter_groups) == described(other.parameter_groups)


def assert_same_functions(found: Library, expected: Library, states: int = 20) -> None:
    rng = np.random.default_rng(5)
    for name in expected.functions:
        inputs = [one for one in expected.function(name).inputs if not one.name.startswith("par_")]
        arguments = {one.name: rng.uniform(-1.5, 1.5, (states, one.size)) for one in inputs}
        if arguments:
            assert_near(results(found, name, **arguments), results(expected, name, **arguments), RELATIVE, name)


def assert_same_step(found: Library, expected: Library, name: str, states: int = 20) -> None:
    rng, law, n = np.random.default_rng(6), expected.law(name), expected.n_joints
    arguments = {
        "q": rng.uniform(-1.2, 1.2, (states, n)),
        "qd": rng.uniform(-0.3, 0.3, (states, n)),
        "applied_effort": rng.uniform(-5.0, 5.0, (states, n)),
        "measurements": flat(law.measurements) + rng.uniform(-0.1, 0.1, (states, size(law.measurements))),
        "reference": flat(law.reference) + rng.uniform(-0.1, 0.1, (states, size(law.reference))),
        "dt": np.full((states, 1), 1e-3),
    }
    steps = [results(library, name, **arguments) for library in (found, expected)]
    assert_near(*steps, ILL_CONDITIONED, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "ur5", "sea2"])
def test_all_functions_and_laws_are_those_of_the_compiled_library(name: str, tmp_path: Path) -> None:
    model, laws = load_robot(name), []
    for law in law_builders():
        with contextlib.suppress(td.ThunderError):  # of a law that the robot does not suit
            build_law(law_entry(law), RobotExpressions(model), {})
            laws.append(law)
    assert len(laws) >= 2
    expected = Library(td.build(model, laws, functions=["all"]))
    found = interpreted(tmp_path, model, laws, functions=["all"])
    assert_same_metadata(found, expected)
    assert_same_functions(found, expected)
    for law in laws:
        assert_same_step(found, expected, law)


@pytest.mark.slow
def test_every_operation_is_that_of_casadi(tmp_path: Path) -> None:
    """NaN where CasADi has it, and the same choices."""
    file, model = tmp_path / "everything.py", load_robot("planar3r")
    file.write_text(OPERATIONS)
    robot = RobotExpressions(model)
    scope: dict[str, Any] = {}
    exec(OPERATIONS, scope)  # noqa: S102 - the text above
    scope["add_functions"](robot)
    library = interpreted(tmp_path, model, user_functions=file)
    special = [[0.0, 0.0, 0.0], [1.0, -1.0, 2.0], [-0.5, -0.5, 0.1], [2.0, 2.0, -1.0], [0.1, np.inf, 0.2]]
    places = np.array([*special, *np.random.default_rng(2).uniform(-3.0, 3.0, (50, 3))])
    expected = [robot.function("everything")(q).full().ravel() for q in places]
    np.testing.assert_allclose(library.batch("everything", places), expected, rtol=1e-14, atol=1e-15)


BRANCHES = """
import casadi as ca

def add_functions(robot):
    q = robot.symbol("q")
    def costly(x):
        for _ in range(200):
            x = x + ca.sqrt(1 + x * x) / 3
        return x
    inner = ca.if_else(q[1] > 0, costly(q[2]), -1.0)
    robot.add_function("branches", ca.vertcat(ca.if_else(q[0] > 0, costly(q[1]) + inner, q[2]), inner), ["q"], "Two.")
"""


def test_blocks_are_skipped_where_their_condition_is_false(tmp_path: Path) -> None:
    file, model = tmp_path / "branches.py", load_robot("planar3r")
    file.write_text(BRANCHES)
    robot = RobotExpressions(model)
    scope: dict[str, Any] = {}
    exec(BRANCHES, scope)  # noqa: S102 - the text above
    scope["add_functions"](robot)
    function = robot.function("branches")
    items = instructions.in_blocks(instructions.read_instructions("branches", function))
    assert any(isinstance(one, instructions.Block) for one in items)
    library = interpreted(tmp_path, model, user_functions=file)
    for signs in np.ndindex(2, 2, 2):
        q = 0.3 * (2.0 * np.array(signs) - 1.0)
        np.testing.assert_allclose(library.evaluate("branches", q), function(q).full().ravel(), rtol=1e-13)


@pytest.mark.slow
def test_a_large_robot_has_no_loops_and_the_same_numbers(tmp_path: Path) -> None:
    model = random_robot(3, 16, dh=False)
    assert model.is_large and Package(RobotExpressions(model)).loops.functions
    found = interpreted(tmp_path, model)
    expected = Library(td.build(model, folder=tmp_path))
    assert_same_functions(found, expected, 5)


def test_threads_give_the_same_bits(tmp_path: Path) -> None:
    library = interpreted(tmp_path, load_robot("planar3r"))
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (4000, 3))
    one, four = (library.batch("M", q, threads=threads) for threads in (1, 4))
    np.testing.assert_array_equal(one, four)


def test_libraries_of_two_robots_are_two(tmp_path: Path) -> None:
    names = ("planar3r", "sea2", "planar3r")
    libraries = [interpreted(tmp_path / name, load_robot(name)) for name in names]
    shapes = [one.evaluate("M", np.zeros(one.n_joints)).shape for one in libraries]
    assert shapes == [(3, 3), (2, 2), (3, 3)]
    del libraries[0]
    assert np.isfinite(libraries[-1].evaluate("M", np.zeros(3))).all()


def test_python_class_is_that_of_the_compiled_robot(without_compiler: None) -> None:
    robot = td.robot(load_robot("sea2"))
    other = td.robot(load_robot("sea2"), backend="casadi")
    for one in (robot, other):
        one.set_q([0.3, -0.4])
    np.testing.assert_allclose(robot.get_M(), other.get_M(), rtol=RELATIVE)
    with pytest.raises(ValueError, match="set_q: 1 values; valid: 2"):
        robot.set_q([0.0])


@pytest.mark.slow
def test_a_host_runs_a_law(tmp_path: Path) -> None:
    library = interpreted(tmp_path, load_robot("planar3r"), ["pd_plus"])
    host = Controller()
    host.configure(library, law="pd_plus")
    host.activate(np.zeros(3))
    host.set_reference(np.array([0.1, 0.2, -0.1, *np.zeros(6)]))
    effort = np.zeros(3)
    host.update(0.0, np.zeros(3), np.zeros(3), 1e-3, effort)
    assert np.abs(effort).max() > 0.0


def test_one_warning_says_what_and_how_much_slower(without_compiler: None, tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning, match="THUNDER_COMPILER=none: .* six times slower.* install build-essential"):
        folder = td.build(load_robot("planar3r"), folder=tmp_path)
    assert {path.name for path in folder.iterdir()} == {
        "SHA256SUMS",
        "libplanar3r.so",
        "manifest.json",
        "planar3r_conf.yaml",
        "thunder_planar3r.py",
    }


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    with pytest.warns(RuntimeWarning, match="no compiler 'no-such-compiler': robots are interpreted"):
        td.build(load_robot("planar3r"), folder=tmp_path)


def test_what_needs_a_compiler_says_what_to_install(without_compiler: None, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--lanes", "--single", "--portable"):
        with pytest.raises(SystemExit):
            main(["gen", "planar3r", option])
        assert f"THUNDER_COMPILER=none: nothing to compile {option} with; valid: a compiler" in capsys.readouterr().err
    with pytest.raises(BuildError, match=r"cannot run 'no-such-compiler': .*; valid: a compiler .*build-essential"):
        toolchain.run(["no-such-compiler"])


def test_what_is_neither_asked_for_nor_missing_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THUNDER_COMPILER", "tcc")
    with pytest.raises(BuildError, match="THUNDER_COMPILER=tcc; valid: none, or unset"):
        td.build(load_robot("planar3r"), folder=tmp_path)


@pytest.mark.slow
def test_with_a_compiler_again_it_is_compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = load_robot("planar3r")
    hashes, contents = [], []
    for asked in ("none", "", "none"):
        monkeypatch.setenv("THUNDER_COMPILER", asked)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if asked else "error")
            folder = td.build(model, folder=tmp_path)
        hashes.append(Library(folder).hash)
        contents.append((folder / "libplanar3r.so").read_bytes())
        assert (folder / "planar3r_gen.c").exists() == (asked == "")
    assert hashes[0] == hashes[2] != hashes[1] and contents[0] == contents[2]


def test_an_interpreter_without_a_robot_is_no_library(tmp_path: Path, without_compiler: None) -> None:
    from thunder_dynamics.storage.checksums import write_checksums

    folder = td.build(load_robot("planar3r"), folder=tmp_path)
    (folder / "libplanar3r.so").write_bytes(toolchain.interpreter().read_bytes())
    write_checksums(folder)
    with pytest.raises(BuildError, match="returned nothing"):
        Library(folder)
    with pytest.raises(BuildError, match="cannot be loaded: no generated library"):
        td.load(folder)


def test_lanes_make_no_difference(tmp_path: Path) -> None:
    model = load_robot("planar3r")
    plain = interpreted(tmp_path, model)
    wide = interpreted(tmp_path, model, lanes=True, single=True)
    assert (wide.lanes, wide.single_lanes, wide.hash) == (0, 0, plain.hash)
