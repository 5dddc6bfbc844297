"""Builds a library in a process of its own, so that a node stays responsive and can end a build at once.

The program `python -m thunder_controllers.ros.generator.build_worker REQUEST` takes the request as JSON, builds, and
writes the result as JSON to its standard output, or with exit status 1 the reason why there is none. It ends, with its
compilers, when its standard input is closed: it never outlives the process that started it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from pydantic import TypeAdapter

from thunder_controllers.ros.common.library_message import LibraryMessage, describe_folder
from thunder_controllers.ros.common.reading import SPELLED
from thunder_dynamics.build import MANIFEST, build
from thunder_dynamics.cli import parse_law
from thunder_dynamics.errors import BuildError, ChoiceWarning, ThunderError, spelled
from thunder_dynamics.readers import load_model

KILL_AFTER = 1.0
"""Time that a worker has to clean up after SIGTERM [s]."""


DEFAULT_LAW, POSE = "cartesian_backstepping", 6
"""Law that launch files start, and joints that it needs for a pose."""

Request = Mapping[str, Any]
"""What to build: the parameters of the generator by name, with absolute paths, as `reading` the options of `load_model`
that they give, and as `robot_file` its origin."""


@dataclass(frozen=True)
class BuildResult:
    """A finished build."""

    library: LibraryMessage
    path: str
    """Its file, absolute."""
    reused: bool
    """Nothing was compiled: the folder held exactly this."""
    seconds: float
    """Wall time of the build [s]."""


_RESULT = TypeAdapter(BuildResult)


def build_here(request: Request) -> BuildResult:
    """Build in this process.

    Raises:
        ThunderError: if the description, a law or the compilation fails.
    """
    start = time.time()
    name = {"name": request["name"]} if request["name"] else {}
    with spelled(SPELLED):
        model = load_model(request["robot"], **name, **request["reading"])
    folder = build(
        model,
        _laws(request, model.n),
        folder=request["output"] or None,
        portable=request["portable"],
        user_functions=request["user_functions"] or None,
    )
    reused = (folder / MANIFEST).stat().st_mtime < start
    library = describe_folder(folder)
    return BuildResult(library, str(folder / f"lib{library.robot}.so"), reused, time.time() - start)


def _laws(request: Request, joints: int) -> list[tuple[str, Any]]:
    """Parse the laws, with the option `adapted_links` where they do not state it, or `known`, themselves.

    An arm of too few joints for a pose follows its position alone, where the law that starts by default is to be built.

    Raises:
        LawError: if one has another form.
    """
    shared = {"adapted_links": list(request["adapted_links"])} if request["adapted_links"] else {}
    parsed = [parse_law(text) for text in request["laws"]]
    for law, options in parsed:
        if law == DEFAULT_LAW and set(options) <= {"profile"} and joints < POSE:
            options["task"] = "position"
            what = f"{law} follows the position of the end effector alone, as {joints} joints follow no pose"
            warnings.warn(f"{what}; law:=NAME chooses", ChoiceWarning, stacklevel=2)
    return [(law, options if "known" in options else {**shared, **options}) for law, options in parsed]


class BuildProcess:
    """One build at a time in a child process; `end` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal may end a build in the thread that has begun it
        self._process: subprocess.Popen[str] | None = None
        self.ended = False
        """Whether `end` was called."""

    def run(self, request: Request) -> BuildResult:
        """Build and wait for the result.

        Raises:
            BuildError: with the reason, if the build fails or was ended.
        """
        command = [sys.executable, "-m", __name__, json.dumps(dict(request))]
        with self._lock:
            if self.ended:
                raise BuildError("the build was ended", where=request["robot_file"])
            # A session of its own: a signal to the group of this process does not reach the compilers half-way.
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
            self._process = process
        with process:  # which closes its standard input only when it has ended
            text = process.stdout.read() if process.stdout is not None else ""
            status = process.wait()
        with self._lock:
            self._process = None
        if self.ended:
            raise BuildError("the build was ended", where=request["robot_file"])
        if status == 0:
            return _RESULT.validate_json(text)
        reason = text if status == 1 and text else f"the build ended with status {status} and without a result"
        raise BuildError(reason, where=None if text else request["robot_file"])

    def end(self) -> None:
        """End the build that is running, compilers included, and refuse further ones."""
        with self._lock:
            self.ended = True
            process = self._process
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        if process is None:
            return
        try:
            process.wait(KILL_AFTER)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def _end_with_parent() -> None:
    """Wait for the end of standard input, which is the end of the parent, then end this session."""
    os.read(sys.stdin.fileno(), 1)
    os.killpg(os.getpgid(0), signal.SIGTERM)


def _raise_exit(number: int, frame: FrameType | None) -> None:
    """Unwind the stack, so that a half-made folder is removed."""
    raise SystemExit(128 + number)


def _show_warning(warning: Warning | str, *_: Any, **__: Any) -> None:
    """Write a warning to standard error, in one line."""
    sys.stderr.write(f"generator: warning: {warning}\n")


def main() -> None:
    """Build as the first argument says; exit status 0 with the result, 1 with the reason why there is none."""
    signal.signal(signal.SIGTERM, _raise_exit)
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        answer, status = _RESULT.dump_json(build_here(json.loads(sys.argv[1]))).decode(), 0
    except ThunderError as error:
        answer, status = str(error), 1
    except SystemError as error:  # of an extension that a signal met in Python code which it calls
        raise error.__cause__ if isinstance(error.__cause__, SystemExit) else error from None
    sys.stdout.write(answer)
    sys.stdout.flush()
    sys.exit(status)


if __name__ == "__main__":
    main()
