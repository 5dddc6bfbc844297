"""The site builds without a warning: links between pages, their anchors, references and docstrings are right."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from documentation import PAGES, ROOT


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path: Path, build_cache: Path) -> None:
    for name in ("sphinx", "latex2mathml"):
        pytest.importorskip(name, reason="pip install '.[docs]'")
    if shutil.which("doxygen") is None:
        pytest.skip("doxygen is not installed")
    options = ["--fail-on-warning", "--keep-going", "--quiet", "-D", "nb_execution_mode=off"]
    command = [sys.executable, "-m", "sphinx", *options, "--conf-dir", "docs", ".", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    start = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert (tmp_path / re.findall(r'href="([^"]+)"', start)[0]).is_file()
    assert "configure" in (tmp_path / "docs/api/host_cpp.html").read_text(encoding="utf-8")
    first = (tmp_path / "docs/index.html").read_text(encoding="utf-8")
    assert first.index("give a URDF, write the law in Python") < first.index("pages, one per task")  # README.md first
    for page in PAGES:
        if page == ROOT / "README.md":
            continue
        assert (tmp_path / page.relative_to(ROOT).with_suffix(".html")).is_file()
    assert "<math" in (tmp_path / "docs/reference/theory.html").read_text(encoding="utf-8")
    assert (tmp_path / "searchindex.js").is_file()
    loaded = r"""<(?:script|img|iframe)[^>]*\ssrc=["']https?:|<link[^>]*rel=["']stylesheet["'][^>]*href=["']https?:"""
    pages = {file.relative_to(tmp_path): file.read_text(encoding="utf-8") for file in tmp_path.rglob("*.html")}
    assert [str(name) for name, text in pages.items() if re.search(loaded, text)] == []  # opens without a network


def test_links_to_elsewhere_are_well_formed() -> None:
    """Their form only: the tests reach no network."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    links = re.findall(r"\]\((\w+://[^)\s]*)\)", text) + re.findall(r"^\[\w+\]: (\S+)$", text, re.MULTILINE)
    assert links
    parts = [urlsplit(link) for link in links]
    wrong = [p.geturl() for p in parts if p.scheme != "https" or not re.fullmatch(r"[\w-]+(\.[\w-]+)+", p.netloc)]
    assert wrong == []
