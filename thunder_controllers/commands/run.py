"""`thunder run`: a scenario to traces, metrics and a report."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from thunder_controllers.commands.terminal import print_table, scenario_argument, show_progress


@click.command()
@scenario_argument
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of the results. [results/<scenario>]"
)
@click.option("--seed", type=click.IntRange(min=0), help="Replaces the scenario's seed.")
@click.option("--view", is_flag=True, help="Then watch the runs: in a window, or in the browser without a display.")
@click.option("--video", type=click.Path(dir_okay=False, path_type=Path), help="Video of the runs, .mp4 or .gif.")
@click.option(
    "--video-speed", type=click.FloatRange(0.05, 100.0), default=1.0, help="Seconds of the run a second of it. [1]"
)
@click.option("--csv", is_flag=True, help="Also write <run>.csv, for PlotJuggler and others.")
@click.option("--mcap", is_flag=True, help="Also write <run>_bag, a bag of ROS 2 (MCAP), for Foxglove and others.")
def run(
    scenario: Path,
    out: Path | None,
    seed: int | None,
    view: bool,
    video: Path | None,
    video_speed: float,
    csv: bool,
    mcap: bool,
) -> None:
    """Run a simulation SCENARIO (YAML file or name) and write traces, metrics and a report.

    Exits with 1 if the arm had to be stopped in a run, with 2 if a scenario cannot be run.
    """
    from thunder_controllers.report.page import write_report
    from thunder_controllers.report.summary import result_rows, verdict
    from thunder_controllers.simulation.experiment import run_scenario
    from thunder_controllers.simulation.scenario import load_scenario
    from thunder_controllers.view.arm import Arm
    from thunder_controllers.view.export import write_bag, write_csv

    loaded = load_scenario(scenario, seed)
    folder = out or Path("results") / loaded.name
    with show_progress() as progress:
        result = run_scenario(loaded, folder, progress)
        report = write_report(folder, loaded.description)
        arms = [Arm.of(one.name, one.trace, one.frames) for one in result.runs]
        for one in result.runs:
            if csv:
                write_csv(one.trace, folder / f"{one.name}.csv")
            if mcap:
                write_bag(one.trace, one.frames, folder / f"{one.name}_bag")
        if video is not None:
            from thunder_controllers.view.video import write_video

            write_video(arms, video, video_speed, lambda share: progress("video", share))
    for note in dict.fromkeys(note for one in result.runs for note in one.notes):
        click.echo(f"note: {note}")
    print_table(result_rows(result.metrics["runs"]))
    sentence, failures = verdict(result.metrics["runs"])
    if sentence:
        click.echo(sentence)
    click.echo(f"report: {report.resolve()}")
    for line in failures:
        click.secho(line, fg="red", err=True)
    if view:
        from thunder_controllers.view.live import watch

        watch(arms, click.echo)
    if failures:
        sys.exit(1)
