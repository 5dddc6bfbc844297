"""Run a scenario: the host against the plant, step by step, into traces and metrics."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thunder_controllers.fields import FloatArray
from thunder_controllers.host import (
    Configuration,
    ControlSession,
    Guard,
    Library,
    Limits,
    Note,
    Options,
    save_estimates,
    total_delay,
)
from thunder_controllers.host.inertia_estimate import ESTIMATE
from thunder_controllers.references.circles import nearest
from thunder_controllers.simulation.metrics import compute_metrics, pose_error, record_metrics, summarise
from thunder_controllers.simulation.preparation import Setup, prepare
from thunder_controllers.simulation.scenario import Run, RunConfig, Scenario, law_text
from thunder_controllers.simulation.stop import explain, likely_cause
from thunder_controllers.simulation.trace import Frames, Timing, Trace
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.joints import JointKind
from thunder_dynamics.model import RobotModel
from thunder_dynamics.spatial import homogeneous, rotation_from_ypr
from thunder_dynamics.storage.door import read_json, read_text
from thunder_dynamics.storage.whole import write_text

Progress = Callable[[str, float], None]
"""Called with a run's name and the fraction of it that is done."""

Watch = Callable[[Setup, Run, Trace], object]
"""Called with what runs and the latest row of its trace, `FRAME_RATE` times in a simulated second."""

PROGRESS_STEPS = 50
"""Progress reports, and checks that the plant has not diverged, per run that nobody watches."""

RECORDED = ("t", "q", "qd", "q_measured", "qd_measured", "effort", "state", "telemetry", "guards")
"""Rows of a trace that the loop writes; the others follow from them."""


def row_sizes(setup: Setup) -> dict[str, int]:
    """The count of numbers in a row that the loop writes, by the names of the arrays."""
    joints = dict.fromkeys(("q", "qd", "q_measured", "qd_measured", "effort"), setup.library.n_joints)
    return joints | {"state": len(setup.host.state_vector), "telemetry": len(setup.host.telemetry_vector)}


FRAME_RATE = 30.0
"""The rate of the frames that show the arm [Hz]."""


@dataclass(frozen=True)
class Learned:
    """Estimates that a law has come to."""

    configuration: Configuration
    estimates: Mapping[str, FloatArray]  #: Flat, by entry of the law's state.
    effort_limit: FloatArray | None  #: In force, (n,); None stands for those of the library.

    def save(self, path: Path) -> None:
        """Write the file that a law starts from, by the host, as a controller does.

        Raises:
            LawError: if it cannot be written.
        """
        options = Options(accepts_unstable_gains=True, effort_limit=self.effort_limit)
        session = ControlSession(self.configuration, options, estimates=dict(self.estimates))
        save_estimates(path, self.configuration, session.snapshot())


@dataclass(frozen=True)
class RunResult:
    """The result of one run, what the host noticed before it, and the content hash of the library that ran.

    `origin` is what ran, and the controller's robot; none of a run that is read from its files.
    """

    name: str
    trace: Trace
    timing: Timing
    frames: Frames
    metrics: dict[str, Any]
    notes: tuple[Note, ...]
    library_hash: str
    learned: Learned | None = None  #: If the law adapts, and no fault stopped it.
    origin: tuple[RunConfig, RobotModel] | None = None


@dataclass(frozen=True)
class ScenarioResult:
    """The results of a scenario, the folder it was written to, and the text of its file."""

    folder: Path
    runs: tuple[RunResult, ...]
    metrics: dict[str, Any]
    text: str


def run_scenario(
    scenario: Scenario, folder: Path, progress: Progress | None = None, watch: Watch | None = None
) -> ScenarioResult:
    """Run all runs, then write their traces, times and frames, `scenario.yaml` and `metrics.json` into `folder`.

    What a run has learned is written too, as an `estimates_file`, where no fault stopped it.

    Args:
        scenario: See `load_scenario`.
        folder: Made if need be; files of the same names are replaced when all runs are done, and not before.
        progress: Called some fifty times per run, or as often as `watch`.
        watch: Shows a run while it goes. How long it takes is in no time that is measured, and it changes no result.

    Raises:
        ScenarioError: if parts of the scenario do not fit each other, or the plant diverges.
        ThunderError: as reader, build, plant and host raise.
    """
    with _written(folder):  # before the runs too: they may take long
        setups = [prepare(scenario, run) for run in scenario.runs]  # none runs before all are known to fit
        results = [run_prepared(setup, run, progress, watch) for setup, run in zip(setups, scenario.runs, strict=True)]
    return write_results(scenario, results, folder)


