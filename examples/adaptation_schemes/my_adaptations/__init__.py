"""Adaptation schemes of one's own, found by entry points, and a study that compares them."""
