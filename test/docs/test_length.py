"""What people read in order is short: words are counted per page and in all, and lines of the sources are short."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from documentation import PAGES, ROOT

LOOKED_UP = ("Reference", "Results")
"""Captions of the table of contents whose pages are looked things up in, not read."""

MOST_IN_ALL = 20_000
MOST_OF_A_PAGE = 1_600
MOST_OF_THE_README = 400
MOST_OF_A_RELEASE = 500
LONGEST_LINE = 160

INDEX = ROOT / "docs/index.md"


def listed() -> dict[str, list[Path]]:
    """Pages of the table of contents by its captions, without suffixes."""
    trees = re.findall(r"```\{toctree\}\n:caption: (.*)\n((?:.+\n)+?)```", INDEX.read_text(encoding="utf-8"))
    entries = {caption: re.findall(r"^(?:.*<)?([\w./-]+)>?$", tree, re.MULTILINE) for caption, tree in trees}
    return {caption: [(INDEX.parent / name).resolve() for name in names] for caption, names in entries.items()}


def reading_order() -> list[Path]:
    """README.md, the first page, and what the table of contents lists but for what is looked up."""
    names = [name for caption, pages in listed().items() if caption not in LOOKED_UP for name in pages]
    return [ROOT / "README.md", INDEX, *(next(name.parent.glob(f"{name.name}.*")) for name in names)]


def text_of(page: Path) -> str:
    """Markdown of a page; of a notebook, its cells of text."""
    if page.suffix != ".ipynb":
        return page.read_text(encoding="utf-8")
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def written_by_hand(text: str) -> str:
    """Without what docs/generate.py and benchmarks/page.py write between their marks."""
    text = re.sub(r"<!-- ([\w -]+), by docs/generate\.py -->.*?<!-- end of \1 -->", "", text, flags=re.DOTALL)
    return re.sub(r"<!-- figures: begin -->.*?<!-- figures: end -->", "", text, flags=re.DOTALL)


def count_words(text: str) -> int:
    """Words of prose and tables, without code and without what programs write."""
    text = re.sub(r"```.*?```", "", written_by_hand(text), flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^ {4}.*$", "", text, flags=re.MULTILINE)
    return len(re.findall(r"\S*\w\S*", text))


def test_words_are_counted_without_code_and_generated_parts() -> None:
    code = "```bash\nls -l\n```\n\n    code\n"
    text = f"One two.\n\n{code}\n| three | – |\n<!-- x, by docs/generate.py -->\nno\n<!-- end of x -->"
    assert count_words(text) == 3


def test_everything_that_is_read_in_order_has_twenty_thousand_words() -> None:
    pages = reading_order()
    assert len(pages) > 20 and ROOT / "docs/your-law.md" in pages
    counted = {page.relative_to(ROOT).as_posix(): count_words(text_of(page)) for page in pages}
    assert sum(counted.values()) <= MOST_IN_ALL, counted
    assert {name: words for name, words in counted.items() if words > MOST_OF_A_PAGE} == {}
    assert counted["README.md"] <= MOST_OF_THE_README


def test_every_page_is_in_the_table_of_contents() -> None:
    known = {INDEX, ROOT / "README.md", *(name.with_suffix(".md") for pages in listed().values() for name in pages)}
    assert [page.name for page in PAGES if page not in known] == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_lines_of_a_page_are_short(page: Path) -> None:
    """Rows of tables count where pages are read in order; Markdown cannot break those of what is looked up."""
    lines = written_by_hand(page.read_text(encoding="utf-8")).splitlines()
    may_be_long = "|" if page not in reading_order() else None
    assert [line for line in lines if len(line) > LONGEST_LINE and line[0] != may_be_long] == []


def test_a_release_is_told_in_five_hundred_words() -> None:
    _, *releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(releases) >= 2
    assert {text.split()[0]: count for text in releases if (count := count_words(text)) > MOST_OF_A_RELEASE} == {}
