"""Runs of one law on one robot together: step by step, controllers and plants in the lanes of their libraries."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from thunder_controllers.fields import FloatArray
from thunder_controllers.host import Controller, Fleet
from thunder_controllers.simulation.experiment import PROGRESS_STEPS, Recorder, divergence, row_sizes
from thunder_controllers.simulation.plants.fleet import ModelPlants, common_options
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.preparation import Setup, activate
from thunder_controllers.simulation.scenario import Run, RunConfig
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_dynamics.errors import ScenarioError

MEMORY = 1 << 30
"""What the rows of runs together may take [bytes]."""

Ran = tuple[Trace, Timing] | ScenarioError
"""What a run gave; the error of one whose plant diverged."""


def may_share(config: RunConfig) -> bool:
    """Whether a run of this configuration may go together with others: see `kinship`."""
    plant = config.plant
    return plant.engine == "model" and not plant.faults and plant.position_sensor is None


def kinship(setup: Setup) -> Hashable | None:
    """What runs must have in common to go together: robot, law, steps, and how plant and sensors work.

    Gains, options of the host, bodies, payloads, friction, noise, references and starts may differ. None: by itself.
    """
    plant = common_options(setup.plant)
    if plant is None or setup.further:
        return None
    return setup.library.hash, setup.host.law, setup.samples.shape, setup.period, plant


def most_together(setup: Setup) -> int:
    """How many such runs fit into `MEMORY`."""
    size = sum(row_sizes(setup).values()) * len(setup.samples) * np.float64().nbytes
    return max(1, MEMORY // size)


class Room:
    """Memory for the rows of runs together, used again by the next ones: pages that are new take long."""

    def __init__(self) -> None:
        self._numbers = np.empty(0)

    def take(self, count: int) -> FloatArray:
        """So many numbers; those taken before are no longer anybody's."""
        if count > len(self._numbers):
            self._numbers = np.empty(count)
        return self._numbers[:count]


def twin(setup: Setup, run: Run, seed: int) -> Setup:
    """The same at its start, with other noise.

    Raises:
        LawError: if the controller refuses to start, as it did not with the seed of `setup`.
    """
    plant, host = cast(ModelPlant, setup.plant), Controller()
    host.configure_as(setup.host)
    activate(host, run, setup.samples[0], plant.q, plant.qd, plant.holding_effort())
    return replace(setup, plant=plant.twin(seed), host=host)


def run_together(setups: Sequence[Setup], runs: Sequence[Run], room: Room | None = None) -> Iterator[Ran]:
    """`run_once` of runs of one `kinship`, to rounding: lanes of compilers round as scalars do, but for the last digit.

    The time of a step is a share of what all took together. A trace is made when it is asked for, and before the next
    runs take `room`: the traces of all have three times the size of the rows.
    """
    rows = _Rows(setups, room or Room())
    plants = ModelPlants([cast(ModelPlant, setup.plant) for setup in setups])
    fleet = Fleet([setup.host for setup in setups])
    for setup in setups:
        setup.feed(setup.host.set_measurement)  # constant, without faults
    steps, diverged = len(rows.t), dict[int, ScenarioError]()
    bounds = np.linspace(0, steps, min(PROGRESS_STEPS, steps) + 1).astype(int)
    started = time.perf_counter()
    for first, last in zip(bounds[:-1], bounds[1:], strict=True):
        _loop(setups, rows, plants, fleet, range(first, last))
        for i in map(int, np.flatnonzero(~np.isfinite(plants.q).all(axis=1))):
            diverged.setdefault(i, divergence(setups[i], runs[i], last * setups[i].period))
    wall = (time.perf_counter() - started) / len(setups)
    for setup in setups:
        setup.host.deactivate()
    return (
        diverged.get(i) or (recorder.finish(setup), Timing(rows.step_ns, wall))
        for i, (setup, recorder) in enumerate(zip(setups, rows.recorders, strict=True))
    )


class _Rows:
    """What the loop writes, step by step: arrays (steps, N, …), of which each recorder has its part."""

    def __init__(self, setups: Sequence[Setup], room: Room) -> None:
        first, count = setups[0], len(setups)
        sizes, steps = row_sizes(first), len(first.samples)
        bounds = np.cumsum([0, *sizes.values()]) * steps * count
        parts = np.split(room.take(bounds[-1]), bounds[1:-1])
        self.own = {name: part.reshape(steps, count, -1) for name, part in zip(sizes, parts, strict=True)}
        self.guards = np.zeros((steps, count, 1), dtype=np.uint32)
        self.recorders = []
        for i, setup in enumerate(setups):
            self.recorders.append(Recorder(setup, {name: of[:, i] for name, of in self.own.items()}))
            self.recorders[i].guards = self.guards[:, i, 0]
        self.t, self.step_ns = self.recorders[0].t, self.recorders[0].step_ns
        self._samples = [setup.samples for setup in setups]
        self._one = all(np.array_equal(one, self._samples[0]) for one in self._samples[1:])

    def reference(self, k: int) -> FloatArray:
        """Samples at a step, (N, size)."""
        if self._one:
            return np.broadcast_to(self._samples[0][k], (len(self._samples), self._samples[0].shape[1]))
        return np.stack([samples[k] for samples in self._samples])


def _loop(setups: Sequence[Setup], rows: _Rows, plants: ModelPlants, fleet: Fleet, steps: range) -> None:
    """As the loop of one run, `simulation.experiment`."""
    own, period, count = rows.own, setups[0].period, len(setups)
    for k in steps:
        q, qd, effort = (own[name][k] for name in ("q_measured", "qd_measured", "effort"))
        plants.read(own["q"][k], own["qd"][k])
        plants.measure(q, qd)
        begun = time.perf_counter_ns()
        told = rows.guards[k], own["state"][k], own["telemetry"][k]
        fleet.update(rows.t[k], rows.reference(k), q, qd, period, effort, *told)
        rows.step_ns[k] = (time.perf_counter_ns() - begun) // count
        plants.step(effort)
        for i in plants.changed():
            rows.recorders[i].note_truth(setups[i], rows.t[k])
