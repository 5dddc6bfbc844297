"""From a run's configuration to the parts that run: library, plant, reference, host, at their starting state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from thunder_controllers.fields import FloatArray, in_order, numbers, per_joint
from thunder_controllers.host import (
    Configuration,
    Controller,
    Law,
    Library,
    Limits,
    Note,
    OptionInfo,
    Options,
    option_list,
    read_estimates,
)
from thunder_controllers.host.inertia_estimate import ESTIMATE
from thunder_controllers.host.measured import read_measurement
from thunder_controllers.references.circles import unwrap
from thunder_controllers.references.feasibility import SPACING, check_before_compiling, check_reference
from thunder_controllers.references.trajectories import CARTESIAN_SIZE, RATES, Follower, Reference, Smooth, Trajectory
from thunder_controllers.simulation.options import Body, PlantOptions
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_controllers.simulation.plants.mujoco_model import refusal
from thunder_controllers.simulation.plants.plant import Plant
from thunder_controllers.simulation.plants.sensors import Sample
from thunder_controllers.simulation.plants.untold import find_untold
from thunder_controllers.simulation.scenario import PERIODS, LawSection, Run, RunConfig, Scenario
from thunder_controllers.simulation.start import check_limits, solve_pose, velocity_of_twist
from thunder_dynamics.entries import EntryFlag
from thunder_dynamics.errors import NameNotFoundError, ScenarioError, nearest
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.locking import Assembly
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import read_assembly

KINEMATIC_TOLERANCE = 1e-6
"""How far apart controller and plant may see the end effector [m]; rounded descriptions differ by less."""

Read = Callable[[Plant], Sample | None]
"""What a plant measures now, if it does."""

MEASUREMENTS: Mapping[str, Read] = {
    "ee_position": lambda plant: plant.measured_position(),
    "external_effort": lambda plant: Sample(plant.external_effort()),
    "measured_effort": lambda plant: Sample(plant.measured_effort()),
    "motor_position": lambda plant: Sample(plant.motor_position),
    "motor_velocity": lambda plant: Sample(plant.motor_velocity),
}
"""Further measurements that the plant can feed, and how."""


@dataclass
class Setup:
    """Everything a run needs, the host active and the plant at its start."""

    library: Library  #: The compiled robot.
    plant: Plant  #: The true robot.
    host: Controller  #: The controller, active.
    reference: Reference  #: What to follow.
    samples: FloatArray  #: Its value at every step, shape (N, 24) or (N, 3·n), C-contiguous.
    adapted_links: tuple[str, ...]  #: Names, in the order of the estimates; empty if the law has none.
    period: float  #: Of the control [s].
    #: What the law measures beside joint states, and what reads it from the plant.
    measurements: Mapping[str, Read]
    further: Mapping[str, FloatArray]  #: What the law adds to its reference and follows from it, by name, (N, size).
    model: RobotModel  #: The controller's robot.
    initial_state: Mapping[str, FloatArray]  #: First estimates, flat, by entry of the law's state.
    notes: tuple[Note, ...]  #: Lines of what the check of the reference and the host noticed.

    def feed(self, write: Callable[[str, FloatArray, float | None], object]) -> None:
        """Write what the plant measures now beside joint states; once per step."""
        for name, read in self.measurements.items():
            if (sample := read(self.plant)) is not None:
                write(name, *sample)


def build_library(scenario: Scenario, run: Run, *, lanes: bool = False) -> tuple[RobotModel, Library]:
    """Read the robot, compile it with the run's law, and in lanes, unless the cache holds just that, and load it.

    Raises:
        ThunderError: as reader, build and library raise.
    """
    model = scenario.load_model(run.config.robot, run.config)
    return model, compile_law(model, run.config.law, lanes=lanes)


def compile_law(
    model: RobotModel, law: LawSection, check: Callable[[Any], None] | None = None, *, lanes: bool = False
) -> Library:
    """Compile a robot with a law unless the cache holds just that, and load it.

    Args:
        model: The robot.
        law: Its name and options.
        check: Is given the law's `thunder_dynamics.law.Law` before it is compiled, if it is.
        lanes: Whether it computes several states at once too.

    Raises:
        ThunderError: as build, `check` and library raise.
    """
    from thunder_dynamics.build import build  # only here: running a library needs no code generator

    requests = [(law.name, law.options)]
    folder = build(model, requests, check=None if check is None else lambda laws: check(laws[0]), lanes=lanes)
    return Library(folder / f"lib{model.name}.so")


def prepare(
    scenario: Scenario,
    run: Run,
    model: RobotModel | None = None,
    library: Library | None = None,
    description: Assembly | RobotModel | None = None,
    *,
    lanes: bool = False,
) -> Setup:
    """Set a run up.

    Args:
        scenario: What `run` is of.
        run: What to set up.
        model: The controller's robot; it is read if None.
        library: The same, compiled with the law; if None it is compiled when all else has been looked at that does not
            need it, and `notes` say what of the plant the law was not told of.
        description: The plant's, as `read_description` gives it; it is read if None.
        lanes: Whether a library that is compiled here computes several states at once too.

    Raises:
        ScenarioError: if parts of the scenario do not fit each other or the robot.
        ThunderError: as plant and host raise.
    """
    config = run.config
    where = f"{scenario.path}: run {run.name}" if len(scenario.runs) > 1 else str(scenario.path)
    period = 1.0 / config.rate
    model = model or scenario.load_model(config.robot, config)
    plant = _plant(config, model, description or read_description(scenario, config))
    options = _check_sizes(config, model, where)
    check = partial(_check_fit, model, config, where)
    notes: list[Note] = []
    if config.plant.engine is None and isinstance(plant, ModelPlant):
        text = f"MuJoCo takes no such bodies as {config.plant.urdf} has: the engine model simulates the plant"
        notes.append(Note("plant_engine", f"{text}, without contacts and stops of joints"))
    if library is None:
        library = compile_law(model, config.law, check, lanes=lanes)
        notes += find_untold(plant, model, config.law.name, config.law.options)
    law = library.law(config.law.name)
    check(law)
    cartesian = law.reference_kind == "cartesian"
    reference = config.reference.build_for(Follower(library, cartesian, scenario.path.parent))
    times = np.arange(config.steps) / config.rate
    samples = np.ascontiguousarray(reference.sample(times))
    _check_samples(samples, law.reference_kind, config, model.n, where)
    if not cartesian:
        samples[:, : model.n] = unwrap(samples[:, : model.n], model.circles, _start_q(config, model.joint_names, where))
    q, qd = _start(library, config, samples, where)
    _check_same_robot(library, plant, q, where)
    plant.reset(q, qd)
    _check_feeds(law, config, samples.shape[1], where)
    if config.check_reference:
        notes += check_reference(library, law, Limits(library, options), samples, period, q, f"{where}: reference")
    links = adapted_links(model, law, config)
    initial_state = _initial_state(library, config, links)
    host = Controller()
    host.configure(
        library,
        law=config.law.name,
        gains=config.law.gains,
        initial_state=initial_state,
        options=options,
    )
    names = [entry.name for entry in law.measurements]
    measurements = {entry.name: MEASUREMENTS[entry.name] for entry in law.measurements if not entry.is_age}
    for name, read in measurements.items():
        if f"{name}_age" not in names and (sample := read(plant)) is not None:
            host.set_measurement(name, sample.values)
    activate(host, run, samples[0], q, qd, plant.holding_effort())
    notes += host.notes
    return Setup(
        library=library,
        plant=plant,
        host=host,
        reference=reference,
        samples=samples,
        adapted_links=links,
        period=period,
        measurements=measurements,
        further=_further(law, reference, times, config.reference.further, f"{where}: reference"),
        model=model,
        initial_state=initial_state,
        notes=tuple(notes),
    )


def _further(
    law: Law, reference: Reference, times: FloatArray, stated: Mapping[str, Any], where: str
) -> dict[str, FloatArray]:
    """Derivatives of a reference that a law asks for and the reference has; the others are as the scenario says."""
    wanted = {entry.name: entry.size for entry in law.reference if entry.name in RATES and entry.name not in stated}
    if not wanted or not isinstance(reference, Smooth):
        return {}
    rates = reference.further_rates(times)
    for name in wanted.keys() & rates.keys():
        if rates[name].shape != (expected := (len(times), wanted[name])):
            what = f"a {name} of shape {rates[name].shape}"
            raise ScenarioError(what, where=where, valid=f"{expected}, a row for every time")
    return {name: np.ascontiguousarray(rows) for name, rows in rates.items() if name in wanted}


def activate(
    host: Controller, run: Run, sample: FloatArray, q: FloatArray, qd: FloatArray, held_effort: FloatArray
) -> None:
    """Start a controller that is configured for a run, at its first sample, where it is and as it is held there.

    Raises:
        LawError: if it refuses to start.
    """
    host.set_reference(sample)
    for name, values in run.config.reference.further.items():
        host.set_reference_entry(name, values)
    host.freeze_adaptation(not run.adaptation)
    host.activate(q, qd, held_effort)


def read_description(scenario: Scenario, config: RunConfig) -> Assembly | RobotModel:
    """Read what the plant is made of: all links of its file, or a model for the engine `model`.

    A plant without an engine has MuJoCo's if that takes the description, else the engine `model`.
    """
    plant = config.plant
    if plant.engine == "model":
        return scenario.load_model(plant.urdf, config)
    locked = config.robot_options.get("locked_joints") if plant.locked_joints is None else plant.locked_joints
    own = {"xacro_args": plant.xacro_args, "packages": plant.packages, "locked_joints": locked}
    shared = config.robot_options if plant.urdf == config.robot else {}
    reading = {**shared, **{key: value for key, value in own.items() if value or key == "locked_joints"}}
    assembly = read_assembly(plant.urdf, reading)
    if plant.engine is not None or refusal(assembly, plant.urdf) is None:
        return assembly
    given = {key: value for key, value in reading.items() if value}
    changed = config.model_copy(update={"robot_options": {**config.robot_options, **given}})
    return scenario.load_model(plant.urdf, changed)


def _plant(config: RunConfig, model: RobotModel, description: Assembly | RobotModel) -> Plant:
    options: PlantOptions = config.plant
    is_mujoco = isinstance(description, Assembly)
    stated = description.model if isinstance(description, Assembly) else description
    if is_mujoco and options.ee_link is None:
        options = options.model_copy(update={"ee_link": config.ee_link})
    if options.offsets is None and not stated.effort_offsets.any():
        options = options.model_copy(update={"offsets": tuple(model.effort_offsets.tolist())})
    common: dict[str, Any] = {
        "joints": model.joint_names,
        "period": 1.0 / config.rate,
        "options": options,
        "seed": config.seed,
        "gravity_compensated": config.host.gravity_compensated_by_robot,
        "where": config.plant.urdf,
    }
    known = {link.joint.name: link.joint.rotor_inertia for link in model.links}
    if isinstance(description, Assembly):
        elastic = {link.joint.name: link.joint.elastic for link in model.links if link.joint.elastic}
        own = {link.joint.name: link.joint.rotor_inertia for link in stated.links}
        known |= {name: rotor for name, rotor in own.items() if rotor is not None}
        known |= {name: one.Mm for name, one in elastic.items()}
        rotors = [np.nan if (rotor := known[joint]) is None else rotor for joint in model.joint_names]
        return MujocoPlant(description, rotors=rotors, elastic=elastic, **common)
    unknown = {x.joint.name: known.get(x.joint.name) for x in description.links if x.joint.rotor_inertia is None}
    return ModelPlant(description.with_rotor_inertias(unknown), **common)


def _check_sizes(config: RunConfig, model: RobotModel, where: str) -> Options:
    """Raise unless the scenario has as many values as the robot has joints; the options of the host."""
    if len(q := _start_q(config, model.joint_names, where)) != model.n:
        raise ScenarioError(f"{len(q)} joint positions", where=f"{where}: start.q", valid=f"{model.n}")
    return _host_options(config, model.joint_names, where)


def _start_q(config: RunConfig, joints: Sequence[str], where: str) -> FloatArray:
    return np.array(in_order(config.start.q, joints, f"{where}: start.q"), dtype=float)


def _check_fit(model: RobotModel, config: RunConfig, where: str, law: Any) -> None:
    """Raise unless gains, estimates and reference fit a law, compiled (`host.Law`) or not yet (`law.Law`)."""
    gains = {entry.name: entry for entry in law.gains}
    for name, value in config.law.gains.items():
        place = f"{where}: law.gains"
        if name not in gains:
            raise NameNotFoundError(
                f"law {config.law.name} has no gain '{name}'", where=place, valid=nearest(name, gains)
            )
        size, by_joint = gains[name].size, bool(gains[name].flags & EntryFlag.JOINTS)
        if isinstance(value, Mapping) and by_joint:
            in_order(value, model.joint_names, f"{place}.{name}")
        elif isinstance(value, Mapping):
            raise ScenarioError("names of joints", where=f"{place}.{name}", valid=f"one value, or a list of {size}")
        elif isinstance(value, tuple) and len(value) not in (1, size):
            raise ScenarioError(f"{len(value)} values", where=f"{place}.{name}", valid=f"one, or {size}")
    links = adapted_links(model, law, config)
    for link in config.law.initial_estimates:
        if link not in links:
            raise ScenarioError(
                f"link '{link}' is not adapted",
                where=f"{where}: law.initial_estimates",
                valid=", ".join(links) or "none, the law adapts nothing",
            )
    kind = str(getattr(law.reference_kind, "name", law.reference_kind)).lower()
    if kind == "cartesian" or not config.start.on_reference:  # else the reference says where the joints start
        lower, upper = model.limits("lower"), model.limits("upper")
        check_limits(model.joint_names, _start_q(config, model.joint_names, where), lower, upper, f"{where}: start.q")
    if isinstance(config.reference, Trajectory):  # the same for every robot: nothing compiled is asked
        times = np.arange(0.0, config.steps / config.rate, SPACING)  # `check_reference` looks at every step
        samples = config.reference.unwrapped(model.circles).sample(times)
        _check_samples(samples, kind, config, model.n, where)
        if config.check_reference:
            given = config.host.velocity_limit
            place = f"{where}: host.velocity_limit"
            speeds = model.limits("velocity") if given is None else per_joint(given, model.joint_names, place)
            joints = [replace(x.joint.limits, velocity=float(v)) for x, v in zip(model.links, speeds, strict=True)]
            check_before_compiling(model, law, Limits(joints), samples, times, f"{where}: reference")


def _check_samples(samples: FloatArray, kind: str, config: RunConfig, n: int, where: str) -> None:
    """Raise unless samples of a reference are for laws of a kind, joint or cartesian, on n joints."""
    expected = CARTESIAN_SIZE if kind == "cartesian" else 3 * n
    stated = config.reference
    fits = stated.suits_both or stated.type.startswith("joint") == (kind == "joint")
    if fits and kind == "joint" and samples.shape[1] % 3 == 0 and samples.shape[1] != expected:
        raise ScenarioError(f"a reference of {samples.shape[1] // 3} joints", where=f"{where}: reference", valid=f"{n}")
    if not fits or samples.shape[1] != expected:
        raise ScenarioError(
            f"a reference of type {stated.type} with {samples.shape[1]} values per sample",
            where=where,
            valid=f"a {kind} one with {expected} values, for law {config.law.name}",
        )


def _check_feeds(law: Law, config: RunConfig, standard: int, where: str) -> None:
    """Raise unless the plant measures what the law asks for, and the law has what the scenario writes."""
    further = [entry.name for entry in law.reference if entry.offset >= standard]
    law.check_feeds(measurements=list(MEASUREMENTS), references=further, where=f"{where}: plant")
    unknown = [name for name in config.reference.further if name not in further]
    if unknown:
        raise ScenarioError(
            f"law {law.name} has no further reference '{unknown[0]}'",
            where=f"{where}: reference.further",
            valid=", ".join(further) or "none",
        )


def _start(library: Library, config: RunConfig, samples: FloatArray, where: str) -> tuple[FloatArray, FloatArray]:
    q, n = _start_q(config, library.joint_names, where), library.n_joints
    cartesian = samples.shape[1] == CARTESIAN_SIZE and library.law(config.law.name).reference_kind == "cartesian"
    if config.start.on_reference:
        q = solve_pose(library, samples[0], q, f"{where}: start") if cartesian else samples[0, :n].copy()
    if config.start.velocity == "rest":
        return q, np.zeros(n)
    return q, velocity_of_twist(library, q, samples[0]) if cartesian else samples[0, n : 2 * n].copy()


def _check_same_robot(library: Library, plant: Plant, q: FloatArray, where: str) -> None:
    """Raise unless controller and plant agree on where the end effector is."""
    T = library.evaluate("T_0_ee", q)
    positions, rotations = plant.described_poses(q[None])
    position, rotation = positions[0], rotations[0]
    distance = max(float(np.abs(T[:3, 3] - position).max()), float(np.abs(T[:3, :3] - rotation).max()))
    if distance > KINEMATIC_TOLERANCE:
        raise ScenarioError(
            f"the plant's end effector '{plant.ee_link}' is at {np.round(position, 4).tolist()}, "
            f"the controller's at {np.round(T[:3, 3], 4).tolist()} (poses differ by {distance:.2g})",
            where=f"{where}: plant.ee_link",
            valid="the same kinematics",
        )


def adapted_links(model: RobotModel, law: Any, config: RunConfig) -> tuple[str, ...]:
    """Names of the links that a law, compiled or not, estimates: from its options and its state."""
    if all(entry.name != ESTIMATE for entry in law.state):
        return ()
    options = config.law.options
    return tuple(model.link_names[i] for i in model.select_links(options.get("adapted_links"), options.get("known")))


def _initial_state(library: Library, config: RunConfig, links: tuple[str, ...]) -> dict[str, FloatArray]:
    """First estimates: those of a file, or the robot's own parameters but of the links that the scenario names."""
    if config.law.estimates_file is not None:
        return read_estimates(config.law.estimates_file, Configuration(library, law=config.law.name))
    wanted: Mapping[str, Body] = config.law.initial_estimates
    if not links:
        return {}
    estimates = np.reshape(library.pi, (-1, N_PARAMETERS)).copy()
    for link, body in wanted.items():
        estimates[library.link_names.index(link)] = body.to_inertia().pi
    return {ESTIMATE: np.concatenate([estimates[library.link_names.index(link)] for link in links])}


