"""`thunder franka-server`: the robot side of libfranka's protocol over loopback, with a simulated arm."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from thunder_controllers.fields import checked
from thunder_controllers.franka.arm import HOME, FrankaArm
from thunder_controllers.franka.arms import ARMS, FLANGE
from thunder_controllers.franka.protocol import PROTOCOLS
from thunder_controllers.franka.server import SILENCE, FrankaServer, Losses
from thunder_controllers.simulation.options import PlantOptions
from thunder_dynamics.errors import DimensionError
from thunder_dynamics.readers.command_options import parse_number

SHARE = click.FloatRange(0.0, 1.0)


@click.command(name="franka-server")
@click.option("--arm", type=click.Choice(sorted(ARMS)), default="fr3", show_default=True)
@click.option(
    "--protocol",
    type=click.Choice([str(version) for version in PROTOCOLS]),
    default="10",
    show_default=True,
    help="5: a Panda of the first generation, libfranka 0.9.",
)
@click.option("--address", default="127.0.0.1", show_default=True, help="Of the loopback network, where it listens.")
@click.option("--real-time", is_flag=True, help="States at 1 kHz, waiting for no command. [lock-step]")
@click.option(
    "--q-start",
    default="",
    help='Positions of joints 1 to 7 at the start, "0 -0.4 …" [rad]. [where libfranka\'s examples begin]',
)
@click.option(
    "--inertial",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="URDF whose links …link1 to …link7 and rotors are the arm's. [a Panda's links, no rotors]",
)
@click.option("--payload-mass", type=float, help="Body on the flange that the robot does not know of [kg].")
@click.option("--payload-com", nargs=3, type=float, default=(0.0, 0.0, 0.0), help="Its CoM in the flange's frame [m].")
@click.option(
    "--payload-inertia", nargs=6, type=float, default=(0.0,) * 6, help="Ixx Ixy Ixz Iyy Iyz Izz about its CoM [kg·m²]."
)
@click.option("--viscous", type=float, default=0.0, help="Friction of all joints [N·m·s/rad].")
@click.option("--coulomb", type=float, default=0.0, help="Friction of all joints [N·m].")
@click.option("--compensation", type=SHARE, default=1.0, show_default=True, help="Share of it that is compensated.")
@click.option("--lose-states", type=SHARE, default=0.0, help="Share of states that do not arrive, in motions.")
@click.option("--lose-commands", type=SHARE, default=0.0, help="Share of commands that arrive late or not at all.")
@click.option(
    "--silence",
    type=click.FloatRange(0.0, min_open=True),
    default=SILENCE,
    show_default=True,
    help="Time that a client has for its first message [s].",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of what is lost.")
def franka_server(
    arm: str,
    protocol: str,
    address: str,
    real_time: bool,
    q_start: str,
    inertial: Path | None,
    payload_mass: float | None,
    payload_com: Sequence[float],
    payload_inertia: Sequence[float],
    viscous: float,
    coulomb: float,
    compensation: float,
    lose_states: float,
    lose_commands: float,
    silence: float,
    seed: int,
) -> None:
    """Be a Franka to programs that use libfranka on this machine; for tests, without a robot.

    Words on the standard input: stop, release (the user stop), push FX FY FZ [N], lose COUNT (states), place Q1 … Q7.
    """
    q = np.array([parse_number(word, "q_start", DimensionError) for word in q_start.split()] or HOME)
    if q.shape != (len(HOME),):
        raise DimensionError(f"{q.size} positions", where="q_start", valid=f"{len(HOME)}")
    payload = {"mass": payload_mass, "com": payload_com, "inertia": payload_inertia, "link": FLANGE}
    plant = {
        "friction": {"viscous": viscous, "coulomb": coulomb},
        "payloads": () if payload_mass is None else (payload,),
    }
    server = FrankaServer(
        FrankaArm(arm, checked(PlantOptions, plant, "plant"), q, PROTOCOLS[int(protocol)], compensation, inertial),
        address,
        is_real_time=real_time,
        losses=Losses(lose_states, lose_commands, seed),
        silence=silence,
        operator=sys.stdin,
        tell=lambda line: click.echo(line),
    )
    server.serve()
