"""The motion that identifies, as a reference of scenarios."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from thunder_controllers.fields import JointValues, Positive, in_order
from thunder_controllers.identification.fourier import PoseOfJoints
from thunder_controllers.identification.limits import MotionBounds
from thunder_controllers.identification.search import identifying_motion
from thunder_controllers.references.trajectories import (
    Follower,
    Reference,
    Seed,
    Stated,
)
from thunder_dynamics.errors import NameNotFoundError


class Identify(MotionBounds, Stated):
    """The motion that makes the parameters of a link known best, [below](#a-motion-that-identifies)."""

    type: Literal["identify"] = "identify"
    q: JointValues = Field(description="at which it rests once a period [rad or m]")
    link: str | None = Field(default=None, description="by default that of the end effector; or `all`")
    period: Positive = Field(default=10.0, description="[s]")
    harmonics: Annotated[int, Field(strict=True, ge=2, le=20)] = Field(default=5, description="of each joint")
    seed: Seed = Field(default=0, description="of the search")

    def build_for(self, follower: Follower) -> Reference:
        """Find the motion, of joints or of the pose along them."""
        library, cartesian = follower.library, follower.cartesian
        links, n = library.link_names, library.n_joints
        places: dict[str | None, int | None] = {"all": None, None: n - 1, **{link: i for i, link in enumerate(links)}}
        if self.link not in places:
            valid = f"{', '.join(links)}, all"
            raise NameNotFoundError(f"no link '{self.link}'", where="reference.link", valid=valid)
        bounds = MotionBounds(**{name: getattr(self, name) for name in MotionBounds.model_fields})
        bounds = bounds if cartesian else bounds.model_copy(update={"clearance": 0.0})
        q = in_order(self.q, library.joint_names, "reference.q")
        joints = identifying_motion(library, places[self.link], q, bounds, self.period, self.harmonics, self.seed)
        return PoseOfJoints(library, joints) if cartesian else joints
