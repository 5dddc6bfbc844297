"""Recursive least squares on the momentum regressor: its rows, the recursion, and the adaptation that follows it."""
