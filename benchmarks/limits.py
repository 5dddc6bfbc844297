"""What bounds the time of generated code: its operations, and how many of them a core does at most.

An operation is one of CasADi's list that is always computed; a sine, a square root or a division counts as one, too.
A core does most where independent multiplications come with an addition each, one at a time or a register full.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import builds
import casadi as ca
from program import ADAPTED, LAW

from thunder_dynamics import load_model
from thunder_dynamics.build import law_entry
from thunder_dynamics.codegen import toolchain
from thunder_dynamics.codegen.instructions import Block, in_blocks, read_instructions
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import build_law


def measure(functions: Iterable[str], lanes: int, folder: Path) -> dict[str, Any]:
    """Operations of functions and steps by name; most operations in a nanosecond, `scalar` and in `lanes`."""
    robot = RobotExpressions(load_model(builds.PANDA))
    operations = {name: robot.operations(name) for name in functions}
    for which, options in ADAPTED.items():
        operations[f"control step, {which}"] = _always(build_law(law_entry(LAW), robot, options).step)
    program, source = folder / "peak", Path(__file__).with_name("peak.c")
    flags = [*toolchain.compile_flags(portable=False), "-std=c99", f"-DLANES={lanes}"]
    toolchain.run([*toolchain.compiler("c"), *flags, str(source), "-o", str(program)])
    scalar, vector = map(float, toolchain.run([str(program)]).split())
    return {"operations": operations, "scalar": scalar, "lanes": vector}


def _always(function: ca.Function) -> int:
    items = in_blocks(read_instructions("", function))
    return sum(not isinstance(item, Block) and item.result is None for item in items)
