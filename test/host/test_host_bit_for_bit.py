"""The Python and MuJoCo path and the host driven from C++ give the same effort, bit for bit, over 30 s."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from host_programs import ADDRESS, compile_program, run

from thunder_controllers.host import Controller, Guard, Options
from thunder_controllers.resources import share
from thunder_controllers.simulation.experiment import run_once
from thunder_controllers.simulation.preparation import Setup, build_library, prepare
from thunder_controllers.simulation.scenario import Run, Scenario, load_scenario
from thunder_controllers.simulation.trace import Trace

pytestmark = pytest.mark.slow

ADAPTATION = 1
"""The scenarios' second run adapts."""

DEMO, JOINT, NOISE = "panda_lissajous_wrong_last_link", "panda_joint_slotine_li", "panda_payload_noise"


def load(name: str, folder: Path, host: dict[str, Any]) -> Scenario:
    """A scenario of config/, with options of the host changed."""
    path = share(f"config/scenarios/{name}.yaml")
    document: dict[str, Any] = yaml.safe_load(path.read_text())
    document["robot"] = str(share("config/robots/panda.yaml"))
    document["plant"]["urdf"] = str(share("urdf/panda.urdf.xacro"))
    document["duration"] = 30
    document["host"] = document.get("host", {}) | host
    changed = folder / "scenario.yaml"
    changed.write_text(yaml.safe_dump(document))
    return load_scenario(changed)


def numbers(values: Any) -> str:
    """Of a vector, exactly."""
    return " ".join(float(value).hex() for value in np.ravel(values, order="F"))


def configuration(setup: Setup, run: Run) -> str:
    """What the C++ program needs to start where the host in `setup`, just activated, does."""
    host, law = setup.host, setup.library.law(setup.host.law)
    lines = [f"law {law.name}"]
    lines += [f"gain {entry.name} {numbers(host.gain(entry.name))}" for entry in law.gains]
    lines += [f"state {entry.name} {numbers(host.state(entry.name))}" for entry in law.state]
    lines += options(host)
    lines.append(f"freeze {int(not run.adaptation)}")
    start = np.concatenate([setup.plant.q, setup.plant.qd, setup.plant.holding_effort()])
    return "\n".join([*lines, f"start {numbers(start)}"]) + "\n"


def options(host: Controller) -> list[str]:
    names = [name for name in dir(Options) if not name.startswith("_")]
    given = {name: getattr(host.options, name) for name in names}
    return [f"option {name} {numbers(value)}" for name, value in given.items() if value is not None]


def inputs(trace: Trace, period: float) -> np.ndarray:
    """What the host was given at each step: t, dt, q, qd, reference."""
    times = np.column_stack([trace.t, np.full(len(trace.t), period)])
    return np.column_stack([times, trace.q_measured, trace.qd_measured, trace.reference])


def replay(program: Path, library: str, folder: Path) -> np.ndarray:
    files = [folder / name for name in ("configuration.txt", "inputs.bin", "outputs.bin")]
    result = run(program, library, *files)
    assert result.returncode == 0, result.stderr
    return np.fromfile(files[-1])


LIMITS = {"effort_limit": [87, 15, 87, 20, 12, 12, 12], "effort_rate_limit": 20.0}


@pytest.mark.parametrize(
    ("name", "host", "flags"),
    [
        (DEMO, {}, ("-O2",)),
        (DEMO, {"gravity_compensated_by_robot": True}, ("-O2",)),
        (DEMO, LIMITS, ("-O2",)),
        (JOINT, {}, ("-O2",)),
        (JOINT, {"gravity_compensated_by_robot": True}, ADDRESS),
        (NOISE, {}, ("-O2",)),
    ],
    ids=["demo", "demo compensated", "demo limited", "joint", "joint compensated, sanitizers", "noise"],
)
def test_cpp_and_python_give_the_same_bits(
    name: str, host: dict[str, Any], flags: tuple[str, ...], tmp_path: Path, build_cache: Path
) -> None:
    scenario = load(name, tmp_path, host)
    chosen = scenario.runs[ADAPTATION]
    setup = prepare(scenario, chosen, *build_library(scenario, chosen))
    (tmp_path / "configuration.txt").write_text(configuration(setup, chosen))
    trace, _ = run_once(setup, chosen)
    inputs(trace, setup.period).tofile(tmp_path / "inputs.bin")
    output = replay(compile_program("host_replay", build_cache, *flags), setup.library.path, tmp_path)
    assert len(trace.t) == 30000
    rows = output.reshape(len(trace.t), -1)
    n, states = trace.effort.shape[1], trace.state.shape[1]
    # Bytes: 0.0 and -0.0 differ, and a NaN equals itself.
    assert rows[:, :n].tobytes() == trace.effort.tobytes()
    assert rows[:, n : n + states].tobytes() == trace.state.tobytes()
    np.testing.assert_array_equal(rows[:, -1], trace.guards)
    assert rows[-1, n + states : -1].tobytes() == setup.host.telemetry_vector.tobytes()
    if host is LIMITS:
        seen = Guard(int(np.bitwise_or.reduce(trace.guards)))
        assert Guard.EFFORT_LIMITED | Guard.EFFORT_RATE_LIMITED | Guard.ADAPTATION_FROZEN in seen


def test_one_bit_in_the_inputs_shows(tmp_path: Path, build_cache: Path) -> None:
    """The comparison can fail: a position changed by one unit in the last place changes the effort."""
    scenario = load(DEMO, tmp_path, {})
    setup = prepare(scenario, scenario.runs[ADAPTATION], *build_library(scenario, scenario.runs[ADAPTATION]))
    (tmp_path / "configuration.txt").write_text(configuration(setup, scenario.runs[ADAPTATION]))
    row = np.concatenate([[0.0, setup.period], setup.plant.q, setup.plant.qd, setup.samples[0]])
    program = compile_program("host_replay", build_cache, "-O2")
    efforts = []
    for position in (row[5], np.nextafter(row[5], 0.0)):
        row[5] = position
        row.tofile(tmp_path / "inputs.bin")
        efforts.append(replay(program, setup.library.path, tmp_path)[:7])
    assert efforts[0].tobytes() != efforts[1].tobytes()
    np.testing.assert_allclose(*efforts, rtol=1e-9)
