"""Records of motions, right ones and wrong ones: which `thunder identify` accepts, and the cause that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.experiments import draws
from thunder_controllers.experiments.experiment import Case, Measured, Settings
from thunder_controllers.experiments.runner import load_robot
from thunder_controllers.host import Library
from thunder_controllers.identification.information import SIGN_SPEED
from thunder_controllers.identification.motion import Fault, Record, UnsoundError, smoothed_states
from thunder_controllers.identification.robot_fit import OFFSET, TERMS, RobotFit, fit_robot
from thunder_controllers.resources import share
from thunder_controllers.simulation.scenario import RunConfig, merged
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_studies.arms import ARMS, ROTOR, Arm, described, robot_file
from thunder_studies.panda import Keys, bodies

FloatArray = NDArray[np.float64]

LAW, OPTIONS = "slotine_li", {"adapted_links": "all"}

PLANTS = {"panda": "urdf/panda.urdf.xacro"}
"""Descriptions for MuJoCo of arms whose robot file is not one."""

UNCERTAINTY = 0.3
"""Of every parameter of every link [1]."""

VISCOUS, COULOMB, OFFSETS = 0.005, 0.005, 0.005
"""Largest friction and offset of a joint, over its effort limit [s/rad], [1], [1]."""

ENCODER, SHARE, FLOOR = 1e-5, 0.01, 0.02
"""White noise: of positions [rad]; of efforts, as a share of each joint's root mean square and beside it [N·m]."""

AMPLITUDE, ROOM, SPEED = 0.8, 0.3, 0.8
"""Of each joint at most and what its range lets it have at least [rad], and its largest speed over its limit."""

FREQUENCY, HARMONICS = 0.1, 5
"""Of the sums of sinusoids [Hz], [1]."""

RATE = HARMONICS / sum(1.0 / k for k in range(1, HARMONICS + 1))
"""Largest speed of one over 2π f and its amplitude."""

GAINS, ZEROS = (0.05, 0.15), (float(np.deg2rad(1.0)), float(np.deg2rad(3.0)))
"""Sizes of errors that are drawn."""

STRIBECK = (0.05, 0.25)
"""Speeds that are drawn [rad/s]."""

SHOWN = 0.2
"""Deviation of a joint's error over the least that is drawn, up to which the motion shows it."""


def draw_records(settings: Settings, row: str) -> Iterator[Keys]:
    """A motion of an arm by the name of the row, for each seed another; nothing where the arm is not installed."""
    yield from _drawn(settings, row, lambda rng, amplitude: (amplitude, FREQUENCY))


def draw_poor(settings: Settings, row: str) -> Iterator[Keys]:
    """The same, with some joints at rest, or all slow."""
    yield from _drawn(settings, row, _poor)


def _poor(rng: draws.Generator, amplitude: FloatArray) -> tuple[FloatArray, float]:
    if rng.random() < 0.5:
        return 0.1 * amplitude, 0.2 * FREQUENCY
    still = rng.permutation(len(amplitude))[: rng.integers(1, len(amplitude))]
    amplitude[still] = 0.0
    return amplitude, FREQUENCY


Motion = Callable[[draws.Generator, FloatArray], tuple[FloatArray, float]]
"""From largest amplitudes to amplitudes and the least frequency [Hz]."""


def _drawn(settings: Settings, row: str, motion: Motion) -> Iterator[Keys]:
    file = robot_file(ARMS[row]) if row in ARMS else share(f"config/robots/{row}.yaml")
    if file is not None:
        yield from ({**_arm(seed, row, file, motion), "seed": seed} for seed in settings.seeds)


def _arm(seed: int, row: str, file: Path, motion: Motion) -> Keys:
    arm = ARMS.get(row, Arm(file.name))
    keys = merged(described(arm, file, LAW), {"law": {"options": OPTIONS}, "check_reference": True, "duration": 120.0})
    if row in PLANTS:
        keys = merged(keys, {"plant": {"engine": "mujoco", "urdf": str(share(PLANTS[row]))}})
    library = _library(keys)
    rng, n = np.random.default_rng([seed, *row.encode()]), library.n_joints
    limit = np.minimum(np.asarray(library.effort_limit), 300.0)
    believed = bodies(library.link_names, library.pi)
    q, room = _posture(rng, library)
    amplitude, frequency = motion(rng, room)
    drives = {"viscous": VISCOUS, "coulomb": COULOMB}
    plant = {
        "inertia": {name: draws.uncertain(body, UNCERTAINTY, rng) for name, body in believed.items()},
        "friction": {name: tuple((most * limit * rng.uniform(0.2, 1.0, n)).tolist()) for name, most in drives.items()},
        "offsets": tuple((OFFSETS * limit * rng.uniform(-1.0, 1.0, n)).tolist()),
        "rotor_inertia": tuple((ROTOR * limit * rng.uniform(0.3, 1.0, n)).tolist()),
        "noise": {"q_std": ENCODER},
    }
    reference = {
        "type": "joint_excitation",
        "centre": q,
        "amplitude": tuple(amplitude.tolist()),
        "frequency": frequency,
        "harmonics": HARMONICS,
        "seed": int(rng.integers(1 << 30)),
    }
    gains = {"Lambda": 10.0, "K_d": tuple((0.1 * limit).tolist())}
    over = {"plant": plant, "reference": reference, "start": {"q": q}, "host": {"accepts_unstable_gains": True}}
    return merged(keys, {**over, "law": {"gains": gains}})


