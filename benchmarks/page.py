"""The figures of docs/results/benchmarks.md: tables and plots of what `run.py` measured.

`python benchmarks/page.py [BENCH.JSON]` keeps the medians of a run in docs/data/benchmarks.json, draws the plots, and
writes the tables between the page's marks; without a file it writes them anew from what is kept.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from program import LAST, LAW

DOCS = Path(__file__).resolve().parent.parent / "docs"
KEPT, PEERS = (DOCS / "data" / f"{name}.json" for name in ("benchmarks", "array_peers"))
PAGE = DOCS / "results" / "benchmarks.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
KINDS = ("warm1", "warm2", "cold")
PRECISIONS = ("double", "single")
STYLE = {"svg.hashsalt": "thunder", "svg.fonttype": "none", "font.size": 9}

TARGETS = {
    "J_ee: C core": (4.3, 6.5),
    "J_ee_dot: C core": (6.0, 7.5),
    "M: C core": (3.1, 5.0),
    "C: C core": (7.3, 9.0),
    "G: C core": (7.1, None),
    "inverse_dynamics: C core": (None, 5.0),
    "Y: C core": (6.9, None),
    "Yr: C core": (6.5, 9.0),
    "control step, last link adapted: C ABI": (2.3, 1 / 0.6),
    "control step, last link adapted: host update": (2.0, None),
    "control step, all links adapted: C ABI": (1.5, 1 / 0.8),
    "control step, all links adapted: host update": (1.4, None),
}
"""Times faster than Pinocchio's function: before the generator wrote its own C, and what is aimed at."""

PUBLISHED = {
    "J_ee: C core": (101, 402),
    "J_ee_dot: C core": (149, 908),
    "M: C core": (534, 969),
    "C: C core": (6003, 3444),
    "M_dot: C core": (1607, 5774),
    "Yr: C core": (32279, 5197),
}
"""Times of a Panda [ns] of another generator and of Pinocchio's beside it: Baracca et al. 2025, of their machine."""


BUILDS = {"panda, all cores": (15.0, 6.0), "chain30, all cores": (45.3, 10.0), "chain60, all cores": (94.3, 20.0)}
"""Seconds of wall time of builds: when CasADi wrote the C, of 60 joints when first measured, and what is aimed at."""

WAITING = {
    "`thunder --help`": (1.8, 0.3),
    "`thunder list robots`": (0.51, 0.3),
    "`thunder info panda`": (1.06, 0.3),
    "`thunder demo`": (6.9, 4.0),
    "an installation compiles the host": (77.7, 60.0),
}
"""Seconds of wall time of what a person waits for: when first measured, and what is aimed at."""


def main(arguments: Sequence[str]) -> int:
    """Write data, plots and page."""
    if arguments:
        kept = trimmed(json.loads(Path(arguments[0]).read_text(encoding="utf-8")))
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    document = json.loads(KEPT.read_text(encoding="utf-8"))
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), document), encoding="utf-8")
    with rc_context(STYLE):
        for name, figure in plots(document).items():
            figure.savefig(DOCS / "images" / f"benchmarks-{name}.svg", metadata={"Date": None})
    return 0


def trimmed(document: dict[str, Any]) -> dict[str, Any]:
    """The same with medians and standard deviations instead of samples."""
    for row in document["timings"].values():
        row["deviation"] = {kind: statistics.stdev(row[kind]["samples"]) for kind in KINDS}
        row |= {kind: row[kind]["median"] for kind in KINDS}
    return document


def with_figures(page: str, document: Mapping[str, Any]) -> str:
    """The page with the figures of a run between its marks."""
    head, rest = page.split(BEGIN)
    return head + BEGIN + "\n\n" + figures(document) + "\n" + END + rest.split(END)[1]


