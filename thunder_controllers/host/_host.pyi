"""Types of the compiled binding; see the headers in include/thunder/host for the C++ side."""

import os
from collections.abc import Mapping
from typing import Any, Literal

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
    ) -> None:
        """Check and keep the options.

        Args:
            gravity_compensated_by_robot: The robot adds its own gravity torque (true on a Franka, false in MuJoCo).
            measurement_timeout: Time stamps further apart than this are stale, [s]; above nominal_dt.
            nominal_dt: Period of the loop, [s]; for activation, and for ramps where no valid period is at hand.
            max_dt_ratio: Longest valid period, in nominal periods, [1]; at least 1.
            reference_timeout: A reference older than this is replaced by holding the place, [s]; infinite by default.
            saturation_freezes_adaptation: Keep the adapted part of the state while the effort is cut.
            effort_limit: Per joint, [N·m or N], positive; None: the library's.
            effort_rate_limit: Per joint, [N·m/s or N/s], positive; None: the library's.
            velocity_limit: Per joint, [rad/s or m/s], positive; None: the library's.

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

        It is reached once an update returns STOPPING without EFFORT_RATE_LIMITED.
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
