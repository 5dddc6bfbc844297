"""Motions with exact derivatives."""
