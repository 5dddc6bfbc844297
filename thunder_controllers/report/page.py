"""Reports as self-contained HTML pages; that of a scenario is made from the files that the runs left in a folder.

One page and one table: `string.Template` and `html.escape` do, without a template engine.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from matplotlib.figure import Figure

from thunder_controllers.report.figures import make_figures
from thunder_controllers.simulation.trace import Timing, Trace, write_atomically
from thunder_dynamics.errors import ScenarioError

REPORT = "report.html"
DPI = 110

CAPTIONS = {
    "error_norm": "Norm of e = [p_d − p ; ½(n×n_d + s×s_d + a×a_d)] of the true end effector, or of q_d − q.",
    "error_axes": "Components of the error in the world frame.",
    "effort": "Commanded effort; the dotted lines are the limits in force.",
    "faults": "When the faults of the simulated robot were in force.",
    "estimates": "Estimated parameters in the link frame; dashed: what the simulated robot really carries. "
    "What the motion does not excite keeps its first estimate.",
    "step_time": "Wall time of the control step inside the host, guards included.",
}
"""By the figure's name, or by what it starts with."""

PAGE = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1b1f24; max-width: 1120px; margin: 2rem auto; padding: 0 1rem; }
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
</style>
</head>
<body>
<h1>$title</h1>
<p class="lead">$lead</p>
$body
</body>
</html>
"""
)


def write_report(folder: Path, description: str = "") -> Path:
    """Write `report.html` and `<figure>.png` into a folder that `run_scenario` filled, and return the page's path.

    Raises:
        ScenarioError: if the folder lacks a file of a run.
    """
    try:
        metrics: dict[str, Any] = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
        scenario = (folder / "scenario.yaml").read_text(encoding="utf-8")
        traces = {name: Trace.load(folder / f"{name}.npz") for name in metrics["runs"]}
        timings = {name: Timing.load(folder / f"{name}_timing.npz") for name in metrics["runs"]}
    except (OSError, KeyError, ValueError) as error:
        what = f"the results are incomplete ({error})"
        raise ScenarioError(what, where=str(folder), valid="a folder that `thunder run` wrote") from error
    images = {name: render(figure) for name, figure in make_figures(traces, timings).items()}
    for name, image in images.items():
        write_atomically(folder / f"{name}.png", lambda file, image=image: file.write(image))  # type: ignore[misc]
    page = render_page(metrics, scenario, images, description).encode()
    write_atomically(folder / REPORT, lambda file: file.write(page))
    return folder / REPORT


def render(figure: Figure) -> bytes:
    """Render a figure as PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    return buffer.getvalue()


def render_page(metrics: Mapping[str, Any], scenario: str, images: Mapping[str, bytes], description: str) -> str:
    """Fill the page of a scenario."""
    ratio = metrics["final_error_ratio"]
    first, last = list(metrics["runs"])[0], list(metrics["runs"])[-1]
    sentence = "" if ratio is None else f"Final error of run “{first}” over that of run “{last}”: {ratio:.4g}."
    versions = ", ".join(f"{name} {version}" for name, version in metrics["versions"].items())
    source = f"Scenario SHA-256 {metrics['scenario_sha256']}. {versions}."
    captions = {name: next((text for key, text in CAPTIONS.items() if name.startswith(key)), name) for name in images}
    body = [
        "<h2>Result</h2>",
        html_table(result_rows(metrics["runs"])),
        f"<p>{escape(sentence)}</p>",
        "<h2>Figures</h2>",
        *(html_figure(name, image, captions[name]) for name, image in images.items()),
        "<h2>Scenario</h2>",
        f"<pre>{escape(scenario)}</pre>",
        f'<p class="lead">{escape(source)}</p>',
    ]
    return html_page(metrics["scenario"], description, body)


def html_page(title: str, lead: str, body: Sequence[str]) -> str:
    """Fill a page: title and lead, which are escaped here, and parts that are marked up."""
    return PAGE.substitute(title=escape(title), lead=escape(lead), body="\n".join(body))


