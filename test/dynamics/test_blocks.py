"""What conditions need, in blocks: of random graphs all is computed before it is used, and the numbers are CasADi's."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from thunder_dynamics.codegen import c_core, instructions
from thunder_dynamics.codegen.instructions import Block, Element, Instruction, Operand, in_blocks, read_instructions

SIZE = 5
STATES = np.random.default_rng(1).choice([-2.0, -1.0, -0.5, 0.0, -0.0, 0.5, 1.0, 3.0, np.nan, np.inf], (48, SIZE))
"""On both sides of every condition and on it, and what is no number."""


def random_graph(seed: int, has_sines: bool = False, size: int = 120) -> ca.Function:
    """Sums, products, quotients, roots and conditions of what was made before, conditions often of the last ones."""
    rng = np.random.default_rng(seed)
    x = ca.SX.sym("x", SIZE)
    made, truths = ca.vertsplit(x), [x[0] < x[1], x[2]]

    def some() -> ca.SX:
        return made[-1 - int(min(rng.exponential(8.0), len(made) - 1))]

    for _ in range(size):
        one, other, condition = some(), some(), truths[rng.integers(max(0, len(truths) - 4), len(truths))]
        kinds = (
            lambda a, b, c: a + b,
            lambda a, b, c: a * b - 0.25,
            lambda a, b, c: a / (b + 1.5),
            lambda a, b, c: ca.sqrt(ca.fabs(a)) - b,
            lambda a, b, c: ca.floor(a) + ca.sign(b),
            lambda a, b, c: ca.if_else(c, a, b),
            lambda a, b, c: ca.if_else(c, a, 0.0),
            lambda a, b, c: ca.if_else(c, ca.if_else(a < b, a - b, b), ca.sin(x[3]) if has_sines else x[3]),
        )
        made.append(kinds[rng.integers(len(kinds))](one, other, condition))
        if rng.random() < 0.15:
            truths.append(
                (one < other, ca.logic_not(condition), ca.logic_and(condition, one != other))[rng.integers(3)]
            )
    return ca.Function("graph", [x], ca.cse([ca.vertcat(*made[-6:]), ca.densify(made[len(made) // 2])]))


@cache
def computed(code: int, count: int) -> ca.Function:
    """An operation of so many operands, by CasADi."""
    symbols = [ca.SX.sym("a"), ca.SX.sym("b")][:count]
    made = ca.SX.binary(code, *symbols) if count == 2 else ca.SX.unary(code, *symbols)
    return ca.Function("operation", symbols, [made])


def run(items: Sequence[Instruction | Block], x: np.ndarray, values: dict[Operand, float], result: dict) -> None:
    """Run instructions as C does: a block that is not entered leaves its results at zero, and nothing else."""

    def value(operand: Operand) -> float:
        if isinstance(operand, Element):
            return float(x[operand.place])
        return operand if isinstance(operand, float) else values[operand]

    for one in items:
        if isinstance(one, Block):
            inside = dict(values)
            if value(one.condition) != 0.0:
                run(one.body, x, inside, result)
            values.update((number, inside.get(number, 0.0)) for number in one.results)
        elif one.result is not None:
            result[one.result] = value(one.operands[0])
        else:
            operation = computed(one.code, len(one.operands))
            values[one.number] = float(operation(*(value(operand) for operand in one.operands)))


def blocks_of(items: Sequence[Instruction | Block]) -> Iterator[Block]:
    """All blocks, those in blocks too."""
    for one in items:
        if isinstance(one, Block):
            yield one
            yield from blocks_of(one.body)


@pytest.mark.parametrize("most", [4000, 7])
def test_blocks_give_what_the_list_of_instructions_gives(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(instructions, "LEAST_COST", 2)
    monkeypatch.setattr(instructions, "MOST_INSTRUCTIONS", most)
    nested = several = 0
    for seed in range(5):
        read = list(read_instructions("graph", random_graph(seed)))
        items = in_blocks(read)
        found = list(blocks_of(items))
        nested += sum(isinstance(one, Block) for block in found for one in block.body)
        several += len(found) - len({block.condition for block in found})
        assert all(sum(isinstance(one, Instruction) for one in block.body) <= most for block in found)
        for x in STATES[:3]:
            expected, result = {}, {}
            run(read, x, {}, expected)
            run(items, x, {}, result)
            np.testing.assert_array_equal([result[e] for e in expected], list(expected.values()))
    assert nested > 5
    assert several > 5  # of one condition


def test_what_a_condition_needs_is_computed_where_it_holds_and_nothing_else_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(instructions, "LEAST_COST", 3)
    x = ca.SX.sym("x", SIZE)
    shared = x[2] * x[3]
    costly = ca.sqrt(shared + x[1]) / x[4]
    graph = ca.Function("graph", [x], [shared + ca.if_else(x[0] < 1.0, costly, 2.0) + ca.sin(x[1])])
    items = in_blocks(read_instructions("graph", graph))
    (block,) = blocks_of(items)
    assert [one.code for one in block.body] == [ca.OP_ADD, ca.OP_SQRT, ca.OP_DIV]  # without the shared product
    assert block.results == (block.body[-1].number,)


def test_little_is_no_block() -> None:
    x = ca.SX.sym("x", SIZE)
    graph = ca.Function("graph", [x], [ca.if_else(x[0] < 1.0, x[1] * x[2] + x[3], 2.0)])
    assert not list(blocks_of(in_blocks(read_instructions("graph", graph))))


def test_blocks_of_the_same_text_are_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions, "LEAST_COST", 2)
    x = ca.SX.sym("x", SIZE)
    roots = [ca.if_else(x[0] < x[k], ca.sqrt(x[k] * x[k] + 1.0) / x[k], 0.0) for k in range(1, SIZE)]
    text, _ = c_core.write_functions({"arm_graph": ca.Function("graph", [x], [ca.vertcat(*roots)])})["arm_graph"]
    assert text.count("static void arm_graph_if") == 1
    assert text.count("    arm_graph_if0(in, out);") == SIZE - 1


class Compiled:
    """C of some functions, in one state or in lanes; products are rounded, as CasADi's are."""

    def __init__(self, folder: Path, graphs: Sequence[ca.Function], lanes: bool) -> None:
        table = {f"arm_{k}": graph for k, graph in enumerate(graphs)}
        written = c_core.write_functions(table)
        core = c_core.make_c_core(
            "arm", "\n".join(t for t, _ in written.values()), {n: s for n, (_, s) in written.items()}
        )
        (folder / "arm_gen.h").write_text(core.header)
        source = folder / "arm_gen.c"
        source.write_text(core.source + "\nint lanes(void);\nint lanes(void) { return THUNDER_LANES; }\n")
        wide = ["-DTHUNDER_WIDE", "-march=native"] if lanes else ["-pedantic-errors"]
        checks = ["-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-Wno-unused-function"]
        command = ["cc", "-std=c99", "-O1", "-ffp-contract=off", *checks, *wide, "-fPIC", "-shared", f"-I{folder}"]
        subprocess.run([*command, str(source), "-o", str(folder / "arm.so"), "-lm"], check=True)
        library = ctypes.CDLL(str(folder / "arm.so"))
        self._lanes = library.lanes() if lanes else 1
        self._functions = [getattr(library, f"{name}__lanes" if lanes else name) for name in table]
        self._sizes = core.work_sizes

    def results(self, k: int, graph: ca.Function, states: np.ndarray) -> np.ndarray:
        """Of every state one row, (states, results)."""
        rows = []
        for some in states.reshape(-1, self._lanes, states.shape[1]):
            inputs = _aligned(some.T.size)
            inputs[:] = some.T.ravel()  # element by element, of every lane
            outputs = [_aligned(graph.numel_out(j) * self._lanes) for j in range(graph.n_out())]
            work = _aligned(max(self._sizes[f"arm_{k}"], 1) * self._lanes)
            place, asks_ahead = work.ctypes.data_as(_POINTER), 1
            assert self._functions[k](_pointers([inputs]), _pointers(outputs), None, place, asks_ahead) == 0
            rows.append(np.concatenate([one.reshape(-1, self._lanes) for one in outputs]).T)
        return np.concatenate(rows)


