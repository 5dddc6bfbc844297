"""The notebooks of the tutorials run from top to bottom and assert what they claim; they lie here without outputs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from documentation import ROOT
from setuptools.config.pyprojecttoml import load_file

nbformat = pytest.importorskip("nbformat", reason="pip install '.[docs]'")
nbclient = pytest.importorskip("nbclient", reason="pip install '.[docs]'")

NOTEBOOKS = sorted((ROOT / "docs/tutorials").glob("*.ipynb"))


def test_there_are_three() -> None:
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_holds_no_outputs_and_checks_itself(file: Path) -> None:
    code = [cell for cell in nbformat.read(file, as_version=4).cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert any("assert " in cell.source for cell in code)
    assert file.stat().st_size < 20_000


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_opens_in_colab_and_installs_the_package_where_it_is_missing(file: Path) -> None:
    cells = nbformat.read(file, as_version=4).cells
    repository = load_file(ROOT / "pyproject.toml")["project"]["urls"]["Repository"].removeprefix("https://github.com/")
    place = f"{repository}/blob/main/docs/tutorials/{file.name}"
    assert f"](https://colab.research.google.com/github/{place})" in cells[0].source
    assert f"`jupyter notebook {file.name}`" in cells[0].source
    assert cells[1].source.startswith("import importlib.util\n") and "%pip install" in cells[1].source


@pytest.mark.slow
@pytest.mark.xdist_group("documentation")
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file: Path, tmp_path: Path, build_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    notebook = nbformat.read(file, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
