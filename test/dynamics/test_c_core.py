"""The C core: every operation that CasADi has, sines of arguments, functions in pieces."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from evaluation import assert_close, load_robot
from every_operation import OPERATIONS
from robots import general_robot, random_robot, random_state

import thunder_dynamics as td
from thunder_controllers.host import Library
from thunder_dynamics.codegen import c_core
from thunder_dynamics.expressions import NO_ARITHMETIC, RobotExpressions

SINGLE = 1e-4  # of numbers of 6e-8 and states of order one; errors of a Panda's functions are below 4e-6
RELATIVE = 1e-12  # the acceptance limit: one expression graph, compiled with other roundings


@pytest.mark.slow
@pytest.mark.parametrize("portable", [False, True])
def test_every_operation_of_casadi_is_the_same_in_c(tmp_path: Path, portable: bool) -> None:
    """Those that an expression can have: NaN where CasADi has it, and the same choices."""
    file, model = tmp_path / "everything.py", load_robot("planar3r")
    file.write_text(OPERATIONS)
    robot = RobotExpressions(model)
    scope: dict[str, object] = {}
    exec(OPERATIONS, scope)  # noqa: S102 - the text above
    scope["add_functions"](robot)  # type: ignore[operator]
    expected = robot.function("everything")
    codes = {expected.instruction_id(k) for k in range(expected.n_instructions())}
    assert set(c_core.OPERATIONS) - codes <= {ca.OP_ASSIGN, ca.OP_CONSTPOW, ca.OP_POW}
    options = {"user_functions": file, "lanes": True, "single": True, "portable": portable}
    library = Library(td.build(model, folder=tmp_path, **options))
    assert library.lanes in ((2,) if portable else (2, 4, 8))
    rng = np.random.default_rng(2)
    special = [[0.0, 0.0, 0.0], [1.0, -1.0, 2.0], [-0.5, -0.5, 0.1], [2.0, 2.0, -1.0]]
    states = np.array([*special, *rng.uniform(-3.0, 3.0, (200, 3))])
    values = [expected(q).full().ravel() for q in states]
    np.testing.assert_allclose([library.evaluate("everything", q) for q in states], values, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(library.batch("everything", states), values, rtol=1e-14, atol=1e-15)
    assert library.single_lanes == 2 * library.lanes
    away = ~np.isclose(states * 10, np.round(states * 10)).any(axis=1)  # steps and kinks are elsewhere after rounding
    single = library.batch("everything", states, dtype=np.float32)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single[away], np.array(values)[away], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(np.isnan(single), np.isnan(values))
    undefined = np.resize([[np.nan, 1.0, 2.0], [1.0, np.nan, np.nan]], (16, 3))
    alone = [library.evaluate("everything", q) for q in undefined]
    np.testing.assert_array_equal(library.batch("everything", undefined), alone)


CIRCLE = """
import casadi as ca

def add_functions(robot):
    q = robot.symbol("q")
    robot.add_function("circle", ca.horzcat(ca.sin(q), ca.cos(q)), ["q"], "Sines and cosines.")
