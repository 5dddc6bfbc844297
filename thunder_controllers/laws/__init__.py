"""Control laws, one file each: builders `(robot, options) -> Law`, without I/O and without ROS."""
