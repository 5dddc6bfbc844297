"""Sub-commands of `thunder`."""
