"""Where the command `thunder` starts, which `python -m thunder_controllers` is too."""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while libraries are imported ends the program without a traceback

from thunder_dynamics.cli import main as command  # noqa: E402


def main() -> None:
    """See `thunder_dynamics.cli.main`."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command()


if __name__ == "__main__":
    main()
