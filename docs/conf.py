"""The documentation site: `make docs` builds it into build/docs, with warnings as errors."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, GoogleDocstring

import thunder_controllers.references.users  # noqa: F401 # autodoc annotates pydantic's own class, with which it is none
from thunder_dynamics.version import __version__

ROOT = Path(__file__).resolve().parents[1]
XML = ROOT / "build" / "doxygen"

project = "Thunder controllers"
release = __version__
extensions = [
    "breathe",
    "myst_nb",
    "sphinx.ext.autodoc",
]

# Sources are the pages where they lie: links between them are the same here and in an editor. README.md stands at the
# head of docs/index.md here.
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**", "examples/**/*.md"]
exclude_patterns = ["README.md", ".venv", ".*", "build", "results", "dist", "test", "**/*_generatedFiles"]

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 4
nitpick_ignore_regex = [("myst", r"(\.\./)*[\w/]+")]  # links to folders, which test_docs checks
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True
os.environ["PLOTLY_RENDERER"] = "notebook"  # HTML with its library in it: works without a network

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_typehints_format = "short"
default_role = "code"
highlight_language = "none"

breathe_projects = {"host": str(XML / "xml")}
breathe_default_project = "host"

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"{project} {release}"
html_additional_pages = {"index": "start.html"}
templates_path = ["templates"]
html_static_path = ["static"]

if shutil.which("doxygen") is None:
    raise SystemExit("doxygen is missing; on Debian or Ubuntu: sudo apt-get install doxygen")
XML.mkdir(parents=True, exist_ok=True)
subprocess.run(["doxygen", "docs/Doxyfile"], cwd=ROOT, check=True)


def read_docstring(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Google sections to fields; |x| and names that end in _ are no markup here.

    Napoleon as an extension would take what stands before a colon in an attribute's text for its type.
    """
    lines[:] = [re.sub(r"(`[^`]*`)|(\||_(?!\w))", lambda m: m[1] or "\\" + m[2], line) for line in lines]
    if what not in ("attribute", "data", "property"):
        lines[:] = GoogleDocstring(lines, Config(napoleon_use_rtype=False), app, what, name, obj, options).lines()


def add_readme(app: Sphinx, page: str, source: list[str]) -> None:
    """The first page begins with README.md, whose links are relative to another folder."""
    if page == root_doc:
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        readme = re.sub(r"\]\((?!\w+://)(docs/)?", lambda m: "](" if m[1] else "](../", readme)
        source[0] = f"{readme}\n#{source[0]}"


def write_formula(self: Any, node: nodes.Element) -> None:
    """MathML, which browsers typeset without a script or a network; the number of an equation stands beside it."""
    text, number = re.subn(r"\\tag\{.*?\}", "", node.astext())
    block = isinstance(node, nodes.math_block)
    formula = convert(text, display="block" if block else "inline")
    if block:
        label = re.search(r"\\tag\{(.*?)\}", node.astext()) if number else None
        formula = f'<div class="math">{formula}<span>{f"({label[1]})" if label else ""}</span></div>'
    self.body.append(formula)
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Connect what reads docstrings, sources and formulas."""
    app.connect("autodoc-process-docstring", read_docstring)
    app.connect("source-read", add_readme)
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.add_css_file("site.css")
