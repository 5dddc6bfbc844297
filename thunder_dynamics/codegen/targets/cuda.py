"""<robot>.cu: the instructions for CUDA, one thread per state; NVRTC and nvcc compile it as it stands."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

import casadi as ca

from thunder_dynamics.codegen.c_core import OPERATIONS as C_OPERATIONS
from thunder_dynamics.codegen.instructions import Element, Operand
from thunder_dynamics.codegen.package import Package
from thunder_dynamics.codegen.targets.routines import Routine, read_routines
from thunder_dynamics.codegen.text import c_double, comment_text, template
from thunder_dynamics.version import __version__

OPERATIONS = {
    **C_OPERATIONS,
    ca.OP_LT: "{0} < {1}",
    ca.OP_LE: "{0} <= {1}",
    ca.OP_EQ: "{0} == {1}",
    ca.OP_NE: "{0} != {1}",
    ca.OP_NOT: "!{0}",
    ca.OP_AND: "{0} && {1}",
    ca.OP_OR: "{0} || {1}",
    ca.OP_FMIN: "{0} > {1} ? {1} : {0}",
    ca.OP_FMAX: "{0} < {1} ? {1} : {0}",
    ca.OP_INV: "THUNDER_REAL(1.0) / {0}",
    ca.OP_IF_ELSE_ZERO: "{0} ? {1} : THUNDER_REAL(0.0)",
    ca.OP_SIGN: "{0} < 0 ? THUNDER_REAL(-1.0) : ({0} > 0 ? THUNDER_REAL(1.0) : {0})",
}
"""Those of C, whose comparisons are written out, with numbers that do not make double precision of single."""

_CIRCLES = {ca.OP_SIN: "s", ca.OP_COS: "c"}
"""Where an angle has both, they are computed at once, as they share its reduction, under these names."""


def cuda_source(package: Package, digest: str) -> str:
    """Text of <robot>.cu.

    Args:
        digest: Hash of what determines it.

    Raises:
        BuildError: naming an operation that CUDA lacks.
    """
    routines = tuple(read_routines(package, OPERATIONS, "CUDA"))
    return template("kernels.cu").substitute(
        robot=package.name,
        version=__version__,
        hash=digest,
        functions="\n".join(map(_function_text, routines)),
        kernels="\n".join(_kernel_text(package.name, one) for one in routines),
    )


def _function_text(routine: Routine) -> str:
    head = f"/* {comment_text(routine.description)}\n * {routine.signature} */\n"
    parameters = ", ".join([*_pointers(routine), "const long long n"])
    body = "".join(_statements(routine))
    return f"{head}__device__ inline void {routine.name}({parameters}) {{\n{body}}}\n"


def _statements(routine: Routine) -> Iterator[str]:
    """Values, each stored as soon as it is there: what waits to be stored takes registers."""
    stores = defaultdict(list)
    for k, elements in enumerate(routine.elements):
        for index, element in enumerate(elements):
            stores[element if isinstance(element, int) else None].append(f"  r{k}[{index} * n] = {_text(element)};\n")
    yield from stores[None]
    angles = [{one.operands[0] for one in routine.instructions if one.code == code} for code in _CIRCLES]
    reduced: dict[Operand, int] = {}
    for one in routine.instructions:
        angle, value = one.operands[0], OPERATIONS[one.code].format(*map(_text, one.operands))
        if one.code in _CIRCLES and all(angle in those for those in angles):
            if angle not in reduced:
                reduced[angle] = one.number
                yield f"  thunder_real s{one.number}, c{one.number};\n"
                yield f"  THUNDER_LIBM(sincos)({_text(angle)}, &s{one.number}, &c{one.number});\n"
            value = f"{_CIRCLES[one.code]}{reduced[angle]}"
        yield f"  const thunder_real a{one.number} = {value};\n"
        yield from stores[one.number]


def _kernel_text(robot: str, routine: Routine) -> str:
    names = [f"x{k}" for k in range(len(routine.arguments))] + [f"r{k}" for k in range(len(routine.results))]
    call = ", ".join([*(f"{name} + i" for name in names), "n"])
    parameters = ", ".join([*_pointers(routine), "const long long n"])
    return (
        f'extern "C" __global__ void {robot}_{routine.name}({parameters}) {{\n'
        "  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"  if (i < n) thunder_{robot}::{routine.name}({call});\n"
        "}\n"
    )


def _pointers(routine: Routine) -> list[str]:
    given = [f"const thunder_real* __restrict__ x{k}" for k in range(len(routine.arguments))]
    return given + [f"thunder_real* __restrict__ r{k}" for k in range(len(routine.results))]


def _text(operand: Operand) -> str:
    if isinstance(operand, Element):
        return "x{}[{} * n]".format(*operand)
    if isinstance(operand, int):
        return f"a{operand}"
    if math.isfinite(operand):
        return f"THUNDER_REAL({c_double(operand)})"
    return "THUNDER_NAN" if math.isnan(operand) else f"({'-' if operand < 0 else ''}THUNDER_INFINITY)"
