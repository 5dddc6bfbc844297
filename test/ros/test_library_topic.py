"""What anyone can say on the library topic, over real DDS: nobody runs a file that it names, and nobody ends by it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml
from nodes import NodeProcess, Probe
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from thunder_controllers.host import Library
from thunder_controllers.resources import share
from thunder_controllers.ros.common.library_message import describe_folder, format_library_message
from thunder_controllers.ros.common.qos import LATCHED, MONITOR, STREAM
from thunder_dynamics import build, load_model
from thunder_dynamics.storage.checksums import write_checksums

TOPIC = "/thunder_generator/library"
CONTROLLER = "/adaptive_controller"
OTHER_HASH = "a" * 64

EVIL = """#include <stdio.h>
__attribute__((constructor)) static void run(void) { fclose(fopen("%s", "w")); }
"""

LINK = """<link name="link{k}"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="{joint}" type="revolute"><parent link="{parent}"/><child link="link{k}"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" velocity="1" effort="10"/></joint>"""

Start = Callable[..., NodeProcess]


class Trap(NamedTuple):
    """A file that leaves a proof if any process loads it, and messages that try to get it loaded, by name."""

    proof: Path
    folders: list[str]
    messages: dict[str, str]


@pytest.fixture(scope="module")
def library() -> Library:
    return Library(build(load_model(share("config/robots/planar3r.yaml")), laws=["slotine_li"]))


@pytest.fixture(scope="module")
def trap(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Trap:
    folder = tmp_path_factory.mktemp("trap")
    proof, evil = folder / "proof", folder / "libevil.so"
    (folder / "evil.c").write_text(EVIL % proof)
    subprocess.run(["cc", "-shared", "-fPIC", str(folder / "evil.c"), "-o", str(evil)], check=True)
    dropped = folder / "planar3r_generatedFiles"  # in a folder that the launch names, but anyone may write it
    dropped.mkdir()
    shutil.copy(evil, dropped / "libplanar3r.so")
    write_checksums(dropped)
    dropped.chmod(0o777)
    good = yaml.safe_load(format_library_message(describe_folder(Path(library.path).parent)))
    messages = {
        "a file as in older versions": {
            **{"robot": "planar3r", "folder": str(folder), "library": str(evil), "robot_file": "", "hash": "3f"},
            **{"generator": "0.1.0", "functions": [], "laws": {}},
        },
        "a file beside a good hash": {**good, "robot": "evil", "library": str(evil), "folder": str(folder)},
        "another hash": {**good, "hash": OTHER_HASH},
        "a path as robot": {**good, "robot": f"../../../../../../..{folder}/planar3r"},
        "parents as robot": {**good, "robot": "../.."},
        "a path as hash": {**good, "hash": ("../" * 22)[:64]},
        "laws that are a mapping": {**good, "laws": {"a": 5}},
        "laws of numbers": {**good, "laws": [1, 2]},
        "a Python object": "!!python/object/apply:os.system ['true']",
        "nested brackets": "[" * 3000,
        "nested brackets in an unknown key": yaml.safe_dump(good) + "more: " + "[" * 3000 + "]" * 3000,
        "a huge text": yaml.safe_dump(good) + "# " + "x" * 1_000_000,
        "nothing": "",
    }
    texts = {name: m if isinstance(m, str) else yaml.safe_dump(m) for name, m in messages.items()}
    return Trap(proof, [str(folder)], texts)


@pytest.fixture
def arm(library: Library, tmp_path: Path) -> str:
    """A description to simulate whose joints have the names of the library's."""
    parents = ["base", *(f"link{k}" for k in range(library.n_joints))]
    links = [LINK.format(k=k, joint=joint, parent=parents[k]) for k, joint in enumerate(library.joint_names)]
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm"><link name="base"/>{"".join(links)}</robot>')
    return str(tmp_path / "arm.urdf")


@pytest.fixture
def say(probe: Probe) -> Iterator[Callable[[str], None]]:
    """Publish on the library topic, as any participant can."""
    publisher = probe.node.create_publisher(String, TOPIC, LATCHED)
    yield lambda text: publisher.publish(String(data=text))
    probe.in_own_thread(probe.node.destroy_publisher, publisher)


def attack(node: NodeProcess, probe: Probe, trap: Trap, act: Callable[[str], Any]) -> None:
    """Say every message, and wait until the node has refused each; it lives, and nothing foreign was loaded."""
    for name, text in trap.messages.items():
        refusals = node.output.count("[ERROR]")
        act(text)
        probe.wait_until(lambda count=refusals: node.output.count("[ERROR]") > count, f"refusal of {name}")
        assert node.is_running, node.output
    assert "library message: " in node.output and "others than its owner may write it" in node.output
    assert "Traceback" not in node.output
    assert not trap.proof.exists()


def test_the_trap_works(trap: Trap) -> None:
    script = f"import ctypes; ctypes.CDLL({trap.folders[0] + '/libevil.so'!r})"
    subprocess.run(["python3", "-c", script], check=True)
    assert trap.proof.exists()
    trap.proof.unlink()


def test_the_model_refuses_and_goes_on(
    start_node: Start, probe: Probe, library: Library, trap: Trap, say: Callable[[str], None]
) -> None:
    node = start_node("model", {"functions": ["G"], "library_folders": trap.folders})
    attack(node, probe, trap, say)
    say(format_library_message(describe_folder(Path(library.path).parent)))
    inbox = probe.listen(Float64MultiArray, "/thunder_model/G", MONITOR)
    states = probe.publisher(JointState, "/joint_states", STREAM)
    state = JointState(name=library.joint_names, position=[0.1] * 3, velocity=[0.0] * 3)
    probe.wait_until(lambda: len(inbox) or states.publish(state), "G")
    attack(node, probe, trap, say)
    inbox.clear()
    probe.wait_until(lambda: len(inbox) or states.publish(state), "G of the library that it had before")
    np.testing.assert_array_equal(inbox.latest.data, library.evaluate("G", [0.1] * 3))


def test_the_controller_refuses_and_comes_up_with_the_first_good_one(
    start_node: Start, probe: Probe, library: Library, trap: Trap, say: Callable[[str], None], arm: str
) -> None:
    node = start_node("simulation", {"urdf": arm, "bringup": True, "library_folders": trap.folders})
    attack(node, probe, trap, say)
    assert probe.state(CONTROLLER) == "unconfigured"
    say(format_library_message(describe_folder(Path(library.path).parent)))
    probe.wait_until(lambda: probe.state(CONTROLLER) == "active", "active controller")
    say(trap.messages["another hash"])
    for step in ("deactivate", "cleanup", "configure"):
        assert probe.transition(CONTROLLER, step), "the library that it had before is still good"