def learned_in(library: Library, law: str, trace: Trace, effort_limit: FloatArray | None = None) -> Learned | None:
    """Return the last estimates of a trace; None of a law that adapts none.

    Args:
        library: That ran.
        law: Its name there.
        trace: Of the run.
        effort_limit: In force, (n,); None stands for those of the library.
    """
    configuration = Configuration(library, law=law)
    adapted = [entry for entry in configuration.law.state if entry.is_adapted]
    estimates = {entry.name: trace.state[-1, entry.offset : entry.offset + entry.size] for entry in adapted}
    return Learned(configuration, estimates, effort_limit) if adapted else None


def _learned(setup: Setup, run: Run, trace: Trace) -> Learned | None:
    """The last estimates of a trace, if the law adapted any."""
    if not (run.adaptation and setup.adapted_links):
        return None
    return learned_in(setup.library, setup.host.law, trace, setup.host.options.effort_limit)


def run_prepared(setup: Setup, run: Run, progress: Progress | None = None, watch: Watch | None = None) -> RunResult:
    """Run what `prepare` set up, and measure it.

    Raises:
        ScenarioError: if the plant diverges.
    """
    trace, timing = run_once(setup, run, progress, watch)
    metrics = {**_law_in_force(setup, run), **compute_metrics(trace, timing), **record_metrics(trace, setup.library)}
    if metrics["fault"] is not None:
        metrics["fault"] |= explain(setup, run, trace)
    frames = find_frames(setup.model, setup.library, trace)
    learned = _learned(setup, run, trace) if metrics["fault"] is None else None
    origin = run.config, setup.model
    return RunResult(run.name, trace, timing, frames, metrics, setup.notes, setup.library.hash, learned, origin)


def _law_in_force(setup: Setup, run: Run) -> dict[str, Any]:
    """The law as the command line takes it, its gains, a number where all elements are alike, and T_total [s]."""
    law = run.config.law
    gains = {}
    for entry in setup.library.law(law.name).gains:
        values = np.ravel(setup.host.gain(entry.name))
        gains[entry.name] = values.tolist() if np.ptp(values) else float(values[0])
    return {"law": law_text(law.name, law.options), "gains": gains, "total_delay": total_delay(setup.host.options)}


def write_results(scenario: Scenario, results: Sequence[RunResult], folder: Path) -> ScenarioResult:
    """Write what `run_scenario` writes.

    Raises:
        ScenarioError: if the folder cannot be written.
    """
    with _written(folder):
        for result in results:
            result.trace.save(folder / f"{result.name}.npz")
            result.timing.save(folder / f"{result.name}_timing.npz")
            result.frames.save(folder / f"{result.name}_frames.npz")
            estimates = folder / f"{result.name}_estimates.yaml"
            for old in (estimates, look_file(folder, result.name)):
                old.unlink(missing_ok=True)  # of an earlier run under this name
            if result.learned is not None:
                result.learned.save(estimates)
        hashes = {result.name: result.library_hash for result in results}
        summary = summarise(scenario, {result.name: result.metrics for result in results}, hashes)
        write_text(folder / "scenario.yaml", scenario.text)
        document = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False)
        write_text(folder / "metrics.json", document + "\n")
    return ScenarioResult(folder, tuple(results), summary, scenario.text)


def look_file(folder: Path, run: str) -> Path:
    """Return the file that keeps the looks of the arm of a run, once it has been drawn."""
    return folder / f"{run}_look.npz"


