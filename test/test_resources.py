from __future__ import annotations

from pathlib import Path

import pytest

from thunder_controllers import resources
from thunder_controllers.resources import ResourceNotFoundError, share

ROOT = Path(__file__).resolve().parents[1]


def fake_installation(prefix: Path) -> Path:
    """A prefix with a share folder; returns where the module itself would lie in it."""
    folder = prefix / "share" / "thunder_controllers"
    (folder / "config").mkdir(parents=True)
    (folder / "package.xml").write_text("<package/>")
    (folder / "config" / "a.yaml").write_text("a: 1")
    return prefix / "lib" / "python3.11" / "site-packages" / "thunder_controllers" / "resources.py"


def test_the_source_tree_comes_first() -> None:
    assert share() == ROOT
    assert share("package.xml").samefile(ROOT / "package.xml")


def test_an_installation_is_found_from_where_the_module_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "__file__", str(fake_installation(tmp_path)))
    assert share("config/a.yaml") == tmp_path / "share" / "thunder_controllers" / "config" / "a.yaml"


def test_an_ament_prefix_is_found_when_nothing_nearer_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_installation(tmp_path / "ament")
    monkeypatch.setattr(resources, "__file__", str(tmp_path / "elsewhere" / "thunder_controllers" / "resources.py"))
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'other'}:{tmp_path / 'ament'}")
    assert share("config").parent == tmp_path / "ament" / "share" / "thunder_controllers"


def test_without_a_share_folder_the_error_lists_the_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "__file__", str(tmp_path / "thunder_controllers" / "resources.py"))
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    with pytest.raises(ResourceNotFoundError, match="no share folder") as caught:
        share("config")
    assert str(tmp_path / "share" / "thunder_controllers") in str(caught.value)


def test_a_missing_file_names_its_siblings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "__file__", str(fake_installation(tmp_path)))
    with pytest.raises(ResourceNotFoundError, match=r"config/b\.yaml.*valid: a\.yaml"):
        share("config/b.yaml")


@pytest.mark.parametrize("path", ["/etc/hosts", "../outside", "config/../../outside"])
def test_a_path_out_of_the_share_folder_is_refused(path: str) -> None:
    with pytest.raises(ResourceNotFoundError, match="not a path inside"):
        share(path)
