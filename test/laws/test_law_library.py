"""Every installed law: compiled as symbolic, the fixed form of the adaptive ones, options, single properties."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import assert_close, evaluate, load_robot
from laws import packed, step
from robots import random_robot
from scipy.spatial.transform import Rotation

from thunder_controllers.host import Controller, Guard, Library, Options
from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY
from thunder_dynamics.build import LawRequest, build, law_builders
from thunder_dynamics.errors import LawError, NameNotFoundError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind, options_of
from thunder_dynamics.model import RobotModel

FIXED = {"adaptation": "none"}
SCHEMES = "consistent, composite, gradient, least_squares, natural, natural_composite, projected, none"


def build_law(name: str, robot: RobotExpressions, **options: Any) -> Law:
    return law_builders()[name].load()(robot, options)


@pytest.fixture(scope="module")
def panda() -> RobotExpressions:
    return RobotExpressions(load_robot("panda"))


@pytest.fixture(scope="module")
def rpr() -> RobotExpressions:
    return RobotExpressions(load_robot("rpr"))


def joint_sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    q, qd, error, qd_d, qdd_d = rng.uniform(-1.0, 1.0, (5, n))
    return q, qd, {"q": q + 0.1 * error, "qd": qd_d, "qdd": qdd_d}


# --- compiled = symbolic ---------------------------------------------------------------------------------------------


def requests(model: RobotModel) -> Iterator[LawRequest]:
    """Every law that a robot can have."""
    joints = len(model.path(model.ee_link))
    for name in law_builders():
        if not name.startswith("cartesian"):
            yield name, {}
        elif joints >= 3:
            yield name, {} if joints >= 6 else {"task": "position"}


MODELS = {name: load_robot(name) for name in ("panda", "ur5", "planar3r", "rpr", "sea2")}
MODELS["random_robot"] = random_robot(8, 6)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_every_law_compiled_is_the_symbolic_one(name: str, build_cache: Path) -> None:
    model, rng = MODELS[name], np.random.default_rng(0)
    laws = list(requests(model))
    library = Library(build(model, laws=laws) / f"lib{model.name}.so")
    for law_name, options in laws:
        law = build_law(law_name, RobotExpressions(model), **options)
        for _ in range(3):
            q, qd = _inside(model, rng), rng.uniform(-0.3, 0.3, model.n)
            _compare(library, law, q, qd, packed(law.reference, _near(library, law, q, rng)))


@pytest.fixture(scope="module")
def other_schemes(build_cache: Path) -> tuple[Library, list[LawRequest]]:
    """The adaptive laws with the schemes that are no default, compiled."""
    laws: list[LawRequest] = [
        ("cartesian_backstepping", {"adaptation": "natural"}),
        ("slotine_li", {"adaptation": "natural_composite"}),
    ]
    model = MODELS["panda"]
    return Library(build(model, laws=laws) / f"lib{model.name}.so"), laws


@pytest.mark.slow
@pytest.mark.parametrize("index", range(2))
def test_every_adaptation_scheme_compiled_is_the_symbolic_one(
    other_schemes: tuple[Library, list[LawRequest]], panda: RobotExpressions, index: int
) -> None:
    library, (name, options) = other_schemes[0], other_schemes[1][index]
    law, rng = build_law(name, panda, **options), np.random.default_rng(0)
    for _ in range(3):
        q, qd = _inside(panda.model, rng), rng.uniform(-0.3, 0.3, 7)
        _compare(library, law, q, qd, packed(law.reference, _near(library, law, q, rng)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cartesian_backstepping", "slotine_li"])
def test_natural_adaptation_does_not_start_from_a_point_mass(
    other_schemes: tuple[Library, list[LawRequest]], name: str
) -> None:
    host, q = Controller(), np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.5])
    host.configure(other_schemes[0], law=name, initial_state={"pi_hat": [1.0] + 9 * [0.0]})
    with pytest.raises(LawError, match="consistency"):
        host.activate(q)


def _inside(model: RobotModel, rng: np.random.Generator) -> np.ndarray:
    limits = [link.joint.limits for link in model.links]
    lower, upper = (np.clip([getattr(limit, end) for limit in limits], -1.0, 1.0) for end in ("lower", "upper"))
    return np.asarray(lower + (upper - lower) * rng.uniform(0.4, 0.6, model.n))


def _near(library: Library, law: Law, q: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    if law.reference_kind is ReferenceKind.JOINT:
        qd, qdd = rng.uniform(-0.3, 0.3, (2, len(q)))
        return {"q": q + rng.uniform(-0.02, 0.02, len(q)), "qd": qd, "qdd": qdd}
    T = np.reshape(library.evaluate("T_0_ee", q), (4, 4))
    R = Rotation.from_rotvec(rng.uniform(-0.2, 0.2, 3)).as_matrix() @ T[:3, :3]
    twist, acceleration = rng.uniform(-0.3, 0.3, (2, 6))
    position = T[:3, 3] + rng.uniform(-0.02, 0.02, 3)
    return {"position": position, "rotation": R, "twist": twist, "acceleration": acceleration}


def _compare(library: Library, law: Law, q: np.ndarray, qd: np.ndarray, reference: np.ndarray) -> None:
    """One update of the host, no guard acting, and one step of the graph."""
    n, dt = len(q), 1e-3
    options = Options(
        effort_limit=np.full(n, 1e9),
        effort_rate_limit=np.full(n, 1e12),
        velocity_limit=np.full(n, np.inf),
        approaches_jumps=False,
        handover_time=0.0,
    )
    host = Controller()
    host.configure(library, law=law.name, options=options)
    host.set_reference(reference)
    host.activate(q)
    effort = np.zeros(n)
    guards = Guard(host.update(0.0, q, qd, dt, effort))
    assert guards == Guard(0), guards
    gains = packed(law.gains)
    state = packed(law.state) if law.initial is None else law.initial(q, np.zeros(n), gains)
    held = np.ravel(library.evaluate("G", q))  # what the host takes the arm to have been held with
    found = law.step(q, qd, held, packed(law.measurements), host.reference_vector, state, gains, dt)
    expected = [np.asarray(value).ravel() for value in found]
    assert_close(effort, expected[0], 1e-11)
    assert_close(np.concatenate([host.state(entry.name).ravel() for entry in law.state] or [[]]), expected[1], 1e-11)
    assert_close(host.telemetry_vector, expected[2], 1e-11)


# --- the fixed form of adaptive laws ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("links", [{}, {"adapted_links": "all"}, {"known": ["panda_link1", "panda_link3"]}])
def test_an_adaptive_law_with_true_parameters_is_the_fixed_one(panda: RobotExpressions, links: dict[str, Any]) -> None:
    adaptive, fixed = build_law("slotine_li", panda, **links), build_law("slotine_li", panda, **FIXED)
    assert fixed.state == () and "gamma" not in [gain.name for gain in fixed.gains]
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, qd, reference = joint_sample(rng, 7)
        assert_close(step(adaptive, q, qd, reference)[0], step(fixed, q, qd, reference)[0], 1e-12)


# --- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", law_builders())
def test_options_that_a_law_does_not_have_are_refused(panda: RobotExpressions, name: str) -> None:
    with pytest.raises(NameNotFoundError, match=f"law {name}: no option 'colour'"):
        build_law(name, panda, colour="red")


@pytest.mark.parametrize(
    ("name", "option", "valid"),
    [
        ("cartesian_backstepping", "adaptation", SCHEMES),
        ("slotine_li", "rotors", "model, adapted"),
        ("variable_inertia", "friction", "model, none"),
        ("cartesian_backstepping", "task", "pose, position"),  # of its kinematic loop
        ("cartesian_backstepping", "kinematic_loop", "axis_angle$"),
    ],
)
def test_values_that_an_option_does_not_have_are_refused(
    panda: RobotExpressions, name: str, option: str, valid: str
) -> None:
    with pytest.raises(LawError, match=f"law {name}: {option} 'red'; valid: {valid}"):
        build_law(name, panda, **{option: "red"})


@pytest.mark.parametrize("links", [{"adapted_links": "all"}, {"known": ["panda_link1"]}])
def test_links_to_adapt_without_adaptation_are_refused(panda: RobotExpressions, links: dict[str, Any]) -> None:
    with pytest.raises(LawError, match="law slotine_li: links to adapt with adaptation=none; valid: one of them"):
        build_law("slotine_li", panda, **FIXED, **links)


def test_a_law_says_its_options_before_it_is_built() -> None:
    declared = {option.name: option.choices for option in options_of(law_builders()["cartesian_backstepping"].load())}
    assert declared["adaptation"] == tuple(SCHEMES.split(", "))
    assert declared["redundancy"] == ("posture", "joint_limits", "none")  # of the kinematic loop by default
    assert declared["known"] == ()


def test_a_law_of_a_former_release_is_refused_with_what_it_is_now(panda: RobotExpressions) -> None:
    with pytest.raises(NameNotFoundError, match="no law 'partially_known'; valid: slotine_li with gains Lambda = K_p/"):
        build(panda.model, laws=["partially_known"])


def test_known_links_are_those_that_do_not_adapt(panda: RobotExpressions) -> None:
    q, qd, reference = joint_sample(np.random.default_rng(2), 7)
    adapted = ["panda_link2", "panda_link5"]
    known = [name for name in panda.model.link_names if name not in adapted]
    laws = (build_law("slotine_li", panda, **links) for links in ({"known": known}, {"adapted_links": adapted}))
    one, other = (step(law, q, qd, reference) for law in laws)
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1]["pi_hat"], other[1]["pi_hat"])


def test_a_cartesian_law_that_inverts_needs_the_joints(rpr: RobotExpressions) -> None:
    with pytest.raises(LawError, match="law cartesian_computed_torque: a pose task needs 6 joints, rpr has 3"):
        build_law("cartesian_computed_torque", rpr)
    assert build_law("cartesian_impedance", rpr).step.size_out("effort") == (3, 1)  # nothing is inverted


@pytest.mark.parametrize("name", ["computed_torque", "pd_plus", "variable_inertia", "variable_inertia_adaptive"])
def test_friction_of_the_model_is_compensated_unless_left_out(rpr: RobotExpressions, name: str) -> None:
    """On a reference that the arm is on, the difference is the friction at its velocity."""
    q, qd = np.array([0.3, 0.2, -0.4]), np.array([0.4, -0.3, 0.8])
    reference = {"q": q, "qd": qd, "qdd": np.zeros(3)}
    with_friction, without = (step(build_law(name, rpr, **o), q, qd, reference)[0] for o in ({}, {"friction": "none"}))
    assert_close(with_friction - without, evaluate(rpr, "dl", {"dq": qd}).ravel(), 1e-12)


def test_pd_plus_feeds_viscous_friction_forward_at_the_velocity_that_is_wanted(rpr: RobotExpressions) -> None:
    """F_V q̇_d + F_C tanh(q̇ / v_s): at the measured velocity it would take its own damping −ėᵀF_Vė away."""
    q, qd, qd_d = np.array([0.3, 0.2, -0.4]), np.array([0.4, -0.3, 0.8]), np.array([-0.5, 0.6, 0.1])
    reference = {"q": q, "qd": qd_d, "qdd": np.zeros(3)}
    with_friction, without = (
        step(build_law("pd_plus", rpr, **o), q, qd, reference)[0] for o in ({}, {"friction": "none"})
    )
    links = rpr.model.links
    viscous = [sum(c * abs(v) ** k for k, c in enumerate(link.friction)) for link, v in zip(links, qd, strict=True)]
    coulomb = np.array([link.coulomb for link in links]) * np.tanh(qd / SMOOTHING_VELOCITY)
    assert min(viscous) > 0.0
    assert_close(with_friction - without, viscous * qd_d + coulomb, 1e-12)


# --- single properties -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["computed_torque", "pd_plus", "variable_inertia", "variable_inertia_adaptive", "slotine_li"]
)
def test_on_its_reference_the_effort_is_inverse_dynamics(panda: RobotExpressions, name: str) -> None:
    q, qd, reference = joint_sample(np.random.default_rng(3), 7)
    reference |= {"q": q, "qd": qd}
    M, C, G = (evaluate(panda, term, {"q": q, "dq": qd}) for term in ("M", "C", "G"))
    expected = M @ reference["qdd"] + C @ qd + G.ravel()
    assert_close(step(build_law(name, panda), q, qd, reference)[0], expected, 1e-12)


@pytest.mark.parametrize("name", ["computed_torque", "pd_plus", "variable_inertia", "variable_inertia_adaptive"])
def test_the_rate_of_the_error_goes_through_a_low_pass_on_request(panda: RobotExpressions, name: str) -> None:
    """T ε̇ + ε = ė, exact for a constant ė; a filter that has settled is the direct law, and τ is affine in ε."""
    q, qd, reference = joint_sample(np.random.default_rng(6), 7)
    law, T, dt, e_dot, away = build_law(name, panda, error_rate="filtered"), 0.02, 1e-3, reference["qd"] - qd, 0.3

    def filtered(before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        effort, after, _ = step(law, q, qd, reference, {"error_rate": before}, {"error_filter": T}, dt=dt)
        return effort, after["error_rate"]

    (settled, _), (near, after), (far, _) = (filtered(e_dot + k * away) for k in range(3))
    assert_close(after, e_dot + away * np.exp(-dt / T), 1e-14)
    assert_close(settled, step(build_law(name, panda), q, qd, reference)[0], 1e-12)
    assert_close(far - settled, 2.0 * (near - settled), 1e-9)
    assert np.abs(near - settled).min() > 0.0


@pytest.mark.parametrize("name", ["variable_inertia", "variable_inertia_adaptive"])
def test_efforts_stay_within_limits_by_the_largest_share_of_feedback(panda: RobotExpressions, name: str) -> None:
    """τ = rest + κ feedback, κ the largest that fits, found by bisection; nothing adapts below one."""
    law, free, rng = build_law(name, panda, saturation="law"), build_law(name, panda), np.random.default_rng(7)
    limit, shares = np.array([87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0]), []
    for size in (0.01, 0.3, 3.0):
        q, qd, reference = joint_sample(rng, 7)
        away = size * rng.uniform(-1.0, 1.0, 7)
        reference = {"q": q + away, "qd": 0.1 * qd, "qdd": 0.1 * qd}
        qd = 0.1 * qd  # ė = 0: the feedback is that of e alone
        effort, after, telemetry = step(law, q, qd, reference, {"beta": 0.3})
        rest, full = (step(free, q, qd, {**reference, "q": q + k * away}, {"beta": 0.3})[0] for k in (0.0, 1.0))
        low, high = 0.0, 1.0
        if (np.abs(full) > limit).any():
            for _ in range(60):
                middle = 0.5 * (low + high)
                inside = (np.abs(rest + middle * (full - rest)) <= limit).all()
                low, high = (middle, high) if inside else (low, middle)
        else:
            low = 1.0
        shares.append(low)
        assert telemetry["feedback_share"].item() == pytest.approx(low, abs=1e-9)
        assert_close(effort, rest + low * (full - rest), 1e-9)
        assert (np.abs(effort) <= limit).all()
        if "pi_hat" in after and low < 1.0:
            np.testing.assert_array_equal(after["pi_hat"], panda.model.pi[-10:])
    assert shares[0] == 1.0 and shares[2] < 1.0


def test_the_inertia_starts_at_the_mean_and_stays_between_the_eigenvalues(panda: RobotExpressions) -> None:
    law, rng = build_law("variable_inertia", panda), np.random.default_rng(4)
    gains = {"beta_lower": 1e-9}
    for _ in range(5):
        q, qd, reference = joint_sample(rng, 7)
        M, C = (evaluate(panda, term, {"q": q, "dq": qd}) for term in ("M", "C"))
        mean = np.asarray(law.initial(q, qd, packed(law.gains, gains))).item()
        assert mean == pytest.approx(np.trace(M) / 7)
        after = step(law, q, qd, reference, {"beta": mean}, gains)[1]["beta"]
        settled = step(law, q, qd, reference, {"beta": mean}, gains, dt=1e3)[1]["beta"]
        y = C @ qd
        assert settled == pytest.approx(y @ M @ y / (y @ y))
        eigenvalues = np.linalg.eigvalsh(M)
        assert eigenvalues[0] <= settled <= eigenvalues[-1]
        rate = 10.0 * np.linalg.norm(qd)
        assert after == pytest.approx(settled + (mean - settled) * np.exp(-rate * 1e-3))
        after = step(law, q, qd, reference, {"beta": mean}, gains | {"mu_0": 40.0, "mu_1": 0.0})[1]["beta"]
        assert after == pytest.approx(settled + (mean - settled) * np.exp(-40.0 * 1e-3))


def test_the_inertia_is_held_at_rest_and_above_its_bound(panda: RobotExpressions) -> None:
    law = build_law("variable_inertia", panda)
    q, _, reference = joint_sample(np.random.default_rng(5), 7)
    assert step(law, q, np.zeros(7), reference, {"beta": 0.4}, dt=1e3)[1]["beta"] == 0.4
    assert step(law, q, np.full(7, 0.5), reference, {"beta": 0.01}, {"beta_lower": 0.2})[2]["inertia"] == 0.2


def test_the_end_effector_hangs_on_its_springs(panda: RobotExpressions) -> None:
    """A small error e is answered by JᵀK e: along the world's axes, and about those of the desired frame."""
    law, q = build_law("cartesian_impedance", panda), np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.5])
    T, J, G = (evaluate(panda, name, {"q": q}) for name in ("T_0_ee", "J_ee", "G"))
    K, small = np.array([100.0, 200.0, 300.0, 10.0, 20.0, 30.0]), 1e-5 * np.array([1.0, 2.0, -1.0, 2.0, -3.0, 1.0])
    R_d = T[:3, :3] @ Rotation.from_rotvec(small[3:]).as_matrix()
    reference = {"position": T[:3, 3] + small[:3], "rotation": R_d}
    effort = step(law, q, np.zeros(7), reference, gains={"K": K})[0]
    wrench = np.concatenate([K[:3] * small[:3], R_d @ (K[3:] * small[3:])])
    assert_close(effort - G.ravel(), J.T @ wrench, 1e-4)


def test_far_errors_are_shortened(panda: RobotExpressions) -> None:
    law, q = build_law("cartesian_computed_torque", panda), np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.5])
    T = evaluate(panda, "T_0_ee", {"q": q})
    efforts = []
    for distance, angle in ((0.1, np.arcsin(0.4)), (0.3, 1.2)):
        turn = Rotation.from_rotvec([0.0, angle, 0.0]).as_matrix()
        reference = {"position": T[:3, 3] + [0.0, distance, 0.0], "rotation": turn @ T[:3, :3]}
        efforts.append(step(law, q, np.zeros(7), reference)[0])
    assert_close(efforts[1], efforts[0], 1e-9)
