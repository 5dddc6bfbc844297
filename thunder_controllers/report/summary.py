"""A scenario in words and numbers: the verdict, and the tables of a scenario's runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thunder_controllers.report.figures import with_centre
from thunder_controllers.simulation.metrics import FINAL_SECONDS
from thunder_controllers.simulation.stop import stop_text
from thunder_controllers.simulation.trace import Trace
from thunder_dynamics.inertia import DYN_NAMES

NOTHING = "–"
"""Text of a cell whose run has no such number."""

HIDDEN = "not identifiable here"
"""Said of what a motion does not excite: the record leaves more than `payload.TRUSTED` open."""

OPEN = "not settled"
"""Said of what the record knows, where the last estimate is farther from that than `payload.TRUSTED`."""

OTHER = "off the fit"
"""Said of the last estimate of what the record knows, where the fit to it is further off than DEVIATIONS and SHARE."""

DEVIATIONS, SHARE = 3.0, 0.01
"""Standard deviations of the record's fit, and share of its value [1]."""

Runs = Mapping[str, Mapping[str, Any]]


def verdict(runs: Runs) -> tuple[str, list[str]]:
    """Say in a sentence how well the arm follows, the last run against the first, and in one each which runs failed.

    Runs that failed are not in the first sentence; it is empty if all did.
    """
    failures = [f"run {name} failed at {stop_text(run['fault'])}" for name, run in runs.items() if run["fault"]]
    good = {name: run for name, run in runs.items() if not run["fault"]}
    if not good:
        return "", failures
    first, last = list(good)[0], list(good)[-1]
    sentence = f"the arm follows to {short_errors(good[last])}"
    if len(runs) > 1:
        sentence = f"{_when(last, good)} {sentence}"
    if first != last:
        sentence += f"; {_when(first, good)}, to {short_errors(good[first])}"
    seconds = min(FINAL_SECONDS, good[last]["duration"])
    return f"{sentence[0].upper()}{sentence[1:]} (mean of the last {seconds:g} s).", failures


def labels(runs: Runs) -> dict[str, str]:
    """The name of each run for people: by its adaptation, where that tells the only two apart, else by its name."""
    if [run.get("adaptation", True) for run in runs.values()] == [False, True]:
        return dict(zip(runs, ("without adaptation", "with adaptation"), strict=True))
    return {name: name.replace("_", " ") for name in runs}


def gain_rows(runs: Runs) -> list[list[str]]:
    """The table of the gains in force: one column per run, of which one whose law lacks a gain has none."""
    names = dict.fromkeys(name for run in runs.values() for name in run.get("gains", {}))
    rows = [["law", *(str(run.get("law", NOTHING)) for run in runs.values())]]
    for name in names:
        rows.append([name, *(_gain(run.get("gains", {}).get(name)) for run in runs.values())])
    rows.append(["total delay that the host counts on [s]", *(_gain(run.get("total_delay")) for run in runs.values())])
    return [["", *runs], *rows]


def _gain(value: Any) -> str:
    if value is None:
        return NOTHING
    return ", ".join(f"{one:.4g}" for one in np.atleast_1d(value))


def _when(name: str, runs: Runs) -> str:
    """Say with or without adaptation, where that tells the first and the last run apart; else the name of the run."""
    choices = [runs[key].get("adaptation", True) for key in (list(runs)[0], list(runs)[-1])]
    if choices == [False, True]:
        return "with adaptation" if runs[name]["adaptation"] else "without"
    return f"in run {name}"


def short_errors(run: Mapping[str, Any]) -> str:
    """Say the error at the end of a run, of each kind."""
    return ", ".join(_milli(error["final"], error["unit"]) for error in run["errors"].values())


def _milli(value: float, unit: str) -> str:
    return f"{1e3 * value:.2g} m{unit}" if value < 0.1 else f"{1e3 * value:.0f} m{unit}"


