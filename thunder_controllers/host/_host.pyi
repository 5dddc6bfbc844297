"""
Runs one law of a compiled robot library and guards what goes in and out.
"""
from __future__ import annotations
import collections.abc
import numpy
import numpy.typing
import os
import typing
__all__: list[str] = ['Configuration', 'ControlSession', 'Controller', 'Entry', 'Excitation', 'ExcitationReport', 'Function', 'GUARD_NAMES', 'HealthReport', 'HealthReporter', 'JointPoint', 'Law', 'Library', 'MotionLimits', 'Options', 'PosePoint', 'ReferenceDistance', 'ReferenceReader', 'SMALLEST_MASS', 'Snapshot', 'Status', 'StopShape', 'TimeLaw', 'TimedJoints', 'TimedPose', 'about_com', 'estimated_links', 'read_estimates', 'save_estimates']
class Entry:
    """
    One named, shaped, unit-bearing block of a flat vector.
    """
    def __repr__(self) -> str:
        ...
    @property
    def defaults(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def description(self) -> str:
        ...
    @property
    def flags(self) -> int:
        ...
    @property
    def guards_activation(self) -> bool:
        ...
    @property
    def is_adapted(self) -> bool:
        ...
    @property
    def lower(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def offset(self) -> int:
        ...
    @property
    def shape(self) -> tuple:
        ...
    @property
    def size(self) -> int:
        ...
    @property
    def unit(self) -> str:
        ...
    @property
    def upper(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
class Law:
    """
    What a library says about one of its laws.
    """
    @property
    def description(self) -> str:
        ...
    @property
    def gains(self) -> tuple:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def reference(self) -> tuple:
        ...
    @property
    def reference_kind(self) -> str:
        ...
    @property
    def state(self) -> tuple:
        ...
    @property
    def telemetry(self) -> tuple:
        ...
class Function:
    """
    What a library says about one of its functions.
    """
    @property
    def description(self) -> str:
        ...
    @property
    def inputs(self) -> tuple:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def outputs(self) -> tuple:
        ...
class Library:
    """
    A generated robot library, loaded, checked and constant.
    """
    def __init__(self, path: typing.Any) -> None:
        """
        Load a library and check all its metadata.
        """
    def evaluate(self, name: str, *args, **kwargs) -> typing.Any:
        ...
    def function(self, name: str) -> Function:
        ...
    def law(self, name: str) -> Law:
        ...
    @property
    def effort_limit(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def effort_rate_limit(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def functions(self) -> tuple:
        ...
    @property
    def generator(self) -> str:
        ...
    @property
    def hash(self) -> str:
        ...
    @property
    def joint_names(self) -> tuple:
        ...
    @property
    def laws(self) -> tuple:
        ...
    @property
    def link_names(self) -> tuple:
        ...
    @property
    def n_joints(self) -> int:
        ...
    @property
    def parameter_groups(self) -> tuple:
        ...
    @property
    def path(self) -> str:
        ...
    @property
    def pi(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def position_lower(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def position_upper(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def robot(self) -> str:
        ...
    @property
    def velocity_limit(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
class MotionLimits:
    """
    Bounds of the motions that a controller makes itself, SI units.
    """
    def __init__(self, *, linear_velocity: typing.SupportsFloat | typing.SupportsIndex = 0.25, linear_acceleration: typing.SupportsFloat | typing.SupportsIndex = 1.0, linear_jerk: typing.SupportsFloat | typing.SupportsIndex = 10.0, angular_velocity: typing.SupportsFloat | typing.SupportsIndex = 1.0, angular_acceleration: typing.SupportsFloat | typing.SupportsIndex = 4.0, angular_jerk: typing.SupportsFloat | typing.SupportsIndex = 40.0, joint_acceleration: typing.SupportsFloat | typing.SupportsIndex = 4.0) -> None:
        ...
    @property
    def angular_acceleration(self) -> float:
        ...
    @property
    def angular_jerk(self) -> float:
        ...
    @property
    def angular_velocity(self) -> float:
        ...
    @property
    def joint_acceleration(self) -> float:
        ...
    @property
    def linear_acceleration(self) -> float:
        ...
    @property
    def linear_jerk(self) -> float:
        ...
    @property
    def linear_velocity(self) -> float:
        ...
class TimeLaw:
    """
    The fastest way of a scalar from 0 to 1 within bounds, at rest at both ends.
    """
    def __init__(self, velocity: typing.SupportsFloat | typing.SupportsIndex, acceleration: typing.SupportsFloat | typing.SupportsIndex, jerk: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    def sample(self, times: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def duration(self) -> float:
        ...
class StopShape:
    """
    Brings a velocity and an acceleration smoothly to zero.
    """
    def __init__(self, duration: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    def at(self, time: typing.SupportsFloat | typing.SupportsIndex, velocity: typing.SupportsFloat | typing.SupportsIndex, acceleration: typing.SupportsFloat | typing.SupportsIndex) -> tuple[float, float, float]:
        ...
class TimedPose:
    """
    A pose of the end effector, and when it is passed.
    """
    def __init__(self, time: typing.SupportsFloat | typing.SupportsIndex, position: typing.Any, orientation: typing.Any, twist: typing.Any = None, acceleration: typing.Any = None) -> None:
        ...
    @property
    def acceleration(self) -> typing.Any:
        ...
    @property
    def orientation(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def position(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def time(self) -> float:
        ...
    @property
    def twist(self) -> typing.Any:
        ...
class TimedJoints:
    """
    Positions of all joints, and when they are passed.
    """
    def __init__(self, time: typing.SupportsFloat | typing.SupportsIndex, q: typing.Any, qd: typing.Any = None, qdd: typing.Any = None) -> None:
        ...
    @property
    def q(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def qd(self) -> typing.Any:
        ...
    @property
    def qdd(self) -> typing.Any:
        ...
    @property
    def time(self) -> float:
        ...
class Options:
    """
    How a controller guards its input and output.
    """
    def __init__(self, *, gravity_compensated_by_robot: bool = False, measurement_timeout: typing.SupportsFloat | typing.SupportsIndex = 0.01, nominal_dt: typing.SupportsFloat | typing.SupportsIndex = 0.001, max_dt_ratio: typing.SupportsFloat | typing.SupportsIndex = 10.0, reference_timeout: typing.SupportsFloat | typing.SupportsIndex = ..., saturation_freezes_adaptation: bool = True, effort_limit: typing.Any = None, effort_rate_limit: typing.Any = None, velocity_limit: typing.Any = None, velocity_patience: typing.SupportsFloat | typing.SupportsIndex = 0.1, velocity_stop_ratio: typing.SupportsFloat | typing.SupportsIndex = 3.0, stop_damping: typing.Any = None) -> None:
        ...
    @property
    def effort_limit(self) -> typing.Any:
        """
        [N·m or N] Per joint; None: the library's.
        """
    @property
    def effort_rate_limit(self) -> typing.Any:
        """
        [N·m/s or N/s] Per joint; None: the library's.
        """
    @property
    def gravity_compensated_by_robot(self) -> bool:
        """
        The robot adds its own gravity torque.
        """
    @property
    def max_dt_ratio(self) -> float:
        """
        [1] Longest valid period, in nominal periods.
        """
    @property
    def measurement_timeout(self) -> float:
        """
        [s] Time stamps further apart than this are stale.
        """
    @property
    def nominal_dt(self) -> float:
        """
        [s] Period of the loop.
        """
    @property
    def reference_timeout(self) -> float:
        """
        [s] A reference older than this is brought to rest and held.
        """
    @property
    def saturation_freezes_adaptation(self) -> bool:
        """
        Keep the adapted part of the state while the effort is cut.
        """
    @property
    def stop_damping(self) -> typing.Any:
        """
        [N·m·s/rad or N·s/m] Per joint, of the safe effort; None: from the library's limits.
        """
    @property
    def velocity_limit(self) -> typing.Any:
        """
        [rad/s or m/s] Per joint; None: the library's.
        """
    @property
    def velocity_patience(self) -> float:
        """
        [s] A joint far too fast for longer than this latches a stop.
        """
    @property
    def velocity_stop_ratio(self) -> float:
        """
        [1] What counts as far too fast, in velocity limits.
        """
class Status:
    """
    What a controller was doing when it was asked.
    """
    @property
    def adaptation_frozen(self) -> bool:
        ...
    @property
    def counters(self) -> dict:
        ...
    @property
    def guard_names(self) -> tuple:
        ...
    @property
    def guards(self) -> int:
        ...
    @property
    def last_step_ns(self) -> int:
        ...
    @property
    def lifecycle(self) -> str:
        ...
    @property
    def max_step_ns(self) -> int:
        ...
    @property
    def mean_step_ns(self) -> float:
        ...
    @property
    def step_histogram(self) -> tuple:
        ...
    @property
    def updates(self) -> int:
        ...
class Controller:
    """
    Runs one law of one library and guards what goes in and out.
    """
    def __init__(self) -> None:
        ...
    def activate(self, q: typing.Any, qd: typing.Any = None, held_effort: typing.Any = None) -> None:
        ...
    def begin_stop(self) -> None:
        ...
    def configure(self, library: typing.Any, *, law: str, gains: typing.Any = {}, initial_state: typing.Any = {}, options: Options = ...) -> None:
        ...
    def deactivate(self) -> None:
        ...
    def follow(self, points: collections.abc.Sequence) -> None:
        ...
    def freeze_adaptation(self, freeze: bool) -> None:
        ...
    def gain(self, name: str) -> numpy.typing.NDArray[numpy.float64]:
        ...
    def hold_reference(self) -> None:
        ...
    def move_to_pose(self, position: typing.Any, orientation: typing.Any) -> None:
        ...
    def reference(self, name: str) -> numpy.typing.NDArray[numpy.float64]:
        ...
    def reset_state(self) -> None:
        ...
    def set_gain(self, name: str, values: typing.Any) -> None:
        ...
    def set_motion_limits(self, limits: MotionLimits) -> None:
        ...
    def set_reference(self, values: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> None:
        ...
    def set_reference_entry(self, name: str, values: typing.Any) -> None:
        ...
    def state(self, name: str) -> numpy.typing.NDArray[numpy.float64]:
        ...
    def stop_motion(self) -> None:
        ...
    def telemetry(self, name: str) -> numpy.typing.NDArray[numpy.float64]:
        ...
    def update(self, t: typing.SupportsFloat | typing.SupportsIndex, q: numpy.typing.NDArray[numpy.float64], qd: numpy.typing.NDArray[numpy.float64], dt: typing.SupportsFloat | typing.SupportsIndex, effort: numpy.typing.NDArray[numpy.float64]) -> int:
        ...
    @property
    def effort(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def gain_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def has_stopped(self) -> bool:
        ...
    @property
    def last_step_ns(self) -> int:
        ...
    @property
    def law(self) -> str:
        ...
    @property
    def lifecycle(self) -> str:
        ...
    @property
    def options(self) -> Options:
        ...
    @property
    def reference_source(self) -> str:
        ...
    @property
    def reference_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def state_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def status(self) -> Status:
        ...
    @property
    def telemetry_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
class Configuration:
    """
    What of a library is to run, chosen and checked.
    """
    def __init__(self, library: typing.Any, *, robot: str = '', law: str = '', joints: collections.abc.Sequence[str] = []) -> None:
        """
        Empty texts and names mean any robot, the only law, the library's joints.
        
        Raises BuildError for another robot, NameNotFoundError for a law that is not there or not the only one,
        and DimensionError unless there are as many different joints as the library has.
        """
    @property
    def estimates_file_name(self) -> str:
        """
        Of the file that its estimates are saved to where no other is named.
        """
    @property
    def is_cartesian(self) -> bool:
        """
        Whether the law follows poses.
        """
    @property
    def joints(self) -> tuple:
        """
        Names that measurements and commands have, in the library's order.
        """
    @property
    def law(self) -> typing.Any:
        ...
    @property
    def library(self) -> typing.Any:
        ...
    @property
    def links(self) -> tuple:
        """
        Whose parameters the law estimates.
        """
    @property
    def robot(self) -> str:
        ...
class Snapshot:
    """
    Copies of what one update used and computed; arrays are read-only.
    """
    def state(self, name: str) -> numpy.typing.NDArray[numpy.float64]:
        ...
    def telemetry(self, name: str) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def activation(self) -> int:
        """
        Number of its activation; 0: before the first.
        """
    @property
    def counters(self) -> dict:
        """
        Updates in which each guard acted, since activation.
        """
    @property
    def effort(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [N·m or N]
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
        How often a stream fell silent.
        """
    @property
    def q(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad or m] NaN before the first measurement.
        """
    @property
    def qd(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        [rad/s or m/s]
        """
    @property
    def reference_source(self) -> str:
        """
        hold, stream, motion, stopping or stopping after a lost stream.
        """
    @property
    def reference_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def stamp(self) -> int:
        """
        [ns] Of the measurement, as messages are stamped.
        """
    @property
    def state_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def telemetry_vector(self) -> numpy.typing.NDArray[numpy.float64]:
        ...
    @property
    def time(self) -> float:
        """
        [s] The same, as updates count it.
        """
    @property
    def updates(self) -> int:
        """
        Since activation.
        """
class ControlSession:
    """
    A configured controller, and what every shell around it decides alike.
    """
    def __init__(self, configuration: Configuration, options: Options, *, gains: dict = {}, estimates: dict = {}) -> None:
        """
        Gains and estimates that are not given have their defaults.
        
        Raises ThunderError for a value out of bounds, DimensionError for a gain that is not given whole.
        """
    def activate(self, q: typing.Any, qd: typing.Any, held_effort: typing.Any = None, max_error: typing.SupportsFloat | typing.SupportsIndex = ...) -> None:
        """
        Start at q and qd from held_effort, the one commanded now, cut to the limits; None: the safe one.
        
        A stream that is still fresh is followed, from at most max_error away, see `ReferenceDistance`; otherwise
        the place is held. Raises LawError if reference, measurement or law speak against it.
        """
    def advance_stop(self) -> bool:
        """
        Go on with a stop after an update. True once, where commanding has just ended.
        """
    def begin_stop(self) -> None:
        """
        Brake the arm to rest; streams are passed over from here on. Nothing happens while inactive.
        """
    def check_gains(self, gains: dict) -> None:
        """
        Raises ThunderError if one of them is refused, or not given whole.
        """
    def deactivate(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        End commanding at once; returns the safe effort, shape (n,).
        """
    @typing.overload
    def follow(self, points: collections.abc.Sequence[TimedPose]) -> None:
        """
        Through timed points. Raises LawError unless active, and while a reference is streamed.
        """
    @typing.overload
    def follow(self, points: collections.abc.Sequence[TimedJoints]) -> None:
        ...
    def freeze_adaptation(self, freeze: bool) -> None:
        ...
    def hold_reference(self) -> None:
        """
        Hold the place where the next update finds the robot.
        """
    def measure(self, stamp: typing.SupportsInt | typing.SupportsIndex, t: typing.SupportsFloat | typing.SupportsIndex, q: numpy.typing.NDArray[numpy.float64], qd: numpy.typing.NDArray[numpy.float64]) -> None:
        """
        Show a measurement in snapshots while nothing is commanded.
        """
    def move_to_pose(self, position: typing.Annotated[collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(3)"], orientation: typing.Annotated[collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(4)"]) -> None:
        """
        To rest at a position [m] and quaternion x y z w. Raises LawError unless active, and while streamed.
        """
    def reset_estimates(self) -> None:
        """
        Back to the first estimates.
        """
    def set_gains(self, gains: dict) -> None:
        """
        Change gains, all of them from the same update on, or none.
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
    def stream(self, sample: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> None:
        """
        Follow a flat sample from the next update on, or from activation on.
        """
    def update(self, stamp: typing.SupportsInt | typing.SupportsIndex, t: typing.SupportsFloat | typing.SupportsIndex, q: numpy.typing.NDArray[numpy.float64], qd: numpy.typing.NDArray[numpy.float64], dt: typing.SupportsFloat | typing.SupportsIndex, effort: numpy.typing.NDArray[numpy.float64]) -> int:
        """
        One control step; see Controller.update. Writes effort in place, returns bits of `Guard`.
        
        stamp [ns] is the time stamp t [s] as messages have it.
        """
    @property
    def has_run_away(self) -> bool:
        """
        Whether the arm has run away since activation.
        """
    @property
    def has_stopped(self) -> bool:
        ...
    @property
    def is_active(self) -> bool:
        ...
    @property
    def is_commanding(self) -> bool:
        """
        Whether updates are due: from activation to the end of the last ramp.
        """
    @property
    def is_stopping(self) -> bool:
        ...
    @property
    def is_streamed(self) -> bool:
        """
        Whether a stream is followed; while inactive, whether one would be now.
        """
    @property
    def options(self) -> Options:
        ...
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
    W = ∫ YᵀY dt with forgetting, Y the regressor's columns of the adapted links.
    """
    def __init__(self, configuration: Configuration) -> None:
        ...
    def add(self, snapshot: Snapshot) -> None:
        """
        Use a step; one that is not of a lasting activation, not finite or no later than the last is passed over.
        """
    def report(self) -> ExcitationReport | None:
        """
        None if the law adapts no link, or the library has no function Yr.
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
        ...
    @property
    def values(self) -> dict:
        """
        Text by name, in order; names have their units in brackets.
        """
class HealthReporter:
    """
    Makes reports; remembers counters, so that a fault is news in the report after it only.
    """
    def __init__(self) -> None:
        ...
    def report(self, state: str, *, snapshot: Snapshot | None = None, excitation: ExcitationReport | None = None, messages: collections.abc.Sequence[str] = [], silence: str = '', counters: dict = {}, extra: dict = {}, latencies: typing.Annotated[numpy.typing.ArrayLike, numpy.float64] = (), intervals: typing.Annotated[numpy.typing.ArrayLike, numpy.float64] = ()) -> HealthReport:
        """
        Report on the time since the last call.
        
        state: of the lifecycle; snapshot: None while unconfigured; messages: what a reader must know; silence:
        why the measurements are too old, empty if they are not; counters: the shell's own faults; extra: further texts;
        latencies from measurement to command and intervals between measurements, [s].
        """
class PosePoint:
    """
    A point as a MultiDOFJointTrajectoryPoint has it, not yet checked.
    """
    def __init__(self, time: typing.SupportsFloat | typing.SupportsIndex, transforms: collections.abc.Sequence[typing.Annotated[collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(7)"]], velocities: collections.abc.Sequence[typing.Annotated[collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(6)"]] = [], accelerations: collections.abc.Sequence[typing.Annotated[collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(6)"]] = []) -> None:
        """
        time [s] from start; transforms: x y z [m] and quaternion x y z w; velocities, accelerations: linear,
        then angular, SI units.
        """
class JointPoint:
    """
    A point as a JointTrajectoryPoint has it, not yet checked.
    """
    def __init__(self, time: typing.SupportsFloat | typing.SupportsIndex, positions: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], velocities: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex] = [], accelerations: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex] = []) -> None:
        """
        time [s] from start; positions [rad or m], per joint.
        """
class ReferenceReader:
    """
    Checks frames, names, sizes and quaternions of reference messages. Raises LawError.
    """
    def __init__(self, configuration: Configuration, base_frame: str, ee_frame: str) -> None:
        ...
    def joints(self, names: collections.abc.Sequence[str], points: collections.abc.Sequence[JointPoint]) -> list[TimedJoints]:
        """
        Joint positions at times, in the library's order; names and values may have any order.
        """
    def poses(self, frame: str, names: collections.abc.Sequence[str], points: collections.abc.Sequence[PosePoint]) -> list[TimedPose]:
        """
        Poses of the end effector at times; names hold its frame, or nothing.
        """
    @typing.overload
    def sample(self, point: PosePoint) -> numpy.typing.NDArray[numpy.float64]:
        """
        A streamed point as a flat sample of the law.
        """
    @typing.overload
    def sample(self, point: JointPoint) -> numpy.typing.NDArray[numpy.float64]:
        ...
    def target(self, frame: str, pose: typing.Annotated[collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], "FixedSize(7)"]) -> tuple:
        """
        Position [m], shape (3,), and unit quaternion x y z w, shape (4,), of a target in the base frame.
        """
class ReferenceDistance:
    """
    How far a robot is from a reference of a law [rad or m].
    """
    def __init__(self, library: typing.Any, law: str) -> None:
        ...
    def evaluate(self, q: typing.Annotated[numpy.typing.ArrayLike, numpy.float64], reference: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> float:
        ...
def about_com(pi: typing.Annotated[numpy.typing.ArrayLike, numpy.float64]) -> numpy.typing.NDArray[numpy.float64]:
    """
    Convert [m, m·c, I about the origin] to [m, c, I about the CoM]; c = 0 below SMALLEST_MASS.
    """
def estimated_links(library: typing.Any, law: str) -> tuple:
    """
    Names of the links whose parameters the law estimates, in the order of its state.
    """
def read_estimates(document: dict, configuration: Configuration, where: str) -> dict:
    """
    Check what a file of estimates holds, as a YAML library has read it; flat values by state entry.
    
    `where` names the file in errors. Raises LawError for another robot, law or links, unknown or missing
    keys, and values that are no numbers, too few or too many, not finite or out of bounds.
    """
def save_estimates(path: os.PathLike | str | bytes, configuration: Configuration, snapshot: Snapshot) -> None:
    """
    Write the estimates of a snapshot, all of them or, if that raises LawError, none.
    """
GUARD_NAMES: tuple = ('measurement_non_finite', 'measurement_stale', 'time_step_invalid', 'reference_stale', 'result_non_finite', 'effort_rate_limited', 'effort_limited', 'velocity_exceeded', 'adaptation_frozen', 'stopping', 'not_active', 'runaway')
SMALLEST_MASS: float = 1e-06
