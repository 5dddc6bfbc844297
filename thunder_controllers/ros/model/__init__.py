"""The node that evaluates the model."""