def result_rows(runs: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """The table of results: one column per run, the first row the header, the first column what it is."""
    rows = [["", *runs]]
    for label, key, form in (
        ("final error norm (mean of the last 5 s)", "final_error_norm", "{:.4g}"),
        ("largest error norm", "max_error_norm", "{:.4g}"),
        ("∫‖e‖ dt", "iae", "{:.4g}"),
        ("steps at the effort limit", "effort_limit_hits", "{:d}"),
        ("steps at the effort rate limit", "effort_rate_limit_hits", "{:d}"),
        ("effort limits kept", "limits_kept", "{}"),
        ("fault that stopped the arm", "fault", "{0[guard]} at {0[time]:g} s"),
        ("joint drift over the last period [rad, m]", "joint_drift", "{:.2g}"),
        ("wall time per simulated second [s]", "wall_per_simulated_second", "{:.3f}"),
    ):
        rows.append([label, *(_formatted(run[key], form) for run in runs.values())])
    for quantile in ("median", "p99", "max"):
        values = (f"{run['control_step_us'][quantile]:.2f}" for run in runs.values())
        rows.append([f"control step, {quantile} [µs]", *values])
    rows += _estimate_rows(runs) + _payload_rows(runs)
    for label, key in (("guards that acted (steps)", "guards"), ("faults in force (steps)", "faults")):
        acted = [", ".join(f"{name} {count}" for name, count in run[key].items() if count) for run in runs.values()]
        rows.append([label, *(text or "none" for text in acted)])
    return rows


def _estimate_rows(runs: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    links = list(next(iter(runs.values()))["estimates"])
    rows = []
    for link in links:
        for label, key in (("mass [kg]", "mass"), ("CoM [m]", "com"), ("inertia about the origin [kg·m²]", "inertia")):
            cells = []
            for run in runs.values():
                errors = run["estimates"].get(link)
                both = (_formatted(errors[when][key], "{:.2g}") for when in ("initial", "final")) if errors else ("–",)
                cells.append(" → ".join(both))
            rows.append([f"{link}: error of {label}", *cells])
    return rows


PAYLOAD = {
    "mass [g]": (("mass",), 1e3),
    "CoM [mm]": (("CoM_x", "CoM_y", "CoM_z"), 1e3),
    "moments of inertia about its CoM [g·m²]": (("Ixx", "Iyy", "Izz"), 1e3),
    "products of inertia about its CoM [g·m²]": (("Ixy", "Ixz", "Iyz"), 1e3),
}
"""What is shown of a payload, and in which unit of the SI one."""


def _payload_rows(runs: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """What the last adapted link carries, by the law's estimate and by the record; nothing if no run has a payload."""
    found = [run.get("payload") for run in runs.values()]
    link = next((one["link"] for one in found if one), None)
    if link is None:
        return []
    return [
        [f"{link}: payload, {label}{by}", *(_payload_cell(one, what, names, unit) for one in found)]
        for label, (names, unit) in PAYLOAD.items()
        for what, by in (("estimate", ""), ("fit", ", by the record"))
    ]


def _payload_cell(payload: Mapping[str, Any] | None, what: str, names: Sequence[str], unit: float) -> str:
    """Numbers of one kind; those of the record with their standard deviations."""
    if payload is None or payload[what][names[0]] is None:
        return "–"
    if not set(names) <= set(payload["trusted"]):
        return "not identifiable here"
    values = ", ".join(f"{unit * payload[what][name]:.4g}" for name in names)
    std = ", ".join(f"{unit * payload['std'][name]:.2g}" for name in names)
    return f"{values} ± {std}" if what == "fit" else values


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """Mark a table up; the first row is its header."""

    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "\n".join(row(cells, "td") for cells in rows[1:])
    return f"<table>\n<thead>{row(rows[0], 'th')}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def html_figure(name: str, image: bytes, caption: str) -> str:
    """Mark a figure up, its PNG embedded."""
    data = base64.b64encode(image).decode()
    source = f'<img alt="{escape(name)}" src="data:image/png;base64,{data}">'
    return f"<figure>{source}<figcaption>{escape(caption)}</figcaption></figure>"


def _formatted(value: Any, form: str) -> str:
    if value is None:
        return "–"
    return ("yes" if value else "no") if isinstance(value, bool) else form.format(value)
