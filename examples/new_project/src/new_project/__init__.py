"""A robot and a control law; `pyproject.toml` names them in the groups `thunder.robots` and `thunder.laws`."""

from pathlib import Path


def robots() -> dict[str, Path]:
    """List the robot files of this package by name."""
    return {"new_project": Path(__file__).with_name("new_project.yaml")}
