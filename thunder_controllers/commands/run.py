"""`thunder run`: a scenario to traces, metrics and a report; `thunder export`: further files of its runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thunder_controllers.commands.terminal import (
    changed,
    gains_option,
    given_gains,
    of_robot,
    print_table,
    scenario_argument,
    set_option,
    show_progress,
    xacro_folder_option,
)
from thunder_dynamics.errors import NameNotFoundError, ScenarioError
from thunder_dynamics.readers.command_options import reading_options

if TYPE_CHECKING:
    from thunder_controllers.simulation.experiment import ScenarioResult
    from thunder_controllers.view.arm import Arm

EXPORTS = (
    click.option("--csv", is_flag=True, help="Write <run>.csv, for PlotJuggler and others."),
    click.option("--mcap", is_flag=True, help="Write <run>_bag, a bag of ROS 2 (MCAP), for Foxglove and others."),
    click.option("--video", type=click.Path(dir_okay=False, path_type=Path), help="Video of the runs, .mp4 or .gif."),
    click.option(
        "--video-speed", type=click.FloatRange(0.05, 100.0), default=1.0, help="Seconds of the run a second of it. [1]"
    ),
)
"""Options of both commands."""


verbose_option = click.option("--verbose", is_flag=True, help="Print all numbers, as the report has them.")


def _with_exports(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(EXPORTS):
        command = option(command)
    return command


@click.command()
@scenario_argument
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of the results. [results/<scenario>]"
)
@click.option("--seed", type=click.IntRange(min=0), help="Replaces the scenario's seed.")
@click.option("--duration", type=click.FloatRange(min=0.0, min_open=True), help="Replaces the scenario's duration [s].")
@gains_option
@set_option
@click.option("--view", is_flag=True, help="Watch the runs on a page of a browser.")
@xacro_folder_option
@reading_options(but=("xacro_folders",))
@verbose_option
@_with_exports
def run(
    scenario: Path,
    out: Path | None,
    seed: int | None,
    duration: float | None,
    given: tuple[str, ...],
    settings: tuple[str, ...],
    view: bool,
    xacro_folders: tuple[str, ...],
    verbose: bool,
    reading: Mapping[str, Any],
    **exports: Any,
) -> None:
    """Run a simulation SCENARIO (YAML file or name) and write traces, metrics and a report.

    Exits with 1 if the arm had to be stopped in a run, with 2 if a scenario cannot be run.
    """
    from thunder_controllers.report.page import write_report
    from thunder_controllers.report.summary import estimate_table, result_rows, short_rows, verdict
    from thunder_controllers.simulation.experiment import run_scenario
    from thunder_controllers.simulation.scenario import load_scenario
    from thunder_controllers.view.arm import arms_of, notes_of
    from thunder_controllers.view.browser import View

    changes = changed({"seed": seed, "duration": duration, **of_robot(reading)}, given_gains(given), settings)
    loaded = load_scenario(scenario, changes, (*xacro_folders, *reading.get("packages", {}).values()))
    folder = out or Path("results") / loaded.name
    _check(**exports)
    with View(click.echo) if view else nullcontext() as watch:
        with show_progress() as progress:
            result = run_scenario(loaded, folder, progress, watch)
            arms = arms_of(result)
            report = write_report(result, loaded.description)
            _export(result, arms, progress, **exports)
        for note in dict.fromkeys([*(note for one in result.runs for note in one.notes), *notes_of(arms)]):
            click.echo(f"note: {note}")
        runs, traces = result.metrics["runs"], {one.name: one.trace.until_fault() for one in result.runs}
        print_table(result_rows(runs) if verbose else short_rows(runs, traces))
        for link in runs[result.runs[-1].name]["estimates"] if verbose else ():
            print_table(estimate_table(link, traces, runs))
        sentence, failures = verdict(runs)
        if sentence:
            click.echo(sentence)
        click.echo(f"report: {report.resolve()}")
        for line in failures:
            click.secho(line, fg="red", err=True)
        if watch is not None:
            watch.replay(arms)
    if failures:
        sys.exit(1)


@click.command()
@click.argument("results", type=click.Path(file_okay=False, path_type=Path))
@click.option("--run", "names", multiple=True, help="Of this run only; may be repeated. [all]")
@_with_exports
def export(results: Path, names: tuple[str, ...], **exports: Any) -> None:
    """Write CSV files, bags or a video of the runs in RESULTS, a folder that `thunder run` wrote, into that folder.

    Exits with 2 if the folder is incomplete, or something cannot be written.
    """
    from thunder_controllers.simulation.experiment import load_results
    from thunder_controllers.view.arm import arms_of

    if not (exports["csv"] or exports["mcap"] or exports["video"]):
        raise ScenarioError("nothing to write", where=str(results), valid="--csv, --mcap, --video FILE")
    _check(**exports)
    result = load_results(results)
    known = [one.name for one in result.runs]
    for name in names:
        if name not in known:
            raise NameNotFoundError(f"no run '{name}'", where=str(results), valid=", ".join(known))
    chosen = replace(result, runs=tuple(one for one in result.runs if one.name in (names or known)))
    with show_progress() as progress:
        _export(chosen, arms_of(chosen), progress, **exports)


def _check(mcap: bool, video: Path | None, **_: Any) -> None:
    """Refuse what cannot be written before anything runs for it."""
    if mcap:
        from thunder_controllers.view.export import check_library

        check_library()
    if video is not None:
        from thunder_controllers.view.video import check_file

        check_file(video)


def _export(
    result: ScenarioResult,
    arms: Sequence[Arm],
    progress: Callable[[str, float], None],
    csv: bool,
    mcap: bool,
    video: Path | None,
    video_speed: float,
) -> None:
    """Write what is asked for."""
    from thunder_controllers.view.export import write_bag, write_csv

    for one in result.runs:
        if csv:
            write_csv(one.trace, result.folder / f"{one.name}.csv")
        if mcap:
            write_bag(one.trace, one.frames, result.folder / f"{one.name}_bag")
    if video is not None:
        from thunder_controllers.view.video import write_video

        write_video(arms, video, video_speed, lambda share: progress("video", share))
