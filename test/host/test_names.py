"""Names are not places: wherever names and values meet in the host, their order comes from the names."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from evaluation import robot_file

from thunder_controllers.host import (
    Configuration,
    Controller,
    ControlSession,
    FreeLaw,
    Library,
    Options,
    ReferenceReader,
    RestingLaw,
    TimedJoints,
    read_estimates,
    save_estimates,
)
from thunder_dynamics.build import build
from thunder_dynamics.errors import NameNotFoundError
from thunder_dynamics.readers import load_model

OWN = tuple(f"panda_joint{k}" for k in range(1, 8))
RNG = np.random.default_rng(0)
ORDERS = [RNG.permutation(7).tolist() for _ in range(50)]

WRONG = [
    (OWN[:-1], "missing panda_joint7;"),
    ((*OWN[:-1], "gripper"), "missing panda_joint7, unknown gripper;"),
    ((*OWN[:-1], OWN[0]), "missing panda_joint7, twice panda_joint1;"),
    ((*OWN, OWN[2]), "twice panda_joint3;"),
    (tuple(f"panda_joint{k}" for k in range(7)), "missing panda_joint7, unknown panda_joint0;"),
]
"""Lists of names that are not the Panda's, each once, and what is said of them."""


def reordered(values: Any, order: list[int]) -> list[Any]:
    return [values[k] for k in order]


# --- the parameter joints ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        OWN,
        [f"fr3_joint{k}" for k in range(1, 8)],
        [f"left/panda_joint{k}_axis" for k in range(1, 8)],
        [str(k) for k in range(1, 8)],
    ],
    ids=["own", "another arm", "both ends", "bare"],
)
def test_joints_in_any_order_are_in_the_librarys(panda: Configuration, names: list[str]) -> None:
    for order in ORDERS:
        assert Configuration(panda.library, joints=reordered(names, order)).joints == tuple(names)


def test_the_only_joint_may_have_any_name(build_cache: Path) -> None:
    model = load_model(robot_file("planar3r"), locked_joints={"joint2": 0.1, "joint3": 0.2})
    library = Library(build(model, [("pd_plus", {})]))
    assert library.n_joints == 1 and Configuration(library, joints=["hinge"]).joints == ("hinge",)


def test_names_that_say_nothing_are_in_the_order_of_the_library(panda: Configuration) -> None:
    names = list("abcdefg")
    for order in ORDERS[:5]:
        assert Configuration(panda.library, joints=reordered(names, order)).joints == tuple(reordered(names, order))


@pytest.mark.parametrize(
    ("names", "reason"),
    [*WRONG, (("a", "b"), "missing .*, unknown a, b;"), (tuple("abcdefga"), "unknown a, b, c,"), ("a" * 7, "twice|un")],
)
def test_joints_that_are_not_the_arms_are_refused(panda: Configuration, names: tuple[str, ...], reason: str) -> None:
    with pytest.raises(NameNotFoundError, match=f"parameter joints: .*{reason}.* valid: {', '.join(OWN)}, each once$"):
        Configuration(panda.library, joints=list(names))


# --- references ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reader(panda: Configuration) -> ReferenceReader:
    return ReferenceReader(panda, "world", "ee")


def test_trajectories_may_have_the_joints_in_any_order(reader: ReferenceReader) -> None:
    rows = RNG.normal(size=(3, 7))
    for order in ORDERS:
        given = TimedJoints(1.0, *(reordered(row, order) for row in rows))
        (point,) = reader.joints(reordered(OWN, order), [given])
        assert point.qd is not None and point.qdd is not None
        np.testing.assert_array_equal([point.q, point.qd, point.qdd], rows)


@pytest.mark.parametrize(("names", "reason"), WRONG)
def test_trajectories_of_other_joints_are_refused(reader: ReferenceReader, names: tuple[str, ...], reason: str) -> None:
    with pytest.raises(NameNotFoundError, match=f"joint_trajectory: joint_names: {reason} valid: {OWN[0]}, "):
        reader.joints(list(names), [TimedJoints(1.0, [0.0] * len(names))])


# --- gains -----------------------------------------------------------------------------------------------------------

K_D = {"shoulder": 7.0, "elbow": 3.0}


