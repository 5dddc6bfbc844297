"""Outcomes to one document: rows, criteria kept or missed, and every case; and that document as text."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from thunder_controllers.experiments.experiment import Criterion, Experiment, Group, Settings
from thunder_controllers.experiments.runner import DIVERGED, DONE, REFUSED, Outcome

Document = dict[str, Any]
"""What `table.json` holds."""

RUNAWAY = "runaway"


def _values(name: str) -> Callable[[Sequence[Outcome]], list[float]]:
    return lambda outcomes: [value for one in outcomes if (value := getattr(one, name)) is not None]


def _summary(name: str, of: Callable[[list[float]], float]) -> Callable[[Sequence[Outcome]], float | None]:
    values = _values(name)
    return lambda outcomes: of(found) if (found := values(outcomes)) else None


def _success(outcomes: Sequence[Outcome]) -> float | None:
    ran = [one.settled for one in outcomes if one.ended != REFUSED]
    return sum(ran) / len(ran) if ran else None


COLUMNS: dict[str, Callable[[Sequence[Outcome]], float | None]] = {
    "cases": len,
    "refused": lambda outcomes: sum(one.ended == REFUSED for one in outcomes),
    "runaways": lambda outcomes: sum(one.ended in (RUNAWAY, DIVERGED) for one in outcomes),
    "other faults": lambda outcomes: sum(one.ended not in (DONE, REFUSED, RUNAWAY, DIVERGED) for one in outcomes),
    "success": _success,
    "error": _summary("error", statistics.median),
    "largest error": _summary("peak_error", max),
    "speed / limit": _summary("peak_speed", max),
    "frozen": _summary("frozen", max),
    "rate-limited": _summary("rate_limited", max),
}
"""Columns of the table by name: what each makes of a row's outcomes; docs/experiments.md says it in words."""


def make_document(
    name: str,
    experiment: Experiment,
    settings: Settings,
    groups: Mapping[str, Group],
    outcomes: Mapping[str, Sequence[Outcome]],
) -> Document:
    """Summarise and judge; numbers have four significant digits, so the same seed gives the same document."""
    return {
        "experiment": name,
        "description": experiment.description,
        "settings": asdict(settings),
        "groups": {key: _group(group, outcomes[key]) for key, group in groups.items()},
    }


def _group(group: Group, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    names = [case.row for case in group.cases]
    members = {
        row: [one for name, one in zip(names, outcomes, strict=True) if name == row] for row in dict.fromkeys(names)
    }
    rows = {row: {name: column(own) for name, column in COLUMNS.items()} for row, own in members.items()}
    return {
        "title": group.title,
        "rows": {row: {name: _rounded(value) for name, value in own.items()} for row, own in rows.items()},
        "criteria": [_judged(criterion, row, rows) for criterion in group.criteria for row in criterion.rows or rows],
        "cases": {
            row: [[one.ended, _rounded(one.error), _rounded(one.peak_speed)] for one in own]
            for row, own in members.items()
        },
    }


def _judged(criterion: Criterion, row: str, rows: Mapping[str, Mapping[str, float | None]]) -> dict[str, Any]:
    """Whether a row keeps a criterion; a row of nothing but refusals has no numbers, and keeps it."""
    value, bound = rows[row][criterion.column], criterion.bound
    if criterion.times is not None:
        bound *= rows[criterion.times][criterion.column] or 0.0
    kept = value is None or (value >= bound if criterion.at_least else value <= bound)
    return {"row": row, "text": str(criterion), "value": _rounded(value), "kept": kept}


def missed(document: Document) -> list[str]:
    """Describe each criterion that is missed."""
    return [
        f"{group['title']}, {one['row']}: {one['text']} (is {one['value']:g})"
        for group in document["groups"].values()
        for one in group["criteria"]
        if not one["kept"]
    ]


def table_rows(document: Document, earlier: Document | None = None) -> list[list[str]]:
    """Lay the table out, its header first; a value that differs from the earlier document's is shown after it."""
    table = [["group", "row", *COLUMNS]]
    for key, group in document["groups"].items():
        before = {} if earlier is None else earlier["groups"].get(key, {"rows": {}})["rows"]
        for row, values in group["rows"].items():
            old = before.get(row, values)
            table.append([group["title"], row, *(_change(old.get(name), values[name]) for name in COLUMNS)])
    return table


def markdown(document: Document, earlier: Document | None = None) -> str:
    """Write the page: the table, and the criteria that are missed."""
    head, *body = table_rows(document, earlier)
    lines = [f"# {document['experiment']}", "", document["description"], ""]
    lines += [_line(head), _line(["---"] * 2 + ["---:"] * len(COLUMNS)), *map(_line, body), ""]
    found = missed(document)
    lines += ["Missed:", "", *(f"- {one}" for one in found)] if found else ["All criteria are kept."]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _change(before: float | None, now: float | None) -> str:
    return _text(now) if before == now else f"{_text(before)} → {_text(now)}"


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