def error_rows(runs: Runs) -> list[list[str]]:
    """The table of errors in mm and mrad: one column per run, the first row the header."""
    rows = [["", *runs]]
    for name, first in next(iter(runs.values()))["errors"].items():
        seconds = min(FINAL_SECONDS, *(run["duration"] for run in runs.values()))
        for label, key in ((f"last {seconds:g} s", "final"), ("largest", "max")):
            cells = (_error_cell(run, name, key) for run in runs.values())
            rows.append([f"{name} error, {label} [m{first['unit']}]", *cells])
    return rows


def _error_cell(run: Mapping[str, Any], name: str, key: str) -> str:
    error = run["errors"].get(name, {}).get(key)
    if error is None and run["fault"]:
        return f"stopped at {run['fault']['time']:g} s"
    return NOTHING if error is None else f"{1e3 * error:.4g}"


def adapting(link: str, traces: Mapping[str, Trace]) -> dict[str, Trace]:
    """Traces of the runs in which a link is adapted."""
    return {name: trace for name, trace in traces.items() if link in trace.adapted_links}


def estimate_table(link: str, traces: Mapping[str, Trace], runs: Runs) -> list[list[str]]:
    """The ten parameters of an adapted link: the truth, what the last run's record says, and every run's estimate."""
    traces = adapting(link, traces)
    last = list(traces)[-1]
    record = runs[last].get("record", {}).get(link)
    rows = [["", "simulated robot", f"least-squares fit of {last}", *(f"{name}, first → last" for name in traces)]]
    columns = []
    for name, trace in traces.items():
        index = trace.adapted_links.tolist().index(link)
        shown = with_centre(np.vstack([trace.estimates[[0, -1], index], trace.truth[-1:, index]]))
        columns.append((name, shown))
    for k, parameter in enumerate(DYN_NAMES):
        truth = columns[-1][1][2, k]
        known = record is None or parameter in record["known"]
        by_record = with_deviation(record["fit"][parameter], record["std"][parameter]) if record and known else NOTHING
        cells = [_estimate(runs[name], shown[:, k], record, parameter) for name, shown in columns]
        rows.append([f"{parameter} [{UNITS[parameter]}]", f"{truth:.4g}", by_record, *cells])
    return rows


UNITS = dict(zip(DYN_NAMES, ("kg", "m", "m", "m", *["kg·m²"] * 6), strict=True))
"""The unit of each parameter of a body."""


def _estimate(run: Mapping[str, Any], shown: Any, record: Mapping[str, Any] | None, name: str) -> str:
    if not run.get("adaptation", True):
        return f"{shown[1]:.4g}, not adapted"
    if record is not None and name not in record["known"]:
        return HIDDEN
    text = f"{shown[0]:.4g} → {shown[1]:.4g}"
    if record is None:
        return text
    if name not in record["settled"]:
        return f"{text}, {OPEN}"
    off, fit = abs(shown[1] - record["fit"][name]), abs(record["fit"][name])
    return f"{text}, {OTHER}" if off > max(DEVIATIONS * record["std"][name], SHARE * fit) else text


def short_rows(runs: Runs, traces: Mapping[str, Trace]) -> list[list[str]]:
    """The first things to know: errors, faults, masses beside the truth, guards; one column per run."""
    rows = error_rows(runs)
    rows.append(_fault_row(runs))
    for link in dict.fromkeys(str(name) for trace in traces.values() for name in trace.adapted_links):
        cells = [_mass_cells(runs[name], trace, link) for name, trace in traces.items()]
        labels = (f"mass of {link} [kg]", "by a fit to the record [kg]", "true mass [kg]")
        rows += [[label, *column] for label, column in zip(labels, zip(*cells, strict=True), strict=True)]
    rows.append(["guards that acted", *("\n".join(_guards(run)) or "none" for run in runs.values())])
    return rows


def _mass_cells(run: Mapping[str, Any], trace: Trace, link: str) -> tuple[str, str, str]:
    """The link's mass, first estimate → last, by the record, and the true one at the end."""
    links = trace.adapted_links.tolist()
    if link not in links:
        return NOTHING, NOTHING, NOTHING
    estimates, truth = trace.estimates[[0, -1], links.index(link), 0], trace.truth[-1, links.index(link), 0]
    record = run.get("record", {}).get(link)
    is_known = record is not None and "mass" in record["known"]
    fit = with_deviation(record["fit"]["mass"], record["std"]["mass"]) if is_known else NOTHING
    return _estimate(run, estimates, record, "mass"), fit, f"{truth:.4g}"


