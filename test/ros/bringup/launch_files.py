"""Evaluates launch files with the real launch and launch_ros, without starting a process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml
from launch import LaunchContext
from launch.actions import ExecuteProcess, IncludeLaunchDescription, RegisterEventHandler, Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource


@dataclass(frozen=True)
class Process:
    """A process that a launch file starts."""

    action: Any
    words: tuple[str, ...]
    """Program and arguments, all substitutions performed."""

    @property
    def program(self) -> str:
        return Path(self.words[0]).name

    @property
    def node(self) -> str:
        """Name that the node is given; empty: its own."""
        return next((word[8:] for word in self.words if word.startswith("__node:=")), "")

    @property
    def name(self) -> str:
        """The name that the node is given, or else the program."""
        return self.node or self.program

    @property
    def names(self) -> set[str]:
        """What it may be called."""
        return {self.node, self.program, " ".join((self.program, *self.words[1:2]))}

    @property
    def namespace(self) -> str:
        return next(word[6:] for word in self.words if word.startswith("__ns:="))

    @property
    def remappings(self) -> set[str]:
        """FROM:=TO of topics."""
        pairs = {second for first, second in zip(self.words, self.words[1:], strict=False) if first == "-r"}
        return {pair for pair in pairs if not pair.startswith("__")}

    @property
    def files(self) -> list[Path]:
        """Parameter files, the strongest last."""
        pairs = zip(self.words, self.words[1:], strict=False)
        return [Path(second) for first, second in pairs if first == "--params-file"]

    @property
    def parameters(self) -> dict[str, Any]:
        """What the node is given, by all files together; nested names have dots."""
        found: dict[str, Any] = {}
        for file in self.files:
            for key, section in yaml.full_load(file.read_text()).items():  # launch_ros writes tuples
                if key == "/**" or not self.node or key.rpartition("/")[2] == self.node:
                    found |= flat(section["ros__parameters"])
        return found

    @property
    def is_required(self) -> bool:
        """Whether the end of it is the end of all, however it ends."""
        return any(isinstance(action, Shutdown) for action in self._ended(0))

    @property
    def must_end_well(self) -> bool:
        """Whether its failure is the end of all."""
        return any(isinstance(action, Shutdown) for action in self._ended(1))

    def _ended(self, status: int) -> list[Any]:
        return as_list(self.action._ExecuteLocal__on_exit, status)


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Join the names of nested parameters with dots."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        alone = list(value) if isinstance(value, tuple) else value
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: alone}
    return found


def as_list(on_exit: Any, status: int) -> list[Any]:
    """Actions of an `on_exit`, whatever form it has, after an exit status."""
    event = SimpleNamespace(returncode=status, process_name="process")
    actions = on_exit(event, LaunchContext()) if callable(on_exit) else on_exit
    return [] if actions is None else list(actions) if isinstance(actions, list | tuple) else [actions]


class Evaluation:
    """The processes of a launch file in the order of their start, if each ends well.

    Args:
        file: The launch file.
        given: Its arguments.
    """

    def __init__(self, file: Path, **given: str) -> None:
        self._context = LaunchContext()
        self._context._set_is_shutdown(True)  # actions are prepared, and not executed
        self._followers: list[Any] = []
        self._before: dict[Process, Process] = {}
        self.processes: list[Process] = []
        self._visit(IncludeLaunchDescription(PythonLaunchDescriptionSource(str(file)), launch_arguments=given.items()))
        for handler in self._followers:  # grows meanwhile
            self._follow(handler._OnActionEventBase__action_matcher, handler._OnActionEventBase__on_event)

    def __getitem__(self, name: str) -> Process:
        """The process whose node, or program, or program with its first argument, is called so."""
        (found,) = (process for process in self.processes if name in process.names)
        return found

    def __contains__(self, name: str) -> bool:
        return any(name in process.names for process in self.processes)

    @property
    def environment(self) -> dict[str, str]:
        """Variables that the processes get."""
        return dict(self._context.environment)

    def before(self, process: Process) -> list[str]:
        """Programs that must have ended well before a process starts, the latest first."""
        first = self._before.get(process)
        return [first.program, *self.before(first)] if first else []

    def _follow(self, action: Any, on_exit: Any) -> None:
        (before,) = (process for process in self.processes if process.action is action)
        assert [type(then) for then in as_list(on_exit, 1)] == [Shutdown], "a failure is the end of all"
        begin = len(self.processes)
        for then in as_list(on_exit, 0):
            self._visit(then)
        self._before |= dict.fromkeys(self.processes[begin:], before)

    def _visit(self, entity: Any) -> None:
        if isinstance(entity, RegisterEventHandler):
            self._followers.append(entity.event_handler)
            return
        for below in entity.visit(self._context) or ():
            self._visit(below)
        if isinstance(entity, ExecuteProcess):
            self.processes.append(Process(entity, tuple(entity.process_description.final_cmd)))
