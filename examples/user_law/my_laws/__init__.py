"""Control laws of our own; `pyproject.toml` names them in the group `thunder.laws`."""
