"""Environments of Gymnasium: a policy streams pose targets to the host, whose adaptive law moves a simulated arm.

    import gymnasium
    import thunder_controllers.gym

    env = gymnasium.make("thunder/PandaAdaptive-v0")

Importing this registers them; `gymnasium.make("thunder_controllers.gym:thunder/PandaAdaptive-v0")` does both.
docs/reference/gymnasium.md describes them.
"""

from __future__ import annotations

from thunder_dynamics.errors import MissingLibraryError

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise MissingLibraryError("gymnasium") from error

EPISODE = 200
"""Steps after which an episode is truncated: 10 s at 20 Hz."""

_ENTRY_POINT = "thunder_controllers.gym.environment:AdaptiveArm"

gymnasium.register("thunder/Adaptive-v0", _ENTRY_POINT, max_episode_steps=EPISODE)
gymnasium.register(
    "thunder/PandaAdaptive-v0", _ENTRY_POINT, max_episode_steps=EPISODE, kwargs={"scenario": "panda_targets"}
)
