"""What brings a controller up."""
