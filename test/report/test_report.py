"""The report is one self-contained page that says first what happened, with every run, plot and escaped text."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from lxml import html
from traces import TRUE_BODY, make_frames, make_timing, make_trace, write_run

from thunder_controllers.mesh import Mesh
from thunder_controllers.report import plots
from thunder_controllers.report.figures import with_centre
from thunder_controllers.report.page import html_table, write_report
from thunder_controllers.report.replay import replay, replay_with_looks, still
from thunder_controllers.report.summary import (
    estimate_table,
    gain_rows,
    labels,
    result_rows,
    short_rows,
    verdict,
    with_deviation,
)
from thunder_controllers.simulation.experiment import load_results, look_file
from thunder_controllers.simulation.metrics import compute_metrics
from thunder_controllers.view.arm import COLOURS, Arm
from thunder_controllers.view.look import make_look
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.inertia import DYN_NAMES

pytestmark = pytest.mark.xdist_group("report")  # one worker draws the page once

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
RECORD = {
    "fit": dict.fromkeys(DYN_NAMES, 0.0),
    "std": dict.fromkeys(DYN_NAMES, 0.01),
    "known": ["mass", "CoM_x"],
    "settled": ["mass"],
}
"""What a motion says that shows little."""


def _runs() -> dict[str, dict[str, Any]]:
    runs = {}
    for name, amplitude in (("no_adaptation", 0.1), ("adaptation", 0.001)):
        metrics = compute_metrics(make_trace(amplitude=amplitude), make_timing())
        runs[name] = {**metrics, "adaptation": name == "adaptation", "library_hash": "0", "record": {"tool": RECORD}}
    return runs


def _fill(folder: Path) -> None:
    """Write what `run_scenario` would, of two runs."""
    metrics = {"scenario": "demo", "scenario_sha256": "abc", "runs": _runs(), "versions": {"numpy": "1"}}
    write_run(folder, metrics, no_adaptation=make_trace(), adaptation=make_trace(amplitude=0.001))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    _fill(folder)
    return write_report(load_results(folder), "what <it> shows")


CORNER = Mesh(np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.2, 0], [0, 0, 0.1]]), np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2]]))
LOOK = make_look([(0, CORNER), (1, CORNER), (3, CORNER)], ["not drawn: <upper> (why)"])
"""Of the arm of `make_frames`, whose second link is bare."""


@pytest.fixture(scope="module")
def report_with_looks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("looks")
    _fill(folder)
    for name in ("no_adaptation", "adaptation"):
        LOOK.save(look_file(folder, name))
    return write_report(load_results(folder))


def _drawn(page: Path, profile: Path) -> tuple[Any, list[str]]:
    """What a browser makes of a page, and the errors that it says."""
    gl = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    options = ["--headless=new", "--no-sandbox", f"--user-data-dir={profile}", *gl]
    options += ["--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom", page.as_uri()]
    done = subprocess.run([str(CHROMIUM), *options], capture_output=True, text=True, timeout=600, check=True)
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line and "Error" in line]
    return html.document_fromstring(done.stdout), errors


def test_page_says_what_happened_then_shows_plots_numbers_and_scenario(report: Path) -> None:
    page = html.document_fromstring(report.read_bytes())
    assert page.xpath("//p[@class='verdict']")[0].text_content().startswith("With adaptation the arm follows to")
    assert page.xpath("(//div[@class='pair']//table)[1]//th/text()") == ["without adaptation", "with adaptation"]
    names = page.xpath("//div[contains(@class, 'plotly-graph-div')]/@id")
    expected = ["replay", "errors", "guards", "components", "efforts", "effort_differences"]
    expected += ["estimates_tool", "step_times"]
    assert names == expected
    assert page.xpath("//pre")[0].text_content() == "name: demo  # <script>alert(1)</script>\n"
    assert page.xpath("//p[@class='lead']")[0].text_content() == "what <it> shows"


def test_page_needs_nothing_but_itself_and_holds_its_library_once(report: Path) -> None:
    page = html.document_fromstring(report.read_bytes())
    assert not page.xpath("//@src | //@href") and not page.xpath("//link | //iframe")
    assert "alert(1)" not in "".join(page.xpath("//script/text()"))
    assert sum(len(text) > 1e6 for text in page.xpath("//script/text()")) == 1
    assert report.stat().st_size < 6e6


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
def test_page_draws_every_plot_in_a_browser_without_errors(report: Path, tmp_path: Path) -> None:
    """Plotly marks what it has drawn, and the page links the axes of time at its end."""
    probe = "<script>Plotly.relayout('errors', {'xaxis2.range': [1, 2]});</script></body>"
    page = tmp_path / "probe.html"
    page.write_text(report.read_text().replace("</body>", probe))
    drawn, errors = _drawn(page, tmp_path / "profile")
    assert not errors
    assert len(drawn.xpath("//div[contains(@class, 'js-plotly-plot')]//div[contains(@class, 'svg-container')]")) == 8
    ticks = drawn.xpath("//div[@id='efforts']//*[@class='xtick']//*[local-name()='text']/text()")
    assert ticks and all(1.0 <= float(tick) <= 2.0 for tick in ticks)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
def test_page_shows_a_picture_where_the_browser_has_no_webgl(report: Path, tmp_path: Path) -> None:
    """Of the same arm and paths."""
    options = ["--headless=new", "--no-sandbox", f"--user-data-dir={tmp_path / 'profile'}", "--disable-3d-apis"]
    options += ["--disable-gpu", "--virtual-time-budget=5000", "--dump-dom", report.as_uri()]
    done = subprocess.run([str(CHROMIUM), *options], capture_output=True, text=True, timeout=600, check=True)
    page = html.document_fromstring(done.stdout)
    assert page.xpath("//div[@class='webgl']/@hidden") and not page.xpath("//div[@class='still']/@hidden")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
def test_looks_are_moved_to_where_the_arm_is(report_with_looks: Path, tmp_path: Path) -> None:
    """In the browser, by the page itself: what its slider shows is where `Arm.body` has the vertices."""
    probe = """<pre id="found"></pre><script>
    const now = {mode: "immediate", frame: {duration: 0, redraw: true}, transition: {duration: 0}};
    addEventListener("load", () => Plotly.animate("replay", ["150"], now).then(() => {
      const traces = document.getElementById("replay").data.filter(trace => trace.type === "mesh3d");
      document.getElementById("found").textContent = JSON.stringify(
        traces.map(trace => ["x", "y", "z"].map(axis => Array.from(trace[axis]))));
    }));</script></body>"""
    page = tmp_path / "probe.html"
    page.write_text(report_with_looks.read_text().replace("</body>", probe))
    drawn, errors = _drawn(page, tmp_path / "profile")
    assert not errors
    found = json.loads(drawn.xpath("//pre[@id='found']")[0].text_content())
    expected = Arm.of("one", make_trace(), make_frames(make_trace()), LOOK).body(150)
    assert len(found) == 2
    for places in found:
        np.testing.assert_allclose(np.transpose(places), expected, atol=1e-4)  # as positions are rounded


def test_page_with_looks_needs_nothing_but_itself_and_is_not_much_larger(report: Path, report_with_looks: Path) -> None:
    page = html.document_fromstring(report_with_looks.read_bytes())
    assert not page.xpath("//@src | //@href") and not page.xpath("//link | //iframe")
    assert page.xpath("//div[@class='webgl']/p/text()") == ["not drawn: <upper> (why)"]
    assert report_with_looks.stat().st_size < report.stat().st_size + 2e5
    assert not list(report.parent.glob("*_look.npz"))


def test_what_a_seen_arm_carries_is_a_ball_of_its_size_while_it_does() -> None:
    trace = make_trace(steps=300)
    heavier = np.concatenate([trace.truth, trace.truth, trace.truth])
    heavier[1, 0, :4] += [1.0, 0.0, 0.0, 0.3]
    trace = replace(trace, truth=heavier, truth_time=np.array([0.0, 1.5, 2.4]))
    arm = Arm.of("one", trace, make_frames(trace), LOOK)
    figure, script = replay_with_looks([arm])
    ball = figure["data"][-1]
    assert ball["color"] == "#edae49" and np.ptp(np.array([ball["x"], ball["y"], ball["z"]]), axis=1).max() == 0.0
    (_, motion), vertices = json.loads("[" + script.rpartition(", [")[2].rstrip(")")), None
    assert (motion["first"], motion["end"]) == (50, 80)  # samples every 0.03 s
    vertices = np.frombuffer(base64.b64decode(motion["vertices"]), np.float32).reshape(-1, 3) - [0.0, 0.0, 0.3]
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), arm.carried[0].radius, rtol=1e-5)
    assert go.Figure(replay([arm])).frames[60].data[0].x[-1] is not None  # where nothing but plotly moves it


def test_the_last_run_is_solid_the_others_are_ghosts_and_bare_links_have_lines() -> None:
    trace = make_trace()
    bare, seen = (Arm.of("one", trace, make_frames(trace), *look) for look in ((), (LOOK,)))
    assert replay_with_looks([bare, bare]) == (replay([bare, bare]), "")
    figure, script = replay_with_looks([seen, seen])
    go.Figure(figure)  # which checks it
    assert [one["opacity"] for one in figure["data"] if one["type"] == "mesh3d"] == [0.4, 1.0]
    assert "frames" not in figure and "document.getElementById('{plot_id}')" in script
    for arm, joined in ((bare, [0, 1, 2, 3, 4]), (seen, [2, 3])):
        drawn = go.Figure(replay([arm])).frames[10].data[0]
        places = np.transpose([drawn.x, drawn.y, drawn.z]).astype(float)
        np.testing.assert_allclose(places, arm.frames.position[10, joined], atol=1e-4)


def test_the_picture_shows_paths_and_links_of_every_run() -> None:
    trace = make_trace()
    arms = [Arm.of(name, trace, make_frames(trace)) for name in ("one", "t<wo")]
    picture = html.fragment_fromstring(still(arms))
    colours = [line.get("stroke") for line in picture.xpath("//polyline")]
    assert colours.count("black") == 1 and set(colours[1:]) == set(COLOURS[:2])
    assert len(colours) == 1 + 2 * (1 + len(arms[0].links(0)))
    places = np.array(
        [float(x) for line in picture.xpath("//polyline/@points") for x in line.replace(",", " ").split()]
    )
    assert places.min() >= 0.0 and places.max() <= 100.0
    assert picture.findtext("title") == "dashed: desired; one; t<wo"


def test_an_arm_whose_frames_stay_in_one_place_is_drawn() -> None:
    """As that of one joint, which turns a link about the base."""
    trace = make_trace()
    frames = make_frames(trace)
    still_frames = replace(frames, position=np.zeros_like(frames.position))
    desired = np.zeros_like(trace.reference[:, :3])
    arm = replace(Arm.of("one", trace, still_frames), path=desired, desired=desired)
    scene = replay([arm])["layout"]["scene"]
    assert all(0.0 < scene["aspectratio"][axis] < np.inf for axis in "xyz")
    assert scene["xaxis"]["range"][0] < 0.0 < scene["xaxis"]["range"][1]


def test_runs_are_called_as_people_call_them_where_adaptation_tells_them_apart() -> None:
    runs = _runs()
    assert labels(runs) == {"no_adaptation": "without adaptation", "adaptation": "with adaptation"}
    assert labels({"high_gain": {}, "low_gain": {}}) == {"high_gain": "high gain", "low_gain": "low gain"}


def test_gains_in_force_have_a_row_each_and_a_law_that_lacks_one_nothing() -> None:
    one = {"law": "pd_plus", "gains": {"K_p": 20.0, "K_d": [1.0, 2.5]}, "total_delay": 4.6e-3}
    runs = {"one": one, "other": {"gains": {"K_p": 1e-5}}}
    assert gain_rows(runs) == [
        ["", "one", "other"],
        ["law", "pd_plus", "–"],
        ["K_p", "20", "1e-05"],
        ["K_d", "1, 2.5", "–"],
        ["total delay that the host counts on [s]", "0.0046", "–"],
    ]


def test_efforts_are_compared_with_those_of_the_first_run_while_both_go_on() -> None:
    trace = make_trace()
    traces = {"one": trace, "other": replace(trace, effort=trace.effort[:500] + 0.5)}
    assert not plots.effort_differences({"one": trace}).data
    lines = plots.effort_differences(traces).data
    assert {line.name for line in lines} == {"other"} and len(lines) == trace.effort.shape[1]
    np.testing.assert_allclose(np.concatenate([line.y for line in lines]), 0.5, rtol=1e-6)  # of single precision


def test_numbers_that_no_run_has_are_left_out_and_so_are_axes_without_an_error() -> None:
    metrics = compute_metrics(make_trace(), make_timing()) | {"joint_drift": None}
    drift = "joint drift over the last period of the reference [rad, m]"
    assert drift not in dict(result_rows({"one": metrics})[1:])
    assert drift in dict(result_rows({"one": metrics | {"joint_drift": 0.1}})[1:])
    trace = make_trace()
    error = np.zeros_like(trace.error)
    error[:, [0, 4]] = 1e-3
    titles = [note.text for note in plots.components({"one": replace(trace, error=error)}).layout.annotations]
    assert titles == ["x [mm]", "about y [mrad]"]


def test_verdict_compares_with_and_without_adaptation() -> None:
    runs = _runs()
    text, failures = verdict(runs)
    finals = [1e3 * runs[name]["errors"]["position"]["final"] for name in ("adaptation", "no_adaptation")]
    numbers = [float(number) for number in re.findall(r"to ([\d.e+-]+) mm", text)]
    np.testing.assert_allclose(numbers, finals, rtol=0.05)
    assert "; without, to" in text and text.endswith("0 mrad (mean of the last 5 s).") and failures == []


def _fault(t: float) -> dict[str, Any]:
    return {"guard": "runaway", "time": t, "what": "the arm ran away: joint1 at up to 9 rad/s", "cause": "its gains"}


def test_verdict_names_a_run_that_failed_and_leaves_it_out() -> None:
    runs = _runs()
    runs["adaptation"]["fault"] = _fault(3.25)
    text, failures = verdict(runs)
    what = "the arm ran away: joint1 at up to 9 rad/s (runaway); likely cause: its gains"
    assert failures == [f"run adaptation failed at t = 3.25 s: {what}"]
    assert text.startswith("In run no_adaptation the arm follows to")
    runs["no_adaptation"]["fault"] = _fault(1.0)
    assert verdict(runs)[0] == "" and len(verdict(runs)[1]) == 2


@pytest.mark.slow
def test_a_failed_run_is_red(tmp_path: Path) -> None:
    _fill(tmp_path)
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    metrics["runs"]["adaptation"]["fault"] = _fault(3.25)
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    page = html.document_fromstring(write_report(load_results(tmp_path)).read_bytes())
    assert "run adaptation failed" in page.xpath("//p[@class='verdict failed']")[0].text_content()


def test_errors_of_joints_are_in_the_unit_of_each_kind() -> None:
    trace = replace(make_trace(), reference=np.zeros((1000, 6)), joint_units=np.array(["rad", "m"]))
    trace = replace(trace, error=np.column_stack([np.full(1000, 0.003), np.full(1000, -0.004)]))
    cells = dict(result_rows({"one": compute_metrics(trace, make_timing())})[1:])
    assert cells["revolute joints error, largest [mrad]"] == "3"
    assert cells["prismatic joints error, largest [mm]"] == "4"
    titles = [note.text for note in plots.components({"one": trace}).layout.annotations]
    assert titles == ["joint0 [mrad]", "joint1 [mm]"]


def test_guards_and_faults_are_bars_and_a_choice_is_no_fault() -> None:
    trace = make_trace(faults=("freeze j1, 0 s to 0.03 s",))
    guards, names = trace.guards.copy(), np.array([*trace.guard_names[:2], "adaptation_frozen"])
    guards[:] |= 0b100
    trace = replace(trace, guards=guards, guard_names=names)
    for adapts, legend in ((False, "as chosen: adaptation off"), (True, "the host limits or holds")):
        bars = plots.timeline({"one": trace}, {"one": {"adaptation": adapts}}).data
        found = {bar.y[0]: bar for bar in bars}
        frozen = found["adaptation frozen · one"]
        assert frozen.name == legend and (frozen.base[0], frozen.x[0]) == pytest.approx((0.0, 10.0))
        fault = found["freeze j1, 0 s to 0.03 s · one"]
        assert fault.name == "fault of the simulated robot" and fault.x[0] == pytest.approx(0.03)
    assert plots._kind("runaway", adapts=True)[0] == plots.FAULT


def test_what_the_motion_does_not_excite_is_said_so_and_shows_no_error() -> None:
    traces, runs = {"adaptation": make_trace()}, {"adaptation": _runs()["adaptation"]}
    cells = {row[0]: row[1:] for row in estimate_table("tool", traces, runs)[1:]}
    assert cells["mass [kg]"] == ["2", "0.00 ± 0.01", "3 → 2, off the fit"]
    assert cells["CoM_x [m]"][2].endswith(", not settled")
    assert cells["Ixx [kg·m²]"] == ["0.1", "–", "not identifiable here"]
    titles = [note.text for note in plots.estimates("tool", traces, runs).layout.annotations]
    assert titles[0] == "mass [kg]" and titles[4] == "Ixx [kg·m²] — not identifiable here"


def test_replay_moves_the_arm_through_its_frames_and_picks_a_body_up() -> None:
    trace = make_trace(steps=300)
    heavier = np.concatenate([trace.truth, trace.truth])
    heavier[1, 0, :4] += [1.0, 0.0, 0.0, 0.3]
    trace = replace(trace, truth=heavier, truth_time=np.array([0.0, 1.5]))
    frames = make_frames(trace)
    figure = go.Figure(replay([Arm.of("one", trace, frames)]))  # which checks it
    assert len(figure.frames) == len(frames.t)
    before, after = figure.frames[10].data[0], figure.frames[90].data[0]
    np.testing.assert_allclose(np.transpose([before.x[:5], before.y[:5], before.z[:5]]), frames.position[10], atol=1e-4)
    assert before.x[5:] == (None, None)
    assert after.x[-2] is None  # a gap, then the body
    ball = np.array([after.x[-1], after.y[-1], after.z[-1]])
    np.testing.assert_allclose(ball, frames.position[90, 3] + [0.0, 0.0, 0.3], atol=1e-4)


def test_plots_over_time_mark_when_a_body_is_picked_up_or_dropped() -> None:
    trace = make_trace()
    truth = np.repeat(trace.truth, 3, axis=0)
    truth[1, 0, 0] += 1.5
    traces = {"one": replace(trace, truth=truth, truth_time=np.array([0.0, 2.0, 4.0]))}
    runs = {"one": {**_runs()["adaptation"]}}
    for figure, panels in (
        (plots.errors(traces), 2),
        (plots.components(traces), 1),  # what has an error
        (plots.efforts(traces), 2),
        (plots.timeline(traces, runs), 1),
        (plots.estimates("tool", traces, runs), 10),
    ):
        lines = [shape for shape in figure.layout.shapes if shape.x0 == shape.x1]
        assert [line.x0 for line in lines] == panels * [2.0] + panels * [4.0]
        assert [line.label.text for line in lines if line.label.text] == ["+1.5 kg", "−1.5 kg"]
    other = {"one": replace(traces["one"], truth=np.zeros((3, 0, 10)))}  # no link of the law adapts
    assert plots.errors(other).layout.shapes[0].label.text == "payload"


def test_a_stop_is_marked_where_the_curve_of_its_run_ends() -> None:
    trace = make_trace()
    guards = np.where(trace.t < 2.0, 0, 0b001).astype(np.uint32)
    stopped = replace(trace, guards=guards, guard_names=np.array(["runaway"])).until_fault()
    figure = plots.errors({"one": trace, "two": stopped})
    lines = [shape for shape in figure.layout.shapes if shape.x0 == shape.x1]
    assert [line.x0 for line in lines] == [2.0, 2.0] and len(figure.data[1].y) == 201
    assert lines[0].label.text == "stopped" and lines[0].line.color == figure.data[1].line.color


@pytest.mark.parametrize("steps", [1000, 4000])
def test_a_line_of_few_points_is_where_its_trace_is(steps: int) -> None:
    trace = make_trace(steps=steps)
    line = plots.efforts({"one": trace}).data[0]
    assert 0.4 * plots.MOST_POINTS < len(line.y) <= plots.MOST_POINTS
    times = line.x0 + line.dx * np.arange(len(line.y))
    np.testing.assert_allclose(line.y, np.interp(times, trace.t, trace.effort[:, 0]), atol=1e-5)


def test_estimates_are_drawn_with_their_centre_of_mass() -> None:
    drawn = with_centre(TRUE_BODY.pi[None])[0]
    np.testing.assert_allclose(drawn, [2.0, *TRUE_BODY.com, *TRUE_BODY.pi[4:]], atol=1e-15)
    assert np.isnan(with_centre(np.zeros((1, 10)))[0, 1:4]).all()


def test_result_rows_have_a_cell_per_run() -> None:
    trace = make_trace(faults=("freeze j1, 0 s to 0.03 s", "dropout j2, 0 s to 0.03 s"))
    rows = result_rows({"one": compute_metrics(trace, make_timing())})
    assert rows[0] == ["", "one"]
    assert {len(row) for row in rows} == {2}
    cells = dict(rows[1:])
    assert cells["position error, largest [mm]"] == "100"
    assert cells["guards that acted (steps)"] == "effort_rate_limited 4, effort_limited 1"
    assert cells["faults in force (steps)"] == "freeze j1, 0 s to 0.03 s 3, dropout j2, 0 s to 0.03 s 3"
    assert cells["effort limits kept"] == "yes"
    assert "<td>&lt;b&gt;</td>" in html_table([["", "x"], ["<b>", "1"]])


def test_the_short_table_fits_a_terminal_and_shows_masses_beside_the_truth() -> None:
    runs = _runs()
    runs["no_adaptation"]["guards"]["adaptation_frozen"] = 1000  # as chosen
    rows = short_rows(runs, dict.fromkeys(runs, make_trace()))
    widths = [max(len(line) for row in rows for line in row[k].splitlines()) for k in range(3)]
    assert sum(widths) + 2 * 3 + 2 <= 80  # a space to each side, and one between columns
    cells = {row[0]: row[1:] for row in rows}
    assert cells["mass of tool [kg]"] == ["2, not adapted", "3 → 2, off the fit"]
    assert cells["by a fit to the record [kg]"][1] == "0.00 ± 0.01"
    assert cells["true mass [kg]"] == ["2", "2"]
    assert cells["fault that stopped the arm"] == ["none", "none"]
    assert cells["guards that acted"] == ["effort rate limited\neffort limited"] * 2


def test_the_wrong_belief_of_a_law_that_does_not_adapt_is_called_so() -> None:
    payload = {"link": "tool", "estimate": dict.fromkeys(DYN_NAMES, 1.764), "fit": dict.fromkeys(DYN_NAMES, -3.9e-5)}
    payload |= {"std": dict.fromkeys(DYN_NAMES, 1.2e-4), "trusted": DYN_NAMES}
    runs = {name: {**run, "payload": payload} for name, run in _runs().items()}
    cells = {row[0]: row[1:] for row in result_rows(runs)}
    assert cells["tool: payload, mass [g]"] == ["1764, not adapted", "1764"]
    assert cells["tool: payload, CoM [mm], least-squares fit"][1] == ", ".join(["0.0 ± 0.1"] * 3)


@pytest.mark.parametrize(
    ("value", "std", "text"),
    [
        (-3.998e-5, 1.2e-4, "0.0000 ± 0.0001"),
        (0.73546, 0.00961, "0.735 ± 0.010"),
        (1500.04, 0.23, "1500.0 ± 0.2"),
        (1764.3, 23.0, "1764 ± 23"),
        (-1.5, 1e-12, "-1.50000 ± 0.00000"),
        (-1e-9, 1e-8, "0"),
        (0.0, 0.0, "0"),
    ],
)
def test_a_number_is_rounded_to_its_deviation(value: float, std: float, text: str) -> None:
    assert with_deviation(value, std) == text


def test_missing_files_are_one_typed_error(tmp_path: Path) -> None:
    _fill(tmp_path)
    (tmp_path / "adaptation.npz").unlink()
    with pytest.raises(ScenarioError, match="the results are incomplete"):
        load_results(tmp_path)
