"""From the error of a pose to the motion that joints shall have: loops, found by entry points, and what they share."""
