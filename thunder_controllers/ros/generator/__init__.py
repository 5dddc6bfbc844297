"""The node that builds libraries."""
