"""The arm in a robot's description, and a run that fits it: `thunder try`, and `simulate` without a reference."""
