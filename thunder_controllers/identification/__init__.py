"""What motions tell of the inertial parameters of a link: which tell much, and what a record says of a payload."""
