"""Scenarios of the package, changed and shortened, as files of a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from thunder_controllers.resources import share
from thunder_controllers.simulation.scenario import Scenario, load_scenario

DEMO = "panda_lissajous_wrong_last_link"


def document_of(name: str = DEMO, plant: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A scenario of the Panda with absolute paths and other keys; those of `plant` are laid over its own."""
    document: dict[str, Any] = yaml.safe_load(share(f"config/scenarios/{name}.yaml").read_text())
    document["robot"] = str(share("config/robots/panda.yaml"))
    document["plant"] |= {"urdf": str(share("urdf/panda.urdf.xacro")), **(plant or {})}
    return {**document, **changes}


def written(folder: Path, document: Mapping[str, Any]) -> Scenario:
    """Write a scenario into a folder and read it."""
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(dict(document)))
    return load_scenario(path)