def of_controller(library: Library, values: Any) -> Any:
    controller = Controller()
    controller.configure(library, law="joint_adaptive", gains={"K_d": values}, options=Options())
    controller.set_gain("Lambda", values)
    return [*controller.gain("K_d"), *controller.gain("Lambda")]


def of_resting(library: Library, values: Any) -> Any:
    law = RestingLaw(library, law="joint_adaptive", gains={"K_d": values})
    law.set_gain("Lambda", values)
    return [*law.gain("K_d"), *law.gain("Lambda")]


def of_free(library: Library, values: Any) -> Any:
    law = FreeLaw(library, law="joint_adaptive", gains={"K_d": values})
    law.set_gain("Lambda", values)
    return law.step([0.1, 0.2], [0.3, -0.4], [0.0, 0.0], np.arange(6.0), 1e-3)


def of_session(library: Library, values: Any) -> Any:
    configuration = Configuration(library, law="joint_adaptive")
    session = ControlSession(configuration, Options(), gains={"K_d": values})
    session.set_gains({"Lambda": values})
    session.activate([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
    effort = np.zeros(2)
    for k in range(1, 50):
        session.update(k * 10**6, k * 1e-3, np.array([0.1, 0.2]), np.array([0.3, -0.4]), 1e-3, effort)
    return effort


@pytest.mark.parametrize("use", [of_controller, of_resting, of_free, of_session])
def test_gains_may_be_given_by_joints_in_any_order(library: Library, use: Any) -> None:
    expected = use(library, [7.0, 3.0])
    assert not np.array_equal(expected, use(library, [3.0, 7.0]))
    for order in permutations(K_D):
        np.testing.assert_array_equal(use(library, {name: K_D[name] for name in order}), expected)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"shoulder": 1.0}, "gains.K_d: missing elbow; valid: shoulder, elbow, each once"),
        ({**K_D, "wrist": 1.0}, "gains.K_d: unknown wrist; valid: shoulder, elbow"),
        ({"Shoulder": 1.0, "elbow": 1.0}, "gains.K_d: missing shoulder, unknown Shoulder"),
    ],
)
def test_gains_of_other_joints_are_refused(library: Library, values: dict[str, float], reason: str) -> None:
    for use in (of_controller, of_resting, of_free, of_session):
        with pytest.raises(NameNotFoundError, match=reason):
            use(library, values)


# --- files of estimates ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adapting(build_cache: Path) -> Configuration:
    return Configuration(Library(build(load_model(robot_file("planar3r")), [("slotine_li", {"adapted_links": "all"})])))


def test_bodies_are_found_by_the_names_of_their_links(adapting: Configuration, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    save_estimates(file, adapting, ControlSession(adapting, Options()).snapshot())
    document = yaml.safe_load(file.read_text())
    bodies = np.reshape(document["pi_hat"], (3, 10))
    assert len(set(bodies[:, 0])) == 3
    for order in permutations(range(3)):
        names, values = (reordered(part, list(order)) for part in (adapting.links, bodies))
        given = document | {"links": names, "pi_hat": np.ravel(values).tolist()}
        file.write_text(yaml.safe_dump(given, default_flow_style=None, width=10**9))
        np.testing.assert_array_equal(read_estimates(file, adapting)["pi_hat"], bodies.ravel())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda links: links[:2], "a.yaml: links: missing {2}; valid: {0}, {1}, {2}, each once"),
        (lambda links: [*links[:2], "tool"], "links: missing {2}, unknown tool; valid"),
        (lambda links: [*links[:2], links[0]], "links: missing {2}, twice {0}; valid"),
    ],
)
def test_bodies_of_other_links_are_refused(adapting: Configuration, tmp_path: Path, change: Any, reason: str) -> None:
    file = tmp_path / "a.yaml"
    save_estimates(file, adapting, ControlSession(adapting, Options()).snapshot())
    document = yaml.safe_load(file.read_text())
    document["links"] = change(document["links"])
    file.write_text(yaml.safe_dump(document, default_flow_style=None, width=10**9))
    with pytest.raises(NameNotFoundError, match=reason.format(*adapting.links)):
        read_estimates(file, adapting)
