"""Adaptation schemes of inertial parameters, one per file, found by entry points of the group `thunder.adaptations`."""
