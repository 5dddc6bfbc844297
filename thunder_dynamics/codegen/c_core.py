"""The C core: CasADi's own C for every function and law, made branch-free and cut into pieces a compiler can digest.

CasADi guards every result and argument against NULL. The library's interface forbids NULL (thunder_abi.h), so the
guards are dropped: thousands of basic blocks become one. Functions of more than `PIECE_LIMIT` statements are split into
pieces that hand their live values on through the work vector, because register allocation is superlinear in the size of
a function.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import casadi as ca

from thunder_dynamics.errors import BuildError

PIECE_LIMIT = 8000
"""Statements in one C function before it is split."""

PIECE_SIZE = 2000
"""Statements in each piece of a split function."""

C_END = '#ifdef __cplusplus\n} /* extern "C" */\n#endif\n'
"""End of CasADi's source and of its header."""

_RESULT_GUARD = re.compile(r"if \(res\[(\d+)\]!=0\) res\[\1\]")
_ARGUMENT_GUARD = re.compile(r"arg\[(\d+)\]\? arg\[\1\]\[(\d+)\] : 0")
_FUNCTION = re.compile(
    r"^(?P<comment>/\*[^\n]*\*/\n)?(?P<head>static int (?P<symbol>casadi_f\d+)\([^\n]*\) \{\n)(?P<body>.*?)^\}\n",
    re.M | re.S,
)
_LOCAL = re.compile(r"\ba\d+\b")
_ASSIGNMENT = re.compile(r"\s*(a\d+)=(.*);")
_DECLARATION = re.compile(r"\s*casadi_real a\d+")

_NOINLINE = """
/* The pieces of a split function must stay pieces: a compiler would join static functions that are called once. */
#if defined(__GNUC__)
  #define THUNDER_NOINLINE __attribute__((noinline))
#else
  #define THUNDER_NOINLINE
#endif
"""

# fmin and fmax of libm are calls and drop a NaN; a comparison is one instruction and lets a NaN in x through.
_MINIMUM = re.compile(
    r"/\* Pre-c99 compatibility \*/\n#if[^\n]*\n  return x<y \? x : y;\n#else\n  return fmin\(x, y\);\n#endif\n?"
)
_MAXIMUM = re.compile(
    r"/\* Pre-c99 compatibility \*/\n#if[^\n]*\n  return x>y \? x : y;\n#else\n  return fmax\(x, y\);\n#endif\n?"
)


@dataclass(frozen=True)
class CCore:
    """Text of <robot>_gen.c and <robot>_gen.h, and the size of the work vector of each function."""

    source: str
    header: str
    work_sizes: Mapping[str, int]


def generate_c_core(robot: str, functions: Mapping[str, ca.Function]) -> CCore:
    """Generate the C core; `functions` maps C symbols to CasADi functions, which are renamed to them.

    Raises:
        BuildError: if a function is not expanded to scalars or has free variables.
    """
    generator = ca.CodeGenerator(f"{robot}_gen.c", {"with_header": True})
    for symbol, function in functions.items():
        if not function.is_a("SXFunction") or function.has_free():
            raise BuildError("only scalar-expanded functions without free variables compile", where=symbol)
        names = (function.name_in(), function.name_out())
        generator.add(ca.Function(symbol, function.sx_in(), function.call(function.sx_in(), True, False), *names))
    return CCore(*_finish(robot, generator, functions))


def _whole_text(file: Path) -> str:
    """Read what CasADi has written, which does not say where the file system refused the rest."""
    text = file.read_text()
    if not text.endswith("#endif\n"):
        with file.open("a") as rest:
            rest.write("\n" * 65536)  # raises the reason
    return text


def _finish(
    robot: str, generator: ca.CodeGenerator, functions: Mapping[str, ca.Function]
) -> tuple[str, str, dict[str, int]]:
    with tempfile.TemporaryDirectory() as folder:
        generator.generate(folder + "/")
        source, header = (_whole_text(Path(folder) / f"{robot}_gen{suffix}") for suffix in (".c", ".h"))
    source = _ARGUMENT_GUARD.sub(r"arg[\1][\2]", _RESULT_GUARD.sub(r"res[\1]", source))
    source = source.replace("#include <math.h>\n", "#include <math.h>\n" + _NOINLINE, 1)
    source = _MAXIMUM.sub("  return x<y ? y : x;\n", _MINIMUM.sub("  return x>y ? y : x;\n", source))
    sizes: dict[str, int] = {}
    symbols = iter(functions)

    def finish(match: re.Match[str]) -> str:
        text, size = _split(match)
        sizes[next(symbols)] = size
        return text

    source = _FUNCTION.sub(finish, source)
    if len(sizes) != len(functions):
        raise BuildError(f"{len(sizes)} of {len(functions)} functions recognised in CasADi's code", where=robot)
    return source, header, sizes


def _split(match: re.Match[str]) -> tuple[str, int]:
    """Split one function if it is long; returns its text and the size of the work vector it needs."""
    lines = match["body"].splitlines()
    statements = [line for line in lines if not _DECLARATION.match(line) and line.strip() not in ("", "return 0;")]
    if len(statements) <= PIECE_LIMIT:
        return match[0], 0
    statements = [line for line in statements if not re.fullmatch(r"\s*(a\d+(, )?)+[,;]", line)]
    pieces = [statements[k : k + PIECE_SIZE] for k in range(0, len(statements), PIECE_SIZE)]
    reads, writes = zip(*(_uses(piece) for piece in pieces), strict=True)
    needed_later: list[set[str]] = [set()] * len(pieces)
    live: set[str] = set()
    for k in reversed(range(len(pieces))):
        needed_later[k] = set(live)
        live = (live - writes[k]) | reads[k]
    slots = {name: k for k, name in enumerate(sorted(set().union(*reads)))}
    text = []
    for k, piece in enumerate(pieces):
        text.append(_piece_text(match["symbol"], k, piece, reads[k], writes[k] & needed_later[k], slots))
    calls = "".join(f"  {match['symbol']}_{k}(arg, res, w);\n" for k in range(len(pieces)))
    return "".join(text) + (match["comment"] or "") + match["head"] + calls + "  return 0;\n}\n", len(slots)


def _uses(piece: list[str]) -> tuple[set[str], set[str]]:
    """Locals a piece reads before it writes them, and those it writes."""
    reads: set[str] = set()
    writes: set[str] = set()
    for line in piece:
        assignment = _ASSIGNMENT.fullmatch(line)
        expression = assignment[2] if assignment else line
        reads |= set(_LOCAL.findall(expression)) - writes
        if assignment:
            writes.add(assignment[1])
    return reads, writes


def _piece_text(
    symbol: str, k: int, piece: list[str], reads: set[str], results: set[str], slots: Mapping[str, int]
) -> str:
    names = sorted(set(_LOCAL.findall("\n".join(piece))))
    head = f"THUNDER_NOINLINE static void {symbol}_{k}(const casadi_real** arg, casadi_real** res, casadi_real* w) {{\n"
    declarations = f"  casadi_real {', '.join(names)};\n"
    loads = "".join(f"  {name}=w[{slots[name]}];\n" for name in sorted(reads))
    stores = "".join(f"  w[{slots[name]}]={name};\n" for name in sorted(results))
    return head + declarations + loads + "\n".join(piece) + "\n" + stores + "  (void)arg; (void)res; (void)w;\n}\n\n"
