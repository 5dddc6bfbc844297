"""Mistakes in a law of one's own: one line that names the law, the place in its file, and the mend."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from evaluation import load_robot

import thunder_dynamics as td
from thunder_dynamics.cli import main
from thunder_dynamics.errors import LawError, ThunderError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, build_law

LAW = """
import math
import casadi as ca
import numpy as np
from thunder_dynamics.law import ReferenceKind, Signals

def mine(robot, options):
    signals = Signals(robot, ReferenceKind.JOINT)
    K = signals.gain("K", default=10.0, bounds=(0, 100), unit="1", doc="Stiffness.")
    e = signals.reference.q - signals.q
    effort = K * e
    return signals.law("mine", "A spring.", effort, {}, {})
"""

LINE = "    effort = K * e\n"


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Law]:
    """Builds the law of a package whose text has `old` replaced by `new`."""

    def built(old: str, new: str) -> Law:
        assert LAW.count(old) == 1
        (tmp_path / "own_law.py").write_text(LAW.replace(old, new))
        info = tmp_path / "own_law-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own_law\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[thunder.laws]\nmine = own_law:mine\nlost = own_law:other\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(__import__("sys").modules, "own_law", raising=False)
        from thunder_dynamics.build import law_builders

        return build_law(law_builders()["mine"], RobotExpressions(load_robot("planar3r")), {})

    return built


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (LINE, "    effort = K * e if K > 5 else e\n", "(FILE:11): Cannot compute the truth value of a CasADi SXElem"),
        (LINE, "    effort = max(K, 5) * e\n", "; valid: if_else(condition, a, b), fmin or fmax of CasADi: no if, min"),
        (LINE, "    effort = robot.n * robot.symbol('q')[5]\n", "(FILE:11): Slice (start=5, stop=6, step=1) out of"),
        (LINE, "    effort = e + ca.SX.sym('x', 2)\n", "(FILE:11): Dimension mismatch for (x+y), x is 3x1"),
        (LINE, "    effort = math.tanh(e) * e\n", "; valid: functions of CasADi, such as casadi.tanh"),
        (LINE, "    effort = math.sin(K) * e\n", "law mine: the graph holds a constant that is no number"),
        (LINE, "    effort = ca.vertcat(e, e)\n", "law mine (FILE:12): effort has 6 values; valid: 3"),
        (LINE, "    effort = None\n", "law mine (FILE:12): effort is a NoneType; valid: an expression of 3 values"),
        ("    return ", "    ", "law mine: the builder returns NoneType; valid: the result of signals.law(…): is the"),
        ('unit="1", ', "", "(FILE:9): TypeError: Signals.gain() missing 1 required keyword-only argument: 'unit'"),
        ('unit="1", ', "unit='', ", "law mine (FILE:9): signal entry 'K': no unit or no description; valid: both"),
        ("signals.reference.q ", "signals.reference.position ", "the reference has no 'position'; valid: q, qd, qdd"),
        ('"mine", "A', '"my law", "A', "law mine (FILE:12): law name 'my law'; valid: a match of"),
        (LINE, "    effort = K * error\n", "law mine (FILE:11): NameError: name 'error' is not defined"),
        ("import math", "import mathematics", "entry point mine = own_law:mine: mathematics is not installed"),
        ("def mine(", "def yours(", "entry point mine = own_law:mine: cannot be loaded (AttributeError"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(
    build: Callable[[str, str], Law], tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(ThunderError, match=re.escape(message.replace("FILE", str(tmp_path / "own_law.py")))) as caught:
        build(old, new)
    assert "\n" not in str(caught.value) and "casadi/core" not in str(caught.value)


@pytest.mark.parametrize("function", ["np.clip(e, -1, 1)", "np.tanh(e)", "np.where(e > 0, e, 0)"])
def test_functions_of_numpy_that_casadi_takes_are_taken_silently(
    build: Callable[[str, str], Law], function: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert build(LINE, f"    effort = K * {function}\n").step.size1_out(0) == 3


def test_the_command_line_says_it_in_one_line(
    build: Callable[[str, str], Law], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(LawError):
        build(LINE, "    effort = K * e if K > 5 else e\n")
    robot = Path(__file__).parents[2] / "config/robots/planar3r.yaml"
    with pytest.raises(SystemExit) as ended:
        main(["gen", str(robot), "--law", "mine", "-o", str(tmp_path / "out")])
    out = capsys.readouterr()
    assert (ended.value.code, out.out, out.err.count("\n")) == (2, "", 1)
    assert out.err.startswith("thunder: error: law mine (")


def test_a_model_prints_as_a_table_of_a_few_lines() -> None:
    head, names, first, *others = str(load_robot("panda")).splitlines()
    assert head == "panda: 7 joints, end effector on panda_link7; SI units, – no limit"
    assert names.split() == ["joint", "link", "kind", "lower", "upper", "velocity", "effort", "mass"]
    assert first.split()[:3] == ["panda_joint1", "panda_link1", "revolute"] and len(others) == 6


def test_a_path_is_built_as_its_model_is(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "config/robots/planar3r.yaml"
    assert td.build(path) == td.build(td.load_model(path))
    assert td.robot(path, backend="casadi").get_numJoints() == 3
