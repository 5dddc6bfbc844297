"""The pages of the documentation, and the code in them as a Markdown parser sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
)


@dataclass(frozen=True)
class Block:
    """Code on a page: from its fence, with the fence's language, or indented, where the first word tells it."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """Lines of a shell, continued ones joined, without comments."""
        joined = re.sub(r"\s*\\\n\s*", " ", self.text)
        lines = (re.sub(r"(^|\s+)#.*", "", line).strip() for line in joined.splitlines())
        return [line for line in lines if line]


def _language(text: str) -> str:
    if text.startswith(">>>"):
        return "pycon"
    return "python" if re.match(r"(from|import) \w", text) else "bash"


def blocks(page: Path) -> Iterator[Block]:
    """Blocks of code in the order of the page."""
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type in ("fence", "code_block"):
            assert token.map is not None
            language = token.info.strip() if token.type == "fence" else _language(token.content)
            yield Block(page, token.map[0] + 1, language, token.content)


def all_commands() -> list[tuple[str, str]]:
    """Every command of every page, beside the page's path below the repository."""
    return [
        (page.relative_to(ROOT).as_posix(), command)
        for page in PAGES
        for block in blocks(page)
        if block.language == "bash"
        for command in block.commands
    ]
