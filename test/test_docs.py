"""The documentation names files that exist and shows code that runs."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from thunder_dynamics import load_model
from thunder_dynamics.build import law_builders
from thunder_dynamics.expressions import RobotExpressions

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_resolve(page: Path) -> None:
    targets = [t.split("#")[0] for t in re.findall(r"\]\(([^)\s]+)\)", page.read_text()) if "://" not in t]
    assert [target for target in targets if target and not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_name_files_that_exist(page: Path) -> None:
    named = re.findall(r"\b(?:config|urdf|benchmarks)/[\w/.-]+\.\w+", page.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_laws_that_are_shown_build() -> None:
    shown = {"bounded_pd": [], "slotine_li": ["pi_hat"], "my_law": ["offset"]}
    names: dict[str, Any] = {}
    for page in ("your-law.md", "cheat-sheet.md"):
        for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL):
            if "signals.law(" in code:
                exec(compile(code, page, "exec"), names)
    robot = RobotExpressions(load_model(ROOT / "config/robots/planar3r.yaml"))
    for name, states in shown.items():
        law = names[name](robot, {})
        assert law.step.size_out("effort") == (3, 1)
        assert [entry.name for entry in law.state] == states


def test_the_kind_of_joint_that_is_shown_moves_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    *_, code = re.findall(r"```python\n(.*?)```", (ROOT / "docs/reference/joints.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "joints.md", "exec"), names)
    column = names["robot"].function("J_2")([0.3, 0.5, 0.7]).full()[:, 1]
    assert column[:3] == pytest.approx(0.05 * column[3:]) and column @ column == pytest.approx(1 + 0.05**2)


def test_every_law_is_listed() -> None:
    laws, _ = (ROOT / "docs/reference/laws.md").read_text().split("## Adaptation")
    rows = re.findall(r"^\| `(\w+)` \| .* \| .* \| .* \| .* \|$", laws, re.MULTILINE)
    assert sorted(rows) == sorted(law_builders())


def test_the_cheat_sheet_describes_every_command() -> None:
    text = (ROOT / "docs/cheat-sheet.md").read_text()
    targets = re.findall(r"^(\w[\w-]*):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    # The parts of test-all are one static pattern rule; what a part needs beyond it stands under its own name.
    public = {target for target in targets if not target.startswith("test-") or target == "test-all"}
    public -= {"help", "lint", "lint-files"}
    assert {"demo", "test", "bench"} <= public
    assert [target for target in sorted(public) if f"`make {target}`" not in text] == []
    commands = {entry.name for entry in entry_points(group="thunder.commands")} | {"gen"}
    assert {"run", "compare"} <= commands
    assert [name for name in sorted(commands) if f"`thunder {name}" not in text] == []
