"""What laws of the second order share: those with e and ė in place of s."""
