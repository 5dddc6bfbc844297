"""The environments of Gymnasium: their checker, what a seed fixes, what an episode says, and when it ends."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray
from scenario_files import document_of, written

import thunder_controllers.gym  # noqa: F401 - registers them
from thunder_controllers.gym.environment import ARM_OF_TURN
from thunder_dynamics.errors import ScenarioError

PANDA = "thunder/PandaAdaptive-v0"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("gym")]


@pytest.fixture(scope="module")
def env() -> Iterator[gymnasium.Env[Any, Any]]:
    env = gymnasium.make(PANDA)
    env.reset(seed=0)  # gymnasium's checker looks at the first reset alone, and fails at a step if that was refused
    yield env
    env.close()


def towards_goal(env: gymnasium.Env[Any, Any], observation: dict[str, NDArray[np.float64]]) -> NDArray[np.float32]:
    """A policy: a third of the way that is left, with every step."""
    largest = env.unwrapped.get_wrapper_attr("largest_step")
    return np.clip(observation["pose_error"] / (3.0 * largest), -1.0, 1.0).astype(np.float32)


def run(env: gymnasium.Env[Any, Any], steps: int, **reset: Any) -> list[tuple[Any, ...]]:
    observation, _ = env.reset(**reset)
    rows = []
    for _ in range(steps):
        rows.append(env.step(towards_goal(env, observation)))
        observation = rows[-1][0]
    return rows


def test_gymnasiums_checker_finds_nothing(env: gymnasium.Env[Any, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_make_imports_what_registers() -> None:
    assert gymnasium.make(f"thunder_controllers.gym:{PANDA}").unwrapped.spec.id == PANDA


def test_the_same_seed_and_actions_give_the_same_episode_bit_for_bit(env: gymnasium.Env[Any, Any]) -> None:
    first, again, other = (run(env, 20, seed=seed) for seed in (1, 1, 2))
    for one, same in zip(first, again, strict=True):
        assert one[1:4] == same[1:4]
        for name, value in one[0].items():
            np.testing.assert_array_equal(value, same[0][name])
    assert (other[-1][0]["goal"] != first[-1][0]["goal"]).any()
    assert (other[-1][-1]["true_inertia"] != first[-1][-1]["true_inertia"]).any()


def test_episodes_of_a_seed_differ(env: gymnasium.Env[Any, Any]) -> None:
    first, _ = env.reset(seed=1)
    second, _ = env.reset()
    assert (first["goal"] != second["goal"]).any()


def test_a_goal_is_reached_while_the_estimate_finds_the_payload(env: gymnasium.Env[Any, Any]) -> None:
    rows = run(env, 80, seed=0, options={"payload": {"mass": 1.5, "com": [0.0, 0.0, 0.05]}})
    observation, reward, terminated, truncated, info = rows[-1]
    assert info["is_success"] and not terminated and not truncated
    assert -1e-3 < reward == -(info["position_error"] + ARM_OF_TURN * info["angle_error"])
    # 2 % of the payload, as of an estimate that is still settling after 4 s.
    assert observation["estimate"][0] == pytest.approx(info["true_inertia"][0], abs=0.03)
    assert all(row[-1]["fault"] is None for row in rows)


def test_options_fix_payload_and_goal(env: gymnasium.Env[Any, Any]) -> None:
    goal = {"position": [0.5, 0.1, 0.4], "ypr": [0.0, 0.0, np.pi]}
    observation, bare = env.reset(seed=0, options={"payload": {"mass": 0.0}, "goal": goal})
    np.testing.assert_allclose(observation["goal"], [0.5, 0.1, 0.4, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0], atol=1e-15)
    _, loaded = env.reset(seed=0, options={"payload": {"mass": 1.0}})
    assert loaded["true_inertia"][0] - bare["true_inertia"][0] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"payload": {"mass": -1.0}}, "options.payload.mass"),
        ({"goal": {"position": [0.5, 0.1]}}, "options.goal.position"),
        ({"target": {}}, "options.*target"),
    ],
)
def test_other_options_are_refused(env: gymnasium.Env[Any, Any], options: dict[str, Any], text: str) -> None:
    with pytest.raises(ScenarioError, match=text):
        env.reset(options=options)


def test_an_action_is_a_displacement_of_the_target(env: gymnasium.Env[Any, Any]) -> None:
    before, _ = env.reset(seed=0)
    after, *_ = env.step(np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], np.float32))
    largest = env.unwrapped.get_wrapper_attr("largest_step")
    moved = np.zeros(9)
    moved[0] = largest[0]
    np.testing.assert_allclose(after["target"] - before["target"], moved, atol=1e-15)


def test_the_target_stays_in_the_workspace(env: gymnasium.Env[Any, Any]) -> None:
    before, _ = env.reset(seed=0)
    for _ in range(60):
        after, _, terminated, _, _ = env.step(np.ones(6, np.float32))
    np.testing.assert_allclose(after["target"][:3] - before["target"][:3], 0.15, atol=1e-12)
    cosine = 0.5 * (np.trace(_rotation(after["target"]) @ _rotation(before["target"]).T) - 1.0)
    assert np.arccos(cosine) == pytest.approx(0.4, abs=1e-9)
    assert not terminated


def _rotation(pose: NDArray[np.float64]) -> NDArray[np.float64]:
    x, y = pose[3:6], pose[6:9]
    return np.column_stack([x, y, np.cross(x, y)])


def test_an_episode_is_truncated_in_the_end() -> None:
    env = gymnasium.make(PANDA, max_episode_steps=3)
    env.reset(seed=0)
    ends = [env.step(np.zeros(6, np.float32))[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_a_fault_of_the_host_ends_the_episode_and_is_named(tmp_path: Path) -> None:
    lost = {"type": "dropout", "start": 0.2}
    scenario = written(tmp_path, document_of(plant={"faults": [lost]}))
    env = gymnasium.make("thunder/Adaptive-v0", scenario=scenario.path)
    rows = run(env, 12, seed=0)
    assert [row[-1]["fault"] for row in rows if row[2]][0] == "measurement_lost"
    assert not rows[0][2] and rows[0][-1]["fault"] is None
    assert all(np.isfinite(value).all() for row in rows for value in row[0].values())


def test_a_law_that_follows_joints_is_refused() -> None:
    with pytest.raises(ScenarioError, match="law slotine_li, which follows joints; valid: a law that follows a pose"):
        gymnasium.make("thunder/Adaptive-v0", scenario="panda_joint_slotine_li")


@pytest.mark.parametrize("rate", [0.0, 2000.0, 30.0])
def test_a_rate_that_is_no_whole_number_of_control_steps_is_refused(rate: float) -> None:
    with pytest.raises(ScenarioError, match=f"a policy at {rate:g} Hz"):
        gymnasium.make(PANDA, rate=rate)
