"""Rigid-body algorithms over a symbolic robot: kinematics, dynamics, regressors, friction, elastic joints."""
