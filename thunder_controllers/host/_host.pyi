"""Types of the compiled binding; see the headers in include/thunder/host for the C++ side."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]

GUARD_NAMES: tuple[str, ...]

class Entry:
    """One named, shaped, unit-bearing block of a flat vector. Arrays are read-only and have the entry's shape."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]:
        """(rows,) for one column, else (rows, cols)."""
    @property
    def size(self) -> int: ...
    @property
    def offset(self) -> int:
        """Of the first element in the flat vector; elements follow column-major. 0 for arguments of a function."""
    @property
    def flags(self) -> int: ...
    @property
    def is_adapted(self) -> bool:
        """State: an estimate, kept while adaptation is frozen."""
    @property
    def guards_activation(self) -> bool:
        """Telemetry: activation is refused while it lies outside [lower, upper]."""
    @property
    def defaults(self) -> Vector: ...
    @property
    def lower(self) -> Vector: ...
    @property
    def upper(self) -> Vector: ...

class Law:
    """What a library says about one of its laws."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def reference_kind(self) -> Literal["joint", "cartesian"]: ...
    @property
    def reference(self) -> tuple[Entry, ...]: ...
    @property
    def state(self) -> tuple[Entry, ...]: ...
    @property
    def gains(self) -> tuple[Entry, ...]: ...
    @property
    def telemetry(self) -> tuple[Entry, ...]: ...

class Function:
    """What a library says about one of its functions."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def inputs(self) -> tuple[Entry, ...]: ...
    @property
    def outputs(self) -> tuple[Entry, ...]: ...

