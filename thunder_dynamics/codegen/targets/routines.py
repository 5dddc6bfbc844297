"""What every file of a target holds: functions of the robot and of its laws, read into instructions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import casadi as ca

from thunder_dynamics.codegen.instructions import Instruction, Operand, read_instructions
from thunder_dynamics.codegen.package import Package
from thunder_dynamics.errors import BuildError

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Routine:
    """A function to emit.

    Attributes:
        name: As in the library: `M`, `law_slotine_li`.
        description: One sentence.
        arguments: Shapes by name, of one state; one column is a vector.
        results: Shapes by name.
        instructions: All that compute something.
        elements: What each result holds, column by column.
    """

    name: str
    description: str
    arguments: Mapping[str, Shape]
    results: Mapping[str, Shape]
    instructions: tuple[Instruction, ...]
    elements: tuple[tuple[Operand, ...], ...]

    @property
    def signature(self) -> str:
        """Arguments and results with their shapes, as a comment."""
        given, made = (
            ", ".join(f"{name} {_shape_text(shape)}" for name, shape in shapes.items())
            for shapes in (self.arguments, self.results)
        )
        return f"{given or 'nothing'} -> {made}"


def read_routines(package: Package, operations: Mapping[int, str], language: str) -> Iterator[Routine]:
    """Functions, then laws.

    Raises:
        BuildError: naming an operation that is not among `operations`, or a function that is not scalar-expanded.
    """
    for name in package.selected:
        spec, function = package.robot.spec(name), package.robot.function(name)
        yield _routine(name, spec.description, function, spec.is_matrix, operations, language)
    for law in package.laws:
        for function in package.law_functions(law).values():
            yield _routine(function.name(), law.description, function, False, operations, language)


def _routine(
    name: str, description: str, function: ca.Function, is_matrix: bool, operations: Mapping[int, str], language: str
) -> Routine:
    elements: list[list[Operand]] = [[0.0] * function.numel_out(k) for k in range(function.n_out())]
    instructions = []
    for one in read_instructions(name, function):
        if one.result is not None:
            elements[one.result.of][one.result.place] = one.operands[0]
        elif one.code not in operations:
            raise BuildError(f"CasADi's operation {one.code} has no {language}", where=name, valid="arithmetic")
        else:
            instructions.append(one)
    arguments = {function.name_in(k): _shape(function.size_in(k), False) for k in range(function.n_in())}
    results = {function.name_out(k): _shape(function.size_out(k), is_matrix) for k in range(function.n_out())}
    return Routine(name, description, arguments, results, tuple(instructions), tuple(map(tuple, elements)))


def _shape(size: tuple[int, int], is_matrix: bool) -> Shape:
    return size if is_matrix or size[1] > 1 else size[:1]


def _shape_text(shape: Shape) -> str:
    return f"({', '.join(('...', *map(str, shape)))})"
