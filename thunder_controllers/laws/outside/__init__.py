"""Efforts from outside the model: observed, taken up, told apart from contacts."""
