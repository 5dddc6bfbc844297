"""What all nodes share."""
