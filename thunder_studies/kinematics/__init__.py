"""What experiments with uncertain kinematics draw and measure."""