def _library(keys: Keys) -> Library:
    anything = {"reference": {"type": "hold", "position": (0.0, 0.0, 0.0)}, "start": {"q": (0.0,)}}
    return load_robot(RunConfig.model_validate({**keys, **anything})).library


def _posture(rng: draws.Generator, library: Library) -> tuple[tuple[float, ...], FloatArray]:
    """A random one that half of the efforts hold, and how far each joint may go from it and keep limits and speed.

    Every joint has room: the record of one that stands near its limit is a poor one.
    """
    lower, upper = (np.asarray(limit) for limit in (library.position_lower, library.position_upper))
    while True:
        (q,) = draws.postures(rng, library, 1)
        room = 0.9 * np.minimum(q - lower, upper - q)
        is_held = np.abs(library.evaluate("G", q).ravel()) < 0.5 * np.asarray(library.effort_limit)
        if is_held.all() and (room >= ROOM).all():
            fastest = SPEED * np.asarray(library.velocity_limit) / (2.0 * np.pi * FREQUENCY * RATE)
            return tuple(q.tolist()), np.minimum(np.minimum(room, fastest), AMPLITUDE)


def measure_record(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure what is found of a right record, and what is said of the same record with one thing wrong."""
    library, rng = load_robot(case.config).library, np.random.default_rng([case.config.seed, *b"record"])
    record, links = _recorded(trace, rng), range(library.n_joints)
    found = fit_robot(library, record, links, rotors=True)
    values = {f"right: {name}": value for name, value in _right(case, trace, found, library).items()}
    for kind, spoil in SPOILT.items():
        spoilt = spoil(record, found, rng)
        if spoilt is not None:
            said = _said(fit_robot(library, spoilt.record, links, rotors=True), library)
            values |= {f"{kind}: {name}": value for name, value in _judged(kind, said, spoilt.joints, library).items()}
    return Measured({**values, **_stribeck(record, library, _true(case, trace), rng)})


def measure_poor(case: Case, trace: Trace, timing: Timing) -> Measured:
    """Measure what is said of a motion that excites too little."""
    library, rng = load_robot(case.config).library, np.random.default_rng([case.config.seed, *b"record"])
    found = fit_robot(library, _recorded(trace, rng), range(library.n_joints), rotors=True)
    right = _right(case, trace, found, library)
    return Measured({**_judged("poor", _said(found, library), (), library), **right})


def _recorded(trace: Trace, rng: draws.Generator) -> Record:
    """What an independent sensor of efforts would have, as a trace is read."""
    record = Record.of_held(trace.q_measured, trace.effort, (len(trace.t) - 1) / (trace.t[-1] - trace.t[0]))
    noise = SHARE * np.sqrt((record.effort**2).mean(axis=0)) + FLOOR
    return replace(record, effort=record.effort + noise * rng.standard_normal(record.effort.shape))


class Said(NamedTuple):
    """What is said of a record: whether it is accepted, and the cause that is named first, with its text."""

    accepted: bool
    text: str
    fault: Fault | None


def _said(found: RobotFit, library: Library) -> Said:
    try:
        found.check_sound(library.joint_names)
    except UnsoundError as error:
        return Said(False, str(error), error.fault)
    cause = found.diagnosis.cause(library.joint_names)
    return Said(True, cause.what, cause.fault) if cause else Said(True, "", None)


CAUSES = {
    "gains": Fault.GAINS,
    "zeros": Fault.ZEROS,
    "exchanged": Fault.EXCHANGED,
    "poor": Fault.UNEXCITED,
}
"""Cause of each kind."""


def _judged(kind: str, said: Said, joints: tuple[int, ...], library: Library) -> dict[str, float]:
    cause = said.fault == CAUSES[kind]
    named = all(library.joint_names[joint] in said.text for joint in joints)
    silent = said.accepted and not said.text
    return {"accepted": said.accepted, "silent": silent, "cause": cause, "named": cause and named}


def _true(case: Case, trace: Trace) -> FloatArray:
    """All parameters: of bodies, then viscous and Coulomb friction, offset and rotor of each joint."""
    plant = case.config.plant
    assert plant.friction is not None
    terms = plant.friction.viscous, plant.friction.coulomb, plant.offsets, plant.rotor_inertia
    return np.concatenate([trace.truth[-1].ravel(), np.column_stack([np.asarray(term) for term in terms]).ravel()])


def _right(case: Case, trace: Trace, found: RobotFit, library: Library) -> dict[str, float]:
    """Errors of base parameters of bodies, over their norm, and of offsets, and χ² of all that is claimed."""
    true, said = found.base.K @ _true(case, trace), _said(found, library)
    kept, diagnosis = np.array(found.base.kept), found.diagnosis
    error, bodies_ = found.fit.x - true, kept < N_PARAMETERS * library.n_joints
    offset = (kept - N_PARAMETERS * library.n_joints) % len(TERMS) == OFFSET
    return {
        "refused": not said.accepted,
        "noted": said.accepted and bool(said.text),
        "error": float(np.linalg.norm(error[bodies_]) / np.linalg.norm(true[bodies_])),
        "condition": found.condition,
        "doubt": found.doubt,
        "offset": float(np.abs(error[~bodies_ & offset]).max()),
        "surest": max(float((np.abs(one.size) / one.std).max()) for one in (diagnosis.gains, diagnosis.zeros)),
        "invented": float((found.stribeck.size > 0.0).sum()),
        "chi2": float(((error / found.std) ** 2).mean()),
    }


def _stribeck(record: Record, library: Library, true: FloatArray, rng: draws.Generator) -> dict[str, float]:
    """Whether friction that falls with speed is found in the one joint that has it, and in no other."""
    n, joint = library.n_joints, int(rng.integers(library.n_joints))
    size, speed = true[N_PARAMETERS * n :].reshape(n, -1)[joint, 1] * rng.uniform(0.3, 0.8), rng.uniform(*STRIBECK)
    qd = smoothed_states(record)[1][:, joint]
    effort = record.effort.copy()
    effort[:, joint] += size * np.tanh(qd / SIGN_SPEED) * np.exp(-((qd / speed) ** 2))
    found = fit_robot(library, replace(record, effort=effort), range(n), rotors=True).stribeck
    error = {"stribeck: error": abs(float(found.size[joint]) / size - 1.0)} if found.size[joint] else {}
    return {"stribeck: found": float(np.flatnonzero(found.size).tolist() == [joint]), **error}


class Spoilt(NamedTuple):
    """A record, and the joints that are wrong in it."""

    record: Record
    joints: tuple[int, ...]


def _wrong(deviation: FloatArray, least: float, rng: draws.Generator) -> tuple[int, ...]:
    """One to less than half of the joints of which the motion shows that error."""
    shown = np.flatnonzero(deviation < SHOWN * least)
    return tuple(rng.permutation(shown)[: rng.integers(1, max((len(shown) + 1) // 2, 2))].tolist())


def _with_gains(record: Record, found: RobotFit, rng: draws.Generator) -> Spoilt | None:
    joints = list(_wrong(found.diagnosis.gains.std, GAINS[0], rng))
    factors = np.ones(record.q.shape[1])
    factors[joints] += rng.uniform(*GAINS, len(joints)) * rng.choice([-1.0, 1.0], len(joints))
    return Spoilt(replace(record, effort=record.effort * factors), tuple(joints)) if joints else None


def _with_zeros(record: Record, found: RobotFit, rng: draws.Generator) -> Spoilt | None:
    joints = list(_wrong(found.diagnosis.zeros.std, ZEROS[0], rng))
    shift = np.zeros(record.q.shape[1])
    shift[joints] = rng.uniform(*ZEROS, len(joints)) * rng.choice([-1.0, 1.0], len(joints))
    return Spoilt(replace(record, q=record.q + shift), tuple(joints)) if joints else None


def _with_exchange(record: Record, found: RobotFit, rng: draws.Generator) -> Spoilt:
    order, pair = np.arange(record.q.shape[1]), rng.permutation(record.q.shape[1])[:2]
    order[pair] = pair[::-1]
    q = record.q if rng.random() < 0.5 else record.q[:, order]
    return Spoilt(replace(record, q=q, effort=record.effort[:, order]), tuple(pair.tolist()))


SPOILT: Mapping[str, Callable[[Record, RobotFit, draws.Generator], Spoilt | None]] = {
    "gains": _with_gains,
    "zeros": _with_zeros,
    "exchanged": _with_exchange,
}
"""What can be wrong with a record."""
