"""What a Franka asks of a controller: for tests, its robot side over loopback."""
