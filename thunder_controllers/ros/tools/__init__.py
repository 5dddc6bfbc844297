"""Monitor, rqt, and the launcher of machines without a ROS distribution."""
