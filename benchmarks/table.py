"""Statistics of the raw samples, the requirements, and the table on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH = 160
"""Room for the table [characters]."""
PASSES = ("warm1", "warm2")
COLD = "cold"
REGRESSOR = "pinocchio Y: computeJointTorqueRegressor"
REFERENCE = "pinocchio "
PEERS = {
    "J_ee: C core": "pinocchio J_ee: ",
    "J_ee_dot: C core": "pinocchio J_ee_dot: ",
    "M: C core": "pinocchio M: ",
    "C: C core": "pinocchio C: ",
    "G: C core": "pinocchio G: ",
    "inverse_dynamics: C core": "pinocchio rnea",
    "Y: C core": REGRESSOR,
    "Yr: C core": REGRESSOR,
    "Yr: Eigen class, setArguments + get_Yr": REGRESSOR,
}
"""What each row is placed beside: the fastest of Pinocchio's rows that start so; control steps have the regressor."""


@dataclass(frozen=True)
class Requirement:
    """A figure, its bound, and whether it is kept."""

    text: str
    value: float
    bound: float
    at_least: bool = False

    @property
    def kept(self) -> bool:
        """Whether the figure is inside its bound; one that is not finite is not."""
        return bool(self.value >= self.bound if self.at_least else self.value <= self.bound)

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return {"requirement": self.text, "value": self.value, "bound": self.bound, "kept": self.kept}


def checks(lines: Sequence[Sequence[str]]) -> dict[str, dict[str, float]]:
    """Largest relative deviation from Pinocchio, and its limit, by function."""
    rows = [fields for fields in lines if fields[0] == "check"]
    return {name: {"deviation": float(error), "tolerance": float(limit)} for _, name, error, limit in rows}


def timings(lines: Sequence[Sequence[str]]) -> dict[str, dict[str, Any]]:
    """Median, minimum, maximum and samples [ns] by row and pass, and the ratio to the fastest peer."""
    rows: dict[str, dict[str, Any]] = {}
    for kind, name, *values in lines:
        if kind in (*PASSES, COLD):
            rows.setdefault(name, {})[kind] = _statistics([float(v) for v in values])
    for name, row in rows.items():
        peer = peer_of(name, rows)
        row["peer"] = peer
        if peer is not None:
            row["times_faster"] = {k: rows[peer][k]["median"] / row[k]["median"] for k in (*PASSES, COLD)}
    return rows


def peer_of(name: str, rows: Mapping[str, Any]) -> str | None:
    """The row of Pinocchio's that a row is compared with, or None."""
    if name.startswith(REFERENCE):
        return None
    prefix = REGRESSOR if name.startswith("control step") else PEERS.get(name)
    candidates = [other for other in rows if prefix is not None and other.startswith(prefix)]
    return min(candidates, key=lambda other: rows[other][PASSES[0]]["median"], default=None)


def speed_requirements(rows: Mapping[str, Any]) -> list[Requirement]:
    """Y_r four times faster than Pinocchio's regressor, a control step at most as long; the worse pass counts."""
    result = []
    for name, row in rows.items():
        if row["peer"] != REGRESSOR:
            continue
        worst = min(row["times_faster"][p] for p in PASSES)
        if name == "Yr: C core":
            result.append(Requirement("Yr: Pinocchio's classical regressor takes … times as long", worst, 4.0, True))
        elif name.startswith("control step"):
            result.append(Requirement(f"{name}: … of Pinocchio's classical regressor", 1.0 / worst, 1.0))
    return result


def other_requirements(builds: Mapping[str, Any], simulation: Mapping[str, float]) -> list[Requirement]:
    """Time to build and to simulate."""
    bounds = {"panda": 15.0, "chain30": 45.0, "chain60": 180.0}
    result = [
        Requirement(f"generate and compile {name}, {how} [s]", figures["total"], bounds[name])
        for name, ways in builds.items()
        for how, figures in ways.items()
    ]
    if simulation:
        result.append(Requirement("wall time of a simulated second [s]", max(simulation.values()), 0.1))
    return result


def text(document: Mapping[str, Any]) -> str:
    """The readable form of bench.json."""
    machine = document["machine"]
    lines = [
        f"processor   {machine['processor']}, {machine['cores']} cores, pinned to core {machine['pinned_to_core']}",
        f"compiler    {machine['compiler']['c++']}, {' '.join(machine['flags'])}",
        "versions    " + ", ".join(f"{k} {v}" for k, v in machine["versions"].items()),
        "agreement   " + ", ".join(f"{k} {v['deviation']:.0e}" for k, v in document["agreement"].items()),
        "",
        _timing_table(document["timings"], document["instructions"]),
    ]
    for name, ways in document["builds"].items():
        for how, f in ways.items():
            split = (
                f"generate {f['generate']:.1f} s, compile {f['compile']:.1f} s; processor time {f['processor']:.1f} s"
            )
            lines.append(f"build {name}, {how}: {f['total']:.1f} s ({split})")
    for name, figures in document["batch"].get("rows", {}).items():
        told = zip(document["batch"]["columns"], figures, strict=True)
        lines.append(f"many states, {name} [ns]: {', '.join(f'{k} {v:.0f}' for k, v in told if v is not None)}")
    for name, took in document["waiting"].items():
        lines.append(f"thunder {name}: {took['wall']:.2f} s, processor time {took['processor']:.2f} s")
    if took := document["installation"]:
        lines.append(f"compiling the host: {took['wall']:.0f} s, processor time {took['processor']:.0f} s")
    lines += [f"skipped: {what} ({why})" for what, why in document["skipped"].items()]
    lines += [""] + [
        f"{'yes' if r['kept'] else 'NO ':3}  {r['requirement']}: {r['value']:.3g} (bound {r['bound']:g})"
        for r in document["requirements"]
    ]
    return "\n".join(lines) + "\n"


def _timing_table(rows: Mapping[str, Any], instructions: Mapping[str, float]) -> str:
    titles = ["warm", "min", "max", "pass 2", "faster", "cold", "faster", *(["instr."] if instructions else [])]
    table = Table("[ns per call]", box=None, pad_edge=False)
    for title in titles:
        table.add_column(title, justify="right")
    for name, row in rows.items():
        first, again, cold, faster = (row.get(k) for k in (*PASSES, COLD, "times_faster"))
        warm_ratio, cold_ratio = (f"{faster[k]:.1f}x" if faster else "" for k in (PASSES[0], COLD))
        cells = [f"{first[k]:.0f}" for k in ("median", "min", "max")] + [f"{again['median']:.0f}", warm_ratio]
        cells += [f"{cold['median']:.0f}", cold_ratio, *([f"{instructions[name]:.0f}"] if name in instructions else [])]
        table.add_row(Text(name), *cells)
    console = Console(width=WIDTH, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def _statistics(samples: Sequence[float]) -> dict[str, Any]:
    values = np.array(samples)
    quartiles = np.quantile(values, [0.25, 0.75])
    return {
        "median": float(np.median(values)),
        "min": float(values.min()),
        "max": float(values.max()),
        "quartiles": quartiles.tolist(),
        "samples": values.tolist(),
    }
