"""`thunder experiment bad_day` at few cases, and its random cases: what they promise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import thunder
from scipy.spatial.transform import Rotation

from thunder_controllers.commands.experiment import experiment as command
from thunder_controllers.experiments import draws
from thunder_controllers.experiments.experiment import DONE, Group, Settings, load_experiment
from thunder_controllers.experiments.runner import run_case
from thunder_controllers.experiments.table import COLUMNS
from thunder_controllers.host import Library
from thunder_studies import arms, bad_day, panda

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def library() -> Library:
    """The one that the cases run, so that the tests compile no other."""
    return panda.library()


def _run(folder: Path, *arguments: str) -> str:
    result = CliRunner().invoke(command, ["bad_day", "--out", str(folder), "--jobs", "2", *arguments])
    assert result.exit_code in (0, 1), result.output
    assert (result.exit_code == 1) == ("missed: " in result.output)
    return result.output


def test_the_command_writes_table_and_figure_and_repeats_itself(tmp_path: Path) -> None:
    arguments = ("--group", "starts", "--cases", "2", "--seed", "3")
    output = _run(tmp_path / "first", *arguments)
    assert "5° to 45°" in output and "2 runs in" in output
    first, again = tmp_path / "first", tmp_path / "again"
    _run(again, *arguments, "--compare", str(first / "table.json"))
    assert (first / "table.json").read_bytes() == (again / "table.json").read_bytes()
    assert "→" not in (again / "table.md").read_text()
    assert (first / "bad_day.png").stat().st_size > 10_000
    document = json.loads((first / "table.json").read_text())
    assert document["settings"] == {"seed": 3, "cases": 2, "long": False}
    row = document["groups"]["starts"]["rows"]["5° to 45°"]
    assert list(row) == list(COLUMNS) and row["cases"] == 1 and row["runaways"] == 0 and row["success"] == 1.0


def test_all_groups_can_be_built_and_the_first_cases_do_not_depend_on_the_others() -> None:
    groups = load_experiment("bad_day").select((), Settings(cases=5))
    assert list(groups) == list(load_experiment("bad_day").groups)
    assert [len(group.cases) for group in groups.values()][:-1] == [5, 5, 4, 9, 4, 6, 2]
    assert len(groups["arms"].cases) == 8 * (len(arms.ARMS) if arms.collection() else 2)
    again = load_experiment("bad_day").select(("references",), Settings(cases=5))
    assert again["references"].cases == groups["references"].cases
    (long,) = load_experiment("bad_day").select(("holding",), Settings(long=True)).values()
    assert isinstance(long, Group) and long.title == "Moving after 600 s of rest"
    assert [case.config.duration for case in long.cases] == [606.0, 606.0]


def test_arms_of_the_project_do_not_run_away_with_rotors_that_their_files_leave_out() -> None:
    group = arms.arms(Settings(cases=1))
    cases = [case for case in group.cases if case.row.startswith(("panda", "ur5"))]
    assert len(cases) == 2 * 2 * 4  # arms, laws; two drives, without and with rotors
    assert [run_case(case).ended for case in cases] == [DONE] * len(cases)
    assert ("left out" in group.title) == (arms.collection() is None)


def test_pairs_fill_the_ranges_and_can_be_reached(library: Library) -> None:
    found = list(draws.pairs(np.random.default_rng(0), library, 60, (0.05, 0.5), (0.1, 2.6)))
    q_d, q = np.transpose(found, (1, 0, 2))
    assert draws.within(library, q_d).all() and draws.within(library, q).all()
    for values, lower, upper in zip(
        draws.apart(draws.poses(library, q_d), draws.poses(library, q)), (0.05, 0.1), (0.5, 2.6), strict=True
    ):
        assert lower <= values.min() and values.max() <= upper
        assert np.ptp(values) > 0.8 * (upper - lower) and abs(values.mean() - 0.5 * (lower + upper)) < 0.2 * upper


@pytest.mark.parametrize(("way", "beyond"), [("to the edge", 0.0), ("5 cm beyond", 0.05)])
def test_the_edge_is_where_reach_ends(library: Library, way: str, beyond: float) -> None:
    """The wrist that a pose asks for lies on a circle about the flange's axis: its nearest point is too far away."""
    for q, there in bad_day.WAYS[way](np.random.default_rng(0), library, 10):
        assert draws.within(library, q)
        (T,) = draws.poses(library, q[None])
        shoulder = library.evaluate("T_0_2", q)[:3, 3]
        wrist = T[:3, :3].T @ (shoulder + bad_day.reach(library, q) - T[:3, 3])  # in the frame of the end effector
        turns = Rotation.from_rotvec(np.linspace(0.0, 2.0 * np.pi, 3601)[:, None] * [0.0, 0.0, 1.0])
        nearest = np.linalg.norm(there[:3, 3] + turns.apply(wrist) @ there[:3, :3].T - shoulder, axis=1).min()
        angles = np.linspace(library.position_lower[bad_day.ELBOW], library.position_upper[bad_day.ELBOW], 300)
        longest = max(
            np.linalg.norm(bad_day.reach(library, np.append([0, 0, 0, angle], [0, 0, 0]))) for angle in angles
        )
        assert nearest - longest == pytest.approx(beyond, abs=1e-4)


def test_singular_postures_are_singular(library: Library) -> None:
    for q in draws.singular(np.random.default_rng(0), library, 5):
        assert np.linalg.svd(library.evaluate("J_ee", q), compute_uv=False)[-1] < 0.02


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_such"], "no experiment 'no_such'; valid: adaptation_shootout, adaptive_vs_fixed, bad_day, "),
        (["bad_day", "--group", "no_such"], "no group 'no_such'; valid: starts, references"),
        (["bad_day", "--compare", "no_such.json"], "no file no_such.json; valid: a file of "),
    ],
)
def test_an_error_is_one_line_and_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = thunder("experiment", *arguments, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert result.output.count("\n") == 1 and message in result.output