NOISE_DEVIATIONS = 6.0
"""Standard deviations that a reading may be off: one of 5·10⁸ is off by more."""


def _host_options(config: RunConfig, joints: Sequence[str], where: str) -> Options:
    """Null is the limits of the robot's description, the host's own time or some periods, or infinity.

    The measurement model is the plant's where the section `host` has none, and no better than the host's own default.
    """
    sensors = _measurement_model(config)

    def value(option: OptionInfo) -> Any:
        given = getattr(config.host, option.name)
        if option.name in sensors and option.name not in config.host.model_fields_set:
            return sensors[option.name]
        if isinstance(option.default, tuple):
            return None if given is None else per_joint(given, joints, f"{where}: host.{option.name}")
        if given is None:
            return max(option.default, PERIODS[option.name] / config.rate) if option.name in PERIODS else np.inf
        return given

    return Options(nominal_dt=1.0 / config.rate, **{option.name: value(option) for option in option_list()})


def _measurement_model(config: RunConfig) -> dict[str, Any]:
    """Options of the host that say how late and how noisy the plant is measured and driven.

    What a file of the robot's drives says of them goes first: that is what was found of the plant.
    """
    plant, default = config.plant, Options()
    noise = NOISE_DEVIATIONS * numbers(plant.noise.q_std).max() + numbers(plant.noise.q_resolution).max()
    found = read_measurement(config.robot_options["drives"]) if "drives" in config.robot_options else {}
    return {
        "dead_time": max(default.dead_time, plant.torque_delay),
        "drive_lag": max(default.drive_lag, float(numbers(plant.torque_lag).max())),
        "velocity_cutoff": min(default.velocity_cutoff, plant.velocity_cutoff),
        "position_noise": max(default.position_noise, float(noise)),
        **found,
    }
