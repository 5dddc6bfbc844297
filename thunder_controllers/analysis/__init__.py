"""What can be computed of a compiled law without simulating it."""
