"""Faults of a simulated robot: what goes wrong, at which joint or link, and when."""
