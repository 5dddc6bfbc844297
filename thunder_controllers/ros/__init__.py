"""ROS 2 nodes: the only part that imports rclpy."""