"""


@pytest.fixture(scope="module", params=["one", "in lanes"])
def circle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder, lanes = tmp_path_factory.mktemp("circle"), request.param == "in lanes"
    (folder / "circle.py").write_text(CIRCLE)
    options = {"user_functions": folder / "circle.py", "lanes": lanes, "single": lanes}
    built = td.build(load_robot("planar3r"), folder=folder, **options)
    assert "thunder_sincos(angle, sine, cosine, 3)" in (built / "planar3r_gen.c").read_text()
    return Library(built / "libplanar3r.so")


@pytest.mark.slow
@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no wider type to compare with")
def test_sines_of_arguments_are_within_one_unit_in_the_last_place(circle: Library) -> None:
    """Of all sizes, and next to multiples of a quarter turn, where one of the two is next to zero."""
    rng = np.random.default_rng(4)
    sizes = rng.choice([-1.0, 1.0], 60000) * 10.0 ** rng.uniform(-300.0, 5.0, 60000)
    near = np.pi / 2 * rng.integers(-60000, 60000, 30000)
    angles = np.concatenate([sizes, near, rng.uniform(-10.0, 10.0, 90000), [0.0, 1e5, -1e5]]).reshape(-1, 3)
    found = circle.batch("circle", angles)
    wide = angles.astype(np.longdouble)
    for ours, exact in ((found[:, :, 0], np.sin(wide)), (found[:, :, 1], np.cos(wide))):
        unit = np.spacing(np.abs(exact.astype(float)))
        assert np.max(np.abs(ours - exact) / unit) < 1.0


@pytest.mark.slow
def test_sines_in_single_precision_are_within_one_unit_of_all_arguments(circle: Library) -> None:
    """Every float from 1e-4 to 6e3, and some of all sizes; where a unit is less than 3e-11 that is what is claimed."""
    if not circle.single_lanes:
        pytest.skip("only in lanes")
    ends = [np.float32(bound).view(np.uint32) for bound in (2.0**-13, 6e3)]
    for first in range(int(ends[0]), int(ends[1]) + 1, 3 << 22):
        bits = np.arange(first, first + (3 << 22), dtype=np.uint32)
        _assert_single_circle(circle, bits.view(np.float32).reshape(-1, 3))
    rng = np.random.default_rng(5)
    some = rng.choice([-1.0, 1.0], 300000) * 10.0 ** rng.uniform(-40.0, 8.0, 300000)
    _assert_single_circle(circle, some.astype(np.float32).reshape(-1, 3))


def _assert_single_circle(circle: Library, angles: np.ndarray) -> None:
    found, exact = circle.batch("circle", angles, dtype=np.float32), angles.astype(float)
    for ours, expected in ((found[:, :, 0], np.sin(exact)), (found[:, :, 1], np.cos(exact))):
        unit = np.spacing(np.abs(expected).astype(np.float32)).astype(float)
        assert (np.abs(ours - expected) <= np.fmax(unit, 3e-11)).all()


@pytest.mark.slow
def test_angles_beyond_a_hundred_thousand_are_those_of_the_system(circle: Library) -> None:
    """One far angle sends all of a call to libm; of what is no angle it makes NaN, and of no other."""
    states = [[1e5 + 1.0, 0.1, -2.0], [1e300, 1e22, 3.0], [np.inf, 0.5, np.nan], [-1e6, 1e-320, -0.0]]
    for q in states:
        with np.errstate(invalid="ignore"):
            expected = np.column_stack([np.sin(q), np.cos(q)])
        found = circle.batch("circle", [q] + [[0.1, 0.2, 0.3]] * 15)  # a near one in every other lane
        np.testing.assert_allclose(found[0], expected, rtol=1e-15, atol=0.0)
        assert np.isfinite(found[1:]).all()


@pytest.mark.slow
def test_the_core_is_strict_c99(tmp_path: Path) -> None:
    folder = td.build(load_robot("panda"), folder=tmp_path)
    command = ["cc", "-std=c99", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "panda_gen.c"]
    result = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ | {"LC_ALL": "C"}
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_a_long_function_is_split_into_pieces_that_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_robot("planar3r")
    robot = RobotExpressions(model)
    whole = Library(td.build(model, folder=tmp_path / "whole") / "libplanar3r.so")
    monkeypatch.setattr(c_core, "PIECE_LIMIT", 40)
    monkeypatch.setattr(c_core, "PIECE_SIZE", 17)
    folder = td.build(model, folder=tmp_path / "split", lanes=True)
    assert (folder / "planar3r_gen.c").read_text().count("THUNDER_NOINLINE static void") > 20
    split = Library(folder)
    assert split.lanes > 1
    states = [random_state(model, seed) for seed in range(split.lanes + 1)]
    for name in robot.functions:
        arguments = [{a: state[a] for a in robot.signature(name)} for state in states]
        expected = np.array([whole.evaluate(name, **one) for one in arguments])
        assert_close(np.array([split.evaluate(name, **one) for one in arguments]), expected, RELATIVE)
        if arguments[0]:
            rows = {a: np.array([one[a] for one in arguments]) for a in arguments[0]}
            assert_close(split.batch(name, **rows), expected, RELATIVE)


@pytest.mark.slow
def test_functions_together_give_what_each_gives_by_itself(tmp_path: Path) -> None:
    model = load_robot("panda")
    robot, group = RobotExpressions(model), "M+C+inverse_dynamics+T_0_ee"
    library = Library(td.build(model, folder=tmp_path, lanes=True, single=True, functions=[group, "inverse_dynamics"]))
    names, taken = group.split("+"), library.function(group).inputs
    assert [entry.name for entry in library.function(group).outputs] == names
    assert [entry.name for entry in taken] == ["q", "dq", "ddq"]
    states = {name: np.random.default_rng(9).uniform(-2, 2, (37, 7)) for name in ("q", "dq", "ddq")}
    together = library.batch(group, **states)
    small = library.batch(group, **states, dtype="float32")
    for name, found, single in zip(names, together, small, strict=True):
        arguments = {k: v for k, v in states.items() if k in robot.signature(name)}
        assert_close(found, library.batch(name, **arguments), RELATIVE)
        assert_close(single, found, SINGLE)
    for found, alone in zip(library.evaluate(group, *(v[0] for v in states.values())), together, strict=True):
        assert_close(found, alone[0], RELATIVE)
    expressions = robot.function_of_group(names)
    codes = [expressions.instruction_id(k) for k in range(expressions.n_instructions())]
    operations = sum(code not in NO_ARITHMETIC for code in codes)
    assert operations < 0.85 * sum(map(robot.operations, names))


def test_groups_of_functions_that_are_none_are_refused(tmp_path: Path) -> None:
    for group, message in (("M+D", "no function 'D'"), ("M+C+M", "'M' twice"), ("M+", "no function ''")):
        with pytest.raises(td.ThunderError, match=message):
            td.build(load_robot("planar3r"), folder=tmp_path, functions=[group])
    with pytest.raises(td.ThunderError, match=r"no group of functions, M\+C; valid: the functions alone"):
        td.save_target(load_robot("planar3r"), "cuda", tmp_path, functions=["M+C"])
    assert not list(tmp_path.glob("[!.]*"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["loops", "tree of all kinds", "step of a law"])
def test_lanes_give_what_each_state_gives_by_itself(tmp_path: Path, kind: str) -> None:
    """Rows that fill no vector among them, and results larger than caches."""
    if kind == "step of a law":
        library = Library(td.build(load_robot("planar3r"), ["slotine_li"], folder=tmp_path, lanes=True, single=True))
        law, rng = library.law("slotine_li"), np.random.default_rng(8)
        sizes = {name: sum(e.size for e in getattr(law, name)) for name in ("reference", "state", "gains")}
        gains = np.concatenate([entry.defaults.ravel(order="F") for entry in law.gains])
        state = np.concatenate([entry.defaults.ravel(order="F") for entry in law.state])
        rows = {"q": rng.uniform(-1, 1, (41, 3)), "qd": rng.uniform(-1, 1, (41, 3))}
        rows |= {
            "reference": rng.uniform(-1, 1, (41, sizes["reference"])),
            "state": state * rng.uniform(0.9, 1, (41, 1)),
        }
        together = library.batch("slotine_li", **rows, gains=gains, dt=np.array([0.001]))
        single = library.batch("slotine_li", **rows, gains=gains, dt=np.array([0.001]), dtype="float32")
        for one, expected in zip(single, together, strict=True):
            assert_close(one, expected, SINGLE)
        for i in range(41):
            alone = library.batch("slotine_li", **{k: v[i : i + 1] for k, v in rows.items()}, dt=np.array([0.001]))
            for one, expected in zip(together, alone, strict=True):
                assert_close(one[i], expected[0], RELATIVE)
        return
    model = random_robot(3, 16, dh=False) if kind == "loops" else general_robot(2, 5)
    library = Library(td.build(model, folder=tmp_path, lanes=True, single=True))
    states = [random_state(model, seed) for seed in range(2 * library.lanes + 1)]
    for name in library.functions:
        taken = [e.name for e in library.function(name).inputs if not e.name.startswith("par_")]
        if not taken:
            continue
        expected = np.array([library.evaluate(name, **{k: state[k] for k in taken}) for state in states])
        rows = {k: np.array([state[k] for state in states]) for k in taken}
        assert_close(library.batch(name, **rows), expected, RELATIVE)
        assert_close(library.batch(name, **rows, dtype="float32"), expected, SINGLE)
        blocks = np.moveaxis(library.batch(name, **rows, blocks=True), -1, 1)
        flat = blocks.reshape(-1, *blocks.shape[2:])
        assert_close(flat[: len(states)], expected, RELATIVE)
        np.testing.assert_array_equal(
            flat[len(states) :], flat[len(states) - 1 : len(states)].repeat(library.lanes - 1, 0)
        )
        many = {k: np.resize(v, (6001, v.shape[1])) for k, v in rows.items()}
        expected = np.resize(expected, (6001, *expected.shape[1:]))
        assert_close(library.batch(name, **many), expected, RELATIVE)
        assert_close(library.batch(name, **many, dtype="float32"), expected, SINGLE)
        blocks = np.moveaxis(library.batch(name, **many, dtype="float32", blocks=True), -1, 1)
        assert_close(blocks.reshape(-1, *blocks.shape[2:])[:6001], expected, SINGLE)
        blocks = np.moveaxis(library.batch(name, **many, blocks=True), -1, 1)
        assert_close(blocks.reshape(-1, *blocks.shape[2:])[:6001], expected, RELATIVE)


def test_nan_passes_through_minimum_and_maximum(tmp_path: Path) -> None:
    file = tmp_path / "clamp.py"
    file.write_text(
        "import casadi as ca\n"
        "def add_functions(robot):\n"
        "    q = robot.symbol('q')\n"
        "    robot.add_function('clamped', ca.fmin(ca.fmax(q, -0.5), 0.5), ['q'], 'Clamped position.')\n"
    )
    model = load_robot("planar3r")
    library = Library(td.build(model, folder=tmp_path, user_functions=file) / "libplanar3r.so")
    result = library.evaluate("clamped", [np.nan, 2.0, -2.0])
    assert np.isnan(result[0]) and result[1:].tolist() == [0.5, -0.5]
    assert library.function("clamped").description == "Clamped position."


@pytest.mark.slow
def test_an_argument_that_is_called_as_one_of_a_step_has_no_default(tmp_path: Path) -> None:
    file = tmp_path / "scaled.py"
    file.write_text(
        "def add_functions(robot):\n"
        "    gains = robot.add_argument('gains', 3)\n"
        "    robot.add_function('scaled', gains * robot.symbol('q'), ['q', 'gains'], 'Scaled position.')\n"
    )
    library = Library(td.build(load_robot("planar3r"), folder=tmp_path, user_functions=file))
    np.testing.assert_array_equal(library.batch("scaled", np.ones((2, 3)), gains=[1.0, 2.0, 3.0]), 2 * [[1, 2, 3]])
    for call in (library.evaluate, library.batch):
        with pytest.raises(td.ThunderError, match="scaled: the argument gains is missing"):
            call("scaled", np.ones((2, 3)) if call == library.batch else np.ones(3))


def test_only_expanded_functions_compile() -> None:
    x = ca.MX.sym("x")
    with pytest.raises(td.ThunderError, match="arm_f: only scalar-expanded functions without free variables compile"):
        c_core.write_functions({"arm_f": ca.Function("f", [x], [x])})
