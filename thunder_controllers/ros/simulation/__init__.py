"""The node that is a simulated arm."""
