"""What laws of elastic joints are made of: springs and their inverse, the backstepping on the motors, gains."""
