"""What the layouts that come with the viewers show is in the files that a run writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from lxml import etree
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore
from scenario_files import document_of, written

from thunder_controllers.commands.run import run as run_command

CONFIG = Path(__file__).parents[2] / "config"


@pytest.fixture(scope="module")
def folder(build_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a short run of the Panda."""
    folder = tmp_path_factory.mktemp("layouts")
    path = written(folder, document_of(duration=0.1, runs=[{"name": "adaptation"}])).path
    result = CliRunner().invoke(run_command, [str(path), "--out", str(folder), "--csv", "--mcap"])
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def first(folder: Path) -> dict[str, Any]:
    """The first message of each topic of the bag."""
    found: dict[str, Any] = {}
    with AnyReader([folder / "adaptation_bag"], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        for connection, _, data in reader.messages():
            if connection.topic not in found:
                found[connection.topic] = reader.deserialize(data, connection.msgtype)
    return found


def _value(message: Any, steps: list[str]) -> float:
    for step in steps:
        message = message[int(step)] if step.isdigit() else getattr(message, step)
    return float(message)


def _curves(layout: str) -> list[str]:
    return [str(name) for name in etree.parse(str(CONFIG / "plotjuggler" / layout)).xpath("//curve/@name")]


def test_curves_of_the_plotjuggler_layout_for_bags_are_in_the_bag(first: dict[str, Any]) -> None:
    joints = first["/joint_states"].name
    curves = _curves("thunder.xml")
    assert len(curves) == 19
    for curve in curves:
        topic = next(name for name in first if curve.startswith(f"{name}/"))
        steps = curve.removeprefix(f"{topic}/").split("/")
        if topic == "/joint_states":  # PlotJuggler calls the entries of a JointState by their joints
            steps = [steps[1], str(joints.index(steps[0]))]
        assert np.isfinite(_value(first[topic], steps)), curve


def test_curves_of_the_plotjuggler_layout_for_tables_are_columns_of_the_csv_file(folder: Path) -> None:
    curves = _curves("thunder_csv.xml")
    assert len(curves) == 19
    with (folder / "adaptation.csv").open() as file:
        assert set(curves) <= set(file.readline().rstrip().split(","))


def test_paths_of_the_foxglove_layout_are_in_the_bag_and_its_panels_in_it(first: dict[str, Any]) -> None:
    layout = json.loads((CONFIG / "foxglove/thunder.json").read_text())
    panels = layout["configById"]
    paths = [path["value"] for panel in panels.values() for path in panel.get("paths", [])]
    assert len(paths) == 17
    for path in paths:
        topic, *steps = re.split(r"[.\[\]]+", path.rstrip("]"))
        assert np.isfinite(_value(first[topic], steps)), path
    assert {*panels["3D!arm"]["topics"], "/tf"} <= set(first)

    def names(part: Any) -> list[str]:
        return [part] if isinstance(part, str) else [*names(part["first"]), *names(part["second"])]

    assert sorted(names(layout["layout"])) == sorted(panels)
    for panel in panels.values():  # Foxglove reads the one, Lichtblick the other
        assert panel["foxglovePanelTitle"] == panel["lichtblickPanelTitle"]