class Library:
    """A generated robot library, loaded, checked and constant. Arrays are read-only copies, SI units."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Load a library and check all its metadata.

        Raises:
            BuildError: The file cannot be loaded, has another ABI version, or contradicts itself.
        """
    @property
    def path(self) -> str: ...
    @property
    def robot(self) -> str: ...
    @property
    def generator(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def n_joints(self) -> int: ...
    @property
    def joint_names(self) -> tuple[str, ...]: ...
    @property
    def link_names(self) -> tuple[str, ...]: ...
    @property
    def laws(self) -> tuple[str, ...]: ...
    @property
    def functions(self) -> tuple[str, ...]: ...
    @property
    def parameter_groups(self) -> tuple[Entry, ...]: ...
    @property
    def position_lower(self) -> Vector: ...
    @property
    def position_upper(self) -> Vector: ...
    @property
    def velocity_limit(self) -> Vector: ...
    @property
    def effort_limit(self) -> Vector: ...
    @property
    def effort_rate_limit(self) -> Vector: ...
    @property
    def pi(self) -> Vector:
        """10·n_joints inertial parameters, order of `thunder_dynamics.inertia.PARAMETERS`, about the frame origins."""
    def law(self, name: str) -> Law:
        """Describe a law. Raises NameNotFoundError, which lists the names there are."""
    def function(self, name: str) -> Function:
        """Describe a function. Raises NameNotFoundError, which lists the names there are."""
    def evaluate(self, name: str, /, *args: ArrayLike, **kwargs: ArrayLike) -> Any:
        """Evaluate a function; arguments by position or name, flat column-major or in their shape.

        Arguments named par_… may be left out and are then the robot file's values.

        Returns:
            An array of the output's shape (`Entry.shape`), or a tuple of them if there are several outputs.

        Raises:
            NameNotFoundError: There is no such function or argument.
            DimensionError: An argument is missing or has the wrong size.
        """

class Options:
    """How a controller guards its input and output; immutable. The defaults suit a 1 kHz effort interface."""

    def __init__(
        self,
        *,
        gravity_compensated_by_robot: bool = False,
        measurement_timeout: float = 0.01,
        nominal_dt: float = 0.001,
        max_dt_ratio: float = 10.0,
        reference_timeout: float = ...,
        saturation_freezes_adaptation: bool = True,
        effort_limit: ArrayLike | None = None,
        effort_rate_limit: ArrayLike | None = None,
        velocity_limit: ArrayLike | None = None,
        velocity_patience: float = 0.1,
        velocity_stop_ratio: float = 3.0,
        stop_damping: ArrayLike | None = None,
    ) -> None:
        """Check and keep the options.

        Args:
            gravity_compensated_by_robot: The robot adds its own gravity torque (true on a Franka, false in MuJoCo).
            measurement_timeout: Time stamps further apart than this are stale, [s]; above nominal_dt.
            nominal_dt: Period of the loop, [s]; for activation, and for ramps where no valid period is at hand.
            max_dt_ratio: Longest valid period, in nominal periods, [1]; at least 1.
            reference_timeout: A reference older than this is brought to rest and held, [s]; infinite by default.
            saturation_freezes_adaptation: Keep the adapted part of the state while the effort is cut.
            effort_limit: Per joint, [N·m or N], positive; None: the library's.
            effort_rate_limit: Per joint, [N·m/s or N/s], positive; None: the library's.
            velocity_limit: Per joint, [rad/s or m/s], positive; None: the library's.
            velocity_patience: A joint faster than velocity_stop_ratio limits for longer than this, without pause,
                latches a stop until the next activation, [s]; infinite for never.
            velocity_stop_ratio: What counts as too fast for that, in velocity limits, [1]; at least 1.
            stop_damping: Per joint, damping of the safe effort, [N·m·s/rad or N·s/m], not negative; None: a quarter of
                the library's effort limit per velocity limit, zero where either is infinite.

        Raises:
            LawError: A value is out of bounds.
        """
    @property
    def gravity_compensated_by_robot(self) -> bool: ...
    @property
    def measurement_timeout(self) -> float: ...
    @property
    def nominal_dt(self) -> float: ...
    @property
    def max_dt_ratio(self) -> float: ...
    @property
    def reference_timeout(self) -> float: ...
    @property
    def saturation_freezes_adaptation(self) -> bool: ...
    @property
    def effort_limit(self) -> Vector | None: ...
    @property
    def effort_rate_limit(self) -> Vector | None: ...
    @property
    def velocity_limit(self) -> Vector | None: ...
    @property
    def velocity_patience(self) -> float: ...
    @property
    def velocity_stop_ratio(self) -> float: ...
    @property
    def stop_damping(self) -> Vector | None: ...

class TimeLaw:
    """The fastest way of a scalar from 0 to 1 within bounds, at rest at both ends, of at most seven constant jerks."""

    def __init__(self, velocity: float, acceleration: float, jerk: float) -> None:
        """Plan it within bounds [1/s, 1/s², 1/s³]. Raises LawError unless they are positive and finite."""
    @property
    def duration(self) -> float:
        """[s]."""
    def sample(self, times: ArrayLike) -> Vector:
        """Value and two derivatives at times (N,) [s], shape (N, 3); at rest before the start and after the end."""

class StopShape:
    """Brings a velocity and an acceleration smoothly to zero: the way of the host to come to rest."""

    def __init__(self, duration: float) -> None:
        """Take a positive duration [s]."""
    def at(self, time: float, velocity: float, acceleration: float) -> tuple[float, float, float]:
        """Way, velocity and acceleration at a time [s] after those given; at rest from the duration on."""

class MotionLimits:
    """Bounds of the motions that a controller makes itself; immutable, all positive and finite."""

    def __init__(
        self,
        *,
        linear_velocity: float = 0.25,
        linear_acceleration: float = 1.0,
        linear_jerk: float = 10.0,
        angular_velocity: float = 1.0,
        angular_acceleration: float = 4.0,
        angular_jerk: float = 40.0,
        joint_acceleration: float = 4.0,
    ) -> None:
        """Check and keep the bounds.

        Args:
            linear_velocity: Of the end effector on the way to a pose, [m/s].
            linear_acceleration: Also while it comes to rest, [m/s²].
            linear_jerk: [m/s³].
            angular_velocity: [rad/s].
            angular_acceleration: Also while it comes to rest, [rad/s²].
            angular_jerk: [rad/s³].
            joint_acceleration: While joints come to rest, [rad/s² or m/s²].

        Raises:
            LawError: A bound is not positive and finite.
        """
    @property
    def linear_velocity(self) -> float: ...
    @property
    def linear_acceleration(self) -> float: ...
    @property
    def linear_jerk(self) -> float: ...
    @property
    def angular_velocity(self) -> float: ...
    @property
    def angular_acceleration(self) -> float: ...
    @property
    def angular_jerk(self) -> float: ...
    @property
    def joint_acceleration(self) -> float: ...

class TimedPose:
    """A pose of the end effector in the world frame, and when it is passed."""

    def __init__(
        self,
        time: float,
        position: ArrayLike,
        orientation: ArrayLike,
        twist: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
    ) -> None:
        """Keep the numbers; `Controller.follow` checks what they say.

        Args:
            time: From the start of the motion, [s].
            position: Shape (3,), [m].
            orientation: Quaternion x, y, z, w.
            twist: Shape (6,), linear part first, [m/s, rad/s]; None: as the motion needs it.
            acceleration: Its time derivative, shape (6,), [m/s², rad/s²]; None: as the motion needs it.

        Raises:
            LawError: Not numeric.
            DimensionError: Another number of values.
        """
    @property
    def time(self) -> float: ...
    @property
    def position(self) -> Vector: ...
    @property
    def orientation(self) -> Vector: ...
    @property
    def twist(self) -> Vector | None: ...
    @property
    def acceleration(self) -> Vector | None: ...

class TimedJoints:
    """Positions of all joints, and when they are passed."""

    def __init__(self, time: float, q: ArrayLike, qd: ArrayLike | None = None, qdd: ArrayLike | None = None) -> None:
        """Keep the numbers; `Controller.follow` checks what they say.

        Args:
            time: From the start of the motion, [s].
            q: Shape (n,), [rad or m].
            qd: Shape (n,), [rad/s or m/s]; None: as the motion needs it.
            qdd: Shape (n,), [rad/s² or m/s²]; None: as the motion needs it.

        Raises:
            LawError: Not numeric.
        """
    @property
    def time(self) -> float: ...
    @property
    def q(self) -> Vector: ...
    @property
    def qd(self) -> Vector | None: ...
    @property
    def qdd(self) -> Vector | None: ...

class Status:
    """A snapshot of what a controller was doing when it was asked."""

    @property
    def lifecycle(self) -> Literal["unconfigured", "inactive", "active"]: ...
    @property
    def guards(self) -> int:
        """Of the last update, bits of `Guard`."""
    @property
    def guard_names(self) -> tuple[str, ...]: ...
    @property
    def counters(self) -> dict[str, int]:
        """Updates in which each guard acted, since activation."""
    @property
    def adaptation_frozen(self) -> bool:
        """By request, `Controller.freeze_adaptation`."""
    @property
    def updates(self) -> int:
        """Since activation."""
    @property
    def last_step_ns(self) -> int: ...
    @property
    def max_step_ns(self) -> int: ...
    @property
    def mean_step_ns(self) -> float: ...
    @property
    def step_histogram(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Bin edges [ns] and counts of the duration of updates, four bins to the octave."""

class Controller:
    """Runs one law of one library and guards what goes in and out.

    Lifecycle: unconfigured –configure→ inactive –activate→ active –deactivate→ inactive. Where the law is not stepped
    the command approaches the safe effort at the rate limit: gravity torque G at the last good position, or zero if
    the robot compensates gravity itself. Methods raise LawError in the wrong lifecycle state.
    """

    def __init__(self) -> None: ...
    def configure(
        self,
        library: Library,
        *,
        law: str,
        gains: Mapping[str, ArrayLike] = ...,
        initial_state: Mapping[str, ArrayLike] = ...,
        options: Options = ...,
    ) -> None:
        """Prepare a law; what is not given has its default, and one value stands for a whole entry.

        Raises:
            LawError: Active, or a value is not finite or out of bounds.
            NameNotFoundError: There is no such law, gain or state.
            DimensionError: A value or limit has the wrong size.
            BuildError: The library lacks G(q), or T_0_ee(q) for a cartesian law.
        """
    def activate(self, q: ArrayLike, qd: ArrayLike | None = None, held_effort: ArrayLike | None = None) -> None:
        """Start from a measured position [rad or m] and velocity (None: at rest).

        The reference is what was written since configure or deactivate, else the place at q. The rate limit starts from
        held_effort, [N·m or N], else from the safe effort. Estimates survive from an earlier activation.

        Raises:
            LawError: Not inactive; q not finite or out of its limits; qd or held_effort not finite, or held_effort
                beyond the effort limits; a trial step not finite, or its telemetry forbids activation.
        """
    def deactivate(self) -> None:
        """Approach the safe effort in the following updates and forget the reference."""
    def update(self, t: float, q: Vector, qd: Vector, dt: float, effort: Vector) -> int:
        """Run one control step and write the effort [N·m or N], always finite and inside the limits, in place.

        Args:
            t: Time stamp of the measurement, [s].
            q: Position, shape (n,), [rad or m], contiguous float64; so are qd and effort.
            qd: Velocity, shape (n,), [rad/s or m/s].
            dt: Period, [s].
            effort: Written, shape (n,).

        Returns:
            Bits of `Guard` that acted.

        Raises:
            TypeError: An argument is no contiguous float64 array.
            DimensionError: An argument has the wrong shape.
        """
    def begin_stop(self) -> None:
        """Approach the safe effort until the next activation.

        It is reached, and the joints are at rest, once `has_stopped` says so.
        """
    def set_reference(self, values: ArrayLike) -> None:
        """Write the whole flat reference; the next update uses it.

        Raises:
            DimensionError: Wrong number of values.
            LawError: A value is not finite or out of bounds, or the rotation is none.
        """
    def set_reference_entry(self, name: str, values: ArrayLike) -> None:
        """Write one entry; entries that were not written since the last hold keep holding."""
    def hold_reference(self) -> None:
        """Hold the place where the next update finds the robot: q, or the pose of the end effector."""
    def set_motion_limits(self, limits: MotionLimits) -> None:
        """Bound the motions that begin from now on; `configure` brings the defaults back."""
    def move_to_pose(self, position: ArrayLike, orientation: ArrayLike) -> None:
        """Move the reference to rest at a pose: [m], and a quaternion x, y, z, w.

        It goes on a straight line and turns about one axis, within the limits; a moving reference first comes to rest.
        Like `follow` and `stop_motion` it begins with the next update at the sample in effect, continuous in position,
        velocity and acceleration; the last request wins.

        Raises:
            LawError: Not active, a joint law, or no such pose; what was followed before goes on.
        """
    def follow(self, points: Sequence[TimedPose] | Sequence[TimedJoints]) -> None:
        """Move the reference through timed points, acceleration continuous, to rest at the last one.

        Quintic pieces; what is not given of velocities and accelerations is that of the clamped cubic spline. A point
        at time zero must lie within 0.01 (m, rad, quaternion elements) of the sample in effect, and is left out.

        Raises:
            LawError: Not active, points of the other kind of law, times that do not increase or have no positive one,
                values out of bounds, rates given to a part of the points, a velocity at the end, or a turn above 2 rad.
            DimensionError: Another number of joints.
        """
    def stop_motion(self) -> None:
        """Bring the reference smoothly to rest and hold that place. Raises LawError unless active."""
    @property
    def reference_source(self) -> Literal["hold", "stream", "motion", "stopping"]:
        """What the reference of the last update followed.

        It is stopping until it rests after `stop_motion`, and until the next request after a lost stream.
        """
    def set_gain(self, name: str, values: ArrayLike) -> None:
        """Change a gain, also while active. Raises as `configure` does; the gain is then unchanged."""
    def freeze_adaptation(self, freeze: bool) -> None:
        """Keep the adapted part of the state constant until told otherwise."""
    def reset_state(self) -> None:
        """Back to the initial state, estimates included: at the next step while active, else at once."""
    def state(self, name: str) -> Vector:
        """Copy one entry of the state, in its shape."""
    def telemetry(self, name: str) -> Vector:
        """Copy one entry of the telemetry of the last law step."""
    def reference(self, name: str) -> Vector:
        """Copy one entry of the reference in effect, as the last update or activation used it."""
    def gain(self, name: str) -> Vector:
        """Copy one gain as written last."""
    @property
    def state_vector(self) -> Vector: ...
    @property
    def telemetry_vector(self) -> Vector: ...
    @property
    def reference_vector(self) -> Vector: ...
    @property
    def gain_vector(self) -> Vector: ...
    @property
    def effort(self) -> Vector:
        """The last command."""
    @property
    def has_stopped(self) -> bool:
        """Whether a stop has reached the safe effort and the joints are at rest: commanding may end."""
    @property
    def law(self) -> str: ...
    @property
    def options(self) -> Options: ...
    @property
    def lifecycle(self) -> Literal["unconfigured", "inactive", "active"]: ...
    @property
    def last_step_ns(self) -> int:
        """Duration of the last update inside C++, [ns]."""
    @property
    def status(self) -> Status: ...

SMALLEST_MASS: float
"""Below this an estimate has no centre of mass [kg]."""

def about_com(pi: ArrayLike) -> Vector:
    """Convert [m, m·c, I about the frame origin] to [m, c, I about the CoM], shape (10,).

    Below `SMALLEST_MASS` there is no centre of mass: then c = 0 and I stays about the origin.

    Raises:
        DimensionError: Not ten values.
    """

def estimated_links(library: Library, law: str) -> tuple[str, ...]:
    """Names of the links whose parameters the law estimates, in the order of its state; empty if it estimates none.

    Raises:
        NameNotFoundError: No such law.
    """

class ReferenceDistance:
    """How far a robot is from a reference of a law.

    Joint laws: max |q_d − q| [rad or m]. Cartesian laws: the greater of ‖p_d − p‖ [m] and the angle of RᵀR_d [rad].

    Raises:
        NameNotFoundError: No such law.
        BuildError: A Cartesian law without T_0_ee.
    """

    def __init__(self, library: Library, law: str) -> None: ...
    def evaluate(self, q: ArrayLike, reference: ArrayLike) -> float:
        """Distance at q, shape (n,), from a flat reference; infinite if the pose there is not finite.

        Raises:
            DimensionError: Wrong number of values.
        """

def read_estimates(document: dict[Any, Any], configuration: Configuration, where: str) -> dict[str, Vector]:
    """Check what a file of estimates holds, as a YAML library has read it; returns flat values by state entry."""

def save_estimates(path: str | os.PathLike[str], configuration: Configuration, snapshot: Snapshot) -> None:
    """Write the estimates of a snapshot, all of them or, if that raises LawError, none."""

class Configuration:
    """What of a library is to run, chosen and checked."""

    def __init__(self, library: Library, *, robot: str = "", law: str = "", joints: Sequence[str] = ()) -> None: ...
    @property
    def library(self) -> Library: ...
    @property
    def robot(self) -> str: ...
    @property
    def law(self) -> Law: ...
    @property
    def joints(self) -> tuple[str, ...]: ...
    @property
    def links(self) -> tuple[str, ...]: ...
    @property
    def is_cartesian(self) -> bool: ...
    @property
    def estimates_file_name(self) -> str: ...

class Snapshot:
    """Copies of what one update used and computed; arrays are read-only."""

    @property
    def activation(self) -> int: ...
    @property
    def is_active(self) -> bool: ...
    @property
    def stamp(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def q(self) -> Vector: ...
    @property
    def qd(self) -> Vector: ...
    @property
    def effort(self) -> Vector: ...
    def state(self, name: str) -> Vector: ...
    def telemetry(self, name: str) -> Vector: ...
    @property
    def state_vector(self) -> Vector: ...
    @property
    def telemetry_vector(self) -> Vector: ...
    @property
    def reference_vector(self) -> Vector: ...
    @property
    def reference_source(self) -> str: ...
    @property
    def lost_references(self) -> int: ...
    @property
    def is_frozen(self) -> bool: ...
    @property
    def guards(self) -> int: ...
    @property
    def counters(self) -> dict[str, int]: ...
    @property
    def updates(self) -> int: ...

class ControlSession:
    """A configured controller, and what every shell around it decides alike."""

    def __init__(
        self,
        configuration: Configuration,
        options: Options,
        *,
        gains: dict[str, Any] = ...,
        estimates: dict[str, Any] = ...,
    ) -> None: ...
    @property
    def options(self) -> Options: ...
    def update(self, stamp: int, t: float, q: Vector, qd: Vector, dt: float, effort: Vector) -> int: ...
    def measure(self, stamp: int, t: float, q: Vector, qd: Vector) -> None: ...
    def activate(
        self, q: ArrayLike, qd: ArrayLike, held_effort: ArrayLike | None = None, max_error: float = ...
    ) -> None: ...
    def begin_stop(self) -> None: ...
    def advance_stop(self) -> bool: ...
    def deactivate(self) -> Vector: ...
    @property
    def is_active(self) -> bool: ...
    @property
    def is_commanding(self) -> bool: ...
    @property
    def is_stopping(self) -> bool: ...
    @property
    def has_stopped(self) -> bool: ...
    @property
    def has_run_away(self) -> bool: ...
    def stream(self, sample: ArrayLike) -> None: ...
    @property
    def is_streamed(self) -> bool: ...
    def hold_reference(self) -> None: ...
    def move_to_pose(self, position: Sequence[float] | Vector, orientation: Sequence[float] | Vector) -> None: ...
    @overload
    def follow(self, points: Sequence[TimedPose]) -> None: ...
    @overload
    def follow(self, points: Sequence[TimedJoints]) -> None: ...
    def stop_motion(self) -> None: ...
    def set_motion_limits(self, limits: MotionLimits) -> None: ...
    def check_gains(self, gains: dict[str, Any]) -> None: ...
    def set_gains(self, gains: dict[str, Any]) -> None: ...
    def freeze_adaptation(self, freeze: bool) -> None: ...
    def reset_estimates(self) -> None: ...
    def snapshot(self) -> Snapshot: ...

class ExcitationReport:
    """How well a motion excites the estimated parameters."""

    @property
    def smallest_singular_value(self) -> float: ...
    @property
    def rank(self) -> int: ...

class Excitation:
    """W = ∫ YᵀY dt with forgetting, Y the regressor's columns of the adapted links."""

    def __init__(self, configuration: Configuration) -> None: ...
    def add(self, snapshot: Snapshot) -> None: ...
    def report(self) -> ExcitationReport | None: ...

class HealthReport:
    """What is reported of a controller."""

    @property
    def level(self) -> int: ...
    @property
    def message(self) -> str: ...
    @property
    def values(self) -> dict[str, str]: ...

class HealthReporter:
    """Makes reports; remembers counters, so that a fault is news in the report after it only."""

    def report(
        self,
        state: str,
        *,
        snapshot: Snapshot | None = None,
        excitation: ExcitationReport | None = None,
        messages: Sequence[str] = (),
        silence: str = "",
        counters: dict[str, int] = ...,
        extra: dict[str, str] = ...,
        latencies: ArrayLike = (),
        intervals: ArrayLike = (),
    ) -> HealthReport: ...

class PosePoint:
    """A point as a MultiDOFJointTrajectoryPoint has it, not yet checked."""

    def __init__(
        self,
        time: float,
        transforms: Sequence[Sequence[float] | Vector],
        velocities: Sequence[Sequence[float] | Vector] = (),
        accelerations: Sequence[Sequence[float] | Vector] = (),
    ) -> None: ...

class JointPoint:
    """A point as a JointTrajectoryPoint has it, not yet checked."""

    def __init__(
        self,
        time: float,
        positions: Sequence[float],
        velocities: Sequence[float] = (),
        accelerations: Sequence[float] = (),
    ) -> None: ...

class ReferenceReader:
    """Checks frames, names, sizes and quaternions of reference messages. Raises LawError."""

    def __init__(self, configuration: Configuration, base_frame: str, ee_frame: str) -> None: ...
    def sample(self, point: PosePoint | JointPoint) -> Vector: ...
    def target(self, frame: str, pose: Sequence[float] | Vector) -> tuple[Vector, Vector]: ...
    def poses(self, frame: str, names: Sequence[str], points: Sequence[PosePoint]) -> list[TimedPose]: ...
    def joints(self, names: Sequence[str], points: Sequence[JointPoint]) -> list[TimedJoints]: ...
