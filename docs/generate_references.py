"""Write the table of references in docs/simulation.md from the fields of their classes.

python docs/generate_references.py            # writes the page
python docs/generate_references.py --check    # exit status 1 if the page is not what would be written
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic.fields import FieldInfo

from thunder_controllers.references.trajectories import Stated
from thunder_controllers.simulation.reference_options import KINDS

PAGE = Path(__file__).resolve().parent / "simulation.md"
BEGIN, END = "<!-- references, by docs/generate_references.py -->", "<!-- end of references -->"
USERS = (
    "| a name of the entry points `thunder.references` | those of its class "
    "| [a reference of one's own](python.md#a-reference-of-ones-own) |"
)


def page() -> str:
    """The page, its table written anew."""
    head, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    rows = ["| type | keys | what it is |\n| --- | --- | --- |", *(_row(*each) for each in KINDS.items()), USERS]
    return head + BEGIN + "\n\n" + "\n".join(rows) + "\n\n" + END + rest.split(END)[1]


def _row(name: str, kind: type[Stated]) -> str:
    own = [(key, field) for key, field in kind.model_fields.items() if key not in Stated.model_fields]
    keys = [_key(*each) for each in sorted(own, key=lambda each: not each[1].is_required())]
    (what, *_) = (kind.__doc__ or "").split("\n\n")
    return f"| `{name}` | {', '.join(keys)} | {' '.join(what.split()).replace('|', chr(92) + '|')} |"


def _key(name: str, field: FieldInfo) -> str:
    default = "" if field.is_required() or field.default is None else f": {_text(field.default)}"
    return f"`{name}{default}` {field.description or ''}".rstrip()


def _text(value: object) -> str:
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def main() -> int:
    """Write the page, or check it; returns the exit status."""
    text = page()
    if "--check" in sys.argv[1:]:
        return int(text != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
