"""Plays the start-up motion on a simulated arm, by the host as any other run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from thunder_controllers.commissioning.estimate import Findings, StageRecord, check_sound, estimate, sure
from thunder_controllers.commissioning.plan import LAW, MOST_STAGES, Budget, CommissioningError, Known, Planner, Stage
from thunder_controllers.fields import FloatArray, in_order
from thunder_controllers.host import FAULTS, Guard, Library
from thunder_controllers.references.sinusoids import JointLissajous
from thunder_controllers.simulation.preparation import Setup, prepare
from thunder_controllers.simulation.scenario import LawSection, Run, Scenario, StartSection
from thunder_dynamics.model import RobotModel

HOST = {"accepts_unstable_gains": True, "approaches_jumps": False}
"""Options of the host while the motion is played."""

Play = Callable[[Stage], StageRecord]
"""Plays a stage on an arm and returns what was measured."""


@dataclass(frozen=True)
class Commissioned:
    """What was found, and the stages that were played."""

    findings: Findings
    stages: tuple[tuple[Stage, StageRecord], ...]


def commission_arm(
    library: Library, start: FloatArray, rate: float, play: Play, budget: Budget, *, gravity_compensated: bool = False
) -> Commissioned:
    """Play stages until all joints move and waves are as large as they may be, then the last one, and estimate.

    Raises:
        CommissioningError: if the motion cannot be made, a joint leaves its bound or is not reached, or what moves it
            is not its drive.
    """
    planner, known, played = Planner(library, start, rate, budget), Known.nothing(library.n_joints), []
    for _ in range(MOST_STAGES):
        stage = planner.stage(known, is_last=False)
        played.append((stage, play(stage)))
        found = estimate(library, *played[-1], gravity_compensated=gravity_compensated)
        before, known = known, planner.learned(known, stage, played[-1][1].q, sure(found, library))
        if planner.is_ready(known, before):
            break
    stage = planner.stage(known, is_last=True)
    played.append((stage, play(stage)))
    found = estimate(library, *played[-1], gravity_compensated=gravity_compensated)
    check_sound(found, *played[-1], library)
    return Commissioned(found, tuple(played))


def commission_scenario(scenario: Scenario, model: RobotModel, budget: Budget) -> Commissioned:
    """Play stages on the plant of a scenario's first run, and estimate, as `commission_arm` does.

    Args:
        scenario: Where its first run starts, the motion begins.
        model: The controller's robot.
        budget: Bounds of the motion.

    Raises:
        CommissioningError: as `commission_arm` raises.
        ThunderError: as preparing a run raises.
    """
    resting = scenario_at(scenario)
    run = resting.runs[0]
    setup = prepare(resting, run, model=model)
    start, compensated = setup.samples[0, : model.n], run.config.host.gravity_compensated_by_robot
    play = SimulatedArm(setup)
    return commission_arm(setup.library, start, run.config.rate, play, budget, gravity_compensated=compensated)


def scenario_at(scenario: Scenario) -> Scenario:
    """The arm of a scenario's first run at rest at `start.q`, under `LAW`, which adapts nothing and knows no friction.

    Gains are for delays and rotors that are not known yet, and accelerations carry waves of effort: the host takes both
    as they are.
    """
    run = scenario.runs[0]
    joints = scenario.load_model(run.config.robot, run.config).joint_names
    q = tuple(in_order(run.config.start.q, joints, f"{scenario.path}: start.q"))
    config = run.config.model_copy(
        update={
            "law": LawSection(name=LAW, options={"friction": "none"}),
            "reference": JointLissajous(centre=q, amplitude=0.0, frequency=1.0),
            "start": StartSection(q=q),
            "duration": 1.0,
            "host": run.config.host.model_copy(update=HOST),
        }
    )
    return replace(scenario, runs=(Run(run.name, False, config),))


class SimulatedArm:
    """Plays stages on what `prepare` set up with `LAW`, one after the other, without a pause."""

    def __init__(self, setup: Setup) -> None:
        self._setup, self._t = setup, 0.0
        self.truth: list[tuple[FloatArray, FloatArray]] = []
        """True positions and velocities of each stage, which no estimate sees."""

    def __call__(self, stage: Stage) -> StageRecord:
        """Play a stage.

        Raises:
            CommissioningError: if a joint leaves its bound, or the host stops the arm.
        """
        host, plant, n = self._setup.host, self._setup.plant, self._setup.library.n_joints
        host.set_gain("K_p", stage.K_p)
        host.set_gain("K_d", stage.K_d)
        q, qd, effort, true_q, true_qd = np.zeros((5, len(stage.reference), n))
        self.truth.append((true_q, true_qd))
        for k, row in enumerate(stage.reference):
            plant.read(true_q[k], true_qd[k])
            plant.measure(q[k], qd[k])
            host.set_reference(row)
            guards = host.update(self._t, q[k], qd[k], self._setup.period, effort[k])
            self._check(stage, q[k], guards)
            plant.step(effort[k].copy())
            self._t += self._setup.period
        return StageRecord(q, qd, effort)

    def _check(self, stage: Stage, q: FloatArray, guards: int) -> None:
        names = self._setup.library.joint_names
        if (joint := stage.has_left(q)) is not None:
            what = f"it is {abs(q[joint] - stage.start[joint]):.3g} from its start"
            valid = f"within {stage.reach[joint]:g}: an arm that nothing pushes, with bodies as described"
            raise CommissioningError(what, where=names[joint], valid=valid)
        if guards & FAULTS:
            acted = ", ".join(str(one.name).lower() for one in Guard if one & guards & FAULTS)
            raise CommissioningError(f"the host stopped the arm: {acted}", valid="an arm that keeps its limits")
