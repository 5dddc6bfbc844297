"""Entry points of the studies: the name of each is that of a file of this folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from thunder_controllers.experiments.experiment import Experiment
from thunder_controllers.experiments.study import load_study


def __getattr__(name: str) -> Callable[[], Experiment]:
    file = Path(__file__).with_name(f"{name}.yaml")
    if not file.is_file():
        raise AttributeError(f"no study '{name}'")
    return partial(load_study, file)
