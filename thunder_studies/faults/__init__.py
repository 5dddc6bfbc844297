"""Faults of joints in studies."""
