"""Reports as self-contained HTML pages; that of a scenario is made from the files that the runs left in a folder.

One page and one table: `string.Template` and `html.escape` do, without a template engine. Plotly draws what moves.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from plotly.io import to_html
from plotly.offline import get_plotlyjs

from thunder_controllers.report import plots
from thunder_controllers.report.replay import replay_with_looks, still
from thunder_controllers.report.summary import error_rows, estimate_table, gain_rows, labels, result_rows, verdict
from thunder_controllers.simulation.experiment import ScenarioResult
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_controllers.view.arm import arms_of, notes_of
from thunder_dynamics.storage.whole import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPORT = "report.html"
DPI = 110
ESTIMATES = "estimates"

SECTIONS = {
    "guards": (
        "Guards",
        "When a guard limited a command or rejected a measurement, and when the simulated robot had a fault.",
    ),
    "components": ("Error by axis", "Of the true end effector in the world frame, or of the true joints."),
    "efforts": ("Efforts", "As commanded; the dotted lines are the limits in force."),
    "effort_differences": ("Efforts compared", "As commanded, less those of the first run."),
    ESTIMATES: (
        "Estimates of",
        "In the link's frame, inertia about its origin; dashed: what the simulated robot really has. The band is what "
        "the record of the last run says, twice its standard deviation to each side. Grey, not identifiable here: this "
        "motion does not excite it, so its estimate says nothing.",
    ),
    "step_times": ("Time of the control step", "Wall time inside the host, guards included."),
}
"""Heading and sentence of each plot."""

WITHOUT_WEBGL = """
const canvas = document.createElement("canvas");
if (!canvas.getContext("webgl2") && !canvas.getContext("webgl"))
  for (const part of document.querySelectorAll(".webgl, .still")) part.hidden = part.matches(".webgl");
"""
"""Shows a picture where the browser draws nothing in three dimensions."""

LINKED_TIME = r"""
const timed = [...document.querySelectorAll(".js-plotly-plot")].filter(plot => plot.layout.meta === "time");
let busy = false;
for (const plot of timed) plot.on("plotly_relayout", change => {
  const key = Object.keys(change).find(name => /^xaxis\d*\.(range(\[0\])?|autorange)$/.test(name));
  if (busy || !key) return;
  busy = true;
  const range = plot.layout[key.split(".")[0]].range.slice();
  Promise.all(timed.filter(other => other !== plot).map(other => Plotly.relayout(other, Object.fromEntries(
    Object.keys(other._fullLayout).filter(name => /^xaxis\d*$/.test(name)).map(name => [name + ".range", range])))))
    .finally(() => { busy = false; });
});
"""
"""Zooming one axis of time zooms all of them."""

PAGE = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1b1f24; max-width: 1280px; margin: 1.2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; }
h2 { font-size: 1.15rem; margin-top: 2.2rem; border-bottom: 1px solid #d8dee4; padding-bottom: .2rem; }
p.lead { color: #57606a; margin-top: 0; white-space: pre-line; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: right; padding: .3rem .9rem; border-bottom: 1px solid #e6eaee; }
td { font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid #8c959f; }
figure { margin: 1.2rem 0; }
figure img { max-width: 100%; height: auto; }
figcaption { color: #57606a; font-size: .88rem; }
pre { background: #f6f8fa; padding: 1rem; overflow-x: auto; font-size: .85rem; border-radius: 6px; }
p.verdict { font-size: 1.15rem; font-weight: 600; margin: .6rem 0; }
p.failed { color: #b3261e; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; align-items: start; }
.pair > div { min-width: 0; }
details { margin: .6rem 0; }
svg { width: 100%; max-height: 620px; }
.pair table { margin-top: 0; }
.pair th, .pair td { padding: .3rem .5rem; }
h1 { overflow-wrap: anywhere; }
table { max-width: 100%; }
.wide { overflow-x: auto; }
@media (max-width: 500px) { th, td { padding: .3rem .4rem; font-size: .85rem; } pre { white-space: pre-wrap; } }
@media (max-width: 900px) { .pair { grid-template-columns: 1fr; } .pair > :last-child { order: -1; } }
</style>
$head
</head>
<body>
<h1>$title</h1>
<p class="lead">$lead</p>
$body
</body>
</html>
"""
)


def write_report(result: ScenarioResult, description: str = "") -> Path:
    """Write `report.html` beside the results of a scenario, and return its path.

    The page holds the library that draws its plots, once, and opens without a network; some 5 MB are that library.

    Args:
        result: As `run_scenario` or `load_results` gives it.
        description: Shown below the title.
    """
    page = render_page(result, description).encode()
    write_whole(result.folder / REPORT, lambda file: file.write(page))
    return result.folder / REPORT


