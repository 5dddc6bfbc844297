"""Faults of the robot's own joints in laws: what their torques say of them, which joint has which, and going on."""
