"""The report is one self-contained page with every run, figure and escaped text."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest
from lxml import html
from traces import TRUE_BODY, make_timing, make_trace

from thunder_controllers.report.figures import make_figures, with_centre
from thunder_controllers.report.page import html_table, result_rows, write_report
from thunder_controllers.simulation.metrics import compute_metrics
from thunder_dynamics.errors import ScenarioError

PNG = b"\x89PNG\r\n\x1a\n"
pytestmark = pytest.mark.xdist_group("report")  # one worker draws the page once

TEXT = "name: demo  # <script>alert(1)</script>\n"


def _fill(folder: Path) -> dict[str, object]:
    """Write what `run_scenario` would, of two runs."""
    runs = {}
    for name, amplitude in (("no_adaptation", 0.1), ("adaptation", 0.001)):
        trace, timing = make_trace(amplitude=amplitude), make_timing()
        trace.save(folder / f"{name}.npz")
        timing.save(folder / f"{name}_timing.npz")
        runs[name] = compute_metrics(trace, timing)
    metrics = {
        "scenario": "demo",
        "scenario_sha256": "abc",
        "runs": runs,
        "final_error_ratio": 100.0,
        "versions": {"numpy": "1"},
    }
    (folder / "metrics.json").write_text(json.dumps(metrics))
    (folder / "scenario.yaml").write_text(TEXT)
    return metrics


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    _fill(folder)
    return write_report(folder, "what <it> shows")


def test_page_holds_runs_figures_and_scenario(report: Path) -> None:
    page = html.document_fromstring(report.read_bytes())
    header = page.xpath("//thead//th/text()")
    assert header == ["no_adaptation", "adaptation"]
    names = page.xpath("//figure/img/@alt")
    expected = ["error_norm", "error_axes", "effort_no_adaptation", "effort_adaptation", "estimates_tool", "step_time"]
    assert names == expected
    assert page.xpath("//pre")[0].text_content() == TEXT
    assert page.xpath("//p[@class='lead']")[0].text_content() == "what <it> shows"
    assert "100" in page.text_content()


def test_page_needs_nothing_but_itself_and_runs_no_script(report: Path) -> None:
    text = report.read_text()
    assert "<script" not in text
    sources = re.findall(r'src="([^"]*)"', text)
    assert len(sources) == 6
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "href=" not in text and "url(" not in text


def test_figures_are_saved_as_embedded(report: Path) -> None:
    page = html.document_fromstring(report.read_bytes())
    for image in page.xpath("//figure/img"):
        data = base64.b64decode(image.get("src").split(",")[1])
        assert data.startswith(PNG)
        assert (report.parent / f"{image.get('alt')}.png").read_bytes() == data


def test_error_figure_shows_every_run_on_a_logarithmic_axis() -> None:
    traces = {"a": make_trace(), "b": make_trace(amplitude=1e-3)}
    figure = make_figures(traces, {"a": make_timing(), "b": make_timing()})["error_norm"]
    axis = figure.axes[0]
    assert axis.get_yscale() == "log"
    assert [line.get_label() for line in axis.lines] == ["a", "b"]
    np.testing.assert_allclose(np.asarray(axis.lines[1].get_ydata())[0], 1e-3)
    assert axis.get_xlabel() == "t [s]"


def test_faults_are_told_in_the_table_and_drawn_over_time() -> None:
    trace = make_trace(faults=("freeze j1, 0 s to 0.03 s", "dropout j2, 0 s to 0.03 s"))
    cells = dict(result_rows({"one": compute_metrics(trace, make_timing())})[1:])
    assert cells["faults in force (steps)"] == "freeze j1, 0 s to 0.03 s 3, dropout j2, 0 s to 0.03 s 3"
    axis = make_figures({"one": trace}, {"one": make_timing()})["faults_one"].axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == [str(name) for name in trace.fault_names]
    drawn = np.asarray(axis.collections[0].get_paths()[0].vertices)[:, 0]
    np.testing.assert_allclose([drawn.min(), drawn.max()], [0.0, 0.03])


def test_estimates_are_drawn_with_their_centre_of_mass() -> None:
    drawn = with_centre(TRUE_BODY.pi[None])[0]
    np.testing.assert_allclose(drawn, [2.0, *TRUE_BODY.com, *TRUE_BODY.pi[4:]], atol=1e-15)
    assert np.isnan(with_centre(np.zeros((1, 10)))[0, 1:4]).all()


def test_result_rows_have_a_cell_per_run() -> None:
    rows = result_rows({"one": compute_metrics(make_trace(), make_timing())})
    assert rows[0] == ["", "one"]
    assert {len(row) for row in rows} == {2}
    cells = dict(rows[1:])
    assert cells["steps at the effort limit"] == "1"
    assert cells["guards that acted (steps)"] == "effort_rate_limited 4, effort_limited 1"
    assert cells["tool: error of mass [kg]"] == "1 → 4.6e-05"
    assert cells["effort limits kept"] == "yes"


def test_tables_escape() -> None:
    assert "<td>&lt;b&gt;</td>" in html_table([["", "x"], ["<b>", "1"]])


def test_missing_files_are_one_typed_error(tmp_path: Path) -> None:
    _fill(tmp_path)
    (tmp_path / "adaptation.npz").unlink()
    with pytest.raises(ScenarioError, match="the results are incomplete"):
        write_report(tmp_path)
