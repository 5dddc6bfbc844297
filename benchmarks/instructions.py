"""Instructions per call, counted by valgrind: repeatable where times are not.

They are those of portable builds: valgrind does not know AVX-512, which -march=native may mean.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from program import Program

FEW, MANY = 256, 1280
"""Calls of the two runs whose difference is taken."""


def why_not() -> str | None:
    """Why instructions cannot be counted here, or None."""
    return None if shutil.which("valgrind") else "valgrind is not installed"


def count_instructions(program: Program, folder: Path) -> dict[str, float]:
    """Instructions of one call of each row: the difference of two runs of the same program, so start-up drops out."""
    names = [fields[1] for fields in program.run("rows") if fields[0] == "row"]
    return {
        name: (_total(program, name, MANY, folder) - _total(program, name, FEW, folder)) / (MANY - FEW)
        for name in names
    }


def _total(program: Program, row: str, calls: int, folder: Path) -> int:
    out = folder / "callgrind.out"
    program.run("count", row, str(calls), prefix=["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"])
    found = re.search(r"^(?:totals|summary): (\d+)", out.read_text(encoding="utf-8"), re.M)
    assert found is not None, "callgrind always writes a summary"
    return int(found[1])
