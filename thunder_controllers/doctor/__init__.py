"""`thunder doctor`: what is looked at before an arm moves, and what mends it."""