_POINTER = ctypes.POINTER(ctypes.c_double)


def _aligned(size: int) -> np.ndarray:
    """Doubles at a multiple of 64 bytes."""
    room = np.zeros(size + 8)
    start = (-room.ctypes.data % 64) // 8
    return room[start : start + size]


def _pointers(arrays: Sequence[np.ndarray]) -> ctypes.Array:
    return (_POINTER * len(arrays))(*(one.ctypes.data_as(_POINTER) for one in arrays))


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [False, True])
@pytest.mark.parametrize(("limit", "has_sines"), [(12000, False), (12000, True), (30, False)])
def test_numbers_are_those_of_casadi_to_the_last_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, has_sines: bool, lanes: bool
) -> None:
    """Whole functions and pieces of them; lanes of which some hold a condition and some do not; sines but for a bit.

    Long functions are told that their code may be in no cache.
    """
    monkeypatch.setattr(instructions, "LEAST_COST", 4)
    monkeypatch.setattr(c_core, "PIECE_LIMIT", limit)
    monkeypatch.setattr(c_core, "PIECE_SIZE", 11)
    monkeypatch.setattr(c_core, "LONG", 60)
    graphs = [random_graph(seed, has_sines) for seed in range(12)]
    compiled = Compiled(tmp_path, graphs, lanes)
    text = (tmp_path / "arm_gen.c").read_text()
    assert text.count("_if0(const thunder_real* restrict i") > 8
    assert text.count("  THUNDER_AHEAD(arm_") > 8
    tolerance = 1e-12 if has_sines else 0.0
    for k, graph in enumerate(graphs):
        expected = np.array([np.concatenate([r.full().ravel() for r in graph.call([x])]) for x in STATES])
        np.testing.assert_allclose(compiled.results(k, graph, STATES), expected, rtol=tolerance, atol=tolerance)