def figures(document: Mapping[str, Any]) -> str:
    """Tables and plots as Markdown, one for each question."""
    machine, versions = document["machine"], document["machine"]["versions"]
    about = (
        f"{machine['processor']}, {machine['cores']} cores, load {machine['load_average'][0]:.1f} at the start; "
        + (
            f"{machine['compiler']['c']}, `{' '.join(machine['flags'])}`; "
            + ", ".join(f"{name} {version}" for name, version in versions.items())
        )
    )
    worst = max(one["deviation"] for one in document["agreement"].values())
    parts = [
        f"{about}. Agreement with Pinocchio: at worst {worst:.0e}, relative.{_peak(document.get('limits'))}",
        "### One state\n\n![Times of one state](../images/benchmarks-one-state.svg)",
        _table(
            "ns|warm|Pinocchio|faster|before|aimed at|limit|cold|faster|σ|CV|pass 2|CV, cold".split("|"),
            _states(document),
        ),
    ]
    titles = ["ns", "published", "Pinocchio there", "faster", "ours", "Pinocchio here", "faster"]
    parts += ["### Beside what is published", _table(titles, _published(document["timings"]))]
    if document["batch"]:
        parts += [
            "### Many states\n\n![Times of many states](../images/benchmarks-many-states.svg)",
            _table(["ns a state", *_batch_titles(document["batch"]), "operations alone"], _batches(document)),
        ]
    if PEERS.is_file():
        parts += ["### Many states, by other libraries", _peers(json.loads(PEERS.read_text(encoding="utf-8")))]
    if many := document.get("regressors"):
        rows = [[name, *("" if one is None else f"{one:.0f}" for one in row)] for name, row in many["rows"].items()]
        parts += ["### Regressors of many states", _table(["ns a state", *many["columns"]], rows)]
    if loops := document.get("loops"):
        rows = [[name, f"{row[0]:.1f}", f"{row[1]:.1f}", f"{row[2]:.0f}"] for name, row in loops["rows"].items()]
        parts += ["### Closed loops", _table(["a Panda", *loops["columns"]], rows)]
    if document["builds"]:
        titles = ["robot", "wall [s]", "before", "aimed at", "generate", "compile", "processor"]
        parts.append("### Building\n\n" + _table(titles, _builds(document)))
    if document["waiting"]:
        took = {f"`thunder {k}`": v for k, v in document["waiting"].items()}
        if document.get("installation"):  # which what is kept of older runs has not
            took["an installation compiles the host"] = document["installation"]
        took |= {f"limit: {names}": v for names, v in document.get("imports", {}).items()}
        rows = [
            [name, f"{v['wall']:.2f}", *_aims(WAITING.get(name), ".2g"), f"{v['processor']:.2f}"]
            for name, v in took.items()
        ]
        titles = ["command, all compiled before", "wall [s]", "before", "aimed at", "processor [s]"]
        parts.append("### Waiting\n\n" + _table(titles, rows))
    return "\n\n".join(parts) + "\n"


def _states(document: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for name, row in document["timings"].items():
        before, target = TARGETS.get(name, (None, None))
        ratios, peer = row.get("times_faster"), row["peer"] and document["timings"][row["peer"]]
        deviation = row["deviation"]
        worst = min(ratios["warm1"], ratios["warm2"]) if ratios else None
        cells = [name, f"{row['warm1']:.0f}", f"{peer['warm1']:.0f}" if peer else ""]
        cells += [_times(worst), _times(before), _times(target), _limit(document, name, "scalar")]
        cells += [f"{row['cold']:.0f}", _times(ratios and ratios["cold"])]
        cells += [f"{deviation['warm1']:.1f}", f"{deviation['warm1'] / row['warm1']:.1%}"]
        cells += [f"{row['warm2']:.0f}", f"{deviation['cold'] / row['cold']:.0%}"]
        rows.append(cells)
    return rows


def _published(timings: Mapping[str, Any]) -> list[list[str]]:
    rows = []
    for name, (generated, pinocchio) in PUBLISHED.items():
        ours, peer = timings[name]["warm1"], timings[name]["peer"]
        here = [f"{timings[peer]['warm1']:.0f}", _times(timings[peer]["warm1"] / ours)] if peer else ["", ""]
        cells = [name.removesuffix(": C core"), f"{generated:,}", f"{pinocchio:,}", _times(pinocchio / generated)]
        rows.append([*cells, f"{ours:.0f}", *here])
    return rows


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.1f}×"


