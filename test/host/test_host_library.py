"""Loading a robot library: what is refused, what its metadata say, what its functions give."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pendulum2 import LENGTHS, MASSES, compile_pendulum2, gravity

from thunder_controllers.host import Library
from thunder_dynamics.errors import BuildError, DimensionError, LawError, NameNotFoundError


@pytest.mark.parametrize(
    ("macro", "message"),
    [
        ("BREAK_SYMBOL", "has no symbol thunder_library_get; valid: a library made by `thunder gen`"),
        ("BREAK_ABI", "the ABI version is 8; valid: 7; generate the library again"),
        ("BREAK_NULL", "robot: the name is missing"),
        ("BREAK_GAP", "joint_adaptive.state.s_filtered: the offset is 3; valid: 2"),
        ("BREAK_BOUNDS", "joint_adaptive.gains.Gamma: bounds [100, 0] are not ordered"),
        ("BREAK_DEFAULT", "joint_adaptive.gains.Gamma: the default -1 is out of bounds; valid: [0, 100]"),
        ("BREAK_SIZE", "joint_adaptive.telemetry.s: the size is not positive; valid: rows >= 1 and cols >= 1"),
        (
            "BREAK_LARGE",
            "joint_adaptive.telemetry.s: it is larger than any robot has; valid: at most 16777216 elements",
        ),
        ("BREAK_COUNT", "laws: the count is larger than that of any robot; valid: at most 4096"),
        ("BREAK_NAME", "robot: a name is too long; valid: at most 256 characters"),
        ("BREAK_ROTOR", "rotor_inertia of elbow: it is -1; valid: 0 or more, or NaN"),
        ("BREAK_TOPOLOGY", "joint_topology of elbow: it is 2; valid: 0 (line), 1 (circle)"),
        ("BREAK_CIRCLE", "joint_topology of elbow: a joint on a circle has position limits; valid: none"),
        (
            "BREAK_CORNER",
            "effort_corner_velocity of elbow: it is 3; valid: from 0 to below effort_no_load_velocity, or",
        ),
        ("BREAK_LANES", "G: it is in lanes where the library is not, or not where it is"),
        ("BREAK_MANY_LANES", "lanes: there are 65; valid: an even number, 0 to 64"),
        ("BREAK_LIMIT", "effort_limit: element 1 is -1; valid: positive"),
    ],
)
def test_contradicting_metadata_are_refused(tmp_path: Path, macro: str, message: str) -> None:
    path = compile_pendulum2(tmp_path, macro)
    with pytest.raises(BuildError) as caught:
        Library(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_metadata_describe_robot_and_laws(library: Library) -> None:
    assert (library.robot, library.n_joints, library.hash) == ("pendulum2", 2, "0123456789abcdef")
    assert library.joint_names == ("shoulder", "elbow")
    assert library.link_names == ("upper", "lower")
    assert library.laws == ("joint_adaptive", "cartesian_spring")
    assert library.law("joint_adaptive").reference_kind == "joint"
    assert library.law("cartesian_spring").reference_kind == "cartesian"
    assert library.pi[[0, 10]].tolist() == MASSES.tolist()
    assert library.effort_rate_limit.tolist() == [1000.0, 500.0]


def test_entries_carry_unit_shape_bounds_and_flags(library: Library) -> None:
    estimate, filtered = library.law("joint_adaptive").state
    assert (estimate.name, estimate.unit, estimate.shape, estimate.offset) == ("pi_hat", "kg", (2,), 0)
    assert estimate.is_adapted and not filtered.is_adapted
    assert estimate.upper.tolist() == [10.0, 10.0]
    rotation = library.law("cartesian_spring").reference[1]
    assert rotation.shape == (3, 3)
    assert np.array_equal(rotation.defaults, np.eye(3))
    assert library.law("joint_adaptive").telemetry[1].guards_activation


def test_a_batch_is_what_every_state_gives_by_itself(library: Library) -> None:
    """Rows and what is the same for all, by position and name; as many threads as there are, or more."""
    q, qd = np.random.default_rng(3).uniform(-2.0, 2.0, (2, 2500, 2))
    for name, given in (("M", {"q": q}), ("G", {"q": q}), ("T_0_ee", {"q": q})):
        expected = [library.evaluate(name, *row) for row in zip(*given.values(), strict=True)]
        for threads in (None, 1, 4):
            np.testing.assert_array_equal(library.batch(name, *given.values(), threads=threads), expected)
        np.testing.assert_array_equal(
            library.batch(name, **{key: rows[::2] for key, rows in given.items()}), expected[::2]
        )
    _, still = library.batch("state_rate", q, [0.5, -0.5])
    np.testing.assert_array_equal(still, library.batch("state_rate", q, np.tile([0.5, -0.5], (len(q), 1)))[1])
    masses = np.linspace(1.0, 2.0, len(q))[:, None] * MASSES
    heavier = library.batch("M", q, par_DYN=masses)
    np.testing.assert_array_equal(heavier[7], library.evaluate("M", q[7], par_DYN=masses[7]))
    first, second = library.batch("state_rate", q, qd)
    np.testing.assert_array_equal((first[5], second[5]), library.evaluate("state_rate", q[5], qd[5]))
    written = library.batch("state_rate", 2.0 * q, qd, out=(first, second))
    assert written[0] is first and written[1] is second
    np.testing.assert_array_equal(first, library.batch("state_rate", 2.0 * q, qd)[0])
    matrices = library.batch("M", q)
    assert library.batch("M", 2.0 * q, out=matrices) is matrices
    np.testing.assert_array_equal(matrices, library.batch("M", 2.0 * q))
    assert library.batch("G", np.zeros((0, 2))).shape == (0, 2) and library.batch("M", q[:0]).shape == (0, 2, 2)


def test_blocks_of_a_library_without_lanes_are_single_states(library: Library) -> None:
    q = np.random.default_rng(4).uniform(-2.0, 2.0, (5, 2))
    blocks = library.batch("M", q, blocks=True)
    np.testing.assert_array_equal(blocks[..., 0], library.batch("M", q))
    assert library.batch("G", q, blocks=True).shape == (5, 2, 1)
    assert library.batch("M", q, out=blocks, blocks=True) is blocks
    with pytest.raises(DimensionError, match=r"M\.out: has another shape"):
        library.batch("M", q, out=blocks)


@pytest.mark.parametrize(
    ("arguments", "threads", "message"),
    [
        ((np.zeros((3, 2)), np.zeros((4, 2))), None, "state_rate.qd: has 4 rows; valid: 3, as those before"),
        ((np.zeros((3, 2)),), None, "state_rate: the argument qd is missing"),
        (
            (np.zeros(2), np.zeros(2)),
            None,
            "state_rate: no argument has a row for each state; valid: (N, size), or `evaluate`",
        ),
        (
            (np.zeros((3, 2)), np.zeros(3)),
            None,
            "state_rate.qd: got 3 values; valid: 2, or rows of as many for each state",
        ),
        ((np.zeros((3, 2)), np.zeros((3, 5))), None, "state_rate.qd: has the shape (3, 5)"),
        ((np.zeros((3, 2)), np.zeros((3, 2)), 1.0, 2.0), None, "state_rate: got 4 arguments"),
        ((np.zeros((3, 2)), np.zeros((3, 2))), 0, "state_rate: 0 threads; valid: 1 or more"),
    ],
)
def test_batches_that_do_not_fit_are_refused(
    library: Library, arguments: Any, threads: int | None, message: str
) -> None:
    with pytest.raises(DimensionError, match=re.escape(message)):
        library.batch("state_rate", *arguments, threads=threads)


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((2, 2, 2)),
        np.zeros((3, 2, 2)),  # row-major
        np.zeros((3, 2, 2), dtype=np.float32).swapaxes(1, 2),
        (np.zeros((3, 2, 2)).swapaxes(1, 2),) * 2,
        "M",
    ],
)
def test_what_no_call_returned_is_no_place_for_results(library: Library, out: Any) -> None:
    message = "M.out: has another shape, type or order; valid: what an earlier call returned"
    with pytest.raises(DimensionError, match=re.escape(message)):
        library.batch("M", np.zeros((3, 2)), out=out)
    fixed = library.batch("M", np.zeros((3, 2)))
    fixed.flags.writeable = False
    with pytest.raises(DimensionError, match=re.escape(message)):
        library.batch("M", np.zeros((3, 2)), out=fixed)


def test_single_precision_is_of_libraries_that_were_built_with_it(library: Library) -> None:
    assert library.single_lanes == 0
    with pytest.raises(DimensionError, match="M: there is no float32; valid: float64; float32 in a library built with"):
        library.batch("M", np.zeros((3, 2)), dtype="float32")
    assert library.batch("M", np.zeros((3, 2), dtype=np.float32), dtype=float).dtype == np.float64


def test_the_step_of_a_law_at_many_states(library: Library) -> None:
    """As a `FreeLaw` of the same signals gives it; gains, state and measurements may be left out."""
    q, qd = np.random.default_rng(5).uniform(-1.0, 1.0, (2, 40, 2))
    effort, state, telemetry = library.batch(
        "joint_adaptive", q, qd, reference=np.array([0.1, 0.2, 0.0, 0.0, 0.0, 0.0]), dt=np.array([0.001])
    )
    assert effort.shape == (40, 2) and state.shape == (40, 4) and telemetry.shape == (40, 3)
    s = 5.0 * (np.array([0.1, 0.2]) - q) - qd
    np.testing.assert_allclose(telemetry[:, :2], s, rtol=0, atol=1e-14)
    gains = np.concatenate([entry.defaults.ravel() for entry in library.law("joint_adaptive").gains])
    gains[:2] = 2.0
    softer = library.batch("joint_adaptive", q, qd, reference=np.zeros(6), gains=gains, dt=np.array([0.001]))[2]
    np.testing.assert_allclose(softer[:, :2], -2.0 * q - qd, rtol=0, atol=1e-14)
    with pytest.raises(DimensionError, match="joint_adaptive: the argument reference is missing"):
        library.batch("joint_adaptive", q, qd, dt=np.array([0.001]))
    with pytest.raises(NameNotFoundError, match="joint_adaptiv"):
        library.batch("joint_adaptiv", q, qd)


def test_entries_outlive_their_library(pendulum2_file: Path) -> None:
    entry = Library(pendulum2_file).law("joint_adaptive").gains[0]
    assert entry.name == "Lambda"


def test_arrays_of_the_library_are_read_only(library: Library) -> None:
    with pytest.raises(ValueError, match="read-only"):
        library.effort_limit[0] = 1.0


def test_unknown_names_list_the_valid_ones(library: Library) -> None:
    with pytest.raises(NameNotFoundError, match="no law 'pd'; valid: joint_adaptive, cartesian_spring"):
        library.law("pd")
    with pytest.raises(NameNotFoundError, match="no function 'C'; valid: G, M, T_0_ee, J_ee, state_rate"):
        library.evaluate("C", [0.0, 0.0])
    with pytest.raises(NameNotFoundError, match="no input 'x'; valid: q"):
        library.evaluate("G", [0.0, 0.0], x=1.0)


def test_gravity_is_the_gradient_of_the_potential_energy(library: Library) -> None:
    for q in np.random.default_rng(1).uniform(-3, 3, (20, 2)):
        # Both sides are exact to rounding.
        np.testing.assert_allclose(library.evaluate("G", q), gravity(q), rtol=1e-12, atol=1e-13)


def test_parameter_groups_may_be_left_out_or_given(library: Library) -> None:
    q = [0.3, 0.4]
    np.testing.assert_array_equal(library.evaluate("M", q), library.evaluate("M", q, par_DYN=MASSES))
    doubled = library.evaluate("M", q=q, par_DYN=2 * MASSES)
    np.testing.assert_allclose(doubled, 2 * library.evaluate("M", q), rtol=1e-15)
    assert library.evaluate("M", q).shape == (2, 2)


def test_matrices_are_column_major(library: Library) -> None:
    pose = library.evaluate("T_0_ee", [0.5, 0.0])
    np.testing.assert_allclose(pose[:3, 3], [0.9 * np.sin(0.5), 0.0, -0.9 * np.cos(0.5)], rtol=1e-14)
    assert pose[3].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert LENGTHS.sum() == pytest.approx(0.9)


def test_several_outputs_come_as_a_tuple(library: Library) -> None:
    first, second = library.evaluate("state_rate", [1.0, 2.0], [3.0, 4.0])
    assert (first.tolist(), second.tolist()) == ([3.0, 4.0], [-1.0, -2.0])


def test_wrong_arguments_are_refused(library: Library) -> None:
    with pytest.raises(DimensionError, match="state_rate: the argument qd is missing"):
        library.evaluate("state_rate", [1.0, 2.0])
    with pytest.raises(DimensionError, match=r"G\.q: got 3 values; valid: 2"):
        library.evaluate("G", [1.0, 2.0, 3.0])
    with pytest.raises(DimensionError, match="G: got 2 arguments; valid: at most 1"):
        library.evaluate("G", [1.0, 2.0], [1.0, 2.0])
    with pytest.raises(LawError, match=r"G\.q: is not numeric"):
        library.evaluate("G", "ab")
