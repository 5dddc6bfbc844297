"""The lifecycle node that runs a law."""
