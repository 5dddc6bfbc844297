"""
Runs one law of a compiled robot library and guards what goes in and out.
"""
from __future__ import annotations
import collections.abc
import numpy
import numpy.typing
import typing
__all__: list[str] = ['Controller', 'Entry', 'Function', 'GUARD_NAMES', 'Law', 'Library', 'MotionLimits', 'Options', 'ReferenceDistance', 'SMALLEST_MASS', 'Status', 'TimedJoints', 'TimedPose', 'about_com', 'estimated_links']
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
GUARD_NAMES: tuple = ('measurement_non_finite', 'measurement_stale', 'time_step_invalid', 'reference_stale', 'result_non_finite', 'effort_rate_limited', 'effort_limited', 'velocity_exceeded', 'adaptation_frozen', 'stopping', 'not_active', 'runaway')
SMALLEST_MASS: float = 1e-06
