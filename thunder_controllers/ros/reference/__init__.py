"""The node that streams references."""
