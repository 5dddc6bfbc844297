"""What a Franka adds to the controller."""