def _guards(run: Mapping[str, Any]) -> list[str]:
    """Return the guards that acted in words, but for that which holds the estimates where somebody chose so."""
    chosen = () if run.get("adaptation", True) else ("adaptation_frozen",)
    return [name.replace("_", " ") for name, steps in run["guards"].items() if steps and name not in chosen]


def _fault_row(runs: Runs) -> list[str]:
    faults = (run["fault"] for run in runs.values())
    cells = (f"{fault['guard']} at {fault['time']:g} s" if fault else "none" for fault in faults)
    return ["fault that stopped the arm", *cells]


def result_rows(runs: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """The table of all results but the estimates: one column per run, the first row the header."""
    rows = [*error_rows(runs), _fault_row(runs)]
    for label, key, form in (
        ("effort limits kept", "limits_kept", "{}"),
        ("joint drift over the last period of the reference [rad, m]", "joint_drift", "{:.2g}"),
        ("wall time per simulated second [s]", "wall_per_simulated_second", "{:.3f}"),
    ):
        rows.append([label, *(_formatted(run[key], form) for run in runs.values())])
    for quantile in ("median", "p99", "max"):
        values = (f"{run['control_step_us'][quantile]:.2f}" for run in runs.values())
        rows.append([f"control step, {quantile} [µs]", *values])
    rows += _payload_rows(runs)
    for label, key in (("guards that acted (steps)", "guards"), ("faults in force (steps)", "faults")):
        acted = [", ".join(f"{name} {count}" for name, count in run[key].items() if count) for run in runs.values()]
        rows.append([label, *(text or "none" for text in acted)])
    return [row for row in rows if row is rows[0] or set(row[1:]) != {NOTHING}]


PAYLOAD = {
    "mass [g]": (("mass",), 1e3),
    "CoM [mm]": (("CoM_x", "CoM_y", "CoM_z"), 1e3),
    "moments of inertia about its CoM [g·m²]": (("Ixx", "Iyy", "Izz"), 1e3),
    "products of inertia about its CoM [g·m²]": (("Ixy", "Ixz", "Iyz"), 1e3),
}
"""The quantities that are shown of a payload, and in which unit of the SI one."""


def _payload_rows(runs: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """The load of the last adapted link, by the law and by least squares; nothing if no run has a payload."""
    link = next((run["payload"]["link"] for run in runs.values() if run.get("payload")), None)
    if link is None:
        return []
    return [
        [f"{link}: payload, {label}{by}", *(_payload_cell(run, what, names, unit) for run in runs.values())]
        for label, (names, unit) in PAYLOAD.items()
        for what, by in (("estimate", ""), ("fit", ", least-squares fit"))
    ]


def _payload_cell(run: Mapping[str, Any], what: str, names: Sequence[str], unit: float) -> str:
    """Numbers of one kind; those of the record with their standard deviations."""
    payload = run.get("payload")
    if payload is None or payload[what][names[0]] is None:
        return NOTHING
    if not set(names) <= set(payload["trusted"]):
        return HIDDEN
    values = [unit * payload[what][name] for name in names]
    if what == "fit":
        return ", ".join(with_deviation(x, unit * payload["std"][n]) for x, n in zip(values, names, strict=True))
    return ", ".join(f"{value:.4g}" for value in values) + ("" if run.get("adaptation", True) else ", not adapted")


def with_deviation(value: float, std: float) -> str:
    """`value ± std`, both to the first digit of the deviation, and to six digits of the value at most."""
    largest = max(abs(value), std)
    if largest < 1e-6:
        return "0"
    places = max(0, min(-_exponent(std) if std > 0.0 else 15, 5 - _exponent(largest)))
    return f"{round(value, places) + 0.0:.{places}f} ± {std:.{places}f}"  # + 0: no −0


def _exponent(value: float) -> int:
    return math.floor(math.log10(value))


def _formatted(value: Any, form: str) -> str:
    if value is None:
        return NOTHING
    return ("yes" if value else "no") if isinstance(value, bool) else form.format(value)
