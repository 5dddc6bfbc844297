"""Experiments: many short runs, judged as a whole; found by entry points of the group `thunder.experiments`."""