def render(figure: Figure) -> bytes:
    """Render a figure as PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    return buffer.getvalue()


def render_page(result: ScenarioResult, description: str) -> str:
    """Fill the page of a scenario: what happened, seen at once; then the plots, the numbers and the scenario."""
    metrics = result.metrics
    text, failures = verdict(metrics["runs"])
    called = labels(metrics["runs"])
    runs = {called[name]: run for name, run in metrics["runs"].items()}
    traces = {called[run.name]: run.trace.until_fault() for run in result.runs}
    arms = arms_of(result, called)
    versions = ", ".join(f"{name} {version}" for name, version in metrics["versions"].items())
    source = f"Scenario SHA-256 {metrics['scenario_sha256']}. {versions}."
    drawn = make_plots(runs, traces, {called[run.name]: run.timing for run in result.runs})
    moving = html_plot("replay", *replay_with_looks(arms))
    missing = "".join(f'<p class="lead">{escape(note)}</p>' for note in notes_of(arms))
    arm = f'<div class="webgl">{moving}{missing}</div><div class="still" hidden>{still(arms)}</div>'
    errors = html_plot("errors", drawn.pop("errors"))
    gains = html_table(gain_rows(runs))
    body = [
        f'<p class="verdict">{escape(text)}</p>' if text else "",
        *(f'<p class="verdict failed">{escape(line)}</p>' for line in failures),
        f"<details><summary>Law and gains in force</summary>{gains}</details>",
        f'<div class="pair"><div>{arm}</div><div>{html_table(error_rows(runs))}{errors}</div></div>',
    ]
    for name, figure in drawn.items():
        link = "" if name in SECTIONS else name.removeprefix(f"{ESTIMATES}_")
        title, caption = SECTIONS[ESTIMATES if link else name]
        if figure.data:
            body += [f"<h2>{escape(f'{title} {link}'.strip())}</h2>", f'<p class="lead">{escape(caption)}</p>']
            body.append(html_plot(name, figure))
        if link:
            body.append(html_table(estimate_table(link, traces, runs)))
    body += [
        "<h2>Numbers</h2>",
        html_table(result_rows(runs)),
        "<h2>Scenario</h2>",
        f"<pre>{escape(result.text)}</pre>",
        f'<p class="lead">{escape(source)}</p>',
        f"<script>{LINKED_TIME}{WITHOUT_WEBGL}</script>",
    ]
    return html_page(metrics["scenario"], description, body, f"<script>{get_plotlyjs()}</script>")


def make_plots(
    runs: Mapping[str, Any], traces: Mapping[str, Trace], timings: Mapping[str, Timing]
) -> dict[str, go.Figure]:
    """All plots of a report but the replay, by name, until a fault; those of a link are called `estimates_<link>`."""
    links = runs[list(runs)[-1]]["estimates"]
    return {
        "errors": plots.errors(traces),
        "guards": plots.timeline(traces, runs),
        "components": plots.components(traces),
        "efforts": plots.efforts(traces),
        "effort_differences": plots.effort_differences(traces),
        **{f"{ESTIMATES}_{link}": plots.estimates(link, traces, runs) for link in links},
        "step_times": plots.step_times(timings),
    }


def html_plot(identifier: str, figure: go.Figure | dict[str, Any], script: str = "") -> str:
    """Mark an interactive plot up; the page holds its library. A script runs when it is drawn, see `to_html`."""
    config = {"displaylogo": False, "responsive": True}
    safe = "".join(letter if letter.isalnum() else "_" for letter in identifier)
    options = {"full_html": False, "include_plotlyjs": False, "div_id": safe, "auto_play": False, "validate": False}
    return str(to_html(figure, config, post_script=script or None, **options))


def html_page(title: str, lead: str, body: Sequence[str], head: str = "") -> str:
    """Fill a page: title and lead, which are escaped here, and parts that are marked up."""
    return PAGE.substitute(title=escape(title), lead=escape(lead), body="\n".join(body), head=head)


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """Mark a table up; the first row is its header."""

    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "\n".join(row(cells, "td") for cells in rows[1:])
    table = f"<table>\n<thead>{row(rows[0], 'th')}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    return f'<div class="wide">{table}</div>'


def html_figure(name: str, image: bytes, caption: str) -> str:
    """Mark a figure up, its PNG embedded."""
    data = base64.b64encode(image).decode()
    source = f'<img alt="{escape(name)}" src="data:image/png;base64,{data}">'
    return f"<figure>{source}<figcaption>{escape(caption)}</figcaption></figure>"
