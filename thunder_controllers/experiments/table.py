"""Outcomes to one document: rows, criteria kept or missed, and every case; and that document as text."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from math import isfinite
from typing import Any

from thunder_controllers.experiments.experiment import (
    DIVERGED,
    DONE,
    REFUSED,
    Column,
    Criterion,
    Experiment,
    Findings,
    Outcome,
    Published,
    Settings,
    Spread,
    Value,
    by_row,
)

Document = dict[str, Any]
"""What `table.json` holds."""

RUNAWAY = "runaway"

FAILS = "fails"
"""Of a number that is published, and neither reproduced nor explained."""

BESIDE = ["group", "row", "source", "number", "published", "ours", "difference", "independent", "verdict"]
"""Header of the table of what is published."""

SETTLED = 1e-3
"""A case succeeds with a mean error of at most this in its window [m, rad]."""


def summary(name: str, of: Callable[[list[float]], Value]) -> Column:
    """Make a column of what is measured as `name`; None for a row in which no case has it."""

    def column(outcomes: Sequence[Outcome]) -> Value:
        found = [value for one in outcomes if (value := one.values.get(name)) is not None]
        return of(found) if found else None

    return column


def spread(values: list[float]) -> Spread:
    """Mean and standard deviation; of a single value, none."""
    return Spread(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0)


def faults(outcomes: Sequence[Outcome]) -> int:
    """How many cases did not end as they should."""
    return sum(one.ended != DONE for one in outcomes)


def _success(outcomes: Sequence[Outcome]) -> float | None:
    errors = [one.values.get("error") for one in outcomes if one.ended != REFUSED]
    return sum(error is not None and error <= SETTLED for error in errors) / len(errors) if errors else None


COLUMNS: dict[str, Column] = {
    "cases": len,
    "refused": lambda outcomes: sum(one.ended == REFUSED for one in outcomes),
    "runaways": lambda outcomes: sum(one.ended in (RUNAWAY, DIVERGED) for one in outcomes),
    "other faults": lambda outcomes: sum(one.ended not in (DONE, REFUSED, RUNAWAY, DIVERGED) for one in outcomes),
    "success": _success,
    "error": summary("error", statistics.median),
    "largest error": summary("peak_error", max),
    "speed / limit": summary("peak_speed", max),
    "frozen": summary("frozen", max),
    "rate-limited": summary("rate_limited", max),
}
"""Columns of the table by name, where a group names no others; docs/compare.md says them in words."""


def make_document(name: str, experiment: Experiment, settings: Settings, findings: Mapping[str, Findings]) -> Document:
    """Judge what the groups found; numbers have four significant digits, so the same seed gives the same document."""
    setup = {"setup": experiment.setup} if experiment.setup else {}
    return {
        "experiment": name,
        "description": experiment.description,
        **setup,
        "settings": asdict(settings),
        "groups": {key: _group(group) for key, group in findings.items()},
    }


def _group(group: Findings) -> dict[str, Any]:
    cases = by_row(group.results)
    return {
        "title": group.title,
        "rows": {row: {name: _rounded(value) for name, value in own.items()} for row, own in group.rows.items()},
        "criteria": [
            _judged(criterion, row, group, cases.get(row, []))
            for criterion in group.criteria
            for row in criterion.rows or group.rows
        ],
        "cases": {
            row: [[one.ended, *(_rounded(one.values.get(name)) for name in ("error", "peak_speed"))] for one in own]
            for row, own in cases.items()
        },
        "published": [_compared(one, group) for one in group.published],
    }


def _compared(published: Published, group: Findings) -> dict[str, Any]:
    """A cell beside what is published, and what may be said of it."""
    ours = _mean(group.rows[published.row][published.column])
    verdict = FAILS if ours is None else _said(ours, published)
    return {
        "row": published.row,
        "column": published.column,
        "source": published.source,
        "published": published.value,
        "ours": _rounded(ours),
        "independent": list(published.independent),
        "verdict": verdict,
        "kept": verdict != FAILS,
    }


def _said(ours: float, published: Published) -> str:
    if _is_near(ours, (published.value,), published.within):
        return "passes"
    is_beside = bool(published.independent) and _is_near(ours, published.independent, published.within)
    return "; ".join(filter(None, ("passes by the independent ones" * is_beside, published.why))) or FAILS


def _is_near(value: float, known: Sequence[float], within: float) -> bool:
    return min(one - within * abs(one) for one in known) <= value <= max(one + within * abs(one) for one in known)


def _judged(criterion: Criterion, row: str, group: Findings, cases: Sequence[Outcome]) -> dict[str, Any]:
    """Whether a row keeps a criterion; a row of nothing but refusals has no numbers, and keeps it."""
    value, bound = _mean(group.rows[row][criterion.column]), criterion.bound
    if criterion.times is not None:
        bound *= _mean(group.rows[criterion.times][criterion.column]) or 0.0
    if value is None:
        kept = bool(cases) and all(one.ended == REFUSED for one in cases)
    else:
        kept = bool(value >= bound if criterion.at_least else value <= bound)
    return {"row": row, "text": str(criterion), "value": _rounded(value), "kept": kept}


def _mean(value: Value) -> float | None:
    return value.mean if isinstance(value, Spread) else value


def missed(document: Document) -> list[str]:
    """Describe each criterion that is missed, and each published number that is, for no reason that is stated."""
    lines = []
    for group in document["groups"].values():
        for one in group["criteria"]:
            if not one["kept"]:
                lines.append(f"{group['title']}, {one['row']}: {one['text']} (is {cell(one['value'])})")
        for one in group.get("published", ()):
            if not one["kept"]:
                what = f"{one['column']} is published as {cell(one['published'])} (is {cell(one['ours'])})"
                lines.append(f"{group['title']}, {one['row']}: {what}")
    return lines


def verdict(document: Document) -> list[str]:
    """Say which criteria are missed, or that all are kept; nothing where there are none."""
    is_judged = any(group["criteria"] or group.get("published") for group in document["groups"].values())
    return [f"Missed: {line}" for line in missed(document)] or ["All criteria are kept."] * is_judged


def tables(document: Document, earlier: Document | None = None) -> list[list[list[str]]]:
    """Lay the tables out, one for groups in a row that have the same columns, each with its header first.

    A value that differs from the earlier document's is shown after it. The last table is what is published beside ours.
    """
    with_columns = [(_columns(group), key) for key, group in document["groups"].items()]
    result = []
    for columns, members in groupby(with_columns, key=lambda one: one[0]):
        table = [["group", "row", *columns]]
        for _, key in members:
            group = document["groups"][key]
            before = {} if earlier is None else earlier["groups"].get(key, {"rows": {}})["rows"]
            for row, values in group["rows"].items():
                old = before.get(row, values)
                cells = (_change(old.get(name), values[name]) for name in columns)
                table.append([group["title"], row, *cells])
        result.append(table)
    beside = [
        [group["title"], one["row"], one["source"], one["column"], *_side_by_side(one)]
        for group in document["groups"].values()
        for one in group.get("published", ())
    ]
    return result + [[BESIDE, *beside]] * bool(beside)


def _side_by_side(one: Mapping[str, Any]) -> list[str]:
    published, ours = one["published"], one["ours"]
    difference = "–" if ours is None or not published else f"{round(100.0 * (ours / published - 1.0), 1) + 0.0:+.1f} %"
    ends = {min(one["independent"]), max(one["independent"])} if one["independent"] else ()
    independent = " to ".join(f"{end:.4g}" for end in sorted(ends)) or "–"
    return [f"{published:.4g}", "–" if ours is None else f"{ours:.4g}", difference, independent, one["verdict"]]


def _columns(group: Mapping[str, Any]) -> list[str]:
    return list(next(iter(group["rows"].values()), {}))


def markdown(document: Document, earlier: Document | None = None) -> str:
    """Write the page: set-up, tables, and the criteria that are missed."""
    lines = [f"# {document['experiment']}", "", document["description"], ""]
    lines += [document["setup"], ""] if "setup" in document else []
    for head, *body in tables(document, earlier):
        marks = ["---"] * 2 + ["---:"] * (len(head) - 2)
        lines += [*(f"| {' | '.join(cells)} |" for cells in (head, marks, *body)), ""]
    lines += [one for line in verdict(document) for one in (line, "")]
    return "\n".join(lines).rstrip() + "\n"


def _change(before: Any, now: Any) -> str:
    return cell(now) if before == now else f"{cell(before)} → {cell(now)}"


def cell(value: float | Sequence[float] | None) -> str:
    """Write a number, a mean with its deviation if there is one, or nothing found."""
    if value is None:
        return "–"
    mean, deviation = (value, 0.0) if isinstance(value, (int, float)) else value
    return f"{mean:.3g}" + (f" ± {deviation:.2g}" if deviation else "")


def _rounded(value: Value) -> float | list[float | None] | None:
    if value is None:
        return None
    return list(map(_significant, value)) if isinstance(value, Spread) else _significant(value)


def _significant(value: float) -> float | None:
    return float(f"{value:.4g}") if isfinite(value) else None