def _batch_titles(batch: Mapping[str, Any]) -> list[str]:
    lanes = f"{batch['lanes']} lanes"
    return [
        "`evaluate`",
        "`batch`",
        f"{lanes}, {batch['few']:,} states",
        f"{lanes}, {batch['many']:,}",
        "writing alone",
    ]


def _batches(document: Mapping[str, Any]) -> list[list[str]]:
    return [
        [name, *("" if one is None else f"{one:.0f}" for one in row), _limit(document, name, "lanes")]
        for name, row in document["batch"]["rows"].items()
    ]


def _limit(document: Mapping[str, Any], name: str, rate: str) -> str:
    """Time of the operations of a row alone [ns], as fast as a core does any."""
    limits = document.get("limits", {"operations": {}})
    key = f"control step, {LAST}" if name == LAW else name.partition(":")[0]
    return f"{limits['operations'][key] / limits[rate]:.0f}" if key in limits["operations"] else ""


def _peak(limits: Mapping[str, Any] | None) -> str:
    if limits is None:
        return ""
    return f" Operations in a nanosecond at most: {limits['scalar']:.3g}, in lanes {limits['lanes']:.3g}."


def _peers(found: Mapping[str, Any]) -> str:
    """Times of other libraries, of their own run, beside ours there."""
    about = f"{found['processor']}; " + ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    rows = [
        [name, *(f"{row[kind]:.0f}" if kind in row else "" for kind in PRECISIONS)]
        for name, row in found["rows"].items()
    ]
    return f"{about}.\n\n" + _table(["ns of processor time a state", *PRECISIONS], rows)


def _builds(document: Mapping[str, Any]) -> list[list[str]]:
    return [
        [
            f"{name}, {how}",
            f"{took['total']:.1f}",
            *_aims(BUILDS.get(f"{name}, {how}"), ".3g"),
            *(f"{took[key]:.1f}" for key in ("generate", "compile", "processor")),
        ]
        for name, ways in document["builds"].items()
        for how, took in ways.items()
    ]


def _aims(both: tuple[float, float] | None, form: str) -> list[str]:
    return ["", ""] if both is None else [format(one, form) for one in both]


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def plots(document: Mapping[str, Any]) -> dict[str, Figure]:
    """One state, ours beside Pinocchio; many states, by each way."""
    timings = document["timings"]
    compared = [name for name in TARGETS if name in timings and timings[name]["peer"]]
    sides = {
        "Pinocchio": [timings[timings[name]["peer"]]["warm1"] for name in compared],
        "generated": [timings[name]["warm1"] for name in compared],
    }
    drawn = {"one-state": _bars([name.removesuffix(": C core") for name in compared], sides, "ns, warm, one core")}
    if batch := document["batch"]:
        columns = zip(*batch["rows"].values(), strict=True)
        ways = {way.replace("`", ""): values for way, values in zip(_batch_titles(batch), columns, strict=True)}
        drawn["many-states"] = _bars(list(batch["rows"]), ways, "ns a state, one core")
    return drawn


def _bars(names: Sequence[str], sides: Mapping[str, Sequence[float | None]], unit: str) -> Figure:
    figure = Figure(figsize=(8.0, 1.0 + 0.09 * len(names) * (1 + len(sides))), layout="constrained")
    axes = figure.subplots()
    height = 0.8 / len(sides)
    for k, (label, values) in enumerate(sides.items()):
        places = [i + height * k for i in range(len(names))]
        axes.barh(places, [value or 0.0 for value in values], height, label=label)
    axes.set_yticks([i + 0.4 - height / 2 for i in range(len(names))], names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(unit)
    figure.legend(loc="outside upper center", ncols=len(sides), fontsize=8)
    axes.grid(axis="x", which="major", alpha=0.4)
    return figure


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
