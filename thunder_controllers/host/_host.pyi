"""
Runs one law of a compiled robot library and guards what goes in and out.
"""
from __future__ import annotations
import collections.abc
import enum
import numpy
import numpy.typing
import os
import pathlib
import thunder_controllers.host.note
import typing
__all__: list[str] = ['BLOCKING_GUARDS', 'Configuration', 'ControlSession', 'Controller', 'Entry', 'Excitation', 'ExcitationReport', 'FAULTS', 'FeedbackMargin', 'Figure', 'Fleet', 'FreeLaw', 'Function', 'Guard', 'HealthReport', 'HealthReporter', 'Law', 'Library', 'Limits', 'MotionLimits', 'OptionInfo', 'Options', 'PoseFollower', 'PosePoint', 'PoseWay', 'ReferenceReader', 'RestingLaw', 'RigidArms', 'SMALLEST_MASS', 'Snapshot', 'Status', 'StopShape', 'TimeLaw', 'TimedJoints', 'TimedPose', 'TrackingError', 'about_com', 'estimate_topics', 'estimated_links', 'fault_text', 'largest_feedback_share', 'margin_poses', 'option_list', 'read_estimates', 'save_estimates', 'total_delay']
class Guard(enum.IntFlag):
    """
    What acted in one update, as bits.
    """
    ADAPTATION_FROZEN: typing.ClassVar[Guard]
    EFFORT_LIMITED: typing.ClassVar[Guard]
    EFFORT_RATE_LIMITED: typing.ClassVar[Guard]
    MEASUREMENT_LOST: typing.ClassVar[Guard]
    MEASUREMENT_NON_FINITE: typing.ClassVar[Guard]
    MEASUREMENT_STALE: typing.ClassVar[Guard]
    MEASUREMENT_UNUSED: typing.ClassVar[Guard]
    MOTION_LIMITED: typing.ClassVar[Guard]
    NOT_ACTIVE: typing.ClassVar[Guard]
    POSITION_EXCEEDED: typing.ClassVar[Guard]
    REFERENCE_LATE: typing.ClassVar[Guard]
    REFERENCE_LIMITED: typing.ClassVar[Guard]
    REFERENCE_STALE: typing.ClassVar[Guard]
    REFERENCE_UNREACHED: typing.ClassVar[Guard]
    RESULT_NON_FINITE: typing.ClassVar[Guard]
    RUNAWAY: typing.ClassVar[Guard]
    STOPPING: typing.ClassVar[Guard]
    TIME_STEP_INVALID: typing.ClassVar[Guard]
    VELOCITY_EXCEEDED: typing.ClassVar[Guard]
    @classmethod
    def __new__(cls, value):
        ...
    def __and__(self, other):
        ...
    def __format__(self, format_spec):
        ...
    def __invert__(self):
        ...
    def __or__(self, other):
        ...
    def __rand__(self, other):
        ...
    def __ror__(self, other):
        ...
    def __rxor__(self, other):
        ...
    def __xor__(self, other):
        ...
class OptionInfo:
    """
    An option of `Options` as data.
    """
    @property
    def default(self) -> bool | float | tuple[float, ...]:
        """
        An empty tuple stands for the library's, of an option with a value per joint.
        """
    @property
    def includes_lower(self) -> bool:
        """
        Whether `lower` itself is valid.
        """
    @property
    def lower(self) -> float:
        """
        Smallest value.
        """
    @property
    def name(self) -> str:
        ...
    @property
    def text(self) -> str:
        """
        What it says, in sentences.
        """
    @property
    def unit(self) -> str:
        """
        SI unit; 1 for pure numbers, empty for switches.
        """
    @property
    def upper(self) -> float:
        """
        Largest value; infinite: infinity is valid, too.
        """
class Options:
    """
    How a controller guards its input and output; immutable.
    
    The defaults suit a 1 kHz effort interface. Limits that are None are the library's.
    """
    def __init__(self, *, nominal_dt: typing.SupportsFloat | typing.SupportsIndex = 0.001, gravity_compensated_by_robot: bool = False, dead_time: typing.SupportsFloat | typing.SupportsIndex = 0.002, drive_lag: typing.SupportsFloat | typing.SupportsIndex = 0.0, velocity_cutoff: typing.SupportsFloat | typing.SupportsIndex = 100.0, velocity_by_differences: bool = True, velocity_by_model: bool = False, position_noise: typing.SupportsFloat | typing.SupportsIndex = 0.001, measurement_timeout: typing.SupportsFloat | typing.SupportsIndex = 0.01, gap_limit: typing.SupportsFloat | typing.SupportsIndex = 0.2, max_dt_ratio: typing.SupportsFloat | typing.SupportsIndex = 10.0, reference_timeout: typing.SupportsFloat | typing.SupportsIndex = ..., rehearses_motions: bool = True, moves_straight: bool = False, approaches_jumps: bool = True, approach_patience: typing.SupportsFloat | typing.SupportsIndex = 1.0, handover_time: typing.SupportsFloat | typing.SupportsIndex = 1.0, saturation_freezes_adaptation: bool = True, effort_limit: numpy.typing.ArrayLike | None = None, effort_rate_limit: numpy.typing.ArrayLike | None = None, velocity_limit: numpy.typing.ArrayLike | None = None, velocity_limit_patience: typing.SupportsFloat | typing.SupportsIndex = 0.5, velocity_stop_ratio: typing.SupportsFloat | typing.SupportsIndex = 3.0, accepts_unstable_gains: bool = False, stop_damping: numpy.typing.ArrayLike | None = None) -> None:
        """
        Check and keep the options; the properties say what they mean. Raises LawError for a value out of bounds.
        """
    @property
    def accepts_unstable_gains(self) -> bool:
        """
        Take gains whose velocity feedback is computed to be unstable at rest even without delay; otherwise they are refused, when the controller is configured and when they change.
        """
    @property
    def approach_patience(self) -> float:
        """
        [s] A streamed pose at rest that the arm does not come nearer to for longer than this, and cannot, is given up for the place where the arm is. Infinite: never.
        """
    @property
    def approaches_jumps(self) -> bool:
        """
        Approach a streamed reference that jumps: joints below half of their velocity limits, poses below the velocities of motions, relative to the stream. Otherwise each sample is taken as it is.
        """
    @property
    def dead_time(self) -> float:
        """
        [s] From a measurement to the moment when the effort that answers it acts: bus, computation and drive. See total_delay.
        """
    @property
    def drive_lag(self) -> float:
        """
        [s] Time constant of the drives' effort.
        """
    @property
    def effort_limit(self) -> numpy.typing.NDArray[numpy.float64] | None:
        """
        [N·m or N] Largest effort of each joint, in the library's order; the library's if none is given.
        """
    @property
    def effort_rate_limit(self) -> numpy.typing.NDArray[numpy.float64] | None:
        """
        [N·m/s or N/s] Largest rate of the effort of each joint, in the library's order, below 1000 N·m/s on a Franka; the library's if none is given, and where that has none: from zero to the effort limit in 25 periods.
        """
    @property
    def gap_limit(self) -> float:
        """
        [s] Without a usable measurement for longer, a stop latches: the arm is braked and the controller deactivates.
        """
    @property
    def gravity_compensated_by_robot(self) -> bool:
        """
        The robot adds its own gravity torque to the command: true on a Franka, false in MuJoCo.
        """
    @property
    def handover_time(self) -> float:
        """
        [s] At the start the difference between the effort that held the arm at rest and the one that the law believes would fades in this time, at half of the effort rate limit at most. An effort smaller than the difference did not hold it, and counts for nothing. It is 2/K at most where the law takes disturbances up with K.
        """
    @property
    def max_dt_ratio(self) -> float:
        """
        [1] The longest period that a law is stepped with, in periods of the loop.
        """
    @property
    def measurement_timeout(self) -> float:
        """
        [s] Measurements (updates, or their time stamps) further apart than this are a gap: the effort ramps to the safe one. Above the period of the loop.
        """
    @property
    def moves_straight(self) -> bool:
        """
        Refuse a motion to a pose where the straight way leaves limits or reach, instead of moving all joints at once there or where that way takes more than four times its time.
        """
    @property
    def nominal_dt(self) -> float:
        """
        [s] Period of the loop, for activation, and for ramps where no valid period is at hand; positive.
        """
    @property
    def position_noise(self) -> float:
        """
        [rad or m] By how much a reading of a position may be off: noise, steps of the encoder. What is off by more, and no motion explains, is bridged for measurement_timeout, then measurement_lost.
        """
    @property
    def reference_timeout(self) -> float:
        """
        [s] A reference stream silent for longer is lost: the motion is brought to rest and held. A stream known for longer gaps is waited for 1.5 of them, up to 1 s. Infinite: never.
        """
    @property
    def rehearses_motions(self) -> bool:
        """
        Play trajectories and motions to a pose before they begin, and refuse those that leave the limits or the reach.
        """
    @property
    def saturation_freezes_adaptation(self) -> bool:
        """
        Keep the adapted part of the state while limits keep more than a hundredth of its effort limit from a joint, on average over 10 ms.
        """
    @property
    def stop_damping(self) -> numpy.typing.NDArray[numpy.float64] | None:
        """
        [N·m·s/rad or N·s/m] Viscous friction of the brake for each joint, in the library's order, with as much dry friction as it is at the velocity limit; what the arm's inertia does not bear of it is left out. Zero: the joint is not braked. If none is given: a quarter of the library's effort limit per velocity limit; where that is infinite, dry friction alone.
        """
    @property
    def velocity_by_differences(self) -> bool:
        """
        Measured velocities are differences of positions, half a period old.
        """
    @property
    def velocity_by_model(self) -> bool:
        """
        The law gets a velocity found from positions, applied efforts and inertia, with a third more margin; guards, brake and soft stops use the measured one. Needs rotors known within 30 %, and joints without springs.
        """
    @property
    def velocity_cutoff(self) -> float:
        """
        [Hz] Cut-off of the first-order low-pass that measured velocities have passed. Infinite: none.
        """
    @property
    def velocity_limit(self) -> numpy.typing.NDArray[numpy.float64] | None:
        """
        [rad/s or m/s] Velocity of each joint, in the library's order, beyond which it is too fast; the library's if none is given.
        """
    @property
    def velocity_limit_patience(self) -> float:
        """
        [s] A joint faster than its velocity limit for longer than this, less half the time in which none is, has run away: a stop latches. Infinite: never.
        """
    @property
    def velocity_stop_ratio(self) -> float:
        """
        [1] A joint faster than so many velocity limits in three good measurements has run away at once; 1 suits arms whose references are smooth.
        """
