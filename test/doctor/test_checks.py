"""Each check finds what is right, what is not, and that there is nothing to look at."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pendulum2 import LENGTHS, MASSES, compile_pendulum2

from thunder_controllers.doctor.check import BACKENDS, Case, State
from thunder_controllers.doctor.command import CHECKS
from thunder_controllers.doctor.measurement import LoopTimes
from thunder_controllers.host import Library
from thunder_controllers.ros.tools.graph import Graph
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.model import Frame, Joint, JointKind, Limits, Link, Pose, RobotModel

BY_NAME = {check.name: check for check in CHECKS}
JOINTS = ("shoulder", "elbow")
LAW, GAIN = "joint_adaptive", "K_d"
LOAD = Inertia(0.5, (0.02, 0.0, 0.1))
STATUS = "proc/self/status"
LIMITS = "proc/self/limits"
CPUFREQ = "sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
SOURCE = "sys/devices/system/clocksource/clocksource0/current_clocksource"
NOBODY, ROOT = "CapEff:\t0000000000000000\n", "CapEff:\t0000003fffffffff\n"

Make = Callable[..., Case]


def arm(
    joints: Sequence[str] = JOINTS, effort: float = 30.0, velocity: float = 5.0, lower: float = -2.5, mass: float = 0.0
) -> RobotModel:
    """The pendulum as a model, with a point mass at its tip more; its tip is turned."""
    ee = Frame(tr=(0.1, 0.0, -LENGTHS[1]), ypr=(math.pi / 2, 0.0, 0.0))
    limits = Limits(lower, 2.5, velocity, effort=effort)
    load = mass * np.array([1.0, *(ee.pose.rotation @ LOAD.com + ee.tr)])
    links, place = [], np.zeros(3)
    for i, (name, link_mass, length) in enumerate(zip(joints, MASSES, LENGTHS, strict=False)):
        moments = link_mass * np.array([1.0, 0.0, 0.0, -length]) + (load if i == len(joints) - 1 else 0.0)
        joint = Joint(name, JointKind.REVOLUTE, Pose(np.eye(3), place), (0.0, -1.0, 0.0), limits)
        links.append(Link(f"link{i}", i - 1, joint, Inertia(moments[0], moments[1:] / moments[0])))
        place = np.array([0.0, 0.0, -length])
    return RobotModel("pendulum2", tuple(links), ee=ee)


def loop(lateness: float = 2e-5, missed: int = 0, step: float = 0.0) -> Case:
    return Case(loop=LoopTimes(np.full(100, lateness), missed, step, is_real_time=True))


def limited(name: str, value: str, capabilities: str = NOBODY) -> dict[str, str]:
    """/proc of a process with a limit."""
    return {
        LIMITS: f"Limit     Soft Limit  Hard Limit  Units\nMax {name}   {value}   unlimited  x\n",
        STATUS: capabilities,
    }


class Example(NamedTuple):
    """Cases of a check: right ones, wrong ones, and ones that it does not apply to; files stand for a case."""

    right: Sequence[Any]
    wrong: Sequence[Any]
    nothing: Sequence[Any]


def with_library(library: Library, folder: Path) -> dict[str, Example]:
    def case(**others: Any) -> Case:
        return Case(**{"library": library, **others})

    states = Graph(rmw="rmw_x", joints=("wheel", *reversed(JOINTS)), stamps=[1.0, 1.001, 1.003])
    franka, gazebo = BACKENDS["franka"], BACKENDS["gazebo"]
    return {
        "kernel": Example(
            [
                {"proc/sys/kernel/version": "#1 SMP PREEMPT_RT Debian"},
                {"proc/sys/kernel/version": "#1", "sys/kernel/realtime": "1\n"},
            ],
            [
                {"proc/sys/kernel/version": "#1 SMP PREEMPT_DYNAMIC"},
                {"proc/sys/kernel/version": "#1 SMP", "sys/kernel/realtime": "0"},
            ],
            [{}],
        ),
        "rtprio": Example(
            [limited("realtime priority", "99"), limited("realtime priority", "0", ROOT)],
            [limited("realtime priority", "0"), limited("realtime priority", "98")],
            [{}, limited("core file size", "0")],
        ),
        "memlock": Example(
            [limited("locked memory", "unlimited"), limited("locked memory", "8388608", ROOT)],
            [limited("locked memory", "8388608")],
            [{}, {LIMITS: "Max locked memory  65536 65536 bytes"}],
        ),
        "governor": Example(
            [{CPUFREQ.format(0): "performance\n", CPUFREQ.format(1): "performance\n"}],
            [{CPUFREQ.format(0): "performance\n", CPUFREQ.format(11): "schedutil\n"}],
            [{}],
        ),
        "clock_source": Example([{SOURCE: "tsc\n"}, {SOURCE: "arch_sys_counter"}], [{SOURCE: "hpet\n"}], [{}]),
        "jitter": Example([loop()], [loop(lateness=3e-4)], [Case()]),
        "overruns": Example([loop()], [loop(missed=1)], [Case()]),
        "clock_steps": Example([loop(step=1e-6)], [loop(step=0.5)], [Case()]),
        "latency": Example(
            [Case(round_trips=np.array([2e-4, 3e-4])), Case(round_trips=np.array([9e-4]), period=2e-3)],
            [Case(round_trips=np.array([2e-4, 6e-4])), Case(round_trips=np.array([np.inf]))],
            [Case()],
        ),
        "delay": Example(
            [
                Case(round_trips=np.array([2e-4, 1.9e-3])),
                Case(round_trips=np.array([3e-3]), parameters={"dead_time": 4e-3}),
            ],
            [
                Case(round_trips=np.array([2e-4, 2.1e-3])),
                Case(round_trips=np.array([1e-3]), parameters={"dead_time": 5e-4}),
                Case(round_trips=np.array([np.inf])),
            ],
            [Case()],
        ),
        "processor": Example(
            [case()], [case(library=Library(compile_pendulum2(folder, "BREAK_INSTRUCTION")))], [Case()]
        ),
        "parameters": Example(
            [case(parameters={"law": LAW, "gains": {GAIN: 2.0}, "update_rate": 1000}), case(parameters={})],
            [
                case(parameters={f"gains.{GAIN}_": 2.0}),
                case(parameters={"law": "no_law"}),
                case(parameters={"effort_limits": [8.0, 8.0]}),
            ],
            [case(), Case(parameters={}), case(parameters={"x": 1}, graph=Graph(parameters={"x": 1}))],
        ),
        "joint_names": Example(
            [
                case(description=arm()),
                case(description=arm(("a", "b")), parameters={"joints": ["a", "b"]}),
                case(description=arm(), parameters={"joints": ["elbow", "shoulder"]}),
            ],
            [
                case(description=arm(("elbow", "shoulder"))),
                case(description=arm(("shoulder",))),
                case(description=arm(), parameters={"joints": ["elbow", "wrist"]}),
            ],
            [case(), Case(description=arm())],
        ),
        "limits": Example(
            [case(description=arm()), case(description=arm(effort=8.0), parameters={"effort_limit": [8.0, 8.0]})],
            [
                case(description=arm(effort=29.0)),
                case(description=arm(velocity=4.0)),
                case(description=arm(lower=-1.0)),
                case(description=arm(), parameters={"effort_limit": [8.0]}),
            ],
            [case(), Case(description=arm()), case(description=arm(("shoulder",)))],
        ),
        "gravity": Example(
            [
                Case(backend=franka, parameters={"gravity_compensated_by_robot": True}),
                Case(backend=gazebo, parameters={}),
            ],
            [
                Case(backend=franka, parameters={}),
                Case(backend=gazebo, parameters={"gravity_compensated_by_robot": True}),
            ],
            [Case(), Case(parameters={})],
        ),
        "load": Example(
            [Case(model=arm(), description=arm()), Case(model=arm(mass=LOAD.mass), description=arm(), load=LOAD)],
            [
                Case(model=arm(), description=arm(), load=LOAD),
                Case(model=arm(mass=LOAD.mass), description=arm()),
                Case(model=arm(mass=LOAD.mass), description=arm(), load=Inertia(LOAD.mass, (0.02, 0.0, 0.0))),
            ],
            [Case(model=arm()), Case(description=arm())],
        ),
        "rmw": Example(
            [Case(graph=Graph(is_there=True, parameters={}))],
            [Case(graph=Graph(is_there=True))],
            [Case(), _with(Graph())],
        ),
        "published_joints": Example(
            [case(graph=states), case(graph=states, parameters={"joints": ["wheel", "elbow"]})],
            [case(graph=Graph(joints=("fr3_joint1", "elbow")))],
            [case(), case(graph=Graph()), _with(states)],
        ),
        "stamps": Example(
            [_with(states)],
            [_with(Graph(stamps=stamps)) for stamps in ([1.0, 1.0], [2.0, 1.9, 2.0], [1.0, 1.3])],
            [Case(), _with(Graph(stamps=[1.0]))],
        ),
        "running_rate": Example(
            [_with(Graph(rates=[999.0, 1000.2])), Case(graph=Graph(rates=[499.0]), period=2e-3)],
            [_with(Graph(rates=[1000.0, 900.0]))],
            [Case(), _with(Graph())],
        ),
    }


def _with(graph: Graph) -> Case:
    return Case(graph=graph)


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Example]:
    folder = tmp_path_factory.mktemp("pendulum2")
    return with_library(Library(compile_pendulum2(folder)), folder)


def cases(examples: Sequence[Any], folder: Path) -> list[Case]:
    """The cases of examples, files as a tree."""
    found = []
    for i, one in enumerate(examples):
        if not isinstance(one, Case):
            root = folder / str(i)
            for name, text in one.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            one = Case(root=root)
        found.append(one)
    return found


def test_every_check_has_examples(examples: dict[str, Example]) -> None:
    assert list(examples) == list(BY_NAME) and len(BY_NAME) == len(CHECKS)
    assert all(one.right and one.wrong and one.nothing for one in examples.values())


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_right_is_ok(name: str, examples: dict[str, Example], tmp_path: Path) -> None:
    results = [BY_NAME[name](case) for case in cases(examples[name].right, tmp_path)]
    assert [(one.state, one.seen) for one in results if one.state is not State.OK] == []


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_wrong_fails_or_warns_with_what_was_seen(
    name: str, examples: dict[str, Example], tmp_path: Path
) -> None:
    check = BY_NAME[name]
    results = [check(case) for case in cases(examples[name].wrong, tmp_path)]
    wanted = State.WARN if check.is_warning else State.FAIL
    assert [(one.state, one.seen) for one in results if one.state is not wanted or not one.seen] == []


@pytest.mark.parametrize("name", BY_NAME)
def test_where_there_is_nothing_to_look_at_the_reason_is_said(
    name: str, examples: dict[str, Example], tmp_path: Path
) -> None:
    results = [BY_NAME[name](case) for case in cases(examples[name].nothing, tmp_path)]
    assert [(one.state, one.seen) for one in results if one.state is not State.NOT_APPLICABLE or not one.seen] == []


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_declaration_is_one_line_each(check: Any) -> None:
    assert all(
        text and "\n" not in text and not text.endswith(".") for text in (check.looks_at, check.valid, check.mend)
    )
    assert check.look.__doc__


@pytest.mark.parametrize(
    ("name", "state"), [("kernel", State.WARN), ("overruns", State.WARN), ("clock_steps", State.FAIL)]
)
def test_real_time_only_warns_where_the_arm_is_simulated(name: str, state: State, tmp_path: Path) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/version").write_text("#1 SMP")
    case = Case(tmp_path, BACKENDS["mujoco"], loop=LoopTimes(np.ones(3), 3, 1.0, is_real_time=False))
    assert BY_NAME[name](case).state is state


def test_a_limit_that_is_too_wide_is_named(examples: dict[str, Example]) -> None:
    (effort, velocity, lower, wrong) = (BY_NAME["limits"](case).seen for case in examples["limits"].wrong)
    assert (effort, velocity) == ("shoulder effort 30 beyond 29", "elbow velocity 5 beyond 4")
    assert lower == "shoulder lower -2.5 beyond -1, elbow lower -2.5 beyond -1"
    assert wrong == "effort_limit has 1 values"


def test_a_misspelt_parameter_is_named(examples: dict[str, Example]) -> None:
    gain, law, limit = (BY_NAME["parameters"](case).seen for case in examples["parameters"].wrong)
    assert gain.startswith(f"no gains.{GAIN}_: ") and f"did you mean gains.{GAIN}?" in gain
    assert law.startswith("no law no_law; ") and "did you mean effort_limit?" in limit


def test_an_instruction_that_is_missing_is_named(examples: dict[str, Example]) -> None:
    (case,) = examples["processor"].wrong
    assert BY_NAME["processor"](case).seen in ("ended by SIGILL", "ended by SIGTRAP")


@settings(deadline=None)  # the first example imports what it needs
@given(mass=st.floats(0.01, 5.0), told=st.floats(0.0, 5.0))
def test_a_load_holds_where_robot_and_model_have_the_same(mass: float, told: float) -> None:
    result = BY_NAME["load"](Case(model=arm(mass=mass), description=arm(), load=Inertia(told, LOAD.com)))
    difference = abs(mass - told)
    if difference < 4e-3:
        assert result.state is State.OK
    if difference > 6e-3:
        assert result.state is State.FAIL


def test_this_machine_is_looked_at() -> None:
    results = [check(Case()) for check in CHECKS]
    assert [one.check.name for one in results] == list(BY_NAME)
    assert all(one.seen for one in results)
