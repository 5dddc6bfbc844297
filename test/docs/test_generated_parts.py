"""Parts of pages that a script writes are what it would write now."""

from __future__ import annotations

import sys

import pytest
from documentation import ROOT

sys.path.insert(0, str(ROOT / "docs"))

import generate  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("page", generate.PARTS)
def test_a_page_is_what_the_script_writes(page: str) -> None:
    assert generate.written(page) == (ROOT / "docs" / page).read_text(encoding="utf-8"), "run: python docs/generate.py"