def load_results(folder: Path) -> ScenarioResult:
    """Read what `write_results` wrote; notes are not kept there.

    Raises:
        ScenarioError: if the folder lacks a file of a run.
    """
    try:
        metrics: dict[str, Any] = read_json(folder / "metrics.json", ScenarioError)
        text = read_text(folder / "scenario.yaml", ScenarioError)
        runs = [
            RunResult(
                name,
                Trace.load(folder / f"{name}.npz"),
                Timing.load(folder / f"{name}_timing.npz"),
                Frames.load(folder / f"{name}_frames.npz"),
                run,
                (),
                run["library_hash"],
            )
            for name, run in metrics["runs"].items()
        ]
    except (OSError, KeyError, TypeError, AttributeError, ValueError, ScenarioError) as error:
        what = f"the results are incomplete ({error})"
        raise ScenarioError(what, where=str(folder), valid="a folder that `thunder run` wrote") from error
    return ScenarioResult(folder, tuple(runs), metrics, text)


@contextmanager
def _written(folder: Path) -> Iterator[None]:
    """Make a folder; say in one line what the file system refuses there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()  # said now, not when all has been run
        yield
    except OSError as error:
        what = f"the results cannot be written ({error.strerror or error})"
        raise ScenarioError(what, where=str(error.filename or folder), valid="a writable folder with space") from error


def run_once(
    setup: Setup, run: Run, progress: Progress | None = None, watch: Watch | None = None
) -> tuple[Trace, Timing]:
    """Run the loop: measure, set the reference, update, step; the host is active and the plant at its start.

    The wall time is that of the loop: what `progress` and `watch` take is not in it.
    """
    recorder = Recorder(setup)
    steps = len(setup.samples)
    parts = PROGRESS_STEPS if watch is None else max(round(FRAME_RATE * steps * setup.period), 1)
    bounds = np.linspace(0, steps, min(parts, steps) + 1).astype(int)
    wall = 0.0
    for first, last in zip(bounds[:-1], bounds[1:], strict=True):
        started = time.perf_counter()
        _loop(setup, recorder, int(first), int(last))
        wall += time.perf_counter() - started
        if not np.isfinite(setup.plant.q).all():
            raise divergence(setup, run, last * setup.period)
        if progress is not None:
            progress(run.name, last / steps)
        if watch is not None:
            watch(setup, run, recorder.finish(setup, slice(last - 1, last)))
    setup.host.deactivate()
    return recorder.finish(setup), Timing(recorder.step_ns, wall)


def divergence(setup: Setup, run: Run, end: float) -> ScenarioError:
    """Return the error for a plant whose state is not finite at a time [s]."""
    what = f"the plant diverged before t = {end:g} s; likely cause: {likely_cause(setup, run, end)}"
    return ScenarioError(f"run {run.name}: {what}", valid="other gains, or a finer integration (plant.substeps)")


def _loop(setup: Setup, rows: Recorder, first: int, last: int) -> None:
    """Steps `first` to `last` − 1."""
    host, plant = setup.host, setup.plant
    for k in range(first, last):
        q, qd, effort = rows.q_measured[k], rows.qd_measured[k], rows.effort[k]
        plant.read(rows.q[k], rows.qd[k])
        age = plant.measure(q, qd)
        host.set_reference(setup.samples[k])
        for name, rates in setup.further.items():
            host.set_reference_entry(name, rates[k])
        setup.feed(host.set_measurement)
        rows.guards[k] = host.update(rows.t[k - age], q, qd, setup.period, effort)
        rows.step_ns[k] = host.last_step_ns
        rows.state[k] = host.state_vector
        rows.telemetry[k] = host.telemetry_vector
        plant.step(effort)
        if plant.payload_changes != rows.payload_changes:
            rows.note_truth(setup, rows.t[k])


class Recorder:
    """Arrays of a trace, allocated before the run, or those given."""

    q: FloatArray
    qd: FloatArray
    q_measured: FloatArray
    qd_measured: FloatArray
    effort: FloatArray
    state: FloatArray
    telemetry: FloatArray

    def __init__(self, setup: Setup, rows: Mapping[str, FloatArray] | None = None) -> None:
        steps = len(setup.samples)
        self.t = np.arange(steps, dtype=np.float64) * setup.period
        for name, size in row_sizes(setup).items():
            setattr(self, name, np.zeros((steps, size)) if rows is None else rows[name])
        self.guards = np.zeros(steps, dtype=np.uint32)
        self.step_ns = np.zeros(steps, dtype=np.int64)
        self.truth: list[FloatArray] = []
        self.truth_time: list[float] = []
        self.note_truth(setup, 0.0)

    def note_truth(self, setup: Setup, t: float) -> None:
        """Note the true parameters of the adapted links from the step at `t` on."""
        links = [setup.plant.true_inertia(link).pi for link in setup.adapted_links]
        self.truth.append(np.reshape(links, (-1, N_PARAMETERS)))
        self.truth_time.append(t)
        self.payload_changes = setup.plant.payload_changes

    def finish(self, setup: Setup, rows: slice = slice(None)) -> Trace:
        """Add what follows from the recorded motion, of some rows of it."""
        recorded = {name: np.ascontiguousarray(getattr(self, name)[rows]) for name in RECORDED}
        recorded["q_measured"] = nearest(recorded["q_measured"], recorded["q"], setup.model.circles)
        position, rotation = setup.plant.poses(recorded["q"])
        samples, library = setup.samples[rows], setup.library
        limits = Limits(library, setup.host.options)
        law = library.law(setup.host.law)
        cartesian = law.reference_kind == "cartesian"
        slides = [link.joint.kind is JointKind.PRISMATIC for link in setup.model.links]
        q_d = samples[:, : library.n_joints]
        error = pose_error(samples, position, rotation) if cartesian else q_d - recorded["q"]
        return Trace(
            **recorded,
            reference=samples,
            position=position,
            rotation=rotation,
            error=error,
            telemetry_names=np.array([e.name for e in law.telemetry for _ in range(e.size)], dtype=np.str_),
            estimates=self._estimates(setup)[rows],
            truth=np.array(self.truth),
            truth_time=np.array(self.truth_time),
            faults=setup.plant.faults.in_force(self.t[rows]),
            fault_names=np.array([fault.label for fault in setup.plant.faults.faults], dtype=np.str_),
            guard_names=np.array([str(guard.name).lower() for guard in Guard]),
            adapted_links=np.array(setup.adapted_links, dtype=np.str_),
            joint_names=np.array(library.joint_names),
            joint_units=np.where(slides, "m", "rad"),
            effort_limit=limits.effort,
            effort_rate_limit=limits.effort_rate,
            period=np.array(np.nan if setup.reference.period is None else setup.reference.period),
        )

    def _estimates(self, setup: Setup) -> FloatArray:
        size = N_PARAMETERS * len(setup.adapted_links)
        entries = setup.library.law(setup.host.law).state
        offset = next((entry.offset for entry in entries if entry.name == ESTIMATE), 0)
        return self.state[:, offset : offset + size].reshape(len(self.t), -1, N_PARAMETERS).copy()


def find_frames(model: RobotModel, library: Library, trace: Trace) -> Frames:
    """Evaluate the frames of the controller's robot along the true motion, `FRAME_RATE` times a second."""
    steps = np.arange(0.0, len(trace.t), max(1.0 / (FRAME_RATE * trace.step), 1.0)).astype(int)
    names = [f"T_0_{k + 1}" for k in range(model.n)] + ["T_0_ee"]
    poses = np.empty((len(steps), len(names) + 1, 4, 4))
    poses[:, 0] = homogeneous(rotation_from_ypr(*model.base.ypr), np.array(model.base.tr))
    for k, name in enumerate(names, 1):
        poses[:, k] = library.batch(name, trace.q[steps])
    return Frames(
        t=trace.t[steps],
        names=np.array(["base", *model.link_names, "ee"]),
        parents=np.array([-1, *(link.parent + 1 for link in model.links), model.ee_link + 1]),
        position=poses[:, :, :3, 3].astype(np.float32),
        rotation=poses[:, :, :3, :3].astype(np.float32),
    )