class Entry:
    """
    One named, shaped, unit-bearing block of a flat vector.
    
    Arrays are read-only and have the entry's shape.
    """
    def __repr__(self) -> str:
        ...
    @property
    def defaults(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Values where none are given.
        """
    @property
    def description(self) -> str:
        """
        What it is.
        """
    @property
    def flags(self) -> int:
        """
        Bits THUNDER_ENTRY_… of the ABI.
        """
    @property
    def guards_activation(self) -> bool:
        """
        Telemetry: activation is refused while it lies outside [lower, upper].
        """
    @property
    def is_adapted(self) -> bool:
        """
        State: an estimate, kept while adaptation is frozen.
        """
    @property
    def is_age(self) -> bool:
        """
        Measurement: the age of the one before it, which a host fills in.
        """
    @property
    def lower(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Least valid values; -inf where there is no bound.
        """
    @property
    def name(self) -> str:
        """
        As functions and mappings take it.
        """
    @property
    def offset(self) -> int:
        """
        Of the first element in the flat vector; elements follow column-major.
        
        0 for arguments of a function.
        """
    @property
    def shape(self) -> tuple[int, ...]:
        """
        (rows,) for one column, else (rows, cols).
        """
    @property
    def size(self) -> int:
        """
        Number of elements.
        """
    @property
    def starts_measured(self) -> bool:
        """
        State: starts from what is measured at activation, unless configured.
        """
    @property
    def unit(self) -> str:
        """
        Of all elements, SI.
        """
    @property
    def upper(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Greatest valid values; inf where there is no bound.
        """
class Law:
    """
    What a library says about one of its laws.
    """
    def check_feeds(self, *, measurements: collections.abc.Sequence[str], references: collections.abc.Sequence[str], where: str) -> None:
        """
        Raises LawError unless all further measurements and references of the law are among these names.
        
        `where` says what knows how to feed them.
        """
    @property
    def description(self) -> str:
        """
        What it does.
        """
    @property
    def gains(self) -> tuple[Entry, ...]:
        """
        Entries of the flat gains.
        """
    @property
    def measurements(self) -> tuple[Entry, ...]:
        """
        Entries of the flat further measurements.
        """
    @property
    def name(self) -> str:
        """
        As `Library.law` takes it.
        """
    @property
    def reference(self) -> tuple[Entry, ...]:
        """
        Entries of the flat reference.
        """
    @property
    def reference_kind(self) -> typing.Literal['joint', 'cartesian']:
        """
        What it follows.
        """
    @property
    def state(self) -> tuple[Entry, ...]:
        """
        Entries of the flat state, estimates included.
        """
    @property
    def telemetry(self) -> tuple[Entry, ...]:
        """
        Entries of what a step tells.
        """
class Function:
    """
    What a library says about one of its functions.
    """
    @property
    def description(self) -> str:
        """
        What it computes.
        """
    @property
    def inputs(self) -> tuple[Entry, ...]:
        """
        In order.
        """
    @property
    def name(self) -> str:
        """
        As `Library.evaluate` takes it.
        """
    @property
    def outputs(self) -> tuple[Entry, ...]:
        """
        In order.
        """
class Library:
    """
    A generated robot library, loaded, checked and constant. Arrays are read-only, SI units.
    """
    def __init__(self, path: str | os.PathLike[str], *, hash: str = '') -> None:
        """
        Verify a library against SHA256SUMS beside it, load it, and check all its metadata.
        
        `path` is the file lib<robot>.so or the generated folder that holds it; `hash` is the content hash that it
        must have, any if empty. What was verified is what runs, whatever becomes of the file.
        
        Raises BuildError if the file, its folder or SHA256SUMS belong to another user than this one and root, or
        others may write them; if the file is not the one listed; if it cannot be loaded, has another ABI version
        or content hash, or contradicts itself.
        """
    def batch(self, name: str, *args: numpy.typing.ArrayLike, threads: typing.SupportsInt | typing.SupportsIndex | None = None, out: numpy.typing.NDArray[typing.Any] | tuple[numpy.typing.NDArray[typing.Any], ...] | None = None, blocks: bool = False, dtype: numpy.typing.DTypeLike | None = None, **kwargs: numpy.typing.ArrayLike) -> typing.Any:
        """
        Evaluate a function, or the step of a law by its name, at many states, without Python between them.
        
        Arguments are those of `evaluate`: with a row for each state, (N, size), or the same for all. Returns
        (N, rows) or (N, rows, cols), or a tuple of them. Those of a step are q, qd, applied_effort, measurements,
        reference, state, gains and dt, flat, and it returns effort, state and telemetry; applied_effort (0),
        measurements, state and gains have defaults. A library that was built with `lanes` computes several states
        at once. `threads` are as many as there are cores if None; the interpreter is free meanwhile, and the
        arrays must not be written to. `out` is what an earlier call returned: it is written again, and returned.
        With `blocks` results stay as lanes have them, (ceil(N / lanes), rows, lanes) or (…, rows, cols, lanes): state
        i is [i // lanes, …, i % lanes], and the last state fills what is left of the last block
        `dtype='float32'` computes in single precision, `single_lanes` states at once, and returns arrays of it; the library
        must have been built with `single`.
        
        Raises as `evaluate` does, and DimensionError for arguments of unequal numbers of rows.
        """
    def evaluate(self, name: str, *args: numpy.typing.ArrayLike, **kwargs: numpy.typing.ArrayLike) -> typing.Any:
        """
        Evaluate a function; arguments by position or name, flat column-major or in their shape.
        
        Arguments named par_… may be left out and are then the robot file's values. Returns an array of the
        output's shape (`Entry.shape`), or a tuple of them if there are several outputs.
        
        Raises NameNotFoundError if there is no such function or argument, DimensionError for an argument that is
        missing or has the wrong size, and LawError for one that is not numeric or where the function fails.
        """
    def function(self, name: str) -> Function:
        """
        Describe a function. Raises NameNotFoundError, which lists the names there are.
        """
    def law(self, name: str) -> Law:
        """
        Describe a law. Raises NameNotFoundError, which lists the names there are.
        """
    def normal_equations(self, name: str, *args: numpy.typing.ArrayLike, weights: numpy.typing.ArrayLike | None = None, b: numpy.typing.ArrayLike | None = None, threads: typing.SupportsInt | typing.SupportsIndex | None = None, **kwargs: numpy.typing.ArrayLike) -> typing.Any:
        """
        Sum Yᵀ W Y over many states, and with `b` Yᵀ W b, of a regressor that is stored at none of them.
        
        `name` is that of the regressor, Yr, Y or Yb: the library needs the functions <name>_packed and
        <name>_places too. Arguments are those of `batch`. `weights` is the diagonal of W, (N, rows) or (rows,) for
        all, 1 if None; `b` is (N, rows) or (rows,). Of each pair of columns only the rows are multiplied that have
        both. Returns the sum (cols, cols), or that and the sum (cols,).
        
        Raises as `batch` does.
        """
    @property
    def acceleration_limit(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad/s² or m/s²]
        """
    @property
    def effort_corner_velocity(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad/s or m/s] Up to which the effort that drives is the whole one.
        """
    @property
    def effort_limit(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [N·m or N] At rest, see `Limits.effort_at`.
        """
    @property
    def effort_no_load_velocity(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad/s or m/s] At which no effort that drives is left.
        """
    @property
    def effort_rate_limit(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [N·m/s or N/s]
        """
    @property
    def functions(self) -> tuple[str, ...]:
        """
        Names that `function` and `evaluate` take.
        """
    @property
    def generator(self) -> str:
        """
        Version of the generator.
        """
    @property
    def hash(self) -> str:
        """
        Of its contents, lower-case hexadecimal.
        """
    @property
    def joint_names(self) -> tuple[str, ...]:
        """
        From the base on; all vectors of joints have this order.
        """
    @property
    def joint_topology(self) -> numpy.typing.NDArray[numpy.int32]:
        """
        Per joint, as `joints.Topology`: 0 on a line, 1 on a circle, where whole turns are one place.
        """
    @property
    def lanes(self) -> int:
        """
        States that `batch` computes at once in a thread; 0: one, it was built without.
        """
    @property
    def laws(self) -> tuple[str, ...]:
        """
        Names that `law` takes.
        """
    @property
    def link_names(self) -> tuple[str, ...]:
        """
        Each is moved by the joint of its place.
        """
    @property
    def n_joints(self) -> int:
        """
        n of all shapes.
        """
    @property
    def parameter_groups(self) -> tuple[Entry, ...]:
        """
        Run-time parameters of the robot, with the robot file's values.
        """
    @property
    def path(self) -> str:
        """
        Of the file, without symbolic links.
        """
    @property
    def pi(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        10·n_joints inertial parameters about the frame origins, in the order of `inertia.PARAMETERS`.
        """
    @property
    def position_lower(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad or m]
        """
    @property
    def position_upper(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad or m]
        """
    @property
    def robot(self) -> str:
        """
        Name of the robot.
        """
    @property
    def rotor_inertia(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [kg·m² or kg] What the rotor of each joint adds to the diagonal of M, or of M_rigid where it is elastic, which
        is Mm then; NaN: unknown.
        """
    @property
    def single_lanes(self) -> int:
        """
        The same in single precision; 0: it was built without `single`.
        """
    @property
    def velocity_deceleration(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad/s² or m/s²] To a stop at an end, see `Limits.velocity_at`.
        """
    @property
    def velocity_limit(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad/s or m/s] Far from the ends, see `Limits.velocity_at`.
        """
    @property
    def velocity_offset(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad/s or m/s] See `Limits.velocity_at`.
        """
class MotionLimits:
    """
    Bounds of the motions that a controller makes itself; immutable, positive and finite.
    """
    def __init__(self, *, linear_velocity: typing.SupportsFloat | typing.SupportsIndex = 0.25, linear_acceleration: typing.SupportsFloat | typing.SupportsIndex = 1.0, linear_jerk: typing.SupportsFloat | typing.SupportsIndex = 10.0, angular_velocity: typing.SupportsFloat | typing.SupportsIndex = 1.0, angular_acceleration: typing.SupportsFloat | typing.SupportsIndex = 4.0, angular_jerk: typing.SupportsFloat | typing.SupportsIndex = 40.0, joint_acceleration: typing.SupportsFloat | typing.SupportsIndex = 4.0) -> None:
        """
        Check and keep the bounds. Raises LawError for one that is not positive and finite.
        """
    @property
    def angular_acceleration(self) -> float:
        """
        [rad/s²] Also while it comes to rest.
        """
    @property
    def angular_jerk(self) -> float:
        """
        [rad/s³]
        """
    @property
    def angular_velocity(self) -> float:
        """
        [rad/s] Of the end effector on the way to a pose.
        """
    @property
    def joint_acceleration(self) -> float:
        """
        [rad/s² or m/s²] While joints come to rest.
        """
    @property
    def linear_acceleration(self) -> float:
        """
        [m/s²] Also while it comes to rest.
        """
    @property
    def linear_jerk(self) -> float:
        """
        [m/s³]
        """
    @property
    def linear_velocity(self) -> float:
        """
        [m/s] Of the end effector on the way to a pose.
        """
class TimeLaw:
    """
    The fastest way of a scalar from 0 to 1 within bounds, at rest at both ends.
    """
    def __init__(self, velocity: typing.SupportsFloat | typing.SupportsIndex, acceleration: typing.SupportsFloat | typing.SupportsIndex, jerk: typing.SupportsFloat | typing.SupportsIndex) -> None:
        """
        Bounds in 1/s, 1/s², 1/s³. Raises LawError unless they are positive and finite.
        """
    def jerk(self, times: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> numpy.typing.NDArray[numpy.float64]:
        """
        Third derivative [1/s³] at times [s] of shape (k,), which jumps between its phases: shape (k,).
        """
    def sample(self, times: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> numpy.typing.NDArray[numpy.float64]:
        """
        Rows of value [1], first [1/s] and second derivative [1/s²] at times [s] of shape (k,): shape (k, 3).
        
        At rest before the start and after the end.
        """
    @property
    def duration(self) -> float:
        """
        [s] Of the whole way.
        """
class StopShape:
    """
    Brings a velocity v₀ and an acceleration a₀ smoothly to zero.
    
    v(u) = (1 − 3u² + 2u³) v₀ + T u(1 − u)² a₀, u = t/T.
    """
    def __init__(self, duration: typing.SupportsFloat | typing.SupportsIndex) -> None:
        """
        T [s], positive.
        """
    def at(self, time: typing.SupportsFloat | typing.SupportsIndex, velocity: typing.SupportsFloat | typing.SupportsIndex, acceleration: typing.SupportsFloat | typing.SupportsIndex) -> tuple[float, float, float]:
        """
        Way so far, velocity and acceleration at a time [s], from v₀ and a₀; exactly at rest from T on.
        """
class TimedPose:
    """
    A pose of the end effector in the world frame, and when it is passed.
    """
    def __init__(self, time: typing.SupportsFloat | typing.SupportsIndex, position: numpy.typing.ArrayLike, orientation: numpy.typing.ArrayLike, twist: numpy.typing.ArrayLike | None = None, acceleration: numpy.typing.ArrayLike | None = None) -> None:
        """
        Keep the numbers; `follow` checks what they say.
        
        Raises LawError where they are not numeric, DimensionError for another number of values.
        """
    def end_effector_of(self, translation: numpy.typing.ArrayLike, rotation: numpy.typing.ArrayLike, where: str) -> TimedPose:
        """
        The end effector of this point of a tool, which is at translation [m], turned by rotation, in its frame.
        
        Twist and acceleration are those of the tool's origin. Raises LawError for the latter without the former.
        """
    def placed(self, translation: numpy.typing.ArrayLike, rotation: numpy.typing.ArrayLike) -> TimedPose:
        """
        This point, given in a frame that stands still at translation [m], turned by the quaternion x, y, z, w, in
        the frame that these are in.
        """
    @property
    def acceleration(self) -> numpy.typing.NDArray[numpy.float64] | None:
        """
        [m/s², rad/s²] Derivative of the twist, shape (6,); None: as the motion needs it.
        """
    @property
    def orientation(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Quaternion x, y, z, w, shape (4,).
        """
    @property
    def position(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [m] Shape (3,).
        """
    @property
    def time(self) -> float:
        """
        [s] From the start of the motion.
        """
    @property
    def twist(self) -> numpy.typing.NDArray[numpy.float64] | None:
        """
        [m/s, rad/s] Linear part first, shape (6,); None: as the motion needs it.
        """
class TimedJoints:
    """
    Positions of all joints, and when they are passed.
    """
    def __init__(self, time: typing.SupportsFloat | typing.SupportsIndex, q: numpy.typing.ArrayLike, qd: numpy.typing.ArrayLike | None = None, qdd: numpy.typing.ArrayLike | None = None) -> None:
        """
        Keep the numbers; `follow` checks what they say. Raises LawError where they are no flat numbers.
        """
    @property
    def q(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad or m] Shape (n,).
        """
    @property
    def qd(self) -> numpy.typing.NDArray[numpy.float64] | None:
        """
        [rad/s or m/s] Shape (n,); None: as the motion needs it.
        """
    @property
    def qdd(self) -> numpy.typing.NDArray[numpy.float64] | None:
        """
        [rad/s² or m/s²] Shape (n,); None: as the motion needs it.
        """
    @property
    def time(self) -> float:
        """
        [s] From the start of the motion.
        """
class Figure:
    """
    A motion without end about the place where the reference rests: sinusoids of each coordinate.
    
    x_k(σ) = x_k(0) + Σ A_i (sin(2π f_i σ + φ_i) − sin φ_i), i = k, k + n, …, of the n coordinates:
    the position of a pose, whose orientation stays, or all joints. The clock σ(t) starts from rest.
    """
    def __init__(self, amplitude: numpy.typing.ArrayLike, frequency: numpy.typing.ArrayLike, phase: numpy.typing.ArrayLike = [0.0], ramp_time: typing.SupportsFloat | typing.SupportsIndex = 2.0) -> None:
        """
        Keep the numbers; `trace` checks what they say. Raises LawError where they are no flat numbers.
        
        Fewer values than coordinates are used again in turn; a multiple of them are further sinusoids. Without
        frequencies they are 0.1, 0.2, 0.15, 0.25 Hz in turn.
        """
    @property
    def amplitude(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [m or rad] A.
        """
    @property
    def frequency(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [Hz] f.
        """
    @property
    def phase(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad] φ.
        """
    @property
    def ramp_time(self) -> float:
        """
        [s] Until the clock runs at the rate of time.
        """
class PoseWay:
    """
    On which way a motion to a pose goes, as `move_to_pose` returns it.
    """
    def __str__(self) -> str:
        ...
    @property
    def is_straight(self) -> bool:
        """
        On a straight line; else all joints move at once.
        """
    @property
    def pace(self) -> float:
        """
        Times the time that the motion limits ask for: 1, or what the joints need.
        """
class Limits:
    """
    The limits of an arm, shape (n,) each, as functions of its state.
    """
    @staticmethod
    def described(library: Library) -> Limits:
        """
        Those of the library's description, infinite where it has none.
        """
    @typing.overload
    def __init__(self, library: Library, options: Options = ...) -> None:
        """
        Those that a controller keeps: the options' or the library's, effort and effort rate finite.
        
        Raises LawError for a joint without an effort limit: nothing can stand for that.
        """
    @typing.overload
    def __init__(self, joints: collections.abc.Sequence) -> None:
        """
        Those of joints: `thunder_dynamics.joints.Limits` of each.
        """
    def effort_at(self, qd: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> numpy.typing.NDArray[numpy.float64]:
        """
        The largest effort that drives each joint [N·m or N] at q̇ [rad/s or m/s], shape (…, n).
        
        The whole one up to the corner velocity, from there linearly to zero at the no-load velocity. What brakes a
        joint may be the whole one.
        """
    def velocity_at(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]:
        """
        Lower and upper limit of the velocity [rad/s or m/s] at q [rad or m], shape (…, n), of that shape each.
        
        At a distance d from the end that a joint moves towards: min(v, max(0, √(2 a d) − o)), with `velocity`,
        `velocity_deceleration`, `velocity_offset` [libfranka 0.21, joint_velocity_limits.cpp].
        """
    @property
    def acceleration(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad/s² or m/s²]
        """
    @property
    def effort(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [N·m or N] At rest, see `Limits.effort_at`.
        """
    @property
    def effort_corner_velocity(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad/s or m/s] Up to which the effort that drives is the whole one.
        """
    @property
    def effort_no_load_velocity(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad/s or m/s] At which no effort that drives is left.
        """
    @property
    def effort_rate(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [N·m/s or N/s]
        """
    @property
    def notes(self) -> list[thunder_controllers.host.note.Note]:
        """
        What the robot's description leaves open and what was done about it, a sentence each.
        """
    @property
    def position_lower(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad or m]
        """
    @property
    def position_upper(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad or m]
        """
    @property
    def velocity(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad/s or m/s] Far from the ends, see `Limits.velocity_at`.
        """
    @property
    def velocity_deceleration(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad/s² or m/s²] To a stop at an end, see `Limits.velocity_at`.
        """
    @property
    def velocity_offset(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad/s or m/s] See `Limits.velocity_at`.
        """
class Status:
    """
    What a controller was doing when it was asked.
    """
    @property
    def adaptation_frozen(self) -> bool:
        """
        By request, see `Controller.freeze_adaptation`.
        """
    @property
    def counters(self) -> dict[str, int]:
        """
        Updates in which each guard acted, since activation.
        """
    @property
    def guard_names(self) -> tuple[str, ...]:
        """
        Names of these bits.
        """
    @property
    def guards(self) -> int:
        """
        Of the last update, bits of `Guard`.
        """
    @property
    def max_step_ns(self) -> int:
        """
        [ns] Of the longest update since activation.
        """
    @property
    def mean_step_ns(self) -> float:
        """
        [ns] Mean since activation.
        """
    @property
    def step_histogram(self) -> tuple[numpy.typing.NDArray[numpy.uint64], numpy.typing.NDArray[numpy.uint64]]:
        """
        Bin edges [ns] and counts of the duration of updates, four bins to the octave.
        """
    @property
    def updates(self) -> int:
        """
        Number since activation.
        """
class Controller:
    """
    Runs one law of one library and guards what goes in and out.
    
    Lifecycle: unconfigured –configure→ inactive –activate→ active –deactivate→ inactive. Where the law is not
    stepped the command approaches the safe effort at the rate limit: gravity torque G at the last good position,
    or zero if the robot compensates gravity itself. Methods raise LawError in the wrong lifecycle state.
    """
    def __init__(self) -> None:
        """
        Unconfigured.
        """
    def activate(self, q: numpy.typing.ArrayLike, qd: numpy.typing.ArrayLike | None = None, held_effort: numpy.typing.ArrayLike | None = None) -> None:
        """
        Start from a measured position [rad or m] and velocity (None: at rest), shape (n,).
        
        The reference is what was written since configure or deactivate, else the place at q. The effort
        goes from held_effort [N·m or N] to the law's in Options.handover_time; None: from the one commanded
        last, at first the safe one. Estimates survive from an earlier activation.
        
        Raises LawError unless inactive, for q not finite or out of its limits, qd or held_effort not finite,
        held_effort beyond the effort limits, and where a trial step is not finite or its telemetry forbids it.
        """
    def begin_stop(self) -> None:
        """
        Approach the safe effort until the next activation; `has_stopped` says when it is reached.
        """
    def configure(self, library: Library, *, law: str, gains: collections.abc.Mapping[str, numpy.typing.ArrayLike | collections.abc.Mapping[str, float]] = {}, initial_state: collections.abc.Mapping[str, numpy.typing.ArrayLike | collections.abc.Mapping[str, float]] = {}, options: Options = ...) -> None:
        """
        Prepare a law; what is not given has its default, and one value stands for a whole entry.
        
        Raises LawError while active or for a value that is not finite or out of bounds, NameNotFoundError for a
        law, gain or state that is not there, DimensionError for a wrong size, and BuildError if the library
        lacks G(q), or, for a cartesian law, T_0_ee(q) or J_ee(q).
        """
    def configure_as(self, other: Controller) -> None:
        """
        Prepare the same as another controller was configured for, whose gains were looked at then.
        
        Raises LawError while active, or if the other is unconfigured.
        """
    def deactivate(self) -> None:
        """
        Approach the safe effort, without damping, in the following updates and forget the reference.
        """
    def follow(self, points: collections.abc.Sequence[TimedPose] | collections.abc.Sequence[TimedJoints]) -> None:
        """
        Move the reference through timed points, acceleration continuous, to rest at the last one.
        
        Quintic pieces; what is not given of velocities and accelerations is that of the clamped cubic spline. A
        point at time zero must lie within 0.01 (m, rad, quaternion elements) of the sample in effect, and is
        left out.
        
        Raises LawError unless active, for points of the other kind of law, times that do not increase or have no
        positive one, values out of bounds, rates given to a part of the points, a velocity at the end, or a turn
        above 2 rad; DimensionError for another number of joints.
        """
    def freeze_adaptation(self, freeze: bool) -> None:
        """
        Keep the adapted part of the state constant until told otherwise.
        """
    def gain(self, name: str) -> numpy.typing.NDArray[numpy.float64]:
        """
        Copy one gain as written last, in its shape. Raises NameNotFoundError.
        """
    def hold_reference(self) -> None:
        """
        Hold the place where the next update finds the robot: q, or the pose of the end effector.
        """
    def move_to_pose(self, position: numpy.typing.ArrayLike, orientation: numpy.typing.ArrayLike) -> PoseWay:
        """
        Move the reference to rest at a position [m], shape (3,), and quaternion x, y, z, w.
        
        It goes on a straight line and turns about one axis, within the limits; a moving reference first comes to
        rest. Like `follow` and `stop_motion` it begins with the next update at the sample in effect, continuous
        in position, velocity and acceleration; the last request wins.
        
        It takes the time that the joints need. Where the straight way leaves limits or reach, or takes more than four
        times its time, all joints move at once, unless `moves_straight`; if that leaves them, too, it is refused.
        Returns which way it is.
        
        Raises LawError unless active, for a joint law, and for no such pose; what was followed before goes on.
        """
    def reference(self, name: str) -> numpy.typing.NDArray[numpy.float64]:
        """
        Copy one entry of the reference in effect, as the last update or activation used it.
        
        Raises NameNotFoundError.
        """
    def reset_state(self) -> None:
        """
        Back to the initial state, estimates included: at the next step while active, else at once.
        """
    def set_gain(self, name: str, values: numpy.typing.ArrayLike) -> None:
        """
        Change a gain, also while active. Raises as `configure` does; the gain is then unchanged.
        """
    def set_measurement(self, name: str, values: numpy.typing.ArrayLike, time: typing.SupportsFloat | typing.SupportsIndex | None = None) -> None:
        """
        Write one further measurement of the law, flat; it stays until it is written again.
        
        One that has an age comes with the time at which it was made [s], on the clock of `t` of `update`; activation
        forgets it. A step is not made with another that is not finite. Raises NameNotFoundError, DimensionError for a
        wrong number of values, and LawError for an age, for a time that is missing, not finite or of no use, and for
        values with an age that are not finite.
        """
    def set_motion_limits(self, limits: MotionLimits) -> None:
        """
        Bound the motions that begin from now on; `configure` brings the defaults back.
        """
    def set_reference(self, values: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> None:
        """
        Write the whole flat reference, or its standard entries alone; the next update uses it.
        
        Raises DimensionError for a wrong number of values, LawError where one is not finite or out of bounds, or
        the rotation is none.
        """
    def set_reference_entry(self, name: str, values: numpy.typing.ArrayLike) -> None:
        """
        Write one entry; standard ones that were not written since the last hold keep holding.
        
        Raises as `set_reference` does, and NameNotFoundError.
        """
    def state(self, name: str) -> numpy.typing.NDArray[numpy.float64]:
        """
        Copy one entry of the state, in its shape. Raises NameNotFoundError.
        """
    def stop_motion(self) -> None:
        """
        Bring the reference smoothly to rest, from timed points or a figure on their way, and hold that place. Raises
        LawError unless active.
        """
    def telemetry(self, name: str) -> numpy.typing.NDArray[numpy.float64]:
        """
        Copy one entry of the telemetry of the last law step, in its shape. Raises NameNotFoundError.
        """
    def trace(self, figure: Figure) -> None:
        """
        Bring the reference to rest, then along a figure about that place, until something else is asked for.
        
        Raises LawError unless active, for values that are not finite, negative frequencies, a ramp time that is
        not positive, and where the joints cannot follow; DimensionError for a wrong number of values.
        """
    def update(self, t: typing.SupportsFloat | typing.SupportsIndex, q: numpy.typing.NDArray[numpy.float64], qd: numpy.typing.NDArray[numpy.float64], dt: typing.SupportsFloat | typing.SupportsIndex, effort: numpy.typing.NDArray[numpy.float64]) -> int:
        """
        Run one control step and write the effort [N·m or N], always finite and inside the limits, in place.
        
        t [s] is the time stamp of the measurement, dt [s] the period; q [rad or m], qd [rad/s or m/s] and effort
        are contiguous float64 of shape (n,). Returns the bits of `Guard` that acted.
        
        Raises TypeError for another kind of array, DimensionError for another shape.
        """
    @property
    def doubt(self) -> str:
        """
        Why the measurement is lost: the joint and both numbers. Empty where no joint is known to
        be why. Raises LawError if not configured.
        """
    @property
    def effort(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [N·m or N] The last command, shape (n,).
        """
    @property
    def gain_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        All gains, flat.
        """
    @property
    def has_stopped(self) -> bool:
        """
        Whether a stop has reached the safe effort and the joints rest: commanding may end.
        """
    @property
    def last_step_ns(self) -> int:
        """
        [ns] Duration of the last update inside C++.
        """
    @property
    def law(self) -> str:
        """
        Name of what runs.
        """
    @property
    def lifecycle(self) -> typing.Literal['unconfigured', 'inactive', 'active']:
        """
        See the class.
        """
    @property
    def notes(self) -> list[thunder_controllers.host.note.Note]:
        """
        What configure has noticed, a sentence each: those of `Limits`, and where gains, rate
        and bounds of the estimates leave no margin, see `RestingLaw`.
        """
    @property
    def options(self) -> Options:
        """
        As configured.
        """
    @property
    def reference_source(self) -> typing.Literal['hold', 'stream', 'motion', 'stopping']:
        """
        What the reference of the last update followed.
        
        Stopping until it rests after `stop_motion`, and until the next request after a lost
        stream.
        """
    @property
    def reference_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        The whole flat reference in effect.
        """
    @property
    def state_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        The whole flat state.
        """
    @property
    def status(self) -> Status:
        """
        Copied now.
        """
    @property
    def telemetry_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        The whole flat telemetry.
        """
class Fleet:
    """
    Active controllers of one law of one library, updated together, each as by itself.
    
    Where the library was built with `lanes`, the law's steps are computed several at once.
    """
    def __init__(self, controllers: collections.abc.Sequence[Controller]) -> None:
        """
        Raises LawError unless there is one, and all have the same law of the same `Library`.
        """
    def update(self, t: typing.SupportsFloat | typing.SupportsIndex, reference: numpy.typing.NDArray[numpy.float64], q: numpy.typing.NDArray[numpy.float64], qd: numpy.typing.NDArray[numpy.float64], dt: typing.SupportsFloat | typing.SupportsIndex, effort: numpy.typing.NDArray[numpy.float64], guards: numpy.typing.NDArray[numpy.uint32], state: numpy.typing.NDArray[numpy.float64], telemetry: numpy.typing.NDArray[numpy.float64]) -> None:
        """
        `Controller.set_reference` and `update` of each: a row for each controller in every array.
        
        Writes effort (N, n), the bits of `Guard` (N, 1) uint32, state and telemetry (N, …), flat. Rows are
        contiguous. Raises DimensionError for another shape, and as those do.
        """
class RigidArms:
    """
    Arms of one robot that move by M q̈ + C q̇ + G = τ − o − τ_f, τ_f = Dl_1 q̇ + Dl_2 |q̇| q̇ + … + Fc tanh(q̇/v_s).
    
    Integrated by Runge–Kutta of order four, as many at once as the library has lanes. A step has as many parts as
    are stable at rest, where friction damps joints at M⁻¹D, D = Dl_1 + Fc/v_s: a joint that sticks would oscillate
    otherwise. An arm whose M is singular moves to what is not finite. Arrays have a contiguous row for each arm;
    those of the properties are read whenever the arms move.
    """
    def __init__(self, library: Library, *, bodies: numpy.typing.NDArray[numpy.float64], rotors: numpy.typing.NDArray[numpy.float64], offsets: numpy.typing.NDArray[numpy.float64], coulomb: numpy.typing.NDArray[numpy.float64], viscous: collections.abc.Sequence[typing.Annotated[numpy.typing.ArrayLike, numpy.float64]], smoothing: typing.SupportsFloat | typing.SupportsIndex, longest: typing.SupportsFloat | typing.SupportsIndex) -> None:
        """
        `bodies` are par_DYN (N, 10·n), `rotors` par_Ia (N, n), `viscous` Dl_1, Dl_2, … (N, n) each, `smoothing` v_s;
        `longest` is the longest part of a step, in times 1/λ of a damped joint's λ.
        
        Raises NameNotFoundError unless the library has forward_dynamics and M_inv, and DimensionError.
        """
    def accelerate(self, q: numpy.typing.NDArray[numpy.float64], qd: numpy.typing.NDArray[numpy.float64], effort: numpy.typing.NDArray[numpy.float64]) -> numpy.typing.NDArray[numpy.float64]:
        """
        q̈ under efforts, (N, n). Raises DimensionError.
        """
    def advance(self, q: numpy.typing.NDArray[numpy.float64], qd: numpy.typing.NDArray[numpy.float64], effort: numpy.typing.NDArray[numpy.float64], step: typing.SupportsFloat | typing.SupportsIndex, steps: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Move (q, qd) by so many steps [s] under constant efforts, (N, n) each. Raises DimensionError.
        """
    def count_parts(self, q: numpy.typing.NDArray[numpy.float64], step: typing.SupportsFloat | typing.SupportsIndex) -> numpy.typing.NDArray[numpy.float64]:
        """
        In how many parts each arm would make a step [s] from there, (N,). Raises DimensionError.
        """
class FreeLaw:
    """
    A law whose steps are given by the caller, sample by sample: nothing is guarded, limited or commanded,
    and adaptation is never frozen. Further measurements have their defaults.
    """
    def __init__(self, library: Library, *, law: str, gains: collections.abc.Mapping[str, numpy.typing.ArrayLike | collections.abc.Mapping[str, float]] = {}, initial_state: collections.abc.Mapping[str, numpy.typing.ArrayLike | collections.abc.Mapping[str, float]] = {}) -> None:
        """
        What is not given has its default. Raises as `Controller.configure` does.
        """
    def set_gain(self, name: str, values: numpy.typing.ArrayLike) -> None:
        """
        Change a gain. Raises as `Controller.set_gain` does.
        """
    def step(self, q: numpy.typing.ArrayLike, qd: numpy.typing.ArrayLike, applied_effort: numpy.typing.ArrayLike, reference: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], dt: typing.SupportsFloat | typing.SupportsIndex) -> numpy.typing.NDArray[numpy.float64]:
        """
        Step with positions [rad or m], velocities, the effort since the step before [N·m or N], (n,) each, the flat
        reference or its standard entries, and the time since the step before [s]; the effort that the law asks for.
        
        Raises DimensionError, and LawError where the step is not finite; the state is then unchanged.
        """
    @property
    def state_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        The whole flat state, after the last step.
        """
    @property
    def telemetry_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        The whole flat telemetry of the last step.
        """
class FeedbackMargin:
    """
    The velocity feedback of a law at rest, where it is fastest.
    """
    @property
    def joint(self) -> int:
        """
        Index of the joint that does most of it.
        """
    @property
    def q(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad or m] The pose.
        """
    @property
    def share(self) -> float:
        """
        [1] Of a speed, what it takes away in a period: an eigenvalue of −M⁻¹ ∂τ/∂q̇ times the period.
        """
class RestingLaw:
    """
    A law that holds a pose, its states at their initial values; the posture of a redundant arm (gain
    q_home) is the pose.
    """
    def __init__(self, library: Library, *, law: str, gains: collections.abc.Mapping[str, numpy.typing.ArrayLike | collections.abc.Mapping[str, float]] = {}, initial_state: collections.abc.Mapping[str, numpy.typing.ArrayLike | collections.abc.Mapping[str, float]] = {}, options: Options = ...) -> None:
        """
        Raises as `Controller.configure` does.
        """
    def feedback(self, q: numpy.typing.ArrayLike) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]:
        """
        Differentiate the second step at a pose (n,), [rad or m]: ∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂τ⁻, (n, n) each, where τ⁻ is the
        effort of the step before; then ∂x⁺/∂(q, q̇, τ⁻), ∂x⁺/∂x and ∂τ/∂x of the m states that no estimate is,
        (m, 3 n), (m, m) and (n, m). Estimates stay as they are. Raises LawError where it is not finite.
        """
    def find_fastest(self) -> FeedbackMargin | None:
        """
        Look at 20 `margin_poses`, and from the fastest of them on, joint by joint, for a faster one.
        
        A loop bears a share up to `largest_feedback_share`. The arm is rigid,
        without friction. None if the step is finite at no pose.
        """
    def gain(self, name: str) -> numpy.typing.NDArray[numpy.float64]:
        """
        Copy a gain, flat. Raises NameNotFoundError.
        """
    def set_gain(self, name: str, values: numpy.typing.ArrayLike) -> None:
        """
        Change a gain. Raises as `Controller.set_gain` does.
        """
class Configuration:
    """
    What of a library is to run, chosen and checked.
    """
    def __init__(self, library: Library, *, robot: str = '', law: str = '', joints: collections.abc.Sequence[str] = []) -> None:
        """
        Empty texts and names mean any robot, the only law, the library's joints.
        
        Joints are the library's in any order, or as many others, matched by what tells each apart from the rest
        (fr3_joint2 is panda_joint2), else by place.
        
        Raises BuildError for another robot, NameNotFoundError for a law that is not there or not the only one,
        and for joints that are missing, unknown or given twice.
        """
    def estimates_path(self, node: str) -> pathlib.Path:
        """
        The file that a node, by its full name, saves estimates to where no other is named: below ROS_HOME, or
        ~/.ros.
        """
    @property
    def carrying_link(self) -> str:
        """
        That carries what the law tells of bodies picked up; empty if it tells of none.
        """
    @property
    def is_cartesian(self) -> bool:
        """
        Whether the law follows poses.
        """
    @property
    def joints(self) -> tuple[str, ...]:
        """
        Names that measurements and commands have, in the library's order.
        """
    @property
    def law(self) -> Law:
        """
        What is to run.
        """
    @property
    def library(self) -> Library:
        """
        That it was chosen from.
        """
    @property
    def links(self) -> tuple[str, ...]:
        """
        Whose parameters the law estimates.
        """
    @property
    def robot(self) -> str:
        """
        Name of the robot.
        """
class Snapshot:
    """
    Copies of what one update used and computed; arrays are read-only.
    """
    def state(self, name: str) -> numpy.typing.NDArray[numpy.float64]:
        """
        One entry of the state, in its shape. Raises NameNotFoundError.
        """
    def telemetry(self, name: str) -> numpy.typing.NDArray[numpy.float64]:
        """
        One entry of the telemetry, in its shape. Raises NameNotFoundError.
        """
    @property
    def activation(self) -> int:
        """
        Number of its activation; 0: before the first.
        """
    @property
    def counters(self) -> dict[str, int]:
        """
        Updates in which each guard acted, since activation.
        """
    @property
    def effort(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [N·m or N] The command, shape (n,).
        """
    @property
    def guards(self) -> int:
        """
        Of the update, bits of `Guard`.
        """
    @property
    def is_active(self) -> bool:
        """
        Whether that activation lasts; else state and effort are those of rest.
        """
    @property
    def is_frozen(self) -> bool:
        """
        Whether the estimates are kept by request.
        """
    @property
    def lost_references(self) -> int:
        """
        How often a stream fell silent since the session began.
        """
    @property
    def q(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad or m] Shape (n,), NaN before the first measurement.
        """
    @property
    def qd(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad/s or m/s] Shape (n,), as q.
        """
    @property
    def reference_source(self) -> str:
        """
        hold, stream, motion, stopping or stopping after a lost stream.
        """
    @property
    def reference_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        The whole flat reference that the law followed.
        """
    @property
    def request(self) -> int:
        """
        Number of the request that the reference follows; see `follow`.
        """
    @property
    def stamp(self) -> int:
        """
        [ns] Of the measurement, as messages are stamped.
        """
    @property
    def state_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        The whole flat state.
        """
    @property
    def telemetry_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        The whole flat telemetry.
        """
    @property
    def time(self) -> float:
        """
        [s] The same, as updates count it.
        """
    @property
    def updates(self) -> int:
        """
        Number since activation.
        """
class ControlSession:
    """
    A configured controller, and what every shell around it decides alike.
    """
    def __init__(self, configuration: Configuration, options: Options, *, gains: dict[str, typing.Any] = {}, estimates: dict[str, typing.Any] = {}) -> None:
        """
        Gains and estimates that are not given have their defaults.
        
        Raises as `Controller.configure` does, and DimensionError for a gain that is not given whole.
        """
    def activate(self, q: numpy.typing.ArrayLike, qd: numpy.typing.ArrayLike | None = None, held_effort: numpy.typing.ArrayLike | None = None, max_error: typing.SupportsFloat | typing.SupportsIndex = ...) -> None:
        """
        Start at q [rad or m] and qd [rad/s or m/s], shape (n,), from held_effort [N·m or N].
        
        qd None: at rest. The effort is what is commanded now, and is cut to the limits; None or not finite: the
        safe one. A stream that is still fresh is followed; otherwise the place is held. Of one that is more than
        max_error away (the farthest joint [rad or m], or way [m] or angle [rad] of the pose) the next sample
        is approached from the place. Raises LawError for such a stream where Options.approaches_jumps is
        false, or if measurement or law speak against it.
        """
    def advance_stop(self) -> bool:
        """
        Go on with a stop after an update. True once, where commanding has just ended.
        """
    def begin_stop(self) -> None:
        """
        Brake the arm to rest; streams and motions are not followed any more. Nothing happens while inactive.
        """
    def check_gains(self, gains: dict[str, typing.Any]) -> None:
        """
        Raises as the constructor does if one of them is refused, or not given whole; changes none.
        """
    def deactivate(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        End commanding at once; returns the safe effort at the last good position [N·m or N], shape (n,).
        """
    @typing.overload
    def follow(self, points: collections.abc.Sequence[TimedPose]) -> int:
        """
        Through timed poses; see `Controller.follow`. Returns the number of the request, as `Snapshot.request` has it.
        
        Raises LawError unless active, and while a reference is streamed.
        """
    @typing.overload
    def follow(self, points: collections.abc.Sequence[TimedJoints]) -> int:
        """
        Through timed positions of joints, likewise.
        """
    def freeze_adaptation(self, freeze: bool) -> None:
        """
        Keep the estimates until told otherwise.
        """
    def hold_reference(self) -> None:
        """
        Hold the place where the next update finds the robot.
        """
    def measure(self, stamp: typing.SupportsInt | typing.SupportsIndex, t: typing.SupportsFloat | typing.SupportsIndex, q: numpy.typing.NDArray[numpy.float64], qd: numpy.typing.NDArray[numpy.float64]) -> None:
        """
        Show a measurement in snapshots while nothing is commanded; arguments as those of `update`.
        """
    def move_to_pose(self, position: numpy.typing.ArrayLike, orientation: numpy.typing.ArrayLike) -> PoseWay:
        """
        To rest at a position [m] and quaternion x y z w; see `Controller.move_to_pose`.
        
        Raises LawError unless active, and while a reference is streamed.
        """
    def reset_estimates(self) -> None:
        """
        Back to the first estimates: at the next step while active, else at once.
        """
    def set_further_reference(self, name: str, values: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> None:
        """
        Write an entry of the reference beside the standard ones; what is followed otherwise goes on.
        
        Raises as `Controller.set_reference_entry` does, and LawError for a standard entry.
        """
    def set_gains(self, gains: dict[str, typing.Any]) -> None:
        """
        Change gains, all of them from the same update on, or none. Raises as `check_gains` does.
        """
    def set_measurement(self, name: str, values: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], stamp: typing.SupportsInt | typing.SupportsIndex = 0) -> None:
        """
        See `Controller.set_measurement`.
        
        One that has an age was made at `stamp` [ns], on the clock of the stamps of updates, and is passed over while
        nothing is commanded. Raises LawError for one without a stamp, a negative one, or one more than
        measurement_timeout ahead.
        """
    def set_motion_limits(self, limits: MotionLimits) -> None:
        """
        Bound the motions that begin from now on.
        """
    def snapshot(self) -> Snapshot:
        """
        Copy the last step; while nothing is commanded, state and effort are of rest.
        """
    def stop_motion(self) -> None:
        """
        Come to rest whatever is followed, and hold that place. Raises LawError unless active.
        """
    def stream(self, sample: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], stamp: typing.SupportsInt | typing.SupportsIndex = 0) -> None:
        """
        Follow a flat sample from the next update on, or from activation on; passed over while stopping.
        
        It is due at its stamp [ns], on the clock of the updates' stamps; 0, and while nothing is commanded: when it
        is taken. Between samples, and past the newest one for some periods of the stream, it is carried on by its
        velocity and acceleration; what jumps is approached. A sample replaces the one before, whatever their stamps.
        Raises as `Controller.set_reference` does, and LawError for a negative stamp, or one that is further than
        reference_timeout from the last update's; what was followed before goes on.
        """
    def trace(self, figure: Figure) -> None:
        """
        Along a figure; see `Controller.trace`. Raises LawError unless active, and while one is streamed.
        """
    def trace_what_fits(self, figure: Figure) -> float:
        """
        Along the largest half, quarter, … sixteenth of a figure that the joints can follow, or the whole; its share.
        
        Raises LawError as `trace` does of the whole figure.
        """
    def update(self, stamp: typing.SupportsInt | typing.SupportsIndex, t: typing.SupportsFloat | typing.SupportsIndex, q: numpy.typing.NDArray[numpy.float64], qd: numpy.typing.NDArray[numpy.float64], dt: typing.SupportsFloat | typing.SupportsIndex, effort: numpy.typing.NDArray[numpy.float64]) -> int:
        """
        One control step; see `Controller.update`. Writes effort in place, returns bits of `Guard`.
        
        stamp [ns] is the time stamp t [s] as messages have it. Raises TypeError for what is no contiguous
        float64 array, DimensionError for another shape than (n,).
        """
    def update_periodically(self, stamp: typing.SupportsInt | typing.SupportsIndex, q: numpy.typing.NDArray[numpy.float64], qd: numpy.typing.NDArray[numpy.float64], dt: typing.SupportsFloat | typing.SupportsIndex, effort: numpy.typing.NDArray[numpy.float64], clock: typing.SupportsFloat | typing.SupportsIndex | None = None) -> int:
        """
        The same for what is read every period, as the ros2_control plugin does: t is the sum of periods.
        
        It stands still, so that the measurement is stale, once nothing new has been read for measurement_timeout:
        where `clock`, of the hardware, in any unit, stands still; without one, where q and qd repeat bit for bit
        and say that the arm moves. The time counts then by the speed of the fastest joint, in velocity limits.
        """
    @property
    def fault(self) -> str | None:
        """
        The fault found since activation, for people: the arm is stopped. None if there is none.
        """
    @property
    def has_stopped(self) -> bool:
        """
        Whether a stop, or a fault, has brought the arm to rest.
        """
    @property
    def is_active(self) -> bool:
        """
        Whether the law runs, or a stop of it.
        """
    @property
    def is_commanding(self) -> bool:
        """
        Whether updates are due: from activation to the end of the last ramp.
        """
    @property
    def is_stopping(self) -> bool:
        """
        Whether a stop has begun and commanding has not ended.
        """
    @property
    def is_streamed(self) -> bool:
        """
        Whether a stream is followed; while inactive, whether one would be now.
        """
    @property
    def limits(self) -> Limits:
        """
        Those that are kept.
        """
    @property
    def notes(self) -> list[thunder_controllers.host.note.Note]:
        """
        See `Controller.notes`.
        """
    @property
    def options(self) -> Options:
        """
        As given.
        """
class ExcitationReport:
    """
    How well a motion excites the estimated parameters.
    """
    @property
    def rank(self) -> int:
        """
        Numerical rank of W.
        """
    @property
    def smallest_singular_value(self) -> float:
        """
        Of W, SI units.
        """
class Excitation:
    """
    The information that the last seconds of motion hold of the estimated parameters.
    
    W = ∫ YᵀY dt with exponential forgetting, Y the Slotine–Li regressor's columns of the
    adapted links.
    """
    def __init__(self, configuration: Configuration) -> None:
        """
        Without information.
        """
    def add(self, snapshot: Snapshot) -> None:
        """
        Use a step; a new activation begins anew.
        
        One that is not of a lasting activation, not finite or no later than the last is passed over.
        """
    def report(self) -> ExcitationReport | None:
        """
        None if the law adapts no link, or the library has no function Yr.
        """
class TrackingError:
    """
    The largest distance from the reference among the steps that are shown.
    
    The farthest joint [rad or m], or way [m] or angle [rad] of the pose.
    """
    def __init__(self, configuration: Configuration) -> None:
        """
        Nothing is shown yet.
        """
    def add(self, snapshot: Snapshot) -> None:
        """
        Use a step; one that is not of the law is passed over.
        """
    def take(self) -> float | None:
        """
        Since the last call; None if no step was added.
        """
class HealthReport:
    """
    What is reported of a controller.
    """
    @property
    def level(self) -> int:
        """
        0 ok, 1 warn, 2 error, 3 stale, as in diagnostic_msgs/DiagnosticStatus.
        """
    @property
    def message(self) -> str:
        """
        One line: what is wrong, or how it is.
        """
    @property
    def values(self) -> dict[str, str]:
        """
        Text by name, in order; names have their units in brackets.
        """
class HealthReporter:
    """
    Makes reports; remembers counters, so that a fault is news in the report after it only.
    """
    def __init__(self) -> None:
        """
        Nothing is remembered yet.
        """
    def report(self, state: str, *, snapshot: Snapshot | None = None, excitation: ExcitationReport | None = None, messages: collections.abc.Sequence[str] = [], silence: str = '', counters: dict[str, int] = {}, extra: dict[str, str] = {}, latencies: typing.Annotated[numpy.typing.ArrayLike, numpy.float64] = (), intervals: typing.Annotated[numpy.typing.ArrayLike, numpy.float64] = (), tracking_error: typing.SupportsFloat | typing.SupportsIndex | None = None, tracking_error_limit: typing.SupportsFloat | typing.SupportsIndex = ..., period: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> HealthReport:
        """
        Report on the time since the last call.
        
        state: of the lifecycle; snapshot: None while unconfigured; messages: what a reader must know; silence:
        why the measurements are too old, empty if they are not; counters: the shell's own faults, each increase
        of which is news once; extra: further texts; latencies [s] from measurement to command; intervals [s]
        between measurements, empty: those of the steps; tracking_error [rad or m]: see `TrackingError`, None: not
        known; above tracking_error_limit it is a warning; period [s] that the steps should keep, zero: they wait for others.
        More than a hundredth of them missing is a warning.
        """
class PosePoint:
    """
    A point as a trajectory_msgs/MultiDOFJointTrajectoryPoint has it, not yet checked.
    """
    def __init__(self, time: typing.SupportsFloat | typing.SupportsIndex, transforms: collections.abc.Sequence[typing.Annotated[collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(7)"]], velocities: collections.abc.Sequence[typing.Annotated[collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(6)"]] = [], accelerations: collections.abc.Sequence[typing.Annotated[collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(6)"]] = []) -> None:
        """
        time [s] from start; transforms: x y z [m] and quaternion x y z w; velocities [m/s, rad/s] and
        accelerations [m/s², rad/s²]: linear, then angular. All in the base frame.
        """
class ReferenceReader:
    """
    Checks frames, names, sizes and quaternions of reference messages.
    
    All methods raise LawError, which names the topic and field.
    """
    def __init__(self, configuration: Configuration, base_frame: str, ee_frame: str) -> None:
        """
        Names of the frames that poses are given in, and of.
        
        Raises LawError if the law asks for something that no message says.
        """
    def joints(self, names: collections.abc.Sequence[str], points: collections.abc.Sequence[TimedJoints]) -> list[TimedJoints]:
        """
        Joint positions at times, in the library's order; names and values may have any order.
        """
    def poses(self, frame: str, names: collections.abc.Sequence[str], points: collections.abc.Sequence[PosePoint]) -> list[TimedPose]:
        """
        Poses of the end effector at times; `frame` must be the base's, `names` hold its own, or nothing.
        """
    def position(self, frame: str, pose: typing.Annotated[collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(7)"], topic: str) -> numpy.typing.NDArray[numpy.float64]:
        """
        The position [m] of a measured pose of the end effector, shape (3,); `frame` must be the base's. The orientation
        is not used, and nothing is asked of it.
        """
    @typing.overload
    def sample(self, point: PosePoint) -> numpy.typing.NDArray[numpy.float64]:
        """
        A streamed point as a flat sample of a cartesian law, SI units.
        
        One transform, at most one velocity and one acceleration, zero where there is none. A quaternion's norm
        may differ from one by 1e-3; it is then normalised.
        """
    @typing.overload
    def sample(self, point: TimedJoints) -> numpy.typing.NDArray[numpy.float64]:
        """
        A streamed point as a flat sample of a joint law, SI units.
        
        Positions in the order of the joints; velocities and accelerations or none, which stands for zeros.
        """
    def target(self, frame: str, pose: typing.Annotated[collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(7)"]) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]:
        """
        Position [m], shape (3,), and unit quaternion x y z w, shape (4,); `frame` must be the base's.
        """
    def wrench(self, frame: str, wrench: typing.Annotated[collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(6)"], topic: str) -> numpy.typing.NDArray[numpy.float64]:
        """
        A wrench [N, N·m], linear part first, shape (6,); `frame` must be the base's.
        """
class PoseFollower:
    """
    Takes joints to the poses of a cartesian law's reference, within their limits.
    
    By damped least squares, Δq = Jᵀ(JJᵀ + λ²)⁻¹ x (Buss & Kim, Selectively damped least
    squares, 2005, section 1), as motions are rehearsed. A law resolves redundancy in
    another way.
    """
    REACHED: typing.ClassVar[float] = 0.001
    SLACK: typing.ClassVar[float] = 1.01
    def __init__(self, law: Law, limits: Limits) -> None:
        """
        Raises NameNotFoundError for a joint law, BuildError for a library without T_0_ee or J_ee.
        """
    def follow(self, q: numpy.typing.ArrayLike, samples: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]:
        """
        From q [rad or m], shape (n,), to the poses of samples, shape (k, 24), one after the other.
        
        Returns what is left of the way to each, [m, rad] in the world frame, shape (k, rows), the smallest joint
        velocities that make its twist there [rad/s or m/s], and the positions [rad or m], shape (k, n) each.
        Raises DimensionError.
        """
    @property
    def rows(self) -> int:
        """
        Of the task: 6, or 3 where the law leaves the orientation free.
        """
def about_com(pi: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> numpy.typing.NDArray[numpy.float64]:
    """
    Convert [m, m·c, I about the frame origin] to [m, c, I about the CoM], shape (10,).
    
    Below `SMALLEST_MASS` [kg] there is no centre of mass: then c = 0 and I stays about the origin.
    
    Raises DimensionError unless there are ten values.
    """
def estimate_topics(links: collections.abc.Sequence[str]) -> tuple[str, ...]:
    """
    Topics of the estimates of links, relative to their controller: `link-3.0` has `estimates/link_3_0`.
    
    What no ROS name may hold becomes _. Raises LawError if two links would share one.
    """
def estimated_links(library: Library, law: str) -> tuple[str, ...]:
    """
    Names of the links whose parameters the law estimates, in the order of its state.
    
    None if it estimates none. Raises NameNotFoundError for a law that is not there.
    """
def fault_text(guards: typing.SupportsInt | typing.SupportsIndex) -> str:
    """
    Say what a fault means, for people; None if there is none.
    """
def largest_feedback_share(options: Options) -> float:
    """
    Return the share of a speed that a velocity feedback may take away in a period [1]: 2 sin(π Δ/(4 T_total)),
    beyond which a loop with that delay is unstable. See `total_delay`.
    """
def margin_poses(library: Library, count: typing.SupportsInt | typing.SupportsIndex = 20, first: typing.SupportsInt | typing.SupportsIndex = 0) -> numpy.typing.NDArray[numpy.float64]:
    """
    Poses evenly spread within the joint limits (±π without), shape (count, n) [rad or m]: from number `first` on
    of a sequence that is always the same. Raises LawError unless count is positive and first is not negative.
    """
def option_list() -> tuple[OptionInfo, ...]:
    """
    The options that `Options` takes beside nominal_dt, in order.
    """
def read_estimates(path: str | os.PathLike[str], configuration: Configuration) -> dict[str, numpy.typing.NDArray[numpy.float64]]:
    """
    Read a file of estimates; flat values by state entry.
    
    Raises LawError that names the file, and the line of what cannot be read: for another robot, law or links,
    unknown or missing keys, and values that are no finite numbers, too few or too many, or out of bounds.
    """
def save_estimates(path: str | os.PathLike[str], configuration: Configuration, snapshot: Snapshot) -> None:
    """
    Write the estimates of a snapshot, in SI units; the file is replaced in one step.
    
    Raises LawError if it cannot be written; what was there before is left then.
    """
def total_delay(options: Options) -> float:
    """
    Return T_total [s], the delay with which an effort answers the velocity that it was computed from, to first
    order: dead time + lag of the drives + 1/(2πf) + Δ/2 + Δ/2, f the cut-off of the velocity's low-pass, Δ the
    period. The first half period is the age of a difference of positions.
    """
BLOCKING_GUARDS: Guard
FAULTS: Guard
SMALLEST_MASS: float = 1e-06
